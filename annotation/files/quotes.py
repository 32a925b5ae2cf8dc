"""Quotation marks in a TSV whose header has none: characters like any other, unless a writer put them there.

The task's own files, and whoever types a TSV, mean a mark as it stands. pandas and spreadsheets put a cell in
marks where it holds a tab, a line break or a mark, Excel also where it holds a comma, and no other, so that a
header tells nothing of them:

- `"5"" pipe"`: all marks between the outer two are doubled, as nobody types them. It is `5" pipe`.
- `"one` and, further on, `two"`: one cell with a tab or line break in it, or two with a mark each. Where both
  fit the header there is no telling, and the row is refused.
- `"one, two"` in one cell: Excel's marks, if all cells with a comma have them and no others. Only the end of
  the file tells, when its rows are read, so that the file is refused there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum, auto

from annotation.errors import ImportFileError

Cells = tuple[int, list[str]]
"""A row's line, and its cells."""

MOST_WAITING = 100
"""Rows that may wait for the end of a cell; one that runs over more rows, each of them whole, is none."""
FEWEST_COMMAS = 2
"""One cell in marks that holds a comma may be any writer's."""
_ADVICE = "write the header in quotes too, or save the file as CSV (what follows was not read)"


class _Cell(Enum):
    """What becomes of a cell in quotes."""

    GOES_ON = auto()
    ENDS = auto()
    IS_NONE = auto()


def as_meant(name: str, rows: Iterable[Cells], width: int) -> Iterator[Cells]:
    """The rows of a plain TSV, each once it is certain that its marks stand for themselves.

    Args:
        name: what messages call the file.
        rows: lines, cut at tabs.
        width: the number of columns.

    Raises:
        ImportFileError: a row may be a part of a cell in quotes, or Excel put cells in them.
    """
    opened, commas = _Opened(name, width), _Commas(name)
    waiting: deque[Cells] = deque()
    for number, cells in rows:
        opened.follow(number, cells)
        commas.follow(number, cells)
        waiting.append((number, [_unquoted(cell) for cell in cells]))
        if len(waiting) > MOST_WAITING:
            opened.forget()
        while waiting and (opened.line is None or waiting[0][0] < opened.line):
            yield waiting.popleft()
    yield from waiting
    commas.end()


class _Commas:
    """Whether cells stand in marks exactly where Excel puts them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: list[int] = []
        """Of cells in marks for the sake of a comma alone; the first few."""
        self._may_be_excels = True

    def follow(self, number: int, cells: list[str]) -> None:
        if not self._may_be_excels:
            return
        for cell in cells:
            is_whole = cell.startswith('"') and _rest(cell[1:]) is _Cell.ENDS
            text = cell[1:-1] if is_whole else cell
            if is_whole != ("," in text or '"' in text):
                self._may_be_excels = False
            elif is_whole and '"' not in text and len(self._lines) < FEWEST_COMMAS:
                self._lines.append(number)

    def end(self) -> None:
        """After the last row.

        Raises:
            ImportFileError: they do.
        """
        if self._may_be_excels and len(self._lines) >= FEWEST_COMMAS:
            raise ImportFileError(
                f"{self._name}, line {self._lines[0]}: from here on only cells with a comma are in quotation "
                "marks, as Excel writes them; save the file as “CSV UTF-8” instead."
            )


class _Opened:
    """The last mark that may begin a cell in quotes which goes on."""

    def __init__(self, name: str, width: int) -> None:
        self._name = name
        self._width = width
        self._before = 0
        """Cells before it in its row."""
        self.line: int | None = None

    def forget(self) -> None:
        self.line = None

    def follow(self, number: int, cells: list[str]) -> None:
        """Look at the next row.

        Raises:
            ImportFileError: it ends the cell, or is a part of a row that does.
        """
        for place, cell in enumerate(cells):
            if self.line is not None:
                found = _rest(cell)
                if found is _Cell.GOES_ON:
                    continue
                if found is _Cell.ENDS and self._before + len(cells) - place <= self._width:
                    raise self._ends(self.line, number)
                self.forget()
            if cell.startswith('"') and _rest(cell[1:]) is _Cell.GOES_ON:
                self.line, self._before = number, place
        if self.line == number and self._before == len(cells) - 1 < self._width - 1:
            raise ImportFileError(
                f"{self._name}, line {number}: the last of {len(cells)} cells under a header of {self._width}"
                f' begins with " and does not end with it, as one with a line break in it does; {_ADVICE}.'
            )

    def _ends(self, first: int, last: int) -> ImportFileError:
        where = "the same line" if last == first else f"line {last}"
        return ImportFileError(
            f'{self._name}, line {first}: a cell begins with " and one in {where} ends with it, which may be '
            f"one cell with a tab or line break in it or two cells; {_ADVICE}."
        )


def _rest(text: str) -> _Cell:
    """What becomes of a cell in quotes with this text behind what is known of it."""
    single = text.replace('""', "")
    place = single.find('"')
    if place < 0:
        return _Cell.GOES_ON
    return _Cell.ENDS if place == len(single) - 1 else _Cell.IS_NONE


def _unquoted(cell: str) -> str:
    """`"a ""b"" c"` as the `a "b" c` that a writer was given; any other cell as it is."""
    inner = cell[1:-1]
    if cell.startswith('"') and '""' in inner and _rest(cell[1:]) is _Cell.ENDS:
        return inner.replace('""', '"')
    return cell
