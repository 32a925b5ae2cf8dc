"""Putting the pairs of predicted keyphrases in the order that a project chose, within its transaction."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.orm import Session

from annotation.assignment import place_in
from annotation.predictions.pool import TYPE, uncertainty
from annotation.predictions.queue_order import QueueOrder, Waiting, new_positions
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
    waiting = _waiting(session, project)
    before = {pair.pair_id: pair.position for pair in waiting}
    moves = [
        {"pair": pair_id, "place": place}
        for pair_id, place in new_positions(waiting, order).items()
        if before[pair_id] != place
    ]
    if moves:
        table: Any = Pair.__table__
        move = update(table).where(table.c.id == bindparam("pair")).values(position=bindparam("place"))
        session.connection().execute(move, moves)


def _waiting(session: Session, project: Project) -> list[Waiting]:
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
        .where(SentPhrase.project_id == project.id, ~select(Assignment.id).where(_IS_GIVEN).exists())
    )
    return [
        Waiting(
            row.pair_id,
            row.position,
            place_in(project, row.type, row.external_id, row.import_order),
            uncertainty(scores[row.id], row.models),
            place_in(project, TYPE, row.document, row.document_id),
        )
        for row in rows
    ]


_IS_GIVEN = Assignment.pair_id == Pair.id
