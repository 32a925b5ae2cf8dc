"""The progress of a rater, counted so that it is cheap with 100,000 pairs too."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from sqlalchemy import Connection, ScalarSelect, func, select

from annotation.assignment import Progress
from annotation.services.rating.desk import (
    ASSIGNMENTS,
    GRADED_OF_WITHDRAWN,
    HAS_SLOT,
    NOT_NEW,
    PAIRS,
    PROJECT,
    RATER,
    Desk,
    in_states,
)

EXACT_UP_TO = 2_000
"""Up to this many pairs are counted for every answer; more of them only now and then."""
SECONDS_A_PAIR = 0.003
"""How long the count of a larger project serves: five minutes for 100,000 pairs."""
NEAR_THE_END = 100
"""With so few pairs left it serves a tenth of that."""


def _count_of_mine(state: str) -> ScalarSelect[int]:
    return (
        select(func.count())
        .where(ASSIGNMENTS.c.project_id == PROJECT, ASSIGNMENTS.c.rater_id == RATER, in_states(state))
        .scalar_subquery()
    )


_OPEN = select(func.count()).where(PAIRS.c.project_id == PROJECT, HAS_SLOT).scalar_subquery()
_OPEN_BUT_MINE = (
    select(func.count())
    .select_from(ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id))
    .where(
        ASSIGNMENTS.c.project_id == PROJECT,
        ASSIGNMENTS.c.rater_id == RATER,
        in_states(*NOT_NEW),
        HAS_SLOT,
    )
    .scalar_subquery()
)
GRADED = _count_of_mine("rated") - GRADED_OF_WITHDRAWN
HELD = _count_of_mine("held")
"""Of the pairs that count, as nobody holds another."""
_PROGRESS = select(GRADED, HELD, _OPEN - _OPEN_BUT_MINE, _OPEN)


def progress_of(connection: Connection, desk: Desk) -> Progress:
    """Counted now, within their share."""
    rated, held, left, _ = _counts(connection, desk)
    return desk.within_share(Progress(rated, rated + held + left), held)


def _counts(connection: Connection, desk: Desk) -> tuple[int, int, int, int]:
    """How many pairs the rater graded, holds and can have besides, and how many are open at all."""
    rated, held, left, is_open = connection.execute(_PROGRESS, desk.whose).one()
    return rated, held, left, is_open


@dataclass(frozen=True, slots=True)
class _Counted:
    progress: Progress
    at: float
    serves: float
    """For this many seconds."""


class ProgressCounter:
    """The progress of raters through all that they could be given, whatever their share of it.

    Own grades do not change what a rater can have graded in the end, only others' do. In a large project
    both numbers are therefore carried on from answer to answer for a while, and then counted again: counting
    100,000 pairs for every grade would make all raters wait.
    """

    def __init__(self) -> None:
        self._counted: dict[tuple[int, int], _Counted] = {}

    def remembered(self, desk: Desk, *, rated: int = 0, skipped: int = 0) -> Progress | None:
        """What was counted a moment ago and what the rater has done since; None when it must be counted."""
        key = (desk.project.id, desk.rater_id)
        counted = self._counted.get(key)
        if counted is None or time.monotonic() - counted.at > counted.serves:
            return None
        before = counted.progress
        progress = Progress(before.rated + rated, before.total - skipped)
        self._counted[key] = replace(counted, progress=progress)
        return progress

    def forget(self, rater_id: int) -> None:
        """Forget the counts of a rater: a transaction that changed them was undone."""
        for key in [key for key in list(self._counted) if key[1] == rater_id]:
            self._counted.pop(key, None)

    def count(self, connection: Connection, desk: Desk) -> Progress:
        """Counted now, and remembered if that takes long."""
        rated, held, left, is_open = _counts(connection, desk)
        progress, pairs = Progress(rated, rated + held + left), rated + is_open
        serves = pairs * SECONDS_A_PAIR if pairs > EXACT_UP_TO else 0.0
        if progress.total - progress.rated <= NEAR_THE_END:
            serves /= 10
        self._counted[desk.project.id, desk.rater_id] = _Counted(progress, time.monotonic(), serves)
        return progress
