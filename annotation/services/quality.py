"""The quality of raters: a project's settings for it, who is paused or excused, and how each one does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.errors import NotFoundError, SettingsError
from annotation.quality import QualitySettings, check_quality_settings
from annotation.services.access.users import get_user, id_of
from annotation.services.audit import record
from annotation.services.bulk import count_where, insert_if_missing
from annotation.services.checks import shelf_of
from annotation.services.known_grades import distances, out_of_reach, quality_of, training_in_use
from annotation.services.projects import find_project
from annotation.services.rating.returns import return_kept
from annotation.services.standings import Standing, standings_of
from annotation.services.transactions import repeated_if_undone
from annotation.setting_changes import merged_settings, told_changes
from annotation.types import Role, User, from_quarters, to_quarters
from db import Database, models
from db.models import Membership, Pair, RaterState


@dataclass(frozen=True, slots=True)
class QualityOverview:
    settings: QualitySettings
    training_pairs: int
    check_pairs: int
    standings: tuple[Standing, ...]
    """Of the raters, by name, and then of those who were raters."""


class QualityService:
    """Who is allowed to call a method is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def settings(self, project_id: int) -> QualitySettings:
        """The settings of a project, the defaults where nothing was chosen.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return quality_of(session, find_project(session, project_id).id)

    def change(
        self,
        project_id: int,
        settings: QualitySettings,
        *,
        seen: str | None = None,
        by: User | None = None,
    ) -> QualitySettings:
        """Choose the settings of a project. Attempts and passes that were, stay as they were judged.

        Args:
            seen: the settings that the change began with, from `seen_settings`: what somebody else changed
                since then stays; None puts `settings` in the place of whatever there is.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: a setting cannot be used, or was changed by somebody else too.
        """
        kept = _as_read(check_quality_settings(settings))
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            before = quality_of(session, project.id)
            if seen is not None:
                kept = merged_settings(kept, before, seen)
            if kept == before:
                return kept
            _check_distances(session, project, before, kept)
            session.merge(_row_of(project.id, kept))
            if kept.check_every != before.check_every:  # else all that was missed would come at once
                begin_checks_anew(session, project.id)
            detail = {"user_id": id_of(by), "project_id": project.id, **told_changes(before, kept)}
            record(session, self._clock(), "quality settings changed", **detail)
        return kept

    def pause(self, project_id: int, user_name: str, *, by: User | None = None) -> int:
        """Keep a rater from going on; what they graded stays and counts. How many pairs they gave back.

        Raises:
            NotFoundError: there is no such project, or no such rater in it.
        """

        def pause() -> int:
            with self._database.session() as session:
                state, user = self._state(session, project_id, user_name)
                if state.paused_at is None:
                    state.paused_at = self._clock()
                    session.flush()
                    self._record(session, "rater paused", project_id, user, by)
                return return_kept(session.connection(), user.id, project_id)

        return repeated_if_undone(pause)

    def resume(self, project_id: int, user_name: str, *, by: User | None = None) -> None:
        """Let a paused rater go on.

        Raises:
            NotFoundError: there is no such project, or no such rater in it.
        """
        with self._database.session() as session:
            state, user = self._state(session, project_id, user_name)
            if state.paused_at is not None:
                state.paused_at = None
                self._record(session, "rater resumed", project_id, user, by)

    def excuse(self, project_id: int, user_name: str, *, by: User | None = None) -> None:
        """Let a rater work without training.

        Raises:
            NotFoundError: there is no such project, or no such rater in it.
        """
        with self._database.session() as session:
            state, user = self._state(session, project_id, user_name)
            if state.excused_at is None:
                state.excused_at = self._clock()
                self._record(session, "rater excused from training", project_id, user, by)

    def paused(self, project_id: int) -> frozenset[int]:
        """The ids of the users who are paused in a project."""
        statement = select(RaterState.user_id).where(
            RaterState.project_id == project_id, RaterState.paused_at.is_not(None)
        )
        with self._database.reading() as session:
            return frozenset(session.scalars(statement))

    def overview(self, project_id: int) -> QualityOverview:
        """All that administrators see.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            settings = quality_of(session, project.id)
            training = count_where(session, training_in_use(project.id))
            shelf = shelf_of(session, project.id)
            checks = 0 if shelf is None else count_where(session, Pair.project_id == shelf)
            standings = standings_of(session, project.id, shelf, settings)
        return QualityOverview(settings, training, checks, standings)

    def _state(self, session: Session, project_id: int, user_name: str) -> tuple[RaterState, models.User]:
        project = find_project(session, project_id, lock=True)
        user = get_user(session, user_name)
        if session.get(Membership, (project.id, user.id, Role.RATER.value)) is None:
            raise NotFoundError(f"{user.name!r} is not a rater in {project.name!r}: see the list of members.")
        return state_of(session, project.id, user.id), user

    def _record(
        self, session: Session, action: str, project_id: int, user: models.User, by: User | None
    ) -> None:
        now = self._clock()
        record(session, now, action, user_id=id_of(by), project_id=project_id, member=user.name)


def _as_read(settings: QualitySettings) -> QualitySettings:
    """As the database gives them back, 0.5 for 0.50: forms compare what they began with."""
    return replace(
        settings,
        training_distance=from_quarters(to_quarters(settings.training_distance)),
        check_distance=from_quarters(to_quarters(settings.check_distance)),
    )


def _row_of(project_id: int, settings: QualitySettings) -> models.QualitySettings:
    return models.QualitySettings(
        project_id=project_id,
        training_quarters=to_quarters(settings.training_distance),
        pass_percent=settings.pass_percent,
        check_every=settings.check_every,
        check_quarters=to_quarters(settings.check_distance),
    )


def _check_distances(
    session: Session, project: models.Project, before: QualitySettings, after: QualitySettings
) -> None:
    """A smaller distance must leave a grade that is accepted of each pair in use."""
    was, step = distances(before), from_quarters(project.step_quarters)
    for kind, distance in distances(after).items():
        smaller = distance < was[kind]
        if smaller and (problem := out_of_reach(session, project.id, kind, step, distance)):
            raise SettingsError(f"{problem}: keep {was[kind]}.")


def state_of(session: Session, project_id: int, user_id: int) -> RaterState:
    """The row of a rater in a project, locked, which is added if it is not there: by one of two at once."""
    insert_if_missing(session, RaterState, {"project_id": project_id, "user_id": user_id})
    return session.get_one(RaterState, (project_id, user_id), with_for_update=True, populate_existing=True)


def begin_checks_anew(session: Session, project_id: int) -> None:
    """Count from each rater's next pair on when a check pair is due."""
    session.execute(
        update(RaterState)
        .where(RaterState.project_id == project_id)
        .values(check_start=None, check_given=None)
    )
