"""A batch that the device's memory does not hold, and two parts of the work at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from threading import Barrier, get_ident

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.errors import KpdemoError
from kpdemo.simckp import batches
from kpdemo.simckp.batches import compute_both, in_halves
from kpdemo.simckp.extractor import ContrastiveExtractor
from kpdemo.types import Document
from tests.tiny import tiny_extractor

DOCUMENTS = [
    Document("Graph kernels compare molecules."),
    Document("Neural networks learn representations of documents, phrases and words."),
    Document("The boundary integral equation gives the surface current."),
]


@given(st.lists(st.integers(), min_size=1), st.integers(1, 5))
def test_each_item_is_answered_once_in_its_place_however_little_fits(items, fitting):
    def work(part):
        if len(part) > fitting:
            raise torch.OutOfMemoryError
        return [item * 2 for item in part]

    assert in_halves(work, items, too_large="-") == [item * 2 for item in items]


def test_an_extractor_that_runs_out_of_memory_halves_its_batch_and_says_so(tmp_path, monkeypatch, caplog):
    predictor = tiny_extractor(tmp_path)
    expected = predictor.predict(DOCUMENTS)
    read, sizes = ContrastiveExtractor.forward, []

    def tight(self, batch, **options):
        sizes.append(batch.documents)
        if batch.documents > 1:
            raise torch.OutOfMemoryError
        return read(self, batch, **options)

    monkeypatch.setattr(ContrastiveExtractor, "forward", tight)
    found = predictor.predict(DOCUMENTS)
    assert sizes == [3, 1, 2, 1, 1]
    assert "out of memory with 3 texts at once: continuing with 1" in caplog.text
    assert [[one.text for one in row.present] for row in found] == [
        [one.text for one in row.present] for row in expected
    ]


def test_a_document_that_does_not_fit_alone_is_one_sentence(tmp_path, monkeypatch):
    def full(self, batch, **options):
        raise torch.OutOfMemoryError

    predictor = tiny_extractor(tmp_path)
    monkeypatch.setattr(ContrastiveExtractor, "forward", full)
    with pytest.raises(KpdemoError, match=r"single document: use --device cpu\.$"):
        predictor.predict(DOCUMENTS)


def test_vectors_come_in_the_order_of_their_rows_though_memory_is_short():
    def tower(input_ids, mask):
        if len(input_ids) > 2:
            raise torch.OutOfMemoryError
        return (input_ids * mask).sum(1, keepdim=True)

    rows = [[7], [1, 2], [30], [4, 5, 6], [100]]
    vectors = batches.encode_rows(tower, rows, padding=0, device=torch.device("cpu"), size=4)
    assert vectors.flatten().tolist() == [7, 3, 30, 15, 100]


@pytest.fixture
def four_threads():
    threads = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(threads)


def test_two_parts_run_at_once_with_half_of_the_threads_each(four_threads):
    told = ContextVar("told")
    told.set("heard")
    meet = Barrier(2, timeout=30)

    def work():
        meet.wait()  # breaks where one runs after the other
        return torch.get_num_threads(), told.get(), get_ident()

    first, second = compute_both(work, work)
    assert first[:2] == second[:2] == (2, "heard")
    assert first[2] != second[2]
    assert torch.get_num_threads() == 4


@pytest.mark.parametrize("part", [0, 1])
def test_an_error_of_either_part_is_raised_and_the_threads_are_given_back(four_threads, part):
    def fail():
        raise KpdemoError("too large")

    parts = [int, int]
    parts[part] = fail
    with pytest.raises(KpdemoError, match="too large"):
        compute_both(*parts)
    assert torch.get_num_threads() == 4


def test_with_one_thread_one_part_follows_the_other():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        first, second = compute_both(get_ident, get_ident)
    finally:
        torch.set_num_threads(threads)
    assert first == second


def test_callers_in_threads_of_their_own_leave_the_number_of_threads_alone(four_threads):
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(lambda _: compute_both(torch.get_num_threads, torch.get_num_threads), range(60)))
        later = pool.submit(torch.get_num_threads).result()
    assert set(seen) == {(4, 4)}
    assert later == torch.get_num_threads() == 4
