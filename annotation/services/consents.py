"""Asking raters and writers to agree to a project's text, keeping that they did, and telling who did."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from annotation.consent import Consent, ConsentText
from annotation.errors import ConsentError
from annotation.services.audit import record
from annotation.services.project_rows import find_project
from annotation.services.transactions import per_system
from annotation.services.users import CONSENTS, agreed_before, consents_of, is_paused
from annotation.services.writing import admit
from annotation.types import Clock, Role, utcnow
from db import Database
from db.models import Membership, Project, User

AGREED = "consent given"
_CHANGED = "The text was changed while you read it, so you have not agreed yet: read it as it is now."
_ADD = per_system(CONSENTS, lambda insert: insert.on_conflict_do_nothing().returning(CONSENTS.c.id))


class ConsentService:
    """Only whoever is signed in agrees, for themselves: nobody does it for them, and no file brings it."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def text_to_agree(self, project_id: int, user_id: int) -> ConsentText | None:
        """What the user has to agree to before they work; None where there is nothing, or they did.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user neither rates nor writes there.
        """
        with self._database.reading() as session:
            admit(session, project_id, user_id, Role.RATER, Role.WRITER)
            project = find_project(session, project_id)
            given = consents_of(session, project).get(user_id)
            if project.consent is None or project.consent_sha256 is None or (given and given.is_current):
                return None
            return ConsentText(project.consent, project.consent_sha256, given is not None)

    def agree(self, project_id: int, user_id: int, sha256: str) -> None:
        """Keep that the user agrees to the text that they read; doing it twice is doing it once.

        It counts for this text alone: should it be changed at the same moment, they are asked anew. Where the
        project has no text any more nothing is kept, and they can go on.

        Args:
            sha256: of the text that they read.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user neither rates nor writes there.
            ConsentError: the text reads otherwise by now.
        """
        with self._database.session() as session:
            admit(session, project_id, user_id, Role.RATER, Role.WRITER)
            text = select(Project.consent_sha256).where(Project.id == project_id)
            # Locked against deletion alone: nobody waits for an import to agree.
            current = session.scalar(text.with_for_update(read=True, key_share=True))
            if current is None:
                return
            if current != sha256:
                raise ConsentError(_CHANGED)
            now = self._clock()
            connection = session.connection()
            mine = {"project_id": project_id, "user_id": user_id, "text_sha256": sha256}
            if connection.scalar(_ADD[connection.dialect.name], {**mine, "at": now}) is not None:
                record(session, now, AGREED, user_id=user_id, project_id=project_id, text_sha256=sha256)

    def consents(self, project_id: int) -> dict[int, Consent] | None:
        """By user who agreed, to the text as it reads now or else to an earlier one; None without any text.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            return consents_of(session, project) if _ever_asked(session, project) else None

    def count_to_renew(self, project_id: int) -> int:
        """How many raters and writers agreed to an earlier text alone, and have to agree to the one now.

        Paused raters are asked once they are resumed, and not counted before.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            works = (
                select(func.count(User.id))
                .join(Project, Project.id == project.id)
                .where(agreed_before(User.id), User.disabled_at.is_(None), _works_in(project.id))
            )
            return session.scalar(works) or 0


def _works_in(project_id: int) -> ColumnElement[bool]:
    """Of a row of users: they rate there and are not paused, or they write."""
    at_work = and_(Membership.role == Role.RATER, ~is_paused(User.id, project_id))
    working = or_(Membership.role == Role.WRITER, at_work)
    return exists().where(Membership.user_id == User.id, Membership.project_id == project_id, working)


def consent_for_manifest(session: Session, project: Project, raters: Iterable[int]) -> dict[str, Any]:
    """`consent` of a manifest: the text and how many agreed, nobody named; nothing where there is none.

    Args:
        raters: whose grades are in the gold set. Those of them whom a file brought never agreed here.
    """
    if not _ever_asked(session, project):
        return {}
    consents = consents_of(session, project)
    given = [consents.get(rater) for rater in raters]
    agreed = sum(each is not None and each.is_current for each in given)
    earlier = sum(each is not None and not each.is_current for each in given)
    counts = {
        "agreed": agreed,
        "agreed_to_earlier_text": earlier,
        "not_agreed": len(given) - agreed - earlier,
    }
    return {"consent": {"text": project.consent, "sha256": project.consent_sha256, "raters": counts}}


def _ever_asked(session: Session, project: Project) -> bool:
    """Whether there is a text, or somebody agreed to one that there was."""
    agreed = exists().where(CONSENTS.c.project_id == project.id)
    return project.consent is not None or bool(session.scalar(select(agreed)))
