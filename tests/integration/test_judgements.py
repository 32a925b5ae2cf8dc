"""Predictions are sent, graded, and come back as gold keyphrases, qrels, runs and figures."""

from __future__ import annotations

import errno
import json
import math
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest
from sqlalchemy import event, func, select

import kpdemo.text
from annotation.assignment import position_in
from annotation.errors import ImportFileError
from annotation.predictions import TYPE, PredictedDocument, QueueOrder, uncertainty
from annotation.relevance import JudgedPool, JudgingOptions, Unjudged
from annotation.services.accounts import AccountService
from annotation.services.assignment import AssignmentService
from annotation.services.audit import EventService
from annotation.services.gold import protocol_history
from annotation.services.imports import ImportService
from annotation.services.known_pairs import KnownPairService
from annotation.services.predictions import JudgementService, SendService
from annotation.services.project_rows import find_project
from annotation.services.projects import ProjectService
from annotation.services.ratings import RatingService
from annotation.types import KnownPair, NewPair, ProjectSettings, Role
from db.models import Base, Pair, SentOrder, SentPhrase, SentPrediction
from kpdemo.evaluation.protocol import evaluate
from kpdemo.io.documents import read_documents
from kpdemo.types import Keyphrase, Prediction
from tests.commands import main
from tests.databases import row_problems
from tests.predicted import FERRY, GRADES, TRAIN, documents, grade, pairs_of, run, sent_project

EXACT = JudgingOptions(Decimal(3), 2)


def pairs_in_order(database, project_id: int) -> list[Pair]:
    with database.reading() as session:
        return list(
            session.scalars(select(Pair).where(Pair.project_id == project_id).order_by(Pair.position))
        )


def rows_of(database, table) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(table))


def test_phrases_of_all_models_become_one_pool_of_pairs(database):
    project = sent_project(database)
    pairs = pairs_of(database, project.id)
    assert set(pairs) == set(GRADES)
    assert pairs["ferries"].left == f"At sea\n\n{FERRY}"
    assert {pair.type for pair in pairs.values()} == {TYPE}
    assert all(pair.open_slots == 1 for pair in pairs.values())
    assert rows_of(database, SentPrediction) == 6
    assert row_problems(database) == []


def test_nothing_in_a_pair_tells_which_model_predicted_it(database):
    project = sent_project(database)
    for pair in pairs_of(database, project.id).values():
        shown = " ".join(map(str, (pair.external_id, pair.genre, pair.source, pair.intended_quarters)))
        assert "north" not in shown
        assert "south" not in shown
        assert pair.intended_quarters is None


def test_a_document_costs_the_same_statements_however_many_phrases_it_has(database):
    project = ProjectService(database).create(ProjectSettings(name="sea", types=(TYPE,)))
    said: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *arguments: said.append(arguments[2]))

    def statements(*phrases: int) -> int:
        said.clear()
        sent = [
            PredictedDocument(f"d{count}", "", f"Text {count}", "en", (run("north", words(count)),))
            for count in phrases
        ]
        SendService(database).send(project.id, sent)
        assert len([statement for statement in said if "FROM training_pairs" in statement]) <= 2
        return len(said)

    def words(count: int) -> dict[str, float]:
        return {f"phrase {number}": 0.5 for number in range(count)}

    fixed, one_more = statements(1), statements(2, 3) - statements(4)
    assert statements(9) == fixed
    assert one_more < fixed
    assert statements(5, 6, 7, 8, 20) == fixed + 4 * one_more


def test_sending_again_changes_nothing_and_another_model_adds_only_what_is_new(database):
    project = sent_project(database)
    service = SendService(database)
    again = service.send(project.id, documents())
    assert (again.documents, again.pairs, again.known) == (2, 0, 5)
    [first, _] = documents()
    other = PredictedDocument(
        "renamed", first.title, first.body, "en", (run("west", {"gull": 0.4, "noon": 0.2}),)
    )
    assert service.count_new(project.id, [other]) == 1
    more = service.send(project.id, [other])
    assert (more.pairs, more.known, more.models) == (1, 1, ("west",))
    pool = JudgementService(database).pool(project.id)
    assert [document.id for document in pool.documents] == ["ferry", "train"]
    assert pool.models == ["north", "south", "west"]
    assert row_problems(database) == []


def test_a_model_that_is_sent_again_is_replaced(database):
    project = sent_project(database)
    [first, _] = documents()
    changed = PredictedDocument(first.id, first.title, first.body, "en", (run("south", {"gulls": 0.9}),))
    SendService(database).send(project.id, [changed])
    [ferry, _] = JudgementService(database).pool(project.id).documents
    assert [score for _, score in ferry.runs["south"]] == [0.9]
    assert len(ferry.runs["north"]) == 3


def test_a_project_of_other_types_gets_the_type(database):
    project = ProjectService(database).create(ProjectSettings("plain", types=("phrase2word",)))
    SendService(database).send(project.id, documents())
    assert ProjectService(database).get(project.id).settings.types[-1] == TYPE
    with database.reading() as session:
        [change] = protocol_history(session, find_project(session, project.id))["protocol_changes"]
    assert (change["setting"], change["ratings_before"]) == ("types", 0)
    assert change["after"] == [*change["before"], TYPE]
    SendService(database).send(project.id, documents())
    done = [event.action for event in EventService(database).recent(project.id)]
    assert done.count("project changed") == 1


def test_the_first_pair_that_was_imported_before_is_taken_for_the_phrase(database):
    project = ProjectService(database).create(ProjectSettings("sea", types=(TYPE,)))
    pairs = [NewPair(id, TYPE, f"At sea\n\n{FERRY}", "gulls") for id in ("mine", "mine again")]
    ImportService(database).import_pairs(project.id, pairs)
    assert SendService(database).send(project.id, documents()).pairs == 4
    [ferry, _] = JudgementService(database).pool(project.id).documents
    assert "mine" in {phrase.pair for phrase in ferry.phrases}


@pytest.mark.parametrize("kind", ["training", "check"])
def test_a_phrase_with_a_known_grade_is_refused_by_name_and_nothing_is_kept(database, kind):
    project = ProjectService(database).create(ProjectSettings("sea", types=(TYPE,), raters_per_pair=1))
    ferry = documents()[0]
    known = KnownPair(NewPair("known", TYPE, ferry.text, "gulls"), Decimal(1))
    service = KnownPairService(database)
    (service.import_training if kind == "training" else service.import_checks)(project.id, [known])
    with pytest.raises(ImportFileError, match=f"The phrase 'gulls' of the document 'ferry' is a {kind} pair"):
        SendService(database).send(project.id, documents())
    assert pairs_of(database, project.id) == {}


def test_an_id_with_another_text_is_refused_and_nothing_is_kept(database):
    project = sent_project(database)
    other = PredictedDocument("ferry", "", "Another text altogether.", "en", (run("west", {"text": 0.4}),))
    with pytest.raises(ImportFileError, match="'ferry' already exists with another text"):
        SendService(database).send(project.id, [*documents(), other])
    with pytest.raises(ImportFileError, match="There is no document"):
        SendService(database).send(project.id, [])
    assert JudgementService(database).pool(project.id).models == ["north", "south"]


def test_grades_come_back_as_figures_of_each_model(database):
    """Worked out by hand: the ideal of "ferry" is 4, 3 and that of "train" 3.5."""
    project = sent_project(database)
    grade(database, project.id, GRADES)
    found = JudgementService(database).pool(project.id).figures(EXACT)
    ideal = 4 + 3 / math.log2(3)
    north, south = found["north"], found["south"]
    assert north.ndcg.skip_empty == pytest.approx(((4 + 2 / math.log2(3)) / ideal + 1) / 2)
    assert south.ndcg.skip_empty == pytest.approx((4 + 1 / math.log2(3)) / ideal / 2)
    assert north.precision.skip_empty == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert (north.documents, north.predictions, north.judged) == (2, 4, 4)
    assert south.all.recall_m.skip_empty == pytest.approx((1 / 2 + 0) / 2)


def test_figures_are_those_of_the_evaluation_on_the_gold_file(database, tmp_path):
    project = sent_project(database)
    grade(database, project.id, GRADES)
    pool = JudgementService(database).pool(project.id)
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(pool.gold_lines(Decimal(3))), encoding="utf-8")
    read = list(read_documents(gold))
    assert [(document.id, document.keyphrases) for document in read] == [
        ("ferry", ("ferries", "shipping")),
        ("train", ("night train",)),
    ]
    for model, figures in pool.figures(EXACT).items():
        found = {document.id: as_prediction(document, model) for document in documents()}
        expected = evaluate(read, [found[document.id] for document in read])
        for mine, theirs in ((figures.present, expected.present), (figures.absent, expected.absent)):
            assert mine.f1_5.skip_empty == pytest.approx(theirs.skip_empty.at[5].f1)
            assert mine.f1_m.skip_empty == pytest.approx(theirs.skip_empty.at["M"].f1)
            assert mine.f1_m.count_empty == pytest.approx(theirs.count_empty.at["M"].f1)
            assert mine.with_gold == theirs.with_gold


def as_prediction(document: PredictedDocument, model: str) -> Prediction:
    [found] = [run for run in document.runs if run.model == model]
    sides = [
        tuple(Keyphrase(phrase.text, phrase.score) for phrase in found.phrases if phrase.is_present is side)
        for side in (True, False)
    ]
    return Prediction(*sides, language="en")


def test_qrels_and_runs_are_those_of_trec(database):
    """A mean of 2.875 reaches no threshold of 3, and equal scores stay in the order of the ranks."""
    project = sent_project(database, raters_per_pair=2)
    [first, _] = documents()
    tied = run("west", {"gulls": 0.7, "old harbour": 0.7, "ferries": 0.7}, {"shipping": 0.0})
    SendService(database).send(project.id, [replace(first, runs=(tied,))])
    grade(database, project.id, {"ferries": "3", "old harbour": "0", "gulls": "3.25", "shipping": "4"})
    grade(database, project.id, {"ferries": "2.75", "old harbour": "0", "gulls": "2.75"}, rater="ben")
    pool = JudgementService(database).pool(project.id)
    names = {text: pair.external_id for text, pair in pairs_of(database, project.id).items()}
    assert sorted(pool.qrels_lines()) == sorted(
        [
            f"ferry 0 {names['ferries']} 11\n",
            f"ferry 0 {names['gulls']} 12\n",
            f"ferry 0 {names['old harbour']} 0\n",
        ]
    )
    assert list(pool.run_lines("south")) == [
        f"ferry Q0 {names['ferries']} 1 0.7 south\n",
        f"ferry Q0 {names['gulls']} 2 0.6 south\n",
    ]
    assert list(pool.run_lines("west")) == [
        f"ferry Q0 {names['gulls']} 1 0.7 west\n",
        f"ferry Q0 {names['old harbour']} 2 0.6999999 west\n",
        f"ferry Q0 {names['ferries']} 3 0.69999987 west\n",
        f"ferry Q0 {names['shipping']} 4 0.0 west\n",
    ]
    [ferry, _] = pool.documents
    assert ferry.gold(Decimal(3)) == ["gulls"]


def test_flagged_and_unfinished_pairs_have_no_gold_grade_until_they_are_decided(database):
    project = sent_project(database, raters_per_pair=2)
    grade(database, project.id, {"ferries": "4", "gulls": "1", "shipping": "3"})
    grade(database, project.id, {"ferries": "1", "gulls": "1.25"}, rater="ben")
    pool = JudgementService(database).pool(project.id)
    counts = pool.counts(Decimal(3))
    assert (counts.graded, counts.undecided, counts.gold, counts.documents_graded) == (1, 1, 0, 1)
    skipping = pool.figures(JudgingOptions(Decimal(1), 1, Unjudged.SKIP))["south"]
    counting = pool.figures(JudgingOptions(Decimal(1), 1))["south"]
    assert (skipping.ndcg.skip_empty, counting.ndcg.skip_empty) == (1, 0)
    assert counting.judged_at_k == 0


@pytest.mark.parametrize("is_random", [True, False])
def test_the_models_scores_can_order_the_queue(database, is_random):
    project = sent_project(database, is_random=is_random)
    own = list(pairs_of(database, project.id))
    service = SendService(database)
    service.choose_order(project.id, QueueOrder.UNCERTAIN)
    doubts = {
        "ferries": uncertainty([0.9, 0.7], 2),
        "old harbour": uncertainty([0.5], 2),
        "shipping": uncertainty([0.3], 2),
        "gulls": uncertainty([0.6], 2),
        "night train": uncertainty([0.8], 2),
    }
    met = list(pairs_of(database, project.id))
    assert [doubts[text] for text in met] == sorted(doubts.values(), reverse=True)
    assert row_problems(database) == []
    service.choose_order(project.id, QueueOrder.PROJECT)
    assert list(pairs_of(database, project.id)) == own
    assert rows_of(database, SentOrder) == 0


def many_documents(first: int, count: int) -> list[PredictedDocument]:
    """Of five phrases each."""
    phrases = {f"phrase {letter}": 0.5 for letter in "abcde"}
    return [
        PredictedDocument(f"d{number}", "", f"Text {number}.", "en", (run("north", phrases),))
        for number in range(first, first + count)
    ]


def graded_by(database, project_id: int, raters: list[str], times: int = 10_000) -> dict[str, list[str]]:
    """Of each rater the documents of the pairs that they got, in turns, until nothing is left or so often."""
    there = {user.name: user.id for user in AccountService(database).users()}
    ids = {}
    for name in raters:
        ids[name] = there.get(name) or AccountService(database).add_user(name).id
        ProjectService(database).add_member(project_id, name, Role.RATER)
    met: dict[str, list[str]] = {name: [] for name in raters}
    assignments = AssignmentService(database)
    ratings = RatingService(database, assignments=assignments)
    left = dict(ids)
    while left and times:
        times -= 1
        for name, rater in list(left.items()):
            pairs = assignments.queue(project_id, rater).pairs
            if not pairs:
                del left[name]
                continue
            met[name].append(pairs[0].left)
            ratings.rate(pairs[0].id, rater, Decimal(1))
    return met


def changes(met: list[str]) -> int:
    return sum(before != after for before, after in pairwise(met))


@pytest.mark.parametrize("is_random", [True, False])
def test_raters_can_get_the_phrases_of_a_document_one_after_the_other(database, is_random):
    project = sent_project(database, is_random=is_random, raters_per_pair=2)
    service = SendService(database)
    service.send(project.id, many_documents(0, 12))
    assert service.usual_order(project.id) is QueueOrder.PROJECT
    service.send(project.id, many_documents(12, 4), order=QueueOrder.DOCUMENT)
    assert service.usual_order(project.id) is QueueOrder.DOCUMENT
    texts = [pair.left for pair in pairs_in_order(database, project.id)]
    assert changes(texts) == 17
    assert (list(dict.fromkeys(texts))[:2] == [documents()[0].text, TRAIN]) is not is_random
    met = graded_by(database, project.id, ["ana", "ben", "eva"])
    assert sum(map(len, met.values())) == 2 * 85
    for name in met:
        assert changes(met[name]) == len(set(met[name])) - 1, name
    assert row_problems(database) == []


def test_what_is_sent_later_leaves_a_document_that_is_begun_together(database):
    project = sent_project(database)
    service = SendService(database)
    service.send(project.id, many_documents(0, 6), order=QueueOrder.DOCUMENT)
    [before] = graded_by(database, project.id, ["ana"], times=7).values()
    service.send(project.id, many_documents(6, 3))
    texts = [pair.left for pair in pairs_in_order(database, project.id) if not pair.rating_count]
    assert changes(texts) <= len(set(texts)) + 1
    assert changes(before) == len(set(before)) - 1


@pytest.mark.parametrize("is_random", [True, False])
def test_what_is_sent_later_leaves_documents_together_for_who_is_ahead_and_for_who_begins(
    database, is_random
):
    settings = ProjectSettings("news", types=(TYPE,), is_random=is_random, raters_per_pair=2)
    project = ProjectService(database).create(settings)
    service = SendService(database)
    service.send(project.id, many_documents(0, 8), order=QueueOrder.DOCUMENT)
    [ahead] = graded_by(database, project.id, ["ana"], times=28).values()
    assert changes(ahead) == 5
    more = PredictedDocument("d0", "", "Text 0.", "en", (run("south", {"phrase f": 0.5}),))
    service.send(project.id, [*many_documents(8, 8), more])
    [whole] = graded_by(database, project.id, ["ben"]).values()
    assert (len(whole), changes(whole)) == (16 * 5 + 1, 15)
    [rest] = graded_by(database, project.id, ["ana"]).values()
    assert len(ahead + rest) == 16 * 5 + 1
    assert changes(ahead + rest) <= 15 + 1  # of a document that was finished there is a phrase more
    assert row_problems(database) == []


@pytest.mark.parametrize("is_random", [True, False])
def test_documents_stay_in_one_piece_among_pairs_of_other_types(database, is_random):
    types = ("sentence2phrase", TYPE)
    project = ProjectService(database).create(ProjectSettings("mixed", types=types, is_random=is_random))
    service = SendService(database)
    sentences = [NewPair(f"s{n}", types[0], f"Sentence {n}.", f"phrase {n}") for n in range(60)]

    def texts() -> list[str]:
        return [pair.left for pair in pairs_in_order(database, project.id)]

    ImportService(database).import_pairs(project.id, sentences[:20])
    service.send(project.id, many_documents(0, 6), order=QueueOrder.DOCUMENT)
    graded_by(database, project.id, ["ana"], times=27)
    ImportService(database).import_pairs(project.id, sentences[20:40])
    more = PredictedDocument("d0", "", "Text 0.", "en", (run("south", {"phrase f": 0.5, "phrase g": 0.5}),))
    service.send(project.id, [*many_documents(6, 2), more])
    ImportService(database).import_pairs(project.id, sentences[40:])
    assert changes(texts()) == 60 + 8 - 1
    if not is_random:
        others = [text for text in texts() if text.startswith("Sentence")]
        assert others == [pair.left for pair in sentences]
        assert texts().index("Text 0.") == 20
    assert row_problems(database) == []
    service.choose_order(project.id, QueueOrder.PROJECT)
    for pair in pairs_in_order(database, project.id):
        own = position_in(project.settings, pair.type, pair.external_id, pair.import_order)
        assert pair.position == own, pair.left
    assert row_problems(database) == []


def test_a_project_that_nothing_was_sent_to_gets_its_pairs_by_document(database):
    project = ProjectService(database).create(ProjectSettings("new", types=(TYPE,)))
    service = SendService(database)
    assert service.usual_order(project.id) is QueueOrder.DOCUMENT
    service.choose_order(project.id, QueueOrder.MIXED)
    assert service.usual_order(project.id) is QueueOrder.MIXED


def test_what_a_rater_was_given_stays_in_its_place(database):
    project = sent_project(database)
    ana = AccountService(database).add_user("ana")
    ProjectService(database).add_member(project.id, "ana", Role.RATER)
    [first, second] = AssignmentService(database).queue(project.id, ana.id).pairs
    service = SendService(database)
    for order in (QueueOrder.UNCERTAIN, QueueOrder.MIXED):
        service.choose_order(project.id, order)
        held = AssignmentService(database).queue(project.id, ana.id).pairs
        assert [pair.id for pair in held] == [first.id, second.id]
    assert row_problems(database) == []


def test_a_new_seed_keeps_the_order_by_uncertainty(database):
    project = sent_project(database)
    SendService(database).choose_order(project.id, QueueOrder.UNCERTAIN)
    before = list(pairs_of(database, project.id))
    settings = ProjectSettings(name="sea", types=(TYPE,), raters_per_pair=1, seed=5)
    ProjectService(database).update(project.id, settings)
    assert set(list(pairs_of(database, project.id))[:1]) <= set(before[:2])  # two are equally uncertain
    assert row_problems(database) == []


def test_a_project_goes_with_all_that_was_sent_to_it(database):
    project = sent_project(database)
    SendService(database).choose_order(project.id, QueueOrder.MIXED)
    ProjectService(database).delete(project.id, project.name)
    for name, table in Base.metadata.tables.items():
        if name.startswith("sent_"):
            assert rows_of(database, table) == 0, name


def test_the_command_line_goes_round(sqlite_database, tmp_path, capsys):
    database = sqlite_database
    ProjectService(database).create(ProjectSettings("sea", types=(TYPE,), raters_per_pair=1))
    url = f"--database-url=sqlite:///{database.path}"
    docs = tmp_path / "docs.jsonl"
    docs.write_text(
        "".join(
            json.dumps({"id": document.id, "title": document.title, "text": document.body}) + "\n"
            for document in documents()
        )
    )
    for model in ("north", "south"):
        rows = [{"id": document.id, "language": "en", **sides(document, model)} for document in documents()]
        (tmp_path / f"{model}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = [f"--predictions={tmp_path / model}.jsonl" for model in ("north", "south")]
    assert main(["send", "sea", f"--documents={docs}", *files, "--order=mixed", url]) == 0
    said = capsys.readouterr()
    assert "Sent 5 pairs of 2 documents to sea, from 2 models: north, south." in said.out
    assert "Open now: 5 of 5 pairs.\nOrder of rating: Mixed: an uncertain pair" in said.out
    assert "are done" not in said.err
    grade(database, 1, GRADES)
    written = {name: tmp_path / name for name in ("gold", "qrels", "runs")}
    options = [f"--{name}={path}" for name, path in written.items()]
    assert main(["bridge", "sea", "--k=2", "--json", *options, url]) == 0
    found = json.loads(capsys.readouterr().out)
    figures = JudgementService(database).pool(1).figures(EXACT)
    assert found["models"]["north"]["nDCG@2"]["skip_empty"] == figures["north"].ndcg.skip_empty
    assert (found["documents"], found["graded"], found["gold"]) == (2, 5, 3)
    assert len(written["qrels"].read_text().splitlines()) == 5
    assert sorted(path.name for path in written["runs"].iterdir()) == ["1-north.run", "2-south.run"]
    assert main(["bridge", "sea", url]) == 0
    assert "nDCG@10" in capsys.readouterr().out
    assert main(["send", "sea", f"--documents={docs}", f"--predictions={docs}", url]) == 1
    assert "has neither 'present' and 'absent' nor 'keyphrases'" in capsys.readouterr().err
    assert main(["bridge", "sea", "--k=0", url]) == 2
    assert main(["bridge", "sea", "--threshold=5", url]) == 2
    assert "is 0.25 to 4, not 5" in capsys.readouterr().err


def test_the_files_of_bridge_are_written_all_or_none(sqlite_database, tmp_path, capsys, monkeypatch):
    sent_project(sqlite_database)
    grade(sqlite_database, 1, GRADES)
    file = sqlite_database.path

    def bridge(**places: object) -> tuple[int, str]:
        options = [f"--{name}={place}" for name, place in places.items()]
        status = main(["bridge", "sea", *options, f"--database-url=sqlite:///{file}"])
        return status, capsys.readouterr().err

    out = tmp_path / "out"
    out.mkdir()
    gold, qrels = out / "gold", out / "qrels"
    gold.write_text("older")
    (out / "link").symlink_to(file)
    kept = file.read_bytes()
    for places, said in (
        ({"gold": gold, "qrels": out / "link"}, "is the database's own file: give another name."),
        ({"gold": gold, "qrels": f"{file}-wal"}, "is the database's own file: give another name."),
        ({"gold": gold, "qrels": out / "none" / ".." / "gold"}, "is given for two outputs"),
        ({"gold": gold, "qrels": "-"}, "- is standard output"),
        ({"gold": gold, "qrels": out, "runs": out / "a" / "b"}, "a folder, not a file"),
        ({"gold": gold, "qrels": out / "none" / "qrels", "runs": out / "a"}, "No such file or directory"),
    ):
        status, errors = bridge(**places)
        assert (status, errors.count("\n")) == (2, 1)
        assert said in errors
        assert {path.name for path in out.iterdir()} == {"gold", "link"}
    assert gold.read_text() == "older"
    assert file.read_bytes() == kept

    def full(*_: object) -> Iterator[str]:
        yield "a line"
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(JudgedPool, "run_lines", full)
        status, errors = bridge(gold=gold, qrels=qrels, runs=out / "runs")
        assert status == 1
        assert "1-north.run cannot be written (No space left on device): nothing was changed" in errors
    status, errors = bridge(gold=gold, qrels="/dev/full")  # a device has no file to be put in place of
    assert (status, errors.count("\n")) == (1, 1)
    assert gold.read_text() == "older"
    assert {path.name for path in out.iterdir()} == {"gold", "link"}


def test_the_command_reads_pipes(sqlite_database, tmp_path, capsys):
    ProjectService(sqlite_database).create(ProjectSettings("sea", types=(TYPE,)))
    lines = {
        "docs": {"id": "a", "text": "Gulls at noon."},
        "found": {"id": "a", "model": "north", "present": [{"text": "gulls", "score": 0.2}], "absent": []},
    }
    options = []
    for option, (name, line) in zip(("documents", "predictions"), lines.items(), strict=True):
        pipe = tmp_path / name
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_text, args=(json.dumps(line),), daemon=True).start()
        options.append(f"--{option}={pipe}")
    assert main(["send", "sea", *options, f"--database-url=sqlite:///{sqlite_database.path}"]) == 0
    assert "Sent 1 pair of 1 document to sea, from 1 model: north." in capsys.readouterr().out


def test_a_model_may_be_named_after_a_file_whose_name_is_not_utf8(sqlite_database, tmp_path, capsys):
    ProjectService(sqlite_database).create(ProjectSettings("sea", types=(TYPE,)))
    documents, found = tmp_path / "docs.jsonl", tmp_path / "no\udcffrth.jsonl"
    documents.write_text(json.dumps({"id": "a", "text": "Gulls at noon."}))
    found.write_text(json.dumps({"id": "a", "present": [{"text": "gulls", "score": 0.2}], "absent": []}))
    options = (f"--documents={documents}", f"--predictions={found}")
    assert main(["send", "sea", *options, f"--database-url=sqlite:///{sqlite_database.path}"]) == 0
    assert "from 1 model: no\N{REPLACEMENT CHARACTER}rth." in capsys.readouterr().out


def test_the_command_tells_that_a_project_whose_raters_are_done_opens_again(
    sqlite_database, tmp_path, capsys
):
    sent_project(sqlite_database)
    grade(sqlite_database, 1, GRADES)
    [first, _] = documents()
    docs, west = tmp_path / "docs.jsonl", tmp_path / "west.jsonl"
    docs.write_text(json.dumps({"id": first.id, "title": first.title, "text": first.body}) + "\n")
    arguments = ["send", "sea", f"--documents={docs}", f"--predictions={west}", "--json"]
    for phrase, told in (("gulls", False), ("noon", True)):
        found = {"id": first.id, "language": "en", "present": [{"text": phrase, "score": 0.2}], "absent": []}
        west.write_text(json.dumps(found) + "\n")
        assert main([*arguments, f"--database-url=sqlite:///{sqlite_database.path}"]) == 0
        said = capsys.readouterr()
        warning = (
            "The raters of sea are done: 5 pairs, all graded. Sending opens the project again, "
            "with 1 pair to grade.\n"
        )
        assert said.err == (warning if told else "")
        assert json.loads(said.out).items() >= {"open": int(told), "order": "project"}.items()


def test_the_command_tells_that_a_project_of_other_pairs_gets_those_of_keyphrases(
    sqlite_database, tmp_path, capsys
):
    ProjectService(sqlite_database).create(ProjectSettings("sea", types=("phrase2word",)))
    docs = tmp_path / "docs.jsonl"
    found = {"id": "a", "text": "Gulls at noon.", "present": [{"text": "gulls", "score": 0.2}], "absent": []}
    docs.write_text(json.dumps(found) + "\n")
    arguments = ["send", "sea", f"--documents={docs}", f"--predictions=west={docs}"]
    for told in (True, False):
        assert main([*arguments, f"--database-url=sqlite:///{sqlite_database.path}"]) == 0
        assert JudgementService(sqlite_database).pool(1).order is QueueOrder.DOCUMENT
        note = "sea compares other pairs so far. Sending adds the comparison type document2keyphrase to it.\n"
        assert capsys.readouterr().err == (note if told else "")


def sides(document: PredictedDocument, model: str) -> dict[str, list[dict[str, object]]]:
    [found] = [run for run in document.runs if run.model == model]
    return {
        name: [
            {"text": phrase.text, "score": phrase.score}
            for phrase in found.phrases
            if phrase.is_present is side
        ]
        for name, side in (("present", True), ("absent", False))
    }


def test_phrases_that_the_keyphrase_pages_take_for_one_are_one_pair_from_files_too(
    sqlite_database, tmp_path, capsys
):
    ProjectService(sqlite_database).create(ProjectSettings("mer", types=(TYPE,)))
    url = f"--database-url=sqlite:///{sqlite_database.path}"
    docs, found = tmp_path / "docs.jsonl", tmp_path / "north.jsonl"
    row = {"id": "1", "language": "fr"}
    docs.write_text(json.dumps({**row, "text": "Les systèmes d\u2019exploitation en mer."}) + "\n")
    phrases = [{"text": f"système d{sign}exploitation", "score": 0.5} for sign in "\u2019'"]
    found.write_text(json.dumps({**row, "present": phrases, "absent": []}) + "\n")
    arguments = ["send", "mer", f"--documents={docs}", f"--predictions={found}", url]
    assert main(arguments) == 0
    assert "Sent 1 pair of 1 document to mer" in capsys.readouterr().out
    with sqlite_database.reading() as session:
        assert session.scalars(select(SentPhrase.key)).all() == [
            kpdemo.text.phrase_key(phrases[0]["text"], "fr")
        ]
