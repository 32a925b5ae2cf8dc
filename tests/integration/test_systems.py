"""Systems on the leaderboard: their scores are kept with the gold of that day; SQLite and PostgreSQL."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import event, func, insert, select, text

from annotation.errors import NotFoundError, ScoreFileError, SettingsError
from annotation.files.scores import GoldPair
from annotation.gold import gold_row
from annotation.services.adjudication import AdjudicationService
from annotation.services.gold import pairs_with_grades
from annotation.services.leaderboard import Gold, OwnGold, SystemService
from annotation.services.pairs import PairService
from annotation.services.projects import ProjectService
from annotation.system_report import System, score_systems
from annotation.types import Cause, ProjectSettings
from db.models import AuditEvent, GoldGrade, GoldSet, Pair, Rating, ScoredSystem, SystemScore
from tests.databases import row_problems
from tests.processes import PATIENCE
from tests.rated import pair, rated_pairs, rated_project
from tests.raters import LONG_AGO, new_world

PAIRS = [
    pair("a", "0", "0.5", genre="news"),
    pair("b", "4", "3.5", genre="news"),
    pair("c", "1", "1.5", genre="fable"),
    pair("d", "2.75", "2.25", genre="fable"),
    pair("e", "1", "1.25", type="phrase2word"),
    pair("f", "3", "3", type="phrase2word"),
    pair("g", "0", "0", type="phrase2word"),
    pair("unfinished", "2"),
    pair("flagged", "0", "4"),
]
GOOD = System("good", (0.1, 3.9, 1.0, 2.0, 1.0, 3.0, 0.2))
POOR = System("Poor 🦜", (1.0, 2.0, 3.0, 1.0, None, None, None), "phrase2word is left out.")


@pytest.fixture
def rated(database):
    return rated_project(database, PAIRS)


@pytest.fixture
def service(rated):
    return SystemService(rated.database, clock=rated.clock)


def rows(database, *models) -> list[int]:
    with database.reading() as session:
        return [session.scalar(select(func.count()).select_from(model)) for model in models]


def test_the_gold_of_a_project_is_its_finished_pairs_and_changes_its_digest_with_them(rated, service):
    gold = service.own_gold(rated.id)
    assert [(one.id, one.gold) for one in gold.pairs[:3]] == [("a", 0.25), ("b", 3.75), ("c", 1.25)]
    assert len(gold.pairs) == 7
    version = service.own_version(rated.id)
    assert (version.sha256, version.pairs) == (gold.sha256, 7)
    assert service.own_version(rated.id) is version
    rated.rate("unfinished", ben="2")
    again = service.own_version(rated.id)
    assert again.pairs == 8
    assert again.sha256 == service.own_gold(rated.id).sha256 != gold.sha256


@pytest.mark.both_databases
def test_the_version_of_a_gold_does_not_depend_on_how_the_database_sorts(database):
    ids = ["b", "a", "B", "_", "-", "é", "ê", "ß", "Ž", "10", "9", "a b", "ab", "日", "𝔞", "￼"]
    pairs = [pair(id, "1", "2") for id in ids] + [pair("a", "3", "3", type="phrase2word", left="a ferry")]
    rated = rated_project(database, pairs)
    service = SystemService(database)
    assert service.own_version(rated.id).sha256 == service.own_gold(rated.id).sha256


@pytest.mark.both_databases
def test_the_gold_is_exactly_what_single_ratings_give_and_is_summed_once_for_all_who_ask(database):
    chance = random.Random(5)
    grades = [[str(chance.randrange(17) / 4) for _ in range(chance.choice((2, 3, 3, 3)))] for _ in range(60)]
    pairs = [pair(f"p{place}", *each) for place, each in enumerate(grades)]
    rated = rated_project(database, pairs, raters_per_pair=3, threshold=Decimal(3))
    desk = AdjudicationService(database, clock=rated.clock)
    flagged = [entry.pair_id for entry in desk.queue(rated.id).entries]
    for pair_id in flagged[::2]:
        desk.decide(rated.id, pair_id, rated.adjudicator.id, Decimal("1.75"), Cause.OVERLOOKED_TEXT)
    PairService(database).withdraw(rated.id, ["p3"])
    rows = [gold_row(one, rated.project.settings, None) for one in rated_pairs(database, rated.id)]
    service, read, found = SystemService(database), [], []
    event.listen(database.engine, "before_cursor_execute", lambda *given: read.append(given[2]))
    threads = [threading.Thread(target=lambda: found.append(service.own_version(rated.id))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 4
    version = found[0]
    assert all(one is version for one in found)
    assert sum("decided" in statement for statement in read) == 1
    gold = service.own_gold(rated.id)
    assert (version.sha256, version.pairs) == (gold.sha256, len(gold.pairs))
    assert [(one.id, one.gold) for one in gold.pairs] == [
        (row.id, float(row.gold)) for row in rows if row.gold is not None
    ]
    assert gold.ungraded == {(row.type, row.id) for row in rows if row.gold is None}
    assert not [statement for statement in read if "ratings.rater_id" in statement]


def test_gold_is_read_pair_by_pair_also_before_the_server_has_counted_new_rows(postgresql_database):
    pairs = 300
    world = new_world(postgresql_database, pairs=pairs, raters=1, k=1)
    rating = {"project_id": world.project, "rater_id": world.raters[0], "quarters": 4}
    rating |= {"created_at": LONG_AGO, "updated_at": LONG_AGO}
    statement = pairs_with_grades(world.project, Pair.id)
    with world.database.session() as session:
        session.execute(insert(Rating), [{**rating, "pair_id": pair_id} for pair_id in world.pairs])
    with world.database.reading() as session:
        query = statement.compile(postgresql_database.engine, compile_kwargs={"literal_binds": True})
        lines = session.scalars(text(f"EXPLAIN (ANALYZE, TIMING OFF) {query}")).all()
    removed = [int(line.split(":")[1]) for line in lines if "Rows Removed by Join Filter" in line]
    assert sum(removed) <= pairs, "\n".join(lines)


@pytest.mark.both_databases
def test_the_board_of_a_project_waits_for_no_other_project(rated, service, monkeypatch):
    gold_id = service.add(rated.id, service.own_gold(rated.id), GOOD)
    other = ProjectService(rated.database).create(ProjectSettings("other", types=("sentence2phrase",))).id
    other_gold = service.add(other, service.own_gold(rated.id), POOR)
    counting, goes_on = threading.Event(), threading.Event()

    def count(pairs, systems):
        if systems[0].name == GOOD.name:
            counting.set()
            assert goes_on.wait(PATIENCE)
        return score_systems(pairs, systems)

    monkeypatch.setattr("annotation.services.leaderboard.score_systems", count)
    slow = threading.Thread(target=service.board, args=(rated.id, gold_id))
    slow.start()
    assert counting.wait(PATIENCE)
    quick = threading.Thread(target=service.board, args=(other, other_gold))
    quick.start()
    quick.join(PATIENCE)
    assert not quick.is_alive()
    assert slow.is_alive()
    goes_on.set()
    slow.join(PATIENCE)
    assert service.board(rated.id, gold_id) is service.board(rated.id, gold_id)


def test_gold_that_is_too_large_to_be_one_of_those_kept_is_not_read_to_be_told_from_them(
    rated, service, monkeypatch
):
    first = service.add(rated.id, service.own_gold(rated.id), POOR)
    rated.rate("unfinished", ben="2")
    assert service.comparable_version(rated.id) == service.own_version(rated.id)
    monkeypatch.setattr("annotation.services.leaderboard.MOST_PAIRS", 7)
    monkeypatch.setattr(SystemService, "own_version", None)
    assert service.comparable_version(rated.id) == OwnGold("", 8)
    assert [gold.id for gold in service.golds(rated.id)] == [first]


def test_systems_are_ranked_on_the_gold_of_their_day(rated, service):
    gold_id = service.add(rated.id, service.own_gold(rated.id), POOR)
    rated.clock.move()
    assert service.add(rated.id, service.own_gold(rated.id), GOOD, by=rated.adjudicator) == gold_id
    board = service.board(rated.id, gold_id)
    assert [(entry.name, entry.by, entry.at) for entry in board.entries][1] == (
        "good",
        "judith",
        rated.clock(),
    )
    assert board.report.ranks()["sum_pearson"] == [2, 1]
    poor, good = board.report.systems
    assert (poor.types["phrase2word"].pearson.value, poor.remark) == (None, "phrase2word is left out.")
    assert good.genres["news"].all.pairs == 2
    [difference] = board.report.differences
    assert difference.types["sentence2phrase"].williams is not None
    assert service.board(rated.id, gold_id) is board

    rated.rate("unfinished", ben="2")
    later = service.add(rated.id, service.own_gold(rated.id), replace(GOOD, scores=(*GOOD.scores, 2.0)))
    assert later != gold_id
    versions = service.golds(rated.id)
    assert [(one.id, one.pairs, one.is_own) for one in versions] == [(later, 8, True), (gold_id, 7, True)]
    assert service.board(rated.id, gold_id) is board
    assert row_problems(rated.database) == []


def test_scores_follow_their_pairs_where_the_same_gold_comes_in_another_order(rated, service):
    own = service.own_gold(rated.id)
    gold_id = service.add(rated.id, own, GOOD)
    turned = Gold("again.jsonl", own.sha256, own.pairs[::-1])
    assert service.add(rated.id, turned, System("turned", GOOD.scores[::-1])) == gold_id
    first, second = service.board(rated.id, gold_id).report.systems
    assert first.types == second.types
    assert [one.key for one in service.gold(rated.id, gold_id).pairs] == [one.key for one in own.pairs]


def test_removing_the_last_system_forgets_its_gold_and_says_who_did_it(rated, service):
    gold_id = service.add(rated.id, service.own_gold(rated.id), GOOD)
    [entry] = service.board(rated.id, gold_id).entries
    service.remove(rated.id, entry.id, by=rated.adjudicator)
    assert rows(rated.database, GoldSet, GoldGrade, ScoredSystem, SystemScore) == [0, 0, 0, 0]
    for gone in (lambda: service.remove(rated.id, entry.id), lambda: service.board(rated.id, gold_id)):
        with pytest.raises(NotFoundError, match="any more"):
            gone()
    with rated.database.reading() as session:
        actions = session.scalars(select(AuditEvent.action).order_by(AuditEvent.id)).all()
    assert actions[-2:] == ["system added", "system removed"]


def test_another_system_in_the_place_of_a_removed_one_has_its_own_figures(rated, service):
    """SQLite gives the ids of removed rows anew."""
    gold = service.own_gold(rated.id)
    gold_id = service.add(rated.id, gold, GOOD)
    [entry] = service.board(rated.id, gold_id).entries
    service.remove(rated.id, entry.id)
    board = service.board(rated.id, service.add(rated.id, gold, POOR))
    assert [entry.name for entry in board.entries] == ["Poor 🦜"]
    assert [system.name for system in board.report.systems] == ["Poor 🦜"]


def test_a_project_takes_its_systems_along_and_sees_no_others(rated, service):
    gold_id = service.add(rated.id, service.own_gold(rated.id), GOOD)
    other = rated_project(rated.database, [pair("a", "1", "1")], name="other")
    [entry] = service.board(rated.id, gold_id).entries
    for asked in (
        lambda: service.board(other.id, gold_id),
        lambda: service.gold(other.id, gold_id),
        lambda: service.remove(other.id, entry.id),
    ):
        with pytest.raises(NotFoundError):
            asked()
    ProjectService(rated.database).delete(rated.id, "harbour")
    assert rows(rated.database, GoldSet, GoldGrade, ScoredSystem, SystemScore) == [0, 0, 0, 0]


def test_what_cannot_be_kept_is_refused_and_changes_nothing(rated, service):
    own = service.own_gold(rated.id)
    service.add(rated.id, own, GOOD)
    before = rows(rated.database, GoldSet, ScoredSystem, SystemScore, AuditEvent)
    strange = GoldPair("phrase2word", "x", "a\0b", "c", 1.0, place="gold.jsonl, line 1")
    for gold, system, kind, told in (
        (own, replace(GOOD, name=" GOOD "), SettingsError, "A system named 'GOOD' already exists"),
        (own, replace(GOOD, name=" "), SettingsError, "name is empty"),
        (Gold("", "e" * 64, ()), GOOD, ScoreFileError, "no pairs with a grade yet"),
        (Gold("g", "e" * 64, (strange,)), System("x", (1.0,)), ScoreFileError, r"line 1: .*U\+0000"),
        (
            Gold("g", "e" * 64, (replace(strange, left="a", id="i" * 201),)),
            System("x", (1.0,)),
            ScoreFileError,
            "field 'id': has 201 characters; shorten it to 200",
        ),
    ):
        with pytest.raises(kind, match=told):
            service.add(rated.id, gold, system)
    assert rows(rated.database, GoldSet, ScoredSystem, SystemScore, AuditEvent) == before
