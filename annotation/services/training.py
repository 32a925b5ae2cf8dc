"""Raters at the training pairs: attempts, their grades, and whether they may begin the work."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from annotation.assignment import PairForRater, position_of
from annotation.clock import Clock, utcnow
from annotation.errors import AssignmentError, NotFoundError
from annotation.quality import has_passed, is_accepted
from annotation.scale import Scale
from annotation.senses.pair_senses import senses_from_json
from annotation.services.known_grades import quality_of, training_in_use
from annotation.services.quality import state_of
from annotation.services.rating.desk import Desk, open_desk
from annotation.training import Feedback, TrainingPhase, TrainingProgress, TrainingQueue
from annotation.types import from_quarters, to_quarters
from db import Database
from db.models import TrainingAttempt, TrainingGrade, TrainingPair

_OVER = "There is no training for you to do here: open the rating page again and go on with your work."
_RETIRED = "This training pair is no longer in use: open the rating page again and go on with what it shows."


class TrainingService:
    """Keeps what raters did in training. None of it is a rating: nothing else ever reads it."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def queue(self, project_id: int, rater_id: int) -> TrainingQueue:
        """Where the rater stands in their attempt, the first of which begins with this.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it, is paused, or has not agreed to its text.
            AssignmentError: they have no training to do.
        """
        for _ in range(2):
            try:
                with self._database.session() as session:
                    desk = self._desk(session.connection(), project_id, rater_id)
                    attempt = _latest(session, desk) or _begin(session, desk, 1, self._clock())
                    _settle(session, desk, attempt, self._clock())
                    return _queue(session, desk, attempt)
            except IntegrityError:  # another tab began it at the same moment
                continue
        raise AssignmentError(_OVER)

    def try_again(self, project_id: int, rater_id: int) -> TrainingQueue:
        """Begin another attempt after one that failed; during one, that one goes on.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it, is paused, or has not agreed to its text.
            AssignmentError: they have no training to do.
        """
        try:
            with self._database.session() as session:
                desk = self._desk(session.connection(), project_id, rater_id)
                latest = _latest(session, desk)
                if latest is not None and latest.finished_at is not None:
                    _begin(session, desk, latest.number + 1, self._clock())
        except IntegrityError:  # another tab did at the same moment
            pass
        return self.queue(project_id, rater_id)

    def grade(
        self, training_pair_id: int, rater_id: int, grade: Decimal, seconds: float | None = None
    ) -> Feedback:
        """Keep the grade of a training pair, and tell what is known of it.

        The same grade again is answered in the same way, so that a browser may send one twice.

        Raises:
            NotFoundError: there is no such training pair.
            AccessError: the user is not a rater in its project, is paused, or has not agreed to its text.
            GradeError: the grade is not on the project's scale.
            AssignmentError: they have no training to do, or have graded the pair and seen the known grade, or
                the pair was retired before.
        """
        with self._database.session() as session:
            pair = session.get(TrainingPair, training_pair_id)
            if pair is None:
                raise NotFoundError(f"There is no training pair {training_pair_id}: open your queue again.")
            desk = open_desk(session.connection(), pair.project_id, rater_id, self._clock())
            desk.check_consent()  # also of a grade that is sent again: the next pair comes with its answer
            quarters = to_quarters(Scale(desk.project.step).check(grade))
            attempt = _latest(session, desk, lock=True)
            given = None if attempt is None else _grade_of(session, attempt, pair.id)
            if attempt is None or (
                given is None and (not desk.must_train or attempt.finished_at is not None)
            ):
                raise AssignmentError(_OVER)
            if given is None and pair.retired_at is not None:
                raise AssignmentError(_RETIRED)
            now = self._clock()
            if given is None:
                desk.check_may_train()
                given = TrainingGrade(
                    attempt_id=attempt.id,
                    training_pair_id=pair.id,
                    quarters=quarters,
                    seconds=seconds,
                    at=now,
                )
                session.add(given)
                session.flush()
                _settle(session, desk, attempt, now)
            elif given.quarters != quarters:
                raise AssignmentError(
                    f"You graded this training pair {from_quarters(given.quarters)} and have seen what was "
                    "expected: go on with the next pair."
                )
            return Feedback(
                now,
                from_quarters(given.quarters),
                from_quarters(pair.quarters),
                is_accepted(given.quarters, pair.quarters, attempt.accepted_quarters),
                pair.explanation,
                _queue(session, desk, attempt),
            )

    def _desk(self, connection: Connection, project_id: int, rater_id: int) -> Desk:
        desk = open_desk(connection, project_id, rater_id, self._clock())
        desk.check_may_train()
        if not desk.must_train:
            raise AssignmentError(_OVER)
        return desk


def _latest(session: Session, desk: Desk, *, lock: bool = False) -> TrainingAttempt | None:
    statement = (
        select(TrainingAttempt)
        .where(TrainingAttempt.project_id == desk.project.id, TrainingAttempt.user_id == desk.rater_id)
        .order_by(TrainingAttempt.number.desc())
        .limit(1)
    )
    return session.scalar(statement.with_for_update() if lock else statement)


def _begin(session: Session, desk: Desk, number: int, now: datetime) -> TrainingAttempt:
    settings = quality_of(session, desk.project.id)
    attempt = TrainingAttempt(
        project_id=desk.project.id,
        user_id=desk.rater_id,
        number=number,
        accepted_quarters=to_quarters(settings.training_distance),
        pass_percent=settings.pass_percent,
        started_at=now,
    )
    session.add(attempt)
    session.flush()
    return attempt


def _settle(session: Session, desk: Desk, attempt: TrainingAttempt, now: datetime) -> None:
    """Finish the attempt once every pair is graded."""
    if attempt.finished_at is not None:
        return
    graded, left = _sorted_pairs(session, desk, attempt)
    if left:
        return
    attempt.finished_at = now
    attempt.pairs = len(graded)
    attempt.accepted = _accepted(graded, attempt)
    attempt.has_passed = has_passed(attempt.accepted, attempt.pairs, attempt.pass_percent)
    if attempt.has_passed:
        state_of(session, desk.project.id, desk.rater_id).passed_at = now
    session.flush()


def _sorted_pairs(
    session: Session, desk: Desk, attempt: TrainingAttempt
) -> tuple[list[tuple[TrainingPair, int]], list[TrainingPair]]:
    """The pairs of the attempt that are graded, with their quarters, and those that are left, in order."""
    rows = session.execute(
        select(TrainingPair, TrainingGrade.quarters)
        .outerjoin(
            TrainingGrade,
            (TrainingGrade.training_pair_id == TrainingPair.id) & (TrainingGrade.attempt_id == attempt.id),
        )
        .where(training_in_use(desk.project.id))
        .order_by(TrainingPair.import_order)
    ).all()
    graded = [(pair, quarters) for pair, quarters in rows if quarters is not None]
    left = [pair for pair, quarters in rows if quarters is None]
    if attempt.number > 1:  # in another order, so that nobody learns a list of grades by heart
        left.sort(key=lambda pair: position_of(attempt.number, pair.type, pair.external_id))
    return graded, left


def _accepted(graded: Sequence[tuple[TrainingPair, int]], attempt: TrainingAttempt) -> int:
    return sum(is_accepted(quarters, pair.quarters, attempt.accepted_quarters) for pair, quarters in graded)


def _grade_of(session: Session, attempt: TrainingAttempt, pair_id: int) -> TrainingGrade | None:
    return session.scalar(
        select(TrainingGrade).where(
            TrainingGrade.attempt_id == attempt.id, TrainingGrade.training_pair_id == pair_id
        )
    )


def _seen(pair: TrainingPair) -> PairForRater:
    return PairForRater(pair.id, pair.type, pair.left, pair.right, senses=senses_from_json(pair.senses))


def _queue(session: Session, desk: Desk, attempt: TrainingAttempt) -> TrainingQueue:
    graded, left = _sorted_pairs(session, desk, attempt)
    is_finished = attempt.finished_at is not None
    phase = TrainingPhase.PASSED if attempt.has_passed else TrainingPhase.FAILED
    progress = TrainingProgress(
        attempt=attempt.number,
        phase=phase if is_finished else TrainingPhase.OPEN,
        graded=attempt.pairs if is_finished else len(graded),
        pairs=attempt.pairs if is_finished else len(graded) + len(left),
        accepted=attempt.accepted if is_finished else _accepted(graded, attempt),
        distance=from_quarters(attempt.accepted_quarters),
        pass_percent=attempt.pass_percent,
    )
    shown = () if is_finished else tuple(left[:1])
    pairs = tuple(_seen(pair) for pair in shown)
    return TrainingQueue(desk.project, progress, pairs)
