"""Tables of LaTeX, as papers have them: with the package booktabs.

Names print as they are written, whatever their signs mean to LaTeX:

>>> print(latex_text(r"R&D_50%~{#1}^\\x"))
R\\&D\\_50\\%\\textasciitilde{}\\{\\#1\\}\\textasciicircum{}\\textbackslash{}x
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

Cell = str | int | float | tuple[float, float] | None
"""A text, a count, a figure, an interval, or None where it is undefined."""
Group = tuple[str, Sequence[str]]
"""The heads of some columns, and the heading above all of them."""

UNDEFINED_CELL = "--"
PACKAGE = r"Needs \usepackage{booktabs}."
_DECIMALS = 3
_SIGNS = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "`": r"\textasciigrave{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "α": r"$\alpha$",
        '"': "''",  # which babel would take for a command in German
        "[": "{[}",  # after the end of a row, "[" and "*" are options of it
        "*": "{*}",
    }
)


def latex_table(
    first: tuple[str, str],
    groups: Sequence[Group],
    rows: Iterable[tuple[str, Sequence[Cell]]],
    *,
    comments: Iterable[str],
) -> str:
    r"""A `tabular` for `\input`, with lines of comment above it.

    Args:
        first: the two heads of the first column: in the row of the groups, and in that of the columns.
        groups: the other columns.
        rows: each a name, and a cell for every column of the groups.
        comments: where the figures come from, a line each.
    """
    name, head = first
    columns = [column for _, heads in groups for column in heads]
    lines = [
        *(f"% {_on_one_line(comment)}" for comment in (*comments, PACKAGE)),
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        _row([latex_text(name), *map(_above, groups)]),
        " ".join(_rules(groups)),
        _row(map(latex_text, (head, *columns))),
        r"\midrule",
        *(_row([latex_text(of), *map(_cell_text, cells)]) for of, cells in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def latex_text(text: str) -> str:
    """The text on one line, none of it a command; two hyphens stay two."""
    return re.sub("-(?=-)", "-{}", _on_one_line(text).translate(_SIGNS))


def _on_one_line(text: str) -> str:
    shown = "".join(sign for sign in " ".join(text.split()) if unicodedata.category(sign) != "Cc")
    return shown.encode("utf-8", "replace").decode()  # lone halves of characters are question marks


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _above(group: Group) -> str:
    name, heads = group
    return rf"\multicolumn{{{len(heads)}}}{{c}}{{{latex_text(name)}}}"


def _rules(groups: Sequence[Group]) -> Iterable[str]:
    """A rule under the name of each group."""
    last = 1
    for _, heads in groups:
        before, last = last, last + len(heads)
        yield rf"\cmidrule(lr){{{before + 1}-{last}}}"


def _cell_text(cell: Cell) -> str:
    match cell:
        case None:
            return UNDEFINED_CELL
        case str():
            return latex_text(cell)
        case int():
            return f"{cell:,}"
        case float():
            return _figure(cell)
        case low, high:
            return f"[{_figure(low)}, {_figure(high)}]"


def _figure(number: float) -> str:
    """Without the zero before the point, as the field writes shares and correlations.

    >>> [_figure(number) for number in (0.5714, 1.0, -0.25, -0.0001, -1.5)]
    ['.571', '1.000', '$-$.250', '.000', '$-$1.500']
    """
    return re.sub(r"\b0\.", ".", f"{number:z.{_DECIMALS}f}").replace("-", "$-$")
