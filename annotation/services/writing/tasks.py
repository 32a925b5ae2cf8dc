"""What a writer sees: their item with what is to be said of their text, and how far all is."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from annotation.authoring import Task, WritingDesk, check_text
from annotation.services.writing.claims import count_open
from annotation.services.writing.plan import NOT_AGAIN, WITH_WRITER, WritingTerms
from annotation.services.writing.rows import balance_of, same_group
from annotation.types import Project
from db.models import LargerItem, Writing

EARLIER = 2_000
"""A text is compared with this many earlier ones of its type and genre, the newest first."""


def writer_desk(
    session: Session, project: Project, plan: WritingTerms, writer_id: int, row: Writing | None
) -> WritingDesk:
    counts = dict(
        session.execute(
            select(Writing.state, func.count())
            .where(Writing.project_id == project.id, Writing.writer_id == writer_id)
            .group_by(Writing.state)
        ).all()
    )
    groups = balance_of(session, project.id, project.settings.types)
    task = None if row is None else task_of(session, row, plan)
    genre = None if row is None else session.get_one(LargerItem, row.item_id).genre
    balance = next((each for each in groups if task and (each.type, each.genre) == (task.type, genre)), None)
    return WritingDesk(
        task=task,
        submitted=counts.get("submitted", 0),
        accepted=counts.get("accepted", 0),
        sent_back=counts.get("sent_back", 0),
        unwritten=count_open(session, project.id, writer_id),
        is_waiting=task is None and _is_anything_out(session, project.id, writer_id),
        balance=None if balance is None else balance.counts[1:],
        has_genre=genre is not None,
    )


def _is_anything_out(session: Session, project_id: int, writer_id: int) -> bool:
    """Whether an item may still come to this writer: others hold it, and they have not left it to them."""
    mine = select(Writing.item_id).where(Writing.writer_id == writer_id, Writing.state.in_(NOT_AGAIN))
    is_out = exists().where(
        Writing.project_id == project_id, Writing.state.in_(WITH_WRITER), Writing.item_id.not_in(mine)
    )
    return bool(session.scalar(select(is_out)))


def task_of(session: Session, row: Writing, plan: WritingTerms) -> Task:
    """The item with the text, without what is to be said of it: `compared` finds that."""
    item = session.get_one(LargerItem, row.item_id)
    return Task(
        id=row.id,
        type=item.type,
        left=item.text,
        grade=row.grade,
        text=row.text,
        version=row.version,
        state=row.state,
        note=row.note,
        seconds=row.seconds or 0.0,
        bounds=plan.of(item.type).smaller,
    )


def compared(session: Session, task: Task) -> Task:
    """The task with what is to be said of its text, which is compared with 2,000 others.

    That takes long, so that it is for a session that reads: it would keep everybody else from saving.
    """
    item = session.get_one(LargerItem, session.get_one(Writing, task.id).item_id)
    assert task.bounds is not None
    earlier = _earlier(session, item) if task.text.strip() else []
    return replace(task, check=check_text(task.text, item.text, task.bounds, earlier))


def _earlier(session: Session, item: LargerItem) -> list[str]:
    """What was written for other items of the type and genre, the newest first."""
    other = Writing.item_id == LargerItem.id
    return list(
        session.scalars(
            select(Writing.text)
            .join(LargerItem, other)
            .where(
                same_group(item.project_id, item.type, item.genre),
                LargerItem.id != item.id,
                Writing.state.in_(("submitted", "sent_back", "accepted")),
            )
            .order_by(Writing.updated_at.desc())
            .limit(EARLIER)
        )
    )
