"""Reading documents from files: JSON Lines, CSV, plain text, Markdown and PDF, plain or compressed.

Every reader is lazy, so a file of millions of lines costs the memory of one. What cannot be read is
explained in one sentence with the file and the line; a reader given `on_error` reports a bad line
there and goes on, one without it stops at the first.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import logging
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from kpdemo.errors import InputError
from kpdemo.lines import join_cut_words, with_title_line
from kpdemo.row_lines import RowLines
from kpdemo.text import SURROGATE
from kpdemo.types import Document

COMPRESSIONS = (".gz", ".xz")
LINE_SUFFIXES = (".jsonl", ".json")
TABLE_SUFFIXES = (".csv", ".tsv")
WHOLE_SUFFIXES = (".txt", ".md", ".pdf")
DOCUMENT_SUFFIXES = (*LINE_SUFFIXES, *TABLE_SUFFIXES, *WHOLE_SUFFIXES)
OTHER_SUFFIXES = (
    *(".doc", ".docx", ".odt", ".rtf", ".epub", ".htm", ".html", ".xml", ".ppt", ".pptx"),
    *(".xls", ".xlsx", ".ods", ".parquet", ".7z", ".bz2", ".tar", ".tgz", ".zip", ".zst"),
)
"""Kinds of files that are not read; any other name says nothing of what is in it."""

_KINDS_ADVICE = f"use one of {', '.join(DOCUMENT_SUFFIXES)}."
_BODY_FIELDS = ("abstract", "text")
_KEYPHRASE_FIELDS = ("keyphrases", "keyword", "keywords")
_LARGEST_CELL = 64 * 1024 * 1024  # csv refuses cells over 128 KiB unless told otherwise
_UTF8_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(r"[\r\n]")
_NUMBER = re.compile(r"\d+")
_NOT_A_TITLE = re.compile(r"^(?:microsoft \w+ - |untitled|document\d*$|slide )|\.\w{2,5}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LineError:
    """A line of a file that could not be used; `message` is the whole sentence for the user."""

    line: int
    message: str


ReportLine = Callable[[LineError], None]


def read_rows(
    path: str | Path, *, on_error: ReportLine | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers, from 1; blank lines are skipped.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first line that is no object.
    """
    with _open_bytes(Path(path)) as stream:
        yield from parse_rows(stream, name=str(path), on_error=on_error)


def parse_rows(
    lines: Iterable[bytes], *, name: str, on_error: ReportLine | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `read_rows`, from the lines of an open stream; `name` is what messages call it."""
    with _file_errors(name):
        for number, line in enumerate(lines, start=1):
            content = (line.removeprefix(_UTF8_MARK) if number == 1 else line).strip()
            if not content:
                continue
            try:
                row = _parse_object(content, where=_where(name, number))
            except InputError as error:
                _report(error, number, on_error)
            else:
                yield number, row


def document_from_row(row: Mapping[str, Any], *, where: str, default_id: str = "") -> Document:
    """The document of one row: our own fields, or those of KP20k.

    Args:
        row: `id`, `title`, `abstract` or `text`, `keyphrases` (or `keyword`, `keywords`; a list, or
            one text with semicolons) and `language`; only `abstract` or `text` must be there.
        where: begins the message when something is wrong, such as "docs.jsonl, line 3".
        default_id: the id of a row that has none.

    Raises:
        InputError: a field is missing or of the wrong kind.
    """
    body = next((_text_field(row, name, where) for name in _BODY_FIELDS if row.get(name) is not None), None)
    if body is None:
        raise InputError(f'{where}: no field "abstract" or "text"; add one or delete the line.')
    return Document(
        body=body,
        title=_text_field(row, "title", where),
        id=_id_field(row, where) or default_id,
        keyphrases=_keyphrase_field(row, where),
        language=_text_field(row, "language", where),
    )


def read_documents(path: str | Path, *, on_error: ReportLine | None = None) -> Iterator[Document]:
    """The documents of a file, by its suffix; .gz and .xz may follow it.

    .csv and .tsv hold a document a row under a header, .jsonl and .json a document a line with fields of the
    same names, and so does a file without a suffix that is known, such as a pipe. A .txt, .md or .pdf file is
    one document, with the file's name as its id:

    - text is taken as it is, so that offsets count from the file's own characters; where its first line is a
      title (`kpdemo.lines`), that is the document's, here and in the two others, but for a line that heads
      the second page of a PDF too;
    - a first "# heading" of a Markdown file is the title, the rest stays as it is;
    - words that a hyphen cuts at the end of a line are made whole in plain text and in PDF text, whose title
      is that of the metadata, if any.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first bad line.
    """
    return (document for _, document in read_numbered(path, on_error=on_error))


def read_numbered(path: str | Path, *, on_error: ReportLine | None = None) -> Iterator[tuple[int, Document]]:
    """As `read_documents`, each with the number of the line where it begins."""
    path = Path(path)
    suffix = document_suffix(path)
    with _file_errors(path):
        if suffix in WHOLE_SUFFIXES:
            yield 1, read_whole(path)
        elif suffix in TABLE_SUFFIXES:
            yield from _read_table(path, suffix, on_error)
        else:
            with _open_bytes(path) as stream:
                yield from parse_documents(stream, name=str(path), on_error=on_error)


def read_whole(path: Path, *, title: str = "") -> Document:
    """The document of a .txt, .md or .pdf file; a `title` stands in place of the file's own.

    Raises:
        InputError: the file cannot be read.
    """
    with _file_errors(path):
        document, may_begin_with_title = _parse_whole(path, document_suffix(path))
    if title:
        return replace(document, title=title)
    return with_title_line(document) if may_begin_with_title else document


def parse_documents(
    lines: Iterable[bytes], *, name: str, on_error: ReportLine | None = None
) -> Iterator[tuple[int, Document]]:
    """The documents of open JSON Lines, with their line numbers.

    Raises:
        InputError: as `read_documents`; also where the first line tells that none will hold a document.
    """
    return _documents(parse_rows(_of_this_kind(lines, name), name=name, on_error=on_error), name, on_error)


def count_lines(path: Path) -> int:
    """How many lines of a file are not blank.

    Raises:
        InputError: the file cannot be read.
    """
    with _file_errors(path), _open_bytes(path) as stream:
        return sum(1 for line in stream if line.strip())


def read_head(path: Path, size: int) -> bytes:
    """The first `size` bytes of a file as it lies on the disk, compressed or not.

    Raises:
        InputError: the file cannot be read.
    """
    with _file_errors(path), path.open("rb") as stream:
        return stream.read(size)


def read_text(stream: BinaryIO, *, name: str) -> str:
    """All of an open stream as text; see `decode_text`."""
    with _file_errors(name):
        content = stream.read()
    return decode_text(content, name=name)


def document_suffix(path: Path) -> str:
    """The suffix that says what is in the file, without that of its compression.

    A name that says nothing, such as /dev/stdin or that of a pipe, stands for JSON Lines.

    Raises:
        InputError: it is one of another kind of file.
    """
    suffix = _suffix(path)
    if suffix in OTHER_SUFFIXES:
        raise InputError(f"{path}: files that end in {suffix} cannot be read; {_KINDS_ADVICE}")
    return suffix if suffix in DOCUMENT_SUFFIXES else LINE_SUFFIXES[0]


def _suffix(path: Path) -> str:
    """The last one in small letters, without that of a compression; empty where there is none."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_whole(name: str) -> bool:
    """Whether a file of this name is one document as a whole, plain or compressed."""
    path = Path(name)
    return (Path(path.stem) if path.suffix.lower() in COMPRESSIONS else path).suffix.lower() in WHOLE_SUFFIXES


def decode_text(content: bytes, *, name: str) -> str:
    """UTF-8 bytes as text, without the byte order mark.

    Raises:
        InputError: the bytes are no text; the message has the offset of the first that is not.
    """
    start = len(_UTF8_MARK) if content.startswith(_UTF8_MARK) else 0
    zero = content.find(b"\x00")
    if zero >= 0:
        raise InputError(
            f"{name}: not a text file (a zero byte at offset {zero}); save it as UTF-8 text first."
        )
    try:
        return content[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        at = start + error.start
        value = f"byte 0x{content[at]:02x} at offset {at}"
        raise InputError(f"{name}: not UTF-8 text ({value}); save it as UTF-8 first.") from None


def _where(name: str, line: int) -> str:
    return f"{name}, line {line}"


def _report(error: InputError, line: int, on_error: ReportLine | None) -> None:
    if on_error is None:
        raise error
    on_error(LineError(line, str(error)))


def _of_this_kind(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines, unless the file is not text, or its name promises no JSON and the first one holds none."""
    found = False
    for line in lines:
        if not found and (content := line.removeprefix(_UTF8_MARK).strip()):
            _refuse_another_kind(content, name)
            found = True
        yield line


def _refuse_another_kind(first: bytes, name: str) -> None:
    begins = first.startswith(b"{")
    if b"\x00" in first or (not begins and not _is_utf8(first)):
        raise InputError(f"{name}: not a text file; {_KINDS_ADVICE}")
    suffix = _suffix(Path(name))
    if suffix and suffix not in LINE_SUFFIXES and not begins:
        raise InputError(
            f"{name}: files that end in {suffix} are read as JSON Lines, but the first line is no JSON "
            f"object; {_KINDS_ADVICE}"
        )


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _open_bytes(path: Path) -> BinaryIO:
    with _file_errors(path):
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        if path.suffix.lower() == ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        return path.open("rb")


@contextmanager
def _file_errors(name: str | Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{name}: no such file; check the name.") from None
    except IsADirectoryError:
        raise InputError(f"{name}: a folder, not a file; name a file in it.") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{name}: the compressed file is damaged ({error}); make it again.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text ({error.reason}); save it as UTF-8 first.") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error}).") from None


def _parse_object(content: bytes, *, where: str) -> dict[str, Any]:
    advice = "fix or delete the line."
    try:
        row = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        value = f"byte 0x{content[error.start]:02x} at offset {error.start}"
        raise InputError(f"{where}: not UTF-8 text ({value}); {advice}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error.msg} at column {error.colno}); {advice}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        raise InputError(f"{where}: not JSON that can be read ({error}); {advice}") from None
    if not isinstance(row, dict):
        raise InputError(f'{where}: not a JSON object like {{"text": "…"}}; {advice}')
    return row


def _documents(
    rows: Iterable[tuple[int, Mapping[str, Any]]], name: str, on_error: ReportLine | None
) -> Iterator[tuple[int, Document]]:
    for number, row in rows:
        try:
            document = document_from_row(row, where=_where(name, number), default_id=str(number))
        except InputError as error:
            _report(error, number, on_error)
        else:
            yield number, document


def _text_field(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    return "" if value is None else _checked_text(value, name, where)


def _checked_text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f'{where}: "{name}" is {_short(value)}, not text; put it in quotes or delete the line.'
        )
    if SURROGATE.search(value):
        raise InputError(f'{where}: "{name}" holds half a character; save the file as UTF-8 again.')
    return value


def _id_field(row: Mapping[str, Any], where: str) -> str:
    value = row.get("id")
    return str(value) if type(value) is int else _text_field(row, "id", where)


def _keyphrase_field(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    name = next((name for name in _KEYPHRASE_FIELDS if row.get(name) is not None), None)
    if name is None:
        return ()
    value = row[name]
    if isinstance(value, str):
        value = value.split(";")
    if not isinstance(value, list):
        raise InputError(
            f'{where}: "{name}" is {_short(value)}, not a list of texts; fix or delete the line.'
        )
    phrases = (_checked_text(phrase, name, where).strip() for phrase in value)
    return tuple(phrase for phrase in phrases if phrase)


def _short(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 40 else f"{shown[:39]}…"


def _read_table(path: Path, suffix: str, on_error: ReportLine | None) -> Iterator[tuple[int, Document]]:
    # A bad byte becomes half a character, which spoils its own row and no other.
    with io.TextIOWrapper(_open_bytes(path), "utf-8-sig", errors="surrogateescape", newline="") as stream:
        yield from _documents(_table_rows(stream, path, suffix, on_error), str(path), on_error)


def _table_rows(
    stream: TextIO, path: Path, suffix: str, on_error: ReportLine | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(_LARGEST_CELL)
    header_line = stream.readline()
    delimiter = _delimiter(header_line, suffix)
    lines = RowLines(chain([header_line], stream), header_line.count("\t") + 1)
    may_swallow = delimiter == "\t" and '"' not in header_line
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header = [name.strip().lower() for name in _next_row(reader, _where(str(path), 1)) or ()]
    if not set(_BODY_FIELDS) & set(header):
        raise InputError(f'{path}: no column "abstract" or "text" in the first line; name the columns there.')
    while True:
        first = reader.line_num + 1
        lines.begin()
        where = _where(str(path), first)
        try:
            cells = _next_row(reader, where)
        except InputError as error:
            _report(error, first, on_error)
            return  # which of the lines after it begin a row is not known
        if cells is None:
            return
        if any(cells[len(header) :]):  # a spreadsheet may end all rows with empty cells
            problem = f"{len(cells)} cells under {len(header)} columns; quote the text."
            _report(InputError(f"{where}: {problem}"), first, on_error)
        elif may_swallow and lines.are_rows(len(cells)):
            _report(_swallowed(where, first, reader.line_num), first, on_error)
        elif any(cells):
            # An empty cell is a field left out, except that an empty text is an empty document.
            named = zip(header, cells, strict=False)
            yield first, {name: cell for name, cell in named if cell or name in _BODY_FIELDS}


def _swallowed(where: str, first: int, last: int) -> InputError:
    line = "the same line" if last == first else f"line {last}"
    rows = "that line is a whole row" if last == first else "each line up to there is a whole row"
    return InputError(
        f'{where}: a cell begins with " and one in {line} ends with it, but {rows} without them; put the '
        'cell in quotes and write "" for each " in it, or save the file as CSV.'
    )


def _next_row(reader: Iterator[list[str]], where: str) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        if "field larger" in str(error):
            raise InputError(
                f"{where}: a cell of more than {_LARGEST_CELL:,} characters, so reading ends here; look for "
                'a " that is never closed, or shorten the text.'
            ) from None
        raise InputError(
            f'{where}: a cell begins with " and has no " at its end, so reading ends here; '
            'put the whole cell in quotes and write "" for each " in it.'
        ) from None


def _delimiter(header: str, suffix: str) -> str:
    if suffix == ".tsv":
        return "\t"
    # Spreadsheets of half of Europe write semicolons.
    return ";" if ";" in header and "," not in header else ","


def _parse_whole(path: Path, suffix: str) -> tuple[Document, bool]:
    """The document of a file, and whether its first line may be a title."""
    with _open_bytes(path) as stream:
        content = stream.read()
    name = path.name
    for ending in (path.suffix if path.suffix.lower() in COMPRESSIONS else "", suffix):
        name = name[: len(name) - len(ending)]
    if suffix == ".pdf":
        return _read_pdf(content, path, name)
    text = decode_text(content, name=str(path))
    return (markdown_document(text, id=name) if suffix == ".md" else plain_document(text, id=name)), True


def plain_document(text: str, *, title: str = "", id: str = "") -> Document:
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


def _read_pdf(content: bytes, path: Path, id: str) -> tuple[Document, bool]:
    pages, title = _pdf_pages(content, path)
    text = "\n\n".join(join_cut_words(page.strip()) for page in pages).strip()
    text = SURROGATE.sub("\ufffd", text.replace("\x00", ""))
    if not text:
        raise InputError(
            f"{path}: no text in this PDF, only pictures perhaps; run text recognition (OCR) on it."
        )
    return Document(text, title=_sensible_title(title), id=id), not _has_running_header(pages)


def _has_running_header(pages: Sequence[str]) -> bool:
    """Whether the first two pages begin with the same line, numbers apart."""
    lines = [_NUMBER.sub("", page.strip().partition("\n")[0]).split() for page in pages[:2]]
    return len(lines) == 2 and lines[0] == lines[1]


def _pdf_pages(content: bytes, path: Path) -> tuple[list[str], str]:
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
        raise InputError(f"{path}: not a PDF that can be read ({reason}); save it again as PDF.") from None
    finally:
        logger.setLevel(level)
    raise InputError(f"{path}: the PDF is locked with a password; save it without one.")


def _sensible_title(title: str) -> str:
    title = " ".join(SURROGATE.sub("", title.replace("\x00", "")).split())
    if len(title.split()) < 2 or len(title) > 300 or _NOT_A_TITLE.search(title):
        return ""
    return title
