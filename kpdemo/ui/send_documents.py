"""The documents of files that are to be sent, and what of the files cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kpdemo.documents import read_numbered
from kpdemo.errors import InputError
from kpdemo.json_rows import LineError
from kpdemo.types import Document
from kpdemo.ui.apart import PdfProcesses, ReadPdf, is_pdf
from kpdemo.ui.chosen import OwnNames
from kpdemo.ui.figures import counted, grouped
from kpdemo.ui.stop import Stop

MOST_DOCUMENTS = 1_000
TOLD_LINES = 5
"""Of more lines that cannot be read only the number is told."""


@dataclass(slots=True)
class Problems:
    """Why not everything can be sent."""

    told: list[str] = field(default_factory=list)
    """A sentence for each file and model."""
    lines: int = 0
    """How many lines of the files are no documents."""
    first_lines: list[str] = field(default_factory=list)

    @property
    def all(self) -> list[str]:
        """Every sentence, the lines of files first."""
        rest = self.lines - len(self.first_lines)
        more = [f"{counted(rest, 'more line')} could not be read either."] if rest else []
        return [*self.first_lines, *more, *self.told]

    @property
    def count(self) -> int:
        return self.lines + len(self.told)

    def add_line(self, problem: str) -> None:
        self.lines += 1
        if self.lines <= TOLD_LINES:
            self.first_lines.append(problem)


def few_documents(
    files: Sequence[Path], problems: Problems, stop: Stop, pdfs: PdfProcesses
) -> list[Document]:
    """All documents of the files that can be read; why the others cannot joins `problems`.

    Raises:
        InputError: there are too many for the page.
        StoppedError: by `stop`.
    """
    documents = []
    for document in _documents(files, problems, partial(pdfs.read, stop=stop)):
        stop.check()
        documents.append(document)
    if len(documents) > MOST_DOCUMENTS:
        raise InputError(
            f"The files hold {grouped(len(documents))} documents and this page sends at most "
            f"{grouped(MOST_DOCUMENTS)}: use the command line (python -m annotation send)."
        )
    return documents


def _documents(files: Sequence[Path], problems: Problems, read_pdf: ReadPdf) -> Iterator[Document]:
    """Each under an id of its own."""
    ids = OwnNames()
    for path in files:
        try:
            for number, document in _numbered(path, problems, read_pdf):
                named = document.id and document.id != str(number)  # else the reader's number stands for it
                id = ids.of(document.id if named else f"{path.stem}-{number}")
                yield replace(document, id=id, keyphrases=())
        except InputError as error:
            problems.told.append(_named(str(error), path))


def _numbered(path: Path, problems: Problems, read_pdf: ReadPdf) -> Iterator[tuple[int, Document]]:
    if is_pdf(path):
        return iter([(1, read_pdf(path))])
    return read_numbered(path, on_error=partial(_add_line, problems, path))


def _add_line(problems: Problems, path: Path, error: LineError) -> None:
    problems.add_line(_named(error.message, path))


def _named(message: str, path: Path) -> str:
    """The message with the name that the file was chosen by."""
    return message.replace(str(path), path.name)
