"""Putting the pairs of predicted keyphrases in the order that a project chose, within its transaction."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import bindparam, func, select, true, update
from sqlalchemy.orm import Session

from annotation.assignment import place_in
from annotation.predictions.pool import TYPE, uncertainty
from annotation.predictions.queue_order import Moving, QueueOrder, new_positions
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
    """In which order they will meet what is sent, unless whoever sends says another one."""
    chosen = order_of(session, project_id)
    sent = select(SentDocument.id).where(SentDocument.project_id == project_id).limit(1)
    is_first = chosen is QueueOrder.PROJECT and session.scalar(sent) is None
    return QueueOrder.DOCUMENT if is_first else chosen


def reorder(session: Session, project: Project, *, also_own: bool = False) -> None:
    """Let the pairs that nobody was given yet change places among themselves.

    Document by document all of them do, so that what is sent later comes between no phrases of a document:
    who is given a pair, and where a rater goes on, does not depend on where pairs stood before.

    Args:
        session: has locked the project's row.
        project: whose order counts.
        also_own: put them in the project's own order too; else they are in it already.
    """
    order = order_of(session, project.id)
    if order is QueueOrder.PROJECT and not also_own:
        return
    locked = select(Pair.id).where(Pair.project_id == project.id).order_by(Pair.id)
    session.execute(locked.with_for_update(key_share=True)).close()
    with_given = order is QueueOrder.DOCUMENT
    moving = _moving(session, project, with_given=with_given)
    before = {pair.pair_id: pair.position for pair in moving}
    moves = [
        {"pair": pair_id, "place": place}
        for pair_id, place in new_positions(moving, order).items()
        if before[pair_id] != place
    ]
    if moves:
        table: Any = Pair.__table__
        move = update(table).where(table.c.id == bindparam("pair")).values(position=bindparam("place"))
        session.connection().execute(move, moves)
    if moves and with_given:
        place = select(Pair.position).where(_IS_GIVEN).scalar_subquery()
        session.execute(
            update(Assignment)
            .where(Assignment.project_id == project.id, Assignment.position != place)
            .values(position=place)
        )


def _moving(session: Session, project: Project, *, with_given: bool) -> list[Moving]:
    is_waiting = ~select(Assignment.id).where(_IS_GIVEN).exists()
    scores: dict[int, list[float]] = defaultdict(list)
    for phrase_id, score in session.execute(
        select(SentPrediction.phrase_id, SentPrediction.score)
        .join(SentPhrase, SentPhrase.id == SentPrediction.phrase_id)
        .where(SentPhrase.project_id == project.id)
    ):
        scores[phrase_id].append(score)
    runs = select(SentRun.document_id, func.count().label("models")).group_by(SentRun.document_id).subquery()
    rows = session.execute(
        select(
            SentPhrase.id,
            Pair.id.label("pair_id"),
            Pair.type,
            Pair.external_id,
            Pair.position,
            Pair.import_order,
            SentDocument.id.label("document_id"),
            SentDocument.external_id.label("document"),
            runs.c.models,
        )
        .join(Pair, Pair.id == SentPhrase.pair_id)
        .join(SentDocument, SentDocument.id == SentPhrase.document_id)
        .join(runs, runs.c.document_id == SentPhrase.document_id)
        .where(SentPhrase.project_id == project.id, true() if with_given else is_waiting)
    )
    return [
        Moving(
            row.pair_id,
            row.position,
            place_in(project, row.type, row.external_id, row.import_order),
            uncertainty(scores[row.id], row.models),
            place_in(project, TYPE, row.document, row.document_id),
        )
        for row in rows
    ]


_IS_GIVEN = Assignment.pair_id == Pair.id
