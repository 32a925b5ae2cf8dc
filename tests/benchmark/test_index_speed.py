"""How long a search takes in a passage index, beside plain FAISS in memory on the same vectors.

The index reads its vectors from the disk where FAISS has its own copy in memory, and both must find the same;
the times are printed and not asserted. Both are asked the same queries with the same effort, in turns:
"overhead" is the median over the turns. "with passages" adds reading the ten best passages.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import faiss
import numpy as np
import pytest

from kpdemo.ramkg.index_building import build_index
from kpdemo.ramkg.passage_index import PassageIndex
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.types import Document

pytestmark = pytest.mark.benchmark

WIDTH = 384
CENTRES = 1000
COUNT = 10
TURNS = 20
TEXT = "Neural networks learn representations of documents, phrases and words. " * 12


class GivenVectors:
    """An encoder that takes no time: the passages' vectors one after the other."""

    config = EncoderConfig("given")
    identity = "a" * 64
    width = WIDTH
    device = "cpu"

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors
        self._given = 0

    def passages(self, documents: Sequence[Document]) -> np.ndarray:
        self._given += len(documents)
        return self._vectors[self._given - len(documents) : self._given]

    def queries(self, documents: Sequence[Document]) -> np.ndarray:
        return self._vectors[: len(documents)]


def clustered(count: int) -> np.ndarray:
    """(N, D) of length 1, round `CENTRES` centres."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((CENTRES, WIDTH), dtype=np.float32)
    vectors = random.standard_normal((count, WIDTH), dtype=np.float32)
    for first in range(0, count, 10_000):
        vectors[first : first + 10_000] += centres[random.integers(0, CENTRES, len(vectors[first:][:10_000]))]
    faiss.normalize_L2(vectors)
    return vectors


def numbered(count: int) -> Iterator[tuple[int, Document]]:
    for line in range(1, count + 1):
        yield line, Document(TEXT, f"Title {line}", f"p{line}", ("a phrase", "another"), "en")


def milliseconds(work: Callable[[], object], times: int) -> float:
    """The median of `times` calls, after one that fills the caches."""
    work()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - started))
    return statistics.median(taken)


def in_turns(
    plain: Callable[[], object], ours: Callable[[], object], times: int
) -> tuple[float, float, float]:
    """Milliseconds of each, and ours over plain: taken side by side, so that what slows one slows the other.

    Args:
        times: calls of each in a turn.
    """
    turns = []
    for turn in range(TURNS):
        first, second = (plain, ours) if turn % 2 else (ours, plain)
        taken = milliseconds(first, times), milliseconds(second, times)
        turns.append(taken if turn % 2 else taken[::-1])
    theirs, mine = zip(*turns, strict=True)
    ratio = statistics.median(our / their for their, our in turns)
    return statistics.median(theirs), statistics.median(mine), ratio


def plain(index: PassageIndex, vectors: np.ndarray):
    """The same kind of index as FAISS alone has it, all in memory, with the same effort."""
    if index.manifest.index.type == "flat":
        peer = faiss.IndexFlatIP(WIDTH)
        peer.add(vectors)
        return peer
    peer = faiss.read_index(str(index.folder / index.manifest.structure))
    if index.manifest.index.type == "hnsw":
        peer.hnsw.efSearch = index.manifest.effort
    else:
        peer.nprobe = index.manifest.effort
    return peer


def memory() -> int:
    """Bytes that a program can have; what Linux keeps of files in memory is among them."""
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


CASES = [(10_000, "flat"), (10_000, "ivf"), (10_000, "hnsw"), (100_000, "flat"), (100_000, "ivf")]
CASES += [(1_000_000, "flat"), (1_000_000, "ivf")]


@pytest.mark.parametrize(("count", "kind"), CASES)
def test_search_beside_plain_faiss(tmp_path, capsys, count, kind):
    if memory() < 4 * count * WIDTH * 4:
        pytest.skip("Not enough memory for the vectors and their copy in plain FAISS.")
    vectors = clustered(count)
    started = time.perf_counter()
    encoder = GivenVectors(vectors)
    index = build_index(numbered(count), tmp_path / "index", encoder, IndexConfig(kind), name="given")
    built = time.perf_counter() - started
    peer = plain(index, vectors)
    with capsys.disabled():
        recall = "" if index.manifest.recall is None else f", recall@10 {index.manifest.recall:.3f}"
        print(f"\n{count:,} × {WIDTH} {kind}, built in {built:.1f} s without encoding{recall}; milliseconds")
        print(f"  {'queries':>7} {'plain FAISS':>12} {'index':>9} {'overhead':>9} {'with passages':>14}")
        for queries in (1, 32):
            asked, documents = vectors[:queries].copy(), [Document("")] * queries
            times = 2 if count > (10_000 if kind == "flat" else 100_000) else 20
            theirs, ours, ratio = in_turns(
                partial(peer.search, asked, COUNT), partial(index.search, asked, COUNT), times
            )
            whole = milliseconds(partial(index.retrieve, encoder, documents, COUNT), times)
            print(f"  {queries:>7} {theirs:>12.3f} {ours:>9.3f} {ratio - 1:>9.0%} {whole:>14.2f}")
    asked = vectors[:32].copy()
    np.testing.assert_array_equal(index.search(asked, COUNT)[1], peer.search(asked, COUNT)[1])
