"""Pairs with a known grade, for training or as hidden gold checks: where they are, what they accept."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from annotation.quality import QualitySettings, has_accepted_grade
from annotation.types import from_quarters
from db import models
from db.models import Pair, Project, TrainingPair


def checks_project_of(session: Session, project_id: int) -> int | None:
    """The id of the project that keeps the check pairs of this one, if it has any."""
    return session.scalar(select(Project.id).where(Project.checks_of_id == project_id))


class KnownKind(StrEnum):
    TRAINING = "training"
    CHECK = "check"


def training_in_use(project_id: int) -> ColumnElement[bool]:
    """Of a training pair: it is one of the project's that have not been retired."""
    return and_(TrainingPair.project_id == project_id, TrainingPair.retired_at.is_(None))


def quality_of(session: Session, project_id: int) -> QualitySettings:
    """The settings within a transaction of a service's."""
    row = session.get(models.QualitySettings, project_id)
    if row is None:
        return QualitySettings()
    return QualitySettings(
        from_quarters(row.training_quarters),
        row.pass_percent,
        row.check_every,
        from_quarters(row.check_quarters),
    )


def distances(settings: QualitySettings) -> dict[KnownKind, Decimal]:
    """A grade so far from the known one, or nearer, is accepted."""
    return {KnownKind.TRAINING: settings.training_distance, KnownKind.CHECK: settings.check_distance}


def out_of_reach(session: Session, project_id: int, kind: KnownKind, step: Decimal, distance: Decimal) -> str:
    """Why no grade is accepted of one of the pairs in use, to be followed by what to do; or nothing."""
    known = {
        KnownKind.TRAINING: select(TrainingPair.quarters).where(training_in_use(project_id)),
        KnownKind.CHECK: select(func.coalesce(Pair.intended_quarters, 0)).where(
            Pair.project_id == checks_project_of(session, project_id)
        ),
    }
    for grade in map(from_quarters, sorted(session.scalars(known[kind].distinct()))):
        if problem := no_accepted_grade(grade, step, distance):
            return f"There is a {kind} pair of {grade}, and {problem}"
    return ""


def no_accepted_grade(grade: Decimal, step: Decimal, distance: Decimal) -> str:
    """Why no grade is accepted of a pair whose known grade this is; nothing where one is."""
    if has_accepted_grade(grade, step, distance):
        return ""
    return f"no grade in steps of {step} is within the accepted distance of {distance} from {grade}"
