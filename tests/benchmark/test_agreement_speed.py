"""Speed of α with its interval beside the `krippendorff` package, and of a report on a large project."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime

import krippendorff
import numpy as np
import pytest
from sqlalchemy import insert

from annotation.agreement import Grades, measure
from annotation.services.agreement import AgreementService
from db.models import Pair, Project, Rating, RatingChange, User

pytestmark = pytest.mark.benchmark

RESAMPLES = 1000
PEER_RESAMPLES = 20
LARGE = 100_000
RATERS = 10


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


def fill(database) -> int:
    """A project of 100,000 pairs with three ratings each of ten raters."""
    now = datetime(2026, 3, 1, tzinfo=UTC)
    grades = quarters(LARGE, 3)
    chosen = np.argsort(np.random.default_rng(2).random((LARGE, RATERS)), axis=1)[:, :3] + 1
    common = {"project_id": 1, "created_at": now, "updated_at": now, "seconds": 7.5}
    with database.session() as session:
        users = [
            {"name": f"r{n}", "name_key": f"r{n}", "is_administrator": False, "created_at": now}
            for n in range(RATERS)
        ]
        session.execute(insert(User), users)
        project = {"name": "large", "name_key": "large", "types": ["a", "b"], "guidelines": "", "seed": 1}
        settings = {"raters_per_pair": 3, "threshold_quarters": 4, "step_quarters": 1, "lease_minutes": 30}
        session.execute(
            insert(Project).values(**project, **settings, is_random=True, may_revise=True, created_at=now)
        )
        session.execute(
            insert(Pair),
            [
                {
                    "project_id": 1,
                    "external_id": str(n),
                    "type": "ab"[n % 2],
                    "genre": f"g{n % 5}",
                    "left": "a line of the text " * 15,
                    "right": "a shorter text " * 5,
                    "fingerprint": str(n),
                    "position": n,
                    "import_order": n,
                    "open_slots": 0,
                }
                for n in range(LARGE)
            ],
        )
        rows = [
            {**common, "pair_id": pair + 1, "rater_id": int(rater), "quarters": int(grade)}
            for pair in range(LARGE)
            for rater, grade in zip(chosen[pair], grades[pair], strict=True)
        ]
        session.execute(insert(Rating), rows)
        changes = ("project_id", "pair_id", "rater_id", "quarters")
        session.execute(
            insert(RatingChange),
            [{**{name: row[name] for name in changes}, "origin": "page", "at": now} for row in rows],
        )
    return 1


def test_report_on_a_large_project(database, capsys):
    project = fill(database)
    service = AgreementService(database)
    first = seconds(lambda: service.report(project), times=1)
    again = seconds(lambda: service.report(project))
    look = seconds(lambda: service.version(project))
    system = "SQLite" if database.is_sqlite else "PostgreSQL"
    with capsys.disabled():
        print(f"\nreport on {LARGE:,} pairs × 3 of {RATERS} raters, {RESAMPLES:,} resamples, {system}")
        print(f"  anew                   {first:8.3f} s")
        print(f"  nothing changed        {again:8.3f} s")
        print(f"  has anything changed?  {look:8.3f} s")
    assert again < first / 10
    assert look < first / 10
