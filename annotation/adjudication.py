"""Pairs whose raters disagree: what is flagged, in what order, and what an adjudicator sees of it.

Adjudicators never learn who gave which grade. What they are shown depends on the grades and comments alone:
grades stand in their own order, comments in the order of a hash of their words, so that neither a place
nor a number can be followed from pair to pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from typing import Any

from annotation.errors import AnnotationError, GradeError, ImportFileError
from annotation.scale import CLSS, Scale
from annotation.senses import PairSenses
from annotation.translation import _, mark
from annotation.types import Cause
from annotation.wording import beginning, normalise_note
from kpdemo.translation import current_language, write_decimal, write_number

NOTE_LENGTH = 4_000
NO_ADJUDICATION = mark(
    "The project does without adjudication: the average of a pair's grades is its gold grade."
)
_VERSION = re.compile(r"\d+-[0-9a-f]{16}", re.ASCII)

CAUSES: dict[Cause, tuple[str, str]] = {
    Cause.OVERLOOKED_TEXT: (mark("Overlooked text"), mark("Somebody missed a part of the pair.")),
    Cause.MISUNDERSTOOD: (
        mark("Misunderstood"),
        mark("A word or the whole text was taken in another sense."),
    ),
    Cause.SCALE: (mark("Scale"), mark("The same view of the pair, put in other points.")),
    Cause.GUIDELINE: (mark("Guideline"), mark("The guidelines do not say, or say it unclearly.")),
    Cause.TRUE_AMBIGUITY: (mark("True ambiguity"), mark("The pair can be read in more than one way.")),
}
"""The name of each cause of a disagreement, and what it means."""


def cause_within(cause: Cause) -> str:
    """The name of a cause as it stands within a sentence; in German it is a noun with a capital."""
    name = _(CAUSES[cause][0])
    return name if current_language() == "de" else name.lower()


class AdjudicationError(AnnotationError):
    """The decision cannot be taken as it is."""


class HeldBackError(AdjudicationError):
    """The adjudicator may still grade the pair."""


class ConflictError(AdjudicationError):
    """Somebody decided, or rated, while the adjudicator was looking at the pair."""


class Which(StrEnum):
    """A part of the queue."""

    OPEN = "open"
    """Flagged, and without a decision or with ratings that changed after it."""
    DECIDED = "decided"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A pair in the queue."""

    pair_id: int
    external_id: str
    type: str
    left: str
    """Its first words, as those of `right`."""
    right: str
    spread: Decimal
    ratings: int
    is_flagged: bool
    is_open: bool
    decided: Decimal | None
    is_changed: bool
    """A rating is younger than the decision."""
    senses: PairSenses | None = None
    """Of a word and a sense."""


@dataclass(frozen=True, slots=True)
class QueuePage:
    entries: tuple[QueueEntry, ...]
    counts: dict[Which, int]
    """Of the comparison type that was asked for."""
    types: tuple[str, ...]
    """Those that have pairs in the queue."""
    has_more: bool
    """Whether pairs follow the entries."""
    held_back: int = 0
    """Pairs, of all types, that are left out because the viewer may still be given them to grade."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A grade that stands in place of the mean, or, without one, that an earlier was withdrawn."""

    grade: Decimal | None
    cause: Cause | None
    note: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision as it is read from a table."""

    pair: str
    """Its id in files."""
    type: str | None
    """Needed only where two types share the id."""
    grade: Decimal
    cause: Cause
    note: str = ""
    version: str | None = None
    """Of the pair when the table was written; None where the table does not tell."""
    place: str = field(default="", compare=False)
    """Where it was read, such as "decisions.csv, line 3", for messages."""


DecisionInput = NewDecision | ImportFileError | None
"""A row of a table of decisions, or why it cannot be used; None of a pair on which nobody decided."""


@dataclass(frozen=True, slots=True, order=True)
class ItemComment:
    """What one rater said of a pair; the text may be empty where they marked it as a problem."""

    text: str
    is_problem: bool = False


@dataclass(frozen=True, slots=True)
class AdjudicationItem:
    """A pair with what its raters said, without who said it."""

    pair_id: int
    external_id: str
    type: str
    left: str
    right: str
    grades: tuple[Decimal, ...]
    """From the lowest to the highest."""
    comments: tuple[ItemComment, ...]
    spread: Decimal
    is_flagged: bool
    is_changed: bool
    decision: Decision | None
    history: tuple[Decision, ...]
    """Every decision and withdrawal, the last first."""
    senses: PairSenses | None
    """Of a word and a sense."""
    version: str
    """Stands for the ratings and decisions above; another one means that something changed."""
    is_withdrawn: bool = False
    """The pair counts nowhere: nothing is decided on it."""

    @property
    def is_open(self) -> bool:
        """Whether it waits for a decision."""
        return self.is_flagged and (self.decision is None or self.is_changed)

    @property
    def is_decidable(self) -> bool:
        return not self.is_withdrawn and (self.is_flagged or self.decision is not None)


def spread(grades: Sequence[Decimal]) -> Decimal:
    """The distance between the highest and the lowest grade; 0 with fewer than two."""
    return max(grades) - min(grades) if grades else Decimal(0)


def is_flagged(grades: Sequence[Decimal], threshold: Decimal | None) -> bool:
    """Whether any two grades differ by `threshold` or more; without one, never."""
    return threshold is not None and len(grades) > 1 and spread(grades) >= threshold


def rule_text(threshold: float | None) -> str:
    """Which pairs are flagged, to stand in brackets: "grades 1 or more apart"."""
    if threshold is None:
        return _("the project does without adjudication")
    return _("grades {threshold} or more apart", threshold=write_number(f"{threshold:g}"))


def shuffle_comments(comments: Iterable[ItemComment], pair_id: int) -> tuple[ItemComment, ...]:
    """Comments in an order that depends on the pair and their words, not on who wrote them or when."""

    def place(comment: ItemComment) -> tuple[bytes, ItemComment]:
        return sha256(f"{pair_id}:{comment.text}".encode()).digest(), comment

    return tuple(sorted(comments, key=place))


def version_of(last_change: int | None, ratings: Iterable[tuple[int, int, datetime]]) -> str:
    """A stamp of the last decision and, after a dash, of the ratings (id, quarters, when)."""
    seen = ";".join(f"{id}:{quarters}:{at.isoformat()}" for id, quarters, at in sorted(ratings))
    return f"{last_change or 0}-{sha256(seen.encode()).hexdigest()[:16]}"


def is_version(text: str) -> bool:
    """Whether `version_of` may have written it."""
    return _VERSION.fullmatch(text) is not None


def with_decision_of(version: str, found: str) -> str:
    """`version` with the last decision that `found` stands for: another one only if ratings changed."""
    return f"{found.partition('-')[0]}-{version.partition('-')[2]}"


def decided_since(expected: str, found: str, last: Decision | None) -> Decision | None:
    """`last`, the last decision or withdrawal, if it came between two versions; None if only ratings did."""
    return last if with_decision_of(expected, found) != expected else None


def conflict_sentence(expected: str, found: str, last: Decision | None) -> str:
    """What to tell an adjudicator who saves after looking at the version `expected`, when another is there.

    Args:
        last: the last decision or withdrawal.
    """
    last = decided_since(expected, found, last)
    if last is None:
        return _("A rating of this pair has changed in the meantime: look at the grades again, then save.")
    decision = decision_text(last)
    if last.grade is None:
        return _("{decision} in the meantime: save again to decide all the same.", decision=decision)
    return _(
        "{decision} in the meantime, and yours was not saved: save again to replace it.", decision=decision
    )


def decision_text(decision: Decision) -> str:
    """Who decided what, or withdrew it: "Ana decided 2.75, scale, “both hold”"."""
    if decision.grade is None:
        return _("{name} withdrew the decision", name=decision.by)
    cause = f", {cause_within(decision.cause)}" if decision.cause else ""
    note = f", “{beginning(decision.note)}”" if decision.note else ""
    return _("{name} decided {grade}", name=decision.by, grade=write_decimal(decision.grade)) + cause + note


def grade_text(grade: Decimal) -> str:
    """A grade without noughts at its end: 2.75, 3."""
    return f"{grade.normalize():f}"


def check_decision(grade: Decimal, note: str, step: Decimal, scale: Scale = CLSS) -> str:
    """The note as it is kept.

    Args:
        grade: what was decided.
        note: why.
        step: in which the project grades.
        scale: the project's.

    Raises:
        GradeError: the grade is not on the project's scale.
        NoteError: the note is too long.
    """
    if not (of_raters := replace(scale, step=step)).allows(grade):
        raise GradeError(
            _(
                "A decision is a grade of {low} to {high} in steps of {step}, not {grade}: choose one.",
                low=of_raters.lowest,
                high=of_raters.highest,
                step=of_raters.step,
                grade=grade,
            )
        )
    return normalise_note(note, "note", NOTE_LENGTH)


def entry_json(entry: QueueEntry) -> dict[str, Any]:
    """The entry as commands and programs are given it."""
    return {
        "id": entry.external_id,
        "type": entry.type,
        "spread": float(entry.spread),
        "ratings": entry.ratings,
        "flagged": entry.is_flagged,
        "open": entry.is_open,
        "decision": None if entry.decided is None else float(entry.decided),
        "ratings_changed_since": entry.is_changed,
        "beginning": entry.left,
    }
