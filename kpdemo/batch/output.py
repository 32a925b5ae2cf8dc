"""Where the predictions of many documents go: an open stream, or a file that may be begun already."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from kpdemo.batch.refused import Refusal, RefusedDocuments, refused_path
from kpdemo.batch.resuming import BatchSettings, DoneDocuments, ResumeError, resume
from kpdemo.batch.sources import BatchInput
from kpdemo.errors import KpdemoError
from kpdemo.locks import locked
from kpdemo.reading.file_kinds import COMPRESSIONS, LINE_SUFFIXES, file_suffix, names_other_kind

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
    with stream, locked(stream, busy):
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
