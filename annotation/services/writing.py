"""Writers: how pairs are written in a project, the larger items that writers have, and their texts.

An item is with one writer at a time, which an index makes sure of. Whoever hands out items or takes them back
holds the lock of the project's plan, so that the counts that a grade is chosen by stay true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, union, update
from sqlalchemy.orm import Session

from annotation.authoring import (
    UNRELATED,
    Check,
    GroupBalance,
    Task,
    WritingDesk,
    WrittenText,
    check_text,
    group_name,
    next_grade,
    text_problem,
)
from annotation.comparison import Bounds, PairBounds, bounds_of
from annotation.errors import AccessError, NotFoundError, StaleTextError, TextError, WritingError
from annotation.projects import Member
from annotation.services.project_rows import as_project, find_project, scale_in
from annotation.services.transactions import in_transaction, insert_if_missing
from annotation.services.users import as_user, check_consent, roles_of
from annotation.translation import _, mark
from annotation.types import Clock, Project, ProjectSettings, Role, utcnow
from annotation.wording import LONGEST_NOTE, clean_text, normalise_note
from db import Database
from db.models import GradeViewer, LargerItem, User, Writing, WritingChange, WritingPlan

WITH_WRITER = ("held", "sent_back")
SENT_BACK_TIME = timedelta(days=7)
"""How long a text that was sent back waits for its writer, who may not come every day."""
NOT_AGAIN = ("blank", "handed_on")
"""A writer is not offered the item again."""


@dataclass(frozen=True, slots=True)
class TypeTerms:
    """How pairs of one type are written, setting by setting."""

    larger_words: tuple[int, int]
    larger_sentences: tuple[int, int]
    smaller_words: tuple[int, int]
    smaller_sentences: tuple[int, int]
    has_zeros: bool
    """The same of all types."""

    @property
    def bounds(self) -> PairBounds:
        larger = Bounds(self.larger_words, self.larger_sentences)
        return PairBounds(larger, Bounds(self.smaller_words, self.smaller_sentences))


@dataclass(frozen=True, slots=True)
class WritingTerms:
    """How pairs are written in a project."""

    has_zeros: bool = True
    bounds: Mapping[str, Any] | None = None
    """By type, where they are not the usual ones."""

    def of(self, type: str) -> PairBounds:
        return bounds_of(type, self.bounds or {})

    def of_type(self, type: str) -> TypeTerms:
        return type_terms(self.of(type), self.has_zeros)


def type_terms(bounds: PairBounds, has_zeros: bool) -> TypeTerms:
    larger, smaller = bounds.larger, bounds.smaller
    return TypeTerms(larger.words, larger.sentences, smaller.words, smaller.sentences, has_zeros)


def read_plan(session: Session, project_id: int) -> WritingTerms:
    row = session.get(WritingPlan, project_id)
    return WritingTerms() if row is None else terms_of(row)


def terms_of(plan: WritingPlan) -> WritingTerms:
    return WritingTerms(plan.has_zeros, plan.bounds)


def lock_plan(session: Session, project_id: int, now: datetime) -> WritingPlan:
    """The row of the plan; nobody else hands out items or takes them back until the transaction ends."""
    values = {"project_id": project_id, "has_zeros": True, "updated_at": now, "bounds": {}}
    insert_if_missing(session, WritingPlan, values)
    statement = select(WritingPlan).where(WritingPlan.project_id == project_id)
    return session.scalars(statement.with_for_update().execution_options(populate_existing=True)).one()


def return_expired_writings(session: Session, project_id: int, now: datetime, *, but_writer: int) -> None:
    """Give back the items whose writers let their time run out; their texts stay. The plan is locked.

    That is the lease, or, of what was sent back, a week without a change of the text.
    """
    has_left = and_(Writing.state == "held", Writing.lease_expires_at <= now)
    never_came = and_(Writing.state == "sent_back", Writing.updated_at <= now - SENT_BACK_TIME)
    expired = (
        select(Writing.id)
        .where(
            Writing.project_id == project_id,
            or_(has_left, never_came),
            Writing.writer_id != but_writer,
        )
        .with_for_update()
    )
    _return(session, list(session.scalars(expired)))


def return_writings(session: Session, project_id: int, writer_id: int, now: datetime) -> None:
    """Give back what the writer has before them, as when they leave; what they submitted stays."""
    lock_plan(session, project_id, now)
    held = (
        select(Writing.id)
        .where(
            Writing.project_id == project_id,
            Writing.writer_id == writer_id,
            Writing.state.in_(WITH_WRITER),
        )
        .with_for_update()
    )
    _return(session, list(session.scalars(held)))


def return_all_writings(session: Session, writer_id: int, now: datetime) -> None:
    """Give back what the writer has before them in all projects.

    It locks their plans, which comes before locking users: whoever hands out items does it in this order.
    """
    projects = (
        select(Writing.project_id)
        .where(Writing.writer_id == writer_id, Writing.state.in_(WITH_WRITER))
        .distinct()
        .order_by(Writing.project_id)
    )
    for project_id in session.scalars(projects).all():
        return_writings(session, project_id, writer_id, now)


def _return(session: Session, writing_ids: list[int]) -> None:
    if not writing_ids:
        return
    items = select(Writing.item_id).where(Writing.id.in_(writing_ids))
    session.execute(update(LargerItem).where(LargerItem.id.in_(items)).values(grade=None))
    session.execute(
        update(Writing).where(Writing.id.in_(writing_ids)).values(state="returned", lease_expires_at=None)
    )


def admit(session: Session, project_id: int, user_id: int, *roles: Role) -> tuple[Project, Member]:
    """The project and the user, if they have one of the roles or administer the server.

    Raises:
        NotFoundError: there is no such project.
        AccessError: they have not.
    """
    project = as_project(find_project(session, project_id))
    user = session.get(User, user_id)
    if user is None or user.disabled_at is not None:
        raise AccessError(_("This account is disabled: ask your administrator."))
    held = roles_of(session, user_id, project_id)
    if not user.is_administrator and held.isdisjoint(roles):
        listed = _(" or ").join(_(role.value) for role in roles)
        raise AccessError(  # without the project's name, which is not for everybody
            _("You do not have the role {roles} in this project: ask its administrator for it.", roles=listed)
        )
    return project, Member(as_user(user), held)


def refuse_absent(session: Session, project_id: int, writer_id: int) -> None:
    """Raise WritingError when the writer of a text can write no longer, and would never see it sent back."""
    writer = session.get_one(User, writer_id, populate_existing=True)
    may_write = writer.is_administrator or Role.WRITER in roles_of(session, writer_id, project_id)
    if writer.disabled_at is not None or not may_write:
        raise WritingError(
            _(
                "{name} is no longer a writer in this project and would not see it: give the item to another "
                "writer, or edit and accept the text.",
                name=writer.name,
            )
        )


def lease_of(project: Project) -> timedelta:
    return timedelta(minutes=project.settings.lease_minutes)


def same_group(project_id: int, type: str, genre: str | None) -> ColumnElement[bool]:
    """Of a larger item: it is of this type and genre."""
    return and_(
        LargerItem.project_id == project_id,
        LargerItem.type == type,
        LargerItem.genre.is_(None) if genre is None else LargerItem.genre == genre,
    )


def taken_of(session: Session, project_id: int, type: str, genre: str | None) -> dict[int, int]:
    """How many items of a group have each grade."""
    rows = session.execute(
        select(LargerItem.grade, func.count())
        .where(
            same_group(project_id, type, genre),
            LargerItem.grade.is_not(None),
        )
        .group_by(LargerItem.grade)
    )
    return {grade: count for grade, count in rows if grade is not None}


def balance_of(session: Session, project_id: int, settings: ProjectSettings) -> tuple[GroupBalance, ...]:
    """Of every type and genre, in the order of the project's types, then by genre."""
    types, grades = settings.types, range(len(settings.scale.points))
    rows = session.execute(
        select(LargerItem.type, LargerItem.genre, LargerItem.grade, func.count())
        .where(LargerItem.project_id == project_id, LargerItem.withdrawn_at.is_(None))
        .group_by(LargerItem.type, LargerItem.genre, LargerItem.grade)
    )
    groups: dict[tuple[str, str | None], dict[int | None, int]] = {}
    for type, genre, grade, count in rows:
        groups.setdefault((type, genre), {})[grade] = count
    places = {type: place for place, type in enumerate(types)}
    return tuple(
        GroupBalance(type, genre, tuple(counts.get(grade, 0) for grade in grades), counts.get(None, 0))
        for (type, genre), counts in sorted(
            groups.items(), key=lambda group: (places.get(group[0][0], len(types)), group[0][1] or "")
        )
    )


def remember(
    session: Session, writing: Writing, action: str, user_id: int, now: datetime, note: str = ""
) -> None:
    """Add to the history what was done with a text, as it reads now."""
    session.add(
        WritingChange(
            project_id=writing.project_id,
            item_id=writing.item_id,
            writer_id=writing.writer_id,
            user_id=user_id,
            action=action,
            grade=writing.grade,
            text=writing.text,
            note=note,
            at=now,
        )
    )


def remember_viewer(session: Session, item_id: int, user_id: int, now: datetime) -> None:
    """Note that the user saw which grade is requested for the item, if that is not known yet."""
    insert_if_missing(session, GradeViewer, {"item_id": item_id, "user_id": user_id, "first_at": now})


def viewers_of(session: Session, *item_ids: int) -> set[int]:
    """Everybody who saw a grade that was requested for an item: writers who had it, editors of its texts.

    Also those who left it blank or let their lease run out: of each item they know what was asked.
    """
    seen = union(
        select(Writing.writer_id).where(Writing.item_id.in_(item_ids)),
        select(WritingChange.user_id).where(WritingChange.item_id.in_(item_ids)),
        select(GradeViewer.user_id).where(GradeViewer.item_id.in_(item_ids)),
    )
    return set(session.scalars(seen))


def current_writing(session: Session, project_id: int, writer_id: int) -> Writing | None:
    """What the writer has: what they are at, else what was sent back to them first."""
    return session.scalar(
        select(Writing)
        .where(
            Writing.project_id == project_id,
            Writing.writer_id == writer_id,
            Writing.state.in_(WITH_WRITER),
        )
        .order_by(Writing.state == "sent_back", Writing.updated_at, Writing.id)
        .limit(1)
    )


def claim_item(
    session: Session, project: Project, plan: WritingPlan, writer_id: int, now: datetime
) -> Writing | None:
    """The next item for this writer, now held; None when there is none. Items for grade 0 are reserved."""
    while True:
        item = _open_item(session, project.id, writer_id)
        if item is None:
            return None
        taken = taken_of(session, project.id, item.type, item.genre)
        grade = next_grade(
            taken,
            seed=project.settings.seed,
            group=group_name(item.type, item.genre),
            has_zeros=plan.has_zeros,
            points=len(project.settings.scale.points),
        )
        if grade != UNRELATED:
            return _hold(session, item, grade, writer_id, project, now)
        _without_draft(session, item).grade = UNRELATED
        session.flush()


def count_open(session: Session, project_id: int, writer_id: int) -> int:
    """How many items nobody has that this writer may be given: without those that they left."""
    mine = and_(Writing.item_id == LargerItem.id, Writing.writer_id == writer_id)
    counted = select(func.count(LargerItem.id)).outerjoin(Writing, mine)
    return session.scalar(counted.where(*_open_to(project_id))) or 0


def _open_to(project_id: int) -> tuple[ColumnElement[bool], ...]:
    """Of a larger item and, where there is one, the writer's own row of it."""
    return (
        LargerItem.project_id == project_id,
        LargerItem.grade.is_(None),
        LargerItem.withdrawn_at.is_(None),
        func.coalesce(Writing.state, "").not_in(NOT_AGAIN),
    )


def _open_item(session: Session, project_id: int, writer_id: int) -> LargerItem | None:
    """What the writer began and lost comes first, then the order of writing; never what they left."""
    mine = and_(Writing.item_id == LargerItem.id, Writing.writer_id == writer_id)
    has_draft = func.coalesce(func.length(Writing.text), 0) > 0
    return session.scalar(
        select(LargerItem)
        .outerjoin(Writing, mine)
        .where(*_open_to(project_id))
        .order_by(has_draft.desc(), LargerItem.position, LargerItem.id)
        .limit(1)
    )


def _without_draft(session: Session, item: LargerItem) -> LargerItem:
    """An open item of the same group that nobody has begun, else `item`: to be reserved."""
    begun = exists().where(Writing.item_id == LargerItem.id, func.length(Writing.text) > 0)
    found = session.scalar(
        select(LargerItem)
        .where(
            same_group(item.project_id, item.type, item.genre),
            LargerItem.grade.is_(None),
            LargerItem.withdrawn_at.is_(None),
            ~begun,
        )
        .order_by(LargerItem.position, LargerItem.id)
        .limit(1)
    )
    return found or item


def _hold(
    session: Session, item: LargerItem, grade: int, writer_id: int, project: Project, now: datetime
) -> Writing:
    item.grade = grade
    row = session.scalar(select(Writing).where(Writing.item_id == item.id, Writing.writer_id == writer_id))
    if row is None:
        row = Writing(
            project_id=project.id, item_id=item.id, writer_id=writer_id, text="", version=0, note=""
        )
        session.add(row)
    row.state, row.grade = "held", grade
    row.claimed_at = row.updated_at = now
    row.lease_expires_at = now + lease_of(project)
    session.flush()
    return row


def take_again(session: Session, row: Writing, plan: WritingPlan, now: datetime) -> bool:
    """Have an item again whose lease ran out, if nobody has it and its grade is still one to be requested."""
    item = session.get_one(LargerItem, row.item_id, populate_existing=True)
    if item.grade is not None or item.withdrawn_at is not None:
        return False
    taken = taken_of(session, row.project_id, item.type, item.genre)
    points = len(scale_in(session, row.project_id).points)
    grades = range(UNRELATED if plan.has_zeros else UNRELATED + 1, points)
    if taken.get(row.grade, 0) > min(taken.get(grade, 0) for grade in grades):
        return False
    item.grade, row.state, row.claimed_at, row.lease_expires_at = row.grade, "held", now, now
    return True


EARLIER = 2_000
"""A text is compared with this many earlier ones of its type and genre, the newest first."""


def writer_desk(
    session: Session, project: Project, plan: WritingTerms, writer_id: int, row: Writing | None
) -> WritingDesk:
    counts = dict(
        session.execute(
            select(Writing.state, func.count())
            .where(Writing.project_id == project.id, Writing.writer_id == writer_id)
            .group_by(Writing.state)
        ).all()
    )
    groups = balance_of(session, project.id, project.settings)
    task = None if row is None else task_of(session, row, plan)
    genre = None if row is None else session.get_one(LargerItem, row.item_id).genre
    balance = next((each for each in groups if task and (each.type, each.genre) == (task.type, genre)), None)
    return WritingDesk(
        task=task,
        submitted=counts.get("submitted", 0),
        accepted=counts.get("accepted", 0),
        sent_back=counts.get("sent_back", 0),
        unwritten=count_open(session, project.id, writer_id),
        is_waiting=task is None and _is_anything_out(session, project.id, writer_id),
        balance=None if balance is None else balance.counts[1:],
        has_genre=genre is not None,
    )


def _is_anything_out(session: Session, project_id: int, writer_id: int) -> bool:
    """Whether an item may still come to this writer: others hold it, and they have not left it to them."""
    mine = select(Writing.item_id).where(Writing.writer_id == writer_id, Writing.state.in_(NOT_AGAIN))
    is_out = exists().where(
        Writing.project_id == project_id, Writing.state.in_(WITH_WRITER), Writing.item_id.not_in(mine)
    )
    return bool(session.scalar(select(is_out)))


def task_of(session: Session, row: Writing, plan: WritingTerms) -> Task:
    """The item with the text, without what is to be said of it: `compared` finds that."""
    item = session.get_one(LargerItem, row.item_id)
    return Task(
        id=row.id,
        type=item.type,
        left=item.text,
        grade=scale_in(session, row.project_id).points[row.grade],
        text=row.text,
        version=row.version,
        state=row.state,
        note=row.note,
        seconds=row.seconds or 0.0,
        bounds=plan.of(item.type).smaller,
    )


def compare_with_earlier(session: Session, task: Task) -> Task:
    """The task with what is to be said of its text, which is compared with 2,000 others.

    That takes long, so that it is for a session that reads: it would keep everybody else from saving.
    """
    item = session.get_one(LargerItem, session.get_one(Writing, task.id).item_id)
    assert task.bounds is not None
    earlier = _earlier(session, item) if task.text.strip() else []
    return replace(task, check=check_text(task.text, item.text, task.bounds, earlier))


def _earlier(session: Session, item: LargerItem) -> list[str]:
    """What was written for other items of the type and genre, the newest first."""
    other = Writing.item_id == LargerItem.id
    return list(
        session.scalars(
            select(Writing.text)
            .join(LargerItem, other)
            .where(
                same_group(item.project_id, item.type, item.genre),
                LargerItem.id != item.id,
                Writing.state.in_(("submitted", "sent_back", "accepted")),
            )
            .order_by(Writing.updated_at.desc())
            .limit(EARLIER)
        )
    )


RECENT = 20


@dataclass(frozen=True, slots=True)
class Draft:
    """What was kept of a text."""

    at: datetime
    version: int
    check: Check
    lost: str
    """Why the item is no longer the writer's; empty while it is. The text is kept either way."""


class WritingService:
    """What writers do. Every call checks that the user is a writer of the project."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def desk(self, project_id: int, writer_id: int) -> WritingDesk:
        """The item that the writer has, or the next one: one that was sent back first, then a new one.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a writer in it.
            ConsentError: they have to agree to the project's text first.
        """

        def look(session: Session, now: datetime) -> WritingDesk:
            project, _member = admit(session, project_id, writer_id, Role.WRITER)
            plan = lock_plan(session, project_id, now)
            check_consent(session, project_id, writer_id)  # once locked: that may have been a long wait
            return_expired_writings(session, project_id, now, but_writer=writer_id)
            row = current_writing(session, project_id, writer_id) or claim_item(
                session, project, plan, writer_id, now
            )
            if row is not None and row.state == "held":
                row.lease_expires_at = now + lease_of(project)
            session.flush()
            return writer_desk(session, project, terms_of(plan), writer_id, row)

        desk = in_transaction(self._database, self._clock, look)
        if desk.task is None:
            return desk
        with self._database.reading() as session:  # comparing takes long: nobody waits for it
            return replace(desk, task=compare_with_earlier(session, desk.task))

    def task(self, writing_id: int, writer_id: int) -> Task:
        """A text of the writer's own, as long as it is with them.

        Raises:
            NotFoundError: there is no such text of theirs.
            ConsentError: they have to agree to the project's text first.
            WritingError: it is submitted, or the item is no longer theirs.
        """
        with self._database.reading() as session:
            row = _find_own(session, writing_id, writer_id)
            admit(session, row.project_id, writer_id, Role.WRITER)
            check_consent(session, row.project_id, writer_id)
            _check_state(row)
            return compare_with_earlier(session, task_of(session, row, read_plan(session, row.project_id)))

    def keep(
        self, writing_id: int, writer_id: int, text: str, version: int, seconds: float | None = None
    ) -> Draft:
        """Keep the text as it is typed, and renew the lease.

        Args:
            version: of the text that was changed; an older one overwrites nothing.
            seconds: how long the writer looked at the item, altogether.

        Raises:
            NotFoundError: there is no such text of the writer's.
            AccessError: they are no longer a writer of the project, or have not agreed to its text.
            StaleTextError: it was changed in another window.
            WritingError: it is submitted or accepted already.
        """

        def keep(session: Session, now: datetime) -> tuple[datetime, int, str]:
            row, project, plan = _lock_own(session, writing_id, writer_id, now)
            is_mine = row.state in WITH_WRITER or take_again(session, row, plan, now)
            lost = "" if is_mine else _why_lost(session, row)
            _change_text(row, text, version, seconds, now)
            if row.state == "held":
                row.lease_expires_at = now + lease_of(project)
            return now, row.version, lost

        at, kept, lost = in_transaction(self._database, self._clock, keep)
        with self._database.reading() as session:
            row = _find_own(session, writing_id, writer_id)
            check = compare_with_earlier(
                session, task_of(session, row, read_plan(session, row.project_id))
            ).check
        assert check is not None
        return Draft(at, kept, check, lost)

    def submit(
        self,
        writing_id: int,
        writer_id: int,
        text: str,
        version: int,
        seconds: float | None = None,
        senses: Mapping[str, Any] | None = None,
    ) -> WritingDesk:
        """Hand the text to the editors; the writer's desk after it. The same text again changes nothing.

        Args:
            senses: what is to be kept of a text that is a sense key.

        Raises:
            TextError: it is empty, or has not the size of its type.
            WritingError: the item is no longer the writer's.
            StaleTextError: it was changed in another window.
            NotFoundError, AccessError: as of `keep`.
        """

        def submit(session: Session, now: datetime) -> int:
            own = _find_own(session, writing_id, writer_id)
            if own.state == "submitted" and own.text == clean_text(text).strip():
                return own.project_id
            row, _project, plan = _lock_own(session, writing_id, writer_id, now)
            if row.state not in WITH_WRITER and not take_again(session, row, plan, now):
                raise WritingError(_why_lost(session, row))
            _change_text(row, clean_text(text).strip(), version, seconds, now)
            if senses is not None:
                row.senses = dict(senses)
            item = session.get_one(LargerItem, row.item_id)
            if problem := text_problem(row.text, terms_of(plan).of(item.type).smaller):
                raise TextError(problem)
            row.state, row.lease_expires_at, row.note = "submitted", None, ""
            remember(session, row, "submitted", writer_id, now)
            return row.project_id

        return self.desk(in_transaction(self._database, self._clock, submit), writer_id)

    def leave_blank(self, writing_id: int, writer_id: int, note: str = "") -> WritingDesk:
        """Give the item to another writer, because this one does not understand it.

        They are not offered it again. The errors are those of `keep`.
        """
        said = normalise_note(note, "note", LONGEST_NOTE)

        def leave(session: Session, now: datetime) -> int:
            own = _find_own(session, writing_id, writer_id)
            if own.state == "blank":
                return own.project_id
            row, _project, _plan = _lock_own(session, writing_id, writer_id, now)
            was_mine = row.state in WITH_WRITER
            row.state, row.lease_expires_at, row.note, row.updated_at = "blank", None, said, now
            if was_mine:
                session.get_one(LargerItem, row.item_id).grade = None
            remember(session, row, "blank", writer_id, now, said)
            return row.project_id

        return self.desk(in_transaction(self._database, self._clock, leave), writer_id)

    def recent(self, project_id: int, writer_id: int, limit: int = RECENT) -> tuple[WrittenText, ...]:
        """What the writer wrote last, newest first.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a writer in it.
        """
        with self._database.reading() as session:
            admit(session, project_id, writer_id, Role.WRITER)
            rows = session.execute(
                select(Writing, LargerItem.type, LargerItem.text, _IS_WITHDRAWN)
                .join(LargerItem, LargerItem.id == Writing.item_id)
                .where(
                    Writing.project_id == project_id,
                    Writing.writer_id == writer_id,
                    or_(Writing.state.not_in(("held", "returned")), _IS_WITHDRAWN),
                )
                .order_by(Writing.updated_at.desc(), Writing.id.desc())
                .limit(limit)
            )
            points = scale_in(session, project_id).points
            return tuple(
                WrittenText(
                    row.id,
                    type,
                    left,
                    row.text,
                    points[row.grade],
                    "withdrawn" if is_withdrawn else row.state,
                    row.note,
                    row.updated_at,
                )
                for row, type, left, is_withdrawn in rows
            )


_IS_WITHDRAWN = and_(LargerItem.withdrawn_at.is_not(None), Writing.state == "returned", Writing.text != "")
"""Of a text: its item was withdrawn while the writer was at it."""
ITEM_WITHDRAWN = mark(
    "This item was withdrawn, and no text is needed for it any more. Your text is kept; go on with the next "
    "one."
)
GONE = mark(
    "The time for this item ran out, and it went to somebody else or is wanted at another grade. Your text "
    "is kept, and shown again if you are given the item; go on with the next one."
)
_ENDED = {
    "submitted": mark("You submitted this text already: go on with the next one."),
    "accepted": mark("This text was accepted: go on with the next one."),
    "blank": mark("You left this item to somebody else: go on with the next one."),
    "handed_on": mark("An editor gave this item to somebody else: go on with the next one."),
}


def _why_lost(session: Session, row: Writing) -> str:
    item = session.get_one(LargerItem, row.item_id)
    return _(GONE if item.withdrawn_at is None else ITEM_WITHDRAWN)


def _find_own(session: Session, writing_id: int, writer_id: int, *, lock: bool = False) -> Writing:
    statement = select(Writing).where(Writing.id == writing_id, Writing.writer_id == writer_id)
    if lock:
        statement = statement.with_for_update().execution_options(populate_existing=True)
    row = session.scalar(statement)
    if row is None:
        raise NotFoundError(
            _("There is no text {number} of yours: go on with the one that is shown.", number=writing_id)
        )
    return row


def _lock_own(
    session: Session, writing_id: int, writer_id: int, now: datetime
) -> tuple[Writing, Project, WritingPlan]:
    """The writer's text with its project and plan, both locked."""
    project, _member = admit(
        session, _find_own(session, writing_id, writer_id).project_id, writer_id, Role.WRITER
    )
    plan = lock_plan(session, project.id, now)
    check_consent(session, project.id, writer_id)
    row = _find_own(session, writing_id, writer_id, lock=True)
    _check_state(row)
    return row, project, plan


def _check_state(row: Writing) -> None:
    if row.state in _ENDED:
        raise WritingError(_(_ENDED[row.state]))


def _change_text(row: Writing, text: str, version: int, seconds: float | None, now: datetime) -> None:
    kept = clean_text(text)
    if seconds is not None:
        row.seconds = max(row.seconds or 0.0, seconds)
    if kept == row.text:
        return
    if version != row.version:
        raise StaleTextError(
            _("This text was changed in another window: the text from there is shown, and yours below it.")
        )
    row.text, row.version, row.updated_at = kept, row.version + 1, now
