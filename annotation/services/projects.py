"""Projects: their settings, who works in them, how far they are, and a user's overview of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute, Session

from annotation.assignment import position_in
from annotation.changes import describe_changes, merge_settings
from annotation.consent import text_hash
from annotation.errors import NotFoundError, SettingsError
from annotation.projects import (
    GroupCounts,
    Member,
    ProjectCounts,
    all_graded,
    check_same_scale,
    check_settings,
    sum_counts,
)
from annotation.services.assignment import return_kept
from annotation.services.audit import FORMER_NAME, PROJECT_CHANGED, PROJECT_CREATED, record
from annotation.services.project_rows import (
    IN_USE,
    as_project,
    checks_project_of,
    count_withdrawn,
    find_project,
    follow_pairs,
    is_finished,
    is_flagged,
    is_open,
    lock_pairs,
    reorder,
    scale_of,
)
from annotation.services.quality import distances, out_of_reach, quality_of, training_in_use
from annotation.services.rater_queue import held_back_from, may_still_grade
from annotation.services.transactions import STREAMED_AT_ONCE, count_where
from annotation.services.users import (
    agreed_before,
    as_user,
    can_come_in,
    find_user,
    get_user,
    id_of,
    roles_of,
    spoken_language,
)
from annotation.services.writing import return_writings
from annotation.translation import _, mark
from annotation.types import Clock, Project, ProjectSettings, Role, User, utcnow
from annotation.wording import name_key
from db import Database, models
from db.models import (
    Adjudication,
    GoldSet,
    LargerItem,
    Membership,
    Pair,
    RaterState,
    Rating,
    RatingChange,
    ScoredSystem,
    SetAsideRating,
    TrainingPair,
    Writing,
)
from db.models import Project as ProjectRow


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project as one of its members, or an administrator of the server, sees it in the list."""

    id: int
    name: str
    roles: frozenset[Role]
    """The own ones; administrators of the server may have none."""
    pairs: int
    finished: int
    """Pairs with all the ratings that the project asks for, or a decision."""
    to_adjudicate: int
    """Pairs, but those that are held back from whoever sees it."""
    raters: int
    unwritten: int = 0
    """Larger items that nobody writes for; a share of them may yet be reserved for pairs of grade 0."""
    to_review: int = 0
    """Written texts that wait for an editor."""
    withdrawn: int = 0
    """Pairs that count nowhere."""
    is_paused: bool = False
    """Whoever sees it is a rater who is given no pairs for now."""
    must_agree_anew: bool = False
    """They rate or write there, agreed to an earlier consent text, and have to agree to the one now."""

    @property
    def is_graded(self) -> bool:
        return all_graded(self.pairs, self.finished)


@dataclass(frozen=True, slots=True)
class PageContext:
    """Who asks, and the project that the page is about."""

    user: User
    project: str | None = None
    roles: frozenset[Role] = frozenset()
    """To lead to pages; administrators of the server count as administrator and adjudicator everywhere."""
    types: tuple[str, ...] = ()
    """The project's comparison types."""
    used_types: frozenset[str] = frozenset()
    """Those of them that any pair has."""
    has_items: bool = False
    """Whether there are larger items to write for."""
    has_systems: bool = False
    """Whether any system is on its leaderboard."""
    language: str = ""
    """As `spoken_language`."""


_WORKING = {Role.RATER, Role.WRITER}


class OverviewService:
    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def projects(self, user: User) -> list[ProjectLine]:
        """The projects of `user` by name, those of an administrator of the server being all."""
        statement = select(ProjectRow.id, ProjectRow.name).where(ProjectRow.checks_of_id.is_(None))
        statement = statement.order_by(ProjectRow.name_key)
        with self._database.reading() as session:
            roles: dict[int, set[Role]] = {}
            own = select(Membership.project_id, Membership.role).where(Membership.user_id == user.id)
            for project_id, role in session.execute(own):
                roles.setdefault(project_id, set()).add(Role(role))
            if not user.is_administrator:
                statement = statement.where(ProjectRow.id.in_(roles))
            shown = session.execute(statement).all()
            ids = [row.id for row in shown]
            counted = {row.project_id: row for row in session.execute(_counts(ids))}
            rated = [id for id, held in roles.items() if Role.RATER in held]
            held_back = and_(Pair.project_id.in_(rated), may_still_grade(ProjectRow, user.id))
            opened = dict(session.execute(to_adjudicate(ids).where(~held_back)).all())
            raters = dict(session.execute(_count_raters(ids, self._clock())).all())
            unwritten = dict(session.execute(_count_unwritten(ids)).all())
            to_review = dict(session.execute(_count_to_review(ids)).all())
            withdrawn = dict(session.execute(_count_withdrawn(ids)).all())
            is_paused = RaterState.user_id == user.id, RaterState.paused_at.is_not(None)
            paused = set(session.scalars(select(RaterState.project_id).where(*is_paused)))
            changed = set(session.scalars(select(ProjectRow.id).where(agreed_before(literal(user.id)))))
        return [
            ProjectLine(
                id=row.id,
                name=row.name,
                roles=frozenset(roles.get(row.id, ())),
                pairs=counted[row.id].pairs if row.id in counted else 0,
                finished=counted[row.id].finished if row.id in counted else 0,
                to_adjudicate=opened.get(row.id, 0),
                raters=raters.get(row.id, 0),
                unwritten=unwritten.get(row.id, 0),
                to_review=to_review.get(row.id, 0),
                withdrawn=withdrawn.get(row.id, 0),
                is_paused=row.id in paused and Role.RATER in roles.get(row.id, ()),
                must_agree_anew=row.id in changed and not roles.get(row.id, set()).isdisjoint(_WORKING),
            )
            for row in shown
        ]

    def has_worked(self, user: User) -> bool:
        """Whether the user has graded or written anywhere, also where they are no member any more."""
        kept = (exists().where(Rating.rater_id == user.id), exists().where(Writing.writer_id == user.id))
        with self._database.reading() as session:
            return bool(session.scalar(select(or_(*kept))))

    def place(self, user_name: str, project_id: int | None) -> PageContext:
        """Who asks and where; a project in which the user has no role is left out, as if it were none.

        Raises:
            NotFoundError: there is no such user.
        """
        with self._database.reading() as session:
            row = find_user(session, user_name)
            if row is None:
                raise NotFoundError(
                    _("There is no account named {name}: sign in again.", name=repr(user_name))
                )
            user = as_user(row)
            project = None if project_id is None else session.get(ProjectRow, project_id)
            if project is None or project.checks_of_id is not None:
                return PageContext(user, language=spoken_language(session, user.id, None))
            roles = roles_of(session, user.id, project.id)
            if user.is_administrator:
                roles |= {Role.ADMINISTRATOR, Role.ADJUDICATOR}
            if not roles:
                return PageContext(user, language=spoken_language(session, user.id, None))
            items = select(LargerItem.id).where(LargerItem.project_id == project.id)
            systems = select(ScoredSystem.id).join(GoldSet).where(GoldSet.project_id == project.id)
            pairs = select(Pair.type).where(Pair.project_id == project.id).distinct()
            return PageContext(
                user,
                project.name,
                roles,
                tuple(project.types),
                frozenset(session.scalars(pairs)),
                has_items=session.scalar(items.limit(1)) is not None,
                has_systems=session.scalar(systems.limit(1)) is not None,
                language=project.language,
            )


def _counts(project_ids: list[int]) -> Select[int, int, Any]:
    finished = func.count().filter(is_finished(ProjectRow))
    return (
        select(Pair.project_id, func.count().label("pairs"), finished.label("finished"))
        .join(ProjectRow, ProjectRow.id == Pair.project_id)
        .where(Pair.project_id.in_(project_ids), IN_USE)
        .group_by(Pair.project_id)
    )


def _count_withdrawn(project_ids: list[int]) -> Select[int, int]:
    return (
        select(Pair.project_id, func.count())
        .where(Pair.project_id.in_(project_ids), ~IN_USE)
        .group_by(Pair.project_id)
    )


def to_adjudicate(project_ids: list[int]) -> Select[int, int]:
    """Flagged pairs without a decision, or with a rating that came after it."""
    return (
        select(Pair.project_id, func.count())
        .join(ProjectRow, ProjectRow.id == Pair.project_id)
        .outerjoin(Adjudication, Adjudication.pair_id == Pair.id)
        .where(Pair.project_id.in_(project_ids), IN_USE, is_open(ProjectRow))
        .group_by(Pair.project_id)
    )


def _count_raters(project_ids: list[int], now: datetime) -> Select[int, int]:
    return (
        select(Membership.project_id, func.count())
        .join(models.User, models.User.id == Membership.user_id)
        .where(Membership.project_id.in_(project_ids), Membership.role == Role.RATER, can_come_in(now))
        .group_by(Membership.project_id)
    )


def _count_unwritten(project_ids: list[int]) -> Select[int, int]:
    return (
        select(LargerItem.project_id, func.count())
        .where(
            LargerItem.project_id.in_(project_ids),
            LargerItem.grade.is_(None),
            LargerItem.withdrawn_at.is_(None),
        )
        .group_by(LargerItem.project_id)
    )


def _count_to_review(project_ids: list[int]) -> Select[int, int]:
    return (
        select(Writing.project_id, func.count())
        .where(Writing.project_id.in_(project_ids), Writing.state == "submitted")
        .group_by(Writing.project_id)
    )


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
            func.count().filter(is_finished(project)),
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


def apply_settings(
    session: Session, row: ProjectRow, before: ProjectSettings, after: ProjectSettings
) -> None:
    """Write the settings to the project's row, and bring its pairs and larger items in line.

    Raises:
        SettingsError: the change would falsify what was graded already; nothing is written then.
    """
    check_same_scale(before.scale, after.scale)
    _check_types(session, row, before, after)
    reordered = (before.is_random, before.seed) != (after.is_random, after.seed)
    coarser = before.step % after.step != 0
    if reordered or coarser or before.raters_per_pair != after.raters_per_pair:
        lock_pairs(session, row.id)
    if coarser:
        _check_step(session, row, before.step, after.step)
    if before.raters_per_pair != after.raters_per_pair:
        _change_slots(session, row, after.raters_per_pair - before.raters_per_pair)
    for column, value in setting_columns(after).items():
        setattr(row, column, value)
    if reordered:
        _reorder(session, row)


def setting_columns(settings: ProjectSettings) -> dict[str, Any]:
    """The settings as the columns of a project's row."""
    scale = settings.scale
    return {
        "name": settings.name,
        "name_key": name_key(settings.name),
        "guidelines": settings.guidelines,
        "types": list(settings.types),
        "raters_per_pair": settings.raters_per_pair,
        "threshold_quarters": None if settings.threshold is None else scale.to_steps(settings.threshold),
        "step_quarters": scale.to_steps(settings.step),
        "scale_step": str(scale.step),
        "scale_low": scale.to_steps(Decimal(scale.lowest)),
        "scale_high": scale.to_steps(Decimal(scale.highest)),
        "is_random": settings.is_random,
        "seed": settings.seed,
        "may_revise": settings.may_revise,
        "lease_minutes": settings.lease_minutes,
        "most_per_rater": settings.most_per_rater,
        "consent": settings.consent or None,
        "consent_sha256": text_hash(settings.consent),
        "scale_words": settings.scale_words or None,
        "average": settings.average.value,
        "language": settings.language,
        "repeat_percent": settings.repeat_percent,
    }


def _check_types(session: Session, row: ProjectRow, before: ProjectSettings, after: ProjectSettings) -> None:
    """A type stays as long as anything of it is there to be graded or written for."""
    kept: tuple[tuple[str, type[Pair | LargerItem | TrainingPair], ColumnElement[bool]], ...] = (
        (mark("The type {type} has {count} pairs: keep it."), Pair, Pair.project_id == row.id),
        (
            mark("The type {type} has {count} larger items: keep it."),
            LargerItem,
            LargerItem.project_id == row.id,
        ),
        (mark("The type {type} has {count} training pairs: keep it."), TrainingPair, training_in_use(row.id)),
        (
            mark("The type {type} has {count} check pairs: keep it."),
            Pair,
            Pair.project_id == checks_project_of(session, row.id),
        ),
    )
    for name in before.types:
        if name in after.types:
            continue
        for refusal, table, is_there in kept:
            if count := count_where(session, is_there, table.type == name):
                raise SettingsError(_(refusal, type=repr(name), count=f"{count:,}"))


def _check_step(session: Session, row: ProjectRow, before: Decimal, after: Decimal) -> None:
    """A coarser step must hold the grades that were given, and one that is accepted of each known pair."""
    scale = scale_of(row)
    step = scale.to_steps(after)
    grades: tuple[tuple[str, InstrumentedAttribute[Any], ColumnElement[bool]], ...] = (
        (
            mark("There is a grade of {grade} already, which steps of {step} have not: keep {before}."),
            Rating.quarters,
            Rating.project_id == row.id,
        ),
        (
            mark(
                "There is a grade that is set aside of {grade} already, which steps of {step} have not: keep "
                "{before}."
            ),
            SetAsideRating.quarters,
            SetAsideRating.project_id == row.id,
        ),
        (
            mark("There is a decision of {grade} already, which steps of {step} have not: keep {before}."),
            Adjudication.quarters,
            Adjudication.project_id == row.id,
        ),
    )
    for refusal, quarters, in_project in grades:
        off = session.scalar(select(quarters).where(in_project, quarters % step != 0).limit(1))
        if off is not None:
            raise SettingsError(_(refusal, grade=scale.from_steps(off), step=after, before=before))
    for kind, distance in distances(quality_of(session, row.id)).items():
        if problem := out_of_reach(session, row.id, kind, after, distance):
            raise SettingsError(
                _(
                    "{problem}: keep {before}, or accept a larger distance on the tab Quality.",
                    problem=problem,
                    before=before,
                )
            )


def _change_slots(session: Session, row: ProjectRow, difference: int) -> None:
    if difference < 0:
        fewest = session.scalar(select(func.min(Pair.open_slots)).where(Pair.project_id == row.id))
        if fewest is not None and fewest + difference < 0:
            taken = row.raters_per_pair - fewest
            raise SettingsError(
                _(
                    "There is a pair that {taken} raters have graded or hold: {number} for each pair is too "
                    "few, give {taken} or more.",
                    taken=taken,
                    number=row.raters_per_pair + difference,
                )
            )
    session.execute(
        update(Pair).where(Pair.project_id == row.id).values(open_slots=Pair.open_slots + difference)
    )


def _reorder(session: Session, row: ProjectRow) -> None:
    rated = session.scalar(select(RatingChange.id).where(RatingChange.project_id == row.id).limit(1))
    if rated is not None:
        raise SettingsError(
            _(
                "The order and its seed stay as they are once a pair is graded: raters would meet pairs in "
                "an order that nobody can repeat."
            )
        )
    for table in (Pair, LargerItem):
        _move(session, row, cast(Table, table.__table__))
    follow_pairs(session, row.id)
    reorder(session, row)


def _move(session: Session, row: ProjectRow, table: Table) -> None:
    """Give everything of a table the place that the settings say."""
    columns = table.c
    found = (
        select(columns.id, columns.type, columns.external_id, columns.import_order)
        .where(columns.project_id == row.id)
        .execution_options(yield_per=STREAMED_AT_ONCE)
    )
    move = update(table).where(columns.id == bindparam("which")).values(position=bindparam("place"))
    for part in session.execute(found).partitions():
        moves = [
            {"which": id, "place": position_in(row, type, external_id, import_order)}
            for id, type, external_id, import_order in part
        ]
        session.connection().execute(move, moves)


class ProjectService:
    """Projects and their members. Who is allowed to call a method is for the caller to `require`."""

    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def create(self, settings: ProjectSettings, created_by: User | None = None) -> Project:
        """A new project, without pairs; the user who made it becomes its administrator.

        Raises:
            SettingsError: a setting cannot be used, or the name is taken.
        """
        kept = check_settings(settings)
        with self._database.session() as session:
            return as_project(add_project(session, kept, self._clock(), created_by))

    def get(self, name_or_id: str | int) -> Project:
        """The project of that name, however it is written, or of that id.

        Raises:
            NotFoundError: there is none.
        """
        with self._database.reading() as session:
            return as_project(find_project(session, name_or_id))

    def list(self) -> list[Project]:
        """All projects, by name."""
        statement = select(models.Project).where(models.Project.checks_of_id.is_(None))
        statement = statement.order_by(models.Project.name_key)
        with self._database.reading() as session:
            return [as_project(row) for row in session.scalars(statement)]

    def update(
        self, project_id: int, settings: ProjectSettings, *, seen: str | None = None, by: User | None = None
    ) -> Project:
        """Change settings, with what follows from them, in one transaction.

        Args:
            seen: the settings that the change began with, from `print_settings`: what somebody else changed
                since then stays; None puts `settings` in the place of whatever there is.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: a setting cannot be used, would falsify what was graded already, or was changed by
                somebody else too.
        """
        kept = check_settings(settings)
        now = self._clock()
        with self._database.session() as session:
            row = find_project(session, project_id, lock=True)
            before = as_project(row).settings
            if seen is not None:
                kept = check_settings(merge_settings(kept, before, seen))
            detail = describe_changes(before, kept)
            if detail["settings"]:
                with session.no_autoflush:  # a name that is taken is found out below, where it is explained
                    apply_settings(session, row, before, kept)
                _flush_name(session, kept.name)
                if kept.name != before.name:
                    detail[FORMER_NAME] = before.name
                record(session, now, PROJECT_CHANGED, user_id=id_of(by), project_id=row.id, **detail)
            return as_project(row)

    def delete(self, project_id: int, name: str, *, by: User | None = None) -> None:
        """Delete a project with its pairs, ratings and decisions; accounts and audit events stay.

        Args:
            project_id: which.
            name: what the project has to be called at that moment.
            by: who deletes it; None stands for the command line.

        Raises:
            NotFoundError: there is no such project.
            SettingsError: it has another name.
        """
        self._database.transact(lambda session: self._delete(session, project_id, name, by))

    def _delete(self, session: Session, project_id: int, name: str, by: User | None) -> None:
        now = self._clock()
        row = find_project(session, project_id, lock=True)
        if name_key(name) != row.name_key:
            raise SettingsError(
                _(
                    "“{name}” is not the name of the project: type {project} to delete it.",
                    name=name,
                    project=row.name,
                )
            )
        record(session, now, "project deleted", user_id=id_of(by), name=row.name)
        session.flush()
        lock_pairs(session, row.id, is_deleting=True)
        shelf = checks_project_of(session, row.id)
        if shelf is not None:  # the histories of check pairs may go only when their own project has gone
            lock_pairs(session, shelf, is_deleting=True)
            session.execute(delete(models.Project).where(models.Project.id == shelf))
        session.execute(delete(models.Project).where(models.Project.id == row.id))

    def members(self, project_id: int) -> tuple[Member, ...]:
        """Who works in the project, by name."""
        statement = (
            select(models.User, models.Membership.role)
            .join(models.Membership, models.Membership.user_id == models.User.id)
            .where(models.Membership.project_id == project_id)
            .order_by(models.User.name_key)
        )
        found: dict[User, set[Role]] = {}
        with self._database.reading() as session:
            for user, role in session.execute(statement):
                found.setdefault(as_user(user), set()).add(Role(role))
        return tuple(Member(user, frozenset(roles)) for user, roles in found.items())

    def add_member(self, project_id: int, user_name: str, role: Role, *, by: User | None = None) -> Member:
        """Give a user a role in the project; giving it twice is giving it once.

        Raises:
            NotFoundError: there is no such project or account.
        """
        now = self._clock()
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            user = get_user(session, user_name)
            roles = roles_of(session, user.id, project.id)
            if role not in roles:
                session.add(models.Membership(project_id=project.id, user_id=user.id, role=role.value))
                _record_member(session, now, "member added", project, user, role, by)
            return Member(as_user(user), roles | {role})

    def remove_member(
        self, project_id: int, user_name: str, role: Role | None = None, *, by: User | None = None
    ) -> None:
        """Take a role of the project from a user, or all of them; what they graded stays.

        Raises:
            NotFoundError: there is no such project or account, or the user does not have the role.
        """
        self._database.transact(lambda session: self._remove_member(session, project_id, user_name, role, by))

    def _remove_member(
        self, session: Session, project_id: int, user_name: str, role: Role | None, by: User | None
    ) -> None:
        now = self._clock()
        project = find_project(session, project_id, lock=True)
        user = get_user(session, user_name)
        roles = roles_of(session, user.id, project.id)
        taken = roles if role is None else roles & {role}
        if not taken:
            whose = {"name": repr(user.name), "project": repr(project.name)}
            raise NotFoundError(
                _("{name} has no role in {project}: see the list of members.", **whose)
                if role is None
                else _(
                    "{name} has not the role {role} in {project}: see the list of members.",
                    role=_(role.value),
                    **whose,
                )
            )
        if Role.RATER in taken:
            return_kept(session.connection(), user.id, project.id)  # others need not wait for the lease
        if Role.WRITER in taken:
            return_writings(session, project.id, user.id, now)
        for gone in sorted(taken):
            membership = session.get(models.Membership, (project.id, user.id, gone.value))
            session.delete(membership)
            _record_member(session, now, "member removed", project, user, gone, by)

    def counts(self, project_id: int, *, viewer: int | None = None) -> ProjectCounts:
        """How far the project is, for each type and genre; see `count_project`.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            return count_project(session, find_project(session, project_id), viewer)


def add_project(
    session: Session, settings: ProjectSettings, now: datetime, created_by: User | None
) -> models.Project:
    """A new project in this transaction, with settings that were checked; its maker is its administrator.

    Raises:
        SettingsError: the name is taken.
    """
    who = id_of(created_by)
    row = models.Project(**setting_columns(settings), created_by=who, created_at=now)
    session.add(row)
    _flush_name(session, settings.name)
    if who is not None:
        session.add(models.Membership(project_id=row.id, user_id=who, role=Role.ADMINISTRATOR.value))
    record(session, now, PROJECT_CREATED, user_id=who, project_id=row.id, name=settings.name)
    return row


def _flush_name(session: Session, name: str) -> None:
    try:
        session.flush()
    except IntegrityError as error:
        if "name_key" not in str(error.orig):
            raise
        raise SettingsError(
            _("A project named {name} already exists: choose another name.", name=repr(name))
        ) from None


def _record_member(
    session: Session,
    now: datetime,
    action: str,
    project: models.Project,
    user: models.User,
    role: Role,
    by: User | None,
) -> None:
    who = id_of(by)
    record(session, now, action, user_id=who, project_id=project.id, member=user.name, role=role.value)
