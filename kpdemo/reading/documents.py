"""Reading documents from files: JSON Lines, CSV, plain text, Markdown and PDF, plain or compressed.

Every reader is lazy, so a file of millions of lines costs the memory of one. What cannot be read is
explained in one sentence with the file and the line; a reader given `on_error` reports each bad line
there and continues, one without it stops at the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kpdemo.errors import InputError
from kpdemo.reading.document_rows import OWN_IDS, RowIds, SeeRow, documents_from_rows
from kpdemo.reading.document_tables import read_table
from kpdemo.reading.file_kinds import (
    KINDS_ADVICE,
    LINE_SUFFIXES,
    TABLE_SUFFIXES,
    WHOLE_SUFFIXES,
    document_suffix,
    file_suffix,
)
from kpdemo.reading.files import NOT_UTF8, UTF8_MARK, file_errors, open_bytes
from kpdemo.reading.json_rows import LineError, ReportLine, parse_rows
from kpdemo.reading.whole_files import read_whole
from kpdemo.types import Document

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_documents(path: str | Path, *, on_error: ReportLine | None = None) -> Iterator[Document]:
    """The documents of a file, by its suffix; .gz and .xz may follow it.

    .csv and .tsv hold a document a row under a header, .jsonl and .json a document a line with fields of the
    same names, and so does a file without a suffix that is known, such as a pipe. A .txt, .md or .pdf file is
    one document, with the file's name as its id:

    - text is taken as it is, so that offsets count from the file's own characters; where its first line is a
      title (`kpdemo.lines`), that is the document's, here and in the two others, except a line that heads
      the second page of a PDF too;
    - a first "# heading" of a Markdown file is the title, the rest stays as it is;
    - words that a hyphen cuts at the end of a line are made whole in plain text and in PDF text, whose title
      is that of the metadata, if any.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first bad line.
    """
    return (document for _, document in read_numbered(path, on_error=on_error))


def read_numbered(
    path: str | Path,
    *,
    on_error: ReportLine | None = None,
    on_row: SeeRow | None = None,
    ids: RowIds = OWN_IDS,
) -> Iterator[tuple[int, Document]]:
    """As `read_documents`, each with the number of the line where it begins; `on_row` sees those of rows."""
    path = Path(path)
    suffix = document_suffix(path)
    with file_errors(path):
        if suffix in WHOLE_SUFFIXES:
            yield 1, read_whole(path)
        elif suffix in TABLE_SUFFIXES:
            yield from read_table(path, suffix, on_error, on_row, ids)
        else:
            with open_bytes(path) as stream:
                yield from parse_documents(stream, name=str(path), on_error=on_error, on_row=on_row, ids=ids)


def count_documents(path: Path) -> int:
    """Also those that cannot be read; a file that cannot be read, or is empty, counts as one."""
    if document_suffix(path) in WHOLE_SUFFIXES:
        return 1
    count = 0

    def broken(_: LineError) -> None:
        nonlocal count
        count += 1

    try:
        for _ in read_numbered(path, on_error=broken):
            count += 1
    except InputError:
        count += 1
    return count or 1


def parse_documents(
    lines: Iterable[bytes],
    *,
    name: str,
    on_error: ReportLine | None = None,
    on_row: SeeRow | None = None,
    ids: RowIds = OWN_IDS,
) -> Iterator[tuple[int, Document]]:
    """The documents of open JSON Lines, with their line numbers.

    Raises:
        InputError: as `read_documents`; also where the first line shows that none will hold a document.
    """
    rows = parse_rows(_of_this_kind(lines, name), name=name, on_error=on_error)
    return documents_from_rows(rows, name, on_error, on_row, ids)


def _of_this_kind(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines; raises for a file that is not text, or is JSON neither by name nor by its first line."""
    found = False
    for line in lines:
        if not found and (content := line.removeprefix(UTF8_MARK).strip()):
            _refuse_another_kind(content, name)
            found = True
        yield line


def _refuse_another_kind(first: bytes, name: str) -> None:
    """Raise InputError for a file whose first line shows that it is not JSON Lines in UTF-8."""
    if first.startswith(_UTF16_MARKS) or b"\x00" in first[:2]:
        raise InputError(f"{name}: {NOT_UTF8}")
    if first.startswith(b"{"):
        return  # if broken, only its own document is lost
    suffix = file_suffix(Path(name))
    if suffix and suffix not in LINE_SUFFIXES:
        is_text = b"\x00" not in first and _is_utf8(first)
        found = "the first line is not a JSON object" if is_text else "it is not a text file"
        raise InputError(
            f"{name}: files that end in {suffix} are read as JSON Lines, but {found}; {KINDS_ADVICE}"
        )


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
