"""How far a project is, for each type and genre."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from annotation.projects import GroupCounts, ProjectCounts, sum_counts
from annotation.services.in_use import IN_USE, count_withdrawn
from annotation.services.overview import to_adjudicate
from annotation.services.pair_states import is_flagged, is_fully_rated
from annotation.services.rating.held_back import held_back_from
from db import models


def count_project(session: Session, project: models.Project, viewer: int | None = None) -> ProjectCounts:
    """Read from an index, without the texts.

    Args:
        viewer: who looks; pairs that are held back from them are neither flagged nor to be adjudicated.
    """
    pair, is_shown = models.Pair, ~held_back_from(session, project, viewer)
    statement = (
        select(
            pair.type,
            pair.genre,
            func.count(),
            func.sum(pair.rating_count),
            func.count().filter(is_fully_rated(project)),
            func.count().filter(is_flagged(project), is_shown),
        )
        .where(pair.project_id == project.id, IN_USE)
        .group_by(pair.type, pair.genre)
    )
    found = session.execute(statement)
    groups = [GroupCounts(type, genre, *map(int, figures)) for type, genre, *figures in found]
    withdrawn = count_withdrawn(session, project.id)
    opened = to_adjudicate([project.id]).where(is_shown)
    waiting = sum(row[1] for row in session.execute(opened))
    places = {type: place for place, type in enumerate(project.types)}
    groups.sort(key=lambda group: (places[group.type], group.genre or ""))
    return sum_counts(groups, withdrawn, to_adjudicate=waiting)
