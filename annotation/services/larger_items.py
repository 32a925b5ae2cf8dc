"""The larger items for which pairs are written: importing, listing, bounds of size, withdrawing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from annotation.assignment import position_in
from annotation.authoring import ItemSummary, LargerItemInput, NewItem
from annotation.changes import merge_settings
from annotation.comparison import PairBounds, bounds_json, comparison_type, foreign_type_text, size_of
from annotation.errors import ImportFileError, SettingsError, WritingError
from annotation.exchange import FollowingLines, WrongLines, fingerprint
from annotation.services.audit import record
from annotation.services.project_rows import as_project, find_by_ids, find_project, next_order
from annotation.services.transactions import count_where, in_transaction, insert_rows, is_among, parts
from annotation.services.users import id_of
from annotation.services.writing import WITH_WRITER, WritingTerms, lock_plan, read_plan, terms_of, type_terms
from annotation.translation import _
from annotation.types import Clock, Project, User, utcnow
from db import Database
from db.models import LargerItem, Writing


@dataclass(slots=True)
class _Part:
    """What is known while a part is imported."""

    by_id: dict[tuple[str, str], str]
    """Type and external id: fingerprint."""
    taken: set[str]
    """Fingerprints of items that are there."""
    new: list[tuple[NewItem, str]] = field(default_factory=list)


class ItemImporter:
    """The transaction of one import."""

    def __init__(self, session: Session, project: Project, plan: WritingTerms, wrong: WrongLines) -> None:
        self._session = session
        self._project = project
        self._wrong = wrong
        self._bounds = {type: plan.of(type) for type in project.settings.types}
        self._order = next_order(session, LargerItem, project.id)
        self._following = FollowingLines()
        self.added = 0
        self.duplicates: dict[str, None] = {}

    def add(self, items: Sequence[LargerItemInput]) -> None:
        """Import a part, if no line of it or before it is wrong; else only find out which are."""
        prints = {
            id(item): sha256(f"item\0{fingerprint(item.type, item.text, '')}".encode()).hexdigest()
            for item in items
            if isinstance(item, NewItem)
        }
        part = self._look_up([item for item in items if isinstance(item, NewItem)], set(prints.values()))
        for item in items:
            problem = item if isinstance(item, ImportFileError) else self._sort(item, prints[id(item)], part)
            if problem is not None:
                self._wrong.add(problem)
        if self._wrong:
            for item, print in part.new:
                self._following.add(item.type, item.id, print)
            return
        rows = [self._row(item, print, order) for order, (item, print) in enumerate(part.new, self._order)]
        insert_rows(self._session, LargerItem, rows)
        self._order += len(rows)
        self.added += len(rows)

    def _look_up(self, items: Sequence[NewItem], prints: set[str]) -> _Part:
        own = LargerItem.project_id == self._project.id
        ids = {item.id for item in items}
        known = self._session.execute(
            select(LargerItem.type, LargerItem.external_id, LargerItem.fingerprint).where(
                own, is_among(self._session, LargerItem.external_id, ids)
            )
        )
        taken = select(LargerItem.fingerprint).where(
            own, is_among(self._session, LargerItem.fingerprint, prints)
        )
        return _Part({(type, id): print for type, id, print in known}, set(self._session.scalars(taken)))

    def _sort(self, item: NewItem, print: str, part: _Part) -> ImportFileError | None:
        """Put the item where it belongs in the part, or tell why it cannot be used."""
        if problem := self._problem(item):
            return problem
        there = part.by_id.get((item.type, item.id)) or self._following.fingerprint_of(item.type, item.id)
        if there not in (None, print):
            return ImportFileError(
                f"{item.where}, field 'id': {item.id!r} already exists with another text; give this item "
                "another id."
            )
        if print in part.taken or print in self._following:
            self.duplicates[item.id] = None
        else:
            part.taken.add(print)
            part.by_id[item.type, item.id] = print
            part.new.append((item, print))
        return None

    def _problem(self, item: NewItem) -> ImportFileError | None:
        """Why it cannot be used by what it says alone."""
        bounds = self._bounds.get(item.type)
        if bounds is None:
            return ImportFileError(f"{item.where}{foreign_type_text(item.type, self._bounds)}")
        if problem := bounds.larger.problem(size_of(item.text)):
            larger = comparison_type(item.type).larger.lower()
            return ImportFileError(
                f"{item.where}, field 'text': the {larger} {problem}; fix it, leave it out, or set "
                "other bounds for its type."
            )
        return None

    def _row(self, item: NewItem, print: str, order: int) -> dict[str, Any]:
        settings = self._project.settings
        return {
            "project_id": self._project.id,
            "external_id": item.id,
            "type": item.type,
            "text": item.text.strip(),
            "genre": item.genre,
            "source": item.source,
            "fingerprint": print,
            "position": position_in(settings, item.type, item.id, order),
            "import_order": order,
        }


LISTED = 100


@dataclass(frozen=True, slots=True)
class ItemLine:
    """A larger item and how far it is."""

    id: str
    type: str
    text: str
    genre: str | None
    source: str | None
    state: str
    """unwritten, withdrawn, or the state of its writing; reserved or paired for grade 0."""
    blanks: int
    """How many writers did not understand it."""


class ItemService:
    """Larger items. Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def import_items(
        self,
        project_id: int,
        items: Iterable[LargerItemInput],
        *,
        by: User | None = None,
        progress: Callable[[int], None] | None = None,
        files: Sequence[str] = (),
    ) -> ItemSummary:
        """Import everything or, when anything is wrong, nothing; arguments are those of `import_pairs`.

        An item that is there already, under its own id or another, is left out and reported.

        Raises:
            NotFoundError: there is no such project.
            ImportFileError: an item cannot be used, or has not the size of its type.
            WrongLinesError: several cannot; the message tells how many, and the first few.
        """
        now = self._clock()
        with self._database.session() as session:
            project = as_project(find_project(session, project_id, lock=True))
            wrong = WrongLines()
            importer = ItemImporter(session, project, read_plan(session, project_id), wrong)
            done = 0
            for part in parts(items):
                importer.add(part)
                done += len(part)
                if progress is not None:
                    progress(done)
            wrong.raise_if_any()
            summary = ItemSummary(importer.added, tuple(importer.duplicates))
            record(
                session,
                now,
                "items imported",
                user_id=id_of(by),
                project_id=project_id,
                items=summary.items,
                duplicates=len(summary.duplicates),
                files=list(files),
            )
        return summary

    def items(self, project_id: int, limit: int | None = LISTED) -> list[ItemLine]:
        """The items in the order of import.

        Raises:
            NotFoundError: there is no such project.
        """
        at_work = Writing.state.in_(("held", "submitted", "sent_back", "accepted"))
        state = (
            select(Writing.state).where(Writing.item_id == LargerItem.id, at_work).limit(1).scalar_subquery()
        )
        blanks = (
            select(func.count())
            .where(Writing.item_id == LargerItem.id, Writing.state == "blank")
            .scalar_subquery()
        )
        with self._database.reading() as session:
            find_project(session, project_id)
            rows = session.execute(
                select(LargerItem, state, blanks)
                .where(LargerItem.project_id == project_id)
                .order_by(LargerItem.import_order)
                .limit(limit)
            )
            return [
                ItemLine(
                    row.external_id, row.type, row.text, row.genre, row.source, _state(row, found), count
                )
                for row, found, count in rows
            ]

    def count(self, project_id: int) -> int:
        with self._database.reading() as session:
            return count_where(session, LargerItem.project_id == project_id)

    def plan(self, project_id: int) -> WritingTerms:
        """How pairs are written in the project."""
        with self._database.reading() as session:
            return read_plan(session, project_id)

    def change_plan(
        self,
        project_id: int,
        *,
        type: str | None = None,
        bounds: PairBounds | None = None,
        has_zeros: bool | None = None,
        seen: str | None = None,
        by: User | None = None,
    ) -> WritingTerms:
        """Set the bounds of a type, or whether items are reserved for pairs of grade 0.

        What is imported or written already stays.

        Args:
            seen: the `TypeTerms` that the change of both began with, from `print_settings`: what somebody
                else changed since then stays.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: the project has no such type, or somebody else changed the same.
        """
        now = self._clock()
        with self._database.session() as session:
            project = as_project(find_project(session, project_id, lock=True))
            row = lock_plan(session, project_id, now)
            detail: dict[str, Any] = {}
            if type is not None and bounds is not None:
                if type not in project.settings.types:
                    listed = ", ".join(project.settings.types)
                    raise SettingsError(
                        _(
                            "{type} is not a type of the project: choose one of {types}.",
                            type=repr(type),
                            types=listed,
                        )
                    )
                if has_zeros is not None and seen is not None:
                    now_set = terms_of(row).of_type(type)
                    merged = merge_settings(type_terms(bounds, has_zeros), now_set, seen)
                    bounds, has_zeros = merged.bounds, merged.has_zeros
                row.bounds = {**row.bounds, type: bounds_json(bounds)}
                detail = {"type": type, **bounds_json(bounds)}
            if has_zeros is not None:
                row.has_zeros = has_zeros
                detail["has_zeros"] = has_zeros
            row.updated_at = now
            record(session, now, "writing changed", user_id=id_of(by), project_id=project_id, **detail)
            return terms_of(row)

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
            found = self._lock_items(session, project_id, ids, type, now)
            items = [item for item in found if not item.withdrawn_at]
            for item in items:
                if item.pair_id is not None:
                    raise WritingError(
                        _(
                            "The item {item} is a pair already, which stays: leave it out.",
                            item=repr(item.external_id),
                        )
                    )
            for some in parts([item.id for item in items]):
                is_out = Writing.state.in_((*WITH_WRITER, "submitted"))
                session.execute(
                    update(Writing)
                    .where(Writing.item_id.in_(some), is_out)
                    .values(state="returned", lease_expires_at=None)
                )
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
            found = self._lock_items(session, project_id, ids, type, now)
            items = [item for item in found if item.withdrawn_at]
            for item in items:
                item.withdrawn_at = None
            self._record(session, now, "items restored", project_id, items, by)
            return len(items)

        return in_transaction(self._database, self._clock, restore)

    def _lock_items(
        self, session: Session, project_id: int, ids: Sequence[str], type: str | None, now: datetime
    ) -> list[LargerItem]:
        """The items in the order of their ids, nobody else handing them out until the transaction ends."""
        find_project(session, project_id, lock=True)
        lock_plan(session, project_id, now)
        found = find_by_ids(session, LargerItem, project_id, ids, type)
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


def _state(row: LargerItem, found: str | None) -> str:
    if row.withdrawn_at is not None:
        return "withdrawn"
    if row.grade == 0:
        return "reserved" if row.pair_id is None else "paired"
    return found or "unwritten"
