"""Weights between those that training began with and those that it ended with.

On the line between the two there are often weights that are better than both, on documents like those of
training and on others (WiSE-FT; Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", Equation 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn

Weights = Mapping[str, Tensor]


def copied_weights(module: nn.Module) -> dict[str, Tensor]:
    """The weights of a module as they are now, on the CPU."""
    return {name: value.detach().to("cpu", copy=True) for name, value in module.state_dict().items()}


def interpolate(
    module: nn.Module, start: Weights, shares: Sequence[float], judge: Callable[[], float]
) -> float:
    """Set the weights of `module` to (1 - share) · start + share · its own, for the best of the shares.

    Args:
        shares: from 0, the start's, to 1, its own; of several that are equally good the first is taken.
        judge: how good the weights are that the module has at the moment; more is better.

    Returns:
        The share.
    """
    trained = copied_weights(module)
    judged = {}
    for share in shares:
        module.load_state_dict(_between(start, trained, share))
        judged[share] = judge()
    best = max(judged, key=judged.__getitem__)
    module.load_state_dict(_between(start, trained, best))
    return best


def _between(start: Weights, trained: Weights, share: float) -> dict[str, Tensor]:
    return {
        name: start[name].lerp(value, share) if value.is_floating_point() else value
        for name, value in trained.items()
    }
