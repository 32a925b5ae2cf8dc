"""Ratings: taking grades and comments, listing the remarks, and exporting every single rating."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from hashlib import file_digest
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    bindparam,
    case,
    func,
    insert,
    literal,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.orm import Session

from annotation import types
from annotation.assignment import PairForRater, Progress, Saved
from annotation.errors import AssignmentError
from annotation.files.gold_files import (
    SECOND_COLUMNS,
    RatingFormat,
    SecondGrade,
    SingleRating,
    rating_lines,
)
from annotation.gold import RaterColumns, anonymous_label, label_key
from annotation.reliability.repeats import TwoGrades
from annotation.sense_pairs import senses_from_json
from annotation.senses import PairSenses
from annotation.services.assignment import AssignmentService, make_room, progress_of, read_checks, recount
from annotation.services.audit import record
from annotation.services.excluded_ratings import ExclusionService
from annotation.services.numbering import NumberService, keep_exported, names_of, rater_ids
from annotation.services.project_rows import IN_USE, find_project, of_pair_in_use, scale_in
from annotation.services.rater_queue import (
    ASSIGNMENTS,
    CHANGES,
    PAIRS,
    RATINGS,
    AnyRow,
    RaterContext,
    as_graded_pair,
    held_back_from,
    keep_comment,
    lock_own_pair,
    may_have_seen_grades,
    open_context,
    read_graded_pair,
    read_own_pair,
    recent_rows,
)
from annotation.services.repeats import (
    answered_repeats,
    change_repeat,
    grade_repeat,
    lock_repeat,
    read_repeat,
    read_repeats,
    read_two_grades,
)
from annotation.services.transactions import STREAMED_AT_ONCE, beginning_of, count_where
from annotation.services.users import id_of
from annotation.translation import _
from annotation.types import Clock, SkipReason, utcnow
from annotation.wording import LONG_BEGINNING, LONGEST_COMMENT, LONGEST_NOTE, beginning, normalise_note
from db import Database
from db.models import Comment, Pair, Project, Rating, RatingChange, Repeat, Skip, User
from kpdemo.translation import write_decimal

RECENT = 20
"""Answers that raters are shown again."""
PAGE_LENGTH = 200
"""Remarks that a page lists at most."""

_WHOSE: dict[str, Any] = {
    "project_id": bindparam("project"),
    "pair_id": bindparam("pair"),
    "rater_id": bindparam("rater"),
    "quarters": bindparam("grade"),
}
_TAKE = (
    update(ASSIGNMENTS)
    .where(ASSIGNMENTS.c.id == bindparam("assignment"))
    .values(state="rated", lease_expires_at=None)
)
_KEEP = (
    insert(RATINGS)
    .values(**_WHOSE, seconds=bindparam("spent"), created_at=bindparam("now"), updated_at=bindparam("now"))
    .inline()  # nobody asks for the id of the new row
)
_REMEMBER = (
    insert(CHANGES)
    .values(
        **_WHOSE,
        previous_quarters=bindparam("previous"),
        seconds=bindparam("spent"),
        origin="page",
        at=bindparam("now"),
    )
    .inline()
)
_LOW = case((PAIRS.c.low_quarters < bindparam("grade"), PAIRS.c.low_quarters), else_=bindparam("grade"))
_HIGH = case((PAIRS.c.high_quarters > bindparam("grade"), PAIRS.c.high_quarters), else_=bindparam("grade"))
_COUNT = (
    update(PAIRS)
    .where(PAIRS.c.id == bindparam("pair"))
    .values(
        rating_count=PAIRS.c.rating_count + 1,
        low_quarters=_LOW,
        high_quarters=_HIGH,
        spread_quarters=_HIGH - _LOW,
        open_slots=PAIRS.c.open_slots - bindparam("slots"),
    )
)
"""Nobody else can come between: the pair is locked."""
_ADD = {
    "sqlite": (_TAKE, _KEEP, _REMEMBER, _COUNT),
    # In one trip to the server instead of four.
    "postgresql": (_REMEMBER.add_cte(_TAKE.cte("taken"), _KEEP.cte("kept"), _COUNT.cte("counted")),),
}
_CHANGE = (
    update(RATINGS)
    .where(RATINGS.c.id == bindparam("rating"))
    .values(quarters=bindparam("grade"), seconds=bindparam("total"), updated_at=bindparam("now"))
)


class RatingService:
    """Keeps grades: one of each rater for a pair, every change of it in the history."""

    def __init__(
        self, database: Database, clock: Clock = utcnow, assignments: AssignmentService | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._assignments = assignments or AssignmentService(database, clock)
        self._exclusion = ExclusionService(database, clock)

    def rate(self, pair_id: int, rater_id: int, grade: Decimal, seconds: float | None = None) -> Saved:
        """Keep the grade and fill the rater's queue, in one transaction.

        The same grade again changes nothing, so that a browser may send one twice. A pair whose lease ran
        out is taken again if it still has a place.

        Args:
            seconds: from showing the pair to this submit; added to those of earlier grades.

        Raises:
            NotFoundError: there is no such pair.
            AccessError: the user is not a rater in its project, is paused or in training there, or has not
                agreed to its text.
            GradeError: the grade is not on the project's scale.
            AssignmentError: the pair was never theirs, others took it, the project keeps first grades, or the
                rater could look at others' grades since they graded or skipped it.
        """

        def rate(connection: Connection) -> tuple[Saved, bool]:
            row, context = lock_own_pair(connection, pair_id, rater_id, self._clock())
            context.check_may_work()
            now = self._clock()  # once the pair is locked: a decision made meanwhile was made before
            quarters = context.project.scale.to_steps(context.project.grades.check(grade))
            is_new = row.rating_id is None
            if row.quarters != quarters:
                whose = {"project": row.keeper_id, "pair": row.id, "rater": rater_id}
                given = {"grade": quarters, "previous": row.quarters, "spent": seconds, "now": now}
                if is_new:
                    holds = row.state == "held"
                    if not holds:
                        _check_place(connection, row, context)
                    given |= {"assignment": row.assignment_id, "slots": int(not holds)}
                    for statement in _ADD[connection.dialect.name]:
                        connection.execute(statement, whose | given)
                else:
                    _check_revision(connection, row, context)
                    is_timed = row.seconds is not None or seconds is not None
                    total = (row.seconds or 0) + (seconds or 0) if is_timed else None
                    connection.execute(_CHANGE, {**given, "rating": row.rating_id, "total": total})
                    connection.execute(_REMEMBER, {**whose, **given})
                    recount(connection, row.id)
            queue = self._assignments.fill(connection, context, now, answered=row, rated=int(is_new))
            return Saved(now, queue), row.is_check

        saved, is_check = self._assignments.transact(rate, rater_id)
        # In a transaction of its own, which locks all pairs of the project.
        if is_check and self._exclusion.block_if_due(saved.queue.project.id, rater_id):
            return Saved(saved.at, replace(saved.queue, pairs=(), is_waiting=False), is_blocked=True)
        return replace(saved, queue=self._assignments.look_again(saved.queue, rater_id))

    def comment(self, pair_id: int, rater_id: int, text: str, is_flagged: bool = False) -> datetime:
        """Keep the rater's comment on a pair of theirs, in place of an earlier one; when that was.

        Raises:
            NotFoundError: there is no such pair.
            AccessError: the user is not a rater in its project.
            ConsentError: they have to agree to the project's text first.
            AssignmentError: the pair was never theirs.
            NoteError: the comment is too long.
        """
        kept = normalise_note(text, "comment", LONGEST_COMMENT)
        with self._database.session() as session:
            now = self._clock()
            # Locked: the row that is written refers to the project too, and who deletes it locks pairs first.
            row, context = lock_own_pair(session.connection(), pair_id, rater_id, now)
            context.check_consent()
            keep_comment(session.connection(), row, context, kept, is_flagged, now)
        return now

    def pair(self, pair_id: int, rater_id: int) -> PairForRater:
        """A pair that was given to the rater, with their grade and comment.

        Raises:
            NotFoundError: there is no such pair.
            AccessError: the user is not a rater in its project.
            AssignmentError: the pair was never theirs.
        """
        with self._database.reading() as session:
            context = read_own_pair(session.connection(), pair_id, rater_id, self._clock())[1]
            return read_graded_pair(session.connection(), pair_id, context)

    def recent(self, project_id: int, rater_id: int, limit: int = RECENT) -> tuple[PairForRater, ...]:
        """What the rater graded or skipped last, newest first; a skipped pair has no grade.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it.
        """
        with self._database.reading() as session:
            context = open_context(session.connection(), project_id, rater_id, self._clock())
            connection = session.connection()
            rows = [*recent_rows(connection, context, limit), *answered_repeats(connection, context, limit)]
            rows.sort(key=lambda row: row.answered_at, reverse=True)
            return tuple(as_graded_pair(row, context.project.scale) for row in rows[:limit])

    def progress(self, project_id: int, rater_id: int) -> Progress:
        """How many pairs the rater graded, of how many that they can have graded in the end; counted now.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not a rater in it.
        """
        with self._database.reading() as session:
            context = open_context(session.connection(), project_id, rater_id, self._clock())
            progress = plain = progress_of(session.connection(), context)
            checks = read_checks(session.connection(), context)
            if checks is not None:
                progress = checks.add_to(progress)
            repeats = read_repeats(session.connection(), context)
            if repeats is None:
                return progress
            return repeats.add_to(progress, plain, is_at_end=False)

    def rate_again(self, pair_id: int, rater_id: int, grade: Decimal, seconds: float | None = None) -> Saved:
        """Keep the grade of a pair that came back to the rater; it is no rating, and their first one stays.

        The same grade again changes nothing, so that a browser may send one twice.

        Raises:
            NotFoundError, AccessError, GradeError: as of `rate`.
            AssignmentError: the pair never came back to them, or the project keeps first grades.
        """

        def rate(connection: Connection) -> Saved:
            row, context = lock_own_pair(connection, pair_id, rater_id, self._clock())
            context.check_may_work()
            now = self._clock()
            again = lock_repeat(connection, pair_id, rater_id)
            quarters = context.project.scale.to_steps(context.project.grades.check(grade))
            if again.quarters != quarters:
                if again.quarters is not None and not context.project.may_revise:
                    given = context.project.scale.from_steps(again.quarters)
                    raise AssignmentError(
                        _(
                            "You graded this pair {grade}, and this project keeps the first grade: go on "
                            "with the next pair.",
                            grade=write_decimal(given),
                        )
                    )
                grade_repeat(connection, again, quarters, row.quarters, seconds, now)
            return Saved(now, self._assignments.fill(connection, context, now))

        return self._transact(rate, rater_id)

    def skip_again(self, pair_id: int, rater_id: int, reason: SkipReason, note: str = "") -> Saved:
        """Skip a pair that came back to the rater; their rating of it stays.

        Raises:
            NotFoundError, AccessError: as of `rate`.
            AssignmentError: the pair never came back to them, or they graded it again.
        """
        said = normalise_note(note, "note", LONGEST_NOTE)

        def skip(connection: Connection) -> Saved:
            now = self._clock()
            row, context = lock_own_pair(connection, pair_id, rater_id, now)
            context.check_may_work()
            again = lock_repeat(connection, pair_id, rater_id)
            if again.state == "rated":
                raise AssignmentError(
                    _("You graded this pair already: change its grade instead of skipping it.")
                )
            if again.state != "skipped":
                change_repeat(connection, again.id, state="skipped", answered_at=now)
                whose = {"project_id": row.keeper_id, "pair_id": row.id, "rater_id": rater_id}
                connection.execute(insert(Skip).values(**whose, reason=reason.value, note=said, at=now))
            return Saved(now, self._assignments.fill(connection, context, now))

        return self._transact(skip, rater_id)

    def comment_again(self, pair_id: int, rater_id: int, text: str, is_flagged: bool = False) -> datetime:
        """Keep the comment on a pair that came back; the one on the first time stays.

        Raises:
            NotFoundError, AccessError, ConsentError, NoteError: as of `comment`.
            AssignmentError: the pair never came back to them.
        """
        kept = normalise_note(text, "comment", LONGEST_COMMENT)
        with self._database.session() as session:
            now = self._clock()
            connection = session.connection()
            context = lock_own_pair(connection, pair_id, rater_id, now)[1]
            context.check_consent()
            again = lock_repeat(connection, pair_id, rater_id)
            change_repeat(connection, again.id, comment=kept, is_flagged=is_flagged)
        return now

    def pair_again(self, pair_id: int, rater_id: int) -> PairForRater:
        """A pair that came back to the rater, with their second grade.

        Raises:
            NotFoundError, AccessError: as of `pair`.
            AssignmentError: the pair never came back to them.
        """
        with self._database.reading() as session:
            connection = session.connection()
            context = read_own_pair(connection, pair_id, rater_id, self._clock())[1]
            lock_repeat(connection, pair_id, rater_id)
            return read_repeat(connection, context, pair_id)

    def _transact(self, work: Callable[[Connection], Saved], rater_id: int) -> Saved:
        saved = self._assignments.transact(work, rater_id)
        return replace(saved, queue=self._assignments.look_again(saved.queue, rater_id))


def _check_place(connection: Connection, row: AnyRow, context: RaterContext) -> None:
    """Refuse a grade of a pair that the rater no longer holds, unless both have room for it."""
    if row.open_slots < 1:
        raise AssignmentError(
            _(
                "The time for this pair ran out and others have taken it: your grade was not saved, "
                "go on with the next pair."
            )
            if row.state == "returned"
            else _(
                "You skipped this pair and others have taken it since: your grade was not saved, "
                "go on with the next pair."
            )
        )
    is_skipped = row.state == "skipped" and not row.is_check
    if is_skipped and connection.scalar(select(may_have_seen_grades(row.id, context.rater_id))):
        raise AssignmentError(
            _(
                "You skipped this pair, and could look at others' grades of it since: your grade was not "
                "saved, go on with the next pair."
            )
        )
    if not row.is_check and not row.is_withdrawn and not make_room(connection, context):
        raise AssignmentError(
            _(
                "You have graded your share of the pairs, and no longer hold this one: your grade was not "
                "saved, others grade the pair."
            )
        )


def _check_revision(connection: Connection, row: AnyRow, context: RaterContext) -> None:
    """Refuse another grade where the first is final, or the rater may have seen those of others."""
    given = context.project.scale.from_steps(row.quarters)
    if not context.project.may_revise:
        raise AssignmentError(
            _(
                "You graded this pair {grade}, and this project keeps the first grade: go on with the next "
                "pair.",
                grade=write_decimal(given),
            )
        )
    if not row.is_check and connection.scalar(select(may_have_seen_grades(row.id, context.rater_id))):
        raise AssignmentError(
            _(
                "You graded this pair {grade}, and could look at others' grades of it since: that grade "
                "stays, go on with the next pair.",
                grade=write_decimal(given),
            )
        )


class RemarkKind(StrEnum):
    """A problem is a comment, perhaps without words, that says that something is wrong with the pair."""

    PROBLEM = "problem"
    COMMENT = "comment"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Remark:
    kind: RemarkKind
    external_id: str
    pair_id: int
    type: str
    left: str
    """Its first words, as those of `right`."""
    right: str
    rater: str
    reason: SkipReason | None
    """Only of a skip."""
    text: str
    """The comment, or the note of a skip; may be empty."""
    at: datetime
    is_check: bool = False
    """Of a hidden check pair."""
    is_withdrawn: bool = False
    """Of a pair that is withdrawn."""
    senses: PairSenses | None = None
    """Of a word and a sense."""


@dataclass(frozen=True, slots=True)
class RemarkPage:
    counts: Mapping[RemarkKind, int]
    """Of the whole project, but pairs that are held back from whoever sees it."""
    items: tuple[Remark, ...]
    held_back: int = 0
    """Pairs of which something was said, but that are held back."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class RemarkService:
    def __init__(self, database: Database) -> None:
        self._database = database

    def remarks(
        self, project_id: int, *, limit: int | None = PAGE_LENGTH, viewer: int | None = None
    ) -> RemarkPage:
        """What was said in a project, of check pairs too: problems first, and then the newest first.

        Args:
            limit: how many at most; None for all.
            viewer: who looks; what was said of pairs that are held back from them is left out.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            held_back = held_back_from(session, find_project(session, project_id), viewer)
            shown = or_(Pair.project_id != project_id, ~held_back)
            counting, listing, leaving_out = _remark_statements(project_id, shown, limit)
            found = {RemarkKind(kind): number for kind, number in session.execute(counting)}
            items = tuple(_remark(row) for row in session.execute(listing))
            left_out = session.scalar(leaving_out) or 0
        return RemarkPage({kind: found.get(kind, 0) for kind in RemarkKind}, items, left_out)


def _remark_statements(
    project_id: int, shown: ColumnElement[bool], limit: int | None
) -> tuple[Select[str, int], Select[*tuple[Any, ...]], Select[int]]:
    """How many remarks of each kind there are of pairs that are `shown`, these remarks, and how many other
    pairs have some."""
    said = _remark_rows(project_id).subquery()
    of_pair = said.join(Pair, Pair.id == said.c.pair_id)
    counting = select(said.c.kind, func.count()).select_from(of_pair).where(shown).group_by(said.c.kind)
    listing = (
        select(
            said.c.kind,
            Pair.external_id,
            Pair.id,
            Pair.type,
            beginning_of(Pair.left, LONG_BEGINNING),
            beginning_of(Pair.right, LONG_BEGINNING),
            Pair.senses,
            User.name,
            said.c.reason,
            said.c.text,
            said.c.at,
            (Pair.project_id != project_id).label("is_check"),
            (~IN_USE).label("is_withdrawn"),
        )
        .select_from(of_pair)
        .join(User, User.id == said.c.user_id)
        .where(shown)
        .order_by(
            said.c.kind != RemarkKind.PROBLEM.value,
            said.c.at.desc(),
            said.c.kind,
            said.c.id.desc(),
        )
        .limit(limit)
    )
    leaving_out = select(func.count(Pair.id.distinct())).select_from(of_pair).where(~shown)
    return counting, listing, leaving_out


def _remark_rows(project_id: int) -> CompoundSelect[Any]:
    kind = case((Comment.is_flagged, RemarkKind.PROBLEM.value), else_=RemarkKind.COMMENT.value)
    comments = select(
        kind.label("kind"),
        Comment.id,
        Comment.pair_id,
        Comment.user_id,
        literal("").label("reason"),
        Comment.text,
        Comment.updated_at.label("at"),
    ).where(
        Comment.project_id.in_(_with_checks(project_id)),
        or_(Comment.is_flagged, Comment.text != ""),  # else it was taken back
    )
    skips = select(
        literal(RemarkKind.SKIP.value), Skip.id, Skip.pair_id, Skip.rater_id, Skip.reason, Skip.note, Skip.at
    ).where(Skip.project_id.in_(_with_checks(project_id)))
    again = select(
        case((Repeat.is_flagged, RemarkKind.PROBLEM.value), else_=RemarkKind.COMMENT.value),
        Repeat.id,
        Repeat.pair_id,
        Repeat.rater_id,
        literal(""),
        Repeat.comment,
        func.coalesce(Repeat.answered_at, Repeat.claimed_at),
    ).where(Repeat.project_id == project_id, or_(Repeat.is_flagged, Repeat.comment != ""))
    return union_all(comments, skips, again)


def _with_checks(project_id: int) -> Select[int]:
    """The project and, if it has check pairs, the one that keeps them."""
    return select(Project.id).where(or_(Project.id == project_id, Project.checks_of_id == project_id))


def _remark(row: Any) -> Remark:
    return Remark(
        kind=RemarkKind(row.kind),
        external_id=row.external_id,
        pair_id=row.id,
        type=row.type,
        left=beginning(row.left, LONG_BEGINNING),
        right=beginning(row.right, LONG_BEGINNING),
        rater=row.name,
        reason=SkipReason(row.reason) if row.reason else None,
        text=row.text,
        at=row.at,
        is_check=row.is_check,
        is_withdrawn=row.is_withdrawn,
        senses=senses_from_json(row.senses),
    )


class RatingExportService:
    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock
        self._numbers = NumberService(database, clock)

    def export(
        self,
        project_id: int,
        file: Path,
        format: RatingFormat,
        *,
        named: bool,
        is_safe: bool = False,
        second: bool = False,
        by: types.User | None = None,
        publish: Callable[[], None] | None = None,
    ) -> int:
        """Write the ratings of the pairs that count to a new file, and keep the numbers that it gave raters.

        Args:
            project_id: which project.
            file: it is made, or emptied.
            format: of the file.
            named: whether raters have their names; else "rater 1" and so on, as in gold sets.
            is_safe: whether spreadsheet programs run no cell of CSV as a formula.
            by: who exports; None stands for the command line.
            second: the two grades of the pairs that came back to their rater, in place of the ratings.
            publish: puts the file in its place; where that fails, nothing was exported.

        Returns:
            How many rows it has.

        Raises:
            NotFoundError: there is no such project.
            ExportError: the format cannot hold the id of a pair.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            raters = rater_ids(session, project.id)
            if named:
                labels = names_of(session, raters)
            else:
                numbers = self._numbers.give(project.id, raters)
                labels = {rater: anonymous_label(numbers[rater]) for rater in raters}
            if second:
                twice = read_two_grades(session, project.id)
                written = len(twice)
                lines = rating_lines(
                    sorted((_second_grade(each, labels) for each in twice), key=_by_rater),
                    format,
                    is_safe=is_safe,
                    columns=SECOND_COLUMNS,
                )
            else:
                counts = of_pair_in_use(Rating.pair_id, project.id)
                written = count_where(session, Rating.project_id == project.id, counts)
                lines = rating_lines(_ratings(session, project.id, labels), format, is_safe=is_safe)
            with file.open("w", encoding="utf-8", newline="") as stream:
                stream.writelines(lines)
        self._publish(project_id, file, None if named else raters, written, publish, second=second, by=by)
        return written

    def page(
        self, project_id: int, *, named: bool, limit: int, offset: int
    ) -> tuple[int, list[SingleRating]]:
        """How many ratings there are, and some of them, as `export` writes them.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            raters = rater_ids(session, project.id)
            if named:
                labels = names_of(session, raters)
            else:
                numbers = self._numbers.give(project.id, raters)
                labels = {rater: anonymous_label(numbers[rater]) for rater in raters}
            counts = of_pair_in_use(Rating.pair_id, project.id)
            total = count_where(session, Rating.project_id == project.id, counts)
            if offset >= total:
                return total, []
            first = _order_of_rating(session, project.id, offset)
            last = _order_of_rating(session, project.id, min(offset + limit, total) - 1)
            earlier = select(Pair.id).where(Pair.project_id == project.id, Pair.import_order < first)
            skipped = offset - count_where(
                session, Rating.project_id == project.id, counts, Rating.pair_id.in_(earlier)
            )
            rows = _ratings(session, project.id, labels, Pair.import_order.between(first, last))
            return total, list(islice(rows, skipped, skipped + limit))

    def _publish(
        self,
        project_id: int,
        file: Path,
        numbered: Sequence[int] | None,
        written: int,
        publish: Callable[[], None] | None,
        *,
        second: bool,
        by: types.User | None,
    ) -> None:
        """Publish and write down that it was done, with numbers for these raters or, of None, with names."""
        raters = (RaterColumns.NAMED if numbered is None else RaterColumns.ANONYMOUS).value
        with file.open("rb") as stream:
            digest = file_digest(stream, "sha256").hexdigest()
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)  # it stays until this is written down
            if numbered is not None:
                keep_exported(session, project.id, numbered)
            record(
                session,
                self._clock(),
                "ratings exported",
                user_id=id_of(by),
                project_id=project.id,
                raters=raters,
                ratings=written,
                sha256=digest,
                **({"second": True} if second else {}),
            )
            session.flush()
            if publish is not None:
                publish()


def _second_grade(twice: TwoGrades, labels: Mapping[int, str]) -> SecondGrade:
    whose = (twice.external_id, twice.type, labels[twice.rater])
    return SecondGrade(*whose, twice.first, twice.second, twice.seconds, twice.at)


def _by_rater(given: SecondGrade) -> tuple[Any, ...]:
    return label_key(given.rater), given.id, given.type


def _order_of_rating(session: Session, project_id: int, place: int) -> int:
    """The order of import of the pair whose rating stands at a place, from 0, among all that count."""
    orders = select(Pair.import_order).join(Rating, Rating.pair_id == Pair.id)
    of_project = orders.where(Pair.project_id == project_id, IN_USE).order_by(Pair.import_order)
    return session.scalars(of_project.offset(place).limit(1)).one()


def _ratings(
    session: Session, project_id: int, labels: dict[int, str], *pairs: ColumnElement[bool]
) -> Iterator[SingleRating]:
    """In the order of import, those of a pair by what stands for their raters.

    Args:
        pairs: which ones; all of the project without.
    """
    scale = scale_in(session, project_id)
    of_pairs = RatingChange.pair_id.in_(select(Pair.id).where(Pair.project_id == project_id, *pairs))
    given = (
        select(
            RatingChange.pair_id,
            RatingChange.rater_id,
            func.count().label("times"),
            func.max(case((RatingChange.origin == "page", RatingChange.at))).label("at"),
        )
        .where(RatingChange.project_id == project_id, *([of_pairs] if pairs else []))
        .group_by(RatingChange.pair_id, RatingChange.rater_id)
        .subquery()
    )
    rows: Any = session.execute(
        select(
            Pair.import_order,
            Pair.external_id,
            Pair.type,
            Rating.rater_id,
            Rating.quarters,
            Rating.seconds,
            given.c.at,
            func.coalesce(given.c.times, 1).label("times"),
        )
        .join(Pair, Pair.id == Rating.pair_id)
        .outerjoin(given, (given.c.pair_id == Rating.pair_id) & (given.c.rater_id == Rating.rater_id))
        .where(Rating.project_id == project_id, IN_USE, *pairs)
        .order_by(Pair.import_order)
        .execution_options(yield_per=STREAMED_AT_ONCE)
    )
    for _key, of_pair in groupby(rows, key=attrgetter("import_order")):
        for row in sorted(of_pair, key=lambda row: label_key(labels[row.rater_id])):
            yield SingleRating(
                row.external_id,
                row.type,
                labels[row.rater_id],
                scale.from_steps(row.quarters),
                row.seconds,
                row.at,
                row.times - 1,
            )
