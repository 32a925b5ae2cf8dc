"""The report on systems as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from annotation.scoring import Estimate
from annotation.systems.report import Contrast, Correlations, ScoreReport, SystemReport


def scores_to_json(report: ScoreReport) -> dict[str, Any]:
    """The first system's figures, as scripts expect them, then everything."""
    first, ranks = report.systems[0], report.ranks()
    return {
        **_system_json(first),
        "pairs": report.pairs,
        "systems": [
            {**_system_json(system), "ranks": {by: places[number] for by, places in ranks.items()}}
            for number, system in enumerate(report.systems)
        ],
        "differences": [
            {
                "first": difference.first,
                "second": difference.second,
                "types": {type: _contrast_json(part) for type, part in difference.types.items()},
                "sum_pearson": _contrast_json(difference.sum_pearson),
            }
            for difference in report.differences
        ],
        "resamples": report.resamples,
        "seed": report.seed,
    }


def _system_json(system: SystemReport) -> dict[str, Any]:
    return {
        "system": system.name,
        "types": {type: _correlations_json(part) for type, part in system.types.items()},
        "sum_pearson": system.sum_pearson.value,
        "sum_pearson_interval": _interval_json(system.sum_pearson),
        "sum_spearman": system.sum_spearman.value,
        "sum_spearman_interval": _interval_json(system.sum_spearman),
        "genres": {
            genre: {
                **_correlations_json(part.all),
                "types": {type: _correlations_json(of_type) for type, of_type in part.by_type.items()},
            }
            for genre, part in system.genres.items()
        },
        **({"remark": system.remark} if system.remark else {}),
    }


def _correlations_json(part: Correlations) -> dict[str, Any]:
    return {
        "pearson": part.pearson.value,
        "pearson_interval": _interval_json(part.pearson),
        "spearman": part.spearman.value,
        "spearman_interval": _interval_json(part.spearman),
        "pairs": part.pairs,
        **({"reason": part.pearson.reason} if part.pearson.reason else {}),
    }


def _contrast_json(contrast: Contrast) -> dict[str, Any]:
    return {
        "difference": contrast.difference.value,
        "interval": _interval_json(contrast.difference),
        "bootstrap_p": contrast.p,
        "williams": None if contrast.williams is None else asdict(contrast.williams),
        **({"reason": contrast.difference.reason} if contrast.difference.reason else {}),
    }


def _interval_json(value: Estimate) -> list[float] | None:
    return None if value.low is None or value.high is None else [value.low, value.high]
