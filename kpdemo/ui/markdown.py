"""Markdown that somebody else wrote, as HTML: no markup in it is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from kpdemo.ui.marks import TEMPLATE_CHARACTERS, escape

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
