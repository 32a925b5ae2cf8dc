"""Predicting a whole file: bounded memory, a line of output per document, and resuming after a stop.

Beside `OUTPUT` stands `OUTPUT.settings.json` with the model, its weights, top_k, threshold and the
beginning of the input it is made with. A second run with the same settings goes on after the documents
that are already in `OUTPUT`; one with others is refused, so that no file mixes two models or two inputs.
An input may grow meanwhile. The batches are cut from the input by position and a batch that is only
partly in `OUTPUT` is predicted again as a whole, so an interrupted and resumed run writes the very bytes
of an uninterrupted one. The documents that the model refused stand in `OUTPUT.refused.jsonl`, each written
before its batch, so that a batch without them counts as whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard, TypeVar, cast

from kpdemo.documents import (
    COMPRESSIONS,
    LineError,
    ReportLine,
    parse_documents,
    read_head,
    read_numbered,
    read_rows,
)
from kpdemo.errors import InputError, KpdemoError
from kpdemo.languages.names import language_name
from kpdemo.passages import SCORE_DIGITS, passage_rows
from kpdemo.refused import Refusal, RefusedDocuments, refused_path
from kpdemo.routed import read_with_passages
from kpdemo.types import (
    Document,
    Keyphrase,
    Kind,
    Prediction,
    Predictor,
    RetrievalPrediction,
    Source,
)

BATCH_SIZE = 32
GPU_BATCH_SIZE = 512
"""Other processes read ahead of a GPU, which waits for the first documents of each batch."""

SECONDS_DIGITS = 3
_SYNC_SECONDS = 5.0
_HEAD_BYTES = 64 * 1024


class OutputError(KpdemoError):
    """The predictions cannot be written."""


class ResumeError(InputError):
    """The output file is there already and cannot be continued by this call."""


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """How many documents were predicted now, were in the output already, and could not be used."""

    done: int = 0
    skipped: int = 0
    failed: int = 0
    retrieved: int = 0
    """So many of those predicted now were read beside passages, or would have been."""

    @property
    def seen(self) -> int:
        return self.done + self.skipped + self.failed


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What must not change between a run and the one that resumes it.

    Attributes:
        identity: tells the weights of one model from others of its name; empty when it has none.
        language: that all documents are read in; empty for each its own.
        input_bytes, input_sha256: how the input begins; empty for a stream.
    """

    model: str
    top_k: int | None
    threshold: float | None
    identity: str = ""
    language: str = ""
    input_bytes: int = 0
    input_sha256: str = ""


Outcome = TypeVar("Outcome")
ShowProgress = Callable[[BatchSummary], None]


def predict_file(
    predictor: Predictor,
    source: str | Path | BinaryIO,
    output: str | Path | BinaryIO,
    *,
    batch_size: int | None = None,
    top_k: int | None = None,
    threshold: float | None = None,
    identity: str = "",
    language: str = "",
    progress: ShowProgress | None = None,
    on_error: ReportLine | None = None,
) -> BatchSummary:
    """Predict the keyphrases of every document of `source` and append them to `output`.

    A document that cannot be used (a broken line, an id seen before, an empty text, a script the
    predictor does not read) is counted as failed and reported to `on_error`; the rest goes on.

    Args:
        source: a file of `read_documents`, or open JSON Lines.
        output: a file to create or to resume, or an open stream, which is only written to.
        batch_size: documents predicted together; by default `BATCH_SIZE`, on a GPU `GPU_BATCH_SIZE`.
        identity: what tells the predictor's weights from others of its name, such as their hash.
        language: that all documents are in, whatever they say; empty for each its own, or the one detected.
        progress: called with the counts so far after each batch.

    Raises:
        ResumeError: `output` was made with other settings or of another input, or not by this function.
        InputError: `source` cannot be read at all; `output` is left as it is.
        OutputError: `output` cannot be written.
    """
    if batch_size is not None and batch_size < 1:
        raise InputError(f"The batch size is {batch_size}; give 1 or more.")
    settings = BatchSettings(predictor.name, top_k, threshold, identity, language)
    run = _Run(predictor, settings, _name_of(source), progress, on_error)
    documents = run.read(source)
    # The first document is read before the output is touched: the input may not be readable at all.
    documents = chain(list(islice(documents, 1)), documents)
    with _open_writer(output, source, settings) as writer:
        return run.write(documents, writer, batch_size or batch_size_for(predictor))


def batch_size_for(predictor: Predictor) -> int:
    """How many documents to predict together where the user does not say."""
    return GPU_BATCH_SIZE if predictor.device == "cuda" else BATCH_SIZE


def predict_each(
    predictor: Predictor,
    documents: Sequence[Document],
    *,
    top_k: int | None = None,
    threshold: float | None = None,
) -> list[Prediction | InputError]:
    """One outcome a document: a batch that is refused is halved until the culprits stand alone."""
    return ask_each(documents, lambda part: predictor.predict(part, top_k=top_k, threshold=threshold))


def ask_each(
    documents: Sequence[Document], ask: Callable[[Sequence[Document]], Sequence[Outcome]]
) -> list[Outcome | InputError]:
    """As `predict_each`, of any function that gives an outcome for each document or refuses them all."""
    try:
        return list(ask(documents))
    except InputError as error:
        if len(documents) == 1:
            return [error]
    half = len(documents) // 2
    return [outcome for part in (documents[:half], documents[half:]) for outcome in ask_each(part, ask)]


def document_record(
    document: Document,
    prediction: Prediction,
    *,
    model: str,
    device: str,
    seconds: float,
    retrieval: RetrievalPrediction | None = None,
) -> dict[str, Any]:
    """The result of one document as `predict --json` and the page give it; spans count in "text".

    Args:
        retrieval: what a model that retrieves found; None for another model.
    """
    return {
        "language": prediction.language,
        **keyphrase_rows(prediction),
        **({} if retrieval is None else {"passages": passage_rows(retrieval)}),
        "model": model,
        "device": device,
        "seconds": round(seconds, SECONDS_DIGITS),
        "text": document.text,
        "text_offset": document.body_start,
    }


def prediction_row(
    id: str, prediction: Prediction, retrieval: RetrievalPrediction | None = None
) -> dict[str, Any]:
    """A prediction as it stands in a predictions file."""
    language = {"language": prediction.language} if prediction.language else {}
    found = {"passages": passage_rows(retrieval)} if retrieval and retrieval.passages else {}
    return {"id": id, **language, **keyphrase_rows(prediction), **found}


def keyphrase_rows(prediction: Prediction) -> dict[str, list[Any]]:
    """The keyphrases as plain values for JSON, without what the predictor does not tell."""
    rows: dict[str, list[Any]] = {
        "present": [
            _scored(item) | {"spans": [list(span) for span in item.spans]} | _told(item)
            for item in prediction.present
        ],
        "absent": [_scored(item) | _told(item) for item in prediction.absent],
    }
    if prediction.absent_candidates:
        rows["absent_candidates"] = list(prediction.absent_candidates)
    return rows


def settings_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.settings.json")


def read_predictions(path: str | Path, *, on_error: ReportLine | None = None) -> dict[str, Prediction]:
    """The predictions of a file, by the id of their document; spans are not read back.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first bad line.
    """
    predictions: dict[str, Prediction] = {}
    for line, row in read_rows(path, on_error=on_error):
        try:
            id, prediction = _prediction_from_row(row)
            if id in predictions:
                raise InputError(f'"{id}" is predicted on an earlier line too; delete one of them.')
        except InputError as error:
            problem = LineError(line, f"{path}, line {line}: {error}")
            if on_error is None:
                raise InputError(problem.message) from None
            on_error(problem)
        else:
            predictions[id] = prediction
    return predictions


def recorded_model(output: Path) -> str | None:
    """The name of the model that made a predictions file, when its settings stand beside it."""
    settings = _read_settings(settings_path(output))
    return None if settings is None else settings.model


def _prediction_from_row(row: dict[str, Any]) -> tuple[str, Prediction]:
    id = row.get("id")
    if not isinstance(id, (str, int)):
        raise InputError('no field "id"; give a file that `predict --output` wrote.')
    candidates = row.get("absent_candidates", [])
    if not _are_strings(candidates):
        raise InputError('"absent_candidates" is not a list of strings; fix or delete the line.')
    present, absent = _keyphrases(row, "present"), _keyphrases(row, "absent")
    language = row.get("language")
    told = language if isinstance(language, str) else ""
    return str(id), Prediction(present, absent, told, absent_candidates=tuple(candidates))


def _keyphrases(row: dict[str, Any], side: str) -> tuple[Keyphrase, ...]:
    try:
        return tuple(_keyphrase(item) for item in row.get(side, []))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f'"{side}" is not a list of {{"text", "score"}}; fix or delete the line.') from None


def _keyphrase(item: dict[str, Any]) -> Keyphrase:
    """One of a row; what others may have written under "kind", "source" and "evidence" is not an error."""
    text, evidence = item["text"], item.get("evidence")
    if not isinstance(text, str):
        raise TypeError(text)
    return Keyphrase(
        text,
        float(item.get("score", 0.0)),
        source=next((source for source in Source if source == item.get("source")), None),
        kind=next((kind for kind in Kind if kind == item.get("kind")), None),
        evidence=tuple(evidence) if _are_strings(evidence) else (),
    )


def _are_strings(values: object) -> TypeGuard[list[str]]:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _scored(keyphrase: Keyphrase) -> dict[str, Any]:
    return {"text": keyphrase.text, "score": round(keyphrase.score, SCORE_DIGITS)}


def _told(keyphrase: Keyphrase) -> dict[str, Any]:
    """What is known of a keyphrase besides."""
    known = {"kind": keyphrase.kind, "source": keyphrase.source, "evidence": list(keyphrase.evidence)}
    return {name: value for name, value in known.items() if value}


def _name_of(source: str | Path | BinaryIO) -> str:
    return str(source) if isinstance(source, (str, Path)) else "standard input"


class _Run:
    """One pass over the documents, with its counts."""

    def __init__(
        self,
        predictor: Predictor,
        settings: BatchSettings,
        source_name: str,
        progress: ShowProgress | None,
        on_error: ReportLine | None,
    ) -> None:
        self._predictor = predictor
        self._settings = settings
        self._source_name = source_name
        self._progress = progress
        self._on_error = on_error
        self._counts = BatchSummary()

    def read(self, source: str | Path | BinaryIO) -> Iterator[tuple[int, Document]]:
        """The documents that can be read, each id once, with their lines."""
        seen: set[str] = set()
        for line, document in self._numbered(source):
            if document.id in seen:
                self._fail(line, f'the id "{document.id}" is that of an earlier document; give each its own.')
            else:
                seen.add(document.id)
                yield line, document

    def write(
        self, documents: Iterator[tuple[int, Document]], writer: _StreamWriter, batch_size: int
    ) -> BatchSummary:
        while batch := list(islice(documents, batch_size)):
            self._write_batch(batch, writer)
            if self._progress is not None:
                self._progress(self._counts)
        return self._counts

    def _numbered(self, source: str | Path | BinaryIO) -> Iterator[tuple[int, Document]]:
        if isinstance(source, (str, Path)):
            return read_numbered(source, on_error=self._report)
        return parse_documents(source, name=self._source_name, on_error=self._report)

    def _fail(self, line: int, problem: str) -> None:
        self._report(LineError(line, f"{self._source_name}, line {line}: {problem}"))

    def _report(self, error: LineError) -> None:
        self._counts = replace(self._counts, failed=self._counts.failed + 1)
        if self._on_error is not None:
            self._on_error(error)

    def _in_language(self, document: Document) -> Document:
        language = self._settings.language
        return replace(document, language=language) if language else document

    def _write_batch(self, batch: Sequence[tuple[int, Document]], writer: _StreamWriter) -> None:
        missing = [(line, document) for line, document in batch if document.id not in writer.done]
        self._counts = replace(self._counts, skipped=self._counts.skipped + len(batch) - len(missing))
        reasons = [writer.refused.reason(document) for _, document in missing]
        if all(reasons):
            for (line, document), reason in zip(missing, reasons, strict=True):
                self._fail(line, f'document "{document.id}": {reason}')
            return
        outcomes = self._ask([document for _, document in batch])
        rows = []
        refusals = []
        retrieved = self._counts.retrieved
        for (line, document), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, InputError):
                self._fail(line, f'document "{document.id}": {outcome}')
                refusals.append(Refusal.of(document, str(outcome)))
            elif document.id not in writer.done:
                rows.append(prediction_row(document.id, outcome.prediction, outcome))
                retrieved += outcome.retrieves
        writer.refuse(refusals)
        writer.write(rows)
        self._counts = replace(self._counts, done=self._counts.done + len(rows), retrieved=retrieved)

    def _ask(self, documents: Sequence[Document]) -> list[RetrievalPrediction | InputError]:
        settings = self._settings
        return ask_each(
            [self._in_language(document) for document in documents],
            lambda part: read_with_passages(
                self._predictor, part, top_k=settings.top_k, threshold=settings.threshold
            ),
        )


class _StreamWriter:
    """Writes rows as lines, each batch in one go."""

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        done: frozenset[str] = frozenset(),
        refused: RefusedDocuments | None = None,
    ) -> None:
        self._stream = stream
        self._name = name
        self.done = done
        self.refused = refused or RefusedDocuments()

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        """Remember them, before the rows of their batch are written."""
        with _output_errors(self._name):
            self.refused.add(refusals)

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        with _output_errors(self._name):
            remaining = memoryview(b"".join(_line(row) for row in rows))
            while remaining:  # an unbuffered stream may take a part
                remaining = remaining[self._stream.write(remaining) :]
            self._stream.flush()


class _FileWriter(_StreamWriter):
    """Appends to a file that may hold the beginning already."""

    def __init__(self, stream: BinaryIO, name: str, done: frozenset[str], refused: RefusedDocuments) -> None:
        super().__init__(stream, name, done, refused)
        self._synced = time.monotonic()

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        super().write(rows)
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        with _output_errors(self._name):
            os.fsync(self._stream.fileno())
        self._synced = time.monotonic()


@contextmanager
def _open_writer(
    output: str | Path | BinaryIO, source: str | Path | BinaryIO, settings: BatchSettings
) -> Iterator[_StreamWriter]:
    if not isinstance(output, (str, Path)):
        yield _StreamWriter(output, "standard output")
        return
    path = Path(output)
    with _output_errors(str(path)):
        _check_output(path, source)
        resumable = path.is_file() or not path.exists()  # a device or a pipe is not
        done = _resume(path, source, settings) if resumable else frozenset()
        # Unbuffered, because a buffer that a full disk refused would be written again on closing.
        stream = cast(BinaryIO, path.open("ab" if resumable else "wb", buffering=0))
    with stream:
        if not resumable:
            yield _StreamWriter(stream, str(path))
            return
        writer = _FileWriter(stream, str(path), done, RefusedDocuments(refused_path(path)))
        try:
            yield writer
        finally:
            writer.sync()


@contextmanager
def _output_errors(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader had enough: no error of ours
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"{name}: cannot be written ({reason}); mend that and run the command again."
        ) from None


def _check_output(path: Path, source: str | Path | BinaryIO) -> None:
    if path.suffix.lower() in COMPRESSIONS:
        raise ResumeError(f"{path}: compressed output cannot be resumed; name a file that ends in .jsonl.")
    if path.is_dir():
        raise ResumeError(f"{path}: a folder, not a file; name a file in it.")
    if isinstance(source, (str, Path)) and path.exists() and path.samefile(source):
        raise ResumeError(f"{path}: both input and output; name another file for the predictions.")


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _resume(path: Path, source: str | Path | BinaryIO, settings: BatchSettings) -> frozenset[str]:
    """The ids that `path` holds already, after it is made ready for appending."""
    beside = settings_path(path)
    if not path.exists() or path.stat().st_size == 0:
        refused_path(path).unlink(missing_ok=True)  # of an output that was deleted
        _write_settings(beside, _with_head(settings, source, _HEAD_BYTES))
        return frozenset()
    earlier = _read_settings(beside)
    if earlier is None:
        raise ResumeError(
            f"{path} holds something already, but {beside.name} does not say how it was made; "
            "name another output or delete it."
        )
    # As much of the input as was there: more may have been appended since.
    differences = _differences(earlier, _with_head(settings, source, earlier.input_bytes), _name_of(source))
    if differences:
        raise ResumeError(
            f"{path} was begun with {', '.join(differences)}; "
            "give the same, name another output or delete it."
        )
    return _whole_lines(path)


def _with_head(settings: BatchSettings, source: str | Path | BinaryIO, size: int) -> BatchSettings:
    if not isinstance(source, (str, Path)) or not Path(source).is_file():  # a pipe can be read only once
        return settings
    head = read_head(Path(source), size)
    return replace(settings, input_bytes=len(head), input_sha256=hashlib.sha256(head).hexdigest())


def _differences(earlier: BatchSettings, now: BatchSettings, source_name: str) -> list[str]:
    """What `earlier` had otherwise, in words."""
    found = []
    if earlier.model != now.model:
        found.append(f"the model {earlier.model}, not {now.model}")
    elif earlier.identity != now.identity:
        found.append(f"other weights of the model {now.model}")
    if earlier.top_k != now.top_k:
        found.append(f"top_k {earlier.top_k or 'automatic'}, not {now.top_k or 'automatic'}")
    if earlier.threshold != now.threshold:
        found.append(f"threshold {_or_own(earlier.threshold)}, not {_or_own(now.threshold)}")
    if earlier.language != now.language:
        found.append(f"the language {_or_detected(earlier.language)}, not {_or_detected(now.language)}")
    both_known = earlier.input_sha256 and now.input_sha256
    if both_known and earlier.input_sha256 != now.input_sha256:
        found.append(f"an input that begins otherwise than {source_name}")
    return found


def _or_own(threshold: float | None) -> str:
    return "the model's own" if threshold is None else str(threshold)


def _or_detected(language: str) -> str:
    return language_name(language) if language else "of each document"


def _write_settings(path: Path, settings: BatchSettings) -> None:
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(json.dumps(asdict(settings)) + "\n", encoding="utf-8")
    draft.replace(path)


def _read_settings(path: Path) -> BatchSettings | None:
    try:
        return BatchSettings(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _whole_lines(path: Path) -> frozenset[str]:
    """Cut off a last line that was torn in the middle of a write; the ids of the others."""
    done: set[str] = set()
    whole = 0
    with path.open("r+b") as stream:
        for number, line in enumerate(stream, start=1):
            id = _id_of(line)
            if id is None:
                if stream.read(1):
                    raise ResumeError(f"{path}, line {number}: not a prediction; mend or delete the file.")
                stream.truncate(whole)
                break
            done.add(id)
            whole += len(line)
    return frozenset(done)


def _id_of(line: bytes) -> str | None:
    """The id of a line of predictions; None when it is torn, even if only its line end is missing."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    id = row.get("id") if isinstance(row, dict) else None
    return id if isinstance(id, str) else None
