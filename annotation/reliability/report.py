"""The report on agreement, of a project or a gold set: for the page, as JSON and as LaTeX."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import inf
from typing import Any

import numpy as np

from annotation import __version__
from annotation.adjudication import is_flagged, rule_text
from annotation.agreement import (
    ALL,
    CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    UNADJUDICATED,
    Alpha,
    Among,
    Floats,
    Grades,
    Integers,
    Mask,
    PartSize,
    few_pairs_text,
    measure,
)
from annotation.quality import ExcludedGrades
from annotation.reliability.planning import Plan, plan_pairs, plan_to_json
from annotation.reliability.raters import (
    Drift,
    LeftOut,
    RaterFigures,
    TwoRaters,
    alphas_of_rater_pairs,
    alphas_without_each,
    bucket_counts,
    bucket_names,
    conspicuous_raters,
    drifts,
    far_points,
    rater_figures,
)
from annotation.reliability.repeats import SelfAgreement, self_agreement_json
from annotation.reliability.upper_bound import AgainstOthers, UpperBound, upper_bound
from annotation.scale import CLSS, Scale
from annotation.scoring import Estimate
from annotation.translation import _
from annotation.types import ProjectSettings, RatedPair
from kpdemo.io.latex import Cell, latex_table

_DECIMALS = 6


class AgreementTally:
    """Gathers what agreement needs: a few numbers a rating, the ids of pairs, and no texts."""

    def __init__(self, settings: ProjectSettings) -> None:
        self._settings = settings
        self._pairs, self._raters = array("q"), array("q")
        self._values, self._types, self._kept = array("d"), array("q"), array("b")
        self._type_numbers: dict[str, int] = {}
        self._rater_numbers: dict[str, int] = {}
        self._ids: list[tuple[str, str]] = []

    def add(self, pair: RatedPair) -> None:
        grades = [grade for _, grade in pair.ratings]
        is_kept = pair.adjudicated is None and not is_flagged(grades, self._settings.threshold)
        type = self._type_numbers.setdefault(pair.type, len(self._type_numbers))
        for rater, grade in pair.ratings:
            self._pairs.append(len(self._ids))
            self._raters.append(self._rater_numbers.setdefault(rater, len(self._rater_numbers)))
            self._values.append(float(grade))
            self._types.append(type)
            self._kept.append(is_kept)
        self._ids.append((pair.external_id, pair.type))

    def as_json(self) -> dict[str, Any]:
        """α on all ratings and on unadjudicated pairs, overall and by type, and the upper bound by type."""
        by_id = np.empty(len(self._ids), np.int64)
        by_id[sorted(range(len(self._ids)), key=self._ids.__getitem__)] = np.arange(len(self._ids))
        grades = Grades(
            by_id[_integers(self._pairs)], _integers(self._raters), np.asarray(self._values, np.float64)
        )
        kept, types = np.asarray(self._kept, np.bool_), _integers(self._types)

        def alphas(chosen: Any) -> dict[str, Any]:
            whole = measure(grades.only(chosen))
            among = UNADJUDICATED if whole.pairs else ALL
            return {
                "all": _rounded_alpha(whole),
                "unadjudicated": _rounded_alpha(measure(grades.only(chosen & kept), among=among)),
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
            both = {
                "pearson": _rounded_estimate(bound.pearson),
                "spearman": _rounded_estimate(bound.spearman),
            }
            yield type, {**both, "pairs": bound.pairs, "raters": bound.counted}


def _rounded_alpha(alpha: Alpha) -> dict[str, Any]:
    return {**_rounded_estimate(alpha), "pairs": alpha.pairs, "ratings": alpha.ratings}


def _rounded_estimate(found: Alpha | Estimate) -> dict[str, Any]:
    figures = {"value": found.value, "low": found.low, "high": found.high}
    described: dict[str, Any] = {
        name: None if figure is None else round(figure, _DECIMALS) for name, figure in figures.items()
    }
    reason = found.reason or found.interval_reason
    return {**described, "reason": reason} if reason else described


WIDEST_PAIRS = 20
SHOWN_CHARACTERS = 160
"""Of the texts of the widest pairs; one more is kept, which tells that there is more."""
NO_GENRE = ""
"""Stands in the place of the genre of pairs that have none."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectGrades:
    """The ratings of a project and what is known of its pairs, which are numbered from 0."""

    types: tuple[str, ...]
    genres: tuple[str, ...]
    type_of_pair: Integers
    genre_of_pair: Integers
    decided: Mask
    """The pairs with an adjudication."""
    changed: Mask
    """Those of them with a newer rating; if flagged, they are open again."""
    grades: Grades
    seconds: Floats
    """Of each rating; nan where unknown."""
    moments: Floats
    """When each rating was given, in seconds since 1970; nan where unknown."""
    decisions: Floats
    """The adjudicated grade of each pair; nan where there is none."""
    raters: int
    threshold: float | None
    """Grades so far apart flag a pair; None where none ever does."""
    raters_per_pair: int
    scale: Scale = CLSS


@dataclass(frozen=True, slots=True)
class Part:
    """The pairs of one comparison type or genre, or all of them."""

    name: str
    pairs: int
    ratings: int
    finished: int
    """Pairs with all their ratings, or a decision."""
    flagged: int
    """Pairs whose ratings differ by the threshold or more."""
    to_adjudicate: int
    """Flagged pairs without a decision, or with a grade that came after it."""
    decided: int
    """All other pairs with a decision, flagged or no longer."""
    decided_unflagged: int
    """Those of them that are no longer flagged: the threshold was raised, or raters changed their grades."""
    reopened: int
    """Pairs to adjudicate that were graded after their decision."""
    all: Alpha
    unadjudicated: Alpha
    """On the pairs that are neither flagged nor decided."""
    buckets: tuple[int, ...]
    """How many grades are in each bucket of `AgreementReport.bucket_names`."""

    @property
    def decisions_text(self) -> str:
        """How far adjudication is, such as "17 decided (2 no longer flagged), 3 to adjudicate"; nothing
        where there is and was nothing to decide."""
        if not self.flagged and not self.decided:
            return ""
        decided, waiting = f"{self.decided:,}", f"{self.to_adjudicate:,}"
        if not self.decided_unflagged:
            return _("{decided} decided, {waiting} to adjudicate", decided=decided, waiting=waiting)
        return _(
            "{decided} decided ({calm} no longer flagged), {waiting} to adjudicate",
            decided=decided,
            calm=f"{self.decided_unflagged:,}",
            waiting=waiting,
        )

    def size(self, name: str) -> PartSize:
        """The pairs behind its intervals, for the warning that they are too few."""
        return PartSize(name, self.all.interval_pairs, self.unadjudicated.interval_pairs)


@dataclass(frozen=True, slots=True)
class WidePair:
    """A pair whose raters differ."""

    id: int
    external_id: str
    type: str
    genre: str | None
    left: str
    """The beginning of the text."""
    right: str
    low: float = 0.0
    high: float = 0.0
    ratings: int = 0
    decided: bool = False

    @property
    def spread(self) -> float:
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class AgreementReport:
    project: str
    whole: Part
    by_type: tuple[Part, ...]
    by_genre: tuple[Part, ...]
    """Empty in a project without genres."""
    rater_names: tuple[str, ...]
    """What the numbers of raters stand for."""
    raters: tuple[RaterFigures, ...]
    drifts: tuple[Drift, ...]
    rater_pairs: tuple[TwoRaters, ...]
    left_out: tuple[LeftOut, ...]
    upper_bounds: tuple[UpperBound, ...]
    """What raters reach as systems are measured, on the pairs of each type."""
    widest: tuple[WidePair, ...]
    plan: Plan
    threshold: float | None
    raters_per_pair: int
    resamples: int
    seed: int
    withdrawn: int = 0
    """Pairs of the project that count nowhere."""
    bucket_names: tuple[str, ...] = bucket_names()
    """Of the parts of the scale in which grades are counted."""
    set_aside: tuple[ExcludedGrades, ...] = ()
    """Grades of raters that count nowhere."""
    unnumbered: int = 0
    """Raters who stand for a moment without the number that their name is replaced by."""
    twice: SelfAgreement | None = None
    """How well raters agree with themselves, all together; None where that was not asked."""
    twice_by_rater: tuple[SelfAgreement, ...] = ()
    """Each rater who graded pairs twice."""
    far: float = far_points()
    """Points above or below the others by which a rater stands out."""
    held_back: int = 0
    """Pairs that are not among the widest because the viewer may still be given them to grade."""

    def flags(self, pair: WidePair) -> bool:
        return self.threshold is not None and pair.spread >= self.threshold

    @property
    def conspicuous(self) -> list[tuple[int, str]]:
        """Raters to look at first, and why."""
        return conspicuous_raters(self.raters, self.rater_names, self.far)

    @property
    def named_parts(self) -> list[tuple[str, Part]]:
        """All pairs, the types that have any, and the genres, each with what a sentence calls it."""
        types = [(part.name, part) for part in self.by_type if part.pairs]
        genres = [(f"genre {part.name or '(none)'}", part) for part in self.by_genre]
        return [("all pairs", self.whole), *types, *genres]

    @property
    def notes(self) -> list[str]:
        """Caveats, a sentence each: where pairs are too few for their intervals."""
        whole, *parts = (part.size(name) for name, part in self.named_parts)
        return list(filter(None, [few_pairs_text(whole, parts)]))


def build_report(data: ProjectGrades, *, resamples: int, seed: int) -> AgreementReport:
    """The figures of a project; names of raters and texts of pairs are for the caller to fill in."""
    split = _Split(data, resamples, seed)
    whole = split.part("", np.ones(len(data.decided), dtype=np.bool_))
    grades = data.grades
    return AgreementReport(
        project="",
        whole=whole,
        by_type=tuple(
            split.part(name, data.type_of_pair == number) for number, name in enumerate(data.types)
        ),
        by_genre=tuple(
            split.part(name, data.genre_of_pair == number) for number, name in enumerate(data.genres)
        )
        if any(genre != NO_GENRE for genre in data.genres)
        else (),
        rater_names=tuple(f"Rater {number + 1}" for number in range(data.raters)),
        raters=tuple(rater_figures(grades, data.seconds, data.raters)),
        drifts=tuple(drifts(grades, data.moments, data.decisions, data.raters, float(data.scale.step))),
        rater_pairs=tuple(alphas_of_rater_pairs(grades, resamples=resamples, seed=seed)),
        left_out=tuple(alphas_without_each(grades, data.raters, resamples=resamples, seed=seed)),
        upper_bounds=tuple(
            upper_bound(
                name,
                grades.only(data.type_of_pair[grades.pairs] == number),
                resamples=resamples,
                seed=seed,
            )
            for number, name in enumerate(data.types)
        ),
        widest=(),
        plan=plan_pairs(grades, resamples=resamples, seed=seed),
        threshold=data.threshold,
        raters_per_pair=data.raters_per_pair,
        bucket_names=bucket_names(data.scale),
        far=far_points(data.scale),
        resamples=resamples,
        seed=seed,
    )


class _Split:
    """Counts of each pair, made once, and the figures of any subset of the pairs."""

    def __init__(self, data: ProjectGrades, resamples: int, seed: int) -> None:
        pairs = len(data.decided)
        self._data = data
        self._resamples = resamples
        self._seed = seed
        lows, highs = extremes(data.grades, pairs)
        self._flagged = highs - lows >= (
            inf if data.threshold is None else data.threshold
        )  # nan: nobody rated
        self._counts = np.bincount(data.grades.pairs, minlength=pairs)

    def part(self, name: str, chosen: Mask) -> Part:
        data = self._data
        grades = data.grades.only(chosen[data.grades.pairs])
        settled = ~self._flagged & ~data.decided
        flagged = chosen & self._flagged
        reopened = flagged & data.changed
        decided = chosen & data.decided & ~reopened
        whole = self._measure(grades)
        # Where nothing can be compared at all, that is the reason for the part of it, too.
        among = UNADJUDICATED if whole.pairs else ALL
        return Part(
            name,
            pairs=int(chosen.sum()),
            ratings=len(grades),
            finished=int((chosen & (data.decided | (self._counts >= data.raters_per_pair))).sum()),
            flagged=int(flagged.sum()),
            to_adjudicate=int((flagged & ~decided).sum()),
            decided=int(decided.sum()),
            decided_unflagged=int((decided & ~flagged).sum()),
            reopened=int(reopened.sum()),
            all=whole,
            unadjudicated=self._measure(grades.only(settled[grades.pairs]), among),
            buckets=bucket_counts(grades.values, data.scale),
        )

    def _measure(self, grades: Grades, among: Among = ALL) -> Alpha:
        return measure(grades, resamples=self._resamples, seed=self._seed, categories=True, among=among)


def extremes(grades: Grades, pairs: int) -> tuple[Floats, Floats]:
    """The lowest and the highest grade of pairs 0 to `pairs` - 1; nan where nobody rated."""
    lows, highs = np.full(pairs, np.nan), np.full(pairs, np.nan)
    if len(grades):
        order = np.argsort(grades.pairs, kind="stable")
        rated, starts = np.unique(grades.pairs[order], return_index=True)
        lows[rated] = np.minimum.reduceat(grades.values[order], starts)
        highs[rated] = np.maximum.reduceat(grades.values[order], starts)
    return lows, highs


def shares(buckets: Sequence[int]) -> list[float] | None:
    """The share of the grades in each bucket; None without grades."""
    total = sum(buckets)
    return [count / total for count in buckets] if total else None


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
        "self_agreement": None
        if report.twice is None
        else {
            **self_agreement_json(report.twice),
            "raters": [
                {"rater": names[each.rater or 0], **self_agreement_json(each)}
                for each in report.twice_by_rater
            ],
        },
        "histogram": {
            "buckets": list(report.bucket_names),
            "counts": list(report.whole.buckets),
            "by_type": {part.name: list(part.buckets) for part in report.by_type},
        },
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


_HEADS = ("Pairs", "α", "95 %")


def agreement_to_latex(report: AgreementReport, *, made_by: str) -> str:
    """α with its interval, on all pairs with two grades and on the unadjudicated ones, by type and of all.

    `made_by` names what made it, the command or the page, in the comments.
    """
    rows = [*((part.name, part) for part in report.by_type if part.pairs), ("All", report.whole)]
    return latex_table(
        ("", "Type"),
        [("All pairs", _HEADS), ("Unadjudicated", _HEADS)],
        [(name, [*_cells(part.all), *_cells(part.unadjudicated)]) for name, part in rows],
        comments=[
            f"{made_by}, version {__version__}, project {report.project}.",
            *_comments(report, rows),
        ],
    )


def _cells(alpha: Alpha) -> Sequence[Cell]:
    interval = None if alpha.low is None or alpha.high is None else (alpha.low, alpha.high)
    return alpha.pairs, alpha.value, interval


def _comments(report: AgreementReport, rows: Sequence[tuple[str, Part]]) -> Iterator[str]:
    yield (
        "Krippendorff's α, interval level; 95 % by the percentile bootstrap over pairs, "
        f"{report.resamples:,} resamples, seed {report.seed}."
    )
    yield (
        "Pairs: with two grades or more. Unadjudicated: neither flagged "
        f"({rule_text(report.threshold)}) nor decided."
    )
    *parts, whole = (part.size(name) for name, part in rows)
    if said := few_pairs_text(whole, parts):
        yield said
    for name, part in rows:
        for among, alpha in (("all pairs", part.all), ("unadjudicated", part.unadjudicated)):
            if said := alpha.reason or alpha.remark:
                yield f"{'--: ' if alpha.low is None else ''}{name}, {among}: {said}"
