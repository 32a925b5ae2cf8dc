"""Pairs as an adjudicator sees them, many at once, read within a transaction of the service's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Row, or_, select
from sqlalchemy.orm import Session

from annotation.adjudication import AdjudicationItem, Decision, ItemComment, shuffled, version_of
from annotation.senses.pair_senses import senses_from_json
from annotation.services.bulk import parts
from annotation.services.pair_states import is_flagged
from annotation.types import Cause, from_quarters
from db.models import Adjudication, AdjudicationChange, Comment, Pair, Project, Rating, User


@dataclass(frozen=True, slots=True)
class PairRecord:
    """The ratings of a pair and what was decided on it."""

    quarters: tuple[int, ...]
    """From the lowest to the highest."""
    last_rated_at: datetime | None
    standing: Adjudication | None
    """The decision that is the gold grade, if there is one."""
    history: tuple[Decision, ...]
    """Every decision on the pair and withdrawal of one, the last first."""
    version: str
    """Another one after every decision and rating."""

    @property
    def last(self) -> Decision | None:
        """The last decision on the pair, or withdrawal of one."""
        return self.history[0] if self.history else None

    @property
    def is_changed(self) -> bool:
        """Whether a rating came after the decision."""
        at = self.last_rated_at
        return self.standing is not None and at is not None and at > self.standing.decided_at


def read_items(session: Session, pair_ids: Iterable[int], project: Project) -> Iterator[AdjudicationItem]:
    """The pairs in the order of these ids, with their grades and comments, but not whose they are."""
    for ids in parts(pair_ids):
        pairs = {pair.id: pair for pair in session.scalars(select(Pair).where(Pair.id.in_(ids)))}
        records, comments = read_records(session, ids), _comments_of(session, ids)
        for id in ids:
            yield _item(pairs[id], project, records[id], comments[id])


def read_item(session: Session, pair: Pair, project: Project) -> AdjudicationItem:
    """As `read_items`, of one pair that has been read."""
    record = read_records(session, [pair.id])[pair.id]
    return _item(pair, project, record, _comments_of(session, [pair.id])[pair.id])


def read_records(session: Session, pair_ids: Sequence[int]) -> dict[int, PairRecord]:
    """The record of each pair, of as many as a statement takes."""
    ratings: dict[int, list[tuple[int, int, datetime]]] = defaultdict(list)
    given = select(Rating.pair_id, Rating.id, Rating.quarters, Rating.updated_at)
    for pair_id, id, quarters, at in session.execute(given.where(Rating.pair_id.in_(pair_ids))):
        ratings[pair_id].append((id, quarters, at))
    decisions = session.scalars(select(Adjudication).where(Adjudication.pair_id.in_(pair_ids)))
    standing = {decision.pair_id: decision for decision in decisions}
    history, last = _history_of(session, pair_ids)
    return {
        id: PairRecord(
            tuple(sorted(quarters for _, quarters, _ in ratings[id])),
            max((at for _, _, at in ratings[id]), default=None),
            standing.get(id),
            history.get(id, ()),
            version_of(last.get(id), ratings[id]),
        )
        for id in pair_ids
    }


def _history_of(
    session: Session, pair_ids: Sequence[int]
) -> tuple[dict[int, tuple[Decision, ...]], dict[int, int]]:
    """Of each pair with a decision its history, and the id of the last change in it."""
    change = AdjudicationChange
    rows: Any = session.execute(
        select(change.pair_id, change.id, change.quarters, change.cause, change.note, User.name, change.at)
        .join(User, User.id == change.adjudicator_id)
        .where(change.pair_id.in_(pair_ids))
        .order_by(change.pair_id, change.id.desc())
    )
    found = {id: list(of_pair) for id, of_pair in groupby(rows, key=attrgetter("pair_id"))}
    history = {id: tuple(map(_decision, of_pair)) for id, of_pair in found.items()}
    return history, {id: of_pair[0].id for id, of_pair in found.items()}


def _decision(row: Row[Any]) -> Decision:
    return Decision(
        None if row.quarters is None else from_quarters(row.quarters),
        Cause(row.cause) if row.cause else None,
        row.note,
        row.name,
        row.at,
    )


def _comments_of(session: Session, pair_ids: Sequence[int]) -> dict[int, list[ItemComment]]:
    rows = session.execute(
        select(Comment.pair_id, Comment.text, Comment.is_flagged).where(
            Comment.pair_id.in_(pair_ids), or_(Comment.is_flagged, Comment.text != "")
        )
    )
    comments: dict[int, list[ItemComment]] = defaultdict(list)
    for pair_id, text, is_problem in rows:
        comments[pair_id].append(ItemComment(text, is_problem))
    return comments


def _item(
    pair: Pair, project: Project, record: PairRecord, comments: Iterable[ItemComment]
) -> AdjudicationItem:
    return AdjudicationItem(
        pair_id=pair.id,
        external_id=pair.external_id,
        type=pair.type,
        left=pair.left,
        right=pair.right,
        grades=tuple(map(from_quarters, record.quarters)),
        comments=shuffled(comments, pair.id),
        spread=from_quarters(pair.spread_quarters),
        is_flagged=is_flagged(project, pair),
        is_changed=record.is_changed,
        decision=None if record.standing is None else record.last,
        history=record.history,
        senses=senses_from_json(pair.senses),
        version=record.version,
        is_withdrawn=pair.withdrawn_at is not None,
    )
