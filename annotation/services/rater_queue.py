"""A rater in a project: what statements about their queue need, their own pairs, and what they may not see.

Whoever changes the assignments of a pair holds the lock of its row. A transaction waits for a lock only while
it holds none, and passes over locked pairs after that, so that no two can wait for each other. Where raters
have a share of the pairs, `read_share` adds a lock that comes after those of pairs.

Of raters who are sent away no claim comes between, and none under way is overlooked: on PostgreSQL a claim
shares the lock of the rater's membership, and gets nothing while somebody has it alone, who pauses, removes
or disables the rater, or takes back what they hold. A claim of a check pair does not: one under way is
overlooked, and its pair stays held, which keeps it from nobody else.

Pairs are held back from who adjudicates or leads a project while they may still grade them: else its rater
would know others' grades of the pair. A pause, pending training and the limit of pairs per rater keep nobody
off for good, so that they change nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias, cast

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    false,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
)
from sqlalchemy.orm import Session

from annotation.assignment import PairForRater, Progress, RaterProject
from annotation.errors import (
    AccessError,
    AssignmentError,
    BlockedError,
    ConsentError,
    NotFoundError,
    TrainingPairsError,
)
from annotation.scale import Scale
from annotation.sense_pairs import senses_from_json
from annotation.services.project_rows import IN_USE, is_fully_rated, scale_of
from annotation.services.transactions import per_system
from annotation.services.users import consent_lacking, lacks_consent, roles_of
from annotation.translation import _, ngettext
from annotation.types import Role
from db.models import (
    Assignment,
    Comment,
    Membership,
    Pair,
    Project,
    QualitySettings,
    RaterState,
    Rating,
    RatingChange,
    SetAside,
    Skip,
    TrainingPair,
    User,
)


@dataclass(frozen=True, slots=True)
class RaterContext:
    """A rater in a project: what every statement about their queue needs."""

    project: RaterProject
    rater_id: int
    lease: timedelta
    has_expired: bool
    """Somebody else's lease ran out, of a pair or of a check pair."""
    is_paused: bool = False
    must_train: bool = False
    """The project has training pairs, and the rater has neither passed nor been excused."""
    check_every: int = 0
    """One pair in so many is a check pair; 0 for none."""
    checks_project_id: int = 0
    """The project that keeps its check pairs; 0 when it has none."""
    most_per_rater: int | None = None
    """The most pairs that one rater is given; None for any number."""
    has_set_aside: bool = False
    """Grades of theirs are set aside."""
    must_consent: bool = False
    """The project has a text that they have not agreed to as it reads now."""
    is_blocked: bool = False
    """Too many of their check grades were not accepted."""
    repeat_percent: int = 0
    """So many percent of their pairs come back to them."""
    seed: int = 0
    """The project's, which draws these."""

    @property
    def parameters(self) -> dict[str, int]:
        """What `PROJECT`, `CHECKS_PROJECT` and `RATER` stand for in statements."""
        return {"project": self.project.id, "checks_project": self.checks_project_id, "rater": self.rater_id}

    def within_share(self, progress: Progress, held: int) -> Progress:
        """The progress towards the rater's share, where that is less than what there is for them.

        Args:
            held: how many pairs they hold, which they may grade also when the limit is lower by now.
        """
        if self.most_per_rater is None:
            return progress
        most = max(self.most_per_rater, progress.rated + held)
        return replace(progress, total=min(progress.total, most))

    def check_may_work(self) -> None:
        """Refuse what adds to the work, at the moment of the transaction itself.

        Raises:
            AccessError: the rater is paused.
            ConsentError: they have to agree to the project's text first.
            TrainingPairsError: they have to pass the training first.
        """
        self.check_may_train()
        if self.must_train:
            raise TrainingPairsError(
                _(
                    "{project} begins with training pairs: open its rating page and grade them first.",
                    project=self.project.name,
                )
            )

    def check_consent(self) -> None:
        """The same for what they write beside their work.

        Raises:
            ConsentError: they have to agree to the project's text first.
        """
        if self.must_consent:
            raise ConsentError(consent_lacking(self.project.name))

    def check_may_train(self) -> None:
        """The same for training.

        Raises:
            AccessError: the rater is paused, or blocked by their check grades.
            ConsentError: they have to agree to the project's text first.
        """
        if self.is_blocked:
            raise BlockedError(
                _(
                    "Your work in {project} has ended: too many of your grades were far from what is "
                    "expected of these pairs. Thank you; you can close this page.",
                    project=self.project.name,
                )
            )
        if self.is_paused and self.has_set_aside:
            raise AccessError(
                _(
                    "Some of your grades in {project} are set aside and do not count: ask your "
                    "administrator why, and whether you can continue.",
                    project=self.project.name,
                )
            )
        if self.is_paused:
            raise AccessError(
                _(
                    "Your work in {project} is paused: your grades are kept and count, and your "
                    "administrator can tell you when you can continue.",
                    project=self.project.name,
                )
            )
        self.check_consent()


PAIRS = cast(Table, Pair.__table__)
ASSIGNMENTS = cast(Table, Assignment.__table__)
RATINGS = cast(Table, Rating.__table__)
CHANGES = cast(Table, RatingChange.__table__)
SKIPS = cast(Table, Skip.__table__)
COMMENTS = cast(Table, Comment.__table__)
PROJECTS = cast(Table, Project.__table__)
STATES = cast(Table, RaterState.__table__)
_EXCLUSIONS = cast(Table, SetAside.__table__)
_USERS = cast(Table, User.__table__)
MEMBERSHIPS = cast(Table, Membership.__table__)
_QUALITY = cast(Table, QualitySettings.__table__)
_TRAINING = cast(Table, TrainingPair.__table__)

AnyRow: TypeAlias = Row[*tuple[Any, ...]]
RATER: BindParameter[int] = bindparam("rater", type_=Integer)
PROJECT: BindParameter[int] = bindparam("project", type_=Integer)
CHECKS_PROJECT: BindParameter[int] = bindparam("checks_project", type_=Integer)


def in_states(*states: str, of: FromClause = ASSIGNMENTS) -> ColumnElement[bool]:
    """Whether an assignment is in one of the states; `of` is its table, or an alias."""
    written = _literals(states)
    return of.c.state == written[0] if len(written) == 1 else of.c.state.in_(written)


def _literals(words: Sequence[str]) -> list[ColumnElement[str]]:
    """Written out, not bound: only then does the database see that its partial indexes serve."""
    return [literal_column(f"'{word}'") for word in words]


HAS_SLOT = and_(PAIRS.c.open_slots > literal_column("0"), IN_USE)
IS_HELD = in_states("held")
IS_RATER_ROLE: ColumnElement[bool] = MEMBERSHIPS.c.role == literal_column("'rater'")
BARRED = "barred"
"""The state of a pair for whoever wrote it, saw its requested grade or decided on it: they never grade it."""
EXCLUDED = "set_aside"
"""The state of a pair for whoever gave it a grade that was set aside."""
SETTLED = ("rated", "skipped", BARRED, EXCLUDED)
"""A pair in one of these states is never given to the rater any more."""
NOT_NEW = ("held", *SETTLED)
"""A pair in one of these states is not offered to the rater."""


def is_in(states: Sequence[str], rater: ColumnElement[int]) -> ColumnElement[bool]:
    """Of a pair: whether it is in one of the states for the rater; false where it never was theirs.

    A scalar subquery, not EXISTS, for which PostgreSQL might hash all that the rater ever did. Negated it is
    NOT IN, not =, so that the planner expects most pairs to match and walks the index to the first one.
    """
    state = (
        select(ASSIGNMENTS.c.state)
        .where(ASSIGNMENTS.c.pair_id == PAIRS.c.id, ASSIGNMENTS.c.rater_id == rater)
        .correlate(PAIRS)
        .scalar_subquery()
    )
    return func.coalesce(state, literal_column("''")).in_(_literals(states))


_RATES_HERE = and_(
    MEMBERSHIPS.c.project_id == PROJECTS.c.id,
    MEMBERSHIPS.c.user_id == _USERS.c.id,
    IS_RATER_ROLE,
)
_HELD = ASSIGNMENTS.alias("held")
_CHECKS = PROJECTS.alias("checks")
_CHECKS_PROJECT_ID = (
    select(_CHECKS.c.id).where(_CHECKS.c.checks_of_id == PROJECTS.c.id).correlate(PROJECTS).scalar_subquery()
)
_MY_STATE: Select[Any] = (
    select(literal_column("1"))
    .select_from(STATES)
    .where(STATES.c.project_id == PROJECTS.c.id, STATES.c.user_id == RATER)
    .correlate(PROJECTS)
)
_HAS_SET_ASIDE = exists().where(_EXCLUSIONS.c.project_id == PROJECTS.c.id, _EXCLUSIONS.c.rater_id == RATER)
SCALE_COLUMNS = (PROJECTS.c.scale_step, PROJECTS.c.scale_low, PROJECTS.c.scale_high)
_CONTEXT_COLUMNS = (
    PROJECTS.c.id.label("project_id"),
    PROJECTS.c.name.label("project_name"),
    PROJECTS.c.step_quarters,
    *SCALE_COLUMNS,
    PROJECTS.c.may_revise,
    PROJECTS.c.lease_minutes,
    PROJECTS.c.most_per_rater,
    PROJECTS.c.repeat_percent,
    PROJECTS.c.seed,
    exists(
        select(literal_column("1"))
        .select_from(_USERS.join(MEMBERSHIPS, _RATES_HERE))
        .where(_USERS.c.id == RATER, _USERS.c.disabled_at.is_(None))
        .correlate(PROJECTS)
    ).label("is_rater"),
    exists(
        select(literal_column("1"))
        .select_from(_HELD)
        .where(
            _HELD.c.project_id.in_((PROJECTS.c.id, _CHECKS_PROJECT_ID)),
            in_states("held", of=_HELD),
            _HELD.c.lease_expires_at <= bindparam("now"),
            _HELD.c.rater_id != RATER,
        )
        .correlate(PROJECTS)
    ).label("has_expired"),
    exists(_MY_STATE.where(STATES.c.paused_at.is_not(None))).label("is_paused"),
    and_(
        exists(
            select(literal_column("1"))
            .select_from(_TRAINING)
            .where(_TRAINING.c.project_id == PROJECTS.c.id, _TRAINING.c.retired_at.is_(None))
            .correlate(PROJECTS)
        ),
        ~exists(_MY_STATE.where(or_(STATES.c.passed_at.is_not(None), STATES.c.excused_at.is_not(None)))),
    ).label("must_train"),
    select(_QUALITY.c.check_every)
    .where(_QUALITY.c.project_id == PROJECTS.c.id)
    .correlate(PROJECTS)
    .scalar_subquery()
    .label("check_every"),
    _CHECKS_PROJECT_ID.label("checks_project_id"),
    _HAS_SET_ASIDE.correlate(PROJECTS).label("has_set_aside"),
    lacks_consent(RATER).label("must_consent"),
    exists(_MY_STATE.where(STATES.c.blocked_at.is_not(None))).label("is_blocked"),
)
_CONTEXT = select(*_CONTEXT_COLUMNS).where(PROJECTS.c.id == PROJECT, PROJECTS.c.checks_of_id.is_(None))


_GRADES_HERE = (
    select(func.count())
    .select_from(RATINGS)
    .where(RATINGS.c.project_id == PROJECT, RATINGS.c.rater_id == RATER)
)


def _context_of(connection: Connection, row: AnyRow, rater_id: int) -> RaterContext:
    """The rater in a row that has `_CONTEXT_COLUMNS`.

    Raises:
        AccessError: the user is not a rater in the project.
    """
    if not row.is_rater:
        grades = connection.scalar(_GRADES_HERE, {"project": row.project_id, "rater": rater_id})
        raise AccessError(_describe_no_rater(row.project_name, grades or 0))
    scale = scale_of(row)
    step = scale.from_steps(row.step_quarters)
    project = RaterProject(row.project_id, row.project_name, step, row.may_revise, scale)
    return RaterContext(
        project,
        rater_id,
        timedelta(minutes=row.lease_minutes),
        row.has_expired,
        row.is_paused,
        row.must_train,
        row.check_every or 0,
        row.checks_project_id or 0,
        row.most_per_rater,
        row.has_set_aside,
        bool(row.must_consent),
        row.is_blocked,
        row.repeat_percent,
        row.seed,
    )


def _describe_no_rater(project: str, grades: int) -> str:
    """Whoever never graded there may be guessing numbers, and is not told the project's name."""
    if not grades:
        return _("You are not a rater in this project: ask its administrator to add you.")
    return ngettext(
        "You are no longer a rater in the project {project}: your grade is kept. Ask its administrator why.",
        "You are no longer a rater in the project {project}: your {count} grades are kept. Ask its "
        "administrator why.",
        grades,
        project=repr(project),
    )


def open_context(connection: Connection, project_id: int, rater_id: int, now: datetime) -> RaterContext:
    """The project as its rater meets it.

    Raises:
        NotFoundError: there is no such project.
        AccessError: the user is not a rater in it.
    """
    row = connection.execute(_CONTEXT, {"project": project_id, "rater": rater_id, "now": now}).one_or_none()
    if row is None:
        raise NotFoundError(_("There is no project {number}: see the list of projects.", number=project_id))
    return _context_of(connection, row, rater_id)


_LOCK_PAIR = select(PAIRS.c.id).where(PAIRS.c.id == bindparam("pair")).with_for_update(key_share=True)


def lock_pair(connection: Connection, pair_id: int) -> None:
    """Wait for the row of the pair; SQLite has the whole database locked already."""
    if connection.dialect.name != "sqlite":
        connection.execute(_LOCK_PAIR, {"pair": pair_id})


_IS_RATER = and_(MEMBERSHIPS.c.user_id == RATER, IS_RATER_ROLE)
_IS_PAUSED = exists(
    select(literal_column("1"))
    .select_from(STATES)
    .where(STATES.c.project_id == PROJECT, STATES.c.user_id == RATER, STATES.c.paused_at.is_not(None))
)
# Here too, for a claim may have waited long since the context was read.
_LACKS_CONSENT = exists(
    select(literal_column("1")).select_from(PROJECTS).where(PROJECTS.c.id == PROJECT, lacks_consent(RATER))
)

MAY_CLAIM = (
    select(MEMBERSHIPS.c.user_id)
    .join(_USERS, _USERS.c.id == MEMBERSHIPS.c.user_id)
    .where(_IS_RATER, MEMBERSHIPS.c.project_id == PROJECT, _USERS.c.disabled_at.is_(None))
    .where(~_IS_PAUSED, ~_LACKS_CONSENT)
    .with_for_update(of=(MEMBERSHIPS, _USERS), read=True, key_share=True, skip_locked=True)
)
"""One row for a rater who may be given pairs, who stays one until the transaction ends; for others none."""

_LOCK_RATER = (
    select(MEMBERSHIPS.c.project_id).where(_IS_RATER).order_by(MEMBERSHIPS.c.project_id).with_for_update()
)
_LOCK_RATER_HERE = _LOCK_RATER.where(MEMBERSHIPS.c.project_id == PROJECT)


def block_claims(connection: Connection, rater_id: int, project_id: int | None = None) -> None:
    """Wait for the rater's claims that are under way, and let none begin until this transaction ends.

    Args:
        project_id: where; None for everywhere.
    """
    if project_id is None:
        connection.execute(_LOCK_RATER, {"rater": rater_id}).close()
    else:
        connection.execute(_LOCK_RATER_HERE, {"rater": rater_id, "project": project_id}).close()


PAIR_COLUMNS = (
    PAIRS.c.id,
    PAIRS.c.type,
    PAIRS.c.left,
    PAIRS.c.right,
    PAIRS.c.senses,
    COMMENTS.c.text.label("comment"),
    COMMENTS.c.is_flagged,
    literal(False).label("is_repeat"),
)
"""What a rater sees of a pair that they have not graded."""
OWN_COMMENT = and_(COMMENTS.c.pair_id == PAIRS.c.id, COMMENTS.c.user_id == RATER)
OWN_RATING = and_(RATINGS.c.pair_id == PAIRS.c.id, RATINGS.c.rater_id == RATER)
OWN_ASSIGNMENT = and_(ASSIGNMENTS.c.pair_id == PAIRS.c.id, ASSIGNMENTS.c.rater_id == RATER)

_KEEPER = PROJECTS.alias("keeper")
"""The project in which the pair is kept; of a check pair that is not the one in which it is met."""
_OWN = (
    select(
        PAIRS.c.id,
        PAIRS.c.project_id.label("keeper_id"),
        _KEEPER.c.checks_of_id.is_not(None).label("is_check"),
        (~IN_USE).label("is_withdrawn"),
        PAIRS.c.position,
        PAIRS.c.open_slots,
        ASSIGNMENTS.c.id.label("assignment_id"),
        ASSIGNMENTS.c.state,
        RATINGS.c.id.label("rating_id"),
        RATINGS.c.quarters,
        RATINGS.c.seconds,
        *_CONTEXT_COLUMNS,
    )
    .select_from(
        PAIRS.join(_KEEPER, _KEEPER.c.id == PAIRS.c.project_id)
        .join(PROJECTS, PROJECTS.c.id == func.coalesce(_KEEPER.c.checks_of_id, _KEEPER.c.id))
        .outerjoin(ASSIGNMENTS, OWN_ASSIGNMENT)
        .outerjoin(RATINGS, OWN_RATING)
    )
    .where(PAIRS.c.id == bindparam("pair"))
)


def lock_own_pair(
    connection: Connection, pair_id: int, rater_id: int, now: datetime
) -> tuple[AnyRow, RaterContext]:
    """The pair with the rater's assignment and rating, nobody else changing it until the transaction ends.

    Raises:
        NotFoundError: there is no such pair.
        AccessError: the user is not a rater in its project.
        AssignmentError: the pair was never given to them, they are barred from it, or their grade of it was
            set aside.
    """
    lock_pair(connection, pair_id)
    return read_own_pair(connection, pair_id, rater_id, now)


def read_own_pair(
    connection: Connection, pair_id: int, rater_id: int, now: datetime
) -> tuple[AnyRow, RaterContext]:
    """The same without the lock."""
    row = connection.execute(_OWN, {"pair": pair_id, "rater": rater_id, "now": now}).one_or_none()
    if row is None:
        raise NotFoundError(_("There is no such pair: go on with the pair that your queue shows."))
    context = _context_of(connection, row, rater_id)
    if row.state == BARRED:
        raise AssignmentError(
            _(
                "You wrote this pair, saw its requested grade or decided on it: others grade it, go on with "
                "the next pair."
            )
        )
    if row.state == EXCLUDED:
        raise AssignmentError(
            _("Your grade of this pair was set aside: others grade it, go on with the next pair.")
        )
    if row.state is None:
        raise AssignmentError(_("This pair was not given to you: go on with the pair that your queue shows."))
    return row, context


def as_pair(row: AnyRow) -> PairForRater:
    """The pair in a row that has `PAIR_COLUMNS`."""
    return PairForRater(
        row.id,
        row.type,
        row.left,
        row.right,
        comment=row.comment or "",
        is_flagged=bool(row.is_flagged),
        senses=None if row.senses is None else senses_from_json(row.senses),
        is_repeat=bool(row.is_repeat),
    )


def as_graded_pair(row: AnyRow, scale: Scale) -> PairForRater:
    """The pair in a row that has `PAIR_COLUMNS`, and quarters and updated_at, both empty without a grade."""
    grade = None if row.quarters is None else scale.from_steps(row.quarters)
    return replace(as_pair(row), grade=grade, rated_at=row.updated_at)


_GRADED = select(*PAIR_COLUMNS, RATINGS.c.quarters, RATINGS.c.updated_at).select_from(
    PAIRS.outerjoin(RATINGS, OWN_RATING).outerjoin(COMMENTS, OWN_COMMENT)
)
_ONE = _GRADED.where(PAIRS.c.id == bindparam("pair"))


def read_graded_pair(connection: Connection, pair_id: int, context: RaterContext) -> PairForRater:
    """The pair with the rater's grade and comment; whether it is theirs was asked before."""
    row = connection.execute(_ONE, {"pair": pair_id, "rater": context.rater_id}).one()
    return as_graded_pair(row, context.project.scale)


_LAST_GRADED = (
    select(*PAIR_COLUMNS, RATINGS.c.quarters, RATINGS.c.updated_at, RATINGS.c.updated_at.label("answered_at"))
    .select_from(RATINGS.join(PAIRS, PAIRS.c.id == RATINGS.c.pair_id).outerjoin(COMMENTS, OWN_COMMENT))
    .where(RATINGS.c.project_id.in_((PROJECT, CHECKS_PROJECT)), RATINGS.c.rater_id == RATER, IN_USE)
    .order_by(RATINGS.c.updated_at.desc(), RATINGS.c.id.desc())
    .limit(bindparam("limit"))
)
_LAST_SKIPPED = (
    select(
        *PAIR_COLUMNS,
        null().label("quarters"),
        null().label("updated_at"),
        func.max(SKIPS.c.at, type_=SKIPS.c.at.type).label("answered_at"),
    )
    .select_from(
        ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair_id)
        .join(SKIPS, and_(SKIPS.c.pair_id == PAIRS.c.id, SKIPS.c.rater_id == RATER))
        .outerjoin(COMMENTS, OWN_COMMENT)
    )
    .where(
        ASSIGNMENTS.c.project_id.in_((PROJECT, CHECKS_PROJECT)),
        ASSIGNMENTS.c.rater_id == RATER,
        ASSIGNMENTS.c.state == "skipped",
        IN_USE,
    )
    .group_by(PAIRS.c.id, COMMENTS.c.id)
    .order_by(func.max(SKIPS.c.at).desc(), func.max(SKIPS.c.id).desc())
    .limit(bindparam("limit"))
)


def recent_rows(connection: Connection, context: RaterContext, limit: int) -> list[AnyRow]:
    """What the rater graded or skipped last, with `answered_at`, but repeats."""
    wanted = {**context.parameters, "limit": limit}
    return [row for search in (_LAST_GRADED, _LAST_SKIPPED) for row in connection.execute(search, wanted)]


_COMMENT_COLUMNS = ("text", "is_flagged", "updated_at")
_KEEP_COMMENT = per_system(
    COMMENTS,
    lambda insert: insert.values(
        {name: bindparam(name) for name in ("project_id", "pair_id", "user_id", *_COMMENT_COLUMNS)}
    ).on_conflict_do_update(
        index_elements=["pair_id", "user_id"], set_={name: bindparam(name) for name in _COMMENT_COLUMNS}
    ),
)


def keep_comment(
    connection: Connection, row: AnyRow, context: RaterContext, text: str, is_flagged: bool, now: datetime
) -> None:
    """The rater's comment on the pair of `row`, in place of an earlier one."""
    whose = {"project_id": row.keeper_id, "pair_id": row.id, "user_id": context.rater_id}
    comment = {"text": text, "is_flagged": is_flagged, "updated_at": now}
    connection.execute(_KEEP_COMMENT[connection.dialect.name], {**whose, **comment})


_BAR_COLUMNS = ("project_id", "pair_id", "rater_id", "position", "claimed_at")
_BARRED: dict[str, Any] = {"state": BARRED, "lease_expires_at": None}
_BAR = per_system(
    ASSIGNMENTS,
    lambda insert: insert.values(
        {name: bindparam(name) for name in _BAR_COLUMNS} | _BARRED
    ).on_conflict_do_update(
        index_elements=["pair_id", "rater_id"], set_=_BARRED, where=in_states("skipped", "returned")
    ),
)


def bar_raters(connection: Connection, pair: Pair, users: Iterable[int], now: datetime) -> None:
    """Keep users from ever grading a pair; whoever has graded or holds it goes on.

    The row of the pair is locked, or new.
    """
    whose = {"project_id": pair.project_id, "pair_id": pair.id, "position": pair.position, "claimed_at": now}
    for user_id in sorted(set(users)):
        connection.execute(_BAR[connection.dialect.name], {**whose, "rater_id": user_id})


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


def may_have_seen_grades(pair_id: int, rater_id: int) -> ColumnElement[bool]:
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
