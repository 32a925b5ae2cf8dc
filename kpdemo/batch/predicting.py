"""Predicting a whole file: bounded memory, a line of output per document, and resuming after a stop.

The batches are cut from the input by position and a batch that is only partly in `OUTPUT` is predicted
again as a whole, so an interrupted and resumed run writes the very bytes of an uninterrupted one, as long as
nothing was corrected in between. The documents that the model refused are in `OUTPUT.refused.jsonl`, each
written before its batch, so that a batch without them counts as complete. `kpdemo.batch.resuming` says which
runs may continue a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, TypeVar

from kpdemo.batch.output import StreamWriter, open_writer
from kpdemo.batch.refused import Refusal
from kpdemo.batch.resuming import IDENTITY, BatchSettings
from kpdemo.batch.sources import BatchInput, Located, SeeUnnamed, name_of, read_located
from kpdemo.errors import InputError
from kpdemo.forwarding import read_with_passages
from kpdemo.identity import document_identity
from kpdemo.languages.notes import Foreign, is_foreign, lacks_absent
from kpdemo.nesting import Unnested
from kpdemo.prediction_files import prediction_row
from kpdemo.reading.document_rows import ID_COLUMN
from kpdemo.reading.json_rows import LineError, ReportLine
from kpdemo.types import (
    Document,
    Prediction,
    Predictor,
    RetrievalPrediction,
    finds_absent,
    languages_of,
)

BATCH_SIZE = 32
GPU_BATCH_SIZE = 512
"""Other processes read ahead of a GPU, which waits for the first documents of each batch."""


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """How many documents were predicted now, were in the output already, and could not be used."""

    done: int = 0
    skipped: int = 0
    failed: int = 0
    retrieved: int = 0
    """How many of those predicted now were read with passages, or would have been."""
    foreign: Foreign = field(default_factory=dict)
    """Those predicted now in languages that the model was not made for, see `foreign_notes`."""

    @property
    def seen(self) -> int:
        return self.done + self.skipped + self.failed


Outcome = TypeVar("Outcome")
ShowProgress = Callable[[BatchSummary], None]


def predict_file(
    predictor: Predictor,
    source: BatchInput,
    output: str | Path | BinaryIO,
    *,
    batch_size: int | None = None,
    top_k: int | None = None,
    threshold: float | None = None,
    identity: str = "",
    language: str = "",
    nested: bool = True,
    id_column: str = ID_COLUMN,
    progress: ShowProgress | None = None,
    on_error: ReportLine | None = None,
    on_unnamed: SeeUnnamed | None = None,
) -> BatchSummary:
    """Predict the keyphrases of every document of `source` and append them to `output`.

    A document that cannot be used (a broken line, a file of a folder that cannot be read, an id
    seen before, an empty text, a script the predictor does not read) is counted as failed and reported to
    `on_error`; the run continues.

    Args:
        source: a file of `read_documents`, a folder of such files, open JSON Lines, or one document.
        output: a file to create or to resume, or an open stream, which is only written to.
        batch_size: documents predicted together; by default `BATCH_SIZE`, on a GPU `GPU_BATCH_SIZE`.
        identity: of the predictor's weights, such as their hash, as several models may share a name.
        language: that all documents are in, whatever they say; empty for each its own, or the one detected.
        nested: whether a present keyphrase may be nested in another, see `kpdemo.nesting`.
        id_column: the field, or the column of a table, with the ids.
        progress: called with the counts so far after each batch.
        on_unnamed: called with the place of the first document without an id, before it is predicted.

    Raises:
        ResumeError: `output` was made with other settings or of another input, or not by this function.
        InputError: `source` cannot be read at all; `output` is left as it is.
        OutputError: `output` cannot be written.
    """
    if batch_size is not None and batch_size < 1:
        raise InputError(f"The batch size is {batch_size}; give 1 or more.")
    settings = BatchSettings(predictor.name, top_k, threshold, identity, language, nested, id_column)
    reader = predictor if nested else Unnested(predictor)
    run = _BatchRun(reader, settings, name_of(source), progress, on_error, on_unnamed)
    documents = run.read(source)
    # The first document is read before the output is touched: the input may not be readable at all.
    documents = chain(list(islice(documents, 1)), documents)
    with open_writer(output, source, settings) as writer:
        return run.write(documents, writer, batch_size or batch_size_for(predictor))


def batch_size_for(predictor: Predictor) -> int:
    """How many documents to predict together where the user does not say."""
    return GPU_BATCH_SIZE if predictor.device == "cuda" else BATCH_SIZE


def ask_each(
    documents: Sequence[Document], ask: Callable[[Sequence[Document]], Sequence[Outcome]]
) -> list[Outcome | InputError]:
    """One outcome a document: a batch that `ask` refuses is halved until the culprits are isolated.

    Args:
        ask: gives an outcome for each document, such as `Predictor.predict`, or refuses them all.
    """
    try:
        return list(ask(documents))
    except InputError as error:
        if len(documents) == 1:
            return [error]
    half = len(documents) // 2
    return [outcome for part in (documents[:half], documents[half:]) for outcome in ask_each(part, ask)]


class _BatchRun:
    """One pass over the documents, with its counts."""

    def __init__(
        self,
        predictor: Predictor,
        settings: BatchSettings,
        source_name: str,
        progress: ShowProgress | None,
        on_error: ReportLine | None,
        on_unnamed: SeeUnnamed | None,
    ) -> None:
        self._predictor = predictor
        self._settings = settings
        self._source_name = source_name
        self._progress = progress
        self._on_error = on_error
        self._on_unnamed = on_unnamed
        self._counts = BatchSummary()

    def read(self, source: BatchInput) -> Iterator[Located]:
        """The documents that can be read, each id once, in the language of the run."""
        seen: set[str] = set()
        column = self._settings.id_column
        for one in read_located(
            source, on_error=self._report, id_column=column, on_unnamed=self._tell_unnamed
        ):
            if one.document.id in seen:
                problem = f'the id "{one.document.id}" is that of an earlier document; give each its own.'
                self._report(LineError(one.line, f"{one.where}: {problem}"))
                continue
            seen.add(one.document.id)
            read = replace(one, document=self._settings.as_read(one.document))
            if problem := read.unknown_language():
                self._report(LineError(one.line, problem))
            else:
                yield read

    def write(self, documents: Iterator[Located], writer: StreamWriter, batch_size: int) -> BatchSummary:
        while batch := list(islice(documents, batch_size)):
            self._write_batch(batch, writer)
            if self._progress is not None:
                self._progress(self._counts)
        return self._counts

    def _refuse(self, one: Located, reason: str) -> None:
        self._report(LineError(one.line, one.refusal(reason)))

    def _tell_unnamed(self, where: str) -> None:
        if self._on_unnamed is not None:
            self._on_unnamed(where)
            self._on_unnamed = None

    def _report(self, error: LineError) -> None:
        self._counts = replace(self._counts, failed=self._counts.failed + 1)
        if self._on_error is not None:
            self._on_error(error)

    def _write_batch(self, batch: Sequence[Located], writer: StreamWriter) -> None:
        for one in batch:
            writer.done.check(one.document, self._source_name)
        missing = [one for one in batch if one.document.id not in writer.done]
        self._counts = replace(self._counts, skipped=self._counts.skipped + len(batch) - len(missing))
        reasons = [writer.refused.reason(one.document) for one in missing]
        if all(reasons):
            for one, reason in zip(missing, reasons, strict=True):
                self._refuse(one, str(reason))
            return
        outcomes = self._ask([one.document for one in batch])
        rows = []
        refusals = []
        retrieved, foreign = self._counts.retrieved, Counter(self._counts.foreign)
        for one, outcome in zip(batch, outcomes, strict=True):
            document = one.document
            if isinstance(outcome, InputError):
                self._refuse(one, str(outcome))
                refusals.append(Refusal.of(document, str(outcome)))
            elif document.id not in writer.done:
                row = prediction_row(document.id, outcome.prediction, outcome)
                told = {"model": self._settings.model, IDENTITY: document_identity(document)}
                rows.append({**row, **told})
                retrieved += outcome.retrieves
                foreign.update(self._foreign(outcome.prediction))
        writer.refuse(refusals)
        writer.write(rows)
        done = self._counts.done + len(rows)
        self._counts = replace(self._counts, done=done, retrieved=retrieved, foreign=foreign)

    def _foreign(self, prediction: Prediction) -> list[tuple[str, bool]]:
        if not is_foreign(prediction.language, languages_of(self._predictor)):
            return []
        lacks = lacks_absent(prediction, finds_absent=finds_absent(self._predictor))
        return [(prediction.language, lacks)]

    def _ask(self, documents: Sequence[Document]) -> list[RetrievalPrediction | InputError]:
        settings = self._settings
        return ask_each(
            documents,
            lambda part: read_with_passages(
                self._predictor, part, top_k=settings.top_k, threshold=settings.threshold
            ),
        )
