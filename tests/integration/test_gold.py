"""The gold set from the database to its files and back, on both databases and from the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, event, select, text
from sqlalchemy.exc import OperationalError

from annotation.cli.options import open_database
from annotation.errors import ExportError, ImportFileError
from annotation.files.gold_folder import GoldFolder, write_manifest
from annotation.files.scores import (
    count_undecided,
    gold_digest,
    read_gold,
    read_gold_with_changes,
    read_scores,
    read_ungraded,
)
from annotation.gold import ExportOptions, Format, RaterColumns, Reason, Unfinished, gold_row, rater_numbers
from annotation.gold_card import gold_card
from annotation.predictions import QueueOrder
from annotation.services import gold
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.agreement import AgreementService
from annotation.services.audit import EventService
from annotation.services.gold import GoldService, first_unfinished
from annotation.services.imports import ImportService
from annotation.services.numbering import KeyService
from annotation.services.pairs import PairService
from annotation.services.predictions import JudgementService, SendService
from annotation.services.project_rows import find_project
from annotation.services.projects import OverviewService, ProjectService
from annotation.services.ratings import RatingService
from annotation.system_report import people_of
from annotation.types import Cause, NewPair, NewRating, ProjectSettings, Role, utcnow
from annotation.ui.projects import export_counts_html as export_html
from annotation.wording import figure_text, range_text
from db.errors import UnreachableError
from db.models import Adjudication, AuditEvent, Comment, Pair, RaterNumber, ServerKey
from kpdemo.io.tables import open_source
from tests.commands import main
from tests.predicted import pairs_of, sent_project
from tests.rated import pair, rated_pairs, rated_project
from tests.reading import read_items

FINISHED = [
    pair("b-1", "2", "2.75", genre="news", intended=Decimal(3), source="the harbour desk"),
    pair("a-2", "0", "0", genre="travel"),
    pair("c-3", "0", "4", type="phrase2word"),
]
UNFINISHED = [pair("d-4", "3"), pair("e-5", "1", "2"), pair("f-6")]
ALL = [*FINISHED, *UNFINISHED]
ROOT = Path(__file__).parent.parent.parent


def with_decision(rated):
    rated.clock.move()
    service = AdjudicationService(rated.database, clock=rated.clock)
    service.decide(
        rated.id, rated.pair_id("c-3"), rated.adjudicator.id, Decimal("0.5"), Cause.OVERLOOKED_TEXT
    )
    return rated


def test_a_pair_that_was_decided_before_its_last_grade_is_finished_everywhere(database):
    rated = rated_project(database, [pair("c-3", "0", "4"), pair("d-4", "3")], raters_per_pair=3)
    assert ProjectService(database).counts(rated.id).finished == 0
    with_decision(rated)
    assert ProjectService(database).counts(rated.id).finished == 1
    [line] = [each for each in OverviewService(database).projects(rated.adjudicator) if each.id == rated.id]
    counted = GoldService(database).counts(rated.id).with_gold
    measured = AgreementService(database).report(rated.id).whole.finished
    assert (line.finished, counted, measured) == (1, 1, 1)


@pytest.fixture
def finished(database):
    return with_decision(rated_project(database, FINISHED))


def export(rated, folder, **options):
    service = GoldService(rated.database, clock=rated.clock)
    return service.export(rated.id, folder, ExportOptions(**options))


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_row_tells_the_grade_and_how_it_came_about(finished, tmp_path):
    export(finished, tmp_path / "g", raters=RaterColumns.NAMED)
    first, second, third = lines(tmp_path / "g" / "gold.jsonl")
    assert first == {
        "id": "b-1",
        "type": "sentence2phrase",
        "genre": "news",
        "left": FINISHED[0].left,
        "right": FINISHED[0].right,
        "gold": 2.375,
        "gold_source": "mean",
        "mean": 2.375,
        "spread": 0.75,
        "rating_count": 2,
        "cause": None,
        "intended": 3.0,
        "source": "the harbour desk",
        "ratings": [{"rater": "ana", "grade": 2.0}, {"rater": "ben", "grade": 2.75}],
    }
    assert second["gold"] == 0
    assert (third["gold"], third["gold_source"], third["mean"], third["cause"]) == (
        0.5,
        "adjudicated",
        2.0,
        "overlooked_text",
    )


@pytest.mark.parametrize("format", list(Format))
def test_the_same_database_gives_the_same_bytes(sqlite_database, tmp_path, format):
    rated = with_decision(rated_project(sqlite_database, ALL))
    for name in ("one", "two"):
        rated.clock.move(3600)
        export(rated, tmp_path / name, format=format, unfinished=Unfinished.LIST)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) >= 3


@pytest.mark.parametrize("raters", RaterColumns)
def test_the_card_says_what_the_manifest_says_and_names_raters_as_it_does(finished, tmp_path, raters):
    done = export(finished, tmp_path / "g", raters=raters, format=Format.CSV)
    card = (tmp_path / "g" / "README.md").read_bytes()
    assert card == gold_card(json.loads((tmp_path / "g" / "manifest.json").read_bytes())).encode()
    assert done.manifest["card"] == {"name": "README.md", "sha256": sha256(card).hexdigest()}
    assert (done.manifest["counts"]["raters"], done.manifest["counts"]["adjudicators"]) == (2, 1)
    assert b"1 pair has one, of 1 adjudicator. Otherwise" in card
    assert (b"rating:ana" in card) is (raters is RaterColumns.NAMED)
    if raters is not RaterColumns.NAMED:
        assert not set(re.findall(r"\w+", card.decode())) & {"ana", "ben", "judith"}


def test_a_gold_set_is_scored_on_and_unchanged_whatever_is_written_into_its_card(finished, tmp_path):
    export(finished, tmp_path / "g")
    (tmp_path / "g" / "README.md").write_text("# Ours\n", encoding="utf-8")
    pairs, changed = read_gold_with_changes([tmp_path / "g"])
    assert (len(pairs), changed) == (len(FINISHED), [])
    with pytest.raises(ExportError, match=r"README\.md that was changed"):
        GoldService(finished.database).export(finished.id, tmp_path / "g", ExportOptions(), force=True)
    assert (tmp_path / "g" / "README.md").read_text(encoding="utf-8") == "# Ours\n"


def test_the_tasks_layout_is_read_back_as_the_gold_set_that_it_is(sqlite_database, tmp_path):
    types = ("a+b2c", "a_b2c", "phrase2word")
    pairs = [pair(f"news-{place}", "2", "2.5", type=type) for place, type in enumerate(types)]
    pairs.append(pair("news-9", "2", type=types[0]))
    rated = rated_project(sqlite_database, pairs, types=types)
    for format in (Format.JSONL, Format.SEMEVAL):
        export(rated, tmp_path / format, format=format, unfinished=Unfinished.LIST)
    whole, read = (read_gold([tmp_path / format]) for format in (Format.JSONL, Format.SEMEVAL))
    assert gold_digest(read) == gold_digest(whole)
    assert [one.key for one in read] == [("phrase2word", "news-2"), ("a+b2c", "news-0"), ("a_b2c", "news-1")]
    assert read_gold([tmp_path / Format.SEMEVAL / "a_b2c.gs.tsv"])[0].type == "a+b2c"
    run = tmp_path / "run.csv"
    run.write_text("type,id,score\na+b2c,news-0,1\na+b2c,news-9,2\n", encoding="utf-8")
    assert read_scores(run, read, read_ungraded([tmp_path / Format.SEMEVAL])).left_out == 1
    (tmp_path / Format.SEMEVAL / "manifest.json").unlink()  # then they are files like the task's
    task = read_gold([tmp_path / Format.SEMEVAL])
    assert {(one.type, one.genre) for one in task} == {
        ("phrase2word", "news"),
        ("a_b2c", "news"),
        ("a_b2c_", "news"),
    }


def test_unfinished_pairs_are_refused_with_their_number_and_the_first(database, tmp_path):
    rated = with_decision(rated_project(database, ALL))
    with pytest.raises(ExportError) as error:
        export(rated, tmp_path / "g")
    assert str(error.value).startswith(
        "3 of 6 pairs have no gold grade yet, the first is pair d-4 (sentence2phrase); "
    )
    assert str(error.value).endswith(
        "; 2 lack ratings and 1 lacks a decision: have them graded and adjudicated, leave them out, or list "
        "them in a separate file."
    )
    assert list(tmp_path.glob("g")) == []
    assert GoldService(database).exports(rated.id) == []


def test_unfinished_pairs_are_left_out_or_listed(database, tmp_path):
    rated = with_decision(rated_project(database, ALL))
    counts = export(rated, tmp_path / "out", unfinished=Unfinished.LEAVE_OUT).manifest["counts"]
    assert (counts["pairs"], counts["mean"], counts["adjudicated"]) == (6, 2, 1)
    assert [row["id"] for row in lines(tmp_path / "out" / "gold.jsonl")] == ["b-1", "a-2", "c-3"]
    assert [count_undecided([file]) for file in (tmp_path / "out", tmp_path / "out" / "gold.jsonl")] == [1, 1]
    export(rated, tmp_path / "list", unfinished=Unfinished.LIST)
    assert contents(tmp_path / "list")["gold.jsonl"] == contents(tmp_path / "out")["gold.jsonl"]
    assert [
        (row["id"], row["reason"], row["gold"]) for row in lines(tmp_path / "list" / "unfinished.jsonl")
    ] == [
        ("d-4", "too_few_ratings", None),
        ("e-5", "not_adjudicated", None),
        ("f-6", "too_few_ratings", None),
    ]


def test_counts_of_the_database_and_of_the_rows_are_the_same(database, tmp_path):
    rated = with_decision(rated_project(database, ALL))
    counts = GoldService(database).counts(rated.id)
    written = export(rated, tmp_path / "g", unfinished=Unfinished.LEAVE_OUT).manifest["counts"]
    assert (counts.pairs, counts.too_few_ratings, counts.not_adjudicated, counts.with_gold) == (6, 2, 1, 3)
    assert (written["too_few_ratings"], written["not_adjudicated"]) == (2, 1)


@pytest.mark.both_databases
@settings(
    max_examples=20,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), raters=st.integers(1, 3), threshold=st.integers(1, 16))
def test_queries_and_python_agree_on_what_has_a_gold_grade(database, data, raters, threshold):
    number = len(ProjectService(database).list())
    chosen = {"raters_per_pair": raters, "threshold": Decimal(threshold) / 4}
    project = sent_project(database, name=f"sea {number}", **chosen)
    names = {pair.external_id: pair.id for pair in pairs_of(database, project.id).values()}
    grades = data.draw(
        st.lists(st.lists(st.integers(0, 16), max_size=raters), min_size=len(names), max_size=len(names))
    )
    ratings = [
        NewRating(name, f"rater {place}", Decimal(quarters) / 4)
        for name, given_to in zip(names, grades, strict=True)
        for place, quarters in enumerate(given_to)
    ]
    ImportService(database).import_pairs(project.id, ratings)
    decisions = data.draw(st.dictionaries(st.sampled_from(sorted(names)), st.integers(0, 16)))
    decide_at_once(database, project.id, {names[name]: quarters for name, quarters in decisions.items()})
    rows = [gold_row(pair, project.settings, None) for pair in rated_pairs(database, project.id)]
    reasons = Counter(row.reason for row in rows)
    counts = GoldService(database).counts(project.id)
    assert counts.too_few_ratings == reasons[Reason.TOO_FEW_RATINGS]
    assert counts.not_adjudicated == reasons[Reason.NOT_ADJUDICATED]
    with database.reading() as session:
        first = first_unfinished(session, find_project(session, project.id))
    assert first == next(((row.type, row.id) for row in rows if row.reason), None)
    pool = JudgementService(database).pool(project.id)
    found = {phrase.pair: phrase.grade for document in pool.documents for phrase in document.phrases}
    assert found == {row.id: row.gold for row in rows}
    assert pool.undecided == reasons[Reason.NOT_ADJUDICATED]


def decide_at_once(database, project_id, decisions):
    """Decisions by the id of the pair, also on pairs that a page would offer to nobody."""
    judge = AccountService(database).add_user(f"judge {project_id}")
    with database.session() as session:
        session.add_all(
            Adjudication(
                project_id=project_id,
                pair_id=pair_id,
                adjudicator_id=judge.id,
                quarters=quarters,
                cause=Cause.SCALE,
                decided_at=utcnow(),
            )
            for pair_id, quarters in decisions.items()
        )


def test_numbers_of_raters_stay_when_another_rater_joins(database, tmp_path):
    rated = rated_project(
        database, [pair("x", "1", "2", "2"), pair("y")], raters_per_pair=4, threshold=Decimal(4)
    )

    def numbers(name):
        export(rated, tmp_path / name, unfinished=Unfinished.LIST)
        [row] = [row for row in lines(tmp_path / name / "unfinished.jsonl") if row["id"] == "y"]
        return {rating["grade"]: rating["rater"] for rating in row["ratings"]}

    rated.rate("y", ana="0", ben="1", cleo="2")
    before = numbers("before")
    rated.rate("y", dora="3")
    assert sorted(before.values()) == ["rater 1", "rater 2", "rater 3"]
    after = {
        rating["grade"]: rating["rater"]
        for row in lines_after(rated, tmp_path)
        if row["id"] == "y"
        for rating in row["ratings"]
    }
    assert after == {**before, 3.0: "rater 4"}


def test_the_numbers_of_raters_hang_on_a_secret_of_the_server_only(sqlite_database, tmp_path):
    """Servers with the same accounts, seed and grades order raters each in its own way, and keep to it."""
    grades = pair("x", "0", "1", "2", "3")
    rated = rated_project(sqlite_database, [grades], raters_per_pair=4, threshold=Decimal(4))

    def numbers(name, *forgotten):
        with sqlite_database.session() as session:
            for table in (RaterNumber, *forgotten):
                session.execute(delete(table))
        export(rated, tmp_path / name)
        return raters_in(tmp_path / name)

    found = [(numbers(f"{n}", ServerKey), numbers(f"{n} again")) for n in range(8)]
    assert all(first == again for first, again in found)
    assert len({tuple(sorted(first.items())) for first, _ in found}) > 1


@pytest.fixture
def two_raters(database, monkeypatch):
    """A pair that ana graded with 2, in a project that gives ben the number 1 as soon as he grades."""
    accounts = AccountService(database)
    ana, ben = (accounts.add_user(name).id for name in ("ana", "ben"))
    key = next(key for key in map(bytes, range(1, 64)) if rater_numbers((ana, ben), key, {})[ben] == 1)
    monkeypatch.setattr(KeyService, "raters", lambda self, project_id: key)
    return rated_project(database, [pair("x", "2")])


def raters_in(folder):
    [row] = lines(folder / "gold.jsonl")
    return {rating["grade"]: rating["rater"] for rating in row["ratings"]}


def test_exports_at_once_never_give_two_raters_one_number(two_raters, tmp_path, monkeypatch):
    def overtaken(folder, manifest):  # the files are written; ben grades, and another export is faster
        monkeypatch.setattr(gold, "write_manifest", write_manifest)
        two_raters.rate("x", ben="2.5")
        export(two_raters, tmp_path / "second")
        return write_manifest(folder, manifest)

    monkeypatch.setattr(gold, "write_manifest", overtaken)
    export(two_raters, tmp_path / "first", unfinished=Unfinished.LIST)
    [row] = lines(tmp_path / "first" / "unfinished.jsonl")
    assert {rating["grade"]: rating["rater"] for rating in row["ratings"]} == {2.0: "rater 1"}
    assert raters_in(tmp_path / "second") == {2.0: "rater 1", 2.5: "rater 2"}
    assert len(GoldService(two_raters.database).exports(two_raters.id)) == 2


def test_a_number_that_was_shown_stays_when_another_rater_joins(two_raters, tmp_path):
    service = AgreementService(two_raters.database)

    def shown():
        report = service.report(two_raters.id, resamples=10, named=False)
        return {row.mean: report.rater_names[row.rater] for row in report.raters}

    assert shown() == {2.0: "Rater 1"}
    two_raters.rate("x", ben="2.5")  # of two who are new at once ben is 1
    assert shown() == {2.0: "Rater 1", 2.5: "Rater 2"}
    export(two_raters, tmp_path / "gold")
    assert raters_in(tmp_path / "gold") == {2.0: "rater 1", 2.5: "rater 2"}


def test_raters_who_join_before_numbers_are_shown_are_numbered_whoever_begins(two_raters, tmp_path):
    ProjectService(two_raters.database).add_member(two_raters.id, "ben", Role.RATER)
    export(two_raters, tmp_path / "one", unfinished=Unfinished.LIST)
    two_raters.rate("x", ben="2.5")
    export(two_raters, tmp_path / "two")
    assert raters_in(tmp_path / "two") == {2.0: "rater 2", 2.5: "rater 1"}


def test_a_number_that_was_shown_but_never_exported_means_nobody_in_a_file(two_raters, tmp_path):
    AgreementService(two_raters.database).report(two_raters.id, resamples=10, named=False)
    two_raters.rate("x", **{"rater 1": "2.5"})
    export(two_raters, tmp_path / "gold")
    assert raters_in(tmp_path / "gold") == {2.0: "rater 1", 2.5: "rater 2"}
    with pytest.raises(ImportFileError, match="'rater 1' is a rater of this project's own gold sets"):
        two_raters.rate("x", **{"rater 1": "4"})


def lost(*_):
    raise OperationalError("COMMIT", {}, Exception("the server went away"))


def test_an_export_whose_commit_fails_leaves_the_earlier_files_and_no_record(finished, tmp_path):
    service, engine = GoldService(finished.database, clock=finished.clock), finished.database.engine
    service.export(finished.id, tmp_path / "g", ExportOptions())
    before, records = contents(tmp_path / "g"), service.exports(finished.id)
    event.listen(engine, "commit", lost)
    for folder, options in (("g", ExportOptions(format=Format.CSV)), ("new", ExportOptions())):
        with pytest.raises(OperationalError):
            service.export(finished.id, tmp_path / folder, options, force=True)
    event.remove(engine, "commit", lost)
    assert not (tmp_path / "new").exists()
    assert contents(tmp_path / "g") == before
    assert service.exports(finished.id) == records
    service.export(finished.id, tmp_path / "g", ExportOptions(format=Format.CSV), force=True)
    assert "gold.csv" in contents(tmp_path / "g")


def test_an_export_whose_server_stops_before_the_commit_leaves_nothing(
    postgresql_database, tmp_path, monkeypatch
):
    rated = with_decision(rated_project(postgresql_database, FINISHED))

    def publish(folder):
        published(folder)
        with rated.database.engine.connect() as other:
            other.execute(END_WRITERS)

    published = GoldFolder.publish
    monkeypatch.setattr(GoldFolder, "publish", publish)
    with pytest.raises(UnreachableError, match="check the URL and that the server runs"):
        export(rated, tmp_path / "g")
    assert list(tmp_path.iterdir()) == []
    assert GoldService(rated.database).exports(rated.id) == []


END_WRITERS = text("""
SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
WHERE mode = 'RowExclusiveLock' AND relation = CAST('exports' AS regclass)
""")


def lines_after(rated, tmp_path):
    export(rated, tmp_path / "after", unfinished=Unfinished.LIST)
    return lines(tmp_path / "after" / "gold.jsonl")


@pytest.mark.parametrize("format", list(Format))
@pytest.mark.parametrize("raters", [RaterColumns.NONE, RaterColumns.ANONYMOUS])
def test_no_name_is_in_any_file_unless_it_is_asked_for(sqlite_database, tmp_path, format, raters):
    named = [
        NewPair(
            "1", "sentence2phrase", "Text", "text", ratings=(("Zebedee", Decimal(1)), ("Quirin", Decimal(1)))
        )
    ]
    rated = rated_project(sqlite_database, named)
    export(rated, tmp_path / "g", format=format, raters=raters)
    whole = b"".join(contents(tmp_path / "g").values())
    assert not any(name in whole for name in (b"Zebedee", b"Quirin", b"judith"))


def test_the_manifest_has_alpha_hashes_and_no_moment(finished, tmp_path):
    exported = export(finished, tmp_path / "g", format=Format.CSV)
    written = json.loads((tmp_path / "g" / "manifest.json").read_text())
    assert written == exported.manifest
    assert written["agreement"]["alpha"]["all"]["ratings"] == 6
    assert written["agreement"]["alpha"]["unadjudicated"]["pairs"] == 2
    assert written["agreement"]["by_type"]["phrase2word"]["all"]["value"] is None
    assert "Only one pair" in written["agreement"]["by_type"]["phrase2word"]["all"]["reason"]
    assert str(finished.clock.now.year) not in json.dumps(
        {**written, "protocol": {**written["protocol"], "seed": 0}, "agreement": None, "files": []}
    )
    [record] = GoldService(finished.database).exports(finished.id)
    assert (record.manifest_sha256, record.pairs, record.by) == (exported.manifest_sha256, 3, None)


def test_the_manifest_tells_what_was_changed_and_how_many_grades_there_were(finished, tmp_path):
    projects = ProjectService(finished.database, clock=finished.clock)
    settings = projects.get(finished.id).settings
    assert "protocol_changes" not in export(finished, tmp_path / "none").manifest
    finished.clock.move()
    first = finished.clock()
    projects.update(finished.id, replace(settings, guidelines="Second", lease_minutes=7))
    finished.clock.move()
    ben = AccountService(finished.database).user("ben")
    RatingService(finished.database, finished.clock).rate(finished.pair_id("b-1"), ben.id, Decimal("2.5"))
    finished.clock.move()
    with finished.database.session() as session:  # as an earlier version wrote it
        detail = {"settings": ["name", "threshold"]}
        event = AuditEvent(
            at=finished.clock(), project_id=finished.id, action="project changed", detail=detail
        )
        session.add(event)
    finished.clock.move()
    projects.update(finished.id, replace(settings, guidelines="Third", may_revise=False))
    written = export(finished, tmp_path / "g").manifest
    assert written["protocol"]["guidelines"] == "Third"
    hashes = [sha256(text.encode()).hexdigest() for text in (settings.guidelines, "Second", "Third")]
    assert written["earlier_guidelines"] == dict(zip(hashes, [settings.guidelines, "Second"], strict=False))
    changes = written["protocol_changes"]
    assert changes[0] == {
        "at": first.isoformat(),
        "setting": "guidelines",
        "before": hashes[0],
        "after": hashes[1],
        "ratings_before": 5,  # the sixth was changed after it
    }
    assert [[*change.values()][1:] for change in changes[1:]] == [
        ["adjudication_threshold", None, None, 6],
        ["guidelines", hashes[1], hashes[2], 6],
        ["may_revise", True, False, 6],
    ]
    again = export(finished, tmp_path / "again")
    assert again.manifest == written
    assert contents(tmp_path / "again") == contents(tmp_path / "g")


def test_the_manifest_tells_the_order_that_was_chosen_for_predicted_keyphrases(database, tmp_path):
    project, sending = sent_project(database), SendService(database)
    orders = []
    for order in (QueueOrder.DOCUMENT, QueueOrder.UNCERTAIN, QueueOrder.PROJECT):
        sending.choose_order(project.id, order)
        options = ExportOptions(unfinished=Unfinished.LIST)
        written = GoldService(database).export(project.id, tmp_path / order, options).manifest
        assert json.loads((tmp_path / order / "manifest.json").read_text()) == written
        orders.append((written["protocol"]["order"], written["protocol"].get("order_of_predictions")))
    assert orders == [("random", "document"), ("random", "uncertain"), ("random", None)]


def test_agreement_in_the_manifest_is_that_of_the_agreement_page(finished, tmp_path):
    alpha = AgreementService(finished.database).report(finished.id).whole.all
    written = export(finished, tmp_path / "g").manifest["agreement"]["alpha"]["all"]
    assert written["value"] == pytest.approx(alpha.value, abs=1e-6)
    assert (written["low"], written["high"]) == pytest.approx((alpha.low, alpha.high), abs=1e-6)


@pytest.mark.parametrize("raters", list(RaterColumns))
def test_what_people_reach_is_in_manifest_and_card_as_agreement_has_it(database, tmp_path, raters):
    grades = np.random.default_rng(0).integers(0, 17, (40, 3)) / 4
    pairs = [pair(f"p{at}", *map(str, row)) for at, row in enumerate(grades)]
    rated = rated_project(database, [*pairs, pair("alone", "1", type="phrase2word")], raters_per_pair=3)
    bounds = AgreementService(database).report(rated.id).upper_bounds
    of_type = next(bound for bound in bounds if bound.type == "sentence2phrase")
    options = {"unfinished": Unfinished.LEAVE_OUT, "raters": raters}
    found = export(rated, tmp_path / "g", **options).manifest["agreement"]["upper_bound"]
    assert list(found) == ["sentence2phrase"]
    bound = found["sentence2phrase"]
    for name, expected in (("pearson", of_type.pearson), ("spearman", of_type.spearman)):
        figures = (expected.value, expected.low, expected.high)
        assert [bound[name][part] for part in ("value", "low", "high")] == pytest.approx(figures, abs=1e-6)
    assert (bound["pairs"], bound["raters"]) == (40, 3)
    interval = range_text(of_type.pearson.low, of_type.pearson.high)
    row = f"| sentence2phrase | {figure_text(of_type.pearson.value)} ({interval}) |"
    card = (tmp_path / "g" / "README.md").read_text(encoding="utf-8")
    assert row in card
    assert "| 40 | mean of 3 raters |" in card


def test_every_export_and_whoever_scores_it_find_the_same_agreement(database, tmp_path, monkeypatch):
    """Though each has raters in another order; only the numbers of an anonymous one take the server's key."""
    chance, asked, of_server = np.random.default_rng(1), [], KeyService.raters
    grades = (chance.integers(0, 14, (30, 1)) + chance.integers(0, 4, (30, 3))) / 4
    pairs = [pair(f"p{at}", *map(str, row)) for at, row in enumerate(grades)]
    rated = rated_project(database, pairs, raters_per_pair=3)
    [bound, *_] = filter(lambda each: each.raters, AgreementService(database).report(rated.id).upper_bounds)
    monkeypatch.setattr(KeyService, "raters", lambda *of: asked.append(of) or of_server(*of))
    found = []
    for at, raters in enumerate([RaterColumns.NAMED, RaterColumns.NONE, RaterColumns.ANONYMOUS] * 2):
        found.append(export(rated, tmp_path / f"{at}", raters=raters).manifest["agreement"])
        assert len(asked) == int(at >= 2)  # the second anonymous one finds the numbers of the first
        if raters is not RaterColumns.NONE:
            people = people_of(read_gold([tmp_path / f"{at}"]), resamples=1000, seed=2014)
            assert [replace(each, raters=()) for each in people.bounds] == [replace(bound, raters=())]
    assert found == found[:1] * 6


def test_rated_pairs_come_in_the_order_of_import_with_everything(finished):
    found = list(rated_pairs(finished.database, finished.id))
    assert [one.external_id for one in found] == ["b-1", "a-2", "c-3"]
    assert found[0].ratings == (("ana", Decimal(2)), ("ben", Decimal("2.75")))
    assert found[2].adjudicated == Decimal("0.5")


def test_an_empty_project_has_nothing_to_export(database, tmp_path):
    with pytest.raises(ExportError, match="has no pairs yet"):
        export(rated_project(database, []), tmp_path / "g", unfinished=Unfinished.LIST)


LETTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
WORDS = st.one_of(
    st.text(LETTERS, max_size=20),
    st.sampled_from(
        ["=HYPERLINK(1)", "+1", "-", "@x", "'=1", "שלום ,עולם", "🛶\r\n🛶", 'say "no"', "a\tb", "NA", "null"]
    ),
)
TEXTS = WORDS.map(lambda text: f"x{text}" if not text.strip() else text)
RATINGS = st.dictionaries(
    st.sampled_from(["ana", "Ben O'Neil", "陈", "=cmd", "דנה"]), st.integers(0, 16), max_size=3
)


@pytest.mark.parametrize("format", [Format.JSONL, Format.CSV])
@settings(
    max_examples=15,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(TEXTS, TEXTS, RATINGS, st.none() | TEXTS.map(str.strip)), min_size=1, max_size=5))
def test_an_export_imported_again_gives_the_same_ratings(sqlite_database, tmp_path_factory, format, rows):
    names = [f"p{number}" for number in range(len(rows))]
    pairs = [
        NewPair(
            name,
            "sentence2phrase",
            f"{left} {name}",
            right,
            source=source,
            ratings=tuple((rater, Decimal(quarters) / 4) for rater, quarters in ratings.items()),
        )
        for name, (left, right, ratings, source) in zip(names, rows, strict=True)
    ]
    folder = tmp_path_factory.mktemp("trip")
    number = len(ProjectService(sqlite_database).list())
    first = rated_project(
        sqlite_database, pairs, name=f"first {number}", raters_per_pair=3, threshold=Decimal(4)
    )
    second = ProjectService(sqlite_database).create(ProjectSettings(f"second {number}", raters_per_pair=3))
    export(first, folder / "g", format=format, raters=RaterColumns.NAMED, unfinished=Unfinished.LIST)
    for stem in ("gold", "unfinished"):
        path = folder / "g" / f"{stem}.{format}"
        if path.read_text(encoding="utf-8").count("\n") > (format is Format.CSV):
            with open_source(path) as source:
                ImportService(sqlite_database).import_pairs(second.id, read_items(source))

    def kept(project_id):
        return {
            one.external_id: (one.left, one.right, one.source, sorted(one.ratings))
            for one in rated_pairs(sqlite_database, project_id)
        }

    assert kept(second.id) == kept(first.id)


def test_an_export_imported_into_its_own_project_adds_no_ratings(database, tmp_path):
    rated = rated_project(database, [pair("a", "1", "1.5"), pair("b", "2", "2")])
    projects, imports = ProjectService(database), ImportService(database)
    projects.update(rated.id, replace(rated.project.settings, raters_per_pair=4))
    export(rated, tmp_path / "gold", unfinished=Unfinished.LIST)
    with open_source(tmp_path / "gold" / "unfinished.jsonl") as source:
        summary = imports.import_pairs(rated.id, read_items(source))
    assert (summary.ratings, summary.duplicates) == (0, ("a", "b"))
    with pytest.raises(ImportFileError, match="'rater 1' is a rater of this project's own gold sets"):
        imports.import_pairs(rated.id, [NewRating("a", "rater 1", Decimal(4))])
    imports.import_pairs(rated.id, [NewRating("a", "1", Decimal(4))])
    assert dict(rated_pairs(database, rated.id)[0].ratings)["harbour/1"] == 4


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with_decision(rated_project(open_database(url, may_make=True), FINISHED))
    return url


def test_the_command_writes_a_folder_and_prints_its_manifest(url, tmp_path, capsys):
    target = tmp_path / "gold"
    call = ["export", "harbour", "--output", str(target), "--format", "csv", "--database-url", url]
    assert main([*call, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [file["name"] for file in printed["files"]] == ["gold.csv"]
    assert {path.name for path in target.iterdir()} == {"gold.csv", "README.md", "manifest.json"}
    assert main(call) == 1
    assert "not empty" in capsys.readouterr().err
    assert main([*call, "--force", "--format", "semeval"]) == 0
    told = capsys.readouterr().out
    assert "phrase2word.gs.tsv: 1 row, SHA-256 " in told
    assert f"{target / 'README.md'}: a dataset card; it says what to add" in told
    assert (target / "sentence2phrase.gs.tsv").read_text() == "2.375\n0\n"
    assert not (target / "gold.csv").exists()


def test_a_link_to_itself_is_one_sentence(url, tmp_path, capsys):
    (tmp_path / "gold").symlink_to("gold")
    assert main(["export", "harbour", "--output", str(tmp_path / "gold"), "--database-url", url]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{tmp_path / 'gold'}: cannot be used (")
    assert error.count("\n") == 1


def test_the_command_tells_which_gold_grades_to_look_at_again(url, tmp_path, capsys):
    database = open_database(url)
    ben = AccountService(database).user("ben").id
    with database.reading() as session:
        pairs = {row.external_id: row.id for row in session.execute(select(Pair.external_id, Pair.id))}
    RatingService(database).comment(pairs["a-2"], ben, "", True)
    RatingService(database).rate(pairs["c-3"], ben, Decimal("3.5"))  # it was 4, and c-3 is decided
    assert main(["export", "harbour", "--output", str(tmp_path / "gold"), "--database-url", url]) == 0
    told = capsys.readouterr().out
    assert "Exported pairs that a rater marked as a problem: 1;" in told
    assert "graded after their decision and are open again: 1;" in told


@pytest.mark.parametrize("to", [[], ["--output", "-"]])
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_without_a_folder_the_gold_set_is_printed(url, tmp_path, capsysbinary, monkeypatch, to, format):
    monkeypatch.chdir(tmp_path)
    call = ["export", "harbour", "--format", format, "--database-url", url]
    assert main([*call, *to]) == 0
    printed = capsysbinary.readouterr().out
    assert main([*call, "--output", "gold"]) == 0
    assert printed == (tmp_path / "gold" / f"gold.{format}").read_bytes()
    assert not (tmp_path / "-").exists()


def test_a_type_without_gold_does_not_keep_the_folder_from_being_scored(tmp_path):
    paths = [
        tmp_path / f"{name}.{kind}.tsv" for name in ("phrase2word", "word2sense") for kind in ("input", "gs")
    ]
    for path, content in zip(paths, ("a cat\tcat\t1\nthe sea\tboat\t2\n", "4\n1\n", "", ""), strict=True):
        path.write_text(content, encoding="utf-8")
    assert {pair.type for pair in read_gold([tmp_path])} == {"phrase2word"}


def test_the_command_explains_a_wrong_call(url, tmp_path, capsys):
    call = ["export", "harbour", "--output", str(tmp_path / "g"), "--database-url", url]
    assert main([*call, "--format", "xlsx"]) == 2
    for options in (["--format", "semeval"], ["--unfinished", "list"], ["--json"]):
        assert main(["export", "harbour", "--database-url", url, *options]) == 2
        assert "give --output DIR" in capsys.readouterr().err
    assert main(["export", "nowhere", *call[2:]]) == 1
    assert "nowhere" in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


MEASURE = """
import re, sys
from pathlib import Path
from annotation.gold import ExportOptions, Format
from annotation.services.gold import GoldService
from annotation.services.projects import ProjectService
from db import Database
url, format, folder = sys.argv[1:]
database = Database(url)
projects, gold, options = ProjectService(database), GoldService(database), ExportOptions(Format(format))
peaks = []
for name in ("small", "large"):
    gold.export(projects.get(name).id, Path(folder) / name, options)
    peaks.append(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]))
print(peaks[1] - peaks[0])
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs a system that tells peaks of memory"
)
@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.slow
def test_a_large_export_needs_no_more_memory_than_a_small_one(large, tmp_path, format):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, large, format, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 14_000  # KiB; the texts alone are 28 MB more


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('large') / 'a.db'}"
    database = open_database(url, may_make=True)
    text = "The ferry leaves the old harbour at noon and comes back at dusk. " * 60
    for name, size in (("small", 5_000), ("large", 12_000)):
        pairs = (
            NewPair(
                str(number),
                "sentence2phrase",
                f"{number} {text}",
                "a noon ferry",
                ratings=(("ana", Decimal(number % 5)), ("ben", Decimal(number % 5))),
            )
            for number in range(size)
        )
        rated_project(database, pairs, name=name)
    return url


def test_comments_of_raters_are_written_when_they_are_asked_for(finished, tmp_path):
    with finished.database.session() as session:
        pair_id, project_id = finished.pair_id("a-2"), finished.id
        names = {user.name: user.id for user in AccountService(finished.database).users()}
        for name, text, is_flagged in (("ben", "Is 0 meant? 🤔\n=1+1", True), ("judith", "Not mine.", False)):
            session.add(
                Comment(
                    project_id=project_id,
                    pair_id=pair_id,
                    user_id=names[name],
                    text=text,
                    is_flagged=is_flagged,
                    updated_at=finished.clock(),
                )
            )
    export(finished, tmp_path / "named", comments=True, raters=RaterColumns.NAMED)
    said = {row["id"]: row["comments"] for row in lines(tmp_path / "named" / "gold.jsonl")}
    assert said == {
        "b-1": [],
        "a-2": [
            {"rater": None, "text": "Not mine.", "problem": False},  # who gave no grade has no label
            {"rater": "ben", "text": "Is 0 meant? 🤔\n=1+1", "problem": True},
        ],
        "c-3": [],
    }
    done = export(finished, tmp_path / "none", comments=True, raters=RaterColumns.NONE, format=Format.CSV)
    assert done.manifest["options"]["comments"] is True
    written = (tmp_path / "none" / "gold.csv").read_text(encoding="utf-8")
    assert "Is 0 meant?" in written
    assert "ben" not in written
    with open_source(tmp_path / "none" / "gold.csv") as source:
        assert len(list(read_items(source))) == 3  # and it can be imported again
    export(finished, tmp_path / "parquet", comments=True, format=Format.PARQUET)
    assert "comments" not in lines_of_default(finished, tmp_path)
    assert GoldService(finished.database).exports(finished.id)[-1].options.comments


def test_the_layout_of_the_task_is_said_to_hold_no_raters_whatever_was_asked_for(finished, tmp_path):
    for raters in RaterColumns:
        done = export(finished, tmp_path / raters, raters=raters, comments=True, format=Format.SEMEVAL)
        told = done.manifest["options"]
        assert (told["raters"], "comments" in told) == ("none", False)
    assert {each.options.raters for each in GoldService(finished.database).exports(finished.id)} == {
        RaterColumns.NONE
    }
    [event, *_] = EventService(finished.database).recent(finished.id)
    assert event.detail["raters"] == "none"


def test_pairs_marked_as_a_problem_are_told_before_they_go_into_the_gold_set(database, tmp_path):
    rated = rated_project(database, ALL)
    service, ratings = GoldService(database), RatingService(database)
    raters = {user.name: user.id for user in AccountService(database).users()}
    assert "Marked as a problem" not in export_html(service.counts(rated.id))
    for id, rater, is_flagged in (
        ("b-1", "ana", True),
        ("b-1", "ben", True),  # one pair, however many marked it
        ("a-2", "ana", False),
        ("d-4", "ana", True),  # it has no gold grade
        ("c-3", "ben", True),  # neither has this one, before the decision
    ):
        ratings.comment(rated.pair_id(id), raters[rater], "Is it one word?", is_flagged)
    assert service.counts(rated.id).problems == 1
    with_decision(rated)
    written = export(rated, tmp_path / "gold", unfinished=Unfinished.LEAVE_OUT).manifest
    assert written["counts"]["marked_as_problem"] == service.counts(rated.id).problems == 2
    row = '<th scope="row">Marked as a problem</th><td class="number">2</td>'
    assert row in export_html(service.counts(rated.id))
    PairService(database).withdraw(rated.id, ["b-1"])
    assert service.counts(rated.id).problems == 1


def lines_of_default(finished, tmp_path) -> str:
    export(finished, tmp_path / "default")
    return "".join(
        (tmp_path / "default" / name).read_text("utf-8") for name in ("gold.jsonl", "manifest.json")
    )
