"""The values that travel between services, pages and the command line. No rows leave a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from annotation.comparison import COMPARISON_TYPES
from annotation.errors import ImportFileError
from annotation.scale import CLSS, Scale
from annotation.senses import PairSenses, undescribed_text
from annotation.translation import _, ngettext
from kpdemo.translation import ENGLISH

Clock = Callable[[], datetime]


def utcnow() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)


_MOST_NAMED = 5
"""In a sentence about an import."""


class Role(StrEnum):
    """What a user may do in a project; a user may have several."""

    ADMINISTRATOR = "administrator"
    ADJUDICATOR = "adjudicator"
    EDITOR = "editor"
    """Accepts, edits and sends back what writers wrote."""
    WRITER = "writer"
    """Writes the smaller items of pairs."""
    RATER = "rater"


class SkipReason(StrEnum):
    NOT_UNDERSTOOD = "not_understood"
    BROKEN_TEXT = "broken_text"
    NOT_MY_LANGUAGE = "not_my_language"
    OTHER = "other"


class Cause(StrEnum):
    """Why raters differed."""

    OVERLOOKED_TEXT = "overlooked_text"
    MISUNDERSTOOD = "misunderstood"
    SCALE = "scale"
    GUIDELINE = "guideline"
    TRUE_AMBIGUITY = "true_ambiguity"


class Average(StrEnum):
    """What stands for the ratings of a pair without a decision."""

    MEAN = "mean"
    MEDIAN = "median"


@dataclass(frozen=True, slots=True)
class User:
    id: int
    name: str
    is_administrator: bool = False
    """Of the whole server: may do everything in every project."""
    is_disabled: bool = False
    has_password: bool = False
    created_at: datetime | None = None
    """With the id it is the same person also in another database, whatever the name is by now."""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """What is chosen when a project is made. Grades are Decimals on its scale."""

    name: str
    types: tuple[str, ...] = tuple(COMPARISON_TYPES)
    guidelines: str = ""
    raters_per_pair: int = 2
    threshold: Decimal | None = Decimal(1)
    """A pair is flagged when two of its ratings differ by so much or more; None for no adjudication."""
    average: Average = Average.MEAN
    """The gold grade of a pair without a decision is this of its ratings."""
    step: Decimal = Decimal("0.25")
    is_random: bool = True
    seed: int = 20140301
    may_revise: bool = True
    lease_minutes: int = 30
    most_per_rater: int | None = None
    """The most pairs that one rater is given; None for any number."""
    consent: str = ""
    """Markdown that raters and writers agree to before they work; empty for none."""
    scale_words: str = ""
    """Own words for the points of the scale, the question and the items, as `scale.py` reads them; empty for
    the usual ones."""
    repeat_percent: int = 0
    """So many percent of a rater's pairs come back to them, 0 to 50."""
    scale: Scale = CLSS
    """The grades that there are; it never changes. `step` says which of them raters can give."""
    language: str = ENGLISH
    """In which raters meet the project's pages, unless they choose another one: a code of `LANGUAGES`."""

    @property
    def only_type(self) -> str | None:
        """That of pairs that name none; None where there are several."""
        return self.types[0] if len(self.types) == 1 else None


@dataclass(frozen=True, slots=True)
class Project:
    id: int
    settings: ProjectSettings
    created_at: datetime

    @property
    def name(self) -> str:
        return self.settings.name


@dataclass(frozen=True, slots=True)
class NewPair:
    """A pair as it is imported, with the ratings that come with it."""

    id: str
    type: str
    left: str
    right: str
    genre: str | None = None
    intended: Decimal | None = None
    source: str | None = None
    ratings: tuple[tuple[str, Decimal], ...] = ()
    """Rater and grade; a rater named by a number is one of the project's own."""
    senses: PairSenses | None = None
    """Of a word and a sense: what the file says of them, or WordNet."""
    place: str = field(default="", compare=False)
    """Where it was read, such as "pairs.tsv, line 3", for messages."""

    @property
    def where(self) -> str:
        """What messages about it begin with."""
        return self.place or f"Pair {self.id!r}"


@dataclass(frozen=True, slots=True)
class KnownPair:
    """A pair whose grade is known: for training, or as a hidden check."""

    pair: NewPair
    grade: Decimal
    explanation: str = ""
    """For the rater, why it is this grade."""


@dataclass(frozen=True, slots=True)
class NewRating:
    """A rating of a pair that is already in the project: the long form of import."""

    pair_id: str
    rater: str
    grade: Decimal
    type: str | None = None
    """Needed only where two types share the id."""
    place: str = field(default="", compare=False)

    @property
    def where(self) -> str:
        return self.place or f"Pair {self.pair_id!r}"


ItemInput = NewPair | NewRating | ImportFileError
"""A row of an import, or why it cannot be used."""
KnownPairInput = KnownPair | ImportFileError
"""The same of an import of training or check pairs."""


class EqualTexts(NamedTuple):
    """Two ids with the same type and texts."""

    id: str
    other: str
    """That of the earlier pair."""


@dataclass(frozen=True, slots=True)
class LeftOutRating:
    id: str
    """Of the pair as the file calls it."""
    rater: str
    grade: Decimal
    kept: Decimal
    """The grade that the rater had given before."""


@dataclass(frozen=True, slots=True)
class ImportSummary:
    pairs: int
    ratings: int
    duplicates: tuple[str, ...] = field(default=())
    """Ids of pairs that were already there, and of which the import had nothing new."""
    joined: tuple[str, ...] = field(default=())
    """Names of accounts that were there before and were no raters of the project."""
    new_accounts: tuple[str, ...] = field(default=())
    """Their names."""
    equal_texts: tuple[EqualTexts, ...] = field(default=())
    """New pairs whose texts stand under another id too."""
    merged: tuple[EqualTexts, ...] = field(default=())
    """Rows whose ratings went to the pair that has their texts."""
    left_out: tuple[LeftOutRating, ...] = field(default=())
    """Ratings of merged rows, by raters who have a grade of that pair."""
    undescribed: int = 0
    """New pairs of a word and a sense key without definitions, as there was no WordNet."""

    @property
    def notes(self) -> list[str]:
        """A sentence or two for each thing that an importer may not have expected."""
        return list(self._notes())

    def _notes(self) -> Iterator[str]:
        if self.undescribed:
            yield undescribed_text(self.undescribed)
        if count := len(self.equal_texts):
            yield ngettext(
                "{count} pair has the same texts as a pair with another id, and both are graded: {named}. "
                "They can be merged only while they are imported.",
                "{count} pairs have the same texts as a pair with another id, and both are graded: {named}. "
                "They can be merged only while they are imported.",
                count,
                count=f"{count:,}",
                named=_first([_("{pair} (as {other})", pair=p.id, other=p.other) for p in self.equal_texts]),
            )
        if count := len(self.merged):
            yield ngettext(
                "{count} pair was merged into the pair with the same texts: {named}.",
                "{count} pairs were merged into the pair with the same texts: {named}.",
                count,
                count=f"{count:,}",
                named=_first([_("{pair} (into {other})", pair=p.id, other=p.other) for p in self.merged]),
            )
        if count := len(self.left_out):
            different_first = sorted(self.left_out, key=lambda rating: rating.grade == rating.kept)
            named = _first(
                [
                    _(
                        "{rater} of {pair} ({grade}; kept: {kept})",
                        rater=each.rater,
                        pair=each.id,
                        grade=each.grade,
                        kept=each.kept,
                    )
                    for each in different_first
                ]
            )
            yield ngettext(
                "{count} rating was left out, because its rater had graded the pair with the same texts: "
                "{named}.",
                "{count} ratings were left out, because their raters had graded the pair with the same "
                "texts: {named}.",
                count,
                count=f"{count:,}",
                named=named,
            )
        if count := len(self.joined):
            yield ngettext(
                "{count} existing account became a rater of the project: {named}. Take the role away if that "
                "was not intended.",
                "{count} existing accounts became raters of the project: {named}. Take the role away if that "
                "was not intended.",
                count,
                count=f"{count:,}",
                named=_first(self.joined),
            )


def _first(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    first = ", ".join(names[:_MOST_NAMED])
    return _("{first} and {more} more", first=first, more=f"{more:,}") if more > 0 else first


@dataclass(frozen=True, slots=True)
class RaterComment:
    """What a rater wrote beside their grade; a flag may stand without words."""

    rater: str | None
    """None where they are not to be told, or have a comment and no grade, not even one set aside."""
    text: str
    is_flagged: bool


@dataclass(frozen=True, slots=True)
class RatedPair:
    """A pair with everything that was said of it; raters are numbered or named by whoever asks."""

    id: int
    external_id: str
    type: str
    left: str
    right: str
    genre: str | None
    intended: Decimal | None
    source: str | None
    ratings: tuple[tuple[str, Decimal], ...]
    adjudicated: Decimal | None = None
    cause: Cause | None = None
    comments: tuple[RaterComment, ...] = ()
    senses: PairSenses | None = None


def import_json(project: Project, summary: ImportSummary, made_ids: int) -> dict[str, Any]:
    """What an import did, as commands and programs are told it."""
    return {
        "project": project.name,
        "pairs": summary.pairs,
        "ratings": summary.ratings,
        "duplicates": list(summary.duplicates),
        "made_ids": made_ids,
        "joined": list(summary.joined),
        "without_definitions": summary.undescribed,
        "equal_texts": [{"id": id, "as": other} for id, other in summary.equal_texts],
        "merged": [{"id": id, "into": other} for id, other in summary.merged],
        "ratings_left_out": [
            {"id": each.id, "rater": each.rater, "grade": float(each.grade), "kept": float(each.kept)}
            for each in summary.left_out
        ],
    }
