"""Larger items that come from files, in the transaction of the import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.assignment import place_in
from annotation.authoring import NewItem, ReadLargerItem
from annotation.comparison import comparison_type, foreign_type_text
from annotation.errors import ImportFileError
from annotation.exchange import fingerprint
from annotation.files.withheld import Withheld
from annotation.files.wrong_lines import WrongLines
from annotation.services.bulk import insert_rows, is_among
from annotation.services.imports.order import next_order
from annotation.services.writing.plan import WritingTerms
from annotation.sizes import size_of
from annotation.types import Project
from db.models import LargerItem


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
        self._withheld = Withheld()
        self.added = 0
        self.duplicates: dict[str, None] = {}

    def add(self, items: Sequence[ReadLargerItem]) -> None:
        """Import a part, if no line of it or before it is wrong; else only find out which are."""
        prints = {id(item): _fingerprint(item) for item in items if isinstance(item, NewItem)}
        part = self._look_up([item for item in items if isinstance(item, NewItem)], set(prints.values()))
        for item in items:
            problem = item if isinstance(item, ImportFileError) else self._sort(item, prints[id(item)], part)
            if problem is not None:
                self._wrong.add(problem)
        if self._wrong:
            for item, print in part.new:
                self._withheld.add(item.type, item.id, print)
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
        there = part.by_id.get((item.type, item.id)) or self._withheld.fingerprint_of(item.type, item.id)
        if there not in (None, print):
            return ImportFileError(
                f"{item.where}, field 'id': {item.id!r} already exists with another text; give this item "
                "another id."
            )
        if print in part.taken or print in self._withheld:
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
            "position": place_in(settings, item.type, item.id, order),
            "import_order": order,
        }


def _fingerprint(item: NewItem) -> str:
    return sha256(f"item\0{fingerprint(item.type, item.text, '')}".encode()).hexdigest()
