"""How pairs are written in a project, and taking items back from writers who left them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, or_, select, update
from sqlalchemy.orm import Session

from annotation.comparison import Bounds, PairBounds, bounds_of
from annotation.services.transactions import insert_if_missing
from db.models import LargerItem, Writing, WritingPlan

WITH_WRITER = ("held", "sent_back")
SENT_BACK_TIME = timedelta(days=7)
"""How long a text that was sent back waits for its writer, who may not come every day."""
NOT_AGAIN = ("blank", "handed_on")
"""A writer is not offered the item again."""


@dataclass(frozen=True, slots=True)
class TypeTerms:
    """How pairs of one type are written, setting by setting."""

    larger_words: tuple[int, int]
    larger_sentences: tuple[int, int]
    smaller_words: tuple[int, int]
    smaller_sentences: tuple[int, int]
    has_zeros: bool
    """The same of all types."""

    @property
    def bounds(self) -> PairBounds:
        larger = Bounds(self.larger_words, self.larger_sentences)
        return PairBounds(larger, Bounds(self.smaller_words, self.smaller_sentences))


@dataclass(frozen=True, slots=True)
class WritingTerms:
    """How pairs are written in a project."""

    has_zeros: bool = True
    bounds: Mapping[str, Any] | None = None
    """By type, where they are not the usual ones."""

    def of(self, type: str) -> PairBounds:
        return bounds_of(type, self.bounds or {})

    def of_type(self, type: str) -> TypeTerms:
        return type_terms(self.of(type), self.has_zeros)


def type_terms(bounds: PairBounds, has_zeros: bool) -> TypeTerms:
    larger, smaller = bounds.larger, bounds.smaller
    return TypeTerms(larger.words, larger.sentences, smaller.words, smaller.sentences, has_zeros)


def read_plan(session: Session, project_id: int) -> WritingTerms:
    row = session.get(WritingPlan, project_id)
    return WritingTerms() if row is None else terms_of(row)


def terms_of(plan: WritingPlan) -> WritingTerms:
    return WritingTerms(plan.has_zeros, plan.bounds)


def lock_plan(session: Session, project_id: int, now: datetime) -> WritingPlan:
    """The row of the plan; nobody else hands out items or takes them back until the transaction ends."""
    values = {"project_id": project_id, "has_zeros": True, "updated_at": now, "bounds": {}}
    insert_if_missing(session, WritingPlan, values)
    statement = select(WritingPlan).where(WritingPlan.project_id == project_id)
    return session.scalars(statement.with_for_update().execution_options(populate_existing=True)).one()


def return_expired_writings(session: Session, project_id: int, now: datetime, *, but_writer: int) -> None:
    """Give back the items whose writers let their time run out; their texts stay. The plan is locked.

    That is the lease, or, of what was sent back, a week without a change of the text.
    """
    has_left = and_(Writing.state == "held", Writing.lease_expires_at <= now)
    never_came = and_(Writing.state == "sent_back", Writing.updated_at <= now - SENT_BACK_TIME)
    expired = (
        select(Writing.id)
        .where(
            Writing.project_id == project_id,
            or_(has_left, never_came),
            Writing.writer_id != but_writer,
        )
        .with_for_update()
    )
    _return(session, list(session.scalars(expired)))


def return_writings(session: Session, project_id: int, writer_id: int, now: datetime) -> None:
    """Give back what the writer has before them, as when they leave; what they submitted stays."""
    lock_plan(session, project_id, now)
    held = (
        select(Writing.id)
        .where(
            Writing.project_id == project_id,
            Writing.writer_id == writer_id,
            Writing.state.in_(WITH_WRITER),
        )
        .with_for_update()
    )
    _return(session, list(session.scalars(held)))


def return_all_writings(session: Session, writer_id: int, now: datetime) -> None:
    """Give back what the writer has before them in all projects.

    It locks their plans, which comes before locking users: whoever hands out items does it in this order.
    """
    projects = (
        select(Writing.project_id)
        .where(Writing.writer_id == writer_id, Writing.state.in_(WITH_WRITER))
        .distinct()
        .order_by(Writing.project_id)
    )
    for project_id in session.scalars(projects).all():
        return_writings(session, project_id, writer_id, now)


def _return(session: Session, writing_ids: list[int]) -> None:
    if not writing_ids:
        return
    items = select(Writing.item_id).where(Writing.id.in_(writing_ids))
    session.execute(update(LargerItem).where(LargerItem.id.in_(items)).values(grade=None))
    session.execute(
        update(Writing).where(Writing.id.in_(writing_ids)).values(state="returned", lease_expires_at=None)
    )
