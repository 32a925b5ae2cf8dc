"""Files that readers chose: which can be read, and copies of them while they are read. No page here."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kpdemo.errors import InputError
from kpdemo.reading.file_kinds import DOCUMENT_SUFFIXES

MOST_FILES = 20

KEPT_MINUTES = 10
"""Uploads and predictions are deleted at this age."""

DELETED_SECONDS = (60, KEPT_MINUTES * 60)
"""For Gradio: how often it looks, and the age at which it deletes."""

PDF_ADVICE = "a PDF of it"


@dataclass(frozen=True, slots=True)
class Uploads:
    """Copies of the files that can be read, and a sentence on each of the others.

    `renamed` tells whether a copy has another name than its file, since an earlier one has that.
    """

    files: Sequence[Path]
    refused: Sequence[str] = ()
    renamed: bool = False


class OwnNames:
    """Gives everything a name of its own: where an earlier one has it, a number follows.

    >>> names = OwnNames()
    >>> [names.of("note"), names.of("note"), names.of("note", ".txt"), names.of("note")]
    ['note', 'note-2', 'note.txt', 'note-3']
    """

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()

    def of(self, name: str, suffix: str = "") -> str:
        """The name with its suffix, and the number, if any, between them."""
        whole = own = f"{name}{suffix}"
        while own in self._uses:
            self._uses[whole] += 1
            own = f"{name}-{self._uses[whole]}{suffix}"
        self._uses[own] += 1
        return own


def readable_copies(paths: Sequence[str] | None, folder: Path) -> Uploads:
    """Copies of the documents of readers, each under a name of its own; the others are reported apart.

    Raises:
        InputError: there is no file, or there are too many.
    """
    names = OwnNames()
    files: list[Path] = []
    refused: list[str] = []
    renamed = False
    for number, path in enumerate(_chosen_files(paths)):
        try:
            check_kind(path)
            name = names.of(path.stem, path.suffix)
            files.append(_own_copy(path, folder / str(number) / name))
            renamed = renamed or name != path.name
        except InputError as error:
            refused.append(str(error))
    return Uploads(files, refused, renamed)


def unreadable(paths: Sequence[str] | None) -> list[str]:
    """A sentence on each file of a kind that is no document here.

    Raises:
        InputError: there is no file, or there are too many.
    """
    refused = []
    for path in _chosen_files(paths):
        try:
            check_kind(path)
        except InputError as error:
            refused.append(str(error))
    return refused


def checked_files(paths: Sequence[str] | None, *, suffixes: Sequence[str], advice: str) -> list[Path]:
    """The files, all of which have one of the suffixes.

    Raises:
        InputError: one has none of them, there is no file, or there are too many.
    """
    files = _chosen_files(paths)
    for path in files:
        check_kind(path, suffixes=suffixes, advice=advice)
    return files


def check_kind(path: Path, *, suffixes: Sequence[str] = DOCUMENT_SUFFIXES, advice: str = PDF_ADVICE) -> None:
    """Refuse a file of another kind, and compressed ones: a small one may hold gigabytes.

    Raises:
        InputError: the file has none of the suffixes.
    """
    if path.suffix.lower() not in suffixes:
        kinds = ", ".join(suffixes)
        raise InputError(f"{path.name} cannot be read here: use one of {kinds}, such as {advice}.")


def own_copies(files: Sequence[Path], folder: Path) -> list[Path]:
    """The uploads where nobody deletes them while they are read, each in a folder with its own name.

    Raises:
        InputError: one has been deleted before.
    """
    return [_own_copy(path, folder / str(number) / path.name) for number, path in enumerate(files)]


def _chosen_files(paths: Sequence[str] | None) -> list[Path]:
    files = [Path(path) for path in paths or []]
    if not files:
        raise InputError("No file is chosen: choose one or drop it on the box.")
    if len(files) > MOST_FILES:
        raise InputError(f"There are {len(files)} files: give at most {MOST_FILES} at a time.")
    return files


def _own_copy(path: Path, copy: Path) -> Path:
    copy.parent.mkdir()
    try:
        shutil.copyfile(path, copy)
    except FileNotFoundError:
        raise InputError(
            f"{path.name} is gone: uploads are deleted after {KEPT_MINUTES} minutes, so choose it again."
        ) from None
    return copy
