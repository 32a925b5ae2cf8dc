"""Projects full of pairs, raters who grade them, and what must be true of the database at every moment.

As a program it is one rater: python -m tests.raters DATABASE_URL PROJECT RATER. It prints each grade once it
is saved, until nothing is left.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from sqlalchemy import func, insert, select

from annotation.assignment import position_of
from annotation.services.assignment import AssignmentService, return_expired
from annotation.services.project_rows import checks_project_of
from annotation.services.ratings import RatingService
from db import Database
from db.models import Assignment, Membership, Pair, Project, Rating, RatingChange, SetAsideRating, User

TYPE = "sentence2phrase"
LONG_AGO = datetime(2026, 3, 1, 9, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    """A project, its raters and its pairs in the order of rating, by id."""

    database: Database
    project: int
    raters: tuple[int, ...]
    pairs: tuple[int, ...]
    k: int


def new_world(
    database: Database, *, pairs: int, raters: int, k: int = 2, seed: int = 7, **settings: object
) -> World:
    """A project like no other in this database."""
    with database.session() as session:
        number = session.scalar(select(func.count()).select_from(Project))
        given = {
            "name": f"Project {number}",
            "name_key": f"project {number}",
            "types": [TYPE],
            "raters_per_pair": k,
            "threshold_quarters": 4,
            "step_quarters": 1,
            "is_random": True,
            "seed": seed,
            "may_revise": True,
            "lease_minutes": 30,
            "created_at": LONG_AGO,
            **settings,
        }
        project = session.scalar(insert(Project).values(given).returning(Project.id))
        names = [f"rater {number}.{index}" for index in range(raters)]
        people = [
            {"name": name, "name_key": name, "is_administrator": False, "created_at": LONG_AGO}
            for name in names
        ]
        session.execute(insert(User), people)
        rater_ids = tuple(session.scalars(select(User.id).where(User.name.in_(names)).order_by(User.id)))
        session.execute(
            insert(Membership),
            [{"project_id": project, "user_id": rater, "role": "rater"} for rater in rater_ids],
        )
        session.execute(
            insert(Pair), [_pair(project, index, k, seed, bool(given["is_random"])) for index in range(pairs)]
        )
        order = select(Pair.id).where(Pair.project_id == project).order_by(Pair.position)
        return World(database, project, rater_ids, tuple(session.scalars(order)), k)


def return_expired_leases(database: Database, project_id: int, now: datetime) -> int:
    """What every claim begins with, by itself; how many pairs."""
    with database.session() as session:
        shelf_id = checks_project_of(session, project_id) or 0
        return return_expired(session.connection(), project_id, shelf_id, now)


def _pair(project: int, index: int, k: int, seed: int, is_random: bool) -> dict[str, object]:
    return {
        "project_id": project,
        "external_id": f"secret id {index}",
        "type": TYPE,
        "left": f"The ferry {index} leaves the old harbour at noon, and the gulls follow it.",
        "right": f"a noon ferry {index}",
        "genre": "secret genre",
        "intended_quarters": 13,
        "source": "secret source",
        "fingerprint": f"{index:064}",
        "position": position_of(seed, TYPE, f"secret id {index}") if is_random else index,
        "import_order": index,
        "open_slots": k,
    }


def check(world: World) -> None:
    """The rules of the house, counted from the rows themselves."""
    with world.database.reading() as session:
        pairs = session.scalars(select(Pair).where(Pair.project_id == world.project)).all()
        assignments = session.scalars(select(Assignment).where(Assignment.project_id == world.project)).all()
        ratings = session.scalars(select(Rating).where(Rating.project_id == world.project)).all()
        aside = session.scalars(
            select(SetAsideRating).where(SetAsideRating.project_id == world.project)
        ).all()
        changes = session.scalars(
            select(RatingChange).where(RatingChange.project_id == world.project).order_by(RatingChange.id)
        ).all()
    taken = Counter(each.pair_id for each in assignments if each.state in ("held", "rated"))
    grades: dict[int, list[int]] = {pair.id: [] for pair in pairs}
    for rating in ratings:
        grades[rating.pair_id].append(rating.quarters)
    for pair in pairs:
        own = grades[pair.id]
        assert pair.open_slots == world.k - taken[pair.id] >= 0
        assert pair.rating_count == len(own) <= world.k
        assert (pair.low_quarters, pair.high_quarters) == (min(own, default=None), max(own, default=None))
        assert pair.spread_quarters == (max(own) - min(own) if own else 0)
    rated, set_aside = (
        {(each.pair_id, each.rater_id) for each in assignments if each.state == state}
        for state in ("rated", "set_aside")
    )
    current = {(rating.pair_id, rating.rater_id): rating.quarters for rating in ratings}
    gone = {(rating.pair_id, rating.rater_id): rating.quarters for rating in aside}
    assert (rated, set_aside) == (set(current), set(gone))
    replayed: dict[tuple[int, int], int] = {}
    for change in changes:
        key = (change.pair_id, change.rater_id)
        assert change.previous_quarters == replayed.get(key) != change.quarters
        replayed[key] = change.quarters
    assert replayed == current | gone


def check_finished(world: World) -> None:
    """Every pair has exactly k grades, of k raters."""
    check(world)
    with world.database.reading() as session:
        counts = session.scalars(select(Pair.rating_count).where(Pair.project_id == world.project)).all()
        slots = session.scalars(select(Pair.open_slots).where(Pair.project_id == world.project)).all()
    assert counts == [world.k] * len(world.pairs)
    assert slots == [0] * len(world.pairs)


def grade_to_the_end(url: str, project: int, rater: int) -> None:
    database = Database(url)
    service = RatingService(database)
    chance = random.Random(rater)
    queue = AssignmentService(database).queue(project, rater)
    while queue.pairs:
        pair, quarters = queue.pairs[0].id, chance.randrange(17)
        queue = service.rate(pair, rater, Decimal(quarters) / 4, 1.5).queue
        print(pair, quarters, flush=True)


if __name__ == "__main__":
    grade_to_the_end(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
