"""Documents with the terms they were given: what the bank's encoder learns from, and a cache of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from kpdemo.errors import ConfigError
from kpdemo.simckp.terms import TermIndex, term_key
from kpdemo.simckp.tokens import document_tokens
from kpdemo.training.arrays import cache_name, load_arrays, save_arrays, tokenizer_hash
from kpdemo.training.sources import Source, draw_documents, source_hashes
from kpdemo.training.terms import bare
from kpdemo.training.workers import in_groups
from kpdemo.types import Document

CACHE_VERSION = 3
GROUP = 1024  # documents that a process reads for one copy of all terms


@dataclass(frozen=True)
class TermPair:
    """A document as the dual encoder reads it, and its terms by number.

    Attributes:
        tokens: (T,) token ids.
        gold: (G,) the terms among its keyphrases, ascending.
        present: (S,) the terms that occur in its text, ascending; gold ones too.
    """

    tokens: NDArray[np.int32]
    gold: NDArray[np.int32]
    present: NDArray[np.int32]


def make_pair(document: Document, index: TermIndex, tokenizer: Tokenizer, *, length: int) -> TermPair:
    return TermPair(
        np.asarray(document_tokens(document, tokenizer, length), dtype=np.int32),
        np.asarray(gold_terms(document, index.numbers), dtype=np.int32),
        np.asarray(index.read(document).numbers, dtype=np.int32),
    )


def gold_terms(document: Document, numbers: Mapping[str, int]) -> list[int]:
    """The terms among a document's keyphrases, ascending.

    Args:
        numbers: of the terms by `term_key`.
    """
    keys = {term_key(bare(text)) for text in document.keyphrases}
    return sorted(numbers[key] for key in keys if key in numbers)


_COLUMNS = ("tokens", "gold", "present")


class PairCache:
    """Pairs of many documents in flat arrays; documents without a gold term are left out."""

    def __init__(self, arrays: Mapping[str, NDArray[np.int32]]) -> None:
        self._arrays = dict(arrays)
        self._starts = {
            name: np.append(0, np.cumsum(arrays[f"{name}_counts"], dtype=np.int64)) for name in _COLUMNS
        }

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Tokens of each document."""
        return self._arrays["tokens_counts"]

    @property
    def repeats(self) -> NDArray[np.int32]:
        """How often each document occurs in one epoch."""
        return self._arrays["repeats"]

    def __getitem__(self, number: int) -> TermPair:
        def row(name: str) -> NDArray[np.int32]:
            first, end = self._starts[name][number : number + 2]
            return self._arrays[name][first:end]

        return TermPair(row("tokens"), row("gold"), row("present"))

    def save(self, path: Path) -> None:
        save_arrays(path, self._arrays)

    @classmethod
    def load(cls, path: Path) -> PairCache:
        return cls(load_arrays(path))

    @classmethod
    def build(cls, pairs: Iterable[tuple[TermPair, int]]) -> PairCache:
        """From pairs, each with the number of times it occurs in an epoch."""
        columns: dict[str, list[NDArray[np.int32]]] = {name: [] for name in _COLUMNS}
        repeats: list[int] = []
        for pair, repeat in pairs:
            if len(pair.gold):
                for name in _COLUMNS:
                    columns[name].append(getattr(pair, name))
                repeats.append(repeat)
        empty = np.zeros(0, dtype=np.int32)
        arrays: dict[str, NDArray[Any]] = {"repeats": np.asarray(repeats, dtype=np.int32)}
        for name, rows in columns.items():
            arrays[name] = np.concatenate([empty, *rows])
            arrays[f"{name}_counts"] = np.asarray([len(row) for row in rows], dtype=np.int32)
        return cls(arrays)

    @classmethod
    def join(cls, caches: Iterable[PairCache]) -> PairCache:
        """All pairs of `caches`, in order."""
        parts = [cls.build(())._arrays, *(cache._arrays for cache in caches)]
        return cls({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def cached_pairs(
    sources: Sequence[Source],
    folder: Path,
    index: TermIndex,
    tokenizer: Tokenizer,
    cache: Path,
    *,
    length: int,
    documents: int,
    seed: int,
) -> PairCache:
    """Pairs of `documents` documents drawn from all sources, read from `cache` when they are there.

    A source with `repeat` above 1 is always taken whole, the rest is drawn at random.

    Raises:
        ConfigError: a file is missing, or no document has a term of the bank among its keyphrases.
    """
    parts = [
        CACHE_VERSION,
        source_hashes(sources, folder),
        list(index.numbers),
        tokenizer_hash(tokenizer),
        length,
        documents,
        seed,
    ]
    path = cache / f"pairs-{cache_name(parts)}.npz"
    if path.is_file():
        return PairCache.load(path)
    chosen = draw_documents(sources, folder, documents, seed)
    make = partial(_pair_group, index, tokenizer, length)
    pairs = PairCache.join(in_groups(make, chosen, size=GROUP, description="terms"))
    if not len(pairs):
        raise ConfigError("No training document has a keyphrase of the bank: check the sources.")
    pairs.save(path)
    return pairs


def _pair_group(
    index: TermIndex, tokenizer: Tokenizer, length: int, group: Sequence[tuple[Document, int]]
) -> PairCache:
    return PairCache.build(
        (make_pair(document, index, tokenizer, length=length), repeat) for document, repeat in group
    )
