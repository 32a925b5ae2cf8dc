"""A part of the models as the training loop sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor, nn

Metrics = dict[str, float]


class Part(Protocol):
    """What is trained: the loop knows nothing of documents or phrases."""

    selected: str
    """The metric of `evaluate` to maximise."""

    @property
    def module(self) -> nn.Module: ...

    def parameter_groups(self) -> list[dict[str, Any]]: ...

    def batches(self, epoch: int) -> list[list[int]]:
        """Indices into `self`, a function of the epoch alone; as many in every epoch, in as many batches."""

    def __getitem__(self, index: int) -> Any: ...

    def collate(self, items: Sequence[Any]) -> Any: ...

    def loss(self, batch: Any) -> Tensor | None:
        """None where the batch teaches nothing: the weights stay as they are."""

    def evaluate(self) -> Metrics: ...
