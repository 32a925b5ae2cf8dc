"""What writes the tables of a paper: the commands are handed it, so that all of a paper's look alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

Cell = str | int | float | tuple[float, float] | None
"""A text, a count, a figure, an interval, or nothing where it is undefined, which is a dash."""
Columns = tuple[str, Sequence[str]]
"""The heads of some columns, and what stands above them together."""
Rows = Iterable[tuple[str, Sequence[Cell]]]
"""Each a name, and a cell for every column."""


class LatexTable(Protocol):
    """Writes a table under lines of comment.

    `first` is what stands above the names: beside what is above the columns, and beside their heads.
    """

    def __call__(
        self, first: tuple[str, str], columns: Sequence[Columns], rows: Rows, /, *, comments: Iterable[str]
    ) -> str: ...
