"""A part of the models as the training loop sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Metrics = dict[str, float]


class Part(Protocol):
    """What is trained: the loop knows nothing of documents or phrases."""

    selected: str
    """The metric of `evaluate` to maximise."""

    @property
    def module(self) -> nn.Module: ...

    def parameter_groups(self) -> list[dict[str, Any]]: ...

    @property
    def lengths(self) -> Sequence[int] | NDArray[np.int32]:
        """Of each item; those of a batch are of like length."""

    @property
    def repeats(self) -> Sequence[int] | NDArray[np.int32]:
        """How often each item occurs in an epoch."""

    def __getitem__(self, index: int) -> Any: ...

    def collate(self, items: Sequence[Any]) -> Any: ...

    def loss(self, batch: Any) -> Tensor | None:
        """None where the batch teaches nothing: the weights stay as they are."""

    def evaluate(self) -> Metrics: ...


@runtime_checkable
class DrawnAnew(Protocol):
    """A part that draws its items again in every epoch."""

    def begin_epoch(self, epoch: int) -> None:
        """Items are those of this epoch from now on."""
