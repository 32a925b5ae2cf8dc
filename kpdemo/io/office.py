"""The text of office documents: Word (DOCX), OpenDocument (ODT) and RTF."""

from __future__ import annotations

from typing import Any

from kpdemo.errors import InputError
from kpdemo.io.packages import Package, children, parse_xml, visible_text
from kpdemo.types import Document

_DOCX_BREAKS = {"p": "\n\n", "tr": "\n\n", "tc": "\t"}
_DOCX_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_DOCX_UNSEEN = frozenset({"pPr", "rPr", "tblPr", "sectPr", "del", "moveFrom", "Fallback"})
"""Properties, what was deleted or moved away, and the second form of a drawing for old programs."""
_ODT_BREAKS = {"p": "\n\n", "h": "\n\n", "table-row": "\n\n", "table-cell": "\t"}
_ODT_CHARACTERS = {"tab": "\t", "line-break": "\n", "s": " "}
_ODT_UNSEEN = frozenset({"tracked-changes", "annotation", "note", "forms", "sequence-decls"})


def read_docx(content: bytes, name: str, id: str) -> Document:
    """The document of a Word file: paragraphs and tables in their order, then foot- and endnotes.

    Raises:
        InputError: it is none that can be read.
    """
    kind = "a Word document"
    package = Package(content, name, kind)
    root = parse_xml(package.read("word/document.xml"), name, kind)
    title = ""
    if "word/styles.xml" in package.names:
        title = _take_title(root, _title_styles(parse_xml(package.read("word/styles.xml"), name, kind)))
    texts = [_docx_text(root)]
    for part in ("word/footnotes.xml", "word/endnotes.xml"):
        if part in package.names:
            texts += map(
                _docx_text, children(parse_xml(package.read(part), name, kind), "footnote", "endnote")
            )
    return Document("\n\n".join(filter(None, texts)), title=title or _core_title(package, name), id=id)


def _docx_text(root: Any) -> str:
    return visible_text(
        root,
        breaks=_DOCX_BREAKS,
        unseen=_DOCX_UNSEEN,
        characters=_DOCX_CHARACTERS,
        only=frozenset({"t"}),
    )


def _title_styles(styles: Any) -> set[str]:
    """The ids of the style that the file, in whatever language, names "Title"."""
    return {
        _value(style, "styleId")
        for style in children(styles, "style")
        if any(_value(name, "val").lower() == "title" for name in children(style, "name"))
    }


def _take_title(root: Any, styles: set[str]) -> str:
    """The first paragraph of one of the styles, which is taken out."""
    for paragraph in children(root, "p"):
        if any(_value(style, "val") in styles for style in children(paragraph, "pStyle")):
            title = " ".join(_docx_text(paragraph).split())
            if title:
                paragraph.getparent().remove(paragraph)
                return title
    return ""


def _value(element: Any, attribute: str) -> str:
    """An attribute in whichever namespace a writer gave it."""
    found = (value for key, value in element.attrib.items() if key.rpartition("}")[2] == attribute)
    return str(next(found, ""))


def _core_title(package: Package, name: str) -> str:
    """The title among the properties of a Word file, unless a program made it."""
    from kpdemo.io.pdf import sensible_title

    if "docProps/core.xml" not in package.names:
        return ""
    core = parse_xml(package.read("docProps/core.xml"), name, "a Word document")
    return sensible_title(next((one.text or "" for one in children(core, "title")), ""))


def read_odt(content: bytes, name: str, id: str) -> Document:
    """The document of an OpenDocument text, notes last.

    Raises:
        InputError: it is none that can be read.
    """
    kind = "an OpenDocument text"
    package = Package(content, name, kind)
    if "META-INF/manifest.xml" in package.names:
        manifest = parse_xml(package.read("META-INF/manifest.xml"), name, kind)
        if children(manifest, "encryption-data"):
            raise InputError(f"{name}: locked with a password; save it without one.")
    root = parse_xml(package.read("content.xml"), name, kind)
    body = next(iter(children(root, "body")), root)
    styles = {"Title"} | {
        _value(style, "name")
        for style in children(root, "style")
        if _value(style, "parent-style-name") == "Title"
    }
    title = ""
    for paragraph in children(body, "p", "h"):
        if not title and _value(paragraph, "style-name") in styles:
            title = " ".join(_odt_text(paragraph).split())
            if title:
                paragraph.getparent().remove(paragraph)
    notes = [_odt_text(note) for note in children(body, "note-body")]
    return Document("\n\n".join(filter(None, [_odt_text(body), *notes])), title=title, id=id)


def _odt_text(root: Any) -> str:
    return visible_text(root, breaks=_ODT_BREAKS, unseen=_ODT_UNSEEN, characters=_ODT_CHARACTERS)


def read_rtf(content: bytes, name: str, id: str) -> Document:
    """The document of an RTF file.

    Raises:
        InputError: it is none that can be read.
    """
    from striprtf.striprtf import rtf_to_text

    if not content.lstrip().startswith(b"{\\rtf"):
        raise InputError(f"{name}: not an RTF document, since it does not begin with {{\\rtf; save it again.")
    try:
        text = rtf_to_text(content.decode("cp1252", "replace"), errors="replace")  # type: ignore[no-untyped-call]
    except (LookupError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: not an RTF document that can be read ({error}); save it again.") from None
    return Document(str(text).replace("\x00", "").strip(), id=id)
