"""Words and senses from a file to raters, adjudicators and the gold set, on both databases."""

from __future__ import annotations

import html
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import event

from annotation.authoring import NewItem
from annotation.errors import TextError
from annotation.gold import ExportOptions, Format
from annotation.sense_pairs import SenseChoice, SenseError, add_senses, describe_sense
from annotation.senses import PairSenses, WordFlag
from annotation.services import writing
from annotation.services.audit import record
from annotation.services.bundle import Services, open_services
from annotation.services.gold import protocol_history
from annotation.services.project_rows import find_project
from annotation.types import NewPair, ProjectSettings, Role, User, utcnow
from annotation.ui.writing import text_html
from annotation.wordnet import WordNet
from db.models import Writing
from kpdemo.io.tables import open_source
from tests import tiny_wordnet as tiny
from tests.reading import read_items

TYPE = "word2sense"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.write_wordnet(tmp_path_factory.mktemp("wordnet") / "dict", tiny.NETWORK)


@pytest.fixture
def services(database, folder) -> Services:
    return open_services(database, folder)


def person(services: Services, name: str, project: int, role: Role) -> User:
    services.accounts.add_user(name)
    services.projects.add_member(project, name, role)
    return services.accounts.user(name)


@pytest.fixture(scope="module")
def flagged(folder) -> PairSenses:
    senses = describe_sense(
        tiny.POINTER.key,
        WordNet(folder),
        flag=WordFlag.OOV,
        word_key=tiny.KEYBOARD.key,
        word_definition="<b>to point</b> at 滑鼠 \U0001f5b1",
    )
    assert senses is not None
    return senses


def test_meanings_reach_raters_and_adjudicators(services, flagged):
    pairs = [
        NewPair("w-1", TYPE, "mousify#v", tiny.POINTER.key, source="mouse#n#1", senses=flagged),
        NewPair("w-2", TYPE, "key#n", "what opens a door"),
    ]
    first = services.projects.create(ProjectSettings("first", types=(TYPE,), is_random=False))
    services.importing.import_pairs(first.id, pairs)
    for name, grades in (("Ana", ("3", "1")), ("Ben", ("1", "1"))):
        rater = person(services, name, first.id, Role.RATER)
        queue = services.assignment.queue(first.id, rater.id)
        assert [(pair.right, pair.senses) for pair in queue.pairs] == [
            (tiny.POINTER.key, flagged),
            ("what opens a door", None),
        ]
        for pair, grade in zip(queue.pairs, grades, strict=True):
            services.ratings.rate(pair.id, rater.id, Decimal(grade), 1.0)
        recent = services.ratings.recent(first.id, rater.id)
        assert {pair.senses for pair in recent} == {flagged, None}
    pair_id = services.adjudication.first(first.id)
    assert pair_id is not None
    assert services.adjudication.item(first.id, pair_id).senses == flagged


@pytest.mark.parametrize("format", [Format.JSONL, Format.CSV])
def test_an_exported_gold_set_brings_its_meanings_along(services, flagged, tmp_path, format):
    ratings = (("Ana", Decimal(3)), ("Ben", Decimal(3)))
    pair = NewPair("w-1", TYPE, "mousify#v", tiny.POINTER.key, senses=flagged, ratings=ratings)
    first = services.projects.create(ProjectSettings("first", types=(TYPE,)))
    services.importing.import_pairs(first.id, [pair])
    services.gold.export(first.id, tmp_path / "gold", ExportOptions(format))
    again = services.projects.create(ProjectSettings("again", types=(TYPE,)))
    with open_source(tmp_path / "gold" / f"gold.{format}") as source:
        services.importing.import_pairs(again.id, add_senses(read_items(source), lambda: None))
    services.gold.export(again.id, tmp_path / "gold again", ExportOptions(format))
    one, two = ((tmp_path / name / f"gold.{format}").read_bytes() for name in ("gold", "gold again"))
    assert one == two


def test_a_gold_set_says_that_senses_got_their_definitions_after_grades(services, tmp_path):
    project = services.projects.create(
        ProjectSettings("bare", types=(TYPE,), raters_per_pair=1, threshold=None)
    )
    services.importing.import_pairs(
        project.id,
        [
            NewPair("1", TYPE, "mouse#n", tiny.POINTER.key, ratings=(("Ana", Decimal(3)),)),
            NewPair("2", TYPE, "mouse#n", "a pointing device", ratings=(("Ana", Decimal(4)),)),
            NewPair("3", TYPE, "key#n", tiny.KEYBOARD.key),
        ],
    )
    assert services.senses.describe(project.id) == (2, 0)
    ana = services.accounts.user("Ana")
    [last] = services.assignment.queue(project.id, ana.id).pairs
    services.ratings.rate(last.id, ana.id, Decimal(1), 1.0)
    manifest = services.gold.export(project.id, tmp_path / "gold", ExportOptions()).manifest
    [change] = manifest["protocol_changes"]
    assert (change["setting"], change["ratings_before"]) == ("definitions", 1)
    assert "| `definitions` | sense keys alone | definitions of the senses | 1 |" in (
        tmp_path / "gold" / "README.md"
    ).read_text("utf-8")


@pytest.mark.parametrize("graded", [0, 1])
def test_what_an_earlier_version_did_not_record_of_definitions_counts_all_senses(services, flagged, graded):
    project = services.projects.create(ProjectSettings("old", types=(TYPE,), raters_per_pair=1))
    ratings = (("Ana", Decimal(3)),) if graded else ()
    pair = NewPair("1", TYPE, "mouse#n", tiny.POINTER.key, ratings=ratings, senses=flagged)
    services.importing.import_pairs(project.id, [pair])
    with services.database.session() as session:
        record(session, utcnow(), "senses described", project_id=project.id, pairs=1)
        told = protocol_history(session, find_project(session, project.id))
    assert [change["ratings_before"] for change in told.get("protocol_changes", ())] == [1] * graded


def test_a_sense_of_which_a_file_has_the_word_alone_is_described(services):
    known = PairSenses(WordFlag.OOV, word_definition="to point")
    project = services.projects.create(ProjectSettings("half", types=(TYPE,)))
    summary = services.importing.import_pairs(
        project.id, [NewPair("1", TYPE, "mousify#v", tiny.POINTER.key, senses=known)]
    )
    assert summary.undescribed == 1
    assert services.senses.describe(project.id) == (1, 0)
    ana = person(services, "Ana", project.id, Role.RATER)
    [pair] = services.assignment.queue(project.id, ana.id).pairs
    assert (pair.senses.flag, pair.senses.word_definition) == (WordFlag.OOV, "to point")
    assert pair.senses.sense.definition == tiny.POINTER.gloss


def test_who_chose_a_sense_and_its_grade_never_rates_the_pair(services):
    made = services.projects.create(ProjectSettings("own", types=(TYPE,), raters_per_pair=1))
    chooser = person(services, "Mia", made.id, Role.ADMINISTRATOR)
    services.projects.add_member(made.id, "Mia", Role.RATER)
    rater = person(services, "Ana", made.id, Role.RATER)
    choice = SenseChoice("mouse#n", meaning=tiny.POINTER.key, key=tiny.KEYBOARD.key)
    pair = services.senses.add_pair(made.id, choice, Decimal(3), by=chooser)
    assert services.assignment.queue(made.id, chooser.id).pairs == ()
    [seen] = services.assignment.queue(made.id, rater.id).pairs
    assert seen.right == pair.right
    with pytest.raises(SenseError, match="already exists"):
        services.senses.add_pair(made.id, choice, Decimal(3), by=chooser)


def written_of(services, writing_id: int) -> tuple[str, str | None, float | None]:
    with services.writing._database.reading() as session:
        row = session.get_one(Writing, writing_id)
        return row.state, (row.senses or {}).get("key"), row.seconds


def test_a_choice_that_cannot_be_submitted_leaves_the_earlier_one(services, monkeypatch):
    made = services.projects.create(ProjectSettings("kept", types=(TYPE,)))
    services.items.import_items(made.id, [NewItem("1", TYPE, "mouse#n")])
    services.items.change_plan(made.id, has_zeros=False)
    writer = person(services, "Wim", made.id, Role.WRITER).id
    task = services.writing.desk(made.id, writer).task
    monkeypatch.setattr(writing, "text_problem", lambda *_: "The text is refused.")
    with pytest.raises(TextError):
        services.senses.submit(
            task.id, writer, SenseChoice("", meaning=tiny.POINTER.key, key=tiny.KEYBOARD.key)
        )
    assert written_of(services, task.id) == ("held", None, None)


def test_what_a_writer_chose_goes_to_the_raters_with_its_meanings(services):
    made = services.projects.create(ProjectSettings("written", types=(TYPE,), is_random=False))
    services.items.import_items(made.id, [NewItem("1", TYPE, "mouse#n"), NewItem("2", TYPE, "zombify#v")])
    services.items.change_plan(made.id, has_zeros=False)
    roles = {"Wim": Role.WRITER, "Ed": Role.EDITOR, "Ana": Role.RATER}
    people = {name: person(services, name, made.id, role) for name, role in roles.items()}
    writer, editor = people["Wim"].id, people["Ed"].id
    chosen = {
        "mouse#n": SenseChoice("", meaning=tiny.POINTER.key, key=tiny.KEYBOARD.key),
        "zombify#v": SenseChoice(
            "", meaning=tiny.STALK.key, key=tiny.RODENT.key, is_own=True, definition="to make a zombie of"
        ),
    }
    for _ in chosen:
        task = services.writing.desk(made.id, writer).task
        assert task is not None
        with pytest.raises(SenseError, match="is not near the word's meaning"):
            services.senses.submit(task.id, writer, replace(chosen[task.left], key=tiny.SLOW.key))
        assert written_of(services, task.id) == ("held", None, None)  # a refusal leaves nothing behind
        services.writing.keep(task.id, writer, "", task.version, 2.5)
        services.senses.submit(task.id, writer, chosen[task.left], 4.0)
        assert written_of(services, task.id) == ("submitted", chosen[task.left].key, 6.5)
    for text in services.editing.queue(made.id, editor):
        services.editing.accept(made.id, text.id, editor, version=text.version)
    queue = services.assignment.queue(made.id, people["Ana"].id)
    seen = {pair.left: pair for pair in queue.pairs}
    assert {left: pair.right for left, pair in seen.items()} == {
        left: choice.key for left, choice in chosen.items()
    }
    mouse, zombify = (seen[left].senses for left in chosen)
    assert mouse is not None
    assert zombify is not None
    assert (mouse.flag, mouse.word_definition) == (None, tiny.POINTER.gloss)
    assert (zombify.flag, zombify.word_definition) == (WordFlag.OOV, "to make a zombie of")


def test_the_senses_of_all_texts_that_wait_are_looked_up_at_once(services, database, flagged):
    made = services.projects.create(ProjectSettings("typed", types=(TYPE,)))
    services.importing.import_pairs(
        made.id, [NewPair(f"w-{n}", TYPE, f"mousify{n}#v", tiny.POINTER.key, senses=flagged) for n in (1, 2)]
    )
    services.items.import_items(made.id, [NewItem(str(n), TYPE, f"mouse{n}#n") for n in range(4)])
    services.items.change_plan(made.id, has_zeros=False)
    writer, editor = (person(services, role.value, made.id, role).id for role in (Role.WRITER, Role.EDITOR))
    for text in (tiny.POINTER.key, tiny.KEYBOARD.key, "what moves a pointer", tiny.POINTER.key):
        task = services.writing.desk(made.id, writer).task
        services.writing.submit(task.id, writer, text, task.version)
    said: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *arguments: said.append(arguments[2]))
    first, *others, last = services.editing.queue(made.id, editor)
    assert len([statement for statement in said if "FROM pairs" in statement]) == 1
    assert (first.senses, last.senses) == (
        replace(flagged, flag=None, word_key=None, word_definition=""),
    ) * 2
    assert [text.senses for text in others] == [None, None]


def test_an_editors_own_sense_has_no_meanings_of_the_writers(services):
    made = services.projects.create(ProjectSettings("edited", types=(TYPE,)))
    services.items.import_items(made.id, [NewItem("1", TYPE, "mouse#n")])
    services.items.change_plan(made.id, has_zeros=False)
    writer, editor, rater = (
        person(services, role.value, made.id, role).id for role in (Role.WRITER, Role.EDITOR, Role.RATER)
    )
    task = services.writing.desk(made.id, writer).task
    assert task is not None
    services.senses.submit(task.id, writer, SenseChoice("", meaning=tiny.POINTER.key, key=tiny.KEYBOARD.key))
    [text] = services.editing.queue(made.id, editor)
    assert text.senses is not None
    assert (text.senses.word_definition, text.senses.sense.words) == (tiny.POINTER.gloss, "keyboard (noun)")
    services.editing.accept(made.id, text.id, editor, version=text.version, text=tiny.DEVICE.key)
    [pair] = services.assignment.queue(made.id, rater).pairs
    assert pair.right == tiny.DEVICE.key
    assert (pair.senses.word_definition, pair.senses.sense.words) == ("", "device (noun)")


@pytest.mark.parametrize(
    ("text", "has_wordnet", "told"),
    [
        (tiny.KEYBOARD.key, True, "keyboard (noun)"),
        (tiny.KEYBOARD.key, False, "without its meaning, as there is no WordNet on this server"),
        ("mouse%1:99:99::", True, "WordNet has no sense with the key “mouse%1:99:99::”"),
        ("mouse#n#1", True, "WordNet has no sense with the key “mouse#n#1”"),
        ("what moves a <b>pointer</b>", False, ""),
    ],
)
def test_an_editor_sees_the_meaning_of_a_typed_key_or_why_there_is_none(
    services, database, tmp_path, text, has_wordnet, told
):
    here = services if has_wordnet else open_services(database, tmp_path)
    made = here.projects.create(ProjectSettings("typed", types=(TYPE,)))
    here.items.import_items(made.id, [NewItem("1", TYPE, "mouse#n")])
    here.items.change_plan(made.id, has_zeros=False)
    writer, editor, rater = (
        person(here, role.value, made.id, role).id for role in (Role.WRITER, Role.EDITOR, Role.RATER)
    )
    task = here.writing.desk(made.id, writer).task
    here.writing.submit(task.id, writer, text, task.version)
    seen = here.editing.text(made.id, task.id, editor)
    assert told in (seen.senses.sense.words if seen.senses else seen.no_meaning)
    assert bool(seen.no_meaning) == (bool(told) and seen.senses is None)
    assert html.escape(told) in text_html(seen)
    here.editing.accept(made.id, task.id, editor, version=seen.version)
    [pair] = here.assignment.queue(made.id, rater).pairs
    assert pair.senses == seen.senses
