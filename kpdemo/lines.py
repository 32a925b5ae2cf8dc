"""Which line breaks of a text end a phrase: those of titles, headings, lists, paragraphs and tables.

Others only wrap a paragraph, as in the text of a PDF, and a phrase continues across them. Likewise tabs:
those between the cells of a table end a phrase, and others are blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from kpdemo.languages import UNSPACED
from kpdemo.types import Document, Span

NEAR = 5
"""A line is short relative to this many lines before it and after it."""

SHORT = 0.7
"""Of the longest line near it: of a wrapped paragraph no line but the last is so short."""

NARROWEST = 50
"""Nobody wraps at less than `SHORT` of this many columns."""

_CUT_WORD = re.compile(
    r"(?<=[^\W\d_])[-\u2010\u00ad][ \t]*\r?\n[ \t]*(?!(?:and|or|to|und|oder|et|ou)\b)(?=[a-zß-öø-ÿ])"
)
"""Not "pre-" before "and post-processing"."""

_TABS = re.compile(r"\t+")
_WIDE = re.compile(f"[{UNSPACED}]")  # two columns each
_FIRST_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_LIST_MARK = re.compile(r"(?:[-*•◦▪–—]|#{1,6}|\d{1,3}[.)])\s")
_GOES_ON = re.compile(
    r"[-‐‑–—,(/&]$|(?:^|\s)(?:a|an|and|as|at|by|for|from|in|of|on|or|the|to|via|with)$", re.IGNORECASE
)
_TELLING_WORD = re.compile(r"[^\W\d_]{4,}")
_TITLE_SHARE = 0.75
_LEAST_TITLE = 3

LONGEST_TITLE = 25
"""Words; two letters of a script without spaces count as one."""

LONGEST_TITLE_LINE = 300
"""Characters."""

_SENTENCE_END = re.compile(r"[.,:;!…。．，：；！、।۔][\"'”’»)\]]*$")
_IN_A_JOURNAL = r"^proceedings of|^journal of|\b(?:vol|no|pp|pages|issn|isbn)\b\.?:?\s*\d|\(\d{4}\)\s*[\d:,]"
_IN_A_PROGRAM = r"[{}<>=;_\\]|\(\)|//|/\*"
_NO_TITLE = re.compile(rf"arxiv:|https?:|\bdoi\b|[@©]|{_IN_A_JOURNAL}|{_IN_A_PROGRAM}", re.IGNORECASE)


def join_cut_words(text: str) -> str:
    """A plain text with the words whole that a hyphen cuts at the end of a line."""
    return _CUT_WORD.sub("", text)


def with_title_line(document: Document) -> Document:
    """A plain text that begins with its title, with the title apart; any other document as it is.

    The title is the first of `blocks`, on lines of its own: two words or more, but not many, which do not end
    as a statement does, do not begin with a lower-case word in a text that has capitals, and are not a
    list item, a line of a program or one that names a journal; and a piece of at least twice the length
    follows. `Document.text` stays as it is.
    """
    if document.title:
        return document
    text = document.body
    pieces = blocks(text)
    _, end = next(pieces, (0, 0))
    title = text[:end].rstrip()
    length = len(title.strip())
    if not _may_be_title(title.strip()) or not any(
        len(text[start:stop].strip()) >= 2 * length for start, stop in pieces
    ):
        return document
    if _begins_small(title) and any(map(str.isupper, text)):
        return document
    rest = text[len(title) :]
    body = rest.lstrip()
    space = rest[: len(rest) - len(body)]
    if "\t" in space or not space:  # the first cell of a table
        return document
    return replace(document, title=title, body=body, title_break=space)


def document_blocks(document: Document) -> Iterator[tuple[str, int]]:
    """The pieces of title and body that no phrase runs out of, each with its offset in `Document.text`.

    Together they are the title, which is one piece, and the body.
    """
    if document.title:
        yield document.title, 0
    for start, end in blocks(document.body):
        yield document.body[start:end], document.body_start + start


def blocks(text: str) -> Iterator[Span]:
    """The spans of a text that no phrase crosses the end of; they follow each other without a gap.

    A line break ends a piece when

    - a blank line or the mark of a list or heading follows,
    - or the next line does not begin with a small letter, and the first word of it would have had room: the
      line is short relative to those near it, and does not end in the middle of something ("for", a comma),
    - or the line is the first of the text, and the only one of the two that is written as titles are,
    - or both lines are rows of a table.

    A tab ends a piece within a row of a table: one of several consecutive lines with equally many
    tabs. Other tabs mean nothing: text of a PDF may have one for any blank, and others indent lines.

    >>> text = "Graph kernels for molecules\\nWe compare molecules by their common parts, which takes long."
    >>> [text[start:end].strip() for start, end in blocks(text)][0]
    'Graph kernels for molecules'
    """
    whole = text.splitlines(keepends=True)
    lines = [line.strip() for line in whole]
    widths = [_columns(line) for line in lines]
    rows = _table_rows(whole)
    first = next((number for number, line in enumerate(lines) if line), 0)
    start = end = 0
    for number, line in enumerate(whole):
        for cell in _cell_ends(line) if rows[number] else ():
            yield start, end + cell
            start = end + cell
        end += len(line)
        last = number == len(whole) - 1
        if last or (rows[number] and rows[number + 1]) or _ends(lines, widths, number, first):
            yield start, end
            start = end


def _may_be_title(piece: str) -> bool:
    words = _FIRST_WORD.findall(piece)
    count = sum(0.5 if _WIDE.match(word) else 1 for word in words)
    if "\t" in piece or len(piece) > LONGEST_TITLE_LINE or _LIST_MARK.match(piece):
        return False
    if not 2 <= count <= LONGEST_TITLE:
        return False
    return not any(pattern.search(piece) for pattern in (_SENTENCE_END, _GOES_ON, _NO_TITLE))


def _begins_small(text: str) -> bool:
    return next((word.islower() for word in text.split() if any(map(str.isalpha, word))), False)


def _table_rows(lines: Sequence[str]) -> list[bool]:
    """Which lines are rows with more than one cell, of two or more rows that follow each other."""
    found: list[bool] = []
    for _, group in groupby(lines, key=lambda line: "\t" in line):
        run = list(group)
        agree = len(run) > 1 and len({line.count("\t") for line in run}) == 1
        found += [agree and "\t" in line.strip() for line in run]
    return found


def _cell_ends(line: str) -> Iterator[int]:
    """The offset after each tab, or tabs, between two cells with text."""
    text = line.rstrip()
    for tabs in _TABS.finditer(text, len(text) - len(text.lstrip())):
        yield tabs.end()


def _ends(lines: Sequence[str], widths: Sequence[int], number: int, first: int) -> bool:
    line, following = lines[number], lines[number + 1]
    if not line:
        return False  # the break before it did
    if not following or _LIST_MARK.match(following):
        return True
    if following[0].islower() or _GOES_ON.search(line):
        return False
    if number == first and _is_title(line) and not _is_title(following):
        return True
    near = widths[max(number - NEAR, 0) : number + NEAR + 1]
    word = _FIRST_WORD.match(following)
    taken = widths[number] + 1 + (_columns(word[0]) if word else 0)
    return taken <= SHORT * max(NARROWEST, *near)


def _columns(line: str) -> int:
    return len(line) if line.isascii() else len(line) + len(_WIDE.findall(line))


def _is_title(line: str) -> bool:
    """Whether nearly all longer words begin with capitals; those of other scripts than ours never do."""
    words: list[str] = _TELLING_WORD.findall(line)
    capital = sum(word[0].isupper() for word in words)
    return capital >= max(_LEAST_TITLE, _TITLE_SHARE * len(words))
