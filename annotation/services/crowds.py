"""Shared links of a project, those who come by them, what they are told at the end, and what they did."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from annotation.changes import merge_settings
from annotation.crowds import (
    MOST_DAYS,
    MOST_PEOPLE,
    PSEUDONYM,
    Completion,
    CrowdSettings,
    Outcome,
    Source,
    Worker,
    WorkerLine,
    check_crowd_settings,
    completion_of,
)
from annotation.errors import InvitationError, NotFoundError, SettingsError
from annotation.passwords import Passwords
from annotation.services.audit import record, record_account
from annotation.services.project_rows import checks_project_of, find_project
from annotation.services.quality import Standing, Work, WorkService, quality_of, standings_of, training_in_use
from annotation.services.sign_in import Attempt, address_key, admit, new_token, start_session, token_hash
from annotation.services.transactions import count_where
from annotation.services.users import (
    find_user,
    get_user,
    id_of,
    lock_user,
    maker_may,
    name_is_taken,
    new_user,
)
from annotation.translation import _
from annotation.types import Clock, Role, User, utcnow
from annotation.wording import (
    LONGEST_NOTE_OF_LINK,
    check_name,
    is_id,
    name_key,
    normalise_name,
    normalise_note,
    write_day,
)
from db import Database, models
from db.models import Arrival, Assignment, Membership, SharedLink
from db.models import User as UserRow

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without those that are read as one another."""
_PSEUDONYM_LENGTH, _KEY_LENGTH = 6, 8
_MINUTE = 60


@dataclass(frozen=True, slots=True)
class SharedLinkLine:
    """A shared link as the administrators of its project see it."""

    number: int
    most: int
    came: int
    note: str
    created_by: str | None
    """None stands for the command line."""
    created_at: datetime
    expires_at: datetime
    state: str
    """open, full, ended or revoked."""


@dataclass(frozen=True, slots=True)
class SharedOffer:
    """What a shared link offers to whoever opens it."""

    project_id: int
    project: str
    expires_at: datetime
    language: str
    """Of the project."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Somebody who was let in."""

    token: str
    """Of their session."""
    project_id: int


class CrowdService:
    """Who is allowed to make, see or revoke links and to see who did what is for the caller to `require`."""

    def __init__(
        self, database: Database, *, clock: Clock = utcnow, passwords: Passwords | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords or Passwords()
        self._work = WorkService(database, clock)

    def make_link(
        self, project_id: int, most: int, expires_at: datetime, *, note: str = "", by: User | None = None
    ) -> str:
        """The token of a new link, by which `most` people become raters until it ends.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: the number or the end cannot be used.
            NoteError: the note is too long.
        """
        now = self._clock()
        if not 1 <= most <= MOST_PEOPLE:
            raise SettingsError(
                _(
                    "A shared link lets 1 to {most} people in, not {number}.",
                    most=f"{MOST_PEOPLE:,}",
                    number=f"{most:,}",
                )
            )
        if not now < expires_at <= now + timedelta(days=MOST_DAYS):
            raise SettingsError(
                _(
                    "The link would end at {end} UTC: choose a moment within the next {days} days.",
                    end=f"{expires_at:%Y-%m-%d %H:%M}",
                    days=MOST_DAYS,
                )
            )
        kept = normalise_note(
            normalise_name(" ".join(note.split()), _("The note")), "note", LONGEST_NOTE_OF_LINK
        )
        token = new_token()
        with self._database.session() as session:
            project = find_project(session, project_id)
            row = SharedLink(
                project_id=project.id,
                token_hash=token_hash(token),
                most=most,
                note=kept,
                created_by=id_of(by),
                created_at=now,
                expires_at=expires_at,
            )
            session.add(row)
            session.flush()
            told = {"number": row.id, "people": most, "until": expires_at.isoformat(timespec="minutes")}
            record(session, now, "shared link made", user_id=id_of(by), project_id=project.id, **told)
        return token

    def links(self, project_id: int) -> tuple[SharedLinkLine, ...]:
        """All of a project, the newest first.

        Raises:
            NotFoundError: there is no such project.
        """
        now = self._clock()
        came = select(Arrival.link_id, func.count().label("came")).group_by(Arrival.link_id).subquery()
        with self._database.reading() as session:
            project = find_project(session, project_id)
            rows = session.execute(
                select(SharedLink, func.coalesce(came.c.came, 0), UserRow.name)
                .outerjoin(came, came.c.link_id == SharedLink.id)
                .outerjoin(UserRow, UserRow.id == SharedLink.created_by)
                .where(SharedLink.project_id == project.id)
                .order_by(SharedLink.id.desc())
            )
            return tuple(
                SharedLinkLine(
                    row.id,
                    row.most,
                    count,
                    row.note,
                    maker,
                    row.created_at,
                    row.expires_at,
                    _state(row, count, now),
                )
                for row, count, maker in rows
            )

    def revoke_link(self, project_id: int, number: int, *, by: User | None = None) -> None:
        """Let nobody in by a link any more, not even who came by it before.

        Raises:
            NotFoundError: there is no such project, or no such link of it that is not revoked.
        """
        now = self._clock()
        with self._database.session() as session:
            project = find_project(session, project_id)
            wanted = select(SharedLink).where(
                SharedLink.id == number,
                SharedLink.project_id == project.id,
                SharedLink.revoked_at.is_(None),
            )
            row = session.scalar(wanted.with_for_update()) if is_id(number) else None
            if row is None:
                raise NotFoundError(
                    _(
                        "There is no shared link with the number {number}: see the list of them.",
                        number=number,
                    )
                )
            row.revoked_at = now
            record(
                session, now, "shared link revoked", user_id=id_of(by), project_id=project.id, number=number
            )

    def offer(self, token: str) -> SharedOffer:
        """What a link offers; whether there is room is told when somebody comes.

        Raises:
            InvitationError: it is unknown, was revoked, or its maker may no longer invite.
        """
        with self._database.reading() as session:
            row = _find_link(session, token)
            project = session.get_one(models.Project, row.project_id)
            return SharedOffer(project.id, project.name, row.expires_at, project.language)

    def come(self, token: str, address: str, name: str, password: str) -> Entrance:
        """Make an account of that name, or of a made-up one where it is empty, and a rater of the project.

        Args:
            address: where the browser is; it may make only so many accounts in a quarter of an hour.

        Raises:
            InvitationError: the link cannot be used, or is full.
            SettingsError: the name is taken, or it or the password cannot be used.
            TooManyAttemptsError: too many came from this address.
        """
        kept = check_name(name) if name.strip() else f"{PSEUDONYM}{_letters(_PSEUDONYM_LENGTH)}"
        self._admit(address, name_key(kept))
        with self._database.reading() as session:
            _check_room(session, _find_link(session, token), self._clock())
            if find_user(session, kept) is not None:
                raise name_is_taken(kept)
        password_hash = self._passwords.checked_hash(password, kept)
        now = self._clock()
        with self._database.session() as session:
            row = _find_link(session, token, lock=True)
            _check_room(session, row, now)
            user = new_user(session, kept, now, password_hash=password_hash)
            record_account(session, now, user.name, by=user.id)
            _arrive(session, row, user.id, now)
            return Entrance(start_session(session, user.id, now), row.project_id)

    def join(self, token: str, user_name: str) -> int:
        """Make the account that is signed in a rater of the link's project; the project's id.

        Raises:
            InvitationError: the link cannot be used, or is full.
        """
        now = self._clock()
        with self._database.session() as session:
            row = _find_link(session, token, lock=True)
            user = lock_user(session, get_user(session, user_name).id)  # they may join by two links at once
            if _arrival_of(session, row.project_id, user.id) is None:
                _check_room(session, row, now)
                _arrive(session, row, user.id, now)
            return row.project_id

    def come_as_worker(self, token: str, address: str, worker: Worker) -> Entrance:
        """Let the worker of a platform in: to the account that is theirs in this project, or a new one.

        Who came before may come again when the link is full or has ended. An account that has got another
        role since, anywhere, is not entered so: ids in an address are no secret.

        Raises:
            InvitationError: the link cannot be used, is full, or the account is not to be entered by it.
            TooManyAttemptsError: too many came from this address.
        """
        self._admit(address, f"{worker.source}:{worker.id}".casefold())
        with self._database.reading() as session:
            row = _find_link(session, token)
            is_new = _find_worker(session, row.project_id, worker) is None
            if is_new:
                _check_room(session, row, self._clock())
        # Nobody knows this password: the worker comes in by the link alone.
        password_hash = self._passwords.hash(new_token()) if is_new else None
        for _try in range(2):
            try:
                with self._database.session() as session:
                    return self._enter(session, token, worker, password_hash)
            except IntegrityError:  # by another link of the project at the same moment
                continue
        raise InvitationError(_("You came in twice at the same moment: open the link again."))

    def _enter(self, session: Session, token: str, worker: Worker, password_hash: str | None) -> Entrance:
        now = self._clock()
        row = _find_link(session, token, lock=True)
        arrival = _find_worker(session, row.project_id, worker)
        if arrival is not None:
            user = session.get_one(UserRow, arrival.user_id)
            _check_is_only_rater(session, user, row.project_id)
            arrival.study_id = worker.study or arrival.study_id
            arrival.session_id = worker.session or arrival.session_id
        else:
            _check_room(session, row, now)
            user = new_user(session, f"worker-{_letters(_KEY_LENGTH)}", now, password_hash=password_hash)
            record_account(session, now, user.name, by=user.id)
            _arrive(session, row, user.id, now, worker)
        return Entrance(start_session(session, user.id, now), row.project_id)

    def _admit(self, address: str, who: str) -> None:
        """Count an attempt to come in, apart from those to sign in, as a class may do both."""
        attempt = Attempt(who[:80], f"link {address_key(address)}")
        with self._database.session() as session:
            admit(session, attempt, self._clock())

    def settings(self, project_id: int) -> CrowdSettings:
        """What a project tells at the end.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return _settings_of(session, find_project(session, project_id).id)

    def change(
        self,
        project_id: int,
        settings: CrowdSettings,
        *,
        seen: str | None = None,
        by: User | None = None,
    ) -> CrowdSettings:
        """Change what a project tells at the end. Codes that were shown stay in the table.

        Args:
            seen: the settings that the change began with, from `print_settings`: what somebody else changed
                since then stays; None puts `settings` in the place of whatever there is.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: a setting cannot be used, or was changed by somebody else too.
        """
        kept = check_crowd_settings(settings)
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            before = _settings_of(session, project.id)
            if seen is not None:
                kept = merge_settings(kept, before, seen)
            if kept == before:
                return kept
            session.merge(
                models.CrowdSettings(
                    project_id=project.id,
                    completion_code=kept.completion_code,
                    screen_out_code=kept.screen_out_code,
                    return_address=kept.return_address,
                    contact=kept.contact,
                )
            )
            detail = {"user_id": id_of(by), "project_id": project.id}
            record(session, self._clock(), "end page changed", **detail)
        return kept

    def settle(self, project_id: int, rater_id: int, *, has_share: bool) -> Completion | None:
        """What a rater for whom nothing is left is told; who came by no shared link only whom to ask.

        Who skipped as many pairs as they graded found nothing left, and is not finished; check pairs, and
        those that came back to them, count on neither side.

        Args:
            has_share: they have graded all that a rater of the project may.
        """
        theirs = Assignment.project_id == project_id, Assignment.rater_id == rater_id
        with self._database.reading() as session:
            rated, skipped = (
                count_where(session, *theirs, Assignment.state == state) for state in ("rated", "skipped")
            )
        is_finished = has_share or rated > skipped
        return self._end(project_id, rater_id, Outcome.FINISHED if is_finished else Outcome.NOTHING_LEFT)

    def screen_out(self, project_id: int, rater_id: int) -> Completion | None:
        """What a rater is told who did not pass the training in the tries that there are."""
        return self._end(project_id, rater_id, Outcome.SCREENED_OUT)

    def _end(self, project_id: int, rater_id: int, outcome: Outcome) -> Completion | None:
        with self._database.reading() as session:
            settings = _settings_of(session, project_id)
            arrival = _arrival_of(session, project_id, rater_id)
        if arrival is None:
            return Completion(outcome, contact=settings.contact) if settings.contact else None
        completion = _completion_of(arrival, settings, outcome)
        if (arrival.outcome, arrival.code) != (completion.outcome.value, completion.code or None):
            with self._database.session() as session:
                row = session.get_one(Arrival, arrival.id, with_for_update=True)
                completion = _completion_of(row, settings, outcome)  # another tab may have ended it
                row.ended_at = row.ended_at if row.outcome == completion.outcome.value else self._clock()
                row.outcome, row.code = completion.outcome.value, completion.code or None
        return completion

    def workers(self, project_id: int) -> tuple[WorkerLine, ...]:
        """What everybody did who came by a shared link, in the order in which they came.

        Raises:
            NotFoundError: there is no such project.
        """
        works = {work.rater: work for work in self._work.work(project_id)}
        with self._database.reading() as session:
            project = find_project(session, project_id)
            settings, checks = quality_of(session, project.id), checks_project_of(session, project.id)
            standings = {
                standing.user.id: standing for standing in standings_of(session, project.id, checks, settings)
            }
            trains = count_where(session, training_in_use(project.id)) > 0
            rows = session.execute(
                select(Arrival, UserRow.name)
                .join(UserRow, UserRow.id == Arrival.user_id)
                .where(Arrival.project_id == project.id)
                .order_by(Arrival.id)
            ).all()
        return tuple(
            _line(row, name, works.get(name, Work(name)), standings.get(row.user_id), trains=trains)
            for row, name in rows
        )


def _completion_of(arrival: Arrival, settings: CrowdSettings, outcome: Outcome) -> Completion:
    """What is told; who was finished once is so for good, whatever is imported or skipped later."""
    is_finished = arrival.outcome == Outcome.FINISHED.value
    return completion_of(settings, Outcome.FINISHED if is_finished else outcome, arrival.key)


def _line(row: Arrival, name: str, work: Work, standing: Standing | None, *, trains: bool) -> WorkerLine:
    return WorkerLine(
        account=name,
        source=Source(row.source),
        worker=row.worker_id or "",
        study=row.study_id,
        session=row.session_id,
        link=row.link_id,
        started_at=row.arrived_at,
        ended_at=row.ended_at,
        pairs=work.ratings - work.checks,
        skipped=work.skipped,
        minutes=work.seconds / _MINUTE,
        checks=standing.checks if standing else 0,
        checks_passed=standing.accepted_checks if standing else 0,
        tries=len(standing.attempts) if standing else 0,
        state=_work_state(row, work, standing, trains=trains),
        code=row.code or "",
    )


def _work_state(row: Arrival, work: Work, standing: Standing | None, *, trains: bool) -> str:
    """In words, for who approves payments."""
    if standing is None or standing.is_former:
        return "removed"
    if standing.blocked_at is not None:
        return "blocked"
    if row.outcome is not None:
        return row.outcome.replace("_", " ")
    if standing.paused_at is not None:
        return "paused"
    if trains and standing.passed_at is None and standing.excused_at is None:
        return "in training"
    return "at work" if work.ratings else "not begun"


def _state(row: SharedLink, came: int, now: datetime) -> str:
    if row.revoked_at is not None:
        return "revoked"
    if row.expires_at <= now:
        return "ended"
    return "full" if came >= row.most else "open"


_LINK_MAKER_MAY = maker_may(SharedLink.created_by, SharedLink.project_id)


def _find_link(session: Session, token: str, *, lock: bool = False) -> SharedLink:
    """The link of that token unless it is revoked; locked, nobody else comes in by it meanwhile.

    Raises:
        InvitationError: there is none, it was revoked, or its maker may no longer make it.
    """
    statement = select(SharedLink).where(SharedLink.token_hash == token_hash(token))
    row = session.scalar(statement.with_for_update() if lock else statement)
    if row is None or row.revoked_at is not None:
        raise InvitationError(
            _("This link is unknown or no longer valid: ask whoever gave it to you for a new one.")
        )
    if not session.scalar(select(_LINK_MAKER_MAY).where(SharedLink.id == row.id)):
        raise InvitationError(
            _(
                "The person who made this link may no longer invite people: ask whoever gave it to you for a "
                "new one."
            )
        )
    return row


def _check_room(session: Session, row: SharedLink, now: datetime) -> None:
    """Refuse somebody new where the link has ended or is full."""
    if row.expires_at <= now:
        raise InvitationError(
            _(
                "This link ended on {day}, {time} UTC: ask whoever gave it to you for a new one.",
                day=write_day(row.expires_at),
                time=f"{row.expires_at:%H:%M}",
            )
        )
    if count_where(session, Arrival.link_id == row.id) >= row.most:
        raise InvitationError(_("All places of this link are taken: you have not been signed up."))


def _arrive(
    session: Session, row: SharedLink, user_id: int, now: datetime, worker: Worker | None = None
) -> None:
    """Make the user a rater of the link's project, and keep how they came."""
    key: Any = (row.project_id, user_id, Role.RATER.value)
    if session.get(Membership, key) is None:
        session.add(Membership(project_id=row.project_id, user_id=user_id, role=Role.RATER.value))
    ids = {} if worker is None else {"study_id": worker.study, "session_id": worker.session}
    session.add(
        Arrival(
            project_id=row.project_id,
            link_id=row.id,
            user_id=user_id,
            source=(Source.OPEN if worker is None else worker.source).value,
            worker_id=None if worker is None else worker.id,
            key=_letters(_KEY_LENGTH),
            arrived_at=now,
            **ids,
        )
    )
    session.flush()
    record(session, now, "came by a shared link", user_id=user_id, project_id=row.project_id, number=row.id)


def _find_worker(session: Session, project_id: int, worker: Worker) -> Arrival | None:
    return session.scalar(
        select(Arrival).where(
            Arrival.project_id == project_id,
            Arrival.source == worker.source.value,
            Arrival.worker_id == worker.id,
        )
    )


def _arrival_of(session: Session, project_id: int, user_id: int) -> Arrival | None:
    return session.scalar(select(Arrival).where(Arrival.project_id == project_id, Arrival.user_id == user_id))


def _check_is_only_rater(session: Session, user: UserRow, project_id: int) -> None:
    """Refuse an account to which the ids of an address must not be the key."""
    held = session.execute(
        select(Membership.project_id, Membership.role).where(Membership.user_id == user.id)
    ).all()
    if user.disabled_at is not None or (project_id, Role.RATER.value) not in map(tuple, held):
        raise InvitationError(
            _("You are no longer a rater of this project: ask whoever gave you the link why.")
        )
    if user.is_administrator or len(held) > 1:
        raise InvitationError(
            _("The account {name} has other roles by now: sign in with its password.", name=user.name)
        )


def _settings_of(session: Session, project_id: int) -> CrowdSettings:
    row = session.get(models.CrowdSettings, project_id)
    if row is None:
        return CrowdSettings()
    return CrowdSettings(row.completion_code, row.screen_out_code, row.return_address, row.contact)


def _letters(count: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(count))
