"""Agreement of the raters of a gold set, from ratings gathered while its rows are streamed."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from annotation.adjudication import is_flagged
from annotation.agreement import ALL, UNADJUDICATED, Grades
from annotation.reliability.bootstrap import CONFIDENCE, DEFAULT_RESAMPLES, DEFAULT_SEED, Alpha, measure
from annotation.reliability.upper_bound import upper_bound
from annotation.scoring import Estimate
from annotation.types import ProjectSettings, RatedPair

_DECIMALS = 6


class AgreementTally:
    """Gathers what agreement needs: a few numbers a rating, and no texts."""

    def __init__(self, settings: ProjectSettings) -> None:
        self._settings = settings
        self._pairs, self._raters = array("q"), array("q")
        self._values, self._types, self._kept = array("d"), array("q"), array("b")
        self._type_numbers: dict[str, int] = {}
        self._rater_numbers: dict[str, int] = {}
        self._count = 0

    def add(self, pair: RatedPair) -> None:
        grades = [grade for _, grade in pair.ratings]
        is_kept = pair.adjudicated is None and not is_flagged(grades, self._settings.threshold)
        type = self._type_numbers.setdefault(pair.type, len(self._type_numbers))
        for rater, grade in pair.ratings:
            self._pairs.append(self._count)
            self._raters.append(self._rater_numbers.setdefault(rater, len(self._rater_numbers)))
            self._values.append(float(grade))
            self._types.append(type)
            self._kept.append(is_kept)
        self._count += 1

    def as_json(self) -> dict[str, Any]:
        """α on all ratings and on unadjudicated pairs, overall and by type, and the upper bound by type."""
        grades = Grades(_integers(self._pairs), _integers(self._raters), np.asarray(self._values, np.float64))
        kept, types = np.asarray(self._kept, np.bool_), _integers(self._types)

        def alphas(chosen: Any) -> dict[str, Any]:
            whole = measure(grades.only(chosen))
            among = UNADJUDICATED if whole.pairs else ALL
            return {
                "all": _alpha(whole),
                "unadjudicated": _alpha(measure(grades.only(chosen & kept), among=among)),
            }

        of_type = {type: types == number for type, number in sorted(self._type_numbers.items())}
        return {
            "coefficient": "Krippendorff's alpha, interval level; percentile bootstrap over pairs",
            "confidence": CONFIDENCE,
            "resamples": DEFAULT_RESAMPLES,
            "seed": DEFAULT_SEED,
            "alpha": alphas(np.ones(len(grades), np.bool_)),
            "by_type": {type: alphas(chosen) for type, chosen in of_type.items()},
            "upper_bound": dict(_bounds({type: grades.only(chosen) for type, chosen in of_type.items()})),
        }


def _integers(values: array[int]) -> Any:
    return np.asarray(values, np.int64)


def _bounds(grades: Mapping[str, Grades]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The upper bound of each type with pairs that two raters graded; nobody is named."""
    for type, of_type in grades.items():
        bound = upper_bound(type, of_type, resamples=DEFAULT_RESAMPLES, seed=DEFAULT_SEED)
        if bound.raters:
            both = {"pearson": _figures(bound.pearson), "spearman": _figures(bound.spearman)}
            yield type, {**both, "pairs": bound.pairs, "raters": bound.counted}


def _alpha(alpha: Alpha) -> dict[str, Any]:
    return {**_figures(alpha), "pairs": alpha.pairs, "ratings": alpha.ratings}


def _figures(found: Alpha | Estimate) -> dict[str, Any]:
    figures = {"value": found.value, "low": found.low, "high": found.high}
    described: dict[str, Any] = {
        name: None if figure is None else round(figure, _DECIMALS) for name, figure in figures.items()
    }
    reason = found.reason or found.interval_reason
    return {**described, "reason": reason} if reason else described
