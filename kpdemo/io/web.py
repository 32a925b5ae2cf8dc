"""The text of web pages (HTML) and of books made of them (EPUB), as a browser would print them."""

from __future__ import annotations

import posixpath
import re
from typing import Any
from urllib.parse import unquote

from lxml import etree
from lxml import html as lxml_html

from kpdemo.errors import InputError
from kpdemo.io.packages import Package, children, local_name, parse_xml, visible_text
from kpdemo.types import Document

_BLOCKS = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend main ol p pre section summary table "
    "tbody tfoot thead ul"
)
_BREAKS = dict.fromkeys(_BLOCKS.split(), "\n\n") | {
    "br": "\n",
    "li": "\n",
    "tr": "\n",
    "td": "\t",
    "th": "\t",
}
_NOT_PRINTED = (
    "annotation annotation-xml audio button canvas datalist head iframe input nav noscript object option "
    "script select style svg template textarea title video"
)
_UNSEEN = frozenset(_NOT_PRINTED.split())
_CHARSET = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.IGNORECASE)


def declared_encoding(content: bytes) -> str:
    """The name of the encoding that a page says it has; empty where it does not say."""
    found = _CHARSET.search(content[:4096])
    return found[1].decode("ascii", "ignore") if found else ""


def html_document(text: str, name: str, id: str) -> Document:
    """The document of a web page: its one main heading, or else its title, and what stands in it.

    Raises:
        InputError: there is nothing in it.
    """
    root = _parse_html(text, name)
    headings = children(root, "h1")
    if len(headings) == 1 and (title := _line(headings[0])):
        _empty(headings[0])
        return Document(_page_text(root), title=title, id=id)
    title = next((_line(one, unseen=frozenset()) for one in children(root, "title")), "")
    return Document(_page_text(root), title=title, id=id)


def _parse_html(text: str, name: str) -> Any:
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = lxml_html.document_fromstring(text.replace("\x00", "").encode(), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise InputError(f"{name}: not a web page that can be read ({error}); save it again.") from None
    if any(error.message.startswith("Excessive depth") for error in parser.error_log):
        raise InputError(f"{name}: nested too deeply, so that not all of it can be read; give a PDF of it.")
    return root


def _page_text(root: Any) -> str:
    return visible_text(root, breaks=_BREAKS, unseen=_UNSEEN)


def _line(element: Any, unseen: frozenset[str] = _UNSEEN) -> str:
    return " ".join(visible_text(element, breaks=_BREAKS, unseen=unseen).split())


def _empty(element: Any) -> None:
    """Take what is in an element, not what follows it."""
    tail = element.tail
    element.clear()
    element.tail = tail


def read_epub(content: bytes, name: str, id: str) -> Document:
    """The document of an e-book: its chapters in the order of reading, without the table of contents.

    Raises:
        InputError: it is none that can be read, or is protected.
    """
    kind = "an EPUB book"
    package = Package(content, name, kind)
    if "META-INF/rights.xml" in package.names:
        raise InputError(f"{name}: the book is protected against copying, so it cannot be read.")
    container = parse_xml(package.read("META-INF/container.xml"), name, kind)
    place = next((one.get("full-path") or "" for one in children(container, "rootfile")), "")
    book = parse_xml(package.read(place), name, kind)
    files = {
        item.get("id"): posixpath.normpath(
            posixpath.join(posixpath.dirname(place), unquote(item.get("href") or ""))
        )
        for item in children(book, "item")
        if "nav" not in (item.get("properties") or "").split()
    }
    chapters = [files[one.get("idref")] for one in children(book, "itemref") if one.get("idref") in files]
    texts = [_page_text(_parse_chapter(package.read(chapter), name)) for chapter in chapters]
    titles = [
        _line(one, unseen=frozenset())
        for one in children(book, "title")
        if local_name(one.getparent()) == "metadata"
    ]
    return Document("\n\n".join(filter(None, texts)), title=next(iter(titles), ""), id=id)


def _parse_chapter(content: bytes, name: str) -> Any:
    """A chapter as the XHTML that it should be, or else as a browser reads it."""
    try:
        return parse_xml(content, name)
    except InputError:
        return _parse_html(content.decode("utf-8", "replace"), name)
