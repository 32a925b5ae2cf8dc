"""Documents from files, folders and streams, with or without gold keyphrases, plain or compressed.

Every reader is lazy, so a file of millions of lines costs the memory of one. What cannot be read is
explained in one sentence with the file and the line; a reader given `on_error` reports each bad line there
and continues, one without it stops at the first.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html.entities import html5
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from kpdemo.errors import InputError
from kpdemo.extras import needs_extra
from kpdemo.io.files import (
    ARCHIVE_SUFFIX,
    COMPRESSIONS,
    DOCUMENT_SUFFIXES,
    KINDS_ADVICE,
    LARGEST_FILE,
    LINE_SUFFIXES,
    LOOKED_AT,
    OTHER_SUFFIXES,
    RECORD_SUFFIXES,
    TABLE_SUFFIXES,
    WEB_SUFFIXES,
    WHOLE_SUFFIXES,
    as_utf8,
    decode_text,
    document_suffix,
    encoding_note,
    encoding_of,
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
    other_kind,
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
_SEPARATORS = re.compile(r"(&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});)|[;；\r\n]+", re.IGNORECASE)
"""What always separates phrases; the mark that ends an entity, which is the group, does not."""
OTHER_SEPARATORS = (",", "|", "，", "、", " · ", " • ", " / ", "\t")
_FIELDS = ("keyphrases", "keyword", "keywords")


def split_keyphrases(text: str) -> list[str]:
    """The phrases of one text, as they are written there.

    >>> split_keyphrases("R&amp;D spending; innovation policy")
    ['R&amp;D spending', 'innovation policy']
    """
    pieces, begin = [], 0
    for found in _SEPARATORS.finditer(text):
        if not _is_entity(found):
            pieces.append(text[begin : found.end() - 1 if found[1] else found.start()])
            begin = found.end()
    pieces.append(text[begin:])
    return [phrase for piece in pieces if (phrase := piece.strip())]


def _is_entity(found: re.Match[str]) -> bool:
    return found[1] is not None and (found[1].startswith("&#") or found[1][1:] in html5)


def keyphrase_field(row: Mapping[str, Any]) -> tuple[str, Any]:
    """The name and the value of the field with the keyphrases; None where there is none."""
    name = next((name for name in _FIELDS if row.get(name) is not None), _FIELDS[0])
    return name, row.get(name)


class KeyphraseTexts:
    """Looks through the rows of a file; `problem` says whether a list of it would pass for one phrase.

    A phrase may hold a comma itself. So it is a problem only where most texts hold the same mark and none
    holds a semicolon or a line break, which separate phrases always.
    """

    def __init__(self) -> None:
        self._texts = 0
        self._separated = False
        self._marks: Counter[str] = Counter()

    def see(self, row: Mapping[str, Any]) -> None:
        _, value = keyphrase_field(row)
        if isinstance(value, str) and value.strip():
            self._texts += 1
            self._separated = self._separated or not all(map(_is_entity, _SEPARATORS.finditer(value.strip())))
            self._marks.update(mark for mark in OTHER_SEPARATORS if mark in value)

    def problem(self) -> str:
        """What is wrong with the keyphrases and what to do; nothing where they can be read."""
        [(mark, times)] = self._marks.most_common(1) or [("", 0)]
        if self._separated or 2 * times <= self._texts:
            return ""
        name = mark.strip() or "a tab"
        return (
            f'the keyphrases of {times:,} of {self._texts:,} documents have "{name}" but no "{SEPARATOR}", '
            f'so each list would count as one phrase; separate phrases by "{SEPARATOR}", and put one '
            f'after a phrase that has "{name}" itself.'
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
            one text with semicolons or line breaks) and `language`; only `abstract` or `text` must be there.
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
        value = split_keyphrases(value)
    if not isinstance(value, list):
        raise InputError(f'{where}: "{name}" is {_short(value)}, not a list of texts; fix or empty the line.')
    phrases = (_checked_text(phrase, name, where).strip() for phrase in value)
    return tuple(phrase for phrase in phrases if phrase)


def _short(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), 40)


def read_whole(path: Path, *, title: str = "") -> Document:
    """The document of a file that is one as a whole, such as .txt, .docx or .pdf; a `title` replaces its own.

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
    with file_errors(path), open_bytes(path) as stream:
        content = stream.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InputError(f"{path}: more than {LARGEST_FILE:,} bytes; make several files of it.")
    document = parse_whole(content, name=str(path), id=plain_name(path), title=title)
    return replace(document, title=title) if title else document


def parse_whole(content: bytes, *, name: str, id: str, title: str = "") -> Document:
    """The document of a file that is one as a whole, by the suffix of its name.

    Args:
        title: what is known to be the title, so that the first line is none.

    Raises:
        InputError: the file cannot be read, or holds no text.
    """
    suffix = document_suffix(Path(name))
    may_begin_with_title = True
    # Libraries for office and web files are imported where such a file is read.
    with needs_extra("files", name):
        if suffix == ".pdf":
            document, may_begin_with_title = read_pdf(content, name, id)
        elif suffix in (".docx", ".odt", ".rtf"):
            from kpdemo.io.office import read_docx, read_odt, read_rtf

            document = {".docx": read_docx, ".odt": read_odt, ".rtf": read_rtf}[suffix](content, name, id)
        elif suffix == ".epub":
            from kpdemo.io.web import read_epub

            document = read_epub(content, name, id)
        else:
            document = _parse_text(content, suffix, name, id)
    if not document.body.strip() and suffix not in (".txt", ".md"):
        if not document.title:
            raise InputError(f"{name}: no text in this file, perhaps only images; give one with text.")
        document = replace(document, body=document.title, title="")
    document = _without_surrogates(document)
    return document if title or not may_begin_with_title else with_title_line(document)


def _parse_text(content: bytes, suffix: str, name: str, id: str) -> Document:
    """The document of a file of text."""
    if (kind := other_kind(content)) is not None:
        raise InputError(f"{name}: this is {kind}, not what its name says; give it the name of its kind.")
    declared = ""
    if suffix in WEB_SUFFIXES:
        from kpdemo.io.web import declared_encoding, html_document

        declared = declared_encoding(content)
    text, warning = decode_text(content, name=name, encoding=declared)
    if suffix in WEB_SUFFIXES:
        document = html_document(text, name, id)
    elif suffix == ".tex":
        from kpdemo.io.tex import tex_document

        document = tex_document(text, name, id)
    else:
        document = markdown_document(text, id=id) if suffix == ".md" else text_document(text, id=id)
    return replace(document, warnings=(warning, *document.warnings)) if warning else document


def _without_surrogates(document: Document) -> Document:
    """The document with a mark for each half of a character, as a reference in XML may name one."""
    body, title = (SURROGATE.sub("\ufffd", text) for text in (document.body, document.title))
    return (
        document
        if (body, title) == (document.body, document.title)
        else replace(document, body=body, title=title)
    )


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
    of the same names, and so does a file without a suffix that is known, such as a pipe. .bib, .ris and .xml
    (of PubMed or in JATS) hold records with abstracts, and a .zip any of these files. Each other kind
    (.txt, .md, .pdf, .docx, .odt, .rtf, .html, .epub, .tex) is one document, with the file's name as its id:

    - text is taken as it is, so that offsets count from the file's own characters; where its first line is a
      title (`kpdemo.lines`), that is the document's, here and in the others that name no title themselves,
      except a line that heads the second page of a PDF too;
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
    """As `read_documents`, each with the number of the line where it begins; `on_row` sees those of rows.

    Those of a zip file are counted.
    """
    path = Path(path)
    suffix = document_suffix(path)
    if suffix in WHOLE_SUFFIXES:
        yield 1, read_whole(path)
    elif suffix == ARCHIVE_SUFFIX:
        with file_errors(path), open_bytes(path) as stream:
            found = _of_archive(stream, str(path), on_error, ids.column, None)
            yield from ((number, one.document) for number, one in enumerate(found, 1))
    else:
        with file_errors(path):
            encoding = "utf-8"
            if path.is_file() and suffix not in RECORD_SUFFIXES:
                with open_bytes(path) as stream:
                    encoding = encoding_of(stream.read(LOOKED_AT))
            with open_bytes(path) as stream:
                yield from _parse_rows(stream, str(path), encoding, on_error, on_row, ids)


def parse_stream(
    stream: BinaryIO, *, name: str, on_error: ReportLine | None = None, ids: RowIds = OWN_IDS
) -> Iterator[tuple[int, Document]]:
    """As `read_numbered`, of an open file of many documents, by the suffix of its name; not compressed.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first bad line.
    """
    opened = io.BufferedReader(cast(io.RawIOBase, stream), 2**20)
    plain = name[: -len(packed)] if (packed := Path(name).suffix.lower()) in COMPRESSIONS else name
    with file_errors(name):
        yield from _parse_rows(opened, plain, encoding_of(opened.peek()), on_error, None, ids)


def _parse_rows(
    stream: BinaryIO,
    name: str,
    encoding: str,
    on_error: ReportLine | None,
    on_row: SeeRow | None,
    ids: RowIds,
) -> Iterator[tuple[int, Document]]:
    """The documents of an open file of many, with the numbers of their lines, by the suffix of its name."""
    suffix = document_suffix(Path(name))
    if suffix in RECORD_SUFFIXES:
        with needs_extra("files", name):
            from kpdemo.io.bibliography import bibtex_rows, ris_rows, xml_rows

        content = stream.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise InputError(f"{name}: more than {LARGEST_FILE:,} bytes; make several files of it.")
        if suffix == ".xml":
            rows, warning = xml_rows(content, name), ""
        else:
            text, warning = decode_text(content, name=name)
            rows = (bibtex_rows if suffix == ".bib" else ris_rows)(text, name)
        numbered = _documents_of(rows, name, on_error, on_row, replace(ids, column=ID_COLUMN))
    else:
        warning = ""
        is_table = suffix in TABLE_SUFFIXES
        if encoding != "utf-8":
            warning = encoding_note(name, encoding)
            stream = as_utf8(stream, name, encoding)
        if is_table:
            ids = replace(ids, column=column_name(ids.column))
            rules = TableRules(needs=partial(_lacking_columns, ids.column))
            found = read_table(Source(name, stream), FORMATS.get(suffix), rules)
            numbered = _documents_of(found, name, on_error, on_row, ids)
        else:
            numbered = parse_documents(stream, name=name, on_error=on_error, on_row=on_row, ids=ids)
    for line, document in numbered:
        yield line, replace(document, warnings=(warning,)) if warning else document


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


@dataclass(frozen=True, slots=True)
class FileDocuments:
    """What a file holds, read already: documents, and errors in the places of those that cannot be used."""

    file: str
    found: Sequence[LocatedDocument | LineError]


BatchInput = str | Path | BinaryIO | LocatedDocument | FileDocuments
"""A file, a folder of files, open JSON Lines, or documents that have been read already."""


def read_file(path: Path) -> FileDocuments:
    """All that is in a file of documents.

    Raises:
        InputError: nothing can be read at all, or nothing is in it.
    """
    found: list[LocatedDocument | LineError] = []
    found.extend(read_located(path, on_error=found.append))
    return FileDocuments(str(path), found)


def name_of(source: BatchInput) -> str:
    if isinstance(source, (LocatedDocument, FileDocuments)):
        return source.file
    return str(source) if isinstance(source, (str, Path)) else "standard input"


SeeUnnamed = Callable[[str, int], None]
"""Called with the file and the line of a row without an id."""


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
    elif isinstance(source, FileDocuments):
        for one in source.found:
            if isinstance(one, LineError):
                report(InputError(one.message), one.line, on_error)
            else:
                yield one
    elif isinstance(source, (str, Path)) and Path(source).is_dir():
        yield from _of_folder(Path(source), on_error, id_column, on_unnamed)
    elif isinstance(source, (str, Path)) and file_suffix(Path(source)) == ARCHIVE_SUFFIX:
        with file_errors(source), open_bytes(Path(source)) as stream:
            yield from _of_archive(stream, str(source), on_error, id_column, on_unnamed)
    else:
        ids = RowIds(id_column, report_unnamed(str, name_of(source), on_unnamed))
        yield from _of_file(source, on_error, ids)


def _of_archive(
    stream: BinaryIO,
    name: str,
    on_error: ReportLine | None,
    id_column: str,
    on_unnamed: SeeUnnamed | None,
) -> Iterator[LocatedDocument]:
    """The documents of a zip file, in the order of the names of its files, those of folders too.

    Each is called by the name of its file there, a row without an id by that and its line.

    Raises:
        InputError: it cannot be read, or holds no documents.
    """
    with needs_extra("files", name):
        from kpdemo.io.packages import Package

    content = stream.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InputError(f"{name}: more than {LARGEST_FILE:,} bytes; make several zip files of it.")
    package = Package(content, name)
    paths = {member: Path(member.replace("\\", "/")) for member in sorted(package.names)}
    kinds = (*DOCUMENT_SUFFIXES, *OTHER_SUFFIXES)
    members = {
        member: path
        for member, path in paths.items()
        if file_suffix(path) in kinds and not any(part.startswith((".", "__MACOSX")) for part in path.parts)
    }
    if not members:
        raise InputError(
            f"{name}: no documents in it; put files there that end in {', '.join(DOCUMENT_SUFFIXES)}."
        )
    package.check_size(members)
    uses = Counter(plain_name(path) for path in members.values() if is_whole(path.name))
    for member, path in members.items():
        place = f"{name}/{path.as_posix()}"
        try:
            if path.suffix.lower() in (ARCHIVE_SUFFIX, *COMPRESSIONS):
                raise InputError(f"{place}: a packed file within a zip file, which is not read; unpack it.")
            document_suffix(Path(place))
            content = package.read(member)
            if is_whole(place):
                id = plain_name(path)
                document = parse_whole(content, name=place, id=id if uses[id] == 1 else path.as_posix())
                yield LocatedDocument(document, place, 1)
            else:
                rows = RowIds(id_column, report_unnamed(_row_names(path), place, on_unnamed))
                opened = cast(BinaryIO, io.BufferedReader(io.BytesIO(content)))
                for line, document in _parse_rows(opened, place, encoding_of(content), on_error, None, rows):
                    yield LocatedDocument(document, place, line)
        except InputError as error:
            if on_error is None:
                raise
            on_error(LineError(0, str(error)))


def folder_files(folder: Path) -> list[Path]:
    """The files in a folder, by their names, without hidden ones; not those of its subfolders.

    Files of other kinds, such as .pptx, are included, so that the reader can report them.

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
            if file_suffix(path) == ARCHIVE_SUFFIX:
                yield from read_located(path, on_error=on_error, id_column=id_column, on_unnamed=on_unnamed)
                continue
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
            on_unnamed(name, line)
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
