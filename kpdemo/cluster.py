"""Predicting millions of documents on a Ray cluster: `python -m kpdemo predict --engine ray`.

The files of the input are cut into pieces: plain JSON Lines by bytes, Parquet, CSV and compressed files by
rows. Workers, which are actors of Ray with a model each, are given one piece after another and write its
predictions as one part of the output folder, in one step, after the last of them is made. So whatever is
killed costs the pieces that were under way and nothing else: Ray starts a worker anew and has it do its piece
again, and a run that is started again leaves out what has its part already.

A worker predicts a piece with `kpdemo.batch.predict_file`, so that its lines are those of a single process;
as a batch holds other documents there, the last digit of a score may differ. `settings.json` in the output
folder holds the settings and the files of the input, with their sizes: a run that differs is refused.

`python -m kpdemo index build --engine ray` has its passages encoded by such workers. The index is written by
the process that asks them, so that it is the same one, and goes on in the same way.
"""

from __future__ import annotations

import io
import json
import os
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from kpdemo.batch import (
    BatchSettings,
    BatchSummary,
    ResumeError,
    ShowProgress,
    changed_fields,
    differences,
    predict_file,
    read_settings,
    settings_row,
)
from kpdemo.errors import InputError, KpdemoError, ModelLoadError
from kpdemo.extras import needs_extra
from kpdemo.io.documents import (
    FileDocuments,
    LocatedDocument,
    RowIds,
    document_from_row,
    parse_documents,
    parse_stream,
)
from kpdemo.io.files import COMPRESSIONS, LINE_SUFFIXES
from kpdemo.io.tables import LineError
from kpdemo.predictors import index_identity, load_predictor, model_identity
from kpdemo.types import Document, PredictionOptions, Predictor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kpdemo.ramkg.index_building import Encode
    from kpdemo.ramkg.retriever import Encoder
    from kpdemo.ramkg.settings import EncoderConfig

PIECE_BYTES = 4 * 2**20
"""Of JSON Lines at most: some three thousand abstracts, a few minutes of a CPU."""
PIECE_ROWS = 2_000
SMALLEST_PIECE = 2**15
PIECES_A_WORKER = 4
"""At least, of a small input, so that all workers end at about the same time."""

PARQUET = ".parquet"
TABLES = (".csv", ".tsv")
KINDS = (*LINE_SUFFIXES, *TABLES, PARQUET)
SETTINGS = "settings.json"
PROBLEMS = "problems"
"""The folder in the output with what is wrong with documents that could not be used."""
UNFINISHED = ".partial"

BATCHES_A_WORKER = 3
"""Of passages, under way at once."""

RETRIES = 3
"""How often a piece is begun again whose worker died; one that kills each of them is left out at last."""

LOCAL_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing leaves the machine unasked
    "RAY_worker_niceness": "0",  # with Ray's own 15, workers wait for all that runs beside them
}
_LOCAL_OBJECTS = 256 * 2**20
"""Bytes that a local Ray keeps of messages: they hold counts and no documents."""


@dataclass(frozen=True, slots=True)
class ClusterRun:
    """What every worker is told.

    Attributes:
        output: the folder for the parts, as fsspec takes it.
        model: as of `load_predictor`; a folder must be there on every machine.
        device: "cpu" or "cuda".
        identity: of the model's weights on the machine that started the run.
        options: of all predictions; its language is that of all documents.
        piece_bytes, piece_rows: how long a piece is.
    """

    output: str
    model: str
    device: str
    index: str | None
    identity: str
    options: PredictionOptions
    id_column: str
    batch_size: int | None
    piece_bytes: int
    piece_rows: int

    @property
    def index_folder(self) -> Path | None:
        return None if self.index is None else Path(self.index)

    @property
    def settings(self) -> BatchSettings:
        options = self.options
        further = changed_fields(options)
        return BatchSettings(
            self.model,
            options.top_k,
            options.threshold,
            self.identity,
            options.language,
            options.nested is not False,
            self.id_column,
            further,
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file: `begin` and `end` are bytes of plain JSON Lines, else rows.

    Attributes:
        part: the name of its part of the output; sorted by it, parts are in the order of their file.
    """

    file: str
    begin: int
    end: int
    part: str


def _suffixes(file: str) -> tuple[str, bool]:
    """The suffix that tells the kind of a file, and whether it is compressed."""
    stem, suffix = os.path.splitext(file.lower())
    return (os.path.splitext(stem)[1], True) if suffix in COMPRESSIONS else (suffix, False)


def list_files(source: str) -> dict[str, int]:
    """The files of a folder, a pattern with `*`, or a file, with their sizes in bytes, by fsspec's URL.

    Raises:
        InputError: there is none, or one of another kind is named.
    """
    from fsspec.core import url_to_fs

    try:
        system, path = url_to_fs(source)
        if "*" in path:
            found = {
                name: one for name, one in system.glob(path, detail=True).items() if one["type"] == "file"
            }
        elif system.isdir(path):
            found = {one["name"]: one for one in system.ls(path, detail=True) if one["type"] == "file"}
        else:
            found = {path: system.info(path)}
            if _suffixes(path)[0] not in KINDS:
                raise InputError(
                    f"{source}: a cluster reads {', '.join(KINDS)}; for other files use --engine local."
                )
    except (OSError, ImportError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source}: cannot be read ({error}); check the address and the rights.") from None
    files = {
        system.unstrip_protocol(name): int(one["size"])
        for name, one in sorted(found.items())
        if _suffixes(name)[0] in KINDS and not os.path.basename(name).startswith((".", "_"))
    }
    if not files:
        raise InputError(f"{source}: no documents there; name files that end in {', '.join(KINDS)}.")
    return files


def cut_file(file: str, size: int, run: ClusterRun) -> list[Piece]:
    """The pieces of a file, in its order.

    Raises:
        InputError: it cannot be read, or holds no documents.
    """
    suffix, compressed = _suffixes(file)
    if suffix == PARQUET:
        with _open(file, decompress=False) as stream, needs_extra("ray", file):
            from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

            length, step = ParquetFile(stream).metadata.num_rows, run.piece_rows
    elif suffix in LINE_SUFFIXES and not compressed and not _is_array(file):
        length, step = size, run.piece_bytes
    else:
        length, step = sum(1 for _ in _rows(file, run)), run.piece_rows
    if not length:
        raise InputError(f"{file}: contains no documents; give a file with one document per line.")
    stem = os.path.basename(file).partition(".")[0][:60]
    name = f"{stem}-{sha256(file.encode()).hexdigest()[:8]}"
    begins = range(0, length, step)
    return [
        Piece(file, begin, min(begin + step, length), f"{name}-{number:06d}.jsonl")
        for number, begin in enumerate(begins)
    ]


def read_piece(piece: Piece, run: ClusterRun) -> FileDocuments:
    """The documents of a piece, and in their places what is wrong with the others.

    Raises:
        InputError: the file cannot be read.
    """
    suffix, compressed = _suffixes(piece.file)
    if suffix in LINE_SUFFIXES and not compressed and not _is_array(piece.file):
        lines = io.BytesIO(_whole_lines(piece))
        # Where the piece begins, not its lines, is known: the first is called line 1 of the piece.
        name = piece.file if piece.begin == 0 else f"from byte {piece.begin:,} of {piece.file}"
        found: Iterator[LocatedDocument | LineError] = _entries(parse_documents, lines, name, run)
    else:
        found = islice(_rows(piece.file, run), piece.begin, piece.end)
    return FileDocuments(piece.file, [_with_own_id(one) for one in found])


def _with_own_id(one: LocatedDocument | LineError) -> LocatedDocument | LineError:
    """A document without an id is a problem: nobody counts the lines of all pieces before it."""
    if isinstance(one, LineError) or one.document.id:
        return one
    return LineError(one.line, f"{one.where}: no id, which a document on a cluster needs; add one.")


def _whole_lines(piece: Piece) -> bytes:
    """The lines that begin within the piece."""
    with _open(piece.file) as stream:
        stream.seek(max(piece.begin - 1, 0))
        if piece.begin:
            stream.readline()  # ends where the first line of this piece begins
        kept = []
        while stream.tell() < piece.end and (line := stream.readline()):
            kept.append(line)
    return b"".join(kept)


def _is_array(file: str) -> bool:
    """Whether the file is one JSON array, which only the whole of it is."""
    with _open(file) as stream:
        begin: bytes = stream.read(64)
    return begin.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _rows(file: str, run: ClusterRun) -> Iterator[LocatedDocument | LineError]:
    if _suffixes(file)[0] != PARQUET:
        with _open(file) as stream:
            yield from _entries(parse_stream, stream, file, run)
        return
    with _open(file, decompress=False) as stream, needs_extra("ray", file):
        from pyarrow.parquet import ParquetFile

        number = 0
        for batch in ParquetFile(stream).iter_batches(batch_size=512):
            for row in batch.to_pylist():
                number += 1
                where = f"{file}, row {number:,}"
                try:
                    document = document_from_row(row, where=where, id_column=run.id_column)
                except InputError as error:
                    yield LineError(number, str(error))
                else:
                    yield LocatedDocument(document, file, number)


def _entries(
    parse: Callable[..., Iterator[tuple[int, Document]]], stream: BinaryIO, name: str, run: ClusterRun
) -> Iterator[LocatedDocument | LineError]:
    """Documents and errors in the order of the lines."""
    problems: list[LineError] = []
    ids = RowIds(run.id_column, lambda _: "")
    for line, document in parse(stream, name=name, on_error=problems.append, ids=ids):
        yield from problems
        problems.clear()
        yield LocatedDocument(document, name, line)
    yield from problems


def _open(file: str, *, decompress: bool = True) -> Any:
    import fsspec

    return fsspec.open(file, "rb", compression="infer" if decompress else None)


class Worker:
    """Predicts pieces with a model of its own; in a process of Ray."""

    def __init__(self, run: ClusterRun) -> None:
        self._run = run
        self._predictor: Predictor | None = None

    def wait(self) -> None:
        """Answer when the worker runs."""

    def predict(self, piece: Piece) -> BatchSummary | str:
        """Write the part of a piece, unless it is there.

        Returns:
            The counts, or why there is no part: of another process only words come back.
        """
        try:
            return self._predict(piece)
        except (KpdemoError, OSError) as error:
            return str(error)

    def _predict(self, piece: Piece) -> BatchSummary:
        from fsspec.core import url_to_fs

        run = self._run
        system, folder = url_to_fs(run.output)
        if system.exists(f"{folder}/{piece.part}"):
            return BatchSummary()
        if model_identity(run.model) + index_identity(run.model, run.index_folder) != run.identity:
            raise ModelLoadError(
                f"The model {run.model} has other weights on a worker: install the same there."
            )
        if self._predictor is None:
            self._predictor = load_predictor(run.model, device=run.device, index=run.index)
        predictions, problems = io.BytesIO(), list[LineError]()
        settings = run.settings
        summary = predict_file(
            self._predictor,
            read_piece(piece, run),
            predictions,
            batch_size=run.batch_size,
            top_k=settings.top_k,
            threshold=settings.threshold,
            identity=settings.identity,
            language=settings.language,
            nested=settings.nested,
            further=run.options,
            id_column=run.id_column,
            on_error=problems.append,
        )
        if problems:
            system.makedirs(f"{folder}/{PROBLEMS}", exist_ok=True)
            lines = [json.dumps({"message": one.message}, ensure_ascii=False) for one in problems]
            _write(
                system, f"{folder}/{PROBLEMS}/{piece.part}", "".join(f"{line}\n" for line in lines).encode()
            )
        _write(system, f"{folder}/{piece.part}", predictions.getvalue())
        return summary


def _write(system: Any, path: str, content: bytes) -> None:
    """In one step: a part that is there is whole."""
    place, _, name = path.rpartition("/")
    unfinished = f"{place}/.{name}.{uuid.uuid4().hex}{UNFINISHED}"
    system.pipe_file(unfinished, content)
    system.mv(unfinished, path)


def predict_on_ray(
    source: str,
    output: str,
    *,
    model: str,
    options: PredictionOptions,
    index: str | None = None,
    device: str = "auto",
    id_column: str = "id",
    batch_size: int | None = None,
    workers: int | None = None,
    gpus: float | None = None,
    piece_bytes: int | None = None,
    piece_rows: int | None = None,
    progress: ShowProgress | None = None,
) -> BatchSummary:
    """Predict the keyphrases of every document of `source`, as JSON Lines in the folder `output`.

    It uses the cluster of the variable `RAY_ADDRESS`, or the one that the caller is connected to; without
    either it starts Ray on this machine.

    Args:
        source, output: paths or URLs as fsspec takes them; of `source` see `list_files`.
        device: "auto" is a GPU for each worker if the cluster has any.
        workers: by default one for each GPU, or for each CPU.
        gpus: of a worker; a fraction lets several share one.
        piece_bytes, piece_rows: see `Piece`; by default by the size of the input. A run that goes on keeps
            those that it began with.

    Returns:
        What was predicted now; `skipped` is 0, as parts that are there are not read.

    Raises:
        InputError: a file of the input cannot be read, or the cluster has no GPU where `device` is one.
        ResumeError: `output` was made with other settings, or of another input.
        MissingPackageError: Ray is not installed.
        KpdemoError: some pieces have no part; the others have theirs.
    """
    with needs_extra("ray", "--engine ray"):
        import ray
        from fsspec.core import url_to_fs

    files = list_files(source)
    system, folder = url_to_fs(output)
    output = system.unstrip_protocol(folder)
    with _connected(workers, gpus, device) as (workers, gpus, on):
        share = sum(files.values()) // (PIECES_A_WORKER * workers)
        piece_bytes = piece_bytes or max(SMALLEST_PIECE, min(PIECE_BYTES, share))
        piece_rows = piece_rows or max(1, PIECE_ROWS * piece_bytes // PIECE_BYTES)
        identity = model_identity(model) + index_identity(model, None if index is None else Path(index))
        run = ClusterRun(
            output, model, on, index, identity, options, id_column, batch_size, piece_bytes, piece_rows
        )
        run = _begin(system, folder, run, files)
        cut = ray.remote(num_cpus=1)(_cut)
        plans = ray.get([cut.remote(file, size, run) for file, size in files.items()])
        if problem := next((plan for plan in plans if isinstance(plan, str)), None):
            raise InputError(problem)
        pieces = [piece for plan in plans for piece in plan]
        there = {os.path.basename(name) for name in system.ls(folder, detail=False)}
        missing = [piece for piece in pieces if piece.part not in there]
        worker = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=-1, max_task_retries=RETRIES)(Worker)
        actors = [worker.remote(run) for _ in range(min(workers, len(missing)))]
        total, failures = BatchSummary(), list[str]()
        for answer in _answers(ray, actors, missing):
            if isinstance(answer, str):
                failures.append(answer)
                continue
            total = _add(total, answer)
            if progress is not None:
                progress(total)
        for name in system.glob(f"{folder}/**/.*{UNFINISHED}"):
            system.rm(name)  # of a worker that was killed
        if failures:
            raise KpdemoError(
                f"{len(failures):,} of {len(pieces):,} pieces have no part in {output}; the first: "
                f"{failures[0]} The same command does these alone."
            )
        return total


def _answers(ray: Any, workers: Sequence[Any], pieces: Iterable[Piece]) -> Iterator[BatchSummary | str]:
    """What came of each piece, as soon as it is known.

    A worker is given its first piece when it runs. So those for which a cluster has no room yet keep nobody
    waiting.
    """
    left = deque(pieces)
    asked = {worker.wait.remote(): (worker, False) for worker in workers}
    under_way, reason = 0, ""
    while left or under_way:
        if not asked:
            raise KpdemoError(f"No worker of Ray starts: {reason}")
        [answered], _ = ray.wait(list(asked))
        worker, has_piece = asked.pop(answered)
        answer: BatchSummary | str | None
        try:
            answer = ray.get(answered)
        except ray.exceptions.RayError as error:
            answer = reason = _reason(error)
        if has_piece:
            under_way -= 1
            yield cast(BatchSummary | str, answer)
        elif answer is not None:
            continue  # this worker cannot start
        if left:
            asked[worker.predict.remote(left.popleft())] = worker, True
            under_way += 1


@contextmanager
def _connected(workers: int | None, gpus: float | None, device: str) -> Iterator[tuple[int, float, str]]:
    """A cluster, which ends with the block if it begins with it.

    Yields:
        How many workers, the GPUs of each, and the device of each.

    Raises:
        InputError: the cluster has no GPU where `device` is one.
    """
    import ray

    begun = not ray.is_initialized()
    if begun:
        _connect(ray, workers)
    try:
        resources = ray.cluster_resources()
        if gpus is None:
            gpus = 1.0 if device != "cpu" and resources.get("GPU") else 0.0
        on = "cuda" if gpus else "cpu"
        if device not in ("auto", on):
            raise InputError(f"The device is {device}, but the workers have {gpus:g} GPUs; see --gpus.")
        if workers is None:
            workers = max(1, int(resources.get("GPU", 0) / gpus if gpus else resources.get("CPU", 1)))
        yield workers, gpus, on
    finally:
        if begun:
            ray.shutdown()


def _connect(ray: Any, workers: int | None) -> None:
    if address := os.environ.get("RAY_ADDRESS"):
        ray.init(address=address, log_to_driver=False, logging_level="warning")
        return
    for name, value in LOCAL_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    ray.init(
        address="local",
        num_cpus=max(os.cpu_count() or 1, workers or 1),
        object_store_memory=_LOCAL_OBJECTS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="warning",
    )


class PassageWorker:
    """Encodes passages with an encoder of its own; in a process of Ray."""

    def __init__(self, config: EncoderConfig, identity: str, device: str, batch_size: int) -> None:
        self._config, self._identity = config, identity
        self._device, self._batch_size = device, batch_size
        self._encoder: Encoder | None = None

    def wait(self) -> None:
        """Answer when the worker runs."""

    def encode(self, passages: list[Document]) -> NDArray[np.float32] | str:
        """
        Returns:
            Their vectors (B, D), or why there are none: of another process only words come back.
        """
        from kpdemo.ramkg.retriever import load_encoder

        try:
            if self._encoder is None:
                encoder = load_encoder(self._config, device=self._device, batch_size=self._batch_size)
                if encoder.identity != self._identity:
                    model = self._config.model
                    return f"The encoder {model} has other weights on a worker: install the same there."
                self._encoder = encoder
            return self._encoder.passages(passages)
        except (KpdemoError, OSError) as error:
            return str(error)


@contextmanager
def encoding_on_ray(
    config: EncoderConfig,
    identity: str,
    *,
    device: str = "auto",
    batch_size: int = 32,
    workers: int | None = None,
    gpus: float | None = None,
) -> Iterator[Encode]:
    """What encodes passages on the cluster, see `predict_on_ray`, for `kpdemo.ramkg.index_building`.

    Args:
        config: of the encoder; a folder must be there on every machine.
        identity: of the encoder on this machine.

    Raises:
        InputError: the cluster has no GPU where `device` is one.
        MissingPackageError: Ray is not installed.
    """
    with needs_extra("ray", "--engine ray"):
        import ray

    with _connected(workers, gpus, device) as (workers, gpus, on):
        worker = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=-1, max_task_retries=RETRIES)(
            PassageWorker
        )
        actors = [worker.remote(config, identity, on, batch_size) for _ in range(workers)]
        yield lambda batches: _encoded(ray, actors, batches)


def _encoded(
    ray: Any, actors: Sequence[Any], batches: Iterator[list[Document]]
) -> Iterator[tuple[list[Document], NDArray[np.float32]]]:
    """The vectors of each batch, in the order of the batches; some are under way ahead of it."""
    starting = {actor.wait.remote(): actor for actor in actors}
    ready: list[Any] = []
    under_way: deque[tuple[list[Document], Any, Any]] = deque()
    reason = ""
    more = True
    while more or under_way:
        if starting:
            began, _ = ray.wait(list(starting), timeout=0 if ready else None)
            for answered in began:
                actor = starting.pop(answered)
                try:
                    ray.get(answered)
                    ready.append(actor)
                except ray.exceptions.RayError as error:
                    reason = _reason(error)
            if not ready and not starting:
                raise KpdemoError(f"No worker of Ray starts: {reason}")
        while ready and more and len(under_way) < BATCHES_A_WORKER * len(ready):
            if not (batch := next(batches, None)):
                more = False
                break
            asked = [one for _, _, one in under_way]
            unfinished = set(ray.wait(asked, num_returns=len(asked), timeout=0)[1] if asked else ())
            waiting = Counter(actor for _, actor, one in under_way if one in unfinished)
            actor = min(ready, key=waiting.__getitem__)
            under_way.append((batch, actor, actor.encode.remote(batch)))
        if ready and under_way:
            batch, _, answer = under_way.popleft()
            try:
                vectors = ray.get(answer)
            except ray.exceptions.RayError as error:
                vectors = f"A worker of Ray failed ({_reason(error)}): the same command goes on."
            if isinstance(vectors, str):
                raise KpdemoError(vectors)
            yield batch, vectors


def _reason(error: Exception) -> str:
    return str(getattr(error, "cause", None) or error).partition("\n")[0]


def _cut(file: str, size: int, run: ClusterRun) -> list[Piece] | str:
    try:
        return cut_file(file, size, run)
    except (InputError, OSError) as error:
        return str(error)


def _begin(system: Any, folder: str, run: ClusterRun, files: Mapping[str, int]) -> ClusterRun:
    """The run as it was begun in the output folder, or as it begins there now.

    Raises:
        ResumeError: it was begun otherwise, or the folder holds something else.
    """
    place = f"{folder}/{SETTINGS}"
    advice = "use the same, name another output or delete it."
    if not system.exists(place):
        if system.exists(folder) and (not system.isdir(folder) or system.ls(folder)):
            raise ResumeError(f"{run.output}: not a folder of an earlier run; name a new one.")
        system.makedirs(folder, exist_ok=True)
        pieces = {"piece_bytes": run.piece_bytes, "piece_rows": run.piece_rows}
        record = {"settings": settings_row(run.settings), **pieces, "files": files}
        _write(system, place, f"{json.dumps(record, indent=1)}\n".encode())
        return run
    try:
        record = json.loads(system.cat_file(place))
        earlier = read_settings(record["settings"])
        run = replace(run, piece_bytes=int(record["piece_bytes"]), piece_rows=int(record["piece_rows"]))
        sizes = dict(record["files"])
    except (ValueError, TypeError, LookupError):
        earlier, sizes = None, {}
    if earlier is None:
        raise ResumeError(
            f"{run.output}/{SETTINGS} does not say how the folder was made; name another output."
        )
    if found := differences(earlier, run.settings):
        raise ResumeError(f"{run.output} was started with {', '.join(found)}; {advice}")
    for file, size in sizes.items():
        if files.get(file) != size:
            what = (
                f"{size:,} bytes, not {files[file]:,}"
                if file in files
                else "its documents, which are missing now"
            )
            raise ResumeError(f"{run.output} was started with {file} of {what}; {advice}")
    if files != sizes:  # the input has grown by files
        _write(system, place, f"{json.dumps({**record, 'files': dict(files)}, indent=1)}\n".encode())
    return run


def _add(total: BatchSummary, more: BatchSummary) -> BatchSummary:
    return replace(
        total,
        done=total.done + more.done,
        failed=total.failed + more.failed,
        retrieved=total.retrieved + more.retrieved,
        foreign=Counter(total.foreign) + Counter(more.foreign),
    )
