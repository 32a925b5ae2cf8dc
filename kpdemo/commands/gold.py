"""The gold files of a command and their names as data sets."""

from __future__ import annotations

from collections.abc import Sequence

from kpdemo.commands.options import CallError, check_file
from kpdemo.documents import LINE_SUFFIXES, TABLE_SUFFIXES
from kpdemo.evaluation.gold import dataset_name


def dataset_names(paths: Sequence[str]) -> dict[str, str]:
    names = {path: dataset_name(check_file(path, (*LINE_SUFFIXES, *TABLE_SUFFIXES))) for path in paths}
    repeated = next((name for name in names.values() if list(names.values()).count(name) > 1), None)
    if repeated is not None or len(names) < len(paths):
        raise CallError(
            f"Two --gold files are called {repeated or 'the same'}; give each once, under its own name."
        )
    return names
