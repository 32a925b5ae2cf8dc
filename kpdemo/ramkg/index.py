"""A passage index: finding the passages whose vectors have the largest dot product with a query's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import PassageIndexError
from kpdemo.ramkg.manifest import Manifest, file_hashes, read_manifest
from kpdemo.ramkg.store import PassageStore
from kpdemo.ramkg.structure import (
    NEIGHBOURS,
    Neighbours,
    overlap,
    read_structure,
    search_exactly,
    search_structure,
)
from kpdemo.types import Document, RetrievedPassage

if TYPE_CHECKING:
    from kpdemo.ramkg.encoder import Encoder

_SEED = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found, with its dot product."""

    passage: Document
    score: float


def retrieved_passage(hit: Hit) -> RetrievedPassage:
    """As predictions report it."""
    passage = hit.passage
    return RetrievedPassage(
        passage.id, passage.title, passage.body, passage.keyphrases, passage.language, hit.score
    )


class PassageIndex:
    """Passages with their keyphrases and vectors, on the disk.

    Attributes:
        folder: where it is.
        manifest: of the index.
        store: its passages and vectors.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Of a manifest that was read; raises as `open`."""
        self.folder = folder
        self.manifest = manifest
        self.store = PassageStore(folder, manifest)

    @classmethod
    def open(cls, folder: Path) -> PassageIndex:
        """Raises:
        PassageIndexError: there is no index, or a file of it is missing or damaged.
        """
        return cls(folder, read_manifest(folder))

    def __len__(self) -> int:
        return len(self.store)

    def search(self, queries: NDArray[np.float32], count: int, *, effort: int | None = None) -> Neighbours:
        """The best passages for each query vector (Q, D); see `Neighbours`.

        Args:
            count: K; fewer when the index has fewer passages.
            effort: another nprobe or ef_search than the index's own.
        """
        manifest = self.manifest
        if not (manifest.passages and manifest.structure):
            return self.search_exactly(queries, count)
        wanted = manifest.effort if effort is None else effort
        return search_structure(self._structure, manifest.index, self.store.vectors, queries, count, wanted)

    def search_exactly(self, queries: NDArray[np.float32], count: int) -> Neighbours:
        """As `search`, by comparing with every passage."""
        if not len(self) or not len(queries):
            shape = (len(queries), min(count, len(self)))
            return np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.int64)
        return search_exactly(self.store.vectors, queries, count)

    def retrieve(self, encoder: Encoder, queries: Sequence[Document], count: int) -> list[list[Hit]]:
        """The `count` passages nearest to each query, best first.

        Raises:
            PassageIndexError: the index was made with another encoder, or is damaged.
        """
        self.check_encoder(encoder)
        scores, numbers = self.search(encoder.queries(queries), count)
        return [
            [
                Hit(self.store.passage(int(number)), float(score))
                for score, number in zip(row, found, strict=True)
                if number >= 0
            ]
            for row, found in zip(scores, numbers, strict=True)
        ]

    def check_encoder(self, encoder: Encoder, *, otherwise: str = "") -> None:
        """See that the vectors of the index are those of `encoder`.

        Args:
            otherwise: what the caller may do instead of building the index again.

        Raises:
            PassageIndexError: they are not.
        """
        if encoder.width != self.manifest.width and encoder.identity == self.manifest.identity:
            raise PassageIndexError(
                f"The index {self.folder} is damaged (its vectors have the width {self.manifest.width}, "
                f"those of its encoder {encoder.width}): rebuild it."
            )
        if encoder.identity != self.manifest.identity:
            from kpdemo.predictors import model_name

            asked = model_name(encoder.config.model)
            raise PassageIndexError(
                f"The index {self.folder} was built with the encoder {self.manifest.encoder.model} "
                f"({self.manifest.identity[:12]}), not with {asked} ({encoder.identity[:12]}): rebuild it "
                f"with `python -m kpdemo index build --model {asked}`{otherwise}."
            )

    def recall(self, queries: int, *, effort: int | None = None) -> float:
        """The share of the ten exactly nearest passages that a search finds, 1 for flat.

        Args:
            queries: this many passages of the index ask for their neighbours, themselves left out.
            effort: as in `search`.

        Raises:
            PassageIndexError: there are fewer than two passages.
        """
        if len(self) < 2:
            raise PassageIndexError(
                f"The index {self.folder} has {len(self)} passages, and recall needs two or more: add some."
            )
        exact, sample = self._neighbours(min(queries, len(self)))
        _, found = self.search(self.store.vectors[sample], NEIGHBOURS + 1, effort=effort)
        return overlap(exact, found)

    def damaged_files(self) -> list[str]:
        """The files whose bytes are not those that were written."""
        hashes = file_hashes(self.folder, self.manifest)
        return [name for name, sha256 in self.manifest.sha256.items() if hashes.get(name) != sha256]

    @cached_property
    def _structure(self) -> Any:
        return read_structure(self.folder / self.manifest.structure, self.store.vectors)

    def _neighbours(self, queries: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The exactly nearest (Q, K) of some passages (Q,)."""
        random = np.random.default_rng(_SEED)
        sample = np.sort(random.choice(len(self), queries, replace=False))
        _, found = self.search_exactly(self.store.vectors[sample], NEIGHBOURS + 1)
        own = found == sample[:, None]
        own[~own.any(axis=1), -1] = True  # another passage is as near to it as itself: leave out the last
        return found[~own].reshape(queries, -1), sample
