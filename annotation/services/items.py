"""The larger items for which pairs are written: importing them, and how large items may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, cast

from sqlalchemy import Table, func, select
from sqlalchemy.orm import Session

from annotation.assignment import position_of
from annotation.authoring import ItemSummary, NewItem
from annotation.clock import Clock, utcnow
from annotation.comparison import comparison_type
from annotation.errors import ImportFileError, SettingsError
from annotation.exchange import fingerprint
from annotation.services.audit import record
from annotation.services.bulk import insert_rows, is_among
from annotation.services.projects import as_project, find_project
from annotation.services.users import id_of
from annotation.services.writing_plan import WritingTerms, lock_plan, read_plan
from annotation.sizes import PairBounds, bounds_json, size_of
from annotation.types import Project, User
from db import Database
from db.models import LargerItem, Writing

_ITEMS = cast(Table, LargerItem.__table__)
_AT_ONCE = 500
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
    """unwritten, withdrawn, or the state of its writing; set aside or paired for grade 0."""
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
        items: Iterable[NewItem],
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
        """
        now = self._clock()
        with self._database.session() as session:
            project = as_project(find_project(session, project_id, lock=True))
            importer = _Importer(session, project, read_plan(session, project_id))
            done = 0
            for part in _parts(items):
                importer.add(part)
                done += len(part)
                if progress is not None:
                    progress(done)
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
            counted = select(func.count()).where(LargerItem.project_id == project_id)
            return session.scalar(counted) or 0

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
        by: User | None = None,
    ) -> WritingTerms:
        """Set the bounds of a type, or whether items are set aside for pairs of grade 0.

        What is imported or written already stays.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: the project has no such type.
        """
        now = self._clock()
        with self._database.session() as session:
            project = as_project(find_project(session, project_id, lock=True))
            row = lock_plan(session, project_id, now)
            detail: dict[str, Any] = {}
            if type is not None and bounds is not None:
                if type not in project.settings.types:
                    listed = ", ".join(project.settings.types)
                    raise SettingsError(f"{type!r} is no type of the project: choose one of {listed}.")
                row.bounds = {**row.bounds, type: bounds_json(bounds)}
                detail = {"type": type, **bounds_json(bounds)}
            if has_zeros is not None:
                row.has_zeros = has_zeros
                detail["has_zeros"] = has_zeros
            row.updated_at = now
            record(session, now, "writing changed", user_id=id_of(by), project_id=project_id, **detail)
            return WritingTerms(row.has_zeros, row.bounds)


def item_fingerprint(type: str, text: str) -> str:
    return sha256(f"item\0{fingerprint(type, text, '')}".encode()).hexdigest()


def _state(row: LargerItem, found: str | None) -> str:
    if row.withdrawn_at is not None:
        return "withdrawn"
    if row.grade == 0:
        return "set aside" if row.pair_id is None else "paired"
    return found or "unwritten"


class _Importer:
    """The transaction of one import."""

    def __init__(self, session: Session, project: Project, plan: WritingTerms) -> None:
        self._session = session
        self._project = project
        self._bounds = {type: plan.of(type) for type in project.settings.types}
        last = session.scalar(
            select(func.max(LargerItem.import_order)).where(LargerItem.project_id == project.id)
        )
        self._order = 0 if last is None else last + 1
        self.added = 0
        self.duplicates: dict[str, None] = {}

    def add(self, items: Sequence[NewItem]) -> None:
        for item in items:
            self._check(item)
        prints = [item_fingerprint(item.type, item.text) for item in items]
        own = LargerItem.project_id == self._project.id
        by_id = {
            (id, type): print
            for id, type, print in self._session.execute(
                select(LargerItem.external_id, LargerItem.type, LargerItem.fingerprint).where(
                    own, is_among(self._session, LargerItem.external_id, {item.id for item in items})
                )
            )
        }
        taken = set(
            self._session.scalars(
                select(LargerItem.fingerprint).where(
                    own, is_among(self._session, LargerItem.fingerprint, set(prints))
                )
            )
        )
        rows: list[dict[str, Any]] = []
        for item, print in zip(items, prints, strict=True):
            if by_id.get((item.id, item.type), print) != print:
                raise ImportFileError(
                    f"{_where(item)}, field 'id': {item.id!r} is there already with another text; give this "
                    "item another id."
                )
            if print in taken:
                self.duplicates[item.id] = None
                continue
            taken.add(print)
            by_id[item.id, item.type] = print
            rows.append(self._row(item, print, self._order + len(rows)))
        insert_rows(self._session, _ITEMS, rows)
        self._order += len(rows)
        self.added += len(rows)

    def _check(self, item: NewItem) -> None:
        bounds = self._bounds.get(item.type)
        if bounds is None:
            raise ImportFileError(
                f"{_where(item)}, field 'type': {item.type!r} is no type of the project, which has "
                f"{', '.join(self._bounds)}; mend it or add it to the project."
            )
        if problem := bounds.larger.problem(size_of(item.text)):
            larger = comparison_type(item.type).larger.lower()
            raise ImportFileError(
                f"{_where(item)}, field 'text': the {larger} {problem}; mend it, leave it out, or set other "
                "bounds for its type."
            )

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
            "position": position_of(settings.seed, item.type, item.id) if settings.is_random else order,
            "import_order": order,
        }


def _where(item: NewItem) -> str:
    return item.place or f"Item {item.id!r}"


def _parts(items: Iterable[NewItem]) -> Iterator[list[NewItem]]:
    found = iter(items)
    while part := list(islice(found, _AT_ONCE)):
        yield part
