"""The document of a PDF file."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Sequence

from kpdemo.errors import InputError
from kpdemo.lines import join_cut_words
from kpdemo.text import SURROGATE
from kpdemo.types import Document

_NUMBER = re.compile(r"\d+")
_NOT_A_TITLE = re.compile(r"^(?:microsoft \w+ - |untitled|document\d*$|slide )|\.\w{2,5}$", re.IGNORECASE)


def read_pdf(content: bytes, name: str, id: str) -> tuple[Document, bool]:
    """The text of a PDF as a document, and whether its first line may be a title.

    Raises:
        InputError: the file is no PDF, is locked, or holds no text.
    """
    pages, title = _pdf_pages(content, name)
    text = "\n\n".join(join_cut_words(page.strip()) for page in pages).strip()
    text = SURROGATE.sub("\ufffd", text.replace("\x00", ""))
    if not text:
        raise InputError(
            f"{name}: no text in this PDF, perhaps only images; run text recognition (OCR) on it."
        )
    title = sensible_title(title)
    return Document(_without(title, text), title=title, id=id), not _has_running_header(pages)


def _without(title: str, text: str) -> str:
    """A text without the title at its beginning, which the file names elsewhere; a title alone stays."""
    words = r"\s+".join(map(re.escape, title.split()))
    begun = re.match(rf"{words}[ \t]*\n", text, re.IGNORECASE) if words else None
    return (text[begun.end() :].lstrip() if begun else "") or text


def _has_running_header(pages: Sequence[str]) -> bool:
    """Whether the first two pages begin with the same line, numbers apart."""
    lines = [_NUMBER.sub("", page.strip().partition("\n")[0]).split() for page in pages[:2]]
    return len(lines) == 2 and lines[0] == lines[1]


def _pdf_pages(content: bytes, name: str) -> tuple[list[str], str]:
    from pypdf import PasswordType, PdfReader

    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # its many warnings about slightly wrong files help no reader
    try:
        reader = PdfReader(io.BytesIO(content))
        locked = reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
        if not locked:
            pages = [page.extract_text() for page in reader.pages]
            title = reader.metadata.title if reader.metadata else None
            return pages, title if isinstance(title, str) else ""
    except Exception as error:  # noqa: BLE001 - a damaged file makes pypdf raise nearly anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{name}: not a PDF that can be read ({reason}); save it again as PDF.") from None
    finally:
        logger.setLevel(level)
    raise InputError(f"{name}: the PDF is locked with a password; save it without one.")


def sensible_title(title: str) -> str:
    title = " ".join(SURROGATE.sub("", title.replace("\x00", "")).split())
    if len(title.split()) < 2 or len(title) > 300 or _NOT_A_TITLE.search(title):
        return ""
    return title
