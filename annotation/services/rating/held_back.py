"""Which pairs are held back from who adjudicates or leads a project, because they may still grade them.

Else its rater would know others' grades of the pair. A pause, pending training and the limit of pairs per
rater keep nobody off for good, so that they change nothing here.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, exists, false, literal, or_, select
from sqlalchemy.orm import Session

from annotation.services.access.roles import roles_of
from annotation.services.pair_states import is_fully_rated
from annotation.services.rating.desk import SETTLED, is_in
from annotation.types import Role
from db.models import Membership, Pair, Project, RatingChange, User


def held_back_from(session: Session, project: Project, viewer: int | None) -> ColumnElement[bool]:
    """Of a pair: whether it is held back from the viewer, as they rate in the project and may still grade it.

    Args:
        viewer: who looks; None for the command line, from which nothing is held back.
    """
    if viewer is None or Role.RATER not in roles_of(session, viewer, project.id):
        return false()
    return may_still_grade(project, viewer)


def may_still_grade(project: Project | type[Project], rater_id: int) -> ColumnElement[bool]:
    """Of a pair: whether a rater of its project has it to grade or may still be given it.

    It lacks grades, also where others have it before them, who may give it back; and the rater has neither
    graded nor skipped it, nor are they barred from it, nor was their grade set aside.
    """
    return and_(~is_fully_rated(project), ~is_in(SETTLED, literal(rater_id)))


def could_be_seen(pair_id: int, rater_id: int) -> ColumnElement[bool]:
    """Whether the pages show a rater others' grades of a pair that is not held back from them, or did, as
    before these were set aside."""
    graded = exists().where(RatingChange.pair_id == pair_id, RatingChange.rater_id != rater_id)
    administers = exists().where(User.id == rater_id, User.is_administrator)
    leads = exists().where(
        Membership.user_id == rater_id,
        Membership.role.in_((Role.ADJUDICATOR.value, Role.ADMINISTRATOR.value)),
        Membership.project_id == select(Pair.project_id).where(Pair.id == pair_id).scalar_subquery(),
    )
    return and_(graded, or_(administers, leads))
