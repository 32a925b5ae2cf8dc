"""What a rater is given to grade: a project's order, a pair as its raters may see it, training pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from typing import Protocol

from annotation.scale import CLSS, Scale
from annotation.senses import PairSenses


def position_of(seed: int, type: str, external_id: str) -> int:
    """The place of a pair in a random order that the seed alone decides: 0 to 2**63 - 1.

    It depends on no other pair, so that a later import leaves the order of the earlier pairs as it was.
    """
    digest = sha256(f"{seed}:{type}:{external_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class Ordered(Protocol):
    """The order of a project, as its settings or its row have it."""

    @property
    def is_random(self) -> bool: ...

    @property
    def seed(self) -> int: ...


def position_in(project: Ordered, type: str, external_id: str, import_order: int) -> int:
    """Where a pair or larger item stands in the order of its project: random, or as it was imported."""
    return position_of(project.seed, type, external_id) if project.is_random else import_order


@dataclass(frozen=True, slots=True)
class PairForRater:
    """A pair and what this rater said of it. Genre, intended grade, source and id in the file stay hidden."""

    id: int
    type: str
    left: str
    right: str
    grade: Decimal | None = None
    comment: str = ""
    is_flagged: bool = False
    rated_at: datetime | None = None
    senses: PairSenses | None = None
    is_repeat: bool = False
    """It came back to them: grade, comment and flag are those of the second time."""


@dataclass(frozen=True, slots=True)
class RaterProject:
    """What a rater needs to know of the project."""

    id: int
    name: str
    step: Decimal
    may_revise: bool
    scale: Scale = CLSS

    @property
    def grades(self) -> Scale:
        """Those that a rater can give."""
        return replace(self.scale, step=self.step)


@dataclass(frozen=True, slots=True)
class Progress:
    rated: int
    total: int
    """As many as this rater can have graded in the end: graded, held and open to them, up to their share."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The pair to grade now and the ones after it."""

    project: RaterProject
    pairs: tuple[PairForRater, ...]
    is_waiting: bool
    """Nothing now, but others hold pairs that may come back."""
    progress: Progress
    is_share_graded: bool = False
    """Nothing more: they have graded as many pairs as the project gives a rater at most."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A grade that is committed, and the rater's queue after it."""

    at: datetime
    queue: Queue
    is_blocked: bool = False
    """It was the check grade with which the rater's work ends."""


class TrainingPhase(StrEnum):
    OPEN = "open"
    """There are pairs to grade."""
    FAILED = "failed"
    """All are graded and too few were accepted: they may try again."""
    PASSED = "passed"


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """A rater's attempt at the training pairs."""

    attempt: int
    phase: TrainingPhase
    graded: int
    pairs: int
    accepted: int
    distance: Decimal
    """So far from the known grade, or nearer, is accepted."""
    pass_percent: int
    tries_left: int | None = None
    """Attempts that may follow this one; None for any number."""

    @property
    def is_screened_out(self) -> bool:
        """All tries are used, and none was good enough."""
        return self.phase is TrainingPhase.FAILED and self.tries_left == 0


@dataclass(frozen=True, slots=True)
class TrainingQueue:
    project: RaterProject
    progress: TrainingProgress
    pairs: tuple[PairForRater, ...]
    """The next one to grade; their ids are those of training pairs."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """How a training grade compares with the known one, and what comes next."""

    at: datetime
    grade: Decimal
    known: Decimal
    is_accepted: bool
    explanation: str
    queue: TrainingQueue
