"""Training of one part by several processes, which `torchrun` starts.

Each computes with its share of every batch. All begin with the same weights and apply the same gradients, the
mean of theirs. The first one is the run: it alone holds the folder, evaluates and writes; the others end with
its last step.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn

Item = TypeVar("Item")

_LONGEST_WAIT = timedelta(hours=12)
"""For the first process, which labels documents and evaluates alone."""


class ShareDone(BaseException):
    """A process other than the first has no more to do."""


@dataclass(frozen=True, slots=True)
class Processes:
    """Which of how many processes this one is."""

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, batch: Sequence[Item]) -> list[Item]:
        """This process' items of a batch."""
        return list(batch[self.rank :: self.count])

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """The others come when the first is through, and find what it has stored."""
        if self.count > 1 and not self.is_first:
            dist.barrier()
        yield
        if self.count > 1 and self.is_first:
            dist.barrier()

    def copy_weights(self, module: nn.Module) -> None:
        """Those of the first for all."""
        if self.count > 1:
            for weights in module.state_dict().values():
                dist.broadcast(weights, 0)

    def average(self, parameters: Iterable[nn.Parameter], loss: Tensor | None, items: int) -> float | None:
        """Make all gradients the mean of those of all processes, each weighted by its items.

        Args:
            loss: None where the share teaches nothing, and has no gradients.
            items: of the share.

        Returns:
            The mean loss; None where no process has one.
        """
        if self.count == 1:
            return None if loss is None else loss.item()
        weight = 0.0 if loss is None else float(items)
        trained = list(parameters)
        device = trained[0].device
        value = torch.zeros((), device=device) if loss is None else loss.detach().float()
        has_gradient = torch.tensor([float(one.grad is not None) for one in trained], device=device)
        gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in trained]
        told = [gradient.float().flatten() * weight for gradient in gradients]
        both = torch.stack([value * weight, value.new_tensor(weight)])
        summed = torch.cat([*told, has_gradient, both])
        dist.all_reduce(summed)
        total, weights = summed[-2:].tolist()
        if not weights:
            return None
        means = summed[: -2 - len(trained)] / weights
        sizes = [one.numel() for one in trained]
        anywhere = summed[-2 - len(trained) : -2].tolist()
        for one, mean, has in zip(trained, means.split(sizes), anywhere, strict=True):
            one.grad = mean.view_as(one).to(one.dtype) if has else None
        return float(total / weights)

    def any(self, *flags: bool) -> list[bool]:
        """Of each flag whether it is set in one of the processes."""
        if self.count == 1:
            return list(flags)
        told = torch.tensor(flags, dtype=torch.int32)
        dist.all_reduce(told, dist.ReduceOp.MAX)
        return [bool(flag) for flag in told]

    def of_first(self, make: Callable[[], Item]) -> Item:
        """What the first process makes, for all."""
        if self.count == 1:
            return make()
        told = [make() if self.is_first else None]
        dist.broadcast_object_list(told, 0)
        return cast(Item, told[0])

    def of_each(self, own: Item) -> list[Item]:
        if self.count == 1:
            return [own]
        told: list[Any] = [None] * self.count
        dist.all_gather_object(told, own)
        return told


ALONE = Processes()


@cache
def join_processes() -> Processes:
    """This process among those that `torchrun` started; alone without it."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return ALONE
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
        backend = "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend, timeout=_LONGEST_WAIT)
    atexit.register(dist.destroy_process_group)
    return Processes(dist.get_rank(), dist.get_world_size())
