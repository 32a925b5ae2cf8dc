"""The quality of raters: settings, training, pauses, how each one does, and who worked how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal, or_, select, union_all, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from annotation.assignment import (
    Feedback,
    PairForRater,
    TrainingPhase,
    TrainingProgress,
    TrainingQueue,
    position_of,
)
from annotation.changes import describe_changes, merge_settings
from annotation.consent import Consent
from annotation.errors import AssignmentError, NotFoundError, SettingsError
from annotation.quality import (
    QualitySettings,
    check_quality_settings,
    has_accepted_grade,
    has_passed,
    is_accepted,
    usual_quality,
)
from annotation.scale import Scale
from annotation.sense_pairs import senses_from_json
from annotation.services.assignment import return_kept
from annotation.services.audit import record
from annotation.services.numbering import rater_ids
from annotation.services.project_rows import checks_project_of, find_project, scale_in, scale_of
from annotation.services.rater_queue import RaterContext, open_context
from annotation.services.transactions import count_where, insert_if_missing
from annotation.services.users import as_user, consents_of, get_user, id_of, is_rater
from annotation.translation import _, mark
from annotation.types import Clock, Role, User, utcnow
from db import Database, models
from db.models import (
    Assignment,
    Membership,
    Pair,
    RaterState,
    Rating,
    RatingChange,
    SetAsideRating,
    Skip,
    TrainingAttempt,
    TrainingGrade,
    TrainingPair,
)
from db.models import User as UserRow

FORMER = mark("no longer a rater")
BLOCKED = mark("blocked by check pairs")


class KnownKind(StrEnum):
    TRAINING = "training"
    CHECK = "check"


def training_in_use(project_id: int) -> ColumnElement[bool]:
    """Of a training pair: it is one of the project's that have not been retired."""
    return and_(TrainingPair.project_id == project_id, TrainingPair.retired_at.is_(None))


def quality_of(session: Session, project_id: int) -> QualitySettings:
    """The settings within a transaction of a service's."""
    row, scale = session.get(models.QualitySettings, project_id), scale_in(session, project_id)
    if row is None:
        return usual_quality(scale)
    return QualitySettings(
        scale.from_steps(row.training_quarters),
        row.pass_percent,
        row.check_every,
        scale.from_steps(row.check_quarters),
        row.training_tries,
        row.block_wrong,
        row.block_of,
    )


def distances(settings: QualitySettings) -> dict[KnownKind, Decimal]:
    """A grade so far from the known one, or nearer, is accepted."""
    return {KnownKind.TRAINING: settings.training_distance, KnownKind.CHECK: settings.check_distance}


def out_of_reach(session: Session, project_id: int, kind: KnownKind, step: Decimal, distance: Decimal) -> str:
    """Why no grade is accepted of one of the pairs in use, to be followed by what to do; or nothing."""
    known = {
        KnownKind.TRAINING: select(TrainingPair.quarters).where(training_in_use(project_id)),
        KnownKind.CHECK: select(func.coalesce(Pair.intended_quarters, 0)).where(
            Pair.project_id == checks_project_of(session, project_id)
        ),
    }
    for grade in map(
        scale_in(session, project_id).from_steps, sorted(session.scalars(known[kind].distinct()))
    ):
        if problem := no_accepted_grade(grade, step, distance):
            return (
                _("There is a training pair of {grade}, and {problem}", grade=grade, problem=problem)
                if kind is KnownKind.TRAINING
                else _("There is a check pair of {grade}, and {problem}", grade=grade, problem=problem)
            )
    return ""


def no_accepted_grade(grade: Decimal, step: Decimal, distance: Decimal) -> str:
    """Why no grade is accepted of a pair whose known grade this is; nothing where one is."""
    if has_accepted_grade(grade, step, distance):
        return ""
    return _(
        "no grade in steps of {step} is within the accepted distance of {distance} from {grade}",
        step=step,
        distance=distance,
        grade=grade,
    )


@dataclass(frozen=True, slots=True)
class Attempt:
    """A finished way through the training pairs."""

    number: int
    pairs: int
    accepted: int
    has_passed: bool
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """How a rater stands in a project."""

    user: User
    paused_at: datetime | None
    passed_at: datetime | None
    excused_at: datetime | None
    attempts: tuple[Attempt, ...]
    """The first one first."""
    checks: int
    """Check pairs that they graded."""
    accepted_checks: int
    """Those of them whose grade is accepted by the settings of today."""
    is_former: bool = False
    """They are a rater no longer; what they graded still counts."""
    blocked_at: datetime | None = None

    @property
    def work(self) -> str:
        """Whether they can grade, in words, which a page translates."""
        if self.is_former:
            return FORMER
        if self.blocked_at is not None:
            return BLOCKED
        if self.paused_at is not None:
            return mark("paused")
        if self.user.is_disabled:
            return mark("disabled")
        return mark("at work") if self.user.has_password else mark("not yet: no password")


def standings_of(
    session: Session, project_id: int, checks_project: int | None, settings: QualitySettings
) -> tuple[Standing, ...]:
    """Of the raters, by name, and then of whoever was one and has attempts, grades or check grades.

    Args:
        checks_project: the project of the check pairs, where there is one.
    """
    attempts = _attempts(session, project_id)
    checks = (
        {}
        if checks_project is None
        else _count_checks(
            session, checks_project, scale_in(session, project_id).to_steps(settings.check_distance)
        )
    )
    known = {*attempts, *checks, *rater_ids(session, project_id)}
    users: Any = session.execute(
        select(models.User, RaterState, Membership.user_id)
        .outerjoin(Membership, is_rater(models.User.id, project_id))
        .outerjoin(RaterState, (RaterState.user_id == models.User.id) & (RaterState.project_id == project_id))
        .where(or_(Membership.user_id.is_not(None), models.User.id.in_(known)))
        .order_by(Membership.user_id.is_(None), models.User.name_key)
    )
    return tuple(
        Standing(
            as_user(user),
            state.paused_at if state else None,
            state.passed_at if state else None,
            state.excused_at if state else None,
            tuple(attempts.get(user.id, ())),
            *checks.get(user.id, (0, 0)),
            is_former=member is None,
            blocked_at=state.blocked_at if state else None,
        )
        for user, state, member in users
    )


def _attempts(session: Session, project_id: int) -> dict[int, list[Attempt]]:
    rows: Iterable[TrainingAttempt] = session.scalars(
        select(TrainingAttempt)
        .where(TrainingAttempt.project_id == project_id, TrainingAttempt.finished_at.is_not(None))
        .order_by(TrainingAttempt.number)
    )
    found: dict[int, list[Attempt]] = {}
    for row in rows:
        assert row.finished_at is not None
        attempt = Attempt(row.number, row.pairs, row.accepted, row.has_passed, row.finished_at)
        found.setdefault(row.user_id, []).append(attempt)
    return found


def _count_checks(session: Session, checks_project: int, distance: int) -> dict[int, tuple[int, int]]:
    """How many check pairs each rater graded, and how many of the grades are accepted."""
    is_near = func.abs(Rating.quarters - Pair.intended_quarters) <= distance
    rows: Any = session.execute(
        select(Rating.rater_id, func.count(), func.count().filter(is_near))
        .join(Pair, Pair.id == Rating.pair_id)
        .where(Rating.project_id == checks_project)
        .group_by(Rating.rater_id)
    )
    return {rater: (graded, accepted) for rater, graded, accepted in rows}


@dataclass(frozen=True, slots=True)
class QualityOverview:
    settings: QualitySettings
    training_pairs: int
    check_pairs: int
    standings: tuple[Standing, ...]
    """Of the raters, by name, and then of those who were raters."""


class QualityService:
    """Who is allowed to call a method is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def settings(self, project_id: int) -> QualitySettings:
        """The settings of a project, the defaults where nothing was chosen.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return quality_of(session, find_project(session, project_id).id)

    def change(
        self,
        project_id: int,
        settings: QualitySettings,
        *,
        seen: str | None = None,
        by: User | None = None,
    ) -> QualitySettings:
        """Choose the settings of a project. Attempts and passes that were, stay as they were judged.

        Args:
            seen: the settings that the change began with, from `print_settings`: what somebody else changed
                since then stays; None puts `settings` in the place of whatever there is.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: a setting cannot be used, or was changed by somebody else too.
        """
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            scale = scale_of(project)
            kept = _to_stored(check_quality_settings(settings, scale), scale)
            before = quality_of(session, project.id)
            if seen is not None:
                kept = merge_settings(kept, before, seen)
            if kept == before:
                return kept
            _check_distances(session, project, before, kept)
            session.merge(_row_of(project.id, kept, scale))
            if kept.check_every != before.check_every:  # else all that was missed would come at once
                begin_checks_anew(session, project.id)
            detail = {"user_id": id_of(by), "project_id": project.id, **describe_changes(before, kept)}
            record(session, self._clock(), "quality settings changed", **detail)
        return kept

    def pause(self, project_id: int, user_name: str, *, by: User | None = None) -> int:
        """Keep a rater from going on; what they graded stays and counts. How many pairs they gave back.

        Raises:
            NotFoundError: there is no such project, or no such rater in it.
        """

        def pause(session: Session) -> int:
            state, user = self._state(session, project_id, user_name)
            if state.paused_at is None:
                state.paused_at = self._clock()
                session.flush()
                self._record(session, "rater paused", project_id, user, by)
            return return_kept(session.connection(), user.id, project_id)

        return self._database.transact(pause)

    def resume(self, project_id: int, user_name: str, *, by: User | None = None) -> None:
        """Let a paused rater go on.

        Raises:
            NotFoundError: there is no such project, or no such rater in it.
        """
        with self._database.session() as session:
            state, user = self._state(session, project_id, user_name)
            if state.paused_at is not None:
                let_go_on(state, self._clock())
                self._record(session, "rater resumed", project_id, user, by)

    def excuse(self, project_id: int, user_name: str, *, by: User | None = None) -> None:
        """Let a rater work without training.

        Raises:
            NotFoundError: there is no such project, or no such rater in it.
        """
        with self._database.session() as session:
            state, user = self._state(session, project_id, user_name)
            if state.excused_at is None:
                state.excused_at = self._clock()
                self._record(session, "rater excused from training", project_id, user, by)

    def paused_raters(self, project_id: int) -> frozenset[int]:
        """The ids of the users who are paused in a project."""
        statement = select(RaterState.user_id).where(
            RaterState.project_id == project_id, RaterState.paused_at.is_not(None)
        )
        with self._database.reading() as session:
            return frozenset(session.scalars(statement))

    def overview(self, project_id: int) -> QualityOverview:
        """All that administrators see.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            settings = quality_of(session, project.id)
            training = count_where(session, training_in_use(project.id))
            checks_project = checks_project_of(session, project.id)
            checks = 0 if checks_project is None else count_where(session, Pair.project_id == checks_project)
            standings = standings_of(session, project.id, checks_project, settings)
        return QualityOverview(settings, training, checks, standings)

    def _state(self, session: Session, project_id: int, user_name: str) -> tuple[RaterState, models.User]:
        project = find_project(session, project_id, lock=True)
        user = get_user(session, user_name)
        if session.get(Membership, (project.id, user.id, Role.RATER.value)) is None:
            raise NotFoundError(
                _(
                    "{name} is not a rater in {project}: see the list of members.",
                    name=repr(user.name),
                    project=repr(project.name),
                )
            )
        return state_of(session, project.id, user.id), user

    def _record(
        self, session: Session, action: str, project_id: int, user: models.User, by: User | None
    ) -> None:
        now = self._clock()
        record(session, now, action, user_id=id_of(by), project_id=project_id, member=user.name)


def _to_stored(settings: QualitySettings, scale: Scale) -> QualitySettings:
    """As the database gives them back, 0.5 for 0.50: forms compare what they began with."""
    return replace(
        settings,
        training_distance=scale.from_steps(scale.to_steps(settings.training_distance)),
        check_distance=scale.from_steps(scale.to_steps(settings.check_distance)),
    )


def _row_of(project_id: int, settings: QualitySettings, scale: Scale) -> models.QualitySettings:
    return models.QualitySettings(
        project_id=project_id,
        training_quarters=scale.to_steps(settings.training_distance),
        pass_percent=settings.pass_percent,
        check_every=settings.check_every,
        check_quarters=scale.to_steps(settings.check_distance),
        training_tries=settings.training_tries,
        block_wrong=settings.block_wrong,
        block_of=settings.block_of,
    )


def _check_distances(
    session: Session, project: models.Project, before: QualitySettings, after: QualitySettings
) -> None:
    """A smaller distance must leave a grade that is accepted of each pair in use."""
    was, step = distances(before), scale_of(project).from_steps(project.step_quarters)
    for kind, distance in distances(after).items():
        smaller = distance < was[kind]
        if smaller and (problem := out_of_reach(session, project.id, kind, step, distance)):
            raise SettingsError(_("{problem}: keep {before}.", problem=problem, before=was[kind]))


def state_of(session: Session, project_id: int, user_id: int) -> RaterState:
    """The row of a rater in a project, locked, which is added if it is not there: by one of two at once."""
    insert_if_missing(session, RaterState, {"project_id": project_id, "user_id": user_id})
    return session.get_one(RaterState, (project_id, user_id), with_for_update=True, populate_existing=True)


def let_go_on(state: RaterState, now: datetime) -> None:
    """End a pause; check grades that had led to it block the rater no more."""
    state.paused_at = None
    if state.blocked_at is not None:
        state.blocked_at, state.unblocked_at = None, now


def begin_checks_anew(session: Session, project_id: int) -> None:
    """Count from each rater's next pair on when a check pair is due."""
    session.execute(
        update(RaterState)
        .where(RaterState.project_id == project_id)
        .values(check_start=None, check_given=None)
    )


_OVER = mark("There is no training for you to do here: open the rating page again and go on with your work.")
_NO_MORE_TRIES = mark(
    "You have used all your tries at the training pairs of {project}: thank you, you cannot grade there."
)
_RETIRED = mark(
    "This training pair is no longer in use: open the rating page again and go on with what it shows."
)


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
        for _attempt in range(2):
            try:
                with self._database.session() as session:
                    context = self._open(session.connection(), project_id, rater_id)
                    attempt = _latest(session, context) or _begin(session, context, 1, self._clock())
                    _settle(session, context, attempt, self._clock())
                    return _queue(session, context, attempt)
            except IntegrityError:  # another tab began it at the same moment
                continue
        raise AssignmentError(_(_OVER))

    def try_again(self, project_id: int, rater_id: int) -> TrainingQueue:
        """Begin another attempt after one that failed; during one, that one goes on.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it, is paused, or has not agreed to its text.
            AssignmentError: they have no training to do, or have used all their tries.
        """
        try:
            with self._database.session() as session:
                context = self._open(session.connection(), project_id, rater_id)
                latest = _latest(session, context, lock=True)
                if latest is not None and latest.finished_at is not None:
                    if _tries_left(session, context, latest) == 0:
                        raise AssignmentError(_(_NO_MORE_TRIES, project=context.project.name))
                    _begin(session, context, latest.number + 1, self._clock())
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
                raise NotFoundError(
                    _("There is no training pair {id}: open your queue again.", id=training_pair_id)
                )
            context = open_context(session.connection(), pair.project_id, rater_id, self._clock())
            context.check_consent()  # also of a grade that is sent again: the next pair comes with its answer
            scale = context.project.scale
            quarters = scale.to_steps(context.project.grades.check(grade))
            attempt = _latest(session, context, lock=True)
            given = None
            if attempt is not None:
                is_this = TrainingGrade.attempt_id == attempt.id, TrainingGrade.training_pair_id == pair.id
                given = session.scalar(select(TrainingGrade).where(*is_this))
            if attempt is None or (
                given is None and (not context.must_train or attempt.finished_at is not None)
            ):
                raise AssignmentError(_(_OVER))
            if given is None and pair.retired_at is not None:
                raise AssignmentError(_(_RETIRED))
            now = self._clock()
            if given is None:
                context.check_may_train()
                given = TrainingGrade(
                    attempt_id=attempt.id,
                    training_pair_id=pair.id,
                    quarters=quarters,
                    seconds=seconds,
                    at=now,
                )
                session.add(given)
                session.flush()
                _settle(session, context, attempt, now)
            elif given.quarters != quarters:
                raise AssignmentError(
                    _(
                        "You graded this training pair {grade} and have seen what was expected: go on with "
                        "the next pair.",
                        grade=scale.from_steps(given.quarters),
                    )
                )
            return Feedback(
                now,
                scale.from_steps(given.quarters),
                scale.from_steps(pair.quarters),
                is_accepted(given.quarters, pair.quarters, attempt.accepted_quarters),
                pair.explanation,
                _queue(session, context, attempt),
            )

    def _open(self, connection: Connection, project_id: int, rater_id: int) -> RaterContext:
        context = open_context(connection, project_id, rater_id, self._clock())
        context.check_may_train()
        if not context.must_train:
            raise AssignmentError(_(_OVER))
        return context


def _latest(session: Session, context: RaterContext, *, lock: bool = False) -> TrainingAttempt | None:
    statement = (
        select(TrainingAttempt)
        .where(TrainingAttempt.project_id == context.project.id, TrainingAttempt.user_id == context.rater_id)
        .order_by(TrainingAttempt.number.desc())
        .limit(1)
    )
    return session.scalar(statement.with_for_update() if lock else statement)


def _tries_left(session: Session, context: RaterContext, attempt: TrainingAttempt) -> int | None:
    """How many attempts may follow this one; None for any number."""
    tries = quality_of(session, context.project.id).training_tries
    return max(0, tries - attempt.number) if tries else None


def _begin(session: Session, context: RaterContext, number: int, now: datetime) -> TrainingAttempt:
    settings = quality_of(session, context.project.id)
    attempt = TrainingAttempt(
        project_id=context.project.id,
        user_id=context.rater_id,
        number=number,
        accepted_quarters=context.project.scale.to_steps(settings.training_distance),
        pass_percent=settings.pass_percent,
        started_at=now,
    )
    session.add(attempt)
    session.flush()
    return attempt


def _settle(session: Session, context: RaterContext, attempt: TrainingAttempt, now: datetime) -> None:
    """Finish the attempt once every pair is graded."""
    if attempt.finished_at is not None:
        return
    graded, left = _sorted_pairs(session, context, attempt)
    if left:
        return
    attempt.finished_at = now
    attempt.pairs = len(graded)
    attempt.accepted = _count_accepted(graded, attempt)
    attempt.has_passed = has_passed(attempt.accepted, attempt.pairs, attempt.pass_percent)
    if attempt.has_passed:
        state_of(session, context.project.id, context.rater_id).passed_at = now
    session.flush()


def _sorted_pairs(
    session: Session, context: RaterContext, attempt: TrainingAttempt
) -> tuple[list[tuple[TrainingPair, int]], list[TrainingPair]]:
    """The pairs of the attempt that are graded, with their quarters, and those that are left, in order."""
    rows = session.execute(
        select(TrainingPair, TrainingGrade.quarters)
        .outerjoin(
            TrainingGrade,
            (TrainingGrade.training_pair_id == TrainingPair.id) & (TrainingGrade.attempt_id == attempt.id),
        )
        .where(training_in_use(context.project.id))
        .order_by(TrainingPair.import_order)
    ).all()
    graded = [(pair, quarters) for pair, quarters in rows if quarters is not None]
    left = [pair for pair, quarters in rows if quarters is None]
    if attempt.number > 1:  # in another order, so that nobody learns a list of grades by heart
        left.sort(key=lambda pair: position_of(attempt.number, pair.type, pair.external_id))
    return graded, left


def _count_accepted(graded: Sequence[tuple[TrainingPair, int]], attempt: TrainingAttempt) -> int:
    return sum(is_accepted(quarters, pair.quarters, attempt.accepted_quarters) for pair, quarters in graded)


def _queue(session: Session, context: RaterContext, attempt: TrainingAttempt) -> TrainingQueue:
    graded, left = _sorted_pairs(session, context, attempt)
    is_finished = attempt.finished_at is not None
    phase = TrainingPhase.PASSED if attempt.has_passed else TrainingPhase.FAILED
    progress = TrainingProgress(
        attempt=attempt.number,
        phase=phase if is_finished else TrainingPhase.OPEN,
        graded=attempt.pairs if is_finished else len(graded),
        pairs=attempt.pairs if is_finished else len(graded) + len(left),
        accepted=attempt.accepted if is_finished else _count_accepted(graded, attempt),
        distance=context.project.scale.from_steps(attempt.accepted_quarters),
        pass_percent=attempt.pass_percent,
        tries_left=_tries_left(session, context, attempt),
    )
    pairs = tuple(
        PairForRater(pair.id, pair.type, pair.left, pair.right, senses=senses_from_json(pair.senses))
        for pair in ([] if is_finished else left[:1])
    )
    return TrainingQueue(context.project, progress, pairs)


DAY = timedelta(hours=24)
WEEK = timedelta(days=7)
SECONDS_AN_HOUR = 3600
SHORTEST = 0.1
"""Hours; of less time a rate of grades says nothing."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a rater did in a project, also with check pairs and what counts no longer."""

    rater: str
    is_former: bool = False
    """They are a rater no longer."""
    ratings: int = 0
    imported: int = 0
    """Those of them that came from a file: nobody knows when they were given, nor how long they took."""
    checks: int = 0
    """Those of them that are of check pairs."""
    withdrawn: int = 0
    """Those of them that are of pairs that count no longer."""
    set_aside: int = 0
    """Those of them that were set aside."""
    skipped: int = 0
    held: int = 0
    """Pairs whose lease runs."""
    last_day: int = 0
    """Ratings given on the page within 24 hours, and within seven days."""
    last_week: int = 0
    seconds: float = 0.0
    """How long the pairs that were graded were looked at."""
    first_at: datetime | None = None
    """Of grades and skips on the page."""
    last_at: datetime | None = None
    consent: Consent | None = None
    """None where they never agreed here, such as raters whom a file brought."""

    @property
    def hours(self) -> float:
        return self.seconds / SECONDS_AN_HOUR

    @property
    def per_hour(self) -> float | None:
        """Grades in an hour of looking at pairs; None where it was too short to tell."""
        return (self.ratings - self.imported) / self.hours if self.hours >= SHORTEST else None


class WorkService:
    """Who is allowed to ask is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def work(self, project_id: int) -> tuple[Work, ...]:
        """Of the raters, by name, and then of those who were raters and graded or skipped something.

        Raises:
            NotFoundError: there is no such project.
        """
        now = self._clock()
        with self._database.reading() as session:
            project = find_project(session, project_id)
            checks_project = checks_project_of(session, project.id)
            projects = [project.id] if checks_project is None else [project.id, checks_project]
            rated, taken = (
                _count_ratings(session, projects, checks_project, now),
                _count_assignments(session, projects, now),
            )
            skips = _moments_of_skips(session, projects)
            people = _people(session, project.id, {*rated, *taken, *skips})
            consents = consents_of(session, project)
        return tuple(
            Work(
                name,
                is_former,
                consent=consents.get(id),
                **_work_figures(rated.get(id, {}), taken.get(id, {}), skips.get(id, ())),
            )
            for id, name, is_former in people
        )


def _work_figures(
    rated: Mapping[str, Any], taken: Mapping[str, Any], skipped_at: tuple[datetime, ...]
) -> dict[str, Any]:
    figures = {**rated, **taken}
    moments = [*skipped_at, *(figures.pop(name, None) for name in ("first_at", "last_at"))]
    known = [moment for moment in moments if moment is not None]
    return {**figures, "first_at": min(known, default=None), "last_at": max(known, default=None)}


def _count_ratings(
    session: Session, projects: list[int], checks_project: int | None, now: datetime
) -> dict[int, dict[str, Any]]:
    """By rater what their ratings say."""
    given = (
        union_all(*(_columns_of_ratings(table, projects) for table in (Rating, SetAsideRating))).subquery().c
    )
    # Of the history: a rating may have come from a file first, and is touched when it is brought back.
    page = page_ratings(projects).subquery()
    is_of_page = page.c.first_at.is_not(None)
    rows = session.execute(
        select(
            given.rater_id,
            func.count().label("ratings"),
            func.count().filter(~is_of_page).label("imported"),
            func.count().filter(given.project_id == (checks_project or 0)).label("checks"),
            func.count().filter(Pair.withdrawn_at.is_not(None)).label("withdrawn"),
            func.count().filter(given.is_set_aside == 1).label("set_aside"),
            func.count().filter(page.c.first_at > now - DAY).label("last_day"),
            func.count().filter(page.c.first_at > now - WEEK).label("last_week"),
            func.coalesce(func.sum(given.seconds), 0.0).label("seconds"),
            func.min(page.c.first_at).label("first_at"),
            func.max(page.c.last_at).label("last_at"),
        )
        .join(Pair, Pair.id == given.pair_id)
        .outerjoin(page, (page.c.pair_id == given.pair_id) & (page.c.rater_id == given.rater_id))
        .group_by(given.rater_id)
    )
    return _by_rater(rows)


def _columns_of_ratings(
    table: type[Rating | SetAsideRating], projects: list[int]
) -> Select[*tuple[Any, ...]]:
    is_set_aside = literal(int(table is SetAsideRating)).label("is_set_aside")
    names = ("project_id", "pair_id", "rater_id", "seconds")
    columns = [getattr(table, name) for name in names]
    return select(*columns, is_set_aside).where(table.project_id.in_(projects))


def page_ratings(projects: list[int]) -> Select[*tuple[Any, ...]]:
    """When ratings were given and last changed on the page, by pair and rater; none of those from files."""
    at = RatingChange.at
    moments = func.min(at).label("first_at"), func.max(at).label("last_at")
    return (
        select(RatingChange.pair_id, RatingChange.rater_id, *moments)
        .where(RatingChange.project_id.in_(projects), RatingChange.origin == "page")
        .group_by(RatingChange.pair_id, RatingChange.rater_id)
    )


def _count_assignments(session: Session, projects: list[int], now: datetime) -> dict[int, dict[str, Any]]:
    """By rater how many pairs they skipped and hold; only of those who have some."""
    skipped = Assignment.state == "skipped"
    held = and_(Assignment.state == "held", Assignment.lease_expires_at > now)
    rows = session.execute(
        select(
            Assignment.rater_id,
            func.count().filter(skipped).label("skipped"),
            func.count().filter(held).label("held"),
        )
        .where(Assignment.project_id.in_(projects), or_(skipped, held))
        .group_by(Assignment.rater_id)
    )
    return _by_rater(rows)


def _moments_of_skips(session: Session, projects: list[int]) -> dict[int, tuple[datetime, datetime]]:
    """By rater when they skipped first and last."""
    rows = session.execute(
        select(Skip.rater_id, func.min(Skip.at), func.max(Skip.at))
        .where(Skip.project_id.in_(projects))
        .group_by(Skip.rater_id)
    )
    return {rater: (first, last) for rater, first, last in rows}


def _people(session: Session, project_id: int, known: set[int]) -> list[tuple[int, str, bool]]:
    """Id, name and whether they are a rater no longer, of the raters and of the others that are known."""
    is_former = Membership.user_id.is_(None)
    rows: Any = session.execute(
        select(UserRow.id, UserRow.name, is_former)
        .outerjoin(Membership, is_rater(UserRow.id, project_id))
        .where(or_(~is_former, UserRow.id.in_(known)))
        .order_by(is_former, UserRow.name_key)
    )
    return [(id, name, bool(former)) for id, name, former in rows]


def _by_rater(rows: Any) -> dict[int, dict[str, Any]]:
    return {row.pop("rater_id"): row for row in (dict(found) for found in rows.mappings())}
