"""Larger items that are withdrawn: no writer is given them, and what was written for them is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.errors import WritingError
from annotation.services.access.users import id_of
from annotation.services.audit import record
from annotation.services.bulk import parts
from annotation.services.named import find_named
from annotation.services.projects import find_project
from annotation.services.transactions import in_transaction
from annotation.services.writing.plan import WITH_WRITER, lock_plan
from annotation.types import User
from db import Database
from db.models import LargerItem, Writing


class ItemWithdrawalService:
    """Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def withdraw(
        self, project_id: int, ids: Sequence[str], *, type: str | None = None, by: User | None = None
    ) -> int:
        """Give the items to nobody any more, all or none; how many were not withdrawn yet.

        Whoever writes for one is told with the next save; a text that waits for an editor goes back to its
        writer's drafts.

        Raises:
            NotFoundError: there is no such project, or no such item in it.
            WritingError: an id is that of items of several types, or an item is a pair already.
        """

        def withdraw(session: Session, now: datetime) -> int:
            items = [
                item for item in self._found(session, project_id, ids, type, now) if not item.withdrawn_at
            ]
            for item in items:
                if item.pair_id is not None:
                    raise WritingError(
                        f"The item {item.external_id!r} is a pair already, which stays: leave it out."
                    )
            _take_from_writers(session, [item.id for item in items])
            for item in items:
                item.grade, item.withdrawn_at = None, now
            self._record(session, now, "items withdrawn", project_id, items, by)
            return len(items)

        return in_transaction(self._database, self._clock, withdraw)

    def restore(
        self, project_id: int, ids: Sequence[str], *, type: str | None = None, by: User | None = None
    ) -> int:
        """Give withdrawn items to writers again, those with a draft first; how many were withdrawn.

        Raises:
            NotFoundError: there is no such project, or no such item in it.
            WritingError: an id is that of items of several types.
        """

        def restore(session: Session, now: datetime) -> int:
            items = [item for item in self._found(session, project_id, ids, type, now) if item.withdrawn_at]
            for item in items:
                item.withdrawn_at = None
            self._record(session, now, "items restored", project_id, items, by)
            return len(items)

        return in_transaction(self._database, self._clock, restore)

    def _found(
        self, session: Session, project_id: int, ids: Sequence[str], type: str | None, now: datetime
    ) -> list[LargerItem]:
        """The items in the order of their ids, nobody else handing them out until the transaction ends."""
        find_project(session, project_id, lock=True)
        lock_plan(session, project_id, now)
        found = find_named(session, LargerItem, project_id, ids, type)
        items: dict[int, LargerItem] = {}
        for some in parts(found.values()):
            named = (
                select(LargerItem).where(LargerItem.id.in_(some)).execution_options(populate_existing=True)
            )
            items.update((item.id, item) for item in session.scalars(named))
        return [items[number] for number in found.values()]

    def _record(
        self,
        session: Session,
        now: datetime,
        action: str,
        project_id: int,
        items: Collection[LargerItem],
        by: User | None,
    ) -> None:
        if items:
            ids = [item.external_id for item in items]
            record(session, now, action, user_id=id_of(by), project_id=project_id, items=ids)


def _take_from_writers(session: Session, item_ids: Sequence[int]) -> None:
    for some in parts(item_ids):
        session.execute(
            update(Writing)
            .where(Writing.item_id.in_(some), Writing.state.in_((*WITH_WRITER, "submitted")))
            .values(state="returned", lease_expires_at=None)
        )
