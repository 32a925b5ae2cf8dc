"""Rows of pairs within a service's transaction: which count, how far each is, ids, order and senses.

Which pairs count: all of a project but those that are withdrawn.
A withdrawn pair keeps its grades, decisions and remarks. Whatever hands out, counts, measures or exports
pairs asks `IN_USE`; what keeps a project whole (settings, imports, ids and texts that are taken) does not, so
that the pair can be restored.

How far a pair is: whether it is fully rated, flagged, decided, and open again.

`project` is the row of a project or, in a query that joins it, the class `Project`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast, overload

from sqlalchemy import ColumnElement, Table, and_, exists, false, func, or_, select
from sqlalchemy.orm import Session

from annotation.errors import AnnotationError, NotFoundError, PairError, WritingError
from annotation.sense_pairs import senses_from_json, senses_to_json
from annotation.senses import WORD_TO_SENSE
from annotation.services.transactions import count_where, is_among, parts
from annotation.wording import can_be_stored
from db.models import Adjudication, LargerItem, Pair, Project, Rating, TrainingPair

_PAIRS = cast(Table, Pair.__table__)
IN_USE: ColumnElement[bool] = _PAIRS.c.withdrawn_at.is_(None)
"""Of a pair; the indexes of what is counted have its column."""


def of_pair_in_use(pair_id: Any, project_id: int) -> ColumnElement[bool]:
    """Of a row of the project that refers to a pair, where the pair itself is not read.

    Args:
        pair_id: its column.
    """
    withdrawn = select(_PAIRS.c.id).where(_PAIRS.c.project_id == project_id, ~IN_USE)
    return cast(ColumnElement[bool], pair_id.not_in(withdrawn))


def count_withdrawn(session: Session, project_id: int) -> int:
    return count_where(session, _PAIRS.c.project_id == project_id, ~IN_USE)


CHANGED = exists().where(Rating.pair_id == Adjudication.pair_id, Rating.updated_at > Adjudication.decided_at)
"""Of a decision: a rating came after it. While the pair is flagged it is open again."""
HAS_DECISION = exists().where(Adjudication.pair_id == Pair.id).correlate(Pair)
"""Of a pair, also of one that is open again."""


@overload
def is_flagged(project: Project, pair: Pair) -> bool: ...
@overload
def is_flagged(project: Project | type[Project]) -> ColumnElement[bool]: ...
def is_flagged(
    project: Project | type[Project], pair: Pair | type[Pair] = Pair
) -> bool | ColumnElement[bool]:
    """Its ratings are so far apart that it needs a decision, or has one; never without adjudication."""
    threshold = project.threshold_quarters
    if threshold is None:
        return false() if pair is Pair else False
    return pair.spread_quarters >= threshold


@overload
def is_fully_rated(project: Project, pair: Pair) -> bool: ...
@overload
def is_fully_rated(project: Project | type[Project]) -> ColumnElement[bool]: ...
def is_fully_rated(
    project: Project | type[Project], pair: Pair | type[Pair] = Pair
) -> bool | ColumnElement[bool]:
    """It has all the ratings that the project asks for."""
    return pair.rating_count >= project.raters_per_pair


def is_reopened(project: Project | type[Project]) -> ColumnElement[bool]:
    """Of a pair with its decision, which a query joins."""
    return and_(is_flagged(project), CHANGED)


def is_open(project: Project | type[Project]) -> ColumnElement[bool]:
    """It waits for a decision; a query joins the decisions, of which most pairs have none."""
    return and_(is_flagged(project), or_(Adjudication.id.is_(None), CHANGED))


def is_decided(project: Project) -> ColumnElement[bool]:
    """It has a decision that stands, where a query joins neither decisions nor projects."""
    return exists().where(Adjudication.pair_id == Pair.id, ~is_reopened(project)).correlate(Pair)


def next_order(session: Session, table: type[Pair | LargerItem | TrainingPair], project_id: int) -> int:
    """The number of the next one in a project, from 0; the row of the project is locked."""
    last = session.scalar(select(func.max(table.import_order)).where(table.project_id == project_id))
    return 0 if last is None else last + 1


_NOUNS: dict[type[Pair | LargerItem], str] = {Pair: "pair", LargerItem: "larger item"}
_ERRORS: dict[type[Pair | LargerItem], type[AnnotationError]] = {Pair: PairError, LargerItem: WritingError}


def find_by_ids(
    session: Session,
    table: type[Pair | LargerItem],
    project_id: int,
    ids: Sequence[str],
    type: str | None,
) -> dict[str, int]:
    """The number of each, by its id, in the order of `ids`; a check pair is not among them.

    Raises:
        NotFoundError: the project has no such pair or item.
        PairError, WritingError: an id is that of pairs, of items of several types.
    """
    noun, of_type = _NOUNS[table], [] if type is None else [table.type == type]
    wanted = list(dict.fromkeys(ids))
    found: dict[str, dict[str, int]] = {}
    for some in parts([id for id in wanted if can_be_stored(id)]):
        among = select(table.external_id, table.type, table.id).where(
            table.project_id == project_id, is_among(session, table.external_id, some), *of_type
        )
        for id, its_type, number in session.execute(among):
            found.setdefault(id, {})[its_type] = number
    for id in wanted:
        if id not in found:
            with_type = "" if type is None else f" of the type {type}"
            raise NotFoundError(f"There is no {noun} {id!r}{with_type} in this project: look at the list.")
        if len(found[id]) > 1:
            types = ", ".join(sorted(found[id]))
            raise _ERRORS[table](f"There are {noun}s {id!r} of several types ({types}): say which type.")
    return {id: next(iter(found[id].values())) for id in wanted}


class SmallerItem(NamedTuple):
    """A text that is, or may become, the smaller item of a pair."""

    type: str
    text: str
    chosen: Mapping[str, Any] | None
    """What its writer chose, with the sense key that it is of, as "key"."""

    @property
    def is_chosen(self) -> bool:
        return self.chosen is not None and self.chosen.get("key") == self.text


def senses_of(
    session: Session, project_id: int, type: str, right: str, chosen: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The writer's choice; else what another pair says of the same sense, without its word."""
    [senses] = senses_of_all(session, project_id, [SmallerItem(type, right, chosen)])
    return senses


def senses_of_all(
    session: Session, project_id: int, items: Sequence[SmallerItem]
) -> list[dict[str, Any] | None]:
    """The same of many: the pairs are looked through once, as no index has their texts."""
    asked = {item.text for item in items if item.type == WORD_TO_SENSE and not item.is_chosen}
    known: dict[str, dict[str, Any] | None] = {}
    for texts in parts(sorted(asked)):
        first = select(func.min(Pair.id)).where(
            Pair.project_id == project_id,
            Pair.type == WORD_TO_SENSE,
            Pair.senses.is_not(None),
            is_among(session, Pair.right, texts),
        )
        of_first = select(Pair.right, Pair.senses).where(Pair.id.in_(first.group_by(Pair.right)))
        known |= {right: _without_word(senses) for right, senses in session.execute(of_first)}
    return [_of(item, known) for item in items]


def _of(item: SmallerItem, known: Mapping[str, dict[str, Any] | None]) -> dict[str, Any] | None:
    if item.type != WORD_TO_SENSE:
        return None
    if item.chosen is not None and item.is_chosen:
        return {name: value for name, value in item.chosen.items() if name != "key"}
    return known.get(item.text)


def _without_word(senses: Mapping[str, Any] | None) -> dict[str, Any] | None:
    known = senses_from_json(senses)
    if known is None or known.sense is None:
        return None
    return senses_to_json(replace(known, flag=None, word_key=None, word_definition=""))
