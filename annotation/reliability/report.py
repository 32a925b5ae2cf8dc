"""All that the agreement page shows and `python -m annotation agreement` prints, from arrays of grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from annotation.agreement import ALL, UNADJUDICATED, Among, Floats, Grades, Integers, Mask
from annotation.reliability.bootstrap import Alpha, measure
from annotation.reliability.conspicuous import conspicuous
from annotation.reliability.drift import Drift, drifts
from annotation.reliability.few_pairs import Compared, few_pairs_text
from annotation.reliability.planning import Plan, plan_pairs
from annotation.reliability.raters import (
    LeftOut,
    RaterFigures,
    TwoRaters,
    alphas_of_rater_pairs,
    alphas_without_each,
    bucket_counts,
    rater_figures,
)
from annotation.reliability.upper_bound import UpperBound, upper_bound
from annotation.set_aside import SetAsideGrades

WIDEST_PAIRS = 20
SHOWN_CHARACTERS = 160
"""Of the texts of the widest pairs; one more is kept, which tells that there is more."""
BUCKET_NAMES = ("0 to 0.75", "1 to 1.75", "2 to 2.75", "3 to 3.75", "4")
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


@dataclass(frozen=True, slots=True)
class Part:
    """The pairs of one comparison type or genre, or all of them."""

    name: str
    pairs: int
    ratings: int
    finished: int
    """Pairs with all their ratings."""
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
    """How many grades are in each bucket of `BUCKET_NAMES`."""

    @property
    def decisions_text(self) -> str:
        """How far adjudication is, such as "17 decided (2 no longer flagged), 3 to adjudicate"; nothing
        where there is and was nothing to decide."""
        if not self.flagged and not self.decided:
            return ""
        calm = f" ({self.decided_unflagged:,} no longer flagged)" if self.decided_unflagged else ""
        return f"{self.decided:,} decided{calm}, {self.to_adjudicate:,} to adjudicate"

    def compared(self, name: str) -> Compared:
        """The pairs behind its intervals, for the warning that they are too few."""
        return Compared(name, self.all.interval_pairs, self.unadjudicated.interval_pairs)


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
    set_aside: tuple[SetAsideGrades, ...] = ()
    """Grades of raters that count nowhere."""
    unnumbered: int = 0
    """Raters who stand for a moment without the number that their name is replaced by."""
    held_back: int = 0
    """Pairs that are not among the widest because the viewer may still be given them to grade."""

    def flags(self, pair: WidePair) -> bool:
        return self.threshold is not None and pair.spread >= self.threshold

    @property
    def conspicuous(self) -> list[tuple[int, str]]:
        """Raters to look at first, and why."""
        return conspicuous(self.raters, self.rater_names)

    @property
    def named_parts(self) -> list[tuple[str, Part]]:
        """All pairs, the types that have any, and the genres, each with what a sentence calls it."""
        types = [(part.name, part) for part in self.by_type if part.pairs]
        genres = [(f"genre {part.name or '(none)'}", part) for part in self.by_genre]
        return [("all pairs", self.whole), *types, *genres]

    @property
    def notes(self) -> list[str]:
        """Caveats, a sentence each: where pairs are too few for their intervals."""
        whole, *parts = (part.compared(name) for name, part in self.named_parts)
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
        drifts=tuple(drifts(grades, data.moments, data.decisions, data.raters)),
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
            finished=int((chosen & (self._counts >= data.raters_per_pair)).sum()),
            flagged=int(flagged.sum()),
            to_adjudicate=int((flagged & ~decided).sum()),
            decided=int(decided.sum()),
            decided_unflagged=int((decided & ~flagged).sum()),
            reopened=int(reopened.sum()),
            all=whole,
            unadjudicated=self._measure(grades.only(settled[grades.pairs]), among),
            buckets=bucket_counts(grades.values),
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
