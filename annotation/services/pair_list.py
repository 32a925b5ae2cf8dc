"""All pairs of a project for its administrators: a page at a time, searched by id or text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, or_, select

from annotation.characters import LONG_BEGINNING, beginning, can_be_stored
from annotation.senses.network import PairSenses
from annotation.senses.pair_senses import senses_from_json
from annotation.services.beginnings import beginning_of
from annotation.services.bulk import count_where
from annotation.services.in_use import IN_USE
from annotation.services.pair_states import is_decided, is_flagged, is_fully_rated
from annotation.services.projects import find_project
from annotation.services.rating.held_back import held_back_from
from db import Database
from db.models import Pair, Project

PAGE_LENGTH = 50
_SHOWN_OF_SENSES = (("word_definition",), ("sense", "words"), ("sense", "definition"))
"""Where the column `senses` has what the list shows of a word and a sense, besides the word."""


class PairState(StrEnum):
    """How far a pair is."""

    OPEN = "open"
    """It lacks grades, and those that it has are not far apart."""
    GRADED = "fully graded"
    FLAGGED = "flagged"
    """Its grades are far apart, and it waits for a decision, also where it lacks grades."""
    DECIDED = "decided"
    WITHDRAWN = "withdrawn"
    """Given to nobody and counted nowhere, however far it was."""


@dataclass(frozen=True, slots=True)
class PairLine:
    id: int
    external_id: str
    type: str
    genre: str | None
    left: str
    """Its first words, as those of `right`, unless whole texts were asked for."""
    right: str
    grades: int
    state: PairState
    senses: PairSenses | None = None
    """Of a word and a sense."""


@dataclass(frozen=True, slots=True)
class PairPage:
    total: int
    """Of the pairs that were asked for."""
    withdrawn: int
    """How many of them are withdrawn."""
    raters_per_pair: int
    items: tuple[PairLine, ...]


class PairListService:
    def __init__(self, database: Database) -> None:
        self._database = database

    def pairs(
        self,
        project_id: int,
        *,
        search: str = "",
        state: PairState | None = None,
        limit: int | None = PAGE_LENGTH,
        offset: int = 0,
        has_whole_texts: bool = False,
        viewer: int | None = None,
    ) -> PairPage:
        """The pairs in the order of import, hidden check pairs not among them.

        Args:
            search: a part of the id or of one of the texts, of a sense its words, meaning or key; as it
                stands, or in other capital and small letters; which letters have others, PostgreSQL knows
                from the database's locale.
            state: only those in this state; None for all.
            limit: how many at most; None for all.
            offset: how many to leave out.
            has_whole_texts: the texts to their ends, not only their first words.
            viewer: who looks; a flagged or decided pair that is held back from them is open.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            states = _states(project, held_back_from(session, project, viewer))
            wanted = [Pair.project_id == project.id, *_found(search)]
            if state is not None:
                wanted.append(states[state])
            total = count_where(session, *wanted)
            withdrawn = count_where(session, *wanted, ~IN_USE)
            listing = _listing(states, is_whole=has_whole_texts).where(*wanted).order_by(Pair.import_order)
            rows = session.execute(listing.limit(limit).offset(offset)).all()
            items = tuple(_line(row, is_whole=has_whole_texts) for row in rows)
        return PairPage(total, withdrawn, project.raters_per_pair, items)


def _found(search: str) -> list[ColumnElement[bool]]:
    part = search.strip()
    if not part:
        return []
    if not can_be_stored(part):  # no pair has such a text, and PostgreSQL would not take it
        return [Pair.id.is_(None)]
    senses = [Pair.senses[path].as_string() for path in _SHOWN_OF_SENSES]
    texts = [Pair.external_id, Pair.left, Pair.right, *senses]
    # As it stands too: what a server's lower() makes of a letter may depend on the ones beside it.
    as_it_stands = [text.contains(part, autoescape=True) for text in texts]
    return [or_(*as_it_stands, *(text.icontains(part, autoescape=True) for text in texts))]


def _states(project: Project, held_back: ColumnElement[bool]) -> dict[PairState, ColumnElement[bool]]:
    """The condition of each; every pair meets one. One that is held back lacks grades."""
    graded = is_fully_rated(project)
    decided = and_(is_decided(project), ~held_back)
    flagged = and_(is_flagged(project), ~held_back)
    return {
        PairState.OPEN: and_(IN_USE, ~decided, ~graded, ~flagged),
        PairState.GRADED: and_(IN_USE, ~decided, graded, ~flagged),
        PairState.FLAGGED: and_(IN_USE, ~decided, flagged),
        PairState.DECIDED: and_(IN_USE, decided),
        PairState.WITHDRAWN: ~IN_USE,
    }


def _listing(states: Mapping[PairState, ColumnElement[bool]], *, is_whole: bool) -> Select[*tuple[Any, ...]]:
    texts = (Pair.left, Pair.right)
    return select(
        Pair.id,
        Pair.external_id,
        Pair.type,
        Pair.genre,
        *(texts if is_whole else (beginning_of(text, LONG_BEGINNING) for text in texts)),
        Pair.rating_count,
        Pair.senses,
        *(condition.label(state.name) for state, condition in states.items()),
    )


def _line(row: Any, *, is_whole: bool) -> PairLine:
    return PairLine(
        row.id,
        row.external_id,
        row.type,
        row.genre,
        row.left if is_whole else beginning(row.left, LONG_BEGINNING),
        row.right if is_whole else beginning(row.right, LONG_BEGINNING),
        row.rating_count,
        next(state for state in PairState if getattr(row, state.name)),
        senses_from_json(row.senses),
    )
