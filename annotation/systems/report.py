"""What systems are worth: correlations by type and genre, ranks, and whether two systems differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from annotation.agreement import Floats
from annotation.comparison import types_in_order
from annotation.files.gold_pairs import GoldPair
from annotation.reliability.bootstrap import DEFAULT_RESAMPLES, DEFAULT_SEED
from annotation.scoring import (
    Estimate,
    Resampled,
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

NOT_SCORED = "The system does not score these pairs."


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
    whole: Resampled
    """Of all pairs, each once (S, 1)."""
    drawn: Resampled

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
        Resampled(pearsons[:, :1], spearmans[:, :1]),
        Resampled(pearsons[:, 1:], spearmans[:, 1:]),
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
        _sum([part.pearson for part in types.values()], [drawn.pearson[place] for drawn in defined]),
        _sum([part.spearman for part in types.values()], [drawn.spearman[place] for drawn in defined]),
        system.remark,
    )


def _sum(parts: Sequence[Estimate], drawn: Sequence[Floats]) -> Estimate:
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
