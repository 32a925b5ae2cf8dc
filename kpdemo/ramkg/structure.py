"""FAISS indexes that search without comparing everything: inverted lists, a graph, compressed vectors.

Letters: Q queries, N passages, K found, D width.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import ConfigError, PassageIndexError
from kpdemo.ramkg.settings import IndexConfig
from kpdemo.storage import replacing

Neighbours = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Dot products and passage numbers, (Q, K) each, best first; where fewer were found the number is -1."""

RECALL_WANTED = 0.95
NEIGHBOURS = 10
"""Whose recall is measured."""

_SEED = 1234
_BLOCK = 65_536  # vectors added at once
_LEAST_OF_A_LIST = 39  # FAISS warns when k-means has fewer vectors for a centroid,
_MOST_OF_A_LIST = 64  # and more than this gain little
_BITS = 8
_LEAST_FOR_CODES = _LEAST_OF_A_LIST << _BITS
_CACHE_LINE = 64  # bytes
_REFINED = 10  # of compressed vectors this many times K are compared again


def _faiss() -> Any:
    import faiss  # here, because much of this package does without

    return faiss  # untyped: its stubs lack half of it


def search_exactly(vectors: NDArray[np.float32], queries: NDArray[np.float32], count: int) -> Neighbours:
    """The `count` vectors (N, D) with the largest dot product for each query (Q, D)."""
    found: Neighbours = _faiss().knn(
        queries, vectors, min(count, len(vectors)), metric=_faiss().METRIC_INNER_PRODUCT
    )
    return found


def build_structure(config: IndexConfig, vectors: NDArray[np.float32]) -> Any:
    """A FAISS index of all `vectors` (N, D), which may lie on the disk.

    The same vectors give the same bytes, except for hnsw on several threads.

    Raises:
        ConfigError: a setting does not fit the vectors.
    """
    faiss = _faiss()
    index = faiss.index_factory(vectors.shape[1], _recipe(config, vectors), faiss.METRIC_INNER_PRODUCT)
    if config.type != "hnsw":
        index.train(_training_sample(vectors, index.nlist))
    add_vectors(index, vectors)
    return index


def add_vectors(index: Any, vectors: NDArray[np.float32]) -> None:
    """Add (N, D) more, a block at a time."""
    for first in range(0, len(vectors), _BLOCK):
        index.add(np.ascontiguousarray(vectors[first : first + _BLOCK]))


def write_structure(index: Any, path: Path) -> None:
    with replacing(path) as partial:
        _faiss().write_index(index, str(partial))


def read_structure(path: Path, vectors: NDArray[np.float32], *, whole: bool = False) -> Any:
    """The FAISS index in `path`.

    Args:
        vectors: (N, D) those that it was made of; a graph reads them instead of its own copy.
        whole: into memory, to be added to; else it stays on the disk as far as FAISS can map it, except the
            centroids of its lists, which each query is compared with.

    Raises:
        PassageIndexError: it is missing or damaged.
    """
    faiss = _faiss()
    try:
        index = faiss.read_index(str(path), 0 if whole else faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:  # FAISS names its own source lines, which help no user
        raise PassageIndexError(f"The index file {path} is missing or damaged: rebuild the index.") from error
    passages, width = vectors.shape
    if (index.ntotal, index.d) != (passages, width):
        raise PassageIndexError(
            f"The index file {path} holds {index.ntotal:,} vectors of width {index.d}, not {passages:,} of "
            f"{width}: rebuild the index."
        )
    if whole:
        return index
    if isinstance(index, faiss.IndexIVF):
        centroids = index.quantizer.reconstruct_n(0, index.nlist)
        _read_from(_aligned(centroids), index, index.quantizer)
    else:
        _read_from(vectors, index, index.storage)
    return index


def search_structure(
    index: Any,
    config: IndexConfig,
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    count: int,
    effort: int,
) -> Neighbours:
    """The best for each query (Q, D) as far as the structure finds them.

    Args:
        vectors: (N, D) the exact ones; of compressed ones the best are compared again with them.
        effort: nprobe or ef_search.
    """
    count = min(count, len(vectors))
    parameters = _parameters(config.type, max(effort, count) if config.type == "hnsw" else effort)
    if config.type != "ivfpq":
        found: Neighbours = index.search(queries, count, params=parameters)
        return found
    _, numbers = index.search(queries, min(count * _REFINED, len(vectors)), params=parameters)
    return _compared_again(vectors, queries, numbers, count)


def choose_effort(
    config: IndexConfig,
    index: Any,
    recall_at: Callable[[int], float],
    passages: int,
    wanted: float = RECALL_WANTED,
) -> tuple[int, float]:
    """The nprobe or ef_search that is set, else the smallest power of two that reaches the wanted recall.

    Args:
        recall_at: measures the recall of an effort.
        passages: N.

    Returns:
        It, and its recall.
    """
    if config.type == "hnsw":
        fixed, effort, most = config.ef_search, 16, min(passages, 1024)
    else:
        fixed, effort, most = min(config.nprobe, index.nlist), 1, index.nlist
    if fixed:
        return fixed, recall_at(fixed)
    while (recall := recall_at(effort)) < wanted and effort < most:
        effort = min(2 * effort, most)
    return effort, recall


def overlap(exact: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    """The mean share of the passages in a row of `exact` (Q, K) that are in the same row of `found` (Q, L).

    Raises:
        ValueError: there is no query, or none has a neighbour.
    """
    if not exact.size:
        raise ValueError("no neighbours to compare")
    return float(np.mean([np.isin(row, other).mean() for row, other in zip(exact, found, strict=True)]))


def _read_from(vectors: NDArray[np.float32], index: Any, part: Any) -> None:
    """Give a flat part of `index` other memory with the same vectors, which begins where a cache line does.

    In a mapped FAISS file they begin anywhere, and a search takes a fifth longer.
    """
    faiss = _faiss()
    flat = faiss.downcast_index(part)
    flat.codes = flat.codes.create_view(faiss.swig_ptr(vectors), vectors.nbytes, flat.codes.owner)
    faiss.add_to_referenced_objects(index, vectors)  # else Python frees what `index` reads


def _aligned(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """A copy that begins where a cache line does."""
    memory = np.empty(vectors.nbytes + _CACHE_LINE, dtype=np.uint8)
    first = -memory.ctypes.data % _CACHE_LINE
    copy = memory[first : first + vectors.nbytes].view(np.float32).reshape(vectors.shape)
    copy[:] = vectors
    return copy


@lru_cache(maxsize=64)  # making them takes half as long as searching a few vectors
def _parameters(kind: str, effort: int) -> Any:
    """FAISS's form of an effort; it only reads the object, so all searches may share it."""
    if kind == "hnsw":
        return _faiss().SearchParametersHNSW(efSearch=effort)
    return _faiss().SearchParametersIVF(nprobe=effort)


def _recipe(config: IndexConfig, vectors: NDArray[np.float32]) -> str:
    """The description that FAISS's index factory takes."""
    passages, width = vectors.shape
    if config.type == "hnsw":
        return f"HNSW{config.hnsw_m},Flat"
    most = max(1, passages // _LEAST_OF_A_LIST)
    nlist = config.nlist or min(round(4 * math.sqrt(passages)), most)
    if nlist > passages:
        raise ConfigError(f"There are {passages:,} passages for {nlist:,} lists: give a smaller --nlist.")
    if config.type == "ivf":
        return f"IVF{nlist},Flat"
    if passages < _LEAST_FOR_CODES:
        raise ConfigError(
            f"Type ivfpq needs {_LEAST_FOR_CODES:,} passages or more to learn its codes, and there are "
            f"{passages:,}: use --type flat."
        )
    size = config.pq_m or _code_size(width)
    if width % size:
        raise ConfigError(f"Vectors of width {width} cannot be cut into {size} parts: give another --pq-m.")
    return f"IVF{nlist},PQ{size}x{_BITS}"


def _code_size(width: int) -> int:
    """A byte for eight coordinates, or nearly so."""
    return max(size for size in range(1, max(width // 8, 1) + 1) if width % size == 0)


def _training_sample(vectors: NDArray[np.float32], nlist: int) -> NDArray[np.float32]:
    """(M, D) of the vectors (N, D), in their order."""
    wanted = max(_MOST_OF_A_LIST * nlist, 4 * _LEAST_FOR_CODES)
    if len(vectors) <= wanted:
        return np.ascontiguousarray(vectors)
    chosen = np.random.default_rng(_SEED).choice(len(vectors), wanted, replace=False)
    return np.ascontiguousarray(vectors[np.sort(chosen)])


def _compared_again(
    vectors: NDArray[np.float32], queries: NDArray[np.float32], numbers: NDArray[np.int64], count: int
) -> Neighbours:
    """The best `count` of `numbers` (Q, C) by their exact dot products."""
    scores = np.full(numbers.shape, -np.inf, dtype=np.float32)
    for row, (query, candidates) in enumerate(zip(queries, numbers, strict=True)):
        there = candidates >= 0
        scores[row, there] = vectors[candidates[there]] @ query
    best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(scores, best, axis=1), np.take_along_axis(numbers, best, axis=1)
