"""Modules without initial weights, for weights that are loaded from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_DRAWS = (Tensor.normal_, Tensor.uniform_)


@contextmanager
def unset_weights() -> Iterator[None]:
    """Build modules without memory for their weights, which `load_state_dict(state, assign=True)` sets.

    Drawing weights at random would take longer than reading them, and for drawing on the meta device PyTorch
    imports its compiler, which takes as long as importing PyTorch itself.
    """
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Leaves weights as they are that would be drawn or set for the first time."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        arguments: Sequence[Any] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        named = options or {}
        if function in _DRAWS or getattr(function, "__module__", "") == "torch.nn.init":
            return arguments[0] if arguments else named["tensor"]
        return function(*arguments, **named)
