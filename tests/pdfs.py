"""Small PDF files."""

from __future__ import annotations

from pathlib import Path

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, IndirectObject, NameObject


def make_pdf(path: Path, lines: list[str], *, title: str = "", password: str = "") -> Path:
    writer = PdfWriter()
    drawn = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
    _add_page(writer, _content(writer, f"BT /F1 12 Tf 72 720 Td {drawn} ET"))
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(path)
    return path


def make_slow_pdf(path: Path) -> Path:
    """Some kilobytes that keep a reader busy for minutes: many pages of one long, repetitive content."""
    writer = PdfWriter()
    content = _content(writer, f"BT /F1 12 Tf {'(a) Tj ' * 100_000} ET")
    for _ in range(50):
        _add_page(writer, content)
    writer.write(path)
    return path


def _content(writer: PdfWriter, drawn: str) -> IndirectObject:
    stream = DecodedStreamObject()
    stream.set_data(drawn.encode())
    return writer._add_object(stream.flate_encode())


def _add_page(writer: PdfWriter, content: IndirectObject) -> None:
    page = writer.add_blank_page(600, 800)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    fonts = DictionaryObject({NameObject("/F1"): font})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    page[NameObject("/Contents")] = content
