"""Predicting a whole file: bounded memory, a line of output per document, and resuming after a stop.

`OUTPUT.settings.json`, next to `OUTPUT`, holds the model, its weights, top_k and threshold, and each line of
`OUTPUT` records in `document_sha256` which text was read, and in which language. A second run with the same
settings continues after the documents that are already in `OUTPUT`; one with other settings is refused, and
so is an input in which one of those documents is missing or has changed: no file mixes two models or inputs.

What is not in `OUTPUT` does not count: lines that could not be read and documents that the model refused
may be corrected meanwhile, and the input may grow. Predictions of what was corrected come after all others.
A document without an id is identified by its line: if a broken line is deleted instead of corrected, those
after it become other documents, and the input is refused.

A file, or each file of a folder, is compared before anything is written. A pipe can be read only once, and
each document of it is compared when its turn comes: those before the first difference are written by then,
and documents that the pipe lacks go unnoticed.

The batches are cut from the input by position and a batch that is only partly in `OUTPUT` is predicted
again as a whole, so an interrupted and resumed run writes the very bytes of an uninterrupted one, as long
as nothing was corrected in between. The documents that the model refused are in `OUTPUT.refused.jsonl`,
each written before its batch, so that a batch without them counts as complete. `kpdemo.batch` says
which runs may continue a file.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from kpdemo.errors import InputError, KpdemoError
from kpdemo.identity import document_identity
from kpdemo.io.documents import ID_COLUMN, BatchInput, LocatedDocument, SeeUnnamed, name_of, read_located
from kpdemo.io.files import (
    COMPRESSIONS,
    LINE_SUFFIXES,
    file_suffix,
    lock_file,
    names_other_kind,
    parse_json,
    replace_file,
)
from kpdemo.io.predictions import prediction_row
from kpdemo.io.tables import LineError, ReportLine, column_name
from kpdemo.languages import language_name
from kpdemo.pipeline import OWN_RULE, read_with_passages, with_fields
from kpdemo.routing import Foreign, is_foreign, lacks_absent
from kpdemo.types import (
    Document,
    Prediction,
    PredictionOptions,
    Predictor,
    RetrievalPrediction,
    finds_absent,
    languages_of,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Attributes:
    document_sha256: its identity; a document that was corrected since is tried again.
    reason: a whole sentence.
    """

    id: str
    document_sha256: str
    reason: str

    @classmethod
    def of(cls, document: Document, reason: str) -> Refusal:
        return cls(document.id, document_identity(document), reason)


class RefusedDocuments:
    """The refusals so far, in memory and on disk; a line that was cut off by a kill is dropped."""

    def __init__(self, path: Path | None = None) -> None:
        """Read what is there; without a `path` nothing is kept."""
        self._path = path
        self._known: dict[str, Refusal] = {}
        if path is not None and path.exists():
            self._read(path)

    def reason(self, document: Document) -> str | None:
        """Why this very document was refused; None where it was not."""
        known = self._known.get(document.id)
        same = known is not None and known.document_sha256 == document_identity(document)
        return known.reason if known is not None and same else None

    def add(self, refusals: Iterable[Refusal]) -> None:
        """Keep those that are not known yet."""
        new = [refusal for refusal in refusals if self._known.get(refusal.id) != refusal]
        if self._path is None or not new:
            return
        with self._path.open("ab") as stream:
            stream.write(b"".join(json.dumps(asdict(refusal)).encode() + b"\n" for refusal in new))
        self._known |= {refusal.id: refusal for refusal in new}

    def _read(self, path: Path) -> None:
        whole = 0
        with path.open("r+b") as stream:
            for line in stream:
                refusal = _refusal(line)
                if refusal is None:
                    stream.truncate(whole)
                    return
                self._known[refusal.id] = refusal
                whole += len(line)


def refused_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.refused.jsonl")


def _refusal(line: bytes) -> Refusal | None:
    """None for a line that was cut off, even if only its line end is missing."""
    try:
        return Refusal(**parse_json(line)) if line.endswith(b"\n") else None
    except (TypeError, ValueError):
        return None


IDENTITY = "document_sha256"
"""The field of a line of predictions with the identity of its document."""


class ResumeError(InputError):
    """The output file is there already and cannot be continued by this call."""


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What must not change between a run and the one that resumes it.

    Attributes:
        identity: of the model's weights, as several may share a name; empty when it has none.
        language: that all documents are read in; empty for each its own.
        nested: whether a present keyphrase may be nested in another.
        further: other options that are not as usual, by their names in `PredictionOptions`.
        id_column: where the ids are, see `RowIds`.
    """

    model: str
    top_k: int | None
    threshold: float | None
    identity: str = ""
    language: str = ""
    nested: bool = True
    id_column: str = ID_COLUMN
    further: Mapping[str, Any] = field(default_factory=dict)

    def as_read(self, document: Document) -> Document:
        """The document in the language that it is read in."""
        return replace(document, language=self.language) if self.language else document


def changed_fields(options: PredictionOptions) -> dict[str, Any]:
    """The options that are not as usual, as JSON has them; without those that `BatchSettings` names."""
    usual = asdict(OWN_RULE)
    given = {name: value for name, value in asdict(options).items() if value != usual[name]}
    for name in ("top_k", "threshold", "nested", "language"):
        given.pop(name, None)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def settings_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.settings.json")


def recorded_model(output: Path) -> str | None:
    """The name of the model that made a predictions file, if its settings are next to it."""
    settings = _read_settings(settings_path(output))
    return None if settings is None else settings.model


class DoneDocuments:
    """The documents that a file of predictions holds already."""

    def __init__(self, output: str = "", identities: Mapping[str, str] | None = None) -> None:
        """Args:
        output: what messages call the file.
        identities: by the id of the document.
        """
        self._output = output
        self._identities = dict(identities or {})

    def __contains__(self, id: str) -> bool:
        return id in self._identities

    def check(self, document: Document, source: str) -> None:
        """Raises:
        ResumeError: what was predicted under the id of this document of `source` was another text.
        """
        earlier = self._identities.get(document.id)
        if earlier is not None and earlier != document_identity(document):
            raise _begun_with(
                self._output, f'another text or language of the document "{document.id}" than {source} has'
            )

    def check_file(self, source: Path, settings: BatchSettings) -> None:
        """Raises:
        ResumeError: one of the documents is not in `source`, or is another text there.
        """
        missing = dict.fromkeys(self._identities)
        documents = read_located(source, on_error=_pass_over, id_column=settings.id_column)
        while missing:
            one = next(documents, None)
            if one is None:
                raise _begun_with(self._output, f'a document "{next(iter(missing))}", which {source} lacks')
            if one.document.id in missing:  # of several with an id the first is read
                del missing[one.document.id]
                self.check(settings.as_read(one.document), str(source))


def resume(path: Path, source: BatchInput, settings: BatchSettings) -> DoneDocuments:
    """What `path` holds already, after it is made ready for appending."""
    beside = settings_path(path)
    if not path.exists() or path.stat().st_size == 0:
        refused_path(path).unlink(missing_ok=True)  # of an output that was deleted
        _write_settings(beside, settings)
        return DoneDocuments()
    earlier = _read_settings(beside)
    if earlier is None:
        raise ResumeError(
            f"{path} is not empty, but {beside.name} does not say how it was made; name another output or "
            "delete it."
        )
    given = Path(source) if isinstance(source, (str, Path)) else None
    compared = given if given and (given.is_file() or given.is_dir()) else None  # a pipe is read only once
    now = settings
    if compared and column_name(earlier.id_column) == column_name(settings.id_column):
        # The same column of a table; fields of JSON Lines may be two, and then their documents differ.
        now = replace(settings, id_column=earlier.id_column)
    if found := differences(earlier, now):
        raise _begun_with(str(path), ", ".join(found))
    done = DoneDocuments(str(path), _whole_lines(path))
    if compared:
        done.check_file(compared, settings)
    return done


def _begun_with(output: str, difference: str) -> ResumeError:
    return ResumeError(
        f"{output} was started with {difference}; use the same settings, name another output or delete it."
    )


def _pass_over(_: LineError) -> None:
    """A line that cannot be read holds no document; the run itself reports it."""


def differences(earlier: BatchSettings, now: BatchSettings) -> list[str]:
    """What `earlier` had otherwise, in words; nothing where the one may continue the other."""
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
    if earlier.nested != now.nested:
        found.append("nested keyphrases" if earlier.nested else "no nested keyphrases")
    for name in sorted({*earlier.further, *now.further}):
        if earlier.further.get(name) != now.further.get(name):
            found.append(f"{name} {earlier.further.get(name, 'as usual')}")
    if earlier.id_column != now.id_column:
        found.append(f"the id column {earlier.id_column}, not {now.id_column}")
    return found


def _or_own(threshold: float | None) -> str:
    return "the model's own" if threshold is None else str(threshold)


def _or_detected(language: str) -> str:
    return language_name(language) if language else "of each document"


def settings_row(settings: BatchSettings) -> dict[str, Any]:
    """As they are kept beside the predictions, in JSON."""
    row = asdict(settings)
    if not settings.further:
        del row["further"]
    return row


def read_settings(row: Any) -> BatchSettings | None:
    """The settings of `settings_row`; None where it is something else."""
    known = {setting.name for setting in fields(BatchSettings)}
    try:
        return BatchSettings(**{name: value for name, value in row.items() if name in known})
    except (TypeError, AttributeError):
        return None


def _write_settings(path: Path, settings: BatchSettings) -> None:
    replace_file(path, f"{json.dumps(settings_row(settings))}\n".encode())


def _read_settings(path: Path) -> BatchSettings | None:
    try:
        return read_settings(parse_json(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return None


def _whole_lines(path: Path) -> dict[str, str]:
    """Cut off a last line that was torn in the middle of a write; ids and identities of the others.

    Raises:
        ResumeError: a line is not a prediction, or has the id of an earlier one.
    """
    done: dict[str, str] = {}
    repeated: list[tuple[int, str]] = []
    whole = 0
    with path.open("r+b") as stream:
        for number, line in enumerate(stream, start=1):
            row = _row(line)
            if row is None:
                if stream.read(1):
                    raise ResumeError(f"{path}, line {number}: not a prediction; fix or delete the file.")
                break
            if row["id"] in done:
                repeated.append((number, row["id"]))
            done[row["id"]] = row[IDENTITY]
            whole += len(line)
        if repeated:
            number, id = repeated[0]
            lines = "1 line repeats" if len(repeated) == 1 else f"{len(repeated)} lines repeat"
            raise ResumeError(
                f'{path}: {lines} the id of an earlier one, first line {number} with "{id}"; delete the '
                "repeated lines, or the whole file to start again."
            )
        stream.truncate(whole)
    return done


def _row(line: bytes) -> dict[str, Any] | None:
    """A line of predictions; None when it is torn, even if only its line end is missing."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = parse_json(line)
    except ValueError:
        return None
    told = isinstance(row, dict) and all(isinstance(row.get(name), str) for name in ("id", IDENTITY))
    return row if told else None


_SYNC_SECONDS = 5.0


class OutputError(KpdemoError):
    """The predictions cannot be written."""


class StreamWriter:
    """Writes rows as lines, each batch in one go."""

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        done: DoneDocuments | None = None,
        refused: RefusedDocuments | None = None,
    ) -> None:
        self._stream = stream
        self._name = name
        self.done = done or DoneDocuments()
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


class _FileWriter(StreamWriter):
    """Appends to a file that may hold the beginning already."""

    def __init__(self, stream: BinaryIO, name: str, done: DoneDocuments, refused: RefusedDocuments) -> None:
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
def open_writer(
    output: str | Path | BinaryIO, source: BatchInput, settings: BatchSettings
) -> Iterator[StreamWriter]:
    if not isinstance(output, (str, Path)):
        yield StreamWriter(output, "standard output")
        return
    path = Path(output)
    with _output_errors(str(path)):
        _check_output(path, source)
        resumable = path.is_file() or not path.exists()  # a device or a pipe is not
        # Unbuffered, because a buffer that a full disk refused would be written again on closing.
        stream = cast(BinaryIO, path.open("ab" if resumable else "wb", buffering=0))
    if not resumable:
        with stream:
            yield StreamWriter(stream, str(path))
        return
    busy = OutputError(f"{path}: another run is writing to it; wait until it is done, or name another file.")
    with stream, lock_file(stream, busy):
        with _output_errors(str(path)):
            done = resume(path, source, settings)
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
            f"{name}: cannot be written ({reason}); fix that and run the command again."
        ) from None


def _check_output(path: Path, source: BatchInput) -> None:
    if path.suffix.lower() in COMPRESSIONS:
        raise ResumeError(f"{path}: compressed output cannot be resumed; name a file that ends in .jsonl.")
    if names_other_kind(path, LINE_SUFFIXES):
        raise ResumeError(
            f"{path}: predictions are JSON Lines, not {file_suffix(path)}; name a file that ends in .jsonl, "
            "and one with --csv for a table."
        )
    if path.is_dir():
        raise ResumeError(f"{path}: a folder, not a file; name a file in it.")
    if not isinstance(source, (str, Path)):
        return
    if Path(source).is_dir() and path.resolve().parent == Path(source).resolve():
        raise ResumeError(f"{path}: inside the input folder; name a file elsewhere.")
    if path.exists() and path.samefile(source):
        raise ResumeError(f"{path}: both input and output; name another file for the predictions.")


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


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
    further: PredictionOptions = OWN_RULE,
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
        nested: whether a present keyphrase may be nested in another, see `kpdemo.selection`.
        further: the other options; of those that are given here too these hold.
        id_column: the field, or the column of a table, with the ids.
        progress: called with the counts so far after each batch.
        on_unnamed: called with the file and line of the first document without an id, before it is predicted.

    Raises:
        ResumeError: `output` was made with other settings or of another input, or not by this function.
        InputError: `source` cannot be read at all; `output` is left as it is.
        OutputError: `output` cannot be written.
    """
    if batch_size is not None and batch_size < 1:
        raise InputError(f"The batch size is {batch_size}; give 1 or more.")
    settings = BatchSettings(
        predictor.name, top_k, threshold, identity, language, nested, id_column, changed_fields(further)
    )
    run = _BatchRun(predictor, settings, name_of(source), progress, on_error, on_unnamed)
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

    def read(self, source: BatchInput) -> Iterator[LocatedDocument]:
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

    def write(
        self, documents: Iterator[LocatedDocument], writer: StreamWriter, batch_size: int
    ) -> BatchSummary:
        while batch := list(islice(documents, batch_size)):
            self._write_batch(batch, writer)
            if self._progress is not None:
                self._progress(self._counts)
        return self._counts

    def _refuse(self, one: LocatedDocument, reason: str) -> None:
        self._report(LineError(one.line, one.refusal(reason)))

    def _tell_unnamed(self, file: str, line: int) -> None:
        if self._on_unnamed is not None:
            self._on_unnamed(file, line)
            self._on_unnamed = None

    def _report(self, error: LineError) -> None:
        self._counts = replace(self._counts, failed=self._counts.failed + 1)
        if self._on_error is not None:
            self._on_error(error)

    def _write_batch(self, batch: Sequence[LocatedDocument], writer: StreamWriter) -> None:
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
                said = [*document.warnings, *outcome.prediction.warnings]
                warned = {"warnings": said} if said else {}
                rows.append({**row, **warned, **told})
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
                self._predictor,
                part,
                with_fields(
                    replace(OWN_RULE, top_k=settings.top_k, threshold=settings.threshold),
                    {"nested": settings.nested, **settings.further},
                ),
            ),
        )
