"""A system or language model as a declared rater: its grades beside those of the people on the same pairs.

It has no account and no assignment: its grades come from a file of scores, so that they count in no α, gold
grade, progress or flag, and order nothing that raters see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.agreement import Alpha, Floats, Grades, measure
from annotation.comparison import types_in_order
from annotation.files.scores import GoldPair
from annotation.scale import CLSS, Scale
from annotation.scoring import correlations, why_undefined

_NONE = Alpha(None)
_CLSS_ENDS = (CLSS.lowest, CLSS.highest)


@dataclass(frozen=True, slots=True)
class SystemRater:
    """How a system grades the pairs of a type that people have rated."""

    system: str
    type: str
    pairs: int
    people: Alpha = _NONE
    """Of the people alone."""
    together: Alpha = _NONE
    """Of the people and the system as one more rater."""
    bias: float | None = None
    """The mean of its grades less the people's mean of each pair, in points: above 0 it grades higher."""
    distance: float | None = None
    """The mean distance from the people's mean, in points."""
    pearson: float | None = None
    """Correlation with the people's means."""
    spearman: float | None = None
    reason: str = ""
    """Why there is no figure, or no correlation."""


def system_raters(
    gold: Sequence[GoldPair],
    systems: Sequence[tuple[str, Sequence[float | None]]],
    *,
    resamples: int,
    seed: int,
    scale: Scale | None = None,
) -> list[SystemRater]:
    """Each system as a rater of each type.

    Args:
        gold: pairs with their single ratings, in any order; those without any are left out.
        systems: the name of each, and its score of each pair.
        resamples: how often the bootstrap of α draws.
        seed: what the draws start from.
        scale: of the people's grades; without it that of CLSS, or as far as their grades go beyond.
    """
    found = []
    for name, scores in systems:
        rated = [(pair, score) for pair, score in zip(gold, scores, strict=True) if pair.ratings]
        for type in types_in_order(pair.type for pair, _ in rated):
            of_type = sorted((one for one in rated if one[0].type == type), key=lambda one: one[0].key)
            found.append(_measure(name, type, of_type, resamples, seed, scale))
    return found


def _measure(
    name: str,
    type: str,
    rated: Sequence[tuple[GoldPair, float | None]],
    resamples: int,
    seed: int,
    scale: Scale | None,
) -> SystemRater:
    given = [score for _, score in rated if score is not None]
    if len(given) < len(rated):
        return SystemRater(name, type, len(rated), reason="The system does not score these pairs.")
    if scale is not None:
        lowest, highest = float(scale.lowest), float(scale.highest)
    else:
        ratings = [float(grade) for pair, _ in rated for _, grade in pair.ratings]
        lowest, highest = min(*_CLSS_ENDS, *ratings), max(*_CLSS_ENDS, *ratings)
    if min(given) < lowest or max(given) > highest:
        grades = f"a rater's grades are {lowest:g} to {highest:g}"
        reason = f"The scores go from {min(given):g} to {max(given):g}: {grades}."
        return SystemRater(name, type, len(rated), reason=reason)
    scores = np.array(given)
    people = list(_ratings(pair for pair, _ in rated))
    itself = [(place, -1, score) for place, score in enumerate(given)]
    sums: Floats = np.array([sum(grade for _, grade in pair.ratings) for pair, _ in rated], dtype=np.float64)
    means: Floats = sums / np.array([len(pair.ratings) for pair, _ in rated])
    reason = why_undefined(means, scores)
    both = None if reason else correlations(means, scores[None, :], np.ones((len(rated), 1)))
    return SystemRater(
        name,
        type,
        len(rated),
        measure(_grades(people), resamples=resamples, seed=seed),
        measure(_grades([*people, *itself]), resamples=resamples, seed=seed),
        float((scores - means).mean()),
        float(np.abs(scores - means).mean()),
        None if both is None else float(both.pearson[0, 0]),
        None if both is None else float(both.spearman[0, 0]),
        reason,
    )


def _ratings(pairs: Iterator[GoldPair]) -> Iterator[tuple[int, int, float]]:
    """Pair, rater and grade of each rating of people; who gave it matters to no figure here."""
    for place, pair in enumerate(pairs):
        yield from ((place, rater, float(grade)) for rater, (_, grade) in enumerate(pair.ratings))


def _grades(rows: Sequence[tuple[int, int, float]]) -> Grades:
    pairs, raters, values = zip(*rows, strict=True)
    return Grades(np.array(pairs, np.int64), np.array(raters, np.int64), np.array(values, np.float64))


def rater_json(found: SystemRater) -> dict[str, Any]:
    """As `python -m annotation score --as-raters --json` prints it."""
    return {
        "system": found.system,
        "type": found.type,
        "pairs": found.pairs,
        "alpha_people": _alpha_json(found.people),
        "alpha_with_system": _alpha_json(found.together),
        "bias": found.bias,
        "distance": found.distance,
        "pearson": found.pearson,
        "spearman": found.spearman,
        **({"reason": found.reason} if found.reason else {}),
    }


def _alpha_json(alpha: Alpha) -> dict[str, Any]:
    reason = {"reason": alpha.reason} if alpha.reason else {}
    return {"value": alpha.value, "low": alpha.low, "high": alpha.high, **reason}
