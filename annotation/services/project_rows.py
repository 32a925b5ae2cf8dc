"""Rows of projects and pairs within a service's transaction: which count, how far they are, their order.

All pairs of a project count but those that are withdrawn. A withdrawn pair keeps its grades, decisions and
remarks. Whatever hands out, counts, measures or exports pairs asks `IN_USE`; what keeps a project whole
(settings, imports, ids and texts that are taken) does not, so that the pair can be restored.

`project` is the row of a project or, in a query that joins it, the class `Project`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, NamedTuple, cast, overload

from sqlalchemy import (
    ColumnElement,
    Table,
    and_,
    bindparam,
    exists,
    false,
    func,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.orm import Session

from annotation import types
from annotation.assignment import position_in
from annotation.errors import AnnotationError, NotFoundError, PairError, WritingError
from annotation.predictions import TYPE, Moving, QueueOrder, new_positions, positions_by_document, uncertainty
from annotation.scale import Scale
from annotation.sense_pairs import senses_from_json, senses_to_json
from annotation.senses import WORD_TO_SENSE
from annotation.services.transactions import count_where, is_among, parts
from annotation.translation import _
from annotation.types import ProjectSettings, RaterComment
from annotation.wording import can_be_name, can_be_stored, is_id, name_key
from db.models import (
    Adjudication,
    Assignment,
    Comment,
    LargerItem,
    Pair,
    Project,
    Rating,
    SentDocument,
    SentOrder,
    SentPhrase,
    SentPrediction,
    SentRun,
    TrainingPair,
    User,
)

_SHOWN = 120
"""Characters of a name that is asked for."""


def find_project(session: Session, name_or_id: str | int, *, lock: bool = False) -> Project:
    """The row of a project; locked, nobody else can change its settings or import into it.

    Raises:
        NotFoundError: there is none.
    """
    statement = select(Project).where(Project.checks_of_id.is_(None))
    if isinstance(name_or_id, int):
        statement = statement.where(Project.id == name_or_id)
    else:
        key = name_key(name_or_id) if can_be_name(name_or_id) else ""
        statement = statement.where(Project.name_key == key)
    if lock:  # raters go on: their rows only refer to this one
        statement = statement.with_for_update(key_share=True)
    can_be = isinstance(name_or_id, str) or is_id(name_or_id)
    row = session.scalar(statement) if can_be else None
    if row is None:
        raise NotFoundError(_no_project(session, name_or_id))
    return row


def _no_project(session: Session, asked: str | int) -> str:
    if isinstance(asked, int):
        return _("There is no project {value}: see the list of projects.", value=asked)
    kept = select(Project.name).where(Project.checks_of_id.is_(None))
    names = {name.casefold(): name for name in session.scalars(kept)}
    alike = get_close_matches(asked[:_SHOWN].casefold(), names, n=1)
    way = f"use {names[alike[0]]!r}, or another of" if alike else "see"
    return f"There is no project {asked[:_SHOWN]!r}: {way} `python -m annotation project list`."


def scale_of(row: Any) -> Scale:
    """The scale of a project, by its row or another one with the same columns."""
    step = Decimal(row.scale_step)
    return Scale(step, int(row.scale_low * step), int(row.scale_high * step))


def scale_in(session: Session, project_id: int) -> Scale:
    """The scale of the project with this id."""
    return scale_of(session.get_one(Project, project_id))


def as_project(row: Project) -> types.Project:
    scale = scale_of(row)
    settings = ProjectSettings(
        name=row.name,
        types=tuple(row.types),
        guidelines=row.guidelines,
        raters_per_pair=row.raters_per_pair,
        threshold=None if row.threshold_quarters is None else scale.from_steps(row.threshold_quarters),
        step=scale.from_steps(row.step_quarters),
        is_random=row.is_random,
        seed=row.seed,
        may_revise=row.may_revise,
        lease_minutes=row.lease_minutes,
        most_per_rater=row.most_per_rater,
        consent=row.consent or "",
        scale_words=row.scale_words or "",
        average=types.Average(row.average),
        repeat_percent=row.repeat_percent,
        scale=scale,
        language=row.language,
    )
    return types.Project(id=row.id, settings=settings, created_at=row.created_at)


def checks_project_of(session: Session, project_id: int) -> int | None:
    """The id of the project that keeps the check pairs of this one, if it has any."""
    return session.scalar(select(Project.id).where(Project.checks_of_id == project_id))


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


def comments_of(session: Session, pair_ids: Sequence[int]) -> dict[int, list[RaterComment]]:
    """What raters wrote of each of these pairs, and which they marked as a problem; no comment taken back."""
    rows = session.execute(
        select(Comment.pair_id, User.name, Comment.text, Comment.is_flagged)
        .join(User, User.id == Comment.user_id)
        .where(Comment.pair_id.in_(pair_ids), or_(Comment.is_flagged, Comment.text != ""))
    )
    comments: dict[int, list[RaterComment]] = defaultdict(list)
    for pair_id, name, text, is_problem in rows:
        comments[pair_id].append(RaterComment(name, text, is_problem))
    return comments


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
    """It has all the ratings that the project asks for: nobody else will be given it."""
    return pair.rating_count >= project.raters_per_pair


def is_finished(project: Project | type[Project]) -> ColumnElement[bool]:
    """Of a pair: it needs no more ratings, having all that the project asks for, or a decision.

    What the pages count as finished; the others lack ratings for a gold grade. A rater who has a decided pair
    may still grade it, which `is_fully_rated` tells.
    """
    return or_(is_fully_rated(project), HAS_DECISION)


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
            if type is not None:
                raise NotFoundError(
                    _(
                        "There is no {noun} {id} of the type {type} in this project: look at the list.",
                        noun=_(noun),
                        id=repr(id),
                        type=type,
                    )
                )
            raise NotFoundError(
                _("There is no {noun} {id} in this project: look at the list.", noun=_(noun), id=repr(id))
            )
        if len(found[id]) > 1:
            types = ", ".join(sorted(found[id]))
            raise _ERRORS[table](
                _(
                    "There are {noun}s {id} of several types ({types}): say which type.",
                    noun=_(noun),
                    id=repr(id),
                    types=types,
                )
            )
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
    return [_senses_of_item(item, known) for item in items]


def _senses_of_item(item: SmallerItem, known: Mapping[str, dict[str, Any] | None]) -> dict[str, Any] | None:
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


def lock_pairs(session: Session, project_id: int, *, is_deleting: bool = False) -> None:
    """Wait for raters who are grading, and let others wait; SQLite has them waiting already.

    In the order of ids, as everywhere, so that nobody waits for each other.

    Args:
        is_deleting: wait also for those who only refer to a pair, such as with a comment.
    """
    pairs = select(Pair.id).where(Pair.project_id == project_id).order_by(Pair.id)
    session.execute(pairs.with_for_update(key_share=not is_deleting)).close()


def order_of(session: Session, project_id: int) -> QueueOrder:
    """In which order the raters of a project meet predicted keyphrases."""
    kind = session.scalar(select(SentOrder.kind).where(SentOrder.project_id == project_id))
    return QueueOrder.PROJECT if kind is None else QueueOrder(kind)


def usual_order(session: Session, project_id: int) -> QueueOrder:
    """In which order they will meet what is sent, unless the sender chooses another one."""
    chosen = order_of(session, project_id)
    sent = select(SentDocument.id).where(SentDocument.project_id == project_id).limit(1)
    is_first = chosen is QueueOrder.PROJECT and session.scalar(sent) is None
    return QueueOrder.DOCUMENT if is_first else chosen


def reorder(session: Session, project: Project, *, before: QueueOrder | None = None) -> None:
    """Let the pairs of predicted keyphrases take the places that the project's order of them gives.

    Document by document all of them move, so that what is sent later comes between no phrases of a document,
    and in a project in the order of import the other pairs make room: who is given a pair, and where a rater
    goes on, does not depend on where pairs stood before. In the other orders those that nobody was given yet
    change places among themselves.

    Args:
        session: has locked the project's row.
        project: whose order counts.
        before: the order that this one replaces; without, pairs that no order moved are in the project's own.
    """
    order = order_of(session, project.id)
    if order is QueueOrder.PROJECT and before is None:
        return
    lock_pairs(session, project.id)
    if order is QueueOrder.DOCUMENT:
        moving = _all_that_move(session, project)
        _move(session, project, moving, positions_by_document(moving))
        return
    if before is QueueOrder.DOCUMENT:
        moving = _all_that_move(session, project)
        _move(session, project, moving, {pair.pair_id: pair.own for pair in moving})
    waiting = _predicted_pairs(session, project, with_given=False)
    _move(session, project, waiting, new_positions(waiting, order))


def _move(session: Session, project: Project, pairs: Sequence[Moving], positions: Mapping[int, int]) -> None:
    moves = [
        {"pair": pair.pair_id, "place": positions[pair.pair_id]}
        for pair in pairs
        if positions[pair.pair_id] != pair.position
    ]
    if not moves:
        return
    move = update(_PAIRS).where(_PAIRS.c.id == bindparam("pair")).values(position=bindparam("place"))
    session.connection().execute(move, moves)
    follow_pairs(session, project.id)


_IS_GIVEN = Assignment.pair_id == Pair.id


def follow_pairs(session: Session, project_id: int) -> None:
    """Give assignments the positions of their pairs, which have moved."""
    place = select(Pair.position).where(_IS_GIVEN).scalar_subquery()
    session.execute(
        update(Assignment)
        .where(Assignment.project_id == project_id, Assignment.position != place)
        .values(position=place)
    )


def _all_that_move(session: Session, project: Project) -> list[Moving]:
    """What changes places where documents are kept together.

    In a random order positions are so far apart that a document has room between two pairs; in the order of
    import it has none, and the pairs after it move up.
    """
    predicted = _predicted_pairs(session, project, with_given=True)
    if project.is_random:
        return predicted
    is_predicted = select(SentPhrase.id).where(SentPhrase.pair_id == Pair.id).exists()
    others = session.execute(
        select(Pair.id, Pair.position, Pair.import_order).where(Pair.project_id == project.id, ~is_predicted)
    )
    return predicted + [Moving(id, position, own, 0, own) for id, position, own in others]


def _predicted_pairs(session: Session, project: Project, *, with_given: bool) -> list[Moving]:
    is_waiting = ~select(Assignment.id).where(_IS_GIVEN).exists()
    scores: dict[int, list[float]] = defaultdict(list)
    for phrase_id, score in session.execute(
        select(SentPrediction.phrase_id, SentPrediction.score)
        .join(SentPhrase, SentPhrase.id == SentPrediction.phrase_id)
        .where(SentPhrase.project_id == project.id)
    ):
        scores[phrase_id].append(score)
    runs = select(SentRun.document_id, func.count().label("models")).group_by(SentRun.document_id).subquery()
    first = (
        select(SentPhrase.document_id, func.min(Pair.import_order).label("pair"))
        .join(Pair, Pair.id == SentPhrase.pair_id)
        .where(SentPhrase.project_id == project.id)
        .group_by(SentPhrase.document_id)
        .subquery()
    )
    rows = session.execute(
        select(
            SentPhrase.id,
            Pair.id.label("pair_id"),
            Pair.type,
            Pair.external_id,
            Pair.position,
            Pair.import_order,
            SentDocument.external_id.label("document"),
            first.c.pair.label("first"),
            runs.c.models,
        )
        .join(Pair, Pair.id == SentPhrase.pair_id)
        .join(SentDocument, SentDocument.id == SentPhrase.document_id)
        .join(first, first.c.document_id == SentPhrase.document_id)
        .join(runs, runs.c.document_id == SentPhrase.document_id)
        .where(SentPhrase.project_id == project.id, true() if with_given else is_waiting)
    )
    return [
        Moving(
            row.pair_id,
            row.position,
            position_in(project, row.type, row.external_id, row.import_order),
            uncertainty(scores[row.id], row.models),
            position_in(project, TYPE, row.document, row.first),
        )
        for row in rows
    ]
