"""Handing larger items to writers, each at a grade that keeps the grades in balance, and keeping their texts.

An item is with one writer at a time, which an index makes sure of. Whoever hands out items or takes them back
holds the lock of the project's plan, so that the counts that a grade is chosen by stay true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from annotation.authoring import Check, Task, WritingDesk, WrittenText, text_problem
from annotation.clock import Clock, utcnow
from annotation.errors import NotFoundError, StaleTextError, TextError, WritingError
from annotation.notes import LONGEST_NOTE, clean_text, kept_text
from annotation.services.consent_rows import check_consent
from annotation.services.transactions import in_transaction
from annotation.services.writing.claims import claim_item, current_writing, take_again
from annotation.services.writing.plan import (
    WITH_WRITER,
    lock_plan,
    read_plan,
    return_expired_writings,
    terms_of,
)
from annotation.services.writing.rows import admit, lease_of, remember
from annotation.services.writing.tasks import compared, task_of, writer_desk
from annotation.types import Project, Role
from db import Database
from db.models import LargerItem, Writing, WritingPlan

RECENT = 20


@dataclass(frozen=True, slots=True)
class Draft:
    """What was kept of a text."""

    at: datetime
    version: int
    check: Check
    lost: str
    """Why the item is no longer the writer's; empty while it is. The text is kept either way."""


class WritingService:
    """What writers do. Every call checks that the user is a writer of the project."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def desk(self, project_id: int, writer_id: int) -> WritingDesk:
        """The item that the writer has, or the next one: one that was sent back first, then a new one.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a writer in it.
            ConsentError: they have to agree to the project's text first.
        """

        def look(session: Session, now: datetime) -> WritingDesk:
            project, _ = admit(session, project_id, writer_id, Role.WRITER)
            plan = lock_plan(session, project_id, now)
            check_consent(session, project_id, writer_id)  # once locked: that may have been a long wait
            return_expired_writings(session, project_id, now, but_writer=writer_id)
            row = current_writing(session, project_id, writer_id) or claim_item(
                session, project, plan, writer_id, now
            )
            if row is not None and row.state == "held":
                row.lease_expires_at = now + lease_of(project)
            session.flush()
            return writer_desk(session, project, terms_of(plan), writer_id, row)

        desk = in_transaction(self._database, self._clock, look)
        if desk.task is None:
            return desk
        with self._database.reading() as session:  # comparing takes long: nobody waits for it
            return replace(desk, task=compared(session, desk.task))

    def task(self, writing_id: int, writer_id: int) -> Task:
        """A text of the writer's own, as long as it is with them.

        Raises:
            NotFoundError: there is no such text of theirs.
            ConsentError: they have to agree to the project's text first.
            WritingError: it is submitted, or the item is no longer theirs.
        """
        with self._database.reading() as session:
            row = _own(session, writing_id, writer_id)
            admit(session, row.project_id, writer_id, Role.WRITER)
            check_consent(session, row.project_id, writer_id)
            _check_state(row)
            return compared(session, task_of(session, row, read_plan(session, row.project_id)))

    def keep(
        self, writing_id: int, writer_id: int, text: str, version: int, seconds: float | None = None
    ) -> Draft:
        """Keep the text as it is typed, and renew the lease.

        Args:
            version: of the text that was changed; an older one overwrites nothing.
            seconds: how long the writer looked at the item, altogether.

        Raises:
            NotFoundError: there is no such text of the writer's.
            AccessError: they are no longer a writer of the project, or have not agreed to its text.
            StaleTextError: it was changed in another window.
            WritingError: it is submitted or accepted already.
        """

        def keep(session: Session, now: datetime) -> tuple[datetime, int, str]:
            row, project, plan = _opened(session, writing_id, writer_id, now)
            is_mine = row.state in WITH_WRITER or take_again(session, row, plan, now)
            lost = "" if is_mine else _why_lost(session, row)
            _change(row, text, version, seconds, now)
            if row.state == "held":
                row.lease_expires_at = now + lease_of(project)
            return now, row.version, lost

        at, kept, lost = in_transaction(self._database, self._clock, keep)
        with self._database.reading() as session:
            row = _own(session, writing_id, writer_id)
            check = compared(session, task_of(session, row, read_plan(session, row.project_id))).check
        assert check is not None
        return Draft(at, kept, check, lost)

    def submit(
        self,
        writing_id: int,
        writer_id: int,
        text: str,
        version: int,
        seconds: float | None = None,
        senses: Mapping[str, Any] | None = None,
    ) -> WritingDesk:
        """Hand the text to the editors; the writer's desk after it. The same text again changes nothing.

        Args:
            senses: what is to be kept of a text that is a sense key.

        Raises:
            TextError: it is empty, or has not the size of its type.
            WritingError: the item is no longer the writer's.
            StaleTextError: it was changed in another window.
            NotFoundError, AccessError: as of `keep`.
        """

        def submit(session: Session, now: datetime) -> int:
            own = _own(session, writing_id, writer_id)
            if own.state == "submitted" and own.text == clean_text(text).strip():
                return own.project_id
            row, _, plan = _opened(session, writing_id, writer_id, now)
            if row.state not in WITH_WRITER and not take_again(session, row, plan, now):
                raise WritingError(_why_lost(session, row))
            _change(row, clean_text(text).strip(), version, seconds, now)
            if senses is not None:
                row.senses = dict(senses)
            item = session.get_one(LargerItem, row.item_id)
            if problem := text_problem(row.text, terms_of(plan).of(item.type).smaller):
                raise TextError(problem)
            row.state, row.lease_expires_at, row.note = "submitted", None, ""
            remember(session, row, "submitted", writer_id, now)
            return row.project_id

        return self.desk(in_transaction(self._database, self._clock, submit), writer_id)

    def leave_blank(self, writing_id: int, writer_id: int, note: str = "") -> WritingDesk:
        """Give the item to another writer, because this one does not understand it.

        They are not offered it again. The errors are those of `keep`.
        """
        said = kept_text(note, "note", LONGEST_NOTE)

        def leave(session: Session, now: datetime) -> int:
            own = _own(session, writing_id, writer_id)
            if own.state == "blank":
                return own.project_id
            row, _, _ = _opened(session, writing_id, writer_id, now)
            was_mine = row.state in WITH_WRITER
            row.state, row.lease_expires_at, row.note, row.updated_at = "blank", None, said, now
            if was_mine:
                session.get_one(LargerItem, row.item_id).grade = None
            remember(session, row, "blank", writer_id, now, said)
            return row.project_id

        return self.desk(in_transaction(self._database, self._clock, leave), writer_id)

    def recent(self, project_id: int, writer_id: int, limit: int = RECENT) -> tuple[WrittenText, ...]:
        """What the writer wrote last, newest first.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a writer in it.
        """
        with self._database.reading() as session:
            admit(session, project_id, writer_id, Role.WRITER)
            rows = session.execute(
                select(Writing, LargerItem.type, LargerItem.text, _IS_WITHDRAWN)
                .join(LargerItem, LargerItem.id == Writing.item_id)
                .where(
                    Writing.project_id == project_id,
                    Writing.writer_id == writer_id,
                    or_(Writing.state.not_in(("held", "returned")), _IS_WITHDRAWN),
                )
                .order_by(Writing.updated_at.desc(), Writing.id.desc())
                .limit(limit)
            )
            return tuple(
                WrittenText(
                    row.id,
                    type,
                    left,
                    row.text,
                    row.grade,
                    "withdrawn" if is_withdrawn else row.state,
                    row.note,
                    row.updated_at,
                )
                for row, type, left, is_withdrawn in rows
            )


_IS_WITHDRAWN = and_(LargerItem.withdrawn_at.is_not(None), Writing.state == "returned", Writing.text != "")
"""Of a text: its item was withdrawn while the writer was at it."""
ITEM_WITHDRAWN = (
    "This item was withdrawn, and no text is needed for it any more. Your text is kept; go on with the next "
    "one."
)
GONE = (
    "The time for this item ran out, and it went to somebody else or is wanted at another grade. Your text "
    "is kept, and shown again if you are given the item; go on with the next one."
)
_ENDED = {
    "submitted": "You submitted this text already: go on with the next one.",
    "accepted": "This text was accepted: go on with the next one.",
    "blank": "You left this item to somebody else: go on with the next one.",
    "handed_on": "An editor gave this item to somebody else: go on with the next one.",
}


def _why_lost(session: Session, row: Writing) -> str:
    item = session.get_one(LargerItem, row.item_id)
    return GONE if item.withdrawn_at is None else ITEM_WITHDRAWN


def _own(session: Session, writing_id: int, writer_id: int, *, lock: bool = False) -> Writing:
    statement = select(Writing).where(Writing.id == writing_id, Writing.writer_id == writer_id)
    if lock:
        statement = statement.with_for_update().execution_options(populate_existing=True)
    row = session.scalar(statement)
    if row is None:
        raise NotFoundError(f"There is no text {writing_id} of yours: go on with the one that is shown.")
    return row


def _opened(
    session: Session, writing_id: int, writer_id: int, now: datetime
) -> tuple[Writing, Project, WritingPlan]:
    """The writer's text with its project and plan, both locked."""
    project, _ = admit(session, _own(session, writing_id, writer_id).project_id, writer_id, Role.WRITER)
    plan = lock_plan(session, project.id, now)
    check_consent(session, project.id, writer_id)
    row = _own(session, writing_id, writer_id, lock=True)
    _check_state(row)
    return row, project, plan


def _check_state(row: Writing) -> None:
    if row.state in _ENDED:
        raise WritingError(_ENDED[row.state])


def _change(row: Writing, text: str, version: int, seconds: float | None, now: datetime) -> None:
    kept = clean_text(text)
    if seconds is not None:
        row.seconds = max(row.seconds or 0.0, seconds)
    if kept == row.text:
        return
    if version != row.version:
        raise StaleTextError(
            "This text was changed in another window: the text from there is shown, and yours below it."
        )
    row.text, row.version, row.updated_at = kept, row.version + 1, now
