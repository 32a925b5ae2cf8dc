"""Pairs with all that was said of them, streamed in the order of import."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlalchemy import Executable, Row, exists, or_, select
from sqlalchemy.orm import Session

from annotation.senses.pair_senses import senses_from_json
from annotation.services.bulk import AT_ONCE
from annotation.services.in_use import IN_USE
from annotation.services.raters import names_of, rater_ids
from annotation.types import Cause, RatedPair, RaterComment, from_quarters
from db.models import Adjudication, Comment, Pair, Rating, User


def stream_pairs(session: Session, project_id: int, *, with_comments: bool = False) -> Iterator[RatedPair]:
    """Every pair of the project that is not withdrawn, its raters by account name; a few hundred are held
    at a time."""
    names = names_of(session, rater_ids(session, project_id))
    last = -1
    while pairs := session.execute(_pairs_after(project_id, last)).all():
        ids = [pair.id for pair in pairs]
        ratings = _ratings_of(session, ids)
        comments = _comments_of(session, ids) if with_comments else {}
        for pair in pairs:
            rated = _rated_pair(pair, [(names[rater], grade) for rater, grade in ratings[pair.id]])
            yield replace(rated, comments=tuple(comments.get(pair.id, ())))
        last = pairs[-1].import_order


def has_senses(session: Session, project_id: int) -> bool:
    """Whether a pair of the project has definitions of a word or a sense."""
    described = exists().where(Pair.project_id == project_id, Pair.senses.is_not(None), IN_USE)
    return bool(session.scalar(select(described)))


def _pairs_after(project_id: int, import_order: int) -> Executable:
    return (
        select(
            Pair.id,
            Pair.external_id,
            Pair.type,
            Pair.left,
            Pair.right,
            Pair.genre,
            Pair.intended_quarters,
            Pair.source,
            Pair.senses,
            Pair.import_order,
            Adjudication.quarters,
            Adjudication.cause,
        )
        .outerjoin(Adjudication, Adjudication.pair_id == Pair.id)
        .where(Pair.project_id == project_id, IN_USE, Pair.import_order > import_order)
        .order_by(Pair.import_order)
        .limit(AT_ONCE)
    )


def _ratings_of(session: Session, pair_ids: Sequence[int]) -> dict[int, list[tuple[int, Decimal]]]:
    rows = session.execute(
        select(Rating.pair_id, Rating.rater_id, Rating.quarters)
        .where(Rating.pair_id.in_(pair_ids))
        .order_by(Rating.pair_id, Rating.rater_id)
    )
    ratings: dict[int, list[tuple[int, Decimal]]] = defaultdict(list)
    for pair_id, rater_id, quarters in rows:
        ratings[pair_id].append((rater_id, from_quarters(quarters)))
    return ratings


def _comments_of(session: Session, pair_ids: Sequence[int]) -> dict[int, list[RaterComment]]:
    rows = session.execute(
        select(Comment.pair_id, User.name, Comment.text, Comment.is_flagged)
        .join(User, User.id == Comment.user_id)
        .where(Comment.pair_id.in_(pair_ids), or_(Comment.is_flagged, Comment.text != ""))
    )
    comments: dict[int, list[RaterComment]] = defaultdict(list)
    for pair_id, name, text, is_problem in rows:
        comments[pair_id].append(RaterComment(name, text, is_problem))
    return comments


def _rated_pair(pair: Row[Any], ratings: list[tuple[str, Decimal]]) -> RatedPair:
    return RatedPair(
        id=pair.id,
        external_id=pair.external_id,
        type=pair.type,
        left=pair.left,
        right=pair.right,
        genre=pair.genre,
        intended=None if pair.intended_quarters is None else from_quarters(pair.intended_quarters),
        source=pair.source,
        ratings=tuple(ratings),
        adjudicated=None if pair.quarters is None else from_quarters(pair.quarters),
        cause=Cause(pair.cause) if pair.cause else None,
        senses=senses_from_json(pair.senses),
    )
