"""A batch that the device's memory does not hold."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.errors import KpdemoError
from kpdemo.simckp import batches
from kpdemo.simckp.batches import in_halves
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
