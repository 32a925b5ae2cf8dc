"""Pairs that will never have all their grades: fewer raters are left for them than grades are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, select
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.services.access.open_invitations import can_come_in, is_open
from annotation.services.access.roles import is_paused, is_rater
from annotation.services.pair_states import HAS_DECISION
from annotation.services.projects import find_project
from annotation.services.rating.desk import HAS_SLOT, NOT_NEW
from annotation.services.rating.share import read_shares
from annotation.types import Role, SkipReason
from db import Database
from db.models import Assignment, Invitation, Membership, Pair, RaterState, SetAside, Skip, User

PAGE_LENGTH = 50

_BROKEN = (
    select(func.count(Skip.rater_id.distinct()))
    .join(Assignment, and_(Assignment.pair_id == Skip.pair_id, Assignment.rater_id == Skip.rater_id))
    .where(
        Skip.pair_id == Pair.id,
        Skip.reason == SkipReason.BROKEN_TEXT.value,
        Assignment.state == "skipped",
    )
    .correlate(Pair)
    .scalar_subquery()
)
"""Of a pair, the raters whose skip of it stands and who called its text broken."""


@dataclass(frozen=True, slots=True)
class StuckPair:
    external_id: str
    type: str
    grades: int
    """How many it has."""
    missing: int
    """How many it lacks, besides those that raters have before them."""
    raters_left: int
    """Who may still grade it: fewer than `missing`."""
    skips: int
    broken: int
    """Raters who skipped it and said that its text is broken."""


@dataclass(frozen=True, slots=True)
class StuckPairs:
    total: int
    raters_per_pair: int
    raters: int
    """Who can be given pairs of the project at all, but for the limit of pairs per rater."""
    full: int
    """Those of them who have as many pairs as the limit allows, and are left for none."""
    by_limit: int
    """How many of the pairs are listed for that reason alone."""
    most_per_rater: int | None
    lowest_raters: int
    """The settings refuse a smaller number of raters for a pair: some pair has had that many."""
    open_links: int
    """Links that make somebody a rater of the project, and that nobody has used yet."""
    room: int
    """How many pairs the limit of pairs per rater lets the raters still be given; 0 without a limit."""
    short_by: int
    """How many of the grades that no rater has before them are more than that; 0 without a limit."""
    broken: int
    """How many of the pairs a rater skipped as broken."""
    paused: int
    """Raters who are paused, but for those whose grades are set aside."""
    items: tuple[StuckPair, ...]
    """In the order of import; the first ones."""

    @property
    def fewer_would_do(self) -> bool:
        """Whether the number of raters for a pair can be lowered at all."""
        return max(1, self.lowest_raters) < self.raters_per_pair

    @property
    def short_text(self) -> str:
        """That the limit will be too low for the raters there are; nothing where all have reached it."""
        if not self.room or not self.short_by:
            return ""
        return (
            f"The limit of {self._most_text} per rater leaves the raters room for {self.room:,} of the "
            f"{self.room + self.short_by:,} grades that are still to be given out"
        )

    @property
    def _most_text(self) -> str:
        return "1 pair" if self.most_per_rater == 1 else f"{self.most_per_rater:,} pairs"

    @property
    def limit_text(self) -> str:
        """Who has reached the limit of pairs per rater; nothing where that keeps no pair back."""
        if not self.by_limit:
            return ""
        if self.full == self.raters:
            who = "All raters have"
        else:
            who = "1 rater has" if self.full == 1 else f"{self.full:,} raters have"
        which = "" if self.by_limit == self.total else f", which keeps {self.by_limit:,} of them back"
        return f"{who} reached the limit of {self._most_text} per rater{which}"

    @property
    def broken_text(self) -> str:
        """That a rater found some to be unfit; nothing where none did."""
        if not self.broken:
            return ""
        which = "1 of them was" if self.broken == 1 else f"{self.broken:,} of them were"
        which = "It was" if self.total == 1 else which
        return f"{which} skipped for a broken text: a pair that cannot be graded can be withdrawn"

    @property
    def paused_text(self) -> str:
        """How to get somebody back, as the end of a sentence; nothing where nobody is paused."""
        return ", or resume one who is paused" if self.paused else ""

    @property
    def links_text(self) -> str:
        """That somebody may still come; nothing where nobody is invited."""
        if not self.open_links:
            return ""
        if self.open_links == 1:
            return "1 link for a rater has not been used: the person who opens it may grade these pairs too."
        return (
            f"{self.open_links:,} links for raters have not been used: the people who open them may grade "
            "these pairs too."
        )


class StuckService:
    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def stuck(self, project_id: int, *, limit: int | None = PAGE_LENGTH) -> StuckPairs:
        """The pairs without a decision that lack more grades than there are raters left for them.

        A rater is left for a pair who is neither paused nor disabled, can sign in or has an open link to do
        so, has neither graded nor skipped it, nor is barred from it, and has not all the pairs that the
        project's limit allows.

        Args:
            limit: how many are listed at most; None for all.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            fewest = session.scalar(select(func.min(Pair.open_slots)).where(Pair.project_id == project.id))
            now = self._clock()
            raters = session.scalars(_may_grade(project.id, now)).all()
            links = session.scalar(_open_links(project.id, now)) or 0
            paused = session.scalar(_paused(project.id, now)) or 0
            shares = read_shares(session, project)
            left, room, short_by = raters, 0, 0
            if shares is not None:
                left = [rater for rater in raters if shares[rater].left > 0]
                room = sum(shares[rater].left for rater in left)
                lacking = session.scalar(select(func.sum(Pair.open_slots)).where(*_undecided(project.id)))
                short_by = max(0, (lacking or 0) - room)
            listing = _lacking(project.id, left)
            total = _count(session, listing)
            others = _count(session, _lacking(project.id, raters)) if len(left) < len(raters) else total
            broken = _count(session, listing.where(_BROKEN > 0)) if total else 0
            rows = session.execute(listing.limit(limit)).all() if total else []
        lowest = 0 if fewest is None else project.raters_per_pair - fewest
        return StuckPairs(
            total,
            project.raters_per_pair,
            raters=len(raters),
            full=len(raters) - len(left),
            by_limit=total - others,
            most_per_rater=project.most_per_rater,
            lowest_raters=lowest,
            open_links=links,
            room=room,
            short_by=short_by,
            broken=broken,
            paused=paused,
            items=tuple(StuckPair(*row) for row in rows),
        )


def _count(session: Session, listing: Select[*tuple[Any, ...]]) -> int:
    return session.scalar(select(func.count()).select_from(listing.order_by(None).subquery())) or 0


def _open_links(project_id: int, now: datetime) -> Select[int]:
    """How many links bring the project another rater: of accounts that can sign in and are none yet."""
    rates = exists().where(is_rater(Invitation.user_id, project_id))
    return (
        select(func.count())
        .select_from(Invitation)
        .outerjoin(User, User.id == Invitation.user_id)
        .where(
            Invitation.project_id == project_id,
            Invitation.role == Role.RATER.value,
            is_open(now),
            User.disabled_at.is_(None),
            ~rates,
        )
    )


def _paused(project_id: int, now: datetime) -> Select[int]:
    """How many raters who can come in are paused, but for those whose grades are set aside: they are never
    given these pairs again.
    """
    has_set_aside = exists().where(SetAside.project_id == project_id, SetAside.rater_id == RaterState.user_id)
    return (
        select(func.count())
        .select_from(RaterState)
        .join(User, User.id == RaterState.user_id)
        .join(Membership, is_rater(User.id, project_id))
        .where(
            RaterState.project_id == project_id,
            RaterState.paused_at.is_not(None),
            can_come_in(now),
            ~has_set_aside,
        )
    )


def _may_grade(project_id: int, now: datetime) -> Select[int]:
    """The ids of the raters who can be given pairs, now or once they have opened their link."""
    raters = select(User.id).join(Membership, is_rater(User.id, project_id))
    return raters.where(can_come_in(now), ~is_paused(User.id, project_id))


def _undecided(project_id: int) -> tuple[ColumnElement[bool], ...]:
    return (Pair.project_id == project_id, HAS_SLOT, ~HAS_DECISION)


def _lacking(project_id: int, raters: Sequence[int]) -> Select[*tuple[Any, ...]]:
    def of_pair(*where: ColumnElement[bool]) -> ColumnElement[int]:
        counted = select(func.count()).where(Assignment.pair_id == Pair.id, *where)
        return counted.correlate(Pair).scalar_subquery()

    left = len(raters) - of_pair(Assignment.rater_id.in_(raters), Assignment.state.in_(NOT_NEW))
    return (
        select(
            Pair.external_id,
            Pair.type,
            Pair.rating_count,
            Pair.open_slots,
            left,
            of_pair(Assignment.state == "skipped"),
            _BROKEN,
        )
        .where(*_undecided(project_id), left < Pair.open_slots)
        .order_by(Pair.import_order)
    )
