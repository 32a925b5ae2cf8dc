"""Reads tables of LaTeX back, as LaTeX does: what it would not print, or print otherwise, is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from itertools import pairwise

_COMMAND = re.compile(
    r"""\\(?:(?P<sign>[&%$\#_{}])|text(?P<name>[a-z]+)\{\})   # a sign by its name
    |\$(?P<maths>-|\\alpha)\$
    |(?P<quote>'')
    |\{(?P<group>[\[*]?)\}                                   # keeps its neighbours apart
    |(?P<itself>[^\\&%$\#_{}~^`"<>|\[*-]|-(?!-))
    """,
    re.VERBOSE | re.DOTALL,
)
_NAMES = {
    "backslash": "\\",
    "asciitilde": "~",
    "asciicircum": "^",
    "asciigrave": "`",
    "less": "<",
    "greater": ">",
    "bar": "|",
}
_GROUP = re.compile(r"\\multicolumn\{(\d+)\}\{c\}\{(.*)\}")
_OPEN_SIGNS = re.compile(r"(?<!\\)&")


def printed(source: str) -> str:
    """What a piece of LaTeX prints; a sign that is a command of it, or joins its neighbour, is refused."""
    shown, place = [], 0
    while place < len(source):
        found = _COMMAND.match(source, place)
        assert found, f"LaTeX would not print {source[place:]!r} as it stands"
        place = found.end()
        match found.lastgroup, found[found.lastgroup or 0]:
            case "name", name:
                shown.append(_NAMES[name])
            case "maths", maths:
                shown.append({"-": "-", "\\alpha": "α"}[maths])
            case "quote", _:
                shown.append('"')
            case _, sign:
                shown.append(sign)
    return "".join(shown)


@dataclass(frozen=True)
class LatexTable:
    comments: list[str]
    groups: list[tuple[str, int]]
    """What stands above the columns, the first one too, and above how many."""
    heads: list[str]
    rows: dict[str, list[str]]
    """The cells as they stand there, by the name that is printed; in the order of the table."""


def read_tables(text: str) -> list[LatexTable]:
    """The tables of a file, each with all rows as wide as its head, and nothing else between them."""
    assert text.endswith("\\end{tabular}\n")
    return [_table(part.splitlines()) for part in text.removesuffix("\n").split("\n\n")]


def saved_table(html: str, file: str) -> LatexTable:
    """The one table of the only button of a page that saves LaTeX, and under this name."""
    [(name, content)] = re.findall(
        r'data-save="([^"]*\.tex)" data-type="application/x-tex;charset=utf-8" data-content="([^"]*)"', html
    )
    assert name == file
    [table] = read_tables(unescape(content))
    return table


def _table(lines: list[str]) -> LatexTable:
    start = next(place for place, line in enumerate(lines) if not line.startswith("% "))
    begin, top, above, rules, head, middle, *rows, bottom, end = lines[start:]
    assert (top, middle, bottom, end) == (r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")
    width = len(re.fullmatch(r"\\begin\{tabular\}\{(lr+)\}", begin)[1])
    groups = [_group(cell) for cell in _cells(above)]
    heads = [printed(cell) for cell in _cells(head)]
    assert sum(columns for _, columns in groups) == len(heads) == width
    ends = [sum(columns for _, columns in groups[: place + 1]) for place in range(len(groups))]
    assert rules == " ".join(rf"\cmidrule(lr){{{before + 1}-{last}}}" for before, last in pairwise(ends))
    cells = [_cells(row) for row in rows]
    assert {len(row) for row in cells} <= {width}
    assert len({row[0] for row in cells}) == len(rows)
    return LatexTable(
        [line.removeprefix("% ") for line in lines[:start]],
        groups,
        heads,
        {printed(name): of for name, *of in cells},
    )


def _cells(line: str) -> list[str]:
    assert line.endswith(r" \\")
    return [cell.strip() for cell in _OPEN_SIGNS.split(line.removesuffix(r"\\"))]


def _group(cell: str) -> tuple[str, int]:
    found = _GROUP.fullmatch(cell)
    return (printed(found[2]), int(found[1])) if found else (printed(cell), 1)
