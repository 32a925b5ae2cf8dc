"""The lines that a row of a TSV takes: is it one row with quotes, or did a quotation mark swallow rows?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class RowLines:
    """The lines of a TSV, for a reader to take, and how those of the row being read look without quotes.

    A text that begins with a quotation mark, in a file without quotes, makes a reader of quotes take all that
    follows, as far as the next mark before a tab or line break, for one cell.
    """

    def __init__(self, lines: Iterable[str], columns: int) -> None:
        self._lines = iter(lines)
        self._tabs = columns - 1
        self._taken = 0
        self._are_rows = True

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        if line.strip("\r\n"):
            self._taken += 1
            self._are_rows = self._are_rows and line.count("\t") == self._tabs
        return line

    def begin(self) -> None:
        """The next line begins a row."""
        self._taken, self._are_rows = 0, True

    def are_rows(self, cells: int) -> bool:
        """Whether each line of the row, read to so many cells, is a whole row by itself as well."""
        return self._are_rows and self._tabs > 0 and (self._taken > 1 or 0 < cells <= self._tabs)
