"""Studies of random grades, and all that a project shows, counts, exports and hands out, for comparison."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from annotation.adjudication import Which
from annotation.errors import ExportError
from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.gold_card import gold_card
from annotation.reliability.report import agreement_to_json
from annotation.senses import WORD_TO_SENSE, PairSenses
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.agreement import AgreementService
from annotation.services.assignment import AssignmentService, refresh_pairs
from annotation.services.editing import WritingReportService
from annotation.services.gold import GoldService
from annotation.services.leaderboard import SystemService
from annotation.services.pairs import PairService, PairState
from annotation.services.projects import OverviewService, ProjectService
from annotation.services.ratings import RatingService
from annotation.types import Cause, NewPair, Role
from db import Database
from db.models import Assignment, Comment, Pair, Rating, RatingChange, Skip
from tests.rated import Clock, Rated, rated_project

TYPES = ("sentence2phrase", "phrase2word", WORD_TO_SENSE)
RATERS = ("ana", "ben", "cleo", "dora", "emil")
"""Emil grades only what is withdrawn."""


@dataclass(frozen=True)
class Act:
    """What a rater did with a pair."""

    pair: str
    rater: str
    kind: str
    quarters: int = 0


@dataclass(frozen=True)
class Study:
    pairs: tuple[NewPair, ...]
    acts: tuple[Act, ...]
    decided: tuple[str, ...]
    """Pairs that an adjudicator decides on where they are flagged."""
    withdrawn: tuple[str, ...]


def random_study(seed: int, *, pairs: int = 24) -> Study:
    """The first two pairs are withdrawn in any case: one lacks grades, the other is flagged and undecided."""
    chance = random.Random(seed)
    names = [f"p {n} “ü”" for n in range(pairs)]
    withdrawn = [*names[:2], *chance.sample(names[2:], pairs // 4)]
    acts = [Act(names[0], "ana", "rated", 3)]
    acts += [
        Act(names[1], rater, "rated", quarters) for rater, quarters in zip(RATERS, (0, 8, 16), strict=False)
    ]
    for name in names[2:]:
        raters = chance.sample(RATERS[:4], chance.choice([0, 1, 2, 2, 3, 3, 3]))
        if name in withdrawn and len(raters) < 3:
            raters.append("emil")
        for rater in raters:
            kind = chance.choice(["rated"] * 8 + ["skipped", "held"])
            acts.append(Act(name, rater, kind, chance.randrange(17)))
    chance.shuffle(acts)
    made = tuple(_new_pair(name, chance, has_senses=name == names[0]) for name in names)
    return Study(made, tuple(acts), tuple(chance.sample(names[2:], pairs // 2)), tuple(withdrawn))


def _new_pair(name: str, chance: random.Random, *, has_senses: bool) -> NewPair:
    return NewPair(
        name,
        WORD_TO_SENSE if has_senses else chance.choice(TYPES[:2]),
        f"The ferry {name} leaves the old harbour.",
        f"ferry {name}",
        senses=PairSenses(word_definition="a boat") if has_senses else None,
        genre=chance.choice([None, "news", "fable"]),
        intended=Decimal(chance.randrange(5)),
    )


def build_study(database: Database, study: Study, *, without: Collection[str] = ()) -> Rated:
    """The project of a study, as if it had never had the pairs `without`."""
    accounts = AccountService(database)
    known = {user.name for user in accounts.users()}
    for name in (*RATERS, "judith"):
        if name not in known:
            accounts.add_user(name)
    rated = rated_project(
        database,
        [pair for pair in study.pairs if pair.id not in without],
        Clock(),
        types=TYPES,
        raters_per_pair=3,
        is_random=True,
        seed=7,
    )
    for name in RATERS:
        ProjectService(database).add_member(rated.id, name, Role.RATER)
    for minute, act in enumerate(study.acts):
        if act.pair not in without:
            _act(rated, act, minute)
    rated.clock.move(100_000)
    _decide(rated, [name for name in study.decided if name not in without])
    return rated


def _act(rated: Rated, act: Act, minute: int) -> None:
    rater = AccountService(rated.database).user(act.rater).id
    at = rated.clock() + timedelta(minutes=minute)
    with rated.database.session() as session:
        pair = session.get_one(Pair, rated.pair_id(act.pair))
        whose: dict[str, Any] = {"project_id": rated.id, "pair_id": pair.id}
        lease = at + timedelta(days=900) if act.kind == "held" else None
        row = Assignment(**whose, rater_id=rater, state=act.kind, position=pair.position, claimed_at=at)
        row.lease_expires_at = lease
        session.add(row)
        if act.kind == "rated":
            graded = {**whose, "rater_id": rater, "quarters": act.quarters, "seconds": float(minute)}
            session.add(Rating(**graded, created_at=at, updated_at=at))
            session.add(RatingChange(**graded, origin="page", at=at))
            said = {"text": f"{act.rater} on {act.pair}", "updated_at": at}
            session.add(Comment(**whose, user_id=rater, is_flagged=False, **said))
        elif act.kind == "skipped":
            session.add(Skip(**whose, rater_id=rater, reason="other", note="", at=at))
        refresh_pairs(session, [pair.id])


def _decide(rated: Rated, names: Sequence[str]) -> None:
    service = AdjudicationService(rated.database, clock=rated.clock)
    flagged = {entry.external_id for entry in service.queue(rated.id, limit=1000).entries}
    for name in names:
        if name in flagged:
            rated.clock.move()
            grade = Decimal(random.Random(name).randrange(17)) / 4
            service.decide(rated.id, rated.pair_id(name), rated.adjudicator.id, grade, Cause.SCALE)


def shown(rated: Rated) -> dict[str, object]:
    """All that is counted, measured and listed of the project, without the numbers of its rows."""
    database, id = rated.database, rated.id
    agreement, gold = AgreementService(database), GoldService(database)
    root = replace(rated.adjudicator, is_administrator=True)
    report = agreement_to_json(replace(agreement.report(id, resamples=50), withdrawn=0))
    [line] = [line for line in OverviewService(database).projects(root) if line.id == id]
    return {
        "agreement": report,
        "plan": repr(agreement.plan(id, 0.5, resamples=50)),
        "overview": replace(line, id=0, withdrawn=0),
        "counts": replace(ProjectService(database).counts(id), withdrawn=0),
        "stuck": PairService(database).stuck(id, limit=None).items,
        "queue": [_queue(rated, which, type) for which in Which for type in (None, *TYPES)],
        "gold": replace(gold.counts(id), withdrawn=0),
        "refused": _refused(rated),
        "states": _states(rated),
        "own gold": SystemService(database).own_gold(id),
        "writing": WritingReportService(database).report(id),
        "progress": [_rater(rated, name) for name in RATERS],
    }


def _refused(rated: Rated) -> str:
    """Why a gold set cannot be exported yet, with the first pair that lacks something."""
    with pytest.raises(ExportError) as refused:
        GoldService(rated.database).check(rated.id, ExportOptions())
    return str(refused.value)


def _states(rated: Rated) -> list[object]:
    service = PairService(rated.database)
    return [
        [(line.external_id, line.grades) for line in service.pairs(rated.id, state=state).items]
        for state in PairState
        if state is not PairState.WITHDRAWN
    ]


def _queue(rated: Rated, which: Which, type: str | None) -> object:
    page = AdjudicationService(rated.database).queue(rated.id, which, type, limit=1000)
    return replace(page, entries=tuple(replace(entry, pair_id=0) for entry in page.entries))


def _rater(rated: Rated, name: str) -> object:
    service, rater = RatingService(rated.database), AccountService(rated.database).user(name).id
    recent = [replace(pair, id=0) for pair in service.recent(rated.id, rater, limit=100)]
    return service.progress(rated.id, rater), recent


def exported(rated: Rated, folder: Path, raters: RaterColumns) -> dict[str, object]:
    """The bytes of a gold set in every format; the manifest without the number of withdrawn pairs.

    The card is left out once it is found to be that of its manifest.
    """
    found: dict[str, object] = {}
    for format in Format:
        comments = format is not Format.SEMEVAL
        options = ExportOptions(format, Unfinished.LIST, raters, comments)
        GoldService(rated.database, clock=rated.clock).export(rated.id, folder / format, options)
        for path in (folder / format).iterdir():
            found[f"{format}/{path.name}"] = path.read_bytes()
    for name in [name for name in found if name.endswith("manifest.json")]:
        written = json.loads(bytes(found[name]))  # type: ignore[arg-type]
        assert found.pop(name.replace("manifest.json", "README.md")) == gold_card(written).encode()
        del written["card"]
        written["counts"].pop("withdrawn", None)
        found[name] = json.dumps(written)
    return found


def claims(rated: Rated) -> list[tuple[str, str]]:
    """Whom what is given until nothing is left: rater and pair, each graded at once."""
    assignments = AssignmentService(rated.database, rated.clock)
    ratings = RatingService(rated.database, rated.clock, assignments)
    given: list[tuple[str, str]] = []
    turns = [(name, AccountService(rated.database).user(name).id) for name in RATERS]
    while True:
        before = len(given)
        for name, rater in turns:
            rated.clock.move()
            queue = assignments.queue(rated.id, rater)
            if queue.pairs:
                text = queue.pairs[0].right
                given.append((name, text))
                grade = Decimal(random.Random(f"{name} {text}").randrange(17)) / 4
                queue = ratings.rate(queue.pairs[0].id, rater, grade, 2.0).queue
                given.append((f"then {name}, {asdict(queue.progress)}", str([p.right for p in queue.pairs])))
        if len(given) == before:
            return given
