"""Putting the pairs of predicted keyphrases in the order that a project chose, within its transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, func, select, true, update
from sqlalchemy.orm import Session

from annotation.assignment import place_in
from annotation.predictions.pool import TYPE, uncertainty
from annotation.predictions.queue_order import Moving, QueueOrder, new_positions, positions_by_document
from annotation.services.rating.desk import lock_pairs
from db.models import (
    Assignment,
    Pair,
    Project,
    SentDocument,
    SentOrder,
    SentPhrase,
    SentPrediction,
    SentRun,
)


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
    waiting = _predicted(session, project, with_given=False)
    _move(session, project, waiting, new_positions(waiting, order))


def _move(session: Session, project: Project, pairs: Sequence[Moving], positions: Mapping[int, int]) -> None:
    moves = [
        {"pair": pair.pair_id, "place": positions[pair.pair_id]}
        for pair in pairs
        if positions[pair.pair_id] != pair.position
    ]
    if not moves:
        return
    table: Any = Pair.__table__
    move = update(table).where(table.c.id == bindparam("pair")).values(position=bindparam("place"))
    session.connection().execute(move, moves)
    follow_pairs(session, project.id)


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
    predicted = _predicted(session, project, with_given=True)
    if project.is_random:
        return predicted
    is_predicted = select(SentPhrase.id).where(SentPhrase.pair_id == Pair.id).exists()
    others = session.execute(
        select(Pair.id, Pair.position, Pair.import_order).where(Pair.project_id == project.id, ~is_predicted)
    )
    return predicted + [Moving(id, position, own, 0, own) for id, position, own in others]


def _predicted(session: Session, project: Project, *, with_given: bool) -> list[Moving]:
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
            place_in(project, row.type, row.external_id, row.import_order),
            uncertainty(scores[row.id], row.models),
            place_in(project, TYPE, row.document, row.first),
        )
        for row in rows
    ]


_IS_GIVEN = Assignment.pair_id == Pair.id
