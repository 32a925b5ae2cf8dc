"""Documents from files, folders and streams, with or without gold keyphrases, plain or compressed.

Every reader is lazy, so a file of millions of lines costs the memory of one. What cannot be read is
explained in one sentence with the file and the line; a reader given `on_error` reports each bad line there
and continues, one without it stops at the first.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from kpdemo.errors import InputError
from kpdemo.io.files import (
    DOCUMENT_SUFFIXES,
    KINDS_ADVICE,
    LINE_SUFFIXES,
    NOT_UTF8,
    OTHER_SUFFIXES,
    TABLE_SUFFIXES,
    UTF8_MARK,
    WHOLE_SUFFIXES,
    decode_text,
    document_suffix,
    file_errors,
    file_suffix,
    is_whole,
    open_bytes,
    plain_name,
)
from kpdemo.io.json_lines import LineError, ReportLine, line_name, parse_rows
from kpdemo.io.pdf import read_pdf
from kpdemo.io.tables import (
    ID_COLUMN,
    OWN_IDS,
    KeyphraseTexts,
    NameRow,
    RowIds,
    SeeRow,
    documents_from_rows,
    read_table,
)
from kpdemo.languages import names_language
from kpdemo.lines import join_cut_words, with_title_line
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


@dataclass(frozen=True, slots=True)
class LocatedDocument:
    """A document, the file that it is in, and the line where it begins there."""

    document: Document
    file: str
    line: int

    @property
    def where(self) -> str:
        """What messages call the place."""
        return self.file if is_whole(self.file) else line_name(self.file, self.line)

    def refusal(self, reason: str) -> str:
        """The sentence on a document that a model refuses."""
        # A file that is one document as a whole needs no id besides its name.
        document = "" if is_whole(self.file) else f'document "{self.document.id}": '
        return f"{self.where}: {document}{reason}"

    def unknown_language(self) -> str:
        """The sentence on a document that names an unknown language; empty for any other document."""
        language = self.document.language
        if not language or names_language(language):
            return ""
        advice = 'write a code such as "sw", or leave "language" out.'
        return f'{self.where}: "{language}" is not a known language; {advice}'


BatchInput = str | Path | BinaryIO | LocatedDocument
"""A file, a folder of files, open JSON Lines, or one document that has been read already."""


def name_of(source: BatchInput) -> str:
    if isinstance(source, LocatedDocument):
        return source.file
    return str(source) if isinstance(source, (str, Path)) else "standard input"


SeeUnnamed = Callable[[str], None]
"""Called with the place of a row without an id."""


def unnamed_note(where: str, column: str, advice: str) -> str:
    """The sentence on the first row without an id."""
    return f'{where}: no "{column}", so this document and all others without one are named by line; {advice}'


def read_located(
    source: BatchInput,
    *,
    on_error: ReportLine | None = None,
    id_column: str = ID_COLUMN,
    on_unnamed: SeeUnnamed | None = None,
) -> Iterator[LocatedDocument]:
    """The documents of a file as in `read_documents`, of each file of a folder, or of another source.

    In a folder a row without an id is called by its file and line, such as "c.csv:2".

    Args:
        id_column: the field, or the column of a table, with the ids.

    Raises:
        InputError: nothing can be read at all, or nothing is in it; without `on_error`, also the first bad
            line or file.
    """
    if isinstance(source, LocatedDocument):
        yield source
    elif isinstance(source, (str, Path)) and Path(source).is_dir():
        yield from _of_folder(Path(source), on_error, id_column, on_unnamed)
    else:
        ids = RowIds(id_column, report_unnamed(str, name_of(source), on_unnamed))
        yield from _of_file(source, on_error, ids)


def folder_files(folder: Path) -> list[Path]:
    """The files in a folder, by their names, without hidden ones; not those of its subfolders.

    Files of unknown kinds, such as .docx, are included, so that the reader can report them.

    Raises:
        InputError: there is none, or the folder cannot be read.
    """
    kinds = (*DOCUMENT_SUFFIXES, *OTHER_SUFFIXES)
    with file_errors(folder):
        entries = sorted(folder.iterdir(), key=lambda path: path.name)
        files = [path for path in entries if path.is_file() and not path.name.startswith(".")]
    found = [path for path in files if file_suffix(path) in kinds]
    if not found:
        suffixes = ", ".join(DOCUMENT_SUFFIXES)
        raise InputError(f"{folder}: no documents in the folder; put files there that end in {suffixes}.")
    return found


def _of_file(
    source: str | Path | BinaryIO, on_error: ReportLine | None, ids: RowIds
) -> Iterator[LocatedDocument]:
    problems = None if on_error is None else _Problems(on_error)
    name = name_of(source)
    if isinstance(source, (str, Path)):
        numbered = read_numbered(source, on_error=problems, ids=ids)
    else:
        numbered = parse_documents(source, name=name, on_error=problems, ids=ids)
    is_empty = True
    for line, document in numbered:
        is_empty = False
        yield LocatedDocument(document, name, line)
    if is_empty and not (problems and problems.told):
        raise InputError(f"{name}: contains no documents; give a file with one document per line.")


class _Problems:
    """Passes on what is wrong with lines, and remembers that something was."""

    def __init__(self, on_error: ReportLine) -> None:
        self._on_error = on_error
        self.told = False

    def __call__(self, problem: LineError) -> None:
        self.told = True
        self._on_error(problem)


def _of_folder(
    folder: Path, on_error: ReportLine | None, id_column: str, on_unnamed: SeeUnnamed | None
) -> Iterator[LocatedDocument]:
    files = folder_files(folder)
    names = Counter(plain_name(path) for path in files if file_suffix(path) in WHOLE_SUFFIXES)
    for path in files:
        try:
            ids = RowIds(id_column, report_unnamed(_row_names(path), str(path), on_unnamed))
            for one in _of_file(path, on_error, ids):
                # paper.txt and paper.pdf are two documents
                clash = is_whole(path.name) and names[plain_name(path)] > 1
                yield replace(one, document=replace(one.document, id=path.name)) if clash else one
        except InputError as error:
            if on_error is None:
                raise
            on_error(LineError(0, str(error)))


def _row_names(path: Path) -> NameRow:
    name = os.fsencode(path.name).decode("utf-8", "replace")  # an id is written as UTF-8
    return lambda line: f"{name}:{line}"


def report_unnamed(name_row: NameRow, name: str, on_unnamed: SeeUnnamed | None) -> NameRow:
    """As `name_row`, for the file of that name; `on_unnamed` hears of each row without an id."""

    def named(line: int) -> str:
        if on_unnamed is not None:
            on_unnamed(line_name(name, line))
        return name_row(line)

    return named


def read_gold(
    path: str | Path,
    *,
    limit: int | None = None,
    on_error: ReportLine | None = None,
    language: str = "",
    id_column: str = ID_COLUMN,
    on_unnamed: SeeUnnamed | None = None,
) -> list[Document]:
    """The documents, all in `language` where one is given, with the ids of `id_column`.

    Args:
        on_unnamed: called with the place of each row without an id.

    Raises:
        InputError: the file cannot be read, has no keyphrases, or separates them by another mark than ";";
            without `on_error`, also the first bad line.
    """
    texts = KeyphraseTexts()
    ids = RowIds(id_column, report_unnamed(str, str(path), on_unnamed))
    numbered = islice(read_numbered(path, on_error=on_error, on_row=texts.see, ids=ids), limit)
    documents = [document for _, document in numbered]
    if not any(document.keyphrases for document in documents):
        raise InputError(f'{path}: no document has gold "keyphrases"; give a file that has them.')
    if problem := texts.problem():
        raise InputError(f"{path}: {problem}")
    return [replace(document, language=language) for document in documents] if language else documents
