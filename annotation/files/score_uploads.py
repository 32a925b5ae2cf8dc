"""Gold grades and scores from files that came through a page: called by their names, never by their paths."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from annotation.errors import AnnotationError, ScoreFileError
from annotation.files.gold_files import safe_stem
from annotation.files.gold_pairs import UNGRADED, GoldPair, Key, read_gold, read_ungraded_lists
from annotation.files.score_files import Scores, is_json, read_scores, type_among

PLAIN = (".tsv", ".tab", ".csv", ".txt", ".jsonl", ".ndjson")
"""Nothing compressed: a small file may hold gigabytes."""
GOLD_SUFFIXES = (*PLAIN, ".parquet")
_Read = TypeVar("_Read")


def read_uploaded_gold(files: Sequence[Path], what: str = "gold grades") -> list[GoldPair]:
    """The pairs of all files, in their order; a file of the task's grades stands beside its input file.

    Lists of pairs without a gold grade are for `read_uploaded_ungraded`.

    Args:
        what: how the reader calls them.

    Raises:
        ScoreFileError: a file holds no gold grades; the message names file and line.
        ImportFileError: a file is neither text nor a table.
    """

    def read(folder: Path, gathered: Sequence[Path]) -> list[GoldPair]:
        return [
            replace(pair, place=pair.place.removeprefix(f"{folder}{os.sep}")) for pair in read_gold(gathered)
        ]

    return _read([file for file in files if file.name not in UNGRADED], GOLD_SUFFIXES, what, read)


def read_uploaded_ungraded(files: Sequence[Path]) -> frozenset[Key]:
    """The pairs without a gold grade that are listed in those of the files that an export named so.

    Raises:
        ScoreFileError: a row names no pair; the message names file and line.
        ImportFileError: a file is neither text nor a table.
    """
    lists = [file for file in files if file.name in UNGRADED]
    if not lists:
        return frozenset()
    return _read(
        lists, GOLD_SUFFIXES, "pairs without a gold grade", lambda _, gathered: read_ungraded_lists(gathered)
    )


def read_uploaded_scores(
    files: Sequence[Path], gold: Sequence[GoldPair], ungraded: Collection[Key], what: str = "scores"
) -> Scores:
    """The scores of the gold pairs.

    Args:
        files: one for all pairs or for one type, or several that are named after their types, or JSON Lines.
        gold: what they are scores of.
        ungraded: pairs without a gold grade, whose scores may be there too.
        what: how the reader calls them.

    Raises:
        ScoreFileError: a score is missing, too much or no number; the message names file and line.
        ImportFileError: a file is not text.
    """

    def read(folder: Path, gathered: Sequence[Path]) -> Scores:
        if len(gathered) == 1:
            return read_scores(gathered[0], gold, ungraded)
        types = {pair.type for pair in gold}
        for file in gathered:
            if not is_json(file) and type_among(types, file.name) is None:
                raise ScoreFileError(
                    f"{file.name}: its name contains no comparison type of the gold grades; name it as in "
                    f"{safe_stem(min(types))}.output.tsv, or choose one file with all scores."
                )
        return read_scores(folder, gold, ungraded)

    return _read(files, PLAIN, what, read)


def _read(
    files: Sequence[Path],
    suffixes: Sequence[str],
    what: str,
    read: Callable[[Path, Sequence[Path]], _Read],
) -> _Read:
    """What `read` makes of the files, gathered in one folder."""
    if not files:
        raise ScoreFileError(f"No file of {what} is chosen: choose one or drop it on the box.")
    with tempfile.TemporaryDirectory(prefix="scores-") as name:
        folder = Path(name)
        try:
            return read(folder, [_gathered(file, folder, suffixes) for file in files])
        except AnnotationError as error:
            told = str(error).replace(f"{folder}{os.sep}", "").replace(str(folder), "The upload")
            raise type(error)(told) from None


def _gathered(file: Path, folder: Path, suffixes: Sequence[str]) -> Path:
    if file.suffix.lower() not in suffixes:
        raise ScoreFileError(f"{file.name} cannot be read here: use one of {', '.join(suffixes)}.")
    if not file.is_file():
        raise ScoreFileError(
            f"{file.name} is no longer there: uploads are only kept for a few minutes; choose it again."
        )
    place = folder / file.name
    if place.exists():
        raise ScoreFileError(f"Two files are called {file.name}: rename one.")
    place.symlink_to(file.resolve())
    return place
