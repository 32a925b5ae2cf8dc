"""Where the grades of a gold set come from: of files or of raters here, with what training and checks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from annotation.services.bulk import count_where
from annotation.services.checks import shelf_of
from annotation.services.gold_counts import count_problems, count_reopened
from annotation.services.in_use import count_withdrawn, of_pair_in_use
from annotation.services.known_grades import quality_of, training_in_use
from annotation.services.raters import rater_ids
from db.models import Adjudication, Pair, Project, Rating, RatingChange


def other_counts(session: Session, project: Project) -> dict[str, int]:
    """Of a manifest: raters, and what there is of adjudicators whose decisions stand, of grades from files,
    and of withdrawn, reopened and marked pairs."""
    found = {
        "adjudicators": _count_adjudicators(session, project.id),
        "imported_ratings": _count_imported(session, project.id),
        "withdrawn": count_withdrawn(session, project.id),
        "marked_as_problem": count_problems(session, project),
        "reopened": count_reopened(session, project),
    }
    raters = len(rater_ids(session, project.id))
    return {"raters": raters, **{name: number for name, number in found.items() if number}}


def told_quality(session: Session, project_id: int) -> dict[str, Any]:
    """`training` and `checks` of a manifest's protocol, as they are set now; nothing of what is not used.

    Distances are in points of the scale.
    """
    settings = quality_of(session, project_id)
    told: dict[str, Any] = {}
    if training := count_where(session, training_in_use(project_id)):
        distance = float(settings.training_distance)
        told["training"] = {"pairs": training, "pass_percent": settings.pass_percent, "distance": distance}
    is_check = Pair.project_id == shelf_of(session, project_id)
    if settings.check_every and (checks := count_where(session, is_check)):
        distance = float(settings.check_distance)
        told["checks"] = {"pairs": checks, "every": settings.check_every, "distance": distance}
    return told


def _count_adjudicators(session: Session, project_id: int) -> int:
    counted = select(func.count(Adjudication.adjudicator_id.distinct())).where(
        Adjudication.project_id == project_id, of_pair_in_use(Adjudication.pair_id, project_id)
    )
    return session.scalar(counted) or 0


def _count_imported(session: Session, project_id: int) -> int:
    """Grades in force that nobody gave or changed on the page."""
    on_page = exists().where(
        RatingChange.pair_id == Rating.pair_id,
        RatingChange.rater_id == Rating.rater_id,
        RatingChange.origin == "page",
    )
    counts = of_pair_in_use(Rating.pair_id, project_id)
    return count_where(session, Rating.project_id == project_id, counts, ~on_page)
