"""The gold files of a command and their names as data sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kpdemo.commands.options import CallError, check_file
from kpdemo.reading.file_kinds import LINE_SUFFIXES, TABLE_SUFFIXES, plain_name


def dataset_names(paths: Sequence[str]) -> dict[str, str]:
    """What each file is called: by its own name, or where several share that by its folder's too.

    Raises:
        CallError: a file is not there or cannot be read, or is given twice.
    """
    files = {path: check_file(path, (*LINE_SUFFIXES, *TABLE_SUFFIXES)) for path in paths}
    names = {path: plain_name(file) for path, file in files.items()}
    times = Counter(names.values())
    told = {
        path: f"{files[path].resolve().parent.name}/{name}" if times[name] > 1 else name
        for path, name in names.items()
    }
    repeated = next((name for name, count in Counter(told.values()).items() if count > 1), None)
    if repeated is not None or len(names) < len(paths):
        raise CallError(
            f"Two --gold files are called {repeated or 'the same'}; give each once, under its own name."
        )
    return told
