"""Who has agreed to which text of a project, for whoever hands out work there."""

from __future__ import annotations

from typing import cast

from sqlalchemy import ColumnElement, SQLColumnExpression, Table, and_, literal, literal_column, select
from sqlalchemy.orm import Session

from annotation.consent import Consent
from annotation.errors import ConsentError
from db import models

PROJECTS = cast(Table, models.Project.__table__)
CONSENTS = cast(Table, models.Consent.__table__)


def lacks_consent(user: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Of a row of projects: it has a text that the user has not agreed to as it reads now."""
    agreed = (
        select(literal_column("1"))
        .select_from(CONSENTS)
        .where(
            CONSENTS.c.project_id == PROJECTS.c.id,
            CONSENTS.c.user_id == user,
            CONSENTS.c.text_sha256 == PROJECTS.c.consent_sha256,
        )
        .correlate_except(CONSENTS)
        .exists()
    )
    return and_(PROJECTS.c.consent_sha256.is_not(None), ~agreed)


def agreed_before(user: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Of a row of projects: the user agreed to an earlier text, and has to agree to the one there is now."""
    before = (
        select(literal_column("1"))
        .select_from(CONSENTS)
        .where(CONSENTS.c.project_id == PROJECTS.c.id, CONSENTS.c.user_id == user)
        .correlate_except(CONSENTS)
        .exists()
    )
    return and_(lacks_consent(user), before)


def consent_lacking(project_name: str) -> str:
    """The sentence for whoever has not agreed."""
    return (
        f"{project_name} has a text to agree to before you go on, and you have not agreed to it as it reads "
        "now: open its page Rate or Write and read it."
    )


def check_consent(session: Session, project_id: int, user_id: int) -> None:
    """Refuse work to whoever has not agreed, at this moment of the transaction.

    Raises:
        ConsentError: the project has a text that they have not agreed to as it reads now.
    """
    asked = select(PROJECTS.c.name).where(PROJECTS.c.id == project_id, lacks_consent(literal(user_id)))
    name = session.scalar(asked)
    if name is not None:
        raise ConsentError(consent_lacking(name))


def consents_of(session: Session, project: models.Project) -> dict[int, Consent]:
    """By user: that they agreed to the text as it reads now, else to which one they agreed last."""
    rows = session.execute(
        select(CONSENTS.c.user_id, CONSENTS.c.at, CONSENTS.c.text_sha256)
        .where(CONSENTS.c.project_id == project.id)
        .order_by(CONSENTS.c.text_sha256 == (project.consent_sha256 or ""), CONSENTS.c.at, CONSENTS.c.id)
    )
    return {user: Consent(at, digest, digest == project.consent_sha256) for user, at, digest in rows}
