"""Pairs that are withdrawn: no rater is given them, nothing counts them, and their grades are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.notes import LONGEST_NOTE, kept_text
from annotation.services.access.users import id_of
from annotation.services.audit import PAIRS_RESTORED, PAIRS_WITHDRAWN, record
from annotation.services.bulk import parts
from annotation.services.in_use import IN_USE
from annotation.services.named import find_named
from annotation.services.projects import find_project
from annotation.services.rating.share import read_shares
from annotation.services.rating.tally import refresh_pairs
from annotation.services.transactions import repeated_if_undone
from annotation.types import User
from db import Database
from db.models import Assignment, Pair, Project


class PairWithdrawalService:
    """Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

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
        why = kept_text(reason, "reason", LONGEST_NOTE)

        def transaction() -> int:
            with self._database.session() as session:
                project = find_project(session, project_id, lock=True)
                now = self._clock()  # once an import has let go of the project: leases run on meanwhile
                found = find_named(session, Pair, project.id, ids, type)
                changed = _mark(session, sorted(found.values()), now if is_withdrawn else None)
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

        return repeated_if_undone(transaction)


def _mark(session: Session, numbers: Sequence[int], withdrawn_at: datetime | None) -> set[int]:
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
