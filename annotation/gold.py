"""The gold set: the grade that stands for each pair, and the rows of its files.

Gold is the adjudicated grade while there is one, else the mean or, where the project says so, the median of
the ratings, rounded half to even to four decimals (2.6667): what no rounding touches is exact, because grades
are quarters.

A row has, in this order: id, type, genre, left, right, gold, gold_source (adjudicated, mean or median), mean,
spread, rating_count, cause, intended, source, and the ratings. `source` is the text that came with the pair,
so that a gold set can be imported again; `ratings` are absent, or of "rater 1" and so on, or of names. With
`comments` there is a list of what raters wrote of the pair.
Where a word and a sense have definitions the fields of `annotation.sense_pairs` stand after `source`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal
from enum import StrEnum
from hashlib import blake2b
from statistics import median
from typing import Any

from annotation.adjudication import spread
from annotation.senses import PairSenses
from annotation.types import Average, Cause, ProjectSettings, RatedPair, RaterComment

GOLD_DECIMALS = Decimal("0.0001")


class Format(StrEnum):
    SEMEVAL = "semeval"
    JSONL = "jsonl"
    CSV = "csv"
    """As programs read it: texts are unchanged."""
    SPREADSHEET = "spreadsheet"
    """CSV for spreadsheet programs: no text runs as a formula."""
    PARQUET = "parquet"

    @property
    def ending(self) -> str:
        """Of the file of gold grades, or of the unfinished pairs; those of the task's layout end in tsv."""
        return {Format.SPREADSHEET: "csv", Format.SEMEVAL: "tsv"}.get(self, self.value)


class Unfinished(StrEnum):
    """What becomes of pairs without a gold grade."""

    REFUSE = "refuse"
    LEAVE_OUT = "leave-out"
    LIST = "list"
    """Write them to a file of their own."""


class RaterColumns(StrEnum):
    """How single ratings are written."""

    NONE = "none"
    ANONYMOUS = "anonymous"
    NAMED = "named"


class GoldSource(StrEnum):
    ADJUDICATED = "adjudicated"
    MEAN = "mean"
    MEDIAN = "median"


class Reason(StrEnum):
    """Why a pair is unfinished."""

    TOO_FEW_RATINGS = "too_few_ratings"
    NOT_ADJUDICATED = "not_adjudicated"


@dataclass(frozen=True, slots=True)
class ExportOptions:
    format: Format = Format.JSONL
    unfinished: Unfinished = Unfinished.REFUSE
    raters: RaterColumns = RaterColumns.ANONYMOUS
    comments: bool = False
    """Whether the raters' comments are written too, where the format has a place for them."""

    @property
    def written(self) -> ExportOptions:
        """What the files follow: the layout of SemEval has no place for single ratings and comments."""
        if self.format is not Format.SEMEVAL:
            return self
        return replace(self, raters=RaterColumns.NONE, comments=False)


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A line of the gold set, or, with a reason and without a grade, of the list of unfinished pairs."""

    id: str
    type: str
    genre: str | None
    left: str
    right: str
    gold: Decimal | None
    gold_source: GoldSource | None
    mean: Decimal | None
    spread: Decimal
    rating_count: int
    ratings: tuple[tuple[str, Decimal], ...]
    """Label of the rater, and grade, in the order of the labels."""
    comments: tuple[RaterComment, ...] = field(kw_only=True, default=())
    """With labels in place of names."""
    cause: Cause | None
    intended: Decimal | None
    source: str | None
    reason: Reason | None = None
    senses: PairSenses | None = None


@dataclass(frozen=True, slots=True)
class GoldStanding:
    """All that the gold grade of a pair depends on; a decision stands however many ratings there are."""

    decided: Decimal | None
    """The adjudicated grade."""
    grades: tuple[Decimal, ...]
    """The ratings."""

    @property
    def ratings(self) -> int:
        """How many."""
        return len(self.grades)

    @property
    def spread(self) -> Decimal:
        """Between the highest and the lowest rating; 0 with fewer than two."""
        return spread(self.grades)

    @property
    def mean(self) -> Decimal | None:
        """Rounded half to even to four decimals; None without ratings."""
        if not self.grades:
            return None
        return (sum(self.grades, Decimal(0)) / self.ratings).quantize(GOLD_DECIMALS, ROUND_HALF_EVEN)

    def average(self, average: Average) -> Decimal | None:
        """The mean or the median; None without ratings."""
        return median(self.grades) if average is Average.MEDIAN and self.grades else self.mean

    def reason(self, settings: ProjectSettings) -> Reason | None:
        """Why there is no gold grade yet; annotation.services.gold asks a database for it."""
        if self.decided is not None:
            return None
        if self.ratings < settings.raters_per_pair:
            return Reason.TOO_FEW_RATINGS
        is_flagged = settings.threshold is not None and self.spread >= settings.threshold
        return Reason.NOT_ADJUDICATED if is_flagged else None

    def gold(self, settings: ProjectSettings) -> Decimal | None:
        """The decision, else the project's average of enough ratings that do not differ too much."""
        if self.reason(settings):
            return None
        return self.average(settings.average) if self.decided is None else self.decided


def standing_of(grades: Sequence[Decimal], decided: Decimal | None = None) -> GoldStanding:
    """Of single ratings."""
    return GoldStanding(decided, tuple(grades))


def gold_row(pair: RatedPair, settings: ProjectSettings, labels: Mapping[str, str] | None) -> GoldRow:
    """The row of a pair.

    Args:
        pair: its raters are named by any key.
        settings: the project's.
        labels: what stands for each key in the file; None leaves single ratings out.
    """
    standing = standing_of([grade for _, grade in pair.ratings], pair.adjudicated)
    reason = standing.reason(settings)
    source = GoldSource(settings.average) if pair.adjudicated is None else GoldSource.ADJUDICATED
    ratings = [] if labels is None else [(labels[rater], grade) for rater, grade in pair.ratings]
    return GoldRow(
        id=pair.external_id,
        type=pair.type,
        genre=pair.genre,
        left=pair.left,
        right=pair.right,
        gold=standing.gold(settings),
        gold_source=None if reason else source,
        mean=standing.mean,
        spread=standing.spread,
        rating_count=standing.ratings,
        ratings=tuple(sorted(ratings, key=lambda rating: label_key(rating[0]))),
        cause=pair.cause,
        intended=pair.intended,
        source=pair.source,
        reason=reason,
        senses=pair.senses,
        comments=tuple(
            sorted(
                (replace(said, rater=(labels or {}).get(said.rater or "")) for said in pair.comments),
                key=lambda said: (label_key(said.rater or ""), said.text),
            )
        ),
    )


def rater_numbers(
    raters: Iterable[int], key: bytes, known: Mapping[int, int], used: Iterable[int] = ()
) -> dict[int, int]:
    """A number for each rater, 1 and up, that says nothing of name, account or order of arrival.

    Args:
        raters: ids of the accounts that rated in a project.
        key: a secret of the server's, another for each project: who has a gold set and knows the ids must
            not be able to count the numbers again. At most 64 bytes.
        known: the numbers of earlier exports, which stay.
        used: other numbers that nobody gets any more.
    """
    newcomers = sorted(
        set(raters) - set(known), key=lambda rater: blake2b(str(rater).encode(), key=key).digest()
    )
    first = max((*known.values(), *used), default=0) + 1
    return {**known, **{rater: number for number, rater in enumerate(newcomers, first)}}


def anonymous_label(number: int) -> str:
    return f"rater {number}"


def label_key(label: str) -> tuple[int, str]:
    """Sorts labels so that rater 10 comes after rater 9."""
    return (len(label), label) if label.removeprefix("rater ").isdecimal() else (0, label)


class Tally:
    """Counts of rows as they go by."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], Counter[str]] = {}

    def add(self, row: GoldRow) -> None:
        counts = self._counts.setdefault((row.type, row.genre or ""), Counter())
        counts["pairs"] += 1
        counts["ratings"] += row.rating_count
        counts[str(row.reason or row.gold_source)] += 1

    def as_json(self) -> dict[str, Any]:
        """Counts of all pairs, and per type and genre; unknown genres stand under an empty name."""
        types = sorted({type for type, _ in self._counts})
        return {
            **_sum_counts(self._counts.values()),
            "by_type": {type: self._of_type(type) for type in types},
        }

    def _of_type(self, type: str) -> dict[str, Any]:
        genres = {genre: counts for (of, genre), counts in sorted(self._counts.items()) if of == type}
        return {
            **_sum_counts(genres.values()),
            "by_genre": {genre: _sum_counts([counts]) for genre, counts in genres.items()},
        }


def _sum_counts(many: Iterable[Counter[str]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for counts in many:
        total.update(counts)
    finished = {  # that there is no median is said only where it could be
        source.value: total[source]
        for source in GoldSource
        if source is not GoldSource.MEDIAN or total[source]
    }
    open_pairs = {reason.value: total[reason] for reason in Reason}
    return {"pairs": total["pairs"], "ratings": total["ratings"], **finished, **open_pairs}
