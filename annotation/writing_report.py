"""How well pairs were written to order: requested and obtained grades, balance, and each writer's figures.

The obtained grade of a pair is the one that a gold set has for it (annotation.gold). Drift is the mean of
obtained less requested: above 0, raters found pairs more similar than was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from annotation.authoring import GroupBalance

POINTS = 5
BINS = tuple(Decimal(number) / 2 for number in range(9))
"""The middles of the bins of the distribution: 0, 0.5 … 4."""


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair with what was requested and what came out of it."""

    type: str
    requested: Decimal | None
    """The intended grade, also of an imported pair; None where there is none."""
    obtained: Decimal | None
    """None until it has a gold grade."""
    writer: str | None = None


@dataclass(frozen=True, slots=True)
class WriterCounts:
    """What a writer did, as it is counted."""

    writer: str
    submitted: int
    """Waiting for an editor."""
    accepted: int
    sent_back: int
    """How many times."""
    blank: int
    handed_on: int
    seconds: float | None
    """Spent on an item, the median of those submitted or accepted; None without any."""


@dataclass(frozen=True, slots=True)
class GradeGap:
    pairs: int
    """With an obtained grade."""
    obtained: float | None
    """Their mean."""
    drift: float | None
    """The mean of obtained less requested."""
    distance: float | None
    """The mean of its absolute values."""


@dataclass(frozen=True, slots=True)
class WriterFigures:
    counts: WriterCounts
    drift: GradeGap


@dataclass(frozen=True, slots=True)
class WritingReport:
    project: str
    groups: tuple[GroupBalance, ...]
    matrix: tuple[tuple[int, ...], ...]
    """[5][5]: requested grade, obtained grade, each rounded to the nearest point."""
    whole: GradeGap
    by_grade: tuple[GradeGap, ...]
    """Of the requested grades 0 to 4."""
    by_type: tuple[tuple[str, GradeGap], ...]
    writers: tuple[WriterFigures, ...]
    distribution: tuple[tuple[str, tuple[int, ...]], ...]
    """By type, pairs in each of BINS: Figure 1 of Jurgens et al. (2014)."""
    reserved: int
    """Items that wait for a pair of grade 0."""
    waiting: int
    """Texts awaiting review for an editor."""
    not_understood: int
    """Items without a text that somebody left blank."""


def writing_report(
    project: str,
    types: Sequence[str],
    pairs: Iterable[JudgedPair],
    groups: Sequence[GroupBalance],
    writers: Sequence[WriterCounts],
    *,
    reserved: int,
    waiting: int,
    not_understood: int,
) -> WritingReport:
    """The whole report.

    Args:
        types: of the project, in its order.
        pairs: all of the project; those without a requested grade count in the distribution only.
    """
    judged = [pair for pair in pairs if pair.obtained is not None]
    ordered = [pair for pair in judged if pair.requested is not None]
    cells = Counter((_point(pair.requested), _point(pair.obtained)) for pair in ordered)
    places = Counter((pair.type, _bin(pair.obtained)) for pair in judged)
    with_pairs = [type for type in types if any(pair.type == type for pair in judged)]
    return WritingReport(
        project=project,
        groups=tuple(groups),
        matrix=tuple(tuple(cells[row, column] for column in range(POINTS)) for row in range(POINTS)),
        whole=drift_of(ordered),
        by_grade=tuple(
            drift_of([pair for pair in ordered if _point(pair.requested) == grade]) for grade in range(POINTS)
        ),
        by_type=tuple(
            (type, drift_of(those))
            for type in types
            if (those := [pair for pair in ordered if pair.type == type])
        ),
        writers=tuple(
            WriterFigures(counts, drift_of([pair for pair in ordered if pair.writer == counts.writer]))
            for counts in writers
        ),
        distribution=tuple(
            (type, tuple(places[type, number] for number in range(len(BINS)))) for type in with_pairs
        ),
        reserved=reserved,
        waiting=waiting,
        not_understood=not_understood,
    )


def drift_of(pairs: Sequence[JudgedPair]) -> GradeGap:
    """Of pairs that have both grades."""
    found = [(each.requested, each.obtained) for each in pairs]
    both = [(asked, got) for asked, got in found if asked is not None and got is not None]
    count = len(both)
    if not count:
        return GradeGap(0, None, None, None)
    return GradeGap(
        count,
        float(sum((got for _, got in both), Decimal(0)) / count),
        float(sum((got - asked for asked, got in both), Decimal(0)) / count),
        float(sum((abs(got - asked) for asked, got in both), Decimal(0)) / count),
    )


def cumulative(counts: Sequence[int]) -> list[float]:
    """The shares of all up to and with each bin; zeros of none."""
    total, running, shares = sum(counts), 0, []
    for number in counts:
        running += number
        shares.append(running / total if total else 0.0)
    return shares


def report_json(report: WritingReport) -> dict[str, Any]:
    """The report as it is printed for programs."""
    return {
        "project": report.project,
        "balance": [
            {
                "type": group.type,
                "genre": group.genre,
                "requested": {str(grade): count for grade, count in enumerate(group.counts)},
                "unwritten": group.unwritten,
            }
            for group in report.groups
        ],
        "matrix": [list(row) for row in report.matrix],
        "drift": {
            "all": asdict(report.whole),
            "by_grade": {str(grade): asdict(each) for grade, each in enumerate(report.by_grade)},
            "by_type": {type: asdict(each) for type, each in report.by_type},
        },
        "writers": [{**asdict(each.counts), **asdict(each.drift)} for each in report.writers],
        "distribution": {
            "bins": [float(middle) for middle in BINS],
            "types": {
                type: {"pairs": list(counts), "cumulative": cumulative(counts)}
                for type, counts in report.distribution
            },
        },
        "reserved": report.reserved,
        "waiting": report.waiting,
        "not_understood": report.not_understood,
    }


def _point(grade: Decimal | None) -> int:
    """The nearest of the five points, the higher one of two."""
    assert grade is not None
    return int(grade.quantize(Decimal(1), ROUND_HALF_UP))


def _bin(grade: Decimal | None) -> int:
    assert grade is not None
    return _point(grade * 2)
