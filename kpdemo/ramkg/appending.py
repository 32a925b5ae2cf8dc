"""Writing to a passage index: passages are appended, and belong to it once they are committed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import PassageIndexError
from kpdemo.locks import locked_folder
from kpdemo.ramkg.manifest import ENDS, KEYS, PASSAGES, REAL, VECTORS, WORD, Manifest, write_manifest
from kpdemo.ramkg.store import passage_key, passage_line
from kpdemo.types import Document


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
    return locked_folder(folder, PassageIndexError(busy))
