"""HTML of the pages: keyphrases marked in a text, numbers, Markdown of strangers. No Gradio here."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from kpdemo.boilerplate import Kind, LeftOut
from kpdemo.locale import _, ngettext
from kpdemo.locale import mark as mark_message
from kpdemo.selection import page_score, short_score
from kpdemo.translation import write_number
from kpdemo.types import Keyphrase, Span

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"


def group_digits(number: int) -> str:
    """12345 as "12 345", with narrow spaces."""
    return f"{number:,}".replace(",", NARROW_SPACE)


def documents_text(number: int) -> str:
    """1 document, 2 documents."""
    return ngettext("{count} document", "{count} documents", number, count=group_digits(number))


def lines_and_files_text(lines: int, files: int) -> str:
    """2 lines and 1 file; empty for none."""
    parts = [
        *([ngettext("{count} line", "{count} lines", lines, count=group_digits(lines))] if lines else []),
        *([ngettext("{count} file", "{count} files", files, count=group_digits(files))] if files else []),
    ]
    return _(" and ").join(parts)


def join_names(names: Sequence[str]) -> str:
    """One, "one and two", or "one, two and three"."""
    *others, last = names
    return f"{', '.join(others)}{_(' and ')}{last}" if others else last


LEAST_SHOWN = 0.01


def score_html(score: float) -> str:
    """A short bar and two decimals; no bar where there would be nothing to see of it."""
    if 0 < score < LEAST_SHOWN:
        return f'<span class="score">&lt;{write_number(str(LEAST_SHOWN))}</span>'
    width = round(100 * min(max(score, 0.0), 1.0))
    bar = f'<span class="bar" aria-hidden="true"><span style="width:{width}%"></span></span>'
    return f'<span class="score">{bar}{write_number(short_score(score))}</span>'


FILLER = mark_message("too unlikely by the model's own rule; it makes up the number")


def filler_note(keyphrases: Iterable[Keyphrase]) -> str:
    """What a filler is, where there is one."""
    if not any(keyphrase.filler for keyphrase in keyphrases):
        return ""
    return f'<p class="small">{_("Less likely: {meaning}.", meaning=_(FILLER))}</p>'


def filler_word(keyphrase: Keyphrase) -> str:
    """The words that mark a filler, with their meaning; empty for any other keyphrase."""
    return (
        f'<span class="filler-word" title="{_(FILLER)}">{_("less likely")}</span>' if keyphrase.filler else ""
    )


PART = 5_000
"""Characters after which a part of a long text ends with its paragraph: browsers lay out only the parts in
sight, see style.css."""

MAX_LEVEL = 4

# Gradio fills in the value of an HTML component with a template: these would look like one.
TEMPLATE_CHARACTERS = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;"})


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked piece of text; `level` is the line it is underlined with, 1 nearest to the letters."""

    span: Span
    label: str
    level: int
    filler: bool


def escape(text: str) -> str:
    """`text` as HTML that shows exactly its characters, also in an attribute or a template."""
    return html.escape(text, quote=True).translate(TEMPLATE_CHARACTERS)


def mark_id(span: Span) -> str:
    return f"kp-{span[0]}-{span[1]}"


def layout(keyphrases: Iterable[Keyphrase]) -> list[Mark]:
    """One mark for each distinct span, in order, the longer first.

    Marks that overlap have different levels: the shorter one is nearer to the letters, so that a
    keyphrase inside another keeps a line of its own.
    """
    labels: dict[Span, list[str]] = {}
    sure: set[Span] = set()
    for keyphrase in keyphrases:
        word = f" · {_('less likely')}" if keyphrase.filler else ""
        for span in keyphrase.spans:
            labels.setdefault(span, []).append(
                f"{keyphrase.text} · {write_number(page_score(keyphrase.score))}{word}"
            )
        sure.update(() if keyphrase.filler else keyphrase.spans)
    occupied = bytearray(max((end for _, end in labels), default=0))
    marks: list[Mark] = []
    for start, end in sorted(labels, key=lambda span: (span[1] - span[0], span)):
        level = min(max(occupied[start:end], default=0) + 1, MAX_LEVEL)
        occupied[start:end] = bytes([level]) * (end - start)
        span = start, end
        marks.append(Mark(span, "; ".join(labels[span]), level, filler=span not in sure))
    return sorted(marks, key=_reading_order)


def marked_html(text: str, keyphrases: Sequence[Keyphrase], left_out: Sequence[LeftOut] = ()) -> str:
    """The text, each keyphrase in `<mark>` elements.

    Every element carries the offsets of the whole span in `data-start` and `data-end`. Where two
    spans cross, one of them comes in several elements; the first has the id.

    Args:
        left_out: pieces of the text that were not read: sections of them are folded, the others greyed.
    """
    marks = layout(keyphrases)
    starts: dict[int, list[Mark]] = {}
    cuts = {0, len(text)}
    for mark in marks:
        starts.setdefault(mark.span[0], []).append(mark)
        cuts.update(mark.span)
    tags = _tags_between(text, marks, left_out)
    places = sorted(cuts | tags.keys())
    parts: list[str] = []
    stack: list[Mark] = []
    begun: set[Span] = set()
    for start, end in pairwise(places):
        wanted = [mark for mark in stack if mark.span[1] > start]
        if start in tags:  # where no mark goes on
            parts.append(f"{'</mark>' * len(stack)}{tags[start]}")
            stack = []
        wanted += starts.get(start, [])
        wanted.sort(key=_outermost_first)
        parts.append(_move(stack, wanted, begun))
        parts.append(escape(text[start:end]))
        stack = wanted
    parts.append("</mark>" * len(stack))
    parts.append(tags.get(len(text), ""))
    return "".join(parts)


LEFT_OUT = {
    Kind.REFERENCES: mark_message("References"),
    Kind.ACKNOWLEDGEMENTS: mark_message("Acknowledgements"),
}


def _tags_between(text: str, marks: Sequence[Mark], left_out: Sequence[LeftOut]) -> dict[int, str]:
    """The tags around what was left out, and around the parts of a long text, by their places.

    None is inside a mark, and no part begins inside what was left out.
    """
    starts = [mark.span[0] for mark in marks]
    ends = list(accumulate((mark.span[1] for mark in marks), max))  # the last of each mark and those before

    def is_marked(start: int, end: int) -> bool:
        number = bisect_left(starts, end)
        return number > 0 and ends[number - 1] > start

    tags: dict[int, str] = {}
    kept = [piece for piece in left_out if not is_marked(piece.start, piece.end)]
    for piece in kept:
        opened, closed = f'<span class="left-out" title="{_("left out")}">', "</span>"
        if name := LEFT_OUT.get(piece.kind):
            length = piece.end - piece.start
            told = ngettext(
                "{name}, left out: {count} character",
                "{name}, left out: {count} characters",
                length,
                name=_(name),
                count=group_digits(length),
            )
            opened, closed = f'<details class="left-out"><summary dir="ltr">{told}</summary>', "</details>"
        tags[piece.start] = tags.get(piece.start, "") + opened
        tags[piece.end] = closed
    if len(text) < 2 * PART:
        return tags
    begun = 0
    for paragraph in _PARAGRAPH_END.finditer(text):
        end = paragraph.end()
        is_inside = is_marked(end, end) or any(piece.start <= end <= piece.end for piece in kept)
        if end - begun >= PART and end < len(text) and not is_inside:
            tags[end] = "</div><div>"
            begun = end
    tags[0] = "<div>" + tags.get(0, "")
    tags[len(text)] = tags.get(len(text), "") + "</div>"
    return tags


_PARAGRAPH_END = re.compile(r"\n\s*\n")


def _reading_order(mark: Mark) -> tuple[int, int]:
    return mark.span[0], -mark.span[1]


def _outermost_first(mark: Mark) -> tuple[int, int, int]:
    return -mark.level, *_reading_order(mark)


def _move(stack: list[Mark], wanted: list[Mark], begun: set[Span]) -> str:
    """The tags that lead from the open elements `stack` to `wanted`."""
    common = 0
    while common < min(len(stack), len(wanted)) and stack[common] == wanted[common]:
        common += 1
    opened = []
    for mark in wanted[common:]:
        identity = "" if mark.span in begun else f' id="{mark_id(mark.span)}"'
        begun.add(mark.span)
        look = f"kp kp-{mark.level} filler" if mark.filler else f"kp kp-{mark.level}"
        opened.append(
            f'<mark{identity} class="{look}" data-start="{mark.span[0]}" '
            f'data-end="{mark.span[1]}" title="{escape(mark.label)}">'
        )
    return "</mark>" * (len(stack) - common) + "".join(opened)


HEADINGS_START_AT = 3
"""The page has its own headings of level 1 and 2."""

TOP_LEVEL = 6


class _Renderer(RendererHTML):
    """Paragraphs find their own direction; links open beside the page; a picture is a link to it."""

    def image(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        # Pages load nothing from other hosts, and a typed answer must not be lost by following a link.
        token = tokens[index]
        name = self.renderInlineAsText(token.children, options, env) or "picture"
        return f'<a href="{escape(str(token.attrs["src"]))}"{_BESIDE}>{escape(name)}</a>'

    def link_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return f'<a href="{escape(str(tokens[index].attrs["href"]))}"{_BESIDE}>'


_BESIDE = ' target="_blank" rel="noopener noreferrer"'
_OWN_DIRECTION = ("p", "li", "blockquote", "th", "td")


def _markdown() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    return reader.enable("table").enable("strikethrough")


def markdown_html(markdown: str) -> str:
    """Markdown as HTML that holds no script, no frame, no form and no picture."""
    reader = _markdown()
    tokens = reader.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(TOP_LEVEL, int(token.tag[1:]) + HEADINGS_START_AT - 1)}"
        if token.nesting == 1 and (token.tag in _OWN_DIRECTION or token.type == "heading_open"):
            token.attrSet("dir", "auto")
    return str(reader.renderer.render(tokens, reader.options, {})).translate(TEMPLATE_CHARACTERS)


def inline_html(markdown: str) -> str:
    """One line of Markdown as `markdown_html` writes it, without a paragraph of its own."""
    return str(_markdown().renderInline(markdown)).translate(TEMPLATE_CHARACTERS)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>TITLE</title><style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72ch; margin: 24px auto; padding: 0 16px; }
body { overflow-wrap: anywhere; }
h3, h4 { font-size: 18px; }
table { border-collapse: collapse; font-size: 14px; }
th, td { text-align: start; padding: 4px 12px 4px 0; border-bottom: 1px solid; vertical-align: top; }
pre { overflow: auto; }
</style></head><body>CONTENT</body></html>
"""


def page_html(title: str, markdown: str) -> str:
    """A page that holds only a text, for a link that opens beside the pages."""
    return _PAGE.replace("TITLE", html.escape(title)).replace("CONTENT", markdown_html(markdown))
