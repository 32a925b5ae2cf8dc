"""Tags of HTML and JATS in a text, as in abstracts from publishers: read as blanks, so that offsets stay."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from kpdemo.types import Document

_BLOCKS = (
    "abstract article blockquote caption dd div dl dt figcaption figure h[1-6] li list list-item ol p pre "
    "sec script section style table tbody td th thead title tr ul"
)
_INLINE = (
    "a abbr b big bold br cite code disp-formula em ext-link font formula hr i img inf inline-formula italic "
    "kbd label mark math monospace roman s sans-serif sc small span strike strong styled-content sub sup "
    "tex tex-math tt u underline var xref"
)
_OPEN, _CLOSE = "(?:<|&lt;)", "(?:>|&gt;)"  # a publisher's tags may be escaped as if they were text
_VALUE = r"""(?:"[^"<>]{0,300}"|'[^'<>]{0,300}'|&quot;[^&<>]{0,300}&quot;|[\w:/.#%+-]{1,300})"""
_ATTRIBUTES = rf"(?:\s{{1,9}}[\w:.-]{{1,60}}\s{{0,9}}=\s{{0,9}}{_VALUE})*\s{{0,9}}/?"


def _tags(names: str) -> str:
    return rf"{_OPEN}/?(?:{'|'.join(names.split())}){_ATTRIBUTES}{_CLOSE}"


_UNREAD = re.compile(
    r"<!--(?:(?!<!--).)*?-->"  # in one pass, even if none ends
    rf"|(?P<block>{_OPEN}/?(?:jats|xhtml):(?:{'|'.join(_BLOCKS.split())}){_ATTRIBUTES}{_CLOSE}|{_tags(_BLOCKS)})"
    rf"|{_OPEN}/?(?:jats|mml|xhtml|xlink):[\w-]+{_ATTRIBUTES}{_CLOSE}|{_tags(_INLINE)}"
    r"|&(?P<entity>amp|lt|gt|quot|apos|nbsp|ndash|mdash|hellip|[lr][sd]quo|\#\d{1,7}|\#x[\da-f]{1,6});",
    re.IGNORECASE | re.DOTALL,
)
_PARAGRAPH = "\n\n"


def without_markup(document: Document) -> Document:
    """The document with blanks for tags, so that all else stands where it stood.

    A tag that begins or ends a paragraph or another piece becomes a blank line; an entity becomes its
    character with blanks behind it, so that a word with one inside is read as two. What stands between two
    tags stays, a script too, and so does what looks like a tag only: "a <b and c> d", "List<String>".
    """
    body, title = _blanked(document.body), _blanked(document.title)
    if (body, title) == (document.body, document.title):
        return document
    return replace(document, body=body, title=title)


def _blanked(text: str) -> str:
    return _UNREAD.sub(_blank, text) if "<" in text or "&" in text else text


def _blank(match: re.Match[str]) -> str:
    if match["block"]:
        kept = _PARAGRAPH
    elif match["entity"]:
        kept = html.unescape(match[0])
    else:
        kept = ""
    return kept.ljust(len(match[0]))
