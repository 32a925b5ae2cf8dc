"""What tests of accounts share: an hour hand to move, cheap hashes, and many calls at one moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select

from annotation.errors import AnnotationError
from annotation.passwords import Passwords
from annotation.types import Role
from db import Database
from db.models import Membership, Project

PASSWORD = "correct horse battery"
OTHER = "staple on the hill"
HERE, THERE = "192.0.2.1", "192.0.2.2"
CHEAP = Passwords(memory_kib=8, passes=1)


class MovableClock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 22, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **amount: float) -> None:
        self.now += timedelta(**amount)


def add_project(database: Database, now: datetime, name: str) -> int:
    with database.session() as session:
        row = Project(
            name=name,
            name_key=name.casefold(),
            types=["sentence2phrase"],
            raters_per_pair=2,
            threshold_quarters=4,
            step_quarters=1,
            is_random=False,
            seed=1,
            may_revise=True,
            lease_minutes=30,
            created_at=now,
        )
        session.add(row)
        session.flush()
        return row.id


def give(database: Database, project_id: int, user_id: int, role: Role) -> None:
    with database.session() as session:
        session.add(Membership(project_id=project_id, user_id=user_id, role=role))


def count(database: Database, model: type, *where: object) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(model).where(*where))


def at_once(calls: list[Callable[[], object]], *, seconds: float = 60) -> list[object]:
    """What each call gave, or which of our errors it raised, all let go at the same moment.

    Any other error is the caller's, and so is a call that has not ended after `seconds`.
    """
    gate = threading.Barrier(len(calls))
    answers: list[object] = [None] * len(calls)
    others: list[Exception] = []

    def run(number: int, call: Callable[[], object]) -> None:
        gate.wait()
        try:
            answers[number] = call()
        except AnnotationError as error:
            answers[number] = error
        except Exception as error:  # noqa: BLE001  # raised below; a thread's would go unseen
            others.append(error)

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    unfinished = [number for number, thread in enumerate(threads) if thread.is_alive()]
    if others:
        raise others[0]
    assert not unfinished, f"calls {unfinished} had not ended after {seconds} seconds"
    return answers
