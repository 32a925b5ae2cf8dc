"""The larger items for which pairs are written: importing them, and how large items may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from annotation.authoring import ItemSummary, ReadLargerItem
from annotation.clock import Clock, utcnow
from annotation.errors import SettingsError
from annotation.files.wrong_lines import WrongLines
from annotation.services.access.users import id_of
from annotation.services.audit import record
from annotation.services.bulk import count_where, parts
from annotation.services.imports.items import ItemImporter
from annotation.services.projects import as_project, find_project
from annotation.services.writing.plan import WritingTerms, lock_plan, read_plan, terms_of, type_terms
from annotation.setting_changes import merged_settings
from annotation.sizes import PairBounds, bounds_json
from annotation.types import User
from db import Database
from db.models import LargerItem, Writing

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
        items: Iterable[ReadLargerItem],
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
            wrong.tell()
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
            seen: the `TypeTerms` that the change of both began with, from `seen_settings`: what somebody
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
                    raise SettingsError(f"{type!r} is not a type of the project: choose one of {listed}.")
                if has_zeros is not None and seen is not None:
                    now_set = terms_of(row).of_type(type)
                    merged = merged_settings(type_terms(bounds, has_zeros), now_set, seen)
                    bounds, has_zeros = merged.bounds, merged.has_zeros
                row.bounds = {**row.bounds, type: bounds_json(bounds)}
                detail = {"type": type, **bounds_json(bounds)}
            if has_zeros is not None:
                row.has_zeros = has_zeros
                detail["has_zeros"] = has_zeros
            row.updated_at = now
            record(session, now, "writing changed", user_id=id_of(by), project_id=project_id, **detail)
            return terms_of(row)


def _state(row: LargerItem, found: str | None) -> str:
    if row.withdrawn_at is not None:
        return "withdrawn"
    if row.grade == 0:
        return "reserved" if row.pair_id is None else "paired"
    return found or "unwritten"
