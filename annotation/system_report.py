"""What systems are worth, beside people: correlations by type and genre, ranks, differences; JSON, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from annotation import __version__
from annotation.agreement import DEFAULT_RESAMPLES, DEFAULT_SEED, NO_RESAMPLES, Floats, Grades
from annotation.comparison import types_in_order
from annotation.files.scores import GoldPair
from annotation.gold import label_key
from annotation.reliability.upper_bound import UpperBound, upper_bound
from annotation.scoring import (
    Estimate,
    Resamples,
    Williams,
    bootstrap_p,
    correlations,
    correlations_between,
    estimate,
    ranking,
    resample,
    why_undefined,
    williams_test,
)
from annotation.translation import Sentence, _, mark, ngettext, tell
from kpdemo.io.latex import Cell, latex_table


@dataclass(frozen=True, slots=True)
class People:
    """What the raters of a gold set reach by type, each against the mean of the others."""

    bounds: tuple[UpperBound, ...]
    """Of the types that have a pair with two ratings or more."""
    raters: tuple[str, ...]
    """Their labels; the bounds have their places here as numbers."""
    undecided: int = 0
    """Flagged pairs without a decision, which the gold set lacks: people differ most on them."""


def people_of(gold: Sequence[GoldPair], undecided: int = 0, *, resamples: int, seed: int) -> People:
    """The upper bound of each type, from the single ratings of its pairs.

    Args:
        gold: in any order, which changes nothing.
        undecided: flagged pairs without a decision that `gold` lacks.
        resamples: how often the bootstrap draws.
        seed: what the draws start from.
    """
    raters = sorted({rater for pair in gold for rater, _ in pair.ratings}, key=label_key)
    number_of = {rater: number for number, rater in enumerate(raters)}
    bounds = []
    for type in types_in_order(pair.type for pair in gold):
        pairs = sorted((pair for pair in gold if pair.type == type), key=lambda pair: pair.key)
        rows = [
            (place, number_of[rater], float(grade))
            for place, pair in enumerate(pairs)
            for rater, grade in pair.ratings
        ]
        found = upper_bound(type, _grades(rows), resamples=resamples, seed=seed)
        bounds += [found] if found.raters else []
    return People(tuple(bounds), tuple(raters), undecided)


def _grades(rows: Sequence[tuple[int, int, float]]) -> Grades:
    """Of pair, rater and grade of each rating."""
    pairs, raters, values = zip(*rows, strict=True) if rows else ((), (), ())
    return Grades(
        np.array(pairs, dtype=np.int64), np.array(raters, dtype=np.int64), np.array(values, dtype=np.float64)
    )


NOT_SCORED = Sentence(mark("The system does not score these pairs."))


@dataclass(frozen=True, slots=True)
class System:
    """A system and its score of each gold pair, None for those of a type that it left out."""

    name: str
    scores: tuple[float | None, ...]
    remark: str = ""
    """What the user should know of these scores, a sentence."""
    left_out: int = 0
    """How many scores, those of training pairs too, were of pairs without a gold grade."""


@dataclass(frozen=True, slots=True)
class Correlations:
    """How a system does on some pairs."""

    pearson: Estimate
    spearman: Estimate
    pairs: int


@dataclass(frozen=True, slots=True)
class GenreCorrelations:
    """How a system does on a genre, all types together and each."""

    all: Correlations
    by_type: Mapping[str, Correlations]


@dataclass(frozen=True, slots=True)
class SystemReport:
    name: str
    types: Mapping[str, Correlations]
    genres: Mapping[str, GenreCorrelations]
    sum_pearson: Estimate
    """Over types; one without a value adds nothing. The task's official ranking is by it."""
    sum_spearman: Estimate
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Contrast:
    """The first system's Pearson less the second's on the same pairs."""

    difference: Estimate
    p: float | None
    """By the paired bootstrap, two-sided."""
    williams: Williams | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    first: str
    second: str
    types: Mapping[str, Contrast]
    sum_pearson: Contrast
    """Over the types that both have; none where only one of them has a type."""


@dataclass(frozen=True, slots=True)
class ScoreReport:
    pairs: int
    types: tuple[str, ...]
    systems: tuple[SystemReport, ...]
    differences: tuple[Difference, ...]
    """Of every two systems, in their order."""
    resamples: int
    seed: int

    def ranks(self) -> dict[str, list[int | None]]:
        """The rank of each system by "sum_pearson", "sum_spearman", and Pearson of each type."""
        return {
            "sum_pearson": ranking([system.sum_pearson.value for system in self.systems]),
            "sum_spearman": ranking([system.sum_spearman.value for system in self.systems]),
            **{
                type: ranking([system.types[type].pearson.value for system in self.systems])
                for type in self.types
            },
        }

    def best_first(self, by: str = "sum_pearson") -> list[int]:
        """The places of the systems, the best of a rank first, those without one last."""
        ranks = self.ranks()[by]
        return sorted(range(len(ranks)), key=lambda place: ranks[place] or len(ranks) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Pairs that are measured together: scores (S, N) and how they correlate with the grades."""

    pairs: int
    scores: Floats
    reasons: tuple[str, ...]
    """Of each system why it has no correlation here; empty where it has one."""
    whole: Resamples
    """Of all pairs, each once (S, 1)."""
    drawn: Resamples

    def part(self, system: int) -> Correlations:
        if reason := self.reasons[system]:
            undefined = Estimate(None, reason=reason)
            return Correlations(undefined, undefined, self.pairs)
        return Correlations(
            estimate(float(self.whole.pearson[system, 0]), self.drawn.pearson[system]),
            estimate(float(self.whole.spearman[system, 0]), self.drawn.spearman[system]),
            self.pairs,
        )

    def between(self) -> Floats:
        """Pearson's correlation (S, S) of the systems' scores with each other."""
        return correlations_between(self.scores)

    def contrast(self, first: int, second: int, between: Floats) -> Contrast:
        if reason := self.reasons[first] or self.reasons[second]:
            return Contrast(Estimate(None, reason=reason), None)
        one, other = (float(self.whole.pearson[system, 0]) for system in (first, second))
        drawn = self.drawn.pearson[first] - self.drawn.pearson[second]
        return Contrast(
            estimate(one - other, drawn),
            bootstrap_p(drawn),
            williams_test(one, other, float(between[first, second]), self.pairs),
        )


def score_systems(
    gold: Sequence[GoldPair],
    systems: Sequence[System],
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> ScoreReport:
    """Measure all systems on the gold grades.

    Args:
        gold: one pair or more.
        systems: each with a score for each pair of the types that it takes part in.
        resamples: how often the bootstrap draws.
        seed: what the draws start from. The order of pairs changes nothing.
    """
    order = sorted(range(len(gold)), key=lambda place: gold[place].key)
    pairs = [gold[place] for place in order]
    grades = np.array([pair.gold for pair in pairs], dtype=np.float64)
    table = np.array([[system.scores[place] for place in order] for system in systems], dtype=np.float64)
    types = types_in_order(pair.type for pair in pairs)

    def group(*names: str, chosen: Sequence[bool]) -> _Group:
        columns = np.flatnonzero(chosen)
        return _group(grades[columns], table[:, columns], resamples, seed, names)

    by_type = {type: group(type, chosen=[pair.type == type for pair in pairs]) for type in types}
    by_genre: dict[str, tuple[_Group, dict[str, _Group]]] = {}
    for genre in sorted({pair.genre for pair in pairs if pair.genre is not None}):
        is_in = [pair.genre == genre for pair in pairs]
        of_types = types_in_order(pair.type for pair in pairs if pair.genre == genre)
        parts = {
            type: group(type, genre, chosen=[pair.type == type and pair.genre == genre for pair in pairs])
            for type in of_types
        }
        by_genre[genre] = (group("", genre, chosen=is_in), parts)
    return ScoreReport(
        len(pairs),
        tuple(types),
        tuple(_system_report(system, place, by_type, by_genre) for place, system in enumerate(systems)),
        tuple(_differences(systems, by_type)),
        resamples,
        seed,
    )


def _group(grades: Floats, scores: Floats, resamples: int, seed: int, names: Sequence[str]) -> _Group:
    reasons = tuple(NOT_SCORED if np.isnan(row).any() else why_undefined(grades, row) for row in scores)
    usable = [place for place, reason in enumerate(reasons) if not reason]
    pearsons, spearmans = np.full((2, len(scores), 1 + resamples), np.nan)
    if usable:
        whole = correlations(grades, scores[usable], np.ones((len(grades), 1)))
        drawn = resample(grades, scores[usable], resamples=resamples, seed=seed, group=names)
        pearsons[usable] = np.hstack([whole.pearson, drawn.pearson])
        spearmans[usable] = np.hstack([whole.spearman, drawn.spearman])
    return _Group(
        len(grades),
        scores,
        reasons,
        Resamples(pearsons[:, :1], spearmans[:, :1]),
        Resamples(pearsons[:, 1:], spearmans[:, 1:]),
    )


def _system_report(
    system: System,
    place: int,
    by_type: Mapping[str, _Group],
    by_genre: Mapping[str, tuple[_Group, Mapping[str, _Group]]],
) -> SystemReport:
    types = {type: group.part(place) for type, group in by_type.items()}
    defined = [group.drawn for type, group in by_type.items() if types[type].pearson.value is not None]
    return SystemReport(
        system.name,
        types,
        {
            genre: GenreCorrelations(
                whole.part(place), {type: part.part(place) for type, part in parts.items()}
            )
            for genre, (whole, parts) in by_genre.items()
        },
        _sum_types([part.pearson for part in types.values()], [drawn.pearson[place] for drawn in defined]),
        _sum_types([part.spearman for part in types.values()], [drawn.spearman[place] for drawn in defined]),
        system.remark,
    )


def _sum_types(parts: Sequence[Estimate], drawn: Sequence[Floats]) -> Estimate:
    values = [part.value for part in parts if part.value is not None]
    if not values:
        return Estimate(None, reason=next(part.reason for part in parts))
    return estimate(sum(values), np.sum(drawn, axis=0))


def _differences(systems: Sequence[System], by_type: Mapping[str, _Group]) -> Iterator[Difference]:
    between = {type: group.between() for type, group in by_type.items()}
    for first, second in combinations(range(len(systems)), 2):
        types = {type: group.contrast(first, second, between[type]) for type, group in by_type.items()}
        whole = _sum_of_contrasts(first, second, types, by_type)
        yield Difference(systems[first].name, systems[second].name, types, whole)


def _sum_of_contrasts(
    first: int, second: int, types: Mapping[str, Contrast], by_type: Mapping[str, _Group]
) -> Contrast:
    summed = [group for group in by_type.values() if not (group.reasons[first] and group.reasons[second])]
    reasons = [group.reasons[first] or group.reasons[second] for group in summed or by_type.values()]
    if reason := next(filter(None, reasons), ""):
        return Contrast(Estimate(None, reason=reason), None)
    drawn = np.sum([group.drawn.pearson[first] - group.drawn.pearson[second] for group in summed], axis=0)
    value = sum(part.difference.value or 0.0 for part in types.values())
    return Contrast(estimate(value, drawn), bootstrap_p(drawn))


WIDE = 1.0
"""Half of the range of a correlation, -1 to 1: a wider interval hardly tells systems apart."""


@dataclass(frozen=True, slots=True)
class WidePart:
    """A type on which a system's interval is wider than `WIDE`, or undefined."""

    type: str
    pairs: int
    system: str
    """The one with the widest."""
    width: float
    """Infinite where the resamples gave no interval."""
    reason: str
    """Why they gave none: few pairs, or many with scores or grades that hardly differ. Else empty."""


def wide_parts(report: ScoreReport) -> list[WidePart]:
    """The types that hardly tell systems apart, as the intervals of Pearson tell, each with the widest."""
    found = []
    for type in report.types:
        parts = [(system.name, system.types[type]) for system in report.systems]
        measured = [
            WidePart(type, part.pairs, name, _width(part.pearson), part.pearson.interval_reason)
            for name, part in parts
            if part.pearson.value is not None
        ]
        widest = max(measured, key=lambda part: part.width, default=None)
        if widest is not None and widest.width > WIDE:
            found.append(widest)
    return found


def wide_intervals_text(report: ScoreReport, called: Callable[[str], str] = str) -> str:
    """That ranks are uncertain, where an interval is undefined or wider than `WIDE`; else empty.

    Args:
        called: what the reader calls a comparison type.
    """
    wide = [_wide_text(part, called(part.type)) for part in wide_parts(report)]
    if not wide:
        return ""
    return _(
        "Uncertain ranks: {types}. A correlation lies between \N{MINUS SIGN}1 and 1, so that such figures "
        "hardly tell systems apart.",
        types="; ".join(wide),
    )


def _wide_text(part: WidePart, type: str) -> str:
    if part.reason:
        return ngettext(
            "{type} has {count} pair, and for “{system}” {reason}",
            "{type} has {count} pairs, and for “{system}” {reason}",
            part.pairs,
            count=f"{part.pairs:,}",
            type=type,
            system=part.system,
            reason=tell(part.reason).rstrip(".。"),
        )
    return ngettext(
        "{type} has {count} pair, and the interval of “{system}” is {width} wide",
        "{type} has {count} pairs, and the interval of “{system}” is {width} wide",
        part.pairs,
        count=f"{part.pairs:,}",
        type=type,
        system=part.system,
        width=f"{part.width:.2f}",
    )


def _width(found: Estimate) -> float:
    if found.low is not None and found.high is not None:
        return found.high - found.low
    return 0.0 if found.interval_reason == NO_RESAMPLES else math.inf


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


def scores_to_latex(report: ScoreReport, *, made_by: str, remarks: Iterable[str] = ()) -> str:
    """Pearson by type, its sum and rank, and the sum and rank of Spearman; the best system first.

    `made_by` names what made it, the command or the page, in the comments; `remarks` stand there too.
    """
    ranks = report.ranks()
    by_pearson, by_spearman = ranks["sum_pearson"], ranks["sum_spearman"]

    def cells(place: int) -> list[Cell]:
        system = report.systems[place]
        pearson = [*(system.types[type].pearson.value for type in report.types), system.sum_pearson.value]
        return [*pearson, by_pearson[place], system.sum_spearman.value, by_spearman[place]]

    return latex_table(
        ("", "System"),
        [("Pearson", (*report.types, "Sum", "Rank")), ("Spearman", ("Sum", "Rank"))],
        [(report.systems[place].name, cells(place)) for place in report.best_first()],
        comments=[f"{made_by}, version {__version__}.", *_comments(report), *remarks],
    )


def _comments(report: ScoreReport) -> Iterator[str]:
    yield "Correlations with the gold grades; systems rank by the sum over types, as in SemEval-2014 Task 3."
    first = report.systems[0]
    yield f"Pairs: {', '.join(f'{type} {first.types[type].pairs:,}' for type in report.types)}."
    yield from dict.fromkeys(system.remark for system in report.systems if system.remark)
    if uncertain := wide_intervals_text(report):
        yield uncertain
    undefined = [said for system in report.systems for said in _describe_undefined(system)]
    yield from undefined
    if undefined:
        yield "A type without a figure adds nothing to the sums."


def _describe_undefined(system: SystemReport) -> Iterator[str]:
    for type, part in system.types.items():
        if part.pearson.reason:
            yield f"--: {system.name}, {type}: {part.pearson.reason}"
