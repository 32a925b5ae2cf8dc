"""A pair as an adjudicator sees it, read within a transaction of the service's."""

from __future__ import annotations

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from annotation.adjudication import AdjudicationItem, Decision, ItemComment, shuffled, version_of
from annotation.senses.pair_senses import senses_from_json
from annotation.services.pair_states import CHANGED, is_flagged
from annotation.types import Cause, from_quarters
from db.models import Adjudication, AdjudicationChange, Comment, Pair, Project, Rating, User


def read_item(session: Session, pair: Pair, project: Project) -> AdjudicationItem:
    """The pair with what was said of it, and nothing of who said it."""
    grades = session.scalars(
        select(Rating.quarters).where(Rating.pair_id == pair.id).order_by(Rating.quarters)
    ).all()
    comments = session.execute(
        select(Comment.text, Comment.is_flagged).where(
            Comment.pair_id == pair.id, or_(Comment.is_flagged, Comment.text != "")
        )
    )
    standing = read_standing(session, pair.id)
    history = read_history(session, pair.id)
    return AdjudicationItem(
        pair_id=pair.id,
        external_id=pair.external_id,
        type=pair.type,
        left=pair.left,
        right=pair.right,
        grades=tuple(from_quarters(quarters) for quarters in grades),
        comments=shuffled((ItemComment(*row) for row in comments), pair.id),
        spread=from_quarters(pair.spread_quarters),
        is_flagged=is_flagged(project, pair),
        is_changed=standing is not None and is_changed(session, standing),
        decision=history[0] if standing is not None else None,
        history=history,
        senses=senses_from_json(pair.senses),
        version=read_version(session, pair.id),
        is_withdrawn=pair.withdrawn_at is not None,
    )


def read_history(session: Session, pair_id: int) -> tuple[Decision, ...]:
    """Every decision on the pair and withdrawal of one, the last first."""
    rows = session.execute(
        select(AdjudicationChange, User.name)
        .join(User, User.id == AdjudicationChange.adjudicator_id)
        .where(AdjudicationChange.pair_id == pair_id)
        .order_by(AdjudicationChange.id.desc())
    )
    return tuple(
        Decision(
            None if change.quarters is None else from_quarters(change.quarters),
            Cause(change.cause) if change.cause else None,
            change.note,
            name,
            change.at,
        )
        for change, name in rows
    )


def read_version(session: Session, pair_id: int) -> str:
    """What is another one after every decision and rating."""
    last = select(func.max(AdjudicationChange.id)).where(AdjudicationChange.pair_id == pair_id)
    ratings = session.execute(
        select(Rating.id, Rating.quarters, Rating.updated_at).where(Rating.pair_id == pair_id)
    )
    return version_of(session.scalar(last), [(row.id, row.quarters, row.updated_at) for row in ratings])


def read_standing(session: Session, pair_id: int) -> Adjudication | None:
    """The decision that is the gold grade, if there is one."""
    return session.scalar(select(Adjudication).where(Adjudication.pair_id == pair_id))


def is_changed(session: Session, standing: Adjudication) -> bool:
    """Whether a rating came after the decision."""
    return bool(session.scalar(select(CHANGED).where(Adjudication.id == standing.id)))
