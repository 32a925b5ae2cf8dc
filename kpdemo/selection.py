"""How many keyphrases an answer holds: the same options for every predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real

from kpdemo.errors import InputError
from kpdemo.scores import reaches
from kpdemo.types import Keyphrase


def check_options(top_k: int | None, threshold: float | None) -> None:
    """Raises:
    InputError: `top_k` is not a whole number or below 1, or `threshold` not a number or outside 0 to 1.
    """
    if top_k is not None and not _is_a(Integral, top_k):
        raise InputError(
            f"The number of keyphrases must be a whole number, not {top_k!r}: give one such as 5."
        )
    if threshold is not None and not _is_a(Real, threshold):
        raise InputError(f"The threshold must be a number, not {threshold!r}: give one from 0 to 1.")
    if top_k is not None and top_k < 1:
        raise InputError(f"The number of keyphrases must be at least 1, not {top_k}: give a larger one.")
    if threshold is not None and not 0 <= threshold <= 1:
        raise InputError(f"The threshold must be between 0 and 1, not {threshold}: give one in that range.")


def _is_a(kind: type, given: object) -> bool:
    """NumPy's numbers count too; True does not, although Python treats it as 1."""
    return isinstance(given, kind) and not isinstance(given, bool)


def best_first(scores: Sequence[float]) -> list[int]:
    """The indices of all scores, the highest first; of equal ones the earlier."""
    return sorted(range(len(scores)), key=lambda index: -scores[index])


def keep(scores: Sequence[float], *, top_k: int | None, threshold: float | None, own: int) -> list[int]:
    """Which candidates to give, as indices, best first; of equal scores the earlier one.

    Args:
        top_k: at most this many; with nothing else exactly this many, or all there are.
        threshold: only those that score at least so much, as `kpdemo.scores` compares them.
        own: how many the predictor's own rule gives, which holds when neither is asked for.
    """
    order = best_first(scores)
    if top_k is None and threshold is None:
        return order[:own]
    kept = [index for index in order if threshold is None or reaches(scores[index], threshold)]
    return kept[:top_k]


def mark_fillers(
    kept: Sequence[Keyphrase], sure: int, *, top_k: int | None, threshold: float | None
) -> tuple[Keyphrase, ...]:
    """What `keep` gave, best first, with its fillers marked; none if a number was asked for.

    Args:
        sure: how many the predictor's own rule gives without a minimum.
    """
    if top_k is not None or threshold is not None:
        return tuple(kept)
    return (*kept[:sure], *(replace(keyphrase, filler=True) for keyphrase in kept[sure:]))
