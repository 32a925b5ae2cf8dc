"""What a user finds on coming in: the projects, the own roles in them, and how far each is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, exists, func, literal, or_, select

from annotation.clock import Clock, utcnow
from annotation.errors import NotFoundError
from annotation.projects import all_graded
from annotation.services.access.open_invitations import can_come_in
from annotation.services.access.roles import roles_of
from annotation.services.access.users import as_user, find_user
from annotation.services.consent_rows import agreed_before
from annotation.services.in_use import IN_USE
from annotation.services.pair_states import is_fully_rated, is_open
from annotation.services.rating.held_back import may_still_grade
from annotation.types import Role, User
from db import Database, models
from db.models import Adjudication, LargerItem, Membership, Pair, Project, RaterState, Rating, Writing


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project as one of its members, or an administrator of the server, sees it in the list."""

    id: int
    name: str
    roles: frozenset[Role]
    """The own ones; administrators of the server may have none."""
    pairs: int
    finished: int
    """Pairs with all the ratings that the project asks for."""
    to_adjudicate: int
    """Pairs, but those that are held back from whoever sees it."""
    raters: int
    unwritten: int = 0
    """Larger items that nobody writes for; a share of them may yet be reserved for pairs of grade 0."""
    to_review: int = 0
    """Written texts that wait for an editor."""
    withdrawn: int = 0
    """Pairs that count nowhere."""
    is_paused: bool = False
    """Whoever sees it is a rater who is given no pairs for now."""
    must_agree_anew: bool = False
    """They rate or write there, agreed to an earlier consent text, and have to agree to the one now."""

    @property
    def is_graded(self) -> bool:
        return all_graded(self.pairs, self.finished)


@dataclass(frozen=True, slots=True)
class Place:
    """Who asks, and the project that the page is about."""

    user: User
    project: str | None = None
    roles: frozenset[Role] = frozenset()
    """To lead to pages; administrators of the server count as administrator and adjudicator everywhere."""
    types: tuple[str, ...] = ()
    """The project's comparison types."""


_WORKING = {Role.RATER, Role.WRITER}


class OverviewService:
    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def projects(self, user: User) -> list[ProjectLine]:
        """The projects of `user` by name, those of an administrator of the server being all."""
        statement = select(Project.id, Project.name).where(Project.checks_of_id.is_(None))
        statement = statement.order_by(Project.name_key)
        with self._database.reading() as session:
            roles: dict[int, set[Role]] = {}
            own = select(Membership.project_id, Membership.role).where(Membership.user_id == user.id)
            for project_id, role in session.execute(own):
                roles.setdefault(project_id, set()).add(Role(role))
            if not user.is_administrator:
                statement = statement.where(Project.id.in_(roles))
            shown = session.execute(statement).all()
            ids = [row.id for row in shown]
            counted = {row.project_id: row for row in session.execute(_counts(ids))}
            rated = [id for id, held in roles.items() if Role.RATER in held]
            held_back = and_(Pair.project_id.in_(rated), may_still_grade(Project, user.id))
            opened = dict(session.execute(to_adjudicate(ids).where(~held_back)).all())
            raters = dict(session.execute(_raters(ids, self._clock())).all())
            unwritten = dict(session.execute(_unwritten(ids)).all())
            to_review = dict(session.execute(_to_review(ids)).all())
            withdrawn = dict(session.execute(_withdrawn(ids)).all())
            paused = set(session.scalars(_paused(user)))
            changed = set(session.scalars(select(Project.id).where(agreed_before(literal(user.id)))))
        return [
            ProjectLine(
                id=row.id,
                name=row.name,
                roles=frozenset(roles.get(row.id, ())),
                pairs=counted[row.id].pairs if row.id in counted else 0,
                finished=counted[row.id].finished if row.id in counted else 0,
                to_adjudicate=opened.get(row.id, 0),
                raters=raters.get(row.id, 0),
                unwritten=unwritten.get(row.id, 0),
                to_review=to_review.get(row.id, 0),
                withdrawn=withdrawn.get(row.id, 0),
                is_paused=row.id in paused and Role.RATER in roles.get(row.id, ()),
                must_agree_anew=row.id in changed and not roles.get(row.id, set()).isdisjoint(_WORKING),
            )
            for row in shown
        ]

    def has_worked(self, user: User) -> bool:
        """Whether the user has graded or written anywhere, also where they are no member any more."""
        kept = (exists().where(Rating.rater_id == user.id), exists().where(Writing.writer_id == user.id))
        with self._database.reading() as session:
            return bool(session.scalar(select(or_(*kept))))

    def place(self, user_name: str, project_id: int | None) -> Place:
        """Who asks and where; a project in which the user has no role is left out, as if it were none.

        Raises:
            NotFoundError: there is no such user.
        """
        with self._database.reading() as session:
            row = find_user(session, user_name)
            if row is None:
                raise NotFoundError(f"There is no account named {user_name!r}: sign in again.")
            user = as_user(row)
            project = None if project_id is None else session.get(Project, project_id)
            if project is None or project.checks_of_id is not None:
                return Place(user)
            roles = roles_of(session, user.id, project.id)
            if user.is_administrator:
                roles |= {Role.ADMINISTRATOR, Role.ADJUDICATOR}
            if not roles:
                return Place(user)
            return Place(user, project.name, roles, tuple(project.types))


def _counts(project_ids: list[int]) -> Select[int, int, Any]:
    finished = func.count().filter(is_fully_rated(Project))
    return (
        select(Pair.project_id, func.count().label("pairs"), finished.label("finished"))
        .join(Project, Project.id == Pair.project_id)
        .where(Pair.project_id.in_(project_ids), IN_USE)
        .group_by(Pair.project_id)
    )


def _withdrawn(project_ids: list[int]) -> Select[int, int]:
    return (
        select(Pair.project_id, func.count())
        .where(Pair.project_id.in_(project_ids), ~IN_USE)
        .group_by(Pair.project_id)
    )


def _paused(user: User) -> Select[int]:
    return select(RaterState.project_id).where(
        RaterState.user_id == user.id, RaterState.paused_at.is_not(None)
    )


def to_adjudicate(project_ids: list[int]) -> Select[int, int]:
    """Flagged pairs without a decision, or with a rating that came after it."""
    return (
        select(Pair.project_id, func.count())
        .join(Project, Project.id == Pair.project_id)
        .outerjoin(Adjudication, Adjudication.pair_id == Pair.id)
        .where(Pair.project_id.in_(project_ids), IN_USE, is_open(Project))
        .group_by(Pair.project_id)
    )


def _raters(project_ids: list[int], now: datetime) -> Select[int, int]:
    return (
        select(Membership.project_id, func.count())
        .join(models.User, models.User.id == Membership.user_id)
        .where(Membership.project_id.in_(project_ids), Membership.role == Role.RATER, can_come_in(now))
        .group_by(Membership.project_id)
    )


def _unwritten(project_ids: list[int]) -> Select[int, int]:
    return (
        select(LargerItem.project_id, func.count())
        .where(
            LargerItem.project_id.in_(project_ids),
            LargerItem.grade.is_(None),
            LargerItem.withdrawn_at.is_(None),
        )
        .group_by(LargerItem.project_id)
    )


def _to_review(project_ids: list[int]) -> Select[int, int]:
    return (
        select(Writing.project_id, func.count())
        .where(Writing.project_id.in_(project_ids), Writing.state == "submitted")
        .group_by(Writing.project_id)
    )
