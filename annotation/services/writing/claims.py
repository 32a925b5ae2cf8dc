"""Which item a writer has, and the next one for them. The plan of the project is locked meanwhile."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.orm import Session

from annotation.authoring import UNRELATED, group_name, next_grade
from annotation.services.writing.plan import NOT_AGAIN, WITH_WRITER
from annotation.services.writing.rows import GRADES, lease_of, same_group, taken_of
from annotation.types import Project
from db.models import LargerItem, Writing, WritingPlan


def current_writing(session: Session, project_id: int, writer_id: int) -> Writing | None:
    """What the writer has: what they are at, else what was sent back to them first."""
    return session.scalar(
        select(Writing)
        .where(
            Writing.project_id == project_id,
            Writing.writer_id == writer_id,
            Writing.state.in_(WITH_WRITER),
        )
        .order_by(Writing.state == "sent_back", Writing.updated_at, Writing.id)
        .limit(1)
    )


def claim_item(
    session: Session, project: Project, plan: WritingPlan, writer_id: int, now: datetime
) -> Writing | None:
    """The next item for this writer, now held; None when there is none. Items for grade 0 are reserved."""
    while True:
        item = _open_item(session, project.id, writer_id)
        if item is None:
            return None
        taken = taken_of(session, project.id, item.type, item.genre)
        grade = next_grade(
            taken,
            seed=project.settings.seed,
            group=group_name(item.type, item.genre),
            has_zeros=plan.has_zeros,
        )
        if grade != UNRELATED:
            return _hold(session, item, grade, writer_id, project, now)
        _without_draft(session, item).grade = UNRELATED
        session.flush()


def count_open(session: Session, project_id: int, writer_id: int) -> int:
    """How many items nobody has that this writer may be given: without those that they left."""
    mine = and_(Writing.item_id == LargerItem.id, Writing.writer_id == writer_id)
    counted = select(func.count(LargerItem.id)).outerjoin(Writing, mine)
    return session.scalar(counted.where(*_open_to(project_id))) or 0


def _open_to(project_id: int) -> tuple[ColumnElement[bool], ...]:
    """Of a larger item and, where there is one, the writer's own row of it."""
    return (
        LargerItem.project_id == project_id,
        LargerItem.grade.is_(None),
        LargerItem.withdrawn_at.is_(None),
        func.coalesce(Writing.state, "").not_in(NOT_AGAIN),
    )


def _open_item(session: Session, project_id: int, writer_id: int) -> LargerItem | None:
    """What the writer began and lost comes first, then the order of writing; never what they left."""
    mine = and_(Writing.item_id == LargerItem.id, Writing.writer_id == writer_id)
    has_draft = func.coalesce(func.length(Writing.text), 0) > 0
    return session.scalar(
        select(LargerItem)
        .outerjoin(Writing, mine)
        .where(*_open_to(project_id))
        .order_by(has_draft.desc(), LargerItem.position, LargerItem.id)
        .limit(1)
    )


def _without_draft(session: Session, item: LargerItem) -> LargerItem:
    """An open item of the same group that nobody has begun, else `item`: to be reserved."""
    begun = exists().where(Writing.item_id == LargerItem.id, func.length(Writing.text) > 0)
    found = session.scalar(
        select(LargerItem)
        .where(
            same_group(item.project_id, item.type, item.genre),
            LargerItem.grade.is_(None),
            LargerItem.withdrawn_at.is_(None),
            ~begun,
        )
        .order_by(LargerItem.position, LargerItem.id)
        .limit(1)
    )
    return found or item


def _hold(
    session: Session, item: LargerItem, grade: int, writer_id: int, project: Project, now: datetime
) -> Writing:
    item.grade = grade
    row = session.scalar(select(Writing).where(Writing.item_id == item.id, Writing.writer_id == writer_id))
    if row is None:
        row = Writing(
            project_id=project.id, item_id=item.id, writer_id=writer_id, text="", version=0, note=""
        )
        session.add(row)
    row.state, row.grade = "held", grade
    row.claimed_at = row.updated_at = now
    row.lease_expires_at = now + lease_of(project)
    session.flush()
    return row


def take_again(session: Session, row: Writing, plan: WritingPlan, now: datetime) -> bool:
    """Have an item again whose lease ran out, if nobody has it and its grade is still one to be requested."""
    item = session.get_one(LargerItem, row.item_id, populate_existing=True)
    if item.grade is not None or item.withdrawn_at is not None:
        return False
    taken = taken_of(session, row.project_id, item.type, item.genre)
    grades = range(UNRELATED if plan.has_zeros else UNRELATED + 1, GRADES)
    if taken.get(row.grade, 0) > min(taken.get(grade, 0) for grade in grades):
        return False
    item.grade, row.state, row.claimed_at, row.lease_expires_at = row.grade, "held", now, now
    return True
