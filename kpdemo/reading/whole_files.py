"""Files that are one document each: plain text, Markdown, PDF."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from kpdemo.errors import InputError
from kpdemo.lines import join_cut_words, with_title_line
from kpdemo.reading.file_kinds import document_suffix, plain_name
from kpdemo.reading.files import decode_text, file_errors, open_bytes
from kpdemo.reading.pdf import read_pdf
from kpdemo.types import Document

_LINE_END = re.compile(r"[\r\n]")


def read_whole(path: Path, *, title: str = "") -> Document:
    """The document of a .txt, .md or .pdf file; a `title` replaces the file's own.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        path.name.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise InputError(
            f"{shown}: the name of the file, which becomes an id, is not UTF-8; rename it."
        ) from None
    with file_errors(path):
        document, may_begin_with_title = _parse_whole(path, document_suffix(path))
    if title:
        return replace(document, title=title)
    return with_title_line(document) if may_begin_with_title else document


def _parse_whole(path: Path, suffix: str) -> tuple[Document, bool]:
    """The document of a file, and whether its first line may be a title."""
    with open_bytes(path) as stream:
        content = stream.read()
    name = plain_name(path)
    if suffix == ".pdf":
        return read_pdf(content, path, name)
    text = decode_text(content, name=str(path))
    return (markdown_document(text, id=name) if suffix == ".md" else text_document(text, id=name)), True


def text_document(text: str, *, title: str = "", id: str = "") -> Document:
    """A plain text as a document: words that the end of a line cuts are whole."""
    return Document(join_cut_words(text), title=title, id=id)


def markdown_document(text: str, *, id: str = "") -> Document:
    """A Markdown text as a document: a first "# heading" is its title, the rest stays as it is."""
    first, body = _split_line(text.lstrip())
    title = _heading_text(first)
    return Document(body, title=title, id=id) if title else Document(text, id=id)


def _split_line(text: str) -> tuple[str, str]:
    """The first line, and the rest from its first character that ends no line."""
    end = _LINE_END.search(text)
    at = len(text) if end is None else end.start()
    return text[:at], text[at:].lstrip("\r\n")


def _heading_text(line: str) -> str:
    """What a first-level "# heading #" says; nothing for another line."""
    if not line.startswith(("# ", "#\t")):
        return ""
    text = line[1:].strip()
    open_end = text.rstrip("#")
    return open_end.rstrip() if open_end[-1:].strip() == "" else text  # "C#" keeps its mark
