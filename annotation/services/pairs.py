"""The pairs of a project for its administrators: listed, withdrawn, removed, and those that are stuck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, or_, select, update
from sqlalchemy.orm import Session

from annotation.errors import PairError
from annotation.sense_pairs import senses_from_json
from annotation.senses import PairSenses
from annotation.services.assignment import read_shares, refresh_pairs
from annotation.services.audit import PAIRS_REMOVED, PAIRS_RESTORED, PAIRS_WITHDRAWN, record
from annotation.services.project_rows import (
    HAS_DECISION,
    IN_USE,
    find_by_ids,
    find_project,
    is_decided,
    is_flagged,
    is_fully_rated,
    lock_pairs,
)
from annotation.services.rater_queue import BARRED, HAS_SLOT, NOT_NEW, held_back_from
from annotation.services.transactions import (
    beginning_of,
    count_where,
    in_transaction,
    parts,
)
from annotation.services.users import can_come_in, id_of, is_open, is_paused, is_rater
from annotation.translation import _, mark, ngettext
from annotation.types import Clock, Role, SkipReason, User, utcnow
from annotation.wording import LONG_BEGINNING, LONGEST_NOTE, beginning, can_be_stored, normalise_note
from db import Database
from db.models import (
    AdjudicationChange,
    Assignment,
    Invitation,
    LargerItem,
    Membership,
    Pair,
    Project,
    RaterState,
    RatingChange,
    SentPhrase,
    SetAside,
    Skip,
)
from db.models import User as UserRow

PAGE_LENGTH = 25
_SHOWN_OF_SENSES = (("word_definition",), ("sense", "words"), ("sense", "definition"))
"""Where the column `senses` has what the list shows of a word and a sense, besides the word."""


class PairState(StrEnum):
    """How far a pair is."""

    OPEN = "open"
    """It lacks grades, and those that it has are not far apart."""
    GRADED = "fully graded"
    FLAGGED = "flagged"
    """Its grades are far apart, and it waits for a decision, also where it lacks grades."""
    DECIDED = "decided"
    WITHDRAWN = "withdrawn"
    """Given to nobody and counted nowhere, however far it was."""


@dataclass(frozen=True, slots=True)
class PairLine:
    id: int
    external_id: str
    type: str
    genre: str | None
    left: str
    """Its first words, as those of `right`, unless whole texts were asked for."""
    right: str
    grades: int
    state: PairState
    senses: PairSenses | None = None
    """Of a word and a sense."""


@dataclass(frozen=True, slots=True)
class PairPage:
    total: int
    """Of the pairs that were asked for."""
    withdrawn: int
    """How many of them are withdrawn."""
    raters_per_pair: int
    items: tuple[PairLine, ...]


STUCK_PAGE_LENGTH = 50

_BROKEN = (
    select(func.count(Skip.rater_id.distinct()))
    .join(Assignment, and_(Assignment.pair_id == Skip.pair_id, Assignment.rater_id == Skip.rater_id))
    .where(
        Skip.pair_id == Pair.id,
        Skip.reason == SkipReason.BROKEN_TEXT.value,
        Assignment.state == "skipped",
    )
    .correlate(Pair)
    .scalar_subquery()
)
"""Of a pair, the raters whose skip of it stands and who called its text broken."""


@dataclass(frozen=True, slots=True)
class StuckPair:
    external_id: str
    type: str
    grades: int
    """How many it has."""
    missing: int
    """How many it lacks, besides those that raters have before them."""
    raters_left: int
    """Who may still grade it: fewer than `missing`."""
    skips: int
    broken: int
    """Raters who skipped it and said that its text is broken."""


@dataclass(frozen=True, slots=True)
class StuckPairs:
    total: int
    raters_per_pair: int
    raters: int
    """Who can be given pairs of the project at all, but for the limit of pairs per rater."""
    full: int
    """Those of them who have as many pairs as the limit allows, and are left for none."""
    by_limit: int
    """How many of the pairs are listed for that reason alone."""
    most_per_rater: int | None
    lowest_raters: int
    """The settings refuse a smaller number of raters for a pair: some pair has had that many."""
    open_links: int
    """Links that make somebody a rater of the project, and that nobody has used yet."""
    room: int
    """How many pairs the limit of pairs per rater lets the raters still be given; 0 without a limit."""
    short_by: int
    """How many of the grades that no rater has before them are more than that; 0 without a limit."""
    broken: int
    """How many of the pairs a rater skipped as broken."""
    paused: int
    """Raters who are paused, but for those whose grades are set aside."""
    items: tuple[StuckPair, ...]
    """In the order of import; the first ones."""

    @property
    def fewer_would_do(self) -> bool:
        """Whether the number of raters for a pair can be lowered at all."""
        return max(1, self.lowest_raters) < self.raters_per_pair

    @property
    def short_text(self) -> str:
        """That the limit will be too low for the raters there are; nothing where all have reached it."""
        if not self.room or not self.short_by:
            return ""
        return _(
            "The limit of {most} per rater leaves the raters room for {room} of the {all} grades that are "
            "still to be given out",
            most=self._most_text,
            room=f"{self.room:,}",
            all=f"{self.room + self.short_by:,}",
        )

    @property
    def _most_text(self) -> str:
        most = self.most_per_rater or 0
        return ngettext("{count} pair", "{count} pairs", most, count=f"{most:,}")

    @property
    def limit_text(self) -> str:
        """Who has reached the limit of pairs per rater; nothing where that keeps no pair back."""
        if not self.by_limit:
            return ""
        figures = {"most": self._most_text, "kept": f"{self.by_limit:,}", "count": f"{self.full:,}"}
        keeps_all = self.by_limit == self.total
        if self.full == self.raters:
            return (
                _("All raters have reached the limit of {most} per rater", **figures)
                if keeps_all
                else _(
                    "All raters have reached the limit of {most} per rater, which keeps {kept} of them back",
                    **figures,
                )
            )
        if keeps_all:
            return ngettext(
                "{count} rater has reached the limit of {most} per rater",
                "{count} raters have reached the limit of {most} per rater",
                self.full,
                **figures,
            )
        return ngettext(
            "{count} rater has reached the limit of {most} per rater, which keeps {kept} of them back",
            "{count} raters have reached the limit of {most} per rater, which keeps {kept} of them back",
            self.full,
            **figures,
        )

    @property
    def broken_text(self) -> str:
        """That a rater found some to be unfit; nothing where none did."""
        if not self.broken:
            return ""
        if self.total == 1:
            return _("It was skipped for a broken text")
        return ngettext(
            "{count} of them was skipped for a broken text",
            "{count} of them were skipped for a broken text",
            self.broken,
            count=f"{self.broken:,}",
        )

    @property
    def links_text(self) -> str:
        """That somebody may still come; nothing where nobody is invited."""
        if not self.open_links:
            return ""
        return ngettext(
            "{count} link for a rater has not been used: the person who opens it may grade these pairs too.",
            "{count} links for raters have not been used: the people who open them may grade these pairs "
            "too.",
            self.open_links,
            count=f"{self.open_links:,}",
        )


class PairService:
    """Lists, withdraws, restores and removes pairs. Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def pairs(
        self,
        project_id: int,
        *,
        search: str = "",
        state: PairState | None = None,
        limit: int | None = PAGE_LENGTH,
        offset: int = 0,
        has_whole_texts: bool = False,
        viewer: int | None = None,
    ) -> PairPage:
        """The pairs in the order of import, hidden check pairs not among them.

        Args:
            search: a part of the id or of one of the texts, of a sense its words, meaning or key; as it
                stands, or in other capital and small letters; which letters have others, PostgreSQL knows
                from the database's locale.
            state: only those in this state; None for all.
            limit: how many at most; None for all.
            offset: how many to leave out.
            has_whole_texts: the texts to their ends, not only their first words.
            viewer: who looks; a flagged or decided pair that is held back from them is open.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            states = _states(project, held_back_from(session, project, viewer))
            wanted = [Pair.project_id == project.id, *_search_conditions(search)]
            if state is not None:
                wanted.append(states[state])
            total = count_where(session, *wanted)
            withdrawn = count_where(session, *wanted, ~IN_USE)
            listing = _listing(states, is_whole=has_whole_texts).where(*wanted).order_by(Pair.import_order)
            rows = session.execute(listing.limit(limit).offset(offset)).all()
            items = tuple(_line(row, is_whole=has_whole_texts) for row in rows)
        return PairPage(total, withdrawn, project.raters_per_pair, items)

    def stuck(self, project_id: int, *, limit: int | None = STUCK_PAGE_LENGTH) -> StuckPairs:
        """The pairs without a decision that lack more grades than there are raters left for them.

        A rater is left for a pair who is neither paused nor disabled, can sign in or has an open link to do
        so, has neither graded nor skipped it, nor is barred from it, and has not all the pairs that the
        project's limit allows.

        Args:
            limit: how many are listed at most; None for all.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            fewest = session.scalar(select(func.min(Pair.open_slots)).where(Pair.project_id == project.id))
            now = self._clock()
            raters = session.scalars(_eligible_raters(project.id, now)).all()
            links = session.scalar(_count_open_links(project.id, now)) or 0
            paused = session.scalar(_count_paused(project.id, now)) or 0
            shares = read_shares(session, project)
            left, room, short_by = raters, 0, 0
            if shares is not None:
                left = [rater for rater in raters if shares[rater].left > 0]
                room = sum(shares[rater].left for rater in left)
                lacking = session.scalar(select(func.sum(Pair.open_slots)).where(*_lacks_grades(project.id)))
                short_by = max(0, (lacking or 0) - room)
            listing = _stuck_pairs(project.id, left)
            total = _count(session, listing)
            others = _count(session, _stuck_pairs(project.id, raters)) if len(left) < len(raters) else total
            broken = _count(session, listing.where(_BROKEN > 0)) if total else 0
            rows = session.execute(listing.limit(limit)).all() if total else []
        lowest = 0 if fewest is None else project.raters_per_pair - fewest
        return StuckPairs(
            total,
            project.raters_per_pair,
            raters=len(raters),
            full=len(raters) - len(left),
            by_limit=total - others,
            most_per_rater=project.most_per_rater,
            lowest_raters=lowest,
            open_links=links,
            room=room,
            short_by=short_by,
            broken=broken,
            paused=paused,
            items=tuple(StuckPair(*row) for row in rows),
        )

    def remove(
        self, project_id: int, ids: Sequence[str], *, type: str | None = None, by: User | None = None
    ) -> int:
        """Take the pairs out of the project, all or none; how many they are.

        A check pair is not among the pairs of its project.

        Raises:
            NotFoundError: there is no such project, or no such pair in it.
            PairError: somebody has met a pair, or an id is that of pairs of several types.
        """

        def remove(session: Session, now: datetime) -> int:
            project = find_project(session, project_id, lock=True)
            lock_pairs(session, project.id, is_deleting=True)  # nobody is given one meanwhile
            found = find_by_ids(session, Pair, project.id, ids, type)
            for numbers in parts(found.values()):
                _check_removable(session, numbers)
            for numbers in parts(found.values()):
                session.execute(delete(Pair).where(Pair.id.in_(numbers)))
            if found:
                record(
                    session, now, PAIRS_REMOVED, user_id=id_of(by), project_id=project.id, pairs=list(found)
                )
            return len(found)

        return in_transaction(self._database, self._clock, remove)

    def withdraw(
        self,
        project_id: int,
        ids: Sequence[str],
        *,
        type: str | None = None,
        reason: str = "",
        by: User | None = None,
    ) -> int:
        """Give the pairs to nobody any more and count them nowhere, all or none; how many were in use.

        Whoever has one on the screen may still send a grade: it is kept with the pair.

        Raises:
            NotFoundError: there is no such project, or no such pair in it.
            PairError: an id is that of pairs of several types.
            NoteError: the reason is too long.
        """
        return self._change(project_id, ids, type, by, reason, is_withdrawn=True)

    def restore(
        self,
        project_id: int,
        ids: Sequence[str],
        *,
        type: str | None = None,
        reason: str = "",
        by: User | None = None,
    ) -> int:
        """Put withdrawn pairs back as they were, all or none; how many were withdrawn.

        Whoever held one has it again, if their time has not run out, nobody took their place meanwhile, and
        their share has room for it.

        Raises:
            NotFoundError: there is no such project, or no such pair in it.
            PairError: an id is that of pairs of several types.
            NoteError: the reason is too long.
        """
        return self._change(project_id, ids, type, by, reason, is_withdrawn=False)

    def _change(
        self,
        project_id: int,
        ids: Sequence[str],
        type: str | None,
        by: User | None,
        reason: str,
        *,
        is_withdrawn: bool,
    ) -> int:
        why = normalise_note(reason, "reason", LONGEST_NOTE)

        def transaction(session: Session) -> int:
            project = find_project(session, project_id, lock=True)
            now = self._clock()  # once an import has let go of the project: leases run on meanwhile
            found = find_by_ids(session, Pair, project.id, ids, type)
            changed = _set_withdrawn(session, sorted(found.values()), now if is_withdrawn else None)
            if is_withdrawn:
                _take_from_raters(session, sorted(changed))
            else:
                _hold_again(session, project, sorted(changed), now)
            if changed:
                action = PAIRS_WITHDRAWN if is_withdrawn else PAIRS_RESTORED
                named = [id for id, number in found.items() if number in changed]
                who = {"user_id": id_of(by), "project_id": project.id}
                record(session, now, action, **who, pairs=named, type=type, reason=why)
            return len(changed)

        return self._database.transact(transaction)


def _search_conditions(search: str) -> list[ColumnElement[bool]]:
    part = search.strip()
    if not part:
        return []
    if not can_be_stored(part):  # no pair has such a text, and PostgreSQL would not take it
        return [Pair.id.is_(None)]
    senses = [Pair.senses[path].as_string() for path in _SHOWN_OF_SENSES]
    texts = [Pair.external_id, Pair.left, Pair.right, *senses]
    # As it stands too: what a server's lower() makes of a letter may depend on the ones beside it.
    as_it_stands = [text.contains(part, autoescape=True) for text in texts]
    return [or_(*as_it_stands, *(text.icontains(part, autoescape=True) for text in texts))]


def _states(project: Project, held_back: ColumnElement[bool]) -> dict[PairState, ColumnElement[bool]]:
    """The condition of each; every pair meets one. One that is held back lacks grades."""
    graded = is_fully_rated(project)
    decided = and_(is_decided(project), ~held_back)
    flagged = and_(is_flagged(project), ~held_back)
    return {
        PairState.OPEN: and_(IN_USE, ~decided, ~graded, ~flagged),
        PairState.GRADED: and_(IN_USE, ~decided, graded, ~flagged),
        PairState.FLAGGED: and_(IN_USE, ~decided, flagged),
        PairState.DECIDED: and_(IN_USE, decided),
        PairState.WITHDRAWN: ~IN_USE,
    }


def _listing(states: Mapping[PairState, ColumnElement[bool]], *, is_whole: bool) -> Select[*tuple[Any, ...]]:
    texts = (Pair.left, Pair.right)
    return select(
        Pair.id,
        Pair.external_id,
        Pair.type,
        Pair.genre,
        *(texts if is_whole else (beginning_of(text, LONG_BEGINNING) for text in texts)),
        Pair.rating_count,
        Pair.senses,
        *(condition.label(state.name) for state, condition in states.items()),
    )


def _line(row: Any, *, is_whole: bool) -> PairLine:
    return PairLine(
        row.id,
        row.external_id,
        row.type,
        row.genre,
        row.left if is_whole else beginning(row.left, LONG_BEGINNING),
        row.right if is_whole else beginning(row.right, LONG_BEGINNING),
        row.rating_count,
        next(state for state in PairState if getattr(row, state.name)),
        senses_from_json(row.senses),
    )


_REASONS_TO_STAY = {
    mark("The pair {pair} has grades and stays: leave it out, or withdraw it."): exists().where(
        RatingChange.pair_id == Pair.id
    ),
    mark("The pair {pair} was given to a rater and stays: leave it out, or withdraw it."): exists().where(
        Assignment.pair_id == Pair.id, Assignment.state != BARRED
    ),
    mark("The pair {pair} was decided and stays: leave it out, or withdraw it."): exists().where(
        AdjudicationChange.pair_id == Pair.id
    ),
    mark("The pair {pair} was written in this project and stays: leave it out, or withdraw it."): (
        exists().where(LargerItem.pair_id == Pair.id)
    ),
    mark("The pair {pair} comes from predictions and stays: leave it out, or withdraw it."): exists().where(
        SentPhrase.pair_id == Pair.id
    ),
}
"""Why a pair stays: with it would go what somebody did."""


def _check_removable(session: Session, numbers: Sequence[int]) -> None:
    reasons = [
        condition.label(f"reason{number}") for number, condition in enumerate(_REASONS_TO_STAY.values())
    ]
    met = select(Pair.external_id, *reasons).where(Pair.id.in_(numbers), or_(*_REASONS_TO_STAY.values()))
    row = session.execute(met.order_by(Pair.import_order).limit(1)).first()
    if row is not None:
        why = next(reason for reason, holds in zip(_REASONS_TO_STAY, row[1:], strict=True) if holds)
        raise PairError(_(why, pair=repr(row.external_id)))


def _set_withdrawn(session: Session, numbers: Sequence[int], withdrawn_at: datetime | None) -> set[int]:
    """Mark the pairs; which were not so yet. It waits for raters who are saving, as `lock_pairs` does."""
    was = IN_USE if withdrawn_at is not None else ~IN_USE
    changed: set[int] = set()
    for some in parts(numbers):
        lock = select(Pair.id).where(Pair.id.in_(some)).order_by(Pair.id).with_for_update(key_share=True)
        session.execute(lock).close()
        changed.update(session.scalars(select(Pair.id).where(Pair.id.in_(some), was)))
        session.execute(update(Pair).where(Pair.id.in_(some), was).values(withdrawn_at=withdrawn_at))
    return changed


def _take_from_raters(session: Session, numbers: Sequence[int]) -> None:
    """Nobody holds a withdrawn pair; it keeps a place for those who did, as they may still send a grade.

    The end of each lease stays: by it the pair is held again if it is restored before.
    """
    for some in parts(numbers):
        session.execute(
            update(Assignment)
            .where(Assignment.pair_id.in_(some), Assignment.state == "held")
            .values(state="returned")
        )
    refresh_pairs(session, numbers)


def _hold_again(session: Session, project: Project, numbers: Sequence[int], now: datetime) -> None:
    """First claimed first, where others have graded a pair while it was withdrawn."""
    shares = read_shares(session, project, lock=True)
    room = None if shares is None else Counter({rater: share.left for rater, share in shares.items()})
    for some in parts(numbers):
        kept = (
            select(Assignment.id, Assignment.rater_id, Pair.id, Pair.open_slots)
            .join(Pair, Pair.id == Assignment.pair_id)
            .where(Pair.id.in_(some), Assignment.state == "returned", Assignment.lease_expires_at > now)
            .order_by(Assignment.claimed_at, Assignment.id)
        )
        places: dict[int, int] = {}
        chosen = []
        for assignment, rater, pair, slots in session.execute(kept):
            if places.setdefault(pair, slots) < 1 or (room is not None and room[rater] < 1):
                continue
            chosen.append(assignment)
            places[pair] -= 1
            if room is not None:
                room[rater] -= 1
        for these in parts(chosen):
            session.execute(update(Assignment).where(Assignment.id.in_(these)).values(state="held"))
    refresh_pairs(session, numbers)


def _count(session: Session, listing: Select[*tuple[Any, ...]]) -> int:
    return session.scalar(select(func.count()).select_from(listing.order_by(None).subquery())) or 0


def _count_open_links(project_id: int, now: datetime) -> Select[int]:
    """How many links bring the project another rater: of accounts that can sign in and are none yet."""
    rates = exists().where(is_rater(Invitation.user_id, project_id))
    return (
        select(func.count())
        .select_from(Invitation)
        .outerjoin(UserRow, UserRow.id == Invitation.user_id)
        .where(
            Invitation.project_id == project_id,
            Invitation.role == Role.RATER.value,
            is_open(now),
            UserRow.disabled_at.is_(None),
            ~rates,
        )
    )


def _count_paused(project_id: int, now: datetime) -> Select[int]:
    """How many raters who can come in are paused, but for those whose grades are set aside: they are never
    given these pairs again.
    """
    has_set_aside = exists().where(SetAside.project_id == project_id, SetAside.rater_id == RaterState.user_id)
    return (
        select(func.count())
        .select_from(RaterState)
        .join(UserRow, UserRow.id == RaterState.user_id)
        .join(Membership, is_rater(UserRow.id, project_id))
        .where(
            RaterState.project_id == project_id,
            RaterState.paused_at.is_not(None),
            can_come_in(now),
            ~has_set_aside,
        )
    )


def _eligible_raters(project_id: int, now: datetime) -> Select[int]:
    """The ids of the raters who can be given pairs, now or once they have opened their link."""
    raters = select(UserRow.id).join(Membership, is_rater(UserRow.id, project_id))
    return raters.where(can_come_in(now), ~is_paused(UserRow.id, project_id))


def _lacks_grades(project_id: int) -> tuple[ColumnElement[bool], ...]:
    return (Pair.project_id == project_id, HAS_SLOT, ~HAS_DECISION)


def _stuck_pairs(project_id: int, raters: Sequence[int]) -> Select[*tuple[Any, ...]]:
    def of_pair(*where: ColumnElement[bool]) -> ColumnElement[int]:
        counted = select(func.count()).where(Assignment.pair_id == Pair.id, *where)
        return counted.correlate(Pair).scalar_subquery()

    left = len(raters) - of_pair(Assignment.rater_id.in_(raters), Assignment.state.in_(NOT_NEW))
    return (
        select(
            Pair.external_id,
            Pair.type,
            Pair.rating_count,
            Pair.open_slots,
            left,
            of_pair(Assignment.state == "skipped"),
            _BROKEN,
        )
        .where(*_lacks_grades(project_id), left < Pair.open_slots)
        .order_by(Pair.import_order)
    )


def pair_json(line: PairLine) -> dict[str, Any]:
    """The pair as commands and programs are given it."""
    return {
        "id": line.external_id,
        "type": line.type,
        "genre": line.genre,
        "left": line.left,
        "right": line.right,
        "grades": line.grades,
        "state": line.state,
    }
