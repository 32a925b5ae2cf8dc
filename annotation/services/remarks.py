"""What raters said of pairs beside their grades: comments, problems, and why they skipped one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Select, case, func, literal, or_, select, union_all

from annotation.characters import LONG_BEGINNING, beginning
from annotation.senses.network import PairSenses
from annotation.senses.pair_senses import senses_from_json
from annotation.services.beginnings import beginning_of
from annotation.services.in_use import IN_USE
from annotation.services.projects import find_project
from annotation.services.rating.held_back import held_back_from
from annotation.types import SkipReason
from db import Database
from db.models import Comment, Pair, Project, Skip, User

PAGE_LENGTH = 200


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
            counting, listing, leaving_out = _statements(project_id, shown, limit)
            found = {RemarkKind(kind): number for kind, number in session.execute(counting)}
            items = tuple(_remark(row) for row in session.execute(listing))
            left_out = session.scalar(leaving_out) or 0
        return RemarkPage({kind: found.get(kind, 0) for kind in RemarkKind}, items, left_out)


def _statements(
    project_id: int, shown: ColumnElement[bool], limit: int | None
) -> tuple[Select[str, int], Select[*tuple[Any, ...]], Select[int]]:
    """How many remarks of each kind there are of pairs that are `shown`, these remarks, and how many other
    pairs have some."""
    said = _said(project_id).subquery()
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


def _said(project_id: int) -> CompoundSelect[Any]:
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
    return union_all(comments, skips)


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
