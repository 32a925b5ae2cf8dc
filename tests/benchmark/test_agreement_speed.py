"""Speed of α with its interval beside the `krippendorff` package, and of the pages of a large project.

`PAIRS=1000000 make bench ARGS="-k large"` takes a project of that size.
"""

from __future__ import annotations

import os
import statistics
import time
from datetime import UTC, datetime, timedelta

import krippendorff
import numpy as np
import pytest
from sqlalchemy import insert, select

from annotation.agreement import Grades, measure
from annotation.services.agreement import AgreementService
from annotation.services.leaderboard import SystemService
from db import Database, checks
from db.models import (
    Adjudication,
    AdjudicationChange,
    Assignment,
    Pair,
    Project,
    Rating,
    RatingChange,
    User,
)
from tests.measuring import forget_peak, memory
from tests.processes import wait_for

pytestmark = pytest.mark.benchmark

RESAMPLES = 1000
PEER_RESAMPLES = 20
RATERS = 10
ROWS_AT_ONCE = 5_000
"""Pairs that are made in one transaction."""


def quarters(pairs: int, raters: int) -> np.ndarray:
    """(pairs, raters) grades around a truth of their pair."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 17, pairs)
    return np.clip(truth[:, None] + np.rint(rng.normal(0, 2, (pairs, raters))), 0, 16).astype(int)


def seconds(work, times: int = 5) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def test_alpha_with_its_interval(capsys):
    table = quarters(4000, 3) / 4
    number, rater = np.nonzero(np.ones_like(table))
    grades = Grades(number, rater, table.reshape(-1))
    ours = seconds(lambda: measure(grades, resamples=RESAMPLES, categories=True))

    def peer():
        rng = np.random.default_rng(1)
        for _ in range(PEER_RESAMPLES):
            drawn = table[rng.integers(0, len(table), len(table))]
            krippendorff.alpha(reliability_data=drawn.T, level_of_measurement="interval")

    theirs = seconds(peer, times=3) * RESAMPLES / PEER_RESAMPLES
    with capsys.disabled():
        print(f"\nα, {RESAMPLES:,} resamples of 4,000 pairs × 3 raters, median of 5")
        print(f"  annotation.agreement   {ours:8.3f} s      1.0 ×")
        print(f"  krippendorff           {theirs:8.3f} s {theirs / ours:8.1f} ×  (from {PEER_RESAMPLES})")
    assert ours < theirs / 5


def fill(database: Database, pairs: int) -> int:
    """A project with three ratings of ten raters for each pair; half of those that differ are decided."""
    now = datetime(2026, 3, 1, tzinfo=UTC)
    with database.session() as session:
        for n in range(RATERS + 1):
            session.add(User(name=f"r{n}", name_key=f"r{n}", is_administrator=False, created_at=now))
        project = {"name": "large", "name_key": "large", "types": ["a", "b"], "guidelines": "", "seed": 1}
        settings = {"raters_per_pair": 3, "threshold_quarters": 4, "step_quarters": 1, "lease_minutes": 30}
        session.add(Project(**project, **settings, is_random=True, may_revise=True, created_at=now))
    grades = quarters(pairs, 3)
    chosen = np.argsort(np.random.default_rng(2).random((pairs, RATERS)), axis=1)[:, :3] + 1
    for first in range(0, pairs, ROWS_AT_ONCE):
        part = range(first, min(first + ROWS_AT_ONCE, pairs))
        fill_part(database, part, grades, chosen, now)
    return 1


def fill_part(database: Database, part: range, grades: np.ndarray, raters: np.ndarray, now: datetime) -> None:
    low, high = grades[part].min(axis=1), grades[part].max(axis=1)
    texts = {"left": "a line of the text " * 15, "right": "a shorter text " * 5}
    counted = {"open_slots": 0, "rating_count": 3}
    rows = [
        {
            "pair_id": pair + 1,
            "rater_id": int(rater),
            "quarters": int(grade),
            "at": now + timedelta(seconds=8 * pair),
            "position": pair,
        }
        for pair in part
        for rater, grade in zip(raters[pair], grades[pair], strict=True)
    ]
    decisions = [
        {
            "pair_id": pair + 1,
            "quarters": int(least),
            "cause": "scale",
            "note": "",
            "adjudicator_id": RATERS + 1,
        }
        for pair, least, most in zip(part, low, high, strict=True)
        if most - least >= 4 and pair % 2
    ]

    def only(*names: str, **others: object) -> list[dict[str, object]]:
        return [{"project_id": 1, **{name: row[name] for name in names}, **others} for row in rows]

    with database.session() as session:
        session.execute(
            insert(Pair),
            [
                {
                    **texts,
                    **counted,
                    "project_id": 1,
                    "external_id": str(n),
                    "type": "ab"[n % 2],
                    "genre": f"g{n % 5}",
                    "fingerprint": str(n),
                    "position": n,
                    "import_order": n,
                    "low_quarters": int(least),
                    "high_quarters": int(most),
                    "spread_quarters": int(most - least),
                }
                for n, least, most in zip(part, low, high, strict=True)
            ],
        )
        own = ("pair_id", "rater_id", "quarters")
        moments = [
            {**one, "created_at": row["at"], "updated_at": row["at"]}
            for one, row in zip(only(*own, seconds=7.5), rows, strict=True)
        ]
        session.execute(insert(Rating), moments)
        session.execute(insert(RatingChange), only(*own, "at", origin="page", seconds=7.5))
        session.execute(
            insert(Assignment), only("pair_id", "rater_id", "position", state="rated", claimed_at=now)
        )
        end = now + timedelta(days=3650)
        session.execute(
            insert(Adjudication), [{**one, "project_id": 1, "decided_at": end} for one in decisions]
        )
        session.execute(
            insert(AdjudicationChange), [{**one, "project_id": 1, "at": end} for one in decisions]
        )


def grade_once_more(database: Database) -> None:
    """A rater changes a grade."""
    now = datetime(2026, 9, 1, tzinfo=UTC)
    with database.session() as session:
        rating = session.scalars(select(Rating).where(Rating.quarters == 8).limit(1)).one()
        rating.quarters, rating.updated_at = 9, now
        whose = {"project_id": 1, "pair_id": rating.pair_id, "rater_id": rating.rater_id}
        session.add(RatingChange(**whose, quarters=9, previous_quarters=8, seconds=5, origin="page", at=now))


def test_pages_of_a_large_project(database, capsys):
    pairs = int(os.environ.get("PAIRS", "100000"))
    project = fill(database, pairs)
    agreement, systems = AgreementService(database), SystemService(database)
    works = {
        "page of agreement, new": lambda: agreement.latest(project),
        "until it is made": lambda: wait_for(lambda: agreement.latest(project) is not None),
        "page of agreement": lambda: agreement.latest(project),
        "leaderboard": lambda: systems.comparable_version(project),
        "has a grade come?": lambda: agreement.version(project),
        "one more grade": lambda: grade_once_more(database),
        "page after it": lambda: agreement.latest(project),
        "leaderboard after it": lambda: systems.comparable_version(project),
        "command `agreement`": lambda: agreement.report(project),
        "check of the database": lambda: checks.check(database),
    }
    system = "SQLite" if database.is_sqlite else "PostgreSQL"
    with capsys.disabled():
        print(f"\n{pairs:,} pairs × 3 of {RATERS} raters, {RESAMPLES:,} resamples, {system}")
        print(f"{'':24} {'s':>8} {'processor':>10} {'MB at most':>11} {'MB after':>9}")
        for name, work in works.items():
            forget_peak()
            started, used = time.perf_counter(), time.process_time()
            work()
            taken, used = time.perf_counter() - started, time.process_time() - used
            after, most = memory()
            print(f"{name:24} {taken:8.2f} {used:10.2f} {most:11,.0f} {after:9,.0f}")
