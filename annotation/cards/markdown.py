"""Markdown around texts that somebody else wrote: none of them becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~$&!@]|(?<=:)(?=//)|(?<=www)\.")
"""What begins markup, formulas, mentions or links within a line."""
_TICKS = re.compile("`+")


def plain(text: str) -> str:
    r"""A text on one line that is read as it stands, within a paragraph or a table.

    >>> print(plain("a | b\n<b>*c*</b>"))
    a \| b \<b\>\*c\*\</b\>
    """
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(text.split()))


def fenced(text: str, language: str = "") -> str:
    """A block of lines, whatever fences these have themselves."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code(text: str) -> str:
    """A name of a file or column within a line."""
    ticks = "`" * (_longest(text) + 1)
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """A table of cells that are Markdown; the columns in `numbers` stand to the right."""
    rule = ["---:" if place in numbers else "---" for place in range(len(heads))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))


def bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _longest(text: str) -> int:
    """The length of the longest run of backticks."""
    return max(map(len, _TICKS.findall(text)), default=0)
