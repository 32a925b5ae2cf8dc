"""The report on agreement as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from annotation.reliability.bootstrap import Alpha
from annotation.reliability.drift import Drift
from annotation.reliability.planning import plan_to_json
from annotation.reliability.report import BUCKET_NAMES, AgreementReport, Part, WidePair
from annotation.reliability.upper_bound import AgainstOthers, UpperBound
from annotation.scoring import Estimate


def agreement_to_json(report: AgreementReport) -> dict[str, Any]:
    """The report as JSON holds it: what is undefined is null and has a reason beside it."""
    names = report.rater_names
    return {
        "project": report.project,
        "alpha": {
            "all": _alpha_json(report.whole.all),
            "unadjudicated": _alpha_json(report.whole.unadjudicated),
        },
        "by_type": {part.name: _part_json(part) for part in report.by_type},
        "by_genre": {part.name: _part_json(part) for part in report.by_genre},
        "notes": report.notes,
        "pairs": report.whole.pairs,
        "ratings": report.whole.ratings,
        "finished": report.whole.finished,
        **_decisions_json(report.whole),
        "withdrawn": report.withdrawn,
        "set_aside": [each.as_json() for each in report.set_aside],
        "threshold": report.threshold,
        "raters_per_pair": report.raters_per_pair,
        "conspicuous": [{"rater": names[rater], "said": said} for rater, said in report.conspicuous],
        "raters": [{**asdict(row), "rater": names[row.rater]} for row in report.raters],
        "drift": [_drift_json(drift, names[drift.rater]) for drift in report.drifts],
        "rater_pairs": [
            {"raters": [names[row.first], names[row.second]], **_alpha_json(row.alpha)}
            for row in report.rater_pairs
        ],
        "leave_one_out": [{"without": names[row.rater], **_alpha_json(row.alpha)} for row in report.left_out],
        "upper_bound": {bound.type: bound_json(bound, names) for bound in report.upper_bounds},
        "histogram": {"buckets": list(BUCKET_NAMES), **_histograms(report)},
        "widest": [_wide_json(pair) for pair in report.widest],
        "plan": plan_to_json(report.plan),
        "method": "Krippendorff's alpha, interval level; percentile bootstrap over pairs, 95 %",
        "resamples": report.resamples,
        "seed": report.seed,
    }


def _wide_json(pair: WidePair) -> dict[str, Any]:
    figures = asdict(pair)
    figures["id"] = figures.pop("external_id")
    return {**figures, "spread": pair.spread}


def _alpha_json(alpha: Alpha) -> dict[str, Any]:
    figures = asdict(alpha)
    interval_reason = figures.pop("interval_reason")
    return {**figures, "reason": alpha.reason or interval_reason or None}


def bound_json(bound: UpperBound, names: Sequence[str]) -> dict[str, Any]:
    """What raters reach on a type, and each of them; `names` are those of the raters, by number."""
    raters = [{"rater": names[row.rater], **_correlations_json(row)} for row in bound.raters]
    return {**_correlations_json(bound), "raters": raters}


def _correlations_json(found: UpperBound | AgainstOthers) -> dict[str, Any]:
    both = {"pearson": _estimate_json(found.pearson), "spearman": _estimate_json(found.spearman)}
    return {**both, "pairs": found.pairs}


def _estimate_json(found: Estimate) -> dict[str, Any]:
    reason = found.reason or found.interval_reason or None
    return {"value": found.value, "low": found.low, "high": found.high, "reason": reason}


def _drift_json(drift: Drift, rater: str) -> dict[str, Any]:
    windows = [
        {**asdict(window), "start": _moment(window.start), "end": _moment(window.end)}
        for window in drift.windows
    ]
    return {"rater": rater, "change": drift.change, "clear": drift.is_clear, "windows": windows}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _part_json(part: Part) -> dict[str, Any]:
    return {
        "all": _alpha_json(part.all),
        "unadjudicated": _alpha_json(part.unadjudicated),
        "pairs": part.pairs,
        "ratings": part.ratings,
        "finished": part.finished,
        **_decisions_json(part),
    }


def _decisions_json(part: Part) -> dict[str, int]:
    return {
        "flagged": part.flagged,
        "to_adjudicate": part.to_adjudicate,
        "decided": part.decided,
        "decided_unflagged": part.decided_unflagged,
        "reopened": part.reopened,
    }


def _histograms(report: AgreementReport) -> dict[str, Any]:
    return {
        "counts": list(report.whole.buckets),
        "by_type": {part.name: list(part.buckets) for part in report.by_type},
    }
