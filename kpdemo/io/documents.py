"""Documents from files, folders and streams, with or without gold keyphrases, plain or compressed.

Every reader is lazy, so a file of millions of lines costs the memory of one. What cannot be read is
explained in one sentence with the file and the line; a reader given `on_error` reports each bad line there
and continues, one without it stops at the first.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from kpdemo.errors import InputError
from kpdemo.io.files import (
    DOCUMENT_SUFFIXES,
    KINDS_ADVICE,
    LINE_SUFFIXES,
    OTHER_SUFFIXES,
    TABLE_SUFFIXES,
    WHOLE_SUFFIXES,
    decode_text,
    document_suffix,
    file_errors,
    file_suffix,
    is_whole,
    open_bytes,
    plain_name,
)
from kpdemo.io.pdf import read_pdf
from kpdemo.io.tables import (
    FORMATS,
    LineError,
    ReportLine,
    Row,
    RowError,
    Source,
    TableFormat,
    TableRules,
    column_name,
    describe_bad_byte,
    line_name,
    parse_lines,
    read_lines,
    read_table,
    report,
    report_errors,
)
from kpdemo.languages import names_language
from kpdemo.lines import join_cut_words, with_title_line
from kpdemo.text import SURROGATE, shorten
from kpdemo.types import Document

_LINE_END = re.compile(r"[\r\n]")

SEPARATOR = ";"
OTHER_SEPARATORS = (",", "|", "，", "、", "；")
_FIELDS = ("keyphrases", "keyword", "keywords")


def keyphrase_field(row: Mapping[str, Any]) -> tuple[str, Any]:
    """The name and the value of the field with the keyphrases; None where there is none."""
    name = next((name for name in _FIELDS if row.get(name) is not None), _FIELDS[0])
    return name, row.get(name)


class KeyphraseTexts:
    """Looks through the rows of a file; `problem` says whether a list of it would pass for one phrase.

    A phrase may hold a comma itself. So it is a problem only where most texts hold the same mark and none
    holds a semicolon.
    """

    def __init__(self) -> None:
        self._texts = 0
        self._separated = False
        self._marks: Counter[str] = Counter()

    def see(self, row: Mapping[str, Any]) -> None:
        _, value = keyphrase_field(row)
        if isinstance(value, str) and value.strip():
            self._texts += 1
            self._separated = self._separated or SEPARATOR in value
            self._marks.update(mark for mark in OTHER_SEPARATORS if mark in value)

    def problem(self) -> str:
        """What is wrong with the keyphrases and what to do; nothing where they can be read."""
        [(mark, times)] = self._marks.most_common(1) or [("", 0)]
        if self._separated or 2 * times <= self._texts:
            return ""
        return (
            f'the keyphrases of {times:,} of {self._texts:,} documents have "{mark}" but no "{SEPARATOR}", '
            f'so each list would count as one phrase; separate phrases by "{SEPARATOR}", and put one '
            f'after a phrase that has "{mark}" itself.'
        )


BODY_FIELDS = ("abstract", "text")

SeeRow = Callable[[Mapping[str, Any]], None]
"""Called with the row of each document that can be used."""
NameRow = Callable[[int], str]
"""The id of a document that has none, by the number of its line; called for such documents only."""

ID_COLUMN = "id"


@dataclass(frozen=True, slots=True)
class RowIds:
    """Where the ids of rows are: in a field, or in a column whatever the case of its name."""

    column: str = ID_COLUMN
    name_row: NameRow = str


OWN_IDS = RowIds()


def document_from_row(
    row: Mapping[str, Any], *, where: str, default_id: str = "", id_column: str = ID_COLUMN
) -> Document:
    """The document of one row: our own fields, or those of KP20k.

    Args:
        row: `id`, `title`, `abstract` or `text`, `keyphrases` (or `keyword`, `keywords`; a list, or
            one text with semicolons) and `language`; only `abstract` or `text` must be there.
        where: begins the message when something is wrong, such as "docs.jsonl, line 3".
        default_id: the id of a row that has none.
        id_column: the field with the id.

    Raises:
        InputError: a field is missing or of the wrong kind.
    """
    body = next((_text_field(row, name, where) for name in BODY_FIELDS if row.get(name) is not None), None)
    if body is None:
        raise InputError(f'{where}: no field "abstract" or "text"; add one or empty the line.')
    return Document(
        body=body,
        title=_text_field(row, "title", where),
        id=_id_field(row, id_column, where) or default_id,
        keyphrases=_keyphrase_field(row, where),
        language=_text_field(row, "language", where),
    )


def _documents_of(
    rows: Iterable[Row | RowError], name: str, on_error: ReportLine | None, on_row: SeeRow | None, ids: RowIds
) -> Iterator[tuple[int, Document]]:
    """The documents of rows with their line numbers."""
    for row in report_errors(rows, on_error):
        # An empty field is one left out, except that an empty text is an empty document.
        fields = {key: value for key, value in row.fields.items() if value != "" or key in BODY_FIELDS}
        try:
            document = document_from_row(fields, where=f"{name}, {row.place}", id_column=ids.column)
        except InputError as error:
            report(error, row.line, on_error)
        else:
            if on_row is not None:
                on_row(fields)
            yield row.line, document if document.id else replace(document, id=ids.name_row(row.line))


def _text_field(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    return "" if value is None else _checked_text(value, name, where)


def _checked_text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f'{where}: "{name}" is {_short(value)}, not text; put it in quotes or empty the line.'
        )
    if SURROGATE.search(value):
        raise InputError(f'{where}: "{name}" holds half a character; save the file as UTF-8 again.')
    return value


def _id_field(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    return str(value) if type(value) is int else _text_field(row, name, where)


def _keyphrase_field(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    name, value = keyphrase_field(row)
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(SEPARATOR)
    if not isinstance(value, list):
        raise InputError(f'{where}: "{name}" is {_short(value)}, not a list of texts; fix or empty the line.')
    phrases = (_checked_text(phrase, name, where).strip() for phrase in value)
    return tuple(phrase for phrase in phrases if phrase)


def _short(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), 40)


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


def read_documents(path: str | Path, *, on_error: ReportLine | None = None) -> Iterator[Document]:
    """The documents of a file, by its suffix; .gz and .xz may follow it.

    .csv, .tsv and .xlsx hold a document a row under a header, .jsonl and .json a document a line with fields
    of the same names, and so does a file without a suffix that is known, such as a pipe. A .txt, .md or .pdf
    file is one document, with the file's name as its id:

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
        else:
            with open_bytes(path) as stream:
                if suffix in TABLE_SUFFIXES:
                    ids = replace(ids, column=column_name(ids.column))
                    rules = TableRules(needs=partial(_lacking_columns, ids.column))
                    rows = read_table(Source(str(path), stream), FORMATS.get(suffix), rules)
                    yield from _documents_of(rows, str(path), on_error, on_row, ids)
                else:
                    yield from parse_documents(
                        stream, name=str(path), on_error=on_error, on_row=on_row, ids=ids
                    )


def _lacking_columns(id_column: str, names: Sequence[str]) -> str:
    """What a header of these names lacks for documents."""
    if not set(BODY_FIELDS) & set(names):
        return 'it needs "abstract" or "text".'
    return "" if id_column in (ID_COLUMN, *names) else f'it needs "{id_column}" for the ids.'


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
    stream: BinaryIO,
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
    lines = read_lines(Source(name, stream))
    first = next((line for line in lines if line[1].strip()), None)
    if first is None:
        return
    suffix = file_suffix(Path(name))
    if not first[1].lstrip().startswith(("{", "[")) and suffix and suffix not in LINE_SUFFIXES:
        is_text = "\0" not in first[1] and not describe_bad_byte(first[1])
        found = "the first line is not a JSON object" if is_text else "it is not a text file"
        raise InputError(
            f"{name}: files that end in {suffix} are read as JSON Lines, but {found}; {KINDS_ADVICE}"
        )
    rows = parse_lines(name, chain([first], lines), first[1], TableFormat.JSONL, TableRules())
    yield from _documents_of(rows, name, on_error, on_row, ids)


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
