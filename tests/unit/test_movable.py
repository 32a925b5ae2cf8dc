"""Batches that go to a device whole."""

from dataclasses import dataclass

import torch

from kpdemo.simckp.batches import Movable


@dataclass(frozen=True)
class Inner(Movable):
    rows: torch.Tensor
    count: int


@dataclass(frozen=True)
class Outer(Movable):
    inner: Inner
    weights: torch.Tensor


def test_a_batch_moves_with_the_batches_in_it_and_its_numbers_stay():
    batch = Outer(Inner(torch.ones(2), 2), torch.ones(3))
    moved = batch.to(torch.device("meta"))
    assert (moved.inner.rows.device.type, moved.weights.device.type, moved.inner.count) == ("meta", "meta", 2)
    assert batch.weights.device.type == "cpu"
