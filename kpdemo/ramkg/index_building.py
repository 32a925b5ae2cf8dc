"""Building a passage index and adding to it; a process may be killed at any moment.

A build takes place in FOLDER.building, which is renamed once complete. The same call resumes after the
passages already committed there and gives the bytes of an uninterrupted build, because batches are cut by
position and committed whole. Adding to an index is atomic: all of the passages are added, or none.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import InputError, PassageIndexError
from kpdemo.io.files import lock_folder
from kpdemo.io.tables import ReportLine, line_name, report
from kpdemo.languages import identify
from kpdemo.ramkg.passage_index import (
    ENDS,
    KEYS,
    MANIFEST,
    PASSAGES,
    REAL,
    VECTORS,
    WORD,
    Manifest,
    PassageIndex,
    PassageStore,
    add_vectors,
    build_structure,
    choose_effort,
    file_hashes,
    passage_key,
    passage_line,
    read_manifest,
    read_structure,
    write_manifest,
    write_structure,
)
from kpdemo.ramkg.settings import IndexConfig
from kpdemo.types import Document

if TYPE_CHECKING:
    from kpdemo.ramkg.retriever import Encoder


class StoreWriter:
    """Appends passages to the files of an index; they belong to it from `commit` on."""

    def __init__(self, folder: Path, manifest: Manifest, streams: Mapping[str, BinaryIO]) -> None:
        """Use `open_writer`."""
        self._folder = folder
        self._streams = streams
        self.manifest = manifest

    def append(self, passages: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Args:
        vectors: (B, D), of the B passages.
        """
        if not np.isfinite(vectors).all():
            worst = passages[int(np.argmin(np.isfinite(vectors).all(axis=1)))]
            raise PassageIndexError(
                f'The encoder gives no finite vector for the passage "{worst.id}": use another encoder.'
            )
        lines = [passage_line(passage) for passage in passages]
        ends = self.manifest.size + np.cumsum([len(line) for line in lines])
        keys = np.array([passage_key(passage.id) for passage in passages], dtype=WORD)
        self._streams[PASSAGES].write(b"".join(lines))
        self._streams[ENDS].write(ends.astype(WORD).tobytes())
        self._streams[KEYS].write(keys.tobytes())
        self._streams[VECTORS].write(vectors.astype(REAL).tobytes())
        languages = dict(self.manifest.languages)
        for passage in passages:
            languages[passage.language] = languages.get(passage.language, 0) + 1
        self.manifest = replace(
            self.manifest,
            passages=self.manifest.passages + len(passages),
            size=int(ends[-1]) if lines else self.manifest.size,
            with_keyphrases=self.manifest.with_keyphrases + sum(bool(p.keyphrases) for p in passages),
            languages=languages,
        )

    def sync(self) -> None:
        """Flush what was appended to the disk."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())

    def commit(self) -> None:
        """Make all that was appended part of the index."""
        self.sync()
        write_manifest(self._folder, self.manifest)


@contextmanager
def open_writer(folder: Path, manifest: Manifest) -> Iterator[StoreWriter]:
    """Append to the index in `folder` whose committed state is `manifest`; hold its `lock`."""
    with ExitStack() as stack:
        streams = {}
        for name, size in manifest.sizes().items():
            (folder / name).touch()
            streams[name] = stack.enter_context((folder / name).open("r+b"))
            streams[name].truncate(size)  # what an earlier process had appended and not committed
            streams[name].seek(size)
        yield StoreWriter(folder, manifest, streams)


def lock(folder: Path) -> AbstractContextManager[None]:
    """Keep other processes from writing to the folder; the lock of one that dies is gone with it.

    Raises:
        PassageIndexError: another process has it.
    """
    busy = f"Another process is writing to {folder}: wait until it is done."
    return lock_folder(folder, PassageIndexError(busy))


BATCH = 256
"""Passages encoded together."""
COMMIT_SECONDS = 2.0
"""After so long, what was encoded is committed; a killed build has to encode the rest again."""
RECALL_QUERIES = 200

Numbered = Iterable[tuple[int, Document]]
"""Passages with their line numbers."""
ShowCount = Callable[[int], None]
Batches = Iterator[list[Document]]
Encode = Callable[[Batches], Iterator[tuple[list[Document], NDArray[np.float32]]]]
"""Makes the vectors of batches, in their order."""


@dataclass(frozen=True, slots=True)
class Added:
    """How many passages were added, and were there already."""

    done: int
    skipped: int


def partial_folder(folder: Path) -> Path:
    """Where an index is built before it is `folder`."""
    return folder.with_name(f"{folder.name}.building")


def check_free(folder: Path) -> None:
    """Raises:
    PassageIndexError: something has the name of the index to be.
    """
    if folder.exists():
        raise PassageIndexError(
            f"{folder} already exists: add to it with `python -m kpdemo index add`, name another folder, or "
            "delete it."
        )


def build_index(
    passages: Numbered,
    folder: Path,
    encoder: Encoder,
    config: IndexConfig,
    *,
    name: str,
    encode: Encode | None = None,
    progress: ShowCount | None = None,
    on_error: ReportLine | None = None,
) -> PassageIndex:
    """Make an index of `passages`, or go on with one that was begun.

    A passage without a text, or with the id of an earlier one, is left out and reported to `on_error`.

    Args:
        name: of the input, which begins what is reported.
        encode: makes the vectors in place of `encoder`, which is the same one.
        progress: called with the number of passages that are done.

    Raises:
        PassageIndexError: `folder` is there, or was begun with other settings or another input.
        InputError: there is no passage; without `on_error`, also the first bad one.
        ConfigError: the settings do not fit the passages, or one is not of this type of index.
    """
    config.refuse_unused()
    check_free(folder)
    partial = partial_folder(folder)
    begun = Manifest(encoder.config, encoder.identity, config, encoder.width)
    partial.mkdir(parents=True, exist_ok=True)
    with lock(partial):
        manifest = _begin(partial, begun)
        with open_writer(partial, manifest) as writer:
            usable = _usable(passages, name, on_error)
            _check_same(partial, manifest, usable)
            _encode(usable, encode or one_by_one(encoder), writer, progress, commit=True)
            encoded = writer.manifest
        if not encoded.passages:
            shutil.rmtree(partial)
            raise InputError(f"{name}: contains no passages; give a file of passages.")
        write_manifest(partial, _finish(partial, encoded))
        _remove_stale(partial)
        partial.rename(folder)
    return PassageIndex.open(folder)


def add_passages(
    passages: Numbered,
    folder: Path,
    encoder: Encoder,
    *,
    name: str,
    progress: ShowCount | None = None,
    on_error: ReportLine | None = None,
) -> Added:
    """Add `passages` to an index; those that it holds already are left as they are.

    Args, Raises: as `build_index`; a passage with the id of another one of the index is a bad one.
    """
    read_manifest(folder)  # there is an index that can be locked
    with lock(folder):
        index = PassageIndex.open(folder)
        index.check_encoder(encoder)
        known = _Known(index.store)
        with open_writer(folder, index.manifest) as writer:
            usable = _usable(passages, name, on_error, known)
            _encode(usable, one_by_one(encoder), writer, progress, commit=False)
            writer.sync()
            grown = writer.manifest
        done = grown.passages - len(index)
        if done:
            write_manifest(folder, _finish(folder, grown, earlier=index.manifest))
        _remove_stale(folder)
    return Added(done, known.met)


class _Known:
    """The passages of an index that is added to; counts those that are met again."""

    def __init__(self, store: PassageStore) -> None:
        self._store = store
        self.keys = set(store.keys.tolist())
        self.met = 0

    def is_same(self, passage: Document) -> bool:
        """Whether the index has this very passage."""
        number = self._store.number_of(passage.id)
        same = number is not None and self._store.line(number) == passage_line(passage)
        self.met += same
        return same


def _usable(
    passages: Numbered, name: str, on_error: ReportLine | None, known: _Known | None = None
) -> Iterator[Document]:
    """The passages that have a text and an id of their own, each with its language."""
    known_keys = known.keys if known else frozenset()
    seen: set[int] = set()
    for line, told in passages:
        passage = identify(told)
        key = passage_key(passage.id)
        if known is not None and key in known_keys and key not in seen and known.is_same(passage):
            seen.add(key)
        elif key in seen or key in known_keys:
            problem = f'the id "{passage.id}" is that of another passage; give each its own.'
            report(InputError(f"{line_name(name, line)}: {problem}"), line, on_error)
        elif not passage.text.strip():
            problem = f'the passage "{passage.id}" has no text; add one or empty the line.'
            report(InputError(f"{line_name(name, line)}: {problem}"), line, on_error)
        else:
            seen.add(key)
            yield passage


def _begin(partial: Path, begun: Manifest) -> Manifest:
    """What is committed of a build with these settings."""
    if not (partial / MANIFEST).exists():
        write_manifest(partial, begun)
        return begun
    earlier = read_manifest(partial)
    differences = [
        f"the {what} {was}, not {now}"
        for what, was, now in (
            ("encoder", earlier.encoder.model, begun.encoder.model),
            ("settings", earlier.index, begun.index),
        )
        if was != now
    ]
    if earlier.identity != begun.identity and not differences:
        differences = ["other weights or settings of the encoder"]
    if differences:
        raise PassageIndexError(
            f"{partial} was started with {' and '.join(differences)}: use the same, or delete it."
        )
    return earlier


def _check_same(partial: Path, manifest: Manifest, passages: Iterator[Document]) -> None:
    """Pass over the committed passages, and see that they are those of the input."""
    if not manifest.passages:
        return
    store = PassageStore(partial, manifest)
    for number in range(len(store)):
        passage = next(passages, None)
        if passage is None or passage_line(passage) != store.line(number):
            there = "ends" if passage is None else f'has "{passage.id}"'
            raise PassageIndexError(
                f"{partial} was started with another input, which {there} as passage {number + 1}: use the "
                "same, or delete it."
            )


def one_by_one(encoder: Encoder) -> Encode:
    return lambda batches: ((batch, encoder.passages(batch)) for batch in batches)


def _encode(
    passages: Iterator[Document],
    encode: Encode,
    writer: StoreWriter,
    progress: ShowCount | None,
    *,
    commit: bool,
) -> None:
    before = 0 if commit else writer.manifest.passages
    committed = time.monotonic()
    batches: Batches = iter(lambda: list(islice(passages, BATCH)), [])
    for batch, vectors in encode(batches):
        writer.append(batch, vectors)
        if commit and time.monotonic() - committed >= COMMIT_SECONDS:
            writer.commit()
            committed = time.monotonic()
        if progress is not None:
            progress(writer.manifest.passages - before)
    if commit:
        writer.commit()


def _finish(folder: Path, manifest: Manifest, *, earlier: Manifest | None = None) -> Manifest:
    """With the FAISS structure of all passages, its measured recall, and the hashes of the files."""
    if manifest.index.type != "flat":
        manifest = _with_structure(folder, manifest, earlier)
    return replace(manifest, sha256=file_hashes(folder, manifest))


def _with_structure(folder: Path, manifest: Manifest, earlier: Manifest | None) -> Manifest:
    vectors = PassageStore(folder, manifest).vectors
    if earlier is None:
        structure = build_structure(manifest.index, vectors)
    else:
        structure = read_structure(folder / earlier.structure, vectors[: earlier.passages], whole=True)
        add_vectors(structure, vectors[earlier.passages :])
    path = folder / f"structure-{manifest.passages}.faiss"
    write_structure(structure, path)
    manifest = replace(manifest, structure=path.name, effort=1)
    queries = min(RECALL_QUERIES, manifest.passages)
    if queries < 2:
        return manifest
    index = PassageIndex(folder, manifest)
    effort, recall = choose_effort(
        manifest.index, structure, lambda effort: index.recall(queries, effort=effort), len(index)
    )
    return replace(manifest, effort=effort, recall=round(recall, 4), recall_queries=queries)


def _remove_stale(folder: Path) -> None:
    """The FAISS files of earlier states of the index."""
    current = read_manifest(folder).structure
    for path in folder.glob("structure-*"):
        if path.name != current:
            path.unlink()
