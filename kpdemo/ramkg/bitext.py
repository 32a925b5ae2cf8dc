"""Bitext mining: pairs of passages that are translations of each other, by the ratio margin of their cosines.

Artetxe and Schwenk (2019), *Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings*; RAMKG
(section 4.1) finds its academic training pairs so. Letters: S source passages, T target passages,
K neighbours, D width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import InputError
from kpdemo.ramkg.passage_index import (
    Neighbours,
    build_structure,
    choose_effort,
    overlap,
    search_exactly,
    search_structure,
)
from kpdemo.ramkg.settings import IndexConfig
from kpdemo.vectors import unit_rows

THRESHOLD = 1.03
"""RAMKG's, for LaBSE (section 5)."""
NEIGHBOURS = 4
LARGEST_EXACT = 100_000
"""Up to this many passages the search is exact; in more it uses inverted lists."""

_RECALL = 0.99
"""Of the neighbours, with inverted lists; every missed one raises margins."""
_SAMPLE = 500
_QUERIES = 16_384


@dataclass(frozen=True, slots=True)
class MinedPair:
    """A source and a target by their places, with their ratio margin."""

    source: int
    target: int
    margin: float


def mine_pairs(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    *,
    threshold: float = THRESHOLD,
    neighbours: int = NEIGHBOURS,
) -> list[MinedPair]:
    """The pairs whose margin is `threshold` or more, the best first, each passage in one at most.

    The candidates are, for each passage of either side, the neighbour with the best margin; they are taken
    greedily.

    Args:
        source, target: (S, D) and (T, D) vectors of any length but 0.
        neighbours: K of each passage in the other language, by which its cosines are measured.

    Raises:
        InputError: K is less than 1, or the threshold is not a number.
    """
    if neighbours < 1:
        raise InputError(f"The number of neighbours is {neighbours}; give 1 or more.")
    if math.isnan(threshold):
        raise InputError("The threshold is not a number; give one such as 1.03.")
    if not len(source) or not len(target):
        return []
    source, target = unit_rows(source), unit_rows(target)
    forward = _nearest(source, target, neighbours)
    backward = _nearest(target, source, neighbours)
    means = _means(forward), _means(backward)
    candidates = {(x, y): margin for x, y, margin in _best(forward, *means)}
    candidates |= {(x, y): margin for y, x, margin in _best(backward, *means[::-1])}
    pairs = (MinedPair(x, y, margin) for (x, y), margin in candidates.items() if margin >= threshold)
    return one_to_one(pairs)


def ratio_margin(
    cosine: NDArray[np.float32], source_mean: NDArray[np.float32], target_mean: NDArray[np.float32]
) -> NDArray[np.float32]:
    """A cosine over the mean cosine of its passages with their neighbours (Artetxe and Schwenk 2019, ratio).

    Where that mean is not above 0 the ratio means nothing: -inf.

    Args:
        cosine: of pairs, any shape.
        source_mean, target_mean: of the cosines with the K nearest in the other language; the same shape.
    """
    usual = (source_mean + target_mean) / 2
    margin = np.full_like(cosine, -np.inf)
    np.divide(cosine, usual, out=margin, where=usual > 0)
    return margin


def one_to_one(pairs: Iterable[MinedPair]) -> list[MinedPair]:
    """The best pairs, best first, without those whose source or target is in a better one."""
    sources: set[int] = set()
    targets: set[int] = set()
    chosen = []
    for pair in sorted(pairs, key=lambda pair: (-pair.margin, pair.source, pair.target)):
        if pair.source not in sources and pair.target not in targets:
            sources.add(pair.source)
            targets.add(pair.target)
            chosen.append(pair)
    return chosen


def _nearest(queries: NDArray[np.float32], others: NDArray[np.float32], count: int) -> Neighbours:
    """Cosines and places of the `count` nearest of `others` for each query, best first."""
    if len(others) <= LARGEST_EXACT:
        return search_exactly(others, queries, count)
    config = IndexConfig("ivf")
    lists = build_structure(config, others)

    def search(some: NDArray[np.float32], effort: int) -> Neighbours:
        return search_structure(lists, config, others, some, count, effort)

    sample = queries[:: max(len(queries) // _SAMPLE, 1)][:_SAMPLE]
    _, exact = search_exactly(others, sample, count)
    effort, _ = choose_effort(
        config, lists, lambda effort: overlap(exact, search(sample, effort)[1]), len(others), _RECALL
    )
    parts = [search(queries[first : first + _QUERIES], effort) for first in range(0, len(queries), _QUERIES)]
    cosines, places = (np.concatenate(part) for part in zip(*parts, strict=True))
    missing = places < 0  # the lists looked through held too few
    return np.where(missing, -np.inf, cosines).astype(np.float32), np.where(missing, 0, places)


def _means(found: Neighbours) -> NDArray[np.float32]:
    """(Q,) the mean cosine of the neighbours that were found."""
    cosines, _ = found
    known = np.isfinite(cosines)
    sums = np.where(known, cosines, 0).sum(axis=1)
    means: NDArray[np.float32] = (sums / np.maximum(known.sum(axis=1), 1)).astype(np.float32)
    return means


def _best(
    found: Neighbours, own_mean: NDArray[np.float32], other_mean: NDArray[np.float32]
) -> Iterable[tuple[int, int, float]]:
    """Each passage with its neighbour of the best margin, and that."""
    cosines, places = found
    margins = ratio_margin(cosines, np.broadcast_to(own_mean[:, None], cosines.shape), other_mean[places])
    best = margins.argmax(axis=1)
    rows = np.arange(len(best))
    return zip(rows.tolist(), places[rows, best].tolist(), margins[rows, best].tolist(), strict=True)
