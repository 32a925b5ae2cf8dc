"""Excluding the ratings of a rater, so that others grade their pairs anew, and restoring them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, case, delete, exists, func, insert, literal, select, update
from sqlalchemy.orm import Session

from annotation.errors import NoteError, NotFoundError
from annotation.gold import RaterColumns, anonymous_label
from annotation.quality import WRONG_CHECKS, ExcludedGrades, is_blocked
from annotation.services.assignment import refresh_pairs, return_kept
from annotation.services.audit import GRADES_EXCLUDED, GRADES_RESTORED, record
from annotation.services.project_rows import IN_USE, checks_project_of, find_project, lock_pairs, scale_in
from annotation.services.quality import let_go_on, quality_of, state_of
from annotation.services.rater_queue import EXCLUDED
from annotation.services.transactions import count_where
from annotation.services.users import get_user, id_of
from annotation.translation import _, ngettext
from annotation.types import Clock, User, utcnow
from annotation.wording import LONGEST_NOTE, normalise_note
from db import Database, models
from db.models import Adjudication, Assignment, Pair, RaterState, Rating, SetAside, SetAsideRating
from db.models import User as UserRow


@dataclass(frozen=True, slots=True)
class ExcludedLine:
    """Grades of one rater that were set aside together, of pairs that count."""

    rater_id: int
    name: str
    grades: int
    reason: str
    at: datetime

    def as_excluded_grades(self, label: str | None) -> ExcludedGrades:
        """As reports and gold sets tell it, with what the rater is called there."""
        at = self.at.astimezone(UTC).isoformat(timespec="seconds")
        return ExcludedGrades(label, self.grades, self.reason, at)


def read_excluded(session: Session, project_id: int) -> list[ExcludedLine]:
    """What is set aside, the earliest first."""
    rows = session.execute(
        select(SetAside.rater_id, UserRow.name, func.count(), SetAside.reason, SetAside.at)
        .join(UserRow, UserRow.id == SetAside.rater_id)
        .join(SetAsideRating, SetAsideRating.set_aside_id == SetAside.id)
        .join(Pair, Pair.id == SetAsideRating.pair_id)
        .where(SetAside.project_id == project_id, IN_USE)
        .group_by(SetAside.id, UserRow.name)
        .order_by(SetAside.at, SetAside.id)
    )
    return [ExcludedLine(*row) for row in rows]


def excluded_for_manifest(
    lines: Sequence[ExcludedLine], raters: RaterColumns, numbers: Mapping[int, int] | None
) -> list[ExcludedGrades]:
    """What is set aside, for the manifest of a gold set, which names raters as its files do."""
    if numbers is not None:
        return [line.as_excluded_grades(anonymous_label(numbers[line.rater_id])) for line in lines]
    return [line.as_excluded_grades(line.name if raters is RaterColumns.NAMED else None) for line in lines]


_COPIED = ("project_id", "pair_id", "rater_id", "quarters", "seconds", "created_at")
"""What a rating has, set aside or not, besides the moment of its last change."""


@dataclass(frozen=True, slots=True)
class RaterGrades:
    """What a rater has graded in a project, withdrawn pairs among it."""

    name: str
    grades: int
    """That count."""
    set_aside: int


@dataclass(frozen=True, slots=True)
class Restoration:
    grades: int
    left: int
    """That stay set aside, for their pairs have all their raters."""
    is_paused: bool
    """The rater stays paused."""

    @property
    def left_text(self) -> str:
        """That some could not be brought back; nothing where all were."""
        if not self.left:
            return ""
        return ngettext(
            "{count} grade stays set aside: the pair has all its raters.",
            "{count} grades stay set aside: these pairs have all their raters.",
            self.left,
            count=f"{self.left:,}",
        )


class ExclusionService:
    """Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def raters(self, project_id: int) -> tuple[RaterGrades, ...]:
        """Everybody who has graded in the project, former raters too, by name.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            counts = [_count_by_rater(session, table, project.id) for table in (Rating, SetAsideRating)]
            whose = select(models.User.id, models.User.name).where(
                models.User.id.in_([*counts[0], *counts[1]])
            )
            rows = session.execute(whose.order_by(models.User.name_key)).all()
        return tuple(RaterGrades(name, *(each.get(id, 0) for each in counts)) for id, name in rows)

    def exclude(self, project_id: int, user_name: str, reason: str, *, by: User | None = None) -> int:
        """Count the rater's grades nowhere, and let others grade these pairs; how many grades.

        The rater is paused, and is never given these pairs again. Grades of check pairs stay: they are no
        part of the work.

        Raises:
            NotFoundError: there is no such project or account, or no grade of theirs in it.
            NoteError: there is no reason, or it is too long.
        """
        why = normalise_note(reason, "reason", LONGEST_NOTE)
        if not why:
            raise NoteError(_("No reason is given: say why, since agreement and gold sets tell it."))

        def exclude(session: Session) -> int:
            project, user = _lock(session, project_id, user_name)
            count = _exclude(session, project.id, user.id, why, self._clock())
            if not count:
                raise NotFoundError(
                    _(
                        "{name} has no grades that count in {project}.",
                        name=repr(user.name),
                        project=repr(project.name),
                    )
                )
            return_kept(session.connection(), user.id, project.id)
            self._record(session, GRADES_EXCLUDED, project.id, user, by, grades=count, reason=why)
            return count

        return self._database.transact(exclude)

    def block_if_due(self, project_id: int, rater_id: int) -> bool:
        """Block a rater whose latest check grades the project's settings do not accept; whether they are now.

        Their grades are excluded as by `exclude`, with the figures as the reason, and what they hold goes to
        others; grades of check pairs stay.
        """
        with self._database.reading() as session:
            if not _is_due(session, project_id, rater_id):
                return False

        def block(session: Session) -> bool:
            project = find_project(session, project_id, lock=True)
            user = session.get_one(UserRow, rater_id)
            lock_pairs(session, project.id)
            state = state_of(session, project.id, rater_id)
            reason = _is_due(session, project.id, rater_id)
            if not reason or state.blocked_at is not None:
                return state.blocked_at is not None
            now = self._clock()
            state.blocked_at, state.paused_at = now, state.paused_at or now
            session.flush()
            count = _exclude(session, project.id, rater_id, reason, now)
            return_kept(session.connection(), rater_id, project.id)
            told = {"member": user.name, "grades": count, "reason": reason}
            record(session, now, "rater blocked", user_id=None, project_id=project.id, **told)
            return True

        return self._database.transact(block)

    def restore(self, project_id: int, user_name: str, *, by: User | None = None) -> Restoration:
        """Count grades that were set aside again, of pairs that have room for them.

        If there are any, the rater may go on too, unless they were paused at another time. A flagged pair
        that was decided on meanwhile is open again.

        Raises:
            NotFoundError: there is no such project or account, or nothing of theirs is set aside.
        """

        def restore(session: Session) -> Restoration:
            project, user = _lock(session, project_id, user_name)
            state = state_of(session, project.id, user.id)
            since = session.scalars(select(SetAside.at).where(*_whose(SetAside, project.id, user.id))).all()
            count, left = _restore(session, project.id, user.id, self._clock())
            if not count + left:
                raise NotFoundError(
                    _(
                        "{name} has no grades set aside in {project}.",
                        name=repr(user.name),
                        project=repr(project.name),
                    )
                )
            if count:
                if state.paused_at in since:
                    let_go_on(state, self._clock())
                told = {"grades": count, "still_set_aside": left or None}
                self._record(session, GRADES_RESTORED, project.id, user, by, **told)
            return Restoration(count, left, state.paused_at is not None)

        return self._database.transact(restore)

    def _record(
        self,
        session: Session,
        action: str,
        project_id: int,
        user: models.User,
        by: User | None,
        **told: Any,
    ) -> None:
        told = {"member": user.name, **told}
        record(session, self._clock(), action, user_id=id_of(by), project_id=project_id, **told)


def _lock(session: Session, project_id: int, user_name: str) -> tuple[models.Project, models.User]:
    """The project and the rater; nobody grades in it, or is given a pair, until the transaction ends."""
    project = find_project(session, project_id, lock=True)
    user = get_user(session, user_name)
    lock_pairs(session, project.id)
    return project, user


def _is_due(session: Session, project_id: int, rater_id: int) -> str:
    """Why the rater is to be blocked, as agreement and gold sets tell it; empty where they are not."""
    settings, checks = quality_of(session, project_id), checks_project_of(session, project_id)
    if not settings.block_wrong or checks is None:
        return ""
    state = session.get(RaterState, (project_id, rater_id))
    since = None if state is None else state.unblocked_at
    is_later = () if since is None else (Rating.created_at > since,)
    accepted = scale_in(session, project_id).to_steps(settings.check_distance)
    is_wrong = func.abs(Rating.quarters - Pair.intended_quarters) > accepted
    rows = session.scalars(
        select(is_wrong)
        .join(Pair, Pair.id == Rating.pair_id)
        .where(Rating.project_id == checks, Rating.rater_id == rater_id, *is_later)
        .order_by(Rating.created_at.desc(), Rating.id.desc())
        .limit(settings.block_of)
    )
    wrong = [bool(each) for each in rows]
    if not is_blocked(wrong, settings):
        return ""
    return WRONG_CHECKS.format(wrong=sum(wrong), checks=len(wrong))


def _exclude(session: Session, project_id: int, rater_id: int, reason: str, now: datetime) -> int:
    theirs = _whose(Rating, project_id, rater_id)
    pair_ids = session.scalars(select(Rating.pair_id).where(*theirs)).all()
    if not pair_ids:
        return 0
    state = state_of(session, project_id, rater_id)
    state.paused_at = state.paused_at or now
    deed = SetAside(project_id=project_id, rater_id=rater_id, reason=reason, at=now)
    session.add(deed)
    session.flush()
    columns = [getattr(Rating, name) for name in _COPIED]
    copied = select(literal(deed.id), *columns, Rating.updated_at).where(*theirs)
    session.execute(insert(SetAsideRating).from_select(["set_aside_id", *_COPIED, "updated_at"], copied))
    _mark(session, project_id, rater_id, "rated", EXCLUDED)
    session.execute(delete(Rating).where(*theirs))
    refresh_pairs(session, pair_ids)
    return len(pair_ids)


def _restore(session: Session, project_id: int, rater_id: int, now: datetime) -> tuple[int, int]:
    """How many ratings count again, and how many do not."""
    theirs = _whose(SetAsideRating, project_id, rater_id)
    there_is_room = exists().where(Pair.id == SetAsideRating.pair_id, Pair.open_slots > 0)
    pair_ids = session.scalars(select(SetAsideRating.pair_id).where(*theirs, there_is_room)).all()
    decided = exists().where(
        Adjudication.pair_id == SetAsideRating.pair_id, Adjudication.decided_at > SetAside.at
    )
    last_changed = case(
        (decided, literal(now, SetAsideRating.updated_at.type)), else_=SetAsideRating.updated_at
    )
    copied = (
        select(*(getattr(SetAsideRating, name) for name in _COPIED), last_changed)
        .join(SetAside, SetAside.id == SetAsideRating.set_aside_id)
        .where(*theirs, there_is_room)
    )
    session.execute(insert(Rating).from_select([*_COPIED, "updated_at"], copied))
    is_back = exists().where(Rating.pair_id == SetAsideRating.pair_id, Rating.rater_id == rater_id)
    _mark(session, project_id, rater_id, EXCLUDED, "rated")
    session.execute(delete(SetAsideRating).where(*theirs, is_back))
    has_left = exists().where(SetAsideRating.set_aside_id == SetAside.id)
    session.execute(delete(SetAside).where(*_whose(SetAside, project_id, rater_id), ~has_left))
    refresh_pairs(session, pair_ids)
    return len(pair_ids), count_where(session, *theirs)


def _mark(session: Session, project_id: int, rater_id: int, was: str, state: str) -> None:
    """Change the state of the rater's pairs that have a rating now."""
    rated = exists().where(Rating.pair_id == Assignment.pair_id, Rating.rater_id == rater_id)
    session.execute(
        update(Assignment)
        .where(*_whose(Assignment, project_id, rater_id), Assignment.state == was, rated)
        .values(state=state)
    )


def _whose(
    table: type[Rating | SetAsideRating | SetAside | Assignment], project_id: int, rater_id: int
) -> tuple[ColumnElement[bool], ...]:
    return (table.project_id == project_id, table.rater_id == rater_id)


def _count_by_rater(
    session: Session, table: type[Rating | SetAsideRating], project_id: int
) -> dict[int, int]:
    counted = select(table.rater_id, func.count()).where(table.project_id == project_id)
    return dict(session.execute(counted.group_by(table.rater_id)).all())
