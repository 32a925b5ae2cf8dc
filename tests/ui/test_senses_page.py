"""The sense chooser's handlers: who may come in, what is refused, and what is made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal

import gradio as gr
import pytest
from sqlalchemy import select

from annotation.authoring import NewItem
from annotation.senses import (
    MOST_DRAWN,
    RADII,
    Node,
    Relation,
    SenseStep,
    WordFlag,
    layout_nodes,
    nodes_with_names,
)
from annotation.services.bundle import Services, open_services
from annotation.types import KnownPair, NewPair, ProjectSettings, Role
from annotation.ui.pages import HeaderHandlers
from annotation.ui.senses import SensesHandlers
from db.models import Pair, TrainingPair, WritingChange
from tests import tiny_wordnet as tiny

EVIL = '<img src=x onerror="alert(1)">'
FILLED = {"word": "mouse", "meaning": tiny.POINTER.key, "key": tiny.KEYBOARD.key, "grade": "3"}
OWN = {"word": EVIL, "part": "v", "own": True, "definition": EVIL, "meaning": tiny.STALK.key}


@dataclass
class Asked:
    """A request for the page of a project."""

    username: str
    project: int = 1
    cookies: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def query_params(self) -> dict[str, str]:
        return {"project": str(self.project)}


def asked(data: object) -> gr.EventData:
    return gr.EventData(None, data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.write_wordnet(tmp_path_factory.mktemp("wordnet") / "dict", tiny.NETWORK)


@pytest.fixture
def services(sqlite_database, folder) -> Services:
    services = open_services(sqlite_database, folder)
    services.accounts.add_user("root", is_administrator=True)
    services.accounts.add_user("Ana")
    for name, types in (("Senses", ("word2sense",)), ("Phrases", ("sentence2phrase",))):
        project = services.projects.create(ProjectSettings(name, types=types))
        services.projects.add_member(project.id, "Ana", Role.RATER)
    return services


@pytest.fixture
def handlers(services) -> SensesHandlers:
    return handlers_of(services)


def handlers_of(services: Services) -> SensesHandlers:
    own = (services.accounts, services.projects, services.senses, services.dictionary, services.writing)
    return SensesHandlers(*own)


def said(answer: dict[str, str]) -> str:
    return answer["said"]


def pairs(services: Services) -> int:
    return services.projects.counts(1).pairs


@pytest.mark.parametrize("name", ["look_up", "closest", "around", "show", "make", "describe"])
def test_raters_are_refused_by_every_handler(handlers, services, name):
    answer = getattr(handlers, name)(asked(FILLED), Asked("Ana"))
    assert 'data-kind="problem"' in said(answer)
    assert "ask its administrator" in said(answer) or "administrator" in said(answer)
    assert pairs(services) == 0
    assert "administrator" in handlers.open(Asked("Ana"))["task"]


def test_only_projects_with_words_and_senses_have_the_page(handlers, services):
    assert "has no type word to sense" in handlers.open(Asked("root", 2))["task"]
    header = HeaderHandlers(services.overview, "rate")
    assert "Word senses" in header.show(Asked("root"))
    assert "Word senses" not in header.show(Asked("root", 2))
    assert "Word senses" not in header.show(Asked("Ana"))


def test_only_projects_with_documents_and_keyphrases_link_to_predictions(services):
    header = HeaderHandlers(services.overview, "project")
    assert "Predictions" not in header.show(Asked("root"))
    project = services.projects.get(1)
    types = (*project.settings.types, "document2keyphrase")
    services.projects.update(1, replace(project.settings, types=types))
    assert "Predictions" in header.show(Asked("root"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"word": " "}, "No word is given"),
        ({"word": "W" * 101}, "The word has 101 characters"),
        ({"meaning": ""}, "No meaning of the word is chosen"),
        ({"meaning": tiny.KEY.key}, "“mouse” has no such sense"),
        ({"meaning": "x%1:02"}, "WordNet has no sense"),
        ({"key": ""}, "No sense to compare with is chosen"),
        ({"key": tiny.LETTERING.key}, "That sense is not near the word&#x27;s meaning"),
        ({"grade": "seven"}, "No grade is chosen"),
        ({"grade": "9"}, "A grade is 0 to 4"),
        ({"own": True, "definition": " \n"}, "The word&#x27;s meaning is missing"),
        ({"own": True, "definition": "d" * 1001}, "The meaning has 1,001 characters"),
        ({"own": True, "definition": "d", "meaning": ""}, "No closest sense is chosen"),
        ({"own": True, "definition": "d"}, "The part of speech is not known"),
        ({"word": ["a"], "own": {}}, "No word is given"),
    ],
)
def test_what_makes_no_pair_is_said_in_a_sentence(handlers, services, change, problem):
    answer = handlers.make(asked({**FILLED, **change}), Asked("root"))
    assert problem in said(answer)
    assert pairs(services) == 0


def test_a_pair_is_made_once_with_its_meanings(handlers, services):
    assert "Made pair w2s-1: mouse#n and keyboard%1:06:00::." in said(
        handlers.make(asked(FILLED), Asked("root"))
    )
    assert "already exists" in said(handlers.make(asked(FILLED), Asked("root")))
    [pair] = services.assignment.queue(1, services.accounts.user("Ana").id).pairs
    assert pair.senses is not None
    assert (pair.senses.word_key, pair.senses.word_definition) == (tiny.POINTER.key, tiny.POINTER.gloss)
    assert pair.senses.sense is not None
    assert pair.senses.sense.definition == tiny.KEYBOARD.gloss


@pytest.mark.parametrize(("word", "flag"), [("mouse", WordFlag.OOS), (EVIL, WordFlag.OOV)])
def test_a_meaning_of_the_writers_own_is_flagged(handlers, services, word, flag):
    handlers.make(asked({**FILLED, **OWN, "word": word, "key": tiny.RODENT.key}), Asked("root"))
    [pair] = services.assignment.queue(1, services.accounts.user("Ana").id).pairs
    assert pair.senses is not None
    assert (pair.senses.flag, pair.senses.word_definition) == (flag, EVIL)


@pytest.mark.parametrize("name", ["look_up", "closest", "around", "show", "make", "describe"])
@pytest.mark.parametrize("data", [None, [], {"word": EVIL, "closest": EVIL, "filter": EVIL, "key": EVIL}])
def test_whatever_is_sent_is_answered_and_escaped(handlers, name, data):
    answer = getattr(handlers, name)(asked(data), Asked("root"))
    assert EVIL not in "".join(answer.values())


def test_pairs_imported_without_wordnet_are_described_later(handlers, services):
    items = [
        NewPair("1", "word2sense", "mouse#n", tiny.KEYBOARD.key),
        NewPair("2", "word2sense", "mouse#n", "gone%1:06:00::"),
        NewPair("3", "word2sense", "mouse#n", "100 % of a device"),
    ]
    services.importing.import_pairs(1, items)
    assert "3 pairs have a sense key" not in handlers.open(Asked("root"))["task"]
    assert "2 pairs have a sense key" in handlers.open(Asked("root"))["task"]
    answer = handlers.describe(asked({}), Asked("root"))
    assert "1 pair has definitions now. WordNet does not have the senses of 1." in said(answer)
    assert services.senses.count_undescribed(1) == 1


def test_check_and_training_pairs_are_described_with_the_others(handlers, services):
    def kind(id: str, key: str) -> NewPair:
        return NewPair(id, "word2sense", "mouse#n", key)

    services.importing.import_pairs(1, [kind("1", tiny.KEYBOARD.key)])
    services.known_pairs.import_checks(1, [KnownPair(kind("c", tiny.POINTER.key), Decimal(4))])
    services.known_pairs.import_training(1, [KnownPair(kind("old", tiny.DEVICE.key), Decimal(4))])
    services.known_pairs.retire_training(1)
    services.known_pairs.import_training(1, [KnownPair(kind("t", tiny.STALK.key), Decimal(0))])
    assert "3 pairs have a sense key" in handlers.open(Asked("root"))["task"]
    assert "3 pairs have definitions now." in said(handlers.describe(asked({}), Asked("root")))
    with services.database.reading() as session:
        left = [*session.scalars(select(Pair.external_id).where(Pair.senses.is_(None)))]
        left += session.scalars(select(TrainingPair.external_id).where(TrainingPair.senses.is_(None)))
    assert left == ["old"]


def test_without_wordnet_the_page_says_how_to_get_it(services, tmp_path):
    bare = open_services(services.database, tmp_path / "nothing")
    handlers = handlers_of(bare)
    assert "apt install wordnet-base" in handlers.open(Asked("root"))["task"]
    assert "apt install wordnet-base" in said(handlers.make(asked(FILLED), Asked("root")))


def test_a_graph_draws_each_ring_up_to_its_limit():
    rings = [SenseStep(f"a{n}", 1, Relation.MORE_SPECIFIC, "m") for n in range(40)]
    outer = [SenseStep(f"b{n}", 2, Relation.MORE_SPECIFIC, f"a{n}") for n in range(40)]
    nodes = layout_nodes([SenseStep("m", 0), *rings, *outer])
    assert len(nodes) == 1 + MOST_DRAWN[1] + MOST_DRAWN[1]
    assert len({(round(node.x), round(node.y)) for node in nodes}) == len(nodes)
    assert all(abs((node.x**2 + node.y**2) ** 0.5 - RADII[node.step.distance]) < 1e-6 for node in nodes)


def test_a_middle_alone_is_drawn():
    [node] = layout_nodes([SenseStep("m", 0)])
    assert (node.x, node.y, node.before) == (0, 0, None)


def test_skipped_parts_stay(handlers):
    answer = handlers.look_up(asked({"word": "mouse"}), Asked("root"))
    assert "task" not in answer
    assert answer["meanings"].count('type="radio"') == 4


def test_no_dot_of_a_graph_lies_on_a_name():
    def node(name, distance, x, y):
        return Node(SenseStep(name, distance), x, y, None)

    middle, near = node("middle", 0, 0, 0), node("near", 1, -130, 0)
    beside, above = node("beside", 2, -225, 3), node("above", 2, -220, -40)
    names = {middle: "bank", near: "thrift institution", beside: "savings bank", above: "bank"}
    assert nodes_with_names(names) == {middle, beside, above}
    assert nodes_with_names({**names, near: "thrift"}) == {middle, near, above}


def test_a_word_is_left_to_somebody_else_with_the_reason(handlers, services):
    services.projects.add_member(1, "Ana", Role.WRITER)
    services.items.import_items(1, [NewItem("1", "word2sense", "mouse#n")])
    ana = services.accounts.user("Ana").id
    task = services.writing.desk(1, ana).task
    assert task is not None
    left = handlers.leave(asked({"writing": str(task.id), "note": "Which mouse?"}), Asked("Ana"))
    assert "Given to another writer." in said(left)
    with services.database.session() as session:
        assert "Which mouse?" in session.scalars(select(WritingChange.note)).all()
