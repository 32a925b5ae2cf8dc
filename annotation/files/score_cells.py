"""Texts and numbers of files of gold grades and of scores, checked; messages name file and line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from annotation.characters import HALF, shown
from annotation.errors import ScoreFileError
from annotation.figures import number_of

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_number(text: str) -> bool:
    """Whether it is written as numbers are there, with a decimal point."""
    return _NUMBER.fullmatch(text) is not None


def text_of(value: object, name: str, where: str) -> str:
    """What stands in the field `name`; `where` begins the message.

    Raises:
        ScoreFileError: it is empty, or no text.
    """
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text.strip():
        raise ScoreFileError(f"{where}, field {name!r}: is empty; fill it in or delete the row.")
    if found := HALF.search(text):
        raise ScoreFileError(
            f"{where}, field {name!r}: holds half a character, U+{ord(found[0]):04X}; write it as UTF-8."
        )
    return text


def numbers_of_lines(file: Path, lines: Iterable[tuple[int, str]], noun: str) -> Iterator[tuple[int, float]]:
    """The number at the beginning of each line, with the line's own; `noun` is what it is, grade or score.

    Raises:
        ScoreFileError: a line has none, or is empty and not at the end.
    """
    empty = 0
    for number, line in lines:
        if not line.strip():
            empty = empty or number
            continue
        if empty:
            raise ScoreFileError(f"{file}, line {empty}: is empty; write the {noun} of its pair.")
        yield number, number_in(line.split("\t")[0], f"{file}, line {number}", noun)


def check_count(file: Path, found: Sequence[tuple[int, float]], wanted: int, who: str, noun: str) -> None:
    """Refuse numbers of lines that are not as many as the pairs.

    Args:
        who: has the pairs: "gold.tsv has".

    Raises:
        ScoreFileError: some are missing or too much.
    """
    pairs = f"{who} {number_of(wanted, 'pair')}"
    if len(found) < wanted:
        raise ScoreFileError(
            f"{file}, line {len(found) + 1}: no {noun}, the file ends after {len(found):,} and {pairs}; add "
            "what is missing."
        )
    if len(found) > wanted:
        raise ScoreFileError(
            f"{file}, line {found[wanted][0]}: one {noun} too many, {pairs}; delete what is too much."
        )


def number_in(value: object, where: str, noun: str) -> float:
    """The number that a cell or field holds.

    Raises:
        ScoreFileError: it holds none, or one that is not finite.
    """
    number = _as_float(value)
    if number is None:
        pointed = value.strip().replace(",", ".", 1) if isinstance(value, str) else ""
        example = pointed if is_number(pointed) else "2.75"
        raise ScoreFileError(f"{where}: {shown(value)} is not a number; write a {noun} such as {example}.")
    if not abs(number) < float("inf"):
        raise ScoreFileError(f"{where}: {shown(value)} is not finite; write a {noun} such as 2.75.")
    return number


def _as_float(value: object) -> float | None:
    """Infinity of what is too large; None of what is no number."""
    if isinstance(value, str):
        return float(value) if is_number(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")
