"""Training before the work: pairs with a known grade, what a rater is told, and how far they are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from annotation.assignment import PairForRater, RaterProject


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
