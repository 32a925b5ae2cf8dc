"""The words of documents and the terms they were given: what word profiles are counted from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from kpdemo.errors import ConfigError
from kpdemo.simckp.terms import text_stems
from kpdemo.training.arrays import cache_name, load_arrays, save_arrays
from kpdemo.training.pairs import gold_terms
from kpdemo.training.sources import Source, read_source, source_hashes
from kpdemo.training.workers import in_groups
from kpdemo.types import Document

CACHE_VERSION = 1
GROUP = 1024


@dataclass(frozen=True)
class DocumentWords:
    """Of B documents with a term of the bank.

    Attributes:
        words: W stems that several documents have.
        documents: (B, W) float32, 1 where a document has the word.
        gold: (B, N) float32, 1 where a term is among its keyphrases.
    """

    words: tuple[str, ...]
    documents: csr_matrix
    gold: csr_matrix


def cached_words(
    sources: Sequence[Source],
    folder: Path,
    numbers: Mapping[str, int],
    cache: Path,
    *,
    terms: int,
    least: int,
) -> DocumentWords:
    """The words of all documents of the sources, read from `cache` when they are there.

    Args:
        numbers: of the bank's terms by `term_key`.
        terms: N.
        least: documents that have a word before it counts.

    Raises:
        ConfigError: a file is missing, or no document has a term of the bank among its keyphrases.
        TrainingError: the cache is damaged.
    """
    hashes = source_hashes(sources, folder)
    path = cache / f"words-{cache_name([CACHE_VERSION, hashes, list(numbers), least])}.npz"
    if path.is_file():
        stored = load_arrays(path)
    else:
        documents = [document for source in sources for document in read_source(source, folder)]
        stored = _collected(documents, numbers, least)
        save_arrays(path, stored)
    words = tuple(stored["words"].tobytes().decode().split("\n"))
    return DocumentWords(
        words,
        _rows_of_ones(stored["held"], stored["held_counts"], len(words)),
        _rows_of_ones(stored["gold"], stored["gold_counts"], terms),
    )


def _collected(
    documents: Sequence[Document], numbers: Mapping[str, int], least: int
) -> dict[str, NDArray[Any]]:
    """Rows of word and term numbers, one after the other, and how long they are."""
    known: dict[str, int] = {}
    held, gold = [], []
    for document, stems in zip(documents, _stems_of(documents), strict=True):
        if own := gold_terms(document, numbers):
            gold.append(np.array(own, dtype=np.int32))
            held.append(np.array([known.setdefault(stem, len(known)) for stem in stems], dtype=np.int32))
    if not gold:
        raise ConfigError("No training document has a keyphrase of the bank: check the sources.")
    used = np.bincount(np.concatenate(held), minlength=len(known)) >= least
    if not used.any():
        raise ConfigError(f"No word occurs in {least} documents: give more of them, or a smaller `least`.")
    renumbered = np.cumsum(used, dtype=np.int32) - 1
    kept = [renumbered[row[used[row]]] for row in held]
    words = [word for word, number in known.items() if used[number]]
    return {
        "words": np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        "held": np.concatenate(kept),
        "held_counts": np.array(list(map(len, kept)), dtype=np.int32),
        "gold": np.concatenate(gold),
        "gold_counts": np.array(list(map(len, gold)), dtype=np.int32),
    }


def _stems_of(documents: Sequence[Document]) -> Iterator[list[str]]:
    for group in in_groups(_group_stems, documents, size=GROUP, description="words"):
        yield from group


def _group_stems(documents: Sequence[Document]) -> list[list[str]]:
    return [sorted(text_stems(document)) for document in documents]


def _rows_of_ones(columns: NDArray[np.int32], counts: NDArray[np.int32], width: int) -> csr_matrix:
    starts = np.append(0, np.cumsum(counts, dtype=np.int64))
    return csr_matrix((np.ones(len(columns), dtype=np.float32), columns, starts), shape=(len(counts), width))
