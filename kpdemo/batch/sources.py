"""Where many documents come from: a file, a folder of files, or an open stream; and the place of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from kpdemo.errors import InputError
from kpdemo.languages.names import names_language
from kpdemo.reading.document_rows import ID_COLUMN, NameRow, RowIds
from kpdemo.reading.documents import parse_documents, read_numbered
from kpdemo.reading.file_kinds import (
    DOCUMENT_SUFFIXES,
    OTHER_SUFFIXES,
    WHOLE_SUFFIXES,
    file_suffix,
    is_whole,
    plain_name,
)
from kpdemo.reading.files import file_errors
from kpdemo.reading.json_rows import LineError, ReportLine, line_name
from kpdemo.types import Document


@dataclass(frozen=True, slots=True)
class Located:
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


BatchInput = str | Path | BinaryIO | Located
"""A file, a folder of files, open JSON Lines, or one document that has been read already."""


def name_of(source: BatchInput) -> str:
    if isinstance(source, Located):
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
) -> Iterator[Located]:
    """The documents of a file as in `read_documents`, of each file of a folder, or of another source.

    In a folder a row without an id is called by its file and line, such as "c.csv:2".

    Args:
        id_column: the field, or the column of a table, with the ids.

    Raises:
        InputError: nothing can be read at all, or nothing is in it; without `on_error`, also the first bad
            line or file.
    """
    if isinstance(source, Located):
        yield source
    elif isinstance(source, (str, Path)) and Path(source).is_dir():
        yield from _of_folder(Path(source), on_error, id_column, on_unnamed)
    else:
        ids = RowIds(id_column, telling(str, name_of(source), on_unnamed))
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


def _of_file(source: str | Path | BinaryIO, on_error: ReportLine | None, ids: RowIds) -> Iterator[Located]:
    problems = None if on_error is None else _Problems(on_error)
    name = name_of(source)
    if isinstance(source, (str, Path)):
        numbered = read_numbered(source, on_error=problems, ids=ids)
    else:
        numbered = parse_documents(source, name=name, on_error=problems, ids=ids)
    is_empty = True
    for line, document in numbered:
        is_empty = False
        yield Located(document, name, line)
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
) -> Iterator[Located]:
    files = folder_files(folder)
    names = Counter(plain_name(path) for path in files if file_suffix(path) in WHOLE_SUFFIXES)
    for path in files:
        try:
            ids = RowIds(id_column, telling(_row_names(path), str(path), on_unnamed))
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


def telling(name_row: NameRow, name: str, on_unnamed: SeeUnnamed | None) -> NameRow:
    """As `name_row`, for the file of that name; `on_unnamed` hears of each row without an id."""

    def named(line: int) -> str:
        if on_unnamed is not None:
            on_unnamed(line_name(name, line))
        return name_row(line)

    return named
