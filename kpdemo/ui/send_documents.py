"""The documents of files that are to be sent, and what of the files cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kpdemo.batch.predicting import ask_each
from kpdemo.batch.sources import Located
from kpdemo.errors import InputError
from kpdemo.reading.documents import read_numbered
from kpdemo.reading.file_kinds import is_whole
from kpdemo.reading.json_rows import LineError
from kpdemo.types import Document, Prediction, Predictor
from kpdemo.ui.apart import PdfProcesses, ReadPdf, is_pdf
from kpdemo.ui.chosen import OwnNames
from kpdemo.ui.figures import counted, grouped
from kpdemo.ui.stop import Stop
from kpdemo.ui.uploads import BATCH_SIZE

MOST_DOCUMENTS = 1_000
TOLD_LINES = 5
"""Further lines that cannot be read are only counted."""


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """A document under an id that no other one of the files has, and where and as what it was given."""

    document: Document
    given: Located


@dataclass(slots=True)
class Problems:
    """Why not everything can be sent."""

    told: list[str] = field(default_factory=list)
    """A sentence for each model that cannot be asked."""
    files: list[str] = field(default_factory=list)
    """A sentence for each file that cannot be read."""
    lines: int = 0
    """How many lines of the files are no documents."""
    first_lines: list[str] = field(default_factory=list)
    refusals: dict[str, None] = field(default_factory=dict)
    """Sentences on documents that a model refuses."""
    unread: Counter[str] = field(default_factory=Counter)
    """How many lines and files hold a document that no model has read."""

    @property
    def all(self) -> list[str]:
        """Every sentence, the lines of files first."""
        rest = self.lines - len(self.first_lines)
        more = [f"{counted(rest, 'more line')} could not be read either."] if rest else []
        refused = list(self.refusals)
        if (others := len(refused) - TOLD_LINES) > 0:
            refused[TOLD_LINES:] = [f"And {grouped(others)} more like these."]
        return [*self.first_lines, *more, *refused, *self.files, *self.told]

    @property
    def count(self) -> int:
        return self.lines + len(self.refusals) + len(self.files) + len(self.told)

    @property
    def without(self) -> str:
        """What is not sent, such as "2 lines and 1 file"; empty where all is."""
        counts = {"line": self.lines + self.unread["line"], "file": len(self.files) + self.unread["file"]}
        return " and ".join(counted(count, kind) for kind, count in counts.items() if count)

    def add_line(self, problem: str) -> None:
        self.lines += 1
        if self.lines <= TOLD_LINES:
            self.first_lines.append(problem)

    def count_unread(self, documents: Iterable[Located]) -> None:
        self.unread.update("file" if is_whole(one.file) else "line" for one in documents)


def few_documents(
    files: Sequence[Path], problems: Problems, stop: Stop, pdfs: PdfProcesses
) -> list[OwnDocument]:
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


def predict_in_batches(
    predictor: Predictor, documents: Sequence[OwnDocument], before_each: Callable[[int], None]
) -> Iterator[tuple[int, Prediction | InputError]]:
    """The place of each document with its prediction, or why there is none.

    `before_each` is called with how many are done before each batch.
    """
    for start in range(0, len(documents), BATCH_SIZE):
        before_each(start)
        batch = [one.document for one in documents[start : start + BATCH_SIZE]]
        yield from enumerate(ask_each(batch, predictor.predict), start)


def _documents(files: Sequence[Path], problems: Problems, read_pdf: ReadPdf) -> Iterator[OwnDocument]:
    ids = OwnNames()
    for path in files:
        try:
            for number, document in _numbered(path, problems, read_pdf):
                given = Located(document, path.name, number)
                if problem := given.unknown_language():
                    problems.add_line(problem)
                    continue
                named = document.id and document.id != str(number)  # else the reader's number stands for it
                id = ids.of(document.id if named else f"{path.stem}-{number}")
                yield OwnDocument(replace(document, id=id, keyphrases=()), given)
        except InputError as error:
            problems.files.append(_named(str(error), path))


def _numbered(path: Path, problems: Problems, read_pdf: ReadPdf) -> Iterator[tuple[int, Document]]:
    if is_pdf(path):
        return iter([(1, read_pdf(path))])
    return read_numbered(path, on_error=partial(_add_line, problems, path))


def _add_line(problems: Problems, path: Path, error: LineError) -> None:
    problems.add_line(_named(error.message, path))


def _named(message: str, path: Path) -> str:
    """The message with the name that the file was chosen by."""
    return message.replace(str(path), path.name)
