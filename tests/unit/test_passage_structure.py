"""What FAISS searches: against numpy, on the disk and in memory, with one effort and another."""

import gc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpdemo.errors import ConfigError
from kpdemo.ramkg.index_building import build_index
from kpdemo.ramkg.passage_index import (
    PassageIndex,
    build_structure,
    overlap,
    read_structure,
    search_exactly,
    search_structure,
    write_structure,
)
from kpdemo.ramkg.settings import IndexConfig
from tests.passages import SeededEncoder, numbered


def build(folder: Path, count: int, kind: str, **options) -> PassageIndex:
    return build_index(numbered(count), folder, SeededEncoder(), IndexConfig(kind, **options), name="input")


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 80), st.integers(0, 2**32 - 1))
def test_exact_search_is_that_of_numpy(passages, queries, count, seed):
    random = np.random.default_rng(seed)
    vectors, asked = (random.normal(size=(n, 8)).astype(np.float32) for n in (passages, queries))
    scores, numbers = search_exactly(vectors, asked, count)
    products = asked @ vectors.T
    best = np.argsort(-products, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(numbers, best)
    np.testing.assert_allclose(scores, np.take_along_axis(products, best, axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "options"), [("ivf", {"nlist": 40, "nprobe": 2}), ("hnsw", {"ef_search": 2, "hnsw_m": 2})]
)
def test_another_effort_holds_for_one_search(tmp_path, kind, options):
    index = build(tmp_path / "index", 2000, kind, **options)
    queries = index.store.vectors[:50]
    before = index.search(queries, 2)
    assert (index.search(queries, 2, effort=40)[1] != before[1]).any()
    np.testing.assert_array_equal(index.search(queries, 2), before)


def test_a_graph_finds_as_many_as_are_asked_for(tmp_path):
    index = build(tmp_path / "index", 300, "hnsw", ef_search=2)
    queries = index.store.vectors[:20]
    assert (index.search(queries, 2)[1] >= 0).all()
    np.testing.assert_array_equal(index.search(queries, 100)[1], index.search(queries, 100, effort=100)[1])


@pytest.mark.parametrize(
    "config",
    [
        IndexConfig("ivf", nlist=30),
        IndexConfig("hnsw"),
        pytest.param(IndexConfig("ivfpq", nlist=30, pq_m=2), marks=pytest.mark.slow),
    ],
)
def test_a_structure_on_the_disk_finds_what_it_finds_in_memory(tmp_path, config):
    vectors = np.random.default_rng(3).normal(size=(10_000, 8)).astype(np.float32)
    path = tmp_path / "structure.faiss"
    write_structure(build_structure(config, vectors), path)
    read = [read_structure(path, vectors, whole=whole) for whole in (True, False)]
    whole, mapped = (search_structure(structure, config, vectors, vectors[:200], 10, 8) for structure in read)
    for expected, found in zip(whole, mapped, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_structures_may_be_opened_and_left_again_and_again(tmp_path):
    index = build(tmp_path / "index", 2000, "ivf", nlist=40)
    queries = index.store.vectors[:5]
    expected = index.search(queries, 10)
    gc.freeze()  # what earlier tests left is not looked through a hundred times
    for _ in range(100):
        np.testing.assert_array_equal(PassageIndex.open(tmp_path / "index").search(queries, 10), expected)
        gc.collect()


@pytest.mark.slow
def test_the_best_of_compressed_vectors_are_compared_again():
    vectors = np.random.default_rng(3).normal(size=(10_000, 4)).astype(np.float32)
    config = IndexConfig("ivfpq", nlist=8, pq_m=1)
    structure = build_structure(config, vectors)
    scores, numbers = search_structure(structure, config, vectors, vectors[:20], 10, effort=8)
    exact, nearest = search_exactly(vectors, vectors[:20], 10)
    _, coarse = structure.search(vectors[:20], 10)
    assert overlap(nearest, numbers) > overlap(nearest, coarse)
    np.testing.assert_allclose(scores[:, 0], exact[:, 0], rtol=1e-5)


def test_an_index_of_few_passages_has_no_codes():
    with pytest.raises(ConfigError, match=r"ivfpq needs 9,984 passages .* use --type flat"):
        build_structure(IndexConfig("ivfpq"), np.ones((100, 8), dtype=np.float32))


def test_the_share_of_the_neighbours_found_is_counted():
    exact, found = np.array([[1, 2], [3, 4]]), np.array([[2, 9, 1], [3, 8, -1]])
    assert overlap(exact, found) == 0.75
