"""All pairs of a project, as administrators look through them: on the page and by the command."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal

import gradio as gr
import pytest

from annotation.senses import WORD_TO_SENSE, PairSenses, SenseText
from annotation.services.accounts import AccountService
from annotation.services.adjudication import AdjudicationService
from annotation.services.imports import ImportService
from annotation.services.pairs import PAGE_LENGTH, PairService, PairState
from annotation.services.projects import ProjectService
from annotation.services.ratings import RemarkService
from annotation.types import Cause, NewPair
from annotation.ui.pairs import PairChangeHandlers, PairListHandlers, pairs_html, remarks_html, remarks_table
from db import Database
from db.models import Comment
from tests.commands import main
from tests.rated import Rated, pair, rated_project

EVIL = '<img src=x onerror="alert(1)"> 100% of_it'


@dataclass
class Asked:
    """The part of a request of Gradio's that handlers look at."""

    username: str | None = "root"
    query_params: dict[str, str] = field(default_factory=lambda: {"project": "1"})


@pytest.fixture
def rated(database) -> Rated:
    return a_project(database)


def a_project(database: Database) -> Rated:
    """A pair in each state."""
    rated = rated_project(
        database, [pair("a", "1"), pair("b", "1", "1"), pair("c", "0", "4"), pair("d", "0", "3"), pair("e")]
    )
    service = AdjudicationService(database, clock=rated.clock)
    service.decide(rated.id, rated.pair_id("d"), rated.adjudicator.id, Decimal(2), Cause.SCALE)
    return rated


def handlers_of(database: Database) -> PairListHandlers:
    accounts, pairs = AccountService(database), PairService(database)
    return PairListHandlers(accounts, pairs, PairChangeHandlers(accounts, ProjectService(database), pairs))


def states(rated: Rated, **asked: object) -> list[tuple[str, int, str]]:
    page = PairService(rated.database).pairs(rated.id, **asked)
    assert page.total == len(page.items)
    return [(line.external_id, line.grades, line.state.value) for line in page.items]


def test_a_search_knows_the_small_letters_of_all_scripts(database):
    project = rated_project(database, [])
    texts = {"a": "Élan vital", "b": "STRAßE", "c": "Добрый ДЕНЬ", "d": "Plan 100%"}
    ImportService(database).import_pairs(
        project.id, [NewPair(id, "sentence2phrase", text, "x") for id, text in texts.items()]
    )
    listing = PairService(database)
    for search, found in {"élan": "a", "ÉLAN": "a", "straß": "b", "день": "c", "100%": "d", "É": "a"}.items():
        assert [line.external_id for line in listing.pairs(project.id, search=search).items] == [found]


@pytest.mark.parametrize(
    "text", ["ΟΔΟΣΑ", "οδος", "Straße", "STRASSE", "İstanbul", "ısı", "ﬁne", "a/b_c\\d%"]
)
def test_every_part_of_a_text_finds_it_as_it_stands(database, text):
    project = rated_project(database, [])
    ImportService(database).import_pairs(project.id, [NewPair("a", "sentence2phrase", text, "x")])
    listing = PairService(database)
    parts = {text[first:last] for last in range(1, len(text) + 1) for first in range(last)}
    assert all(listing.pairs(project.id, search=part).total == 1 for part in parts)


def test_ids_and_texts_may_have_tabs_and_several_lines(database):
    document = pair("a\tb", type="document2keyphrase", left="Title\n\nBody of the text")
    rated = rated_project(database, [document, pair("c")], types=("document2keyphrase", "sentence2phrase"))
    for search in ("Title\n\nBody", "a\tb"):
        assert [line[0] for line in states(rated, search=search)] == ["a\tb"]
    assert PairService(database).withdraw(rated.id, ["a\tb"]) == 1
    assert PairService(database).remove(rated.id, ["a\tb"]) == 1


def test_where_a_search_folds_letters_it_does_so_whatever_stands_beside_them(sqlite_database):
    project = rated_project(sqlite_database, [])
    texts = {"a": "ΟΔΟΣΑ", "b": "Straße"}
    ImportService(sqlite_database).import_pairs(
        project.id, [NewPair(id, "sentence2phrase", text, "x") for id, text in texts.items()]
    )
    listing = PairService(sqlite_database)
    for search, found in {"οδος": "a", "οδοσα": "a", "STRASSE": "b"}.items():
        assert [line.external_id for line in listing.pairs(project.id, search=search).items] == [found]


SENSE = PairSenses(
    word_definition="a small animal",
    sense=SenseText("rodent, gnawer", "a gnawing mammal"),
)
KEY = "rodent%1:05:00::"


def test_a_sense_is_found_by_its_words_meaning_and_key(database):
    words = NewPair("m", WORD_TO_SENSE, "mouse#n", KEY, senses=SENSE)
    project = rated_project(database, [words, pair("p")], types=(WORD_TO_SENSE, "sentence2phrase"))
    listing = PairService(database)
    for search in ("Gnawer", "gnawing MAMMAL", "small animal", "%1:05"):
        assert [line.external_id for line in listing.pairs(project.id, search=search).items] == ["m"]


def test_words_and_senses_are_listed_as_raters_see_them_and_keys_stay_in_files(sqlite_database, capsys):
    pairs = [pair("m", type=WORD_TO_SENSE, left="mouse#n", right=KEY, senses=SENSE)]
    rated = rated_project(sqlite_database, pairs, types=(WORD_TO_SENSE,))
    listing = PairService(sqlite_database).pairs(rated.id)
    comment = {"project_id": rated.id, "pair_id": rated.pair_id("m"), "user_id": rated.adjudicator.id}
    with sqlite_database.session() as session:
        session.add(Comment(**comment, text="Which?", is_flagged=False, updated_at=rated.clock()))
    remarks = RemarkService(sqlite_database).remarks(rated.id)
    for html in (pairs_html(listing, rated.id, 0, is_all=True), remarks_html(remarks, rated.id, "Senses")):
        assert '<td dir="auto">mouse (noun)<small>a small animal</small></td>' in html
        assert '<td dir="auto">rodent, gnawer<small>a gnawing mammal</small></td>' in html
        assert KEY not in html.partition("</table>")[0]
    assert remarks_table(remarks).rows[0][6:8] == ("mouse#n", KEY)
    url = f"--database-url=sqlite:///{sqlite_database.path}"
    assert main(["pairs", "list", rated.project.name, "--json", url]) == 0
    [row] = json.loads(capsys.readouterr().out)["pairs"]
    assert (row["left"], row["right"], "senses" in row) == ("mouse#n", KEY, False)


def test_every_pair_is_listed_with_its_state_and_can_be_found(rated):
    everything = [
        ("a", 1, "open"),
        ("b", 2, "fully graded"),
        ("c", 2, "flagged"),
        ("d", 2, "decided"),
        ("e", 0, "open"),
    ]
    assert states(rated) == everything
    for state in PairState:
        assert states(rated, state=state) == [line for line in everything if line[2] == state]
    assert states(rated, search=" FERRY B ") == [everything[1]]
    assert states(rated, search="%") == states(rated, search="\0") == []
    assert [line[0] for line in states(rated, search="harbour", state=PairState.OPEN)] == ["a", "e"]


def test_the_page_turns_and_shows_texts_as_text(sqlite_database):
    many = [pair(f"p{n}") for n in range(PAGE_LENGTH + 1)]
    rated = rated_project(sqlite_database, [pair(EVIL[:40], left=EVIL), *many])
    AccountService(sqlite_database).add_user("root", is_administrator=True)
    handlers = handlers_of(sqlite_database)
    html, page, earlier, later = handlers.first("", "", Asked())
    assert "27 pairs, 1 to 25 below" in html
    assert "<img" not in html
    assert (page, earlier.interactive, later.interactive) == (0, False, True)
    html, page, earlier, later = handlers.later("", "", page, Asked())
    assert "26 to 27 below" in html
    assert f"pair={rated.pair_id('p25')}" in html
    assert (page, earlier.interactive, later.interactive) == (1, True, False)
    assert handlers.earlier("", "", page, Asked())[1] == 0
    assert "of_it" in handlers.first("100% OF_", "open", Asked())[0]
    assert "No pair matches" in handlers.first("", "decided", Asked())[0]
    for name in ("judith", "nobody", None):
        with pytest.raises(gr.Error):
            handlers.first("", "", Asked(name))


def test_a_page_after_the_last_is_the_last_that_there_is(sqlite_database):
    rated_project(sqlite_database, [pair(f"p{n}") for n in range(2 * PAGE_LENGTH + 1)])
    AccountService(sqlite_database).add_user("root", is_administrator=True)
    handlers = handlers_of(sqlite_database)
    html, page, earlier, later = handlers.later("ferry p1", "", 0, Asked())  # typed since the first page
    assert "11 pairs<" in html
    assert (page, earlier.interactive, later.interactive) == (0, False, False)
    html, page, earlier, later = handlers.later("", "", 2, Asked())
    assert "51 to 51 below" in html
    assert (page, earlier.interactive, later.interactive) == (2, True, False)
    html, page, *_ = handlers.later("nowhere", "", 0, Asked())
    assert ("No pair matches" in html, page) == (True, 0)


def test_administrators_take_out_pairs_by_their_ids(sqlite_database):
    rated = a_project(sqlite_database)
    ImportService(sqlite_database).import_pairs(rated.id, [pair("f g")])
    AccountService(sqlite_database).add_user("root", is_administrator=True)
    handlers = handlers_of(sqlite_database)
    for name, text, said in (
        ("judith", "e", "administrator"),
        ("root", " \n", "No pair"),
        ("root", "e\na", "has grades"),
    ):
        with pytest.raises(gr.Error, match=said):
            handlers.changes.remove(Asked(name), text, "")
    html, emptied = handlers.changes.remove(Asked(), " e \n\nf g\n", "")
    assert ("2 pairs removed" in html, emptied) == (True, "")
    assert [line[0] for line in states(rated)] == ["a", "b", "c", "d"]


def test_the_command_lists_what_is_asked_for(sqlite_database, capsys):
    a_project(sqlite_database)
    asked = ["pairs", "list", "harbour", "--database-url", str(sqlite_database.engine.url)]
    assert main([*asked, "--state", "flagged", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "project": "harbour",
        "raters_per_pair": 2,
        "pairs": [
            {
                "id": "c",
                "type": "sentence2phrase",
                "genre": None,
                "left": "The ferry c leaves the old harbour at noon.",
                "right": "a noon ferry c",
                "grades": 2,
                "state": "flagged",
            }
        ],
    }
    assert main([*asked, "--search", "ferry e"]) == 0
    assert "0 of 2" in capsys.readouterr().out


def test_json_has_whole_texts(sqlite_database, capsys):
    text = " ".join(f"word{n}\t短語" for n in range(9_000)) + "\n end"
    rated_project(sqlite_database, [pair("long", left=text, right="x" * 9_000)])
    assert (
        main(["pairs", "list", "harbour", "--json", "--database-url", str(sqlite_database.engine.url)]) == 0
    )
    [row] = json.loads(capsys.readouterr().out)["pairs"]
    assert (row["left"], row["right"]) == (text, "x" * 9_000)


def test_administrators_withdraw_and_restore_and_say_which_type(sqlite_database):
    rated = a_project(sqlite_database)
    ImportService(sqlite_database).import_pairs(rated.id, [pair("a", type="phrase2word")])
    AccountService(sqlite_database).add_user("root", is_administrator=True)
    changes = handlers_of(sqlite_database).changes
    choices = [value for _, value in changes.types(Asked()).choices]
    assert choices == ["", *ProjectService(sqlite_database).get(rated.id).settings.types]
    for name, text, said in (
        ("judith", "e", "administrator"),
        ("root", "", "No pair"),
        ("root", "a", "several types"),
    ):
        for change in (changes.withdraw, changes.restore):
            with pytest.raises(gr.Error, match=said):
                change(Asked(name), text, "", "")
    html, *emptied = changes.withdraw(Asked(), "a", "phrase2word", "broken")
    assert ("1 pair withdrawn" in html, emptied) == (True, ["", ""])
    assert [line[2] for line in states(rated)][-1] == "withdrawn"
    assert "6 pairs, 1 withdrawn<" in handlers_of(sqlite_database).first("", "", Asked())[0]
    assert "1 pair restored" in changes.restore(Asked(), "a\n", "phrase2word", None)[0]
    assert "1 pair removed" in changes.remove(Asked(), "a", "phrase2word")[0]
    assert len(states(rated)) == 5
