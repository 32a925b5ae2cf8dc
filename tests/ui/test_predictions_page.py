"""The page of predictions, and sending from the keyphrase pages, without a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from annotation.errors import SettingsError
from annotation.files.predictions import read_bundle
from annotation.predictions import QueueOrder
from annotation.relevance import check_options
from annotation.services.accounts import AccountService
from annotation.services.predictions import JudgementService, SendService
from annotation.services.projects import ProjectService
from annotation.types import Role
from annotation.ui.predictions import PredictionsHandlers
from kpdemo.errors import ModelLoadError, ModelStoppedError
from kpdemo.translation import use_language
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.send import MOST_DOCUMENTS, STOPPED, SendHandlers
from kpdemo.worker import WARM_UP
from tests.fakes import FakePredictor
from tests.predicted import GRADES, documents, grade, run, sent_project

EVIL = '<img src=x onerror="alert(1)">{{value}}${value}'


@dataclass
class Asked:
    """The part of a request of Gradio's that handlers look at."""

    username: str | None = "root"
    query_params: dict[str, str] = field(default_factory=lambda: {"project": "1"})


@pytest.fixture
def handlers(sqlite_database) -> PredictionsHandlers:
    accounts = AccountService(sqlite_database)
    accounts.add_user("root", is_administrator=True)
    sent_project(sqlite_database)
    for name, role in (("ana", Role.RATER), ("judith", Role.ADJUDICATOR)):
        accounts.add_user(name)
        ProjectService(sqlite_database).add_member(1, name, role)
    projects = ProjectService(sqlite_database)
    return PredictionsHandlers(
        accounts, projects, JudgementService(sqlite_database), SendService(sqlite_database)
    )


def test_the_page_shows_the_steps_the_figures_and_what_comes_next(handlers, sqlite_database):
    closed, _, steps, figures, files, order = handlers.open(Asked())
    assert (closed, order) == ("", "project")
    for text in ("<h3>Documents</h3>", "0 of 5 pairs", "5 pairs wait for grades of 1 rater: ", "of 2 models"):
        assert text in steps
    assert "invite raters" not in steps
    handlers.projects.remove_member(1, "ana", Role.RATER)
    assert "5 pairs wait for grades: <a" in handlers.open(Asked())[2]
    assert "invite raters" in handlers.open(Asked())[2]
    assert "No figures yet" in figures
    assert "keyphrases.run?model=north" in files
    grade(sqlite_database, 1, GRADES)
    steps, figures, files = handlers.count(3.5, 2, False, Asked())
    assert "All pairs have a gold grade" in steps
    assert "gold-keyphrases.jsonl?threshold=3.5" in files
    assert figures.index("north") < figures.index("south")
    expected = JudgementService(sqlite_database).pool(1).figures(check_options(Decimal("3.5"), 2))
    assert f"{expected['north'].ndcg.skip_empty:.3f}" in figures


def test_raters_are_invited_as_long_as_a_pair_takes_more_of_them(handlers):
    handlers.projects.add_member(1, "judith", Role.RATER)
    settings = handlers.projects.get(1).settings
    handlers.projects.update(1, replace(settings, raters_per_pair=3))
    steps = handlers.open(Asked())[2]
    assert (
        'grades of 2 raters: <a href="/annotate/project?project=1&amp;tab=members">invite raters</a>' in steps
    )
    handlers.projects.update(1, replace(settings, raters_per_pair=2))
    assert "see how far they are" in handlers.open(Asked())[2]


@pytest.mark.parametrize("name", ["ana", "judith", None])
def test_nobody_but_an_administrator_sees_which_model_is_better(handlers, name):
    asked = Asked(name)
    closed, _, *shown = handlers.open(asked)
    assert "administrator" in closed or "sign" in closed.lower()
    assert shown[:3] == ["", "", ""]
    with pytest.raises(gr.Error, match=r"role administrator|[Ss]ign"):
        handlers.count(None, None, False, asked)
    with pytest.raises(gr.Error):
        handlers.choose_order("mixed", asked)


@pytest.mark.parametrize(
    ("threshold", "k", "message"),
    [
        ("1e-9", 10, "is 0.25 to 4, not"),
        (None, 10, "lowest grade of a keyphrase is missing: give a number"),
        ("", 10, "lowest grade of a keyphrase is missing: give a number"),
        ("4,5", 10, "is 0.25 to 4, not 4.5"),
        (0, 10, "is 0.25 to 4, not 0"),
        (5, 10, "is 0.25 to 4, not 5"),
        (3, 0, "1 to"),
        (3, None, "number of ranks is missing: give a number"),
        (3, 1.5, "whole"),
    ],
)
def test_options_that_cannot_be_are_explained(handlers, threshold, k, message):
    with pytest.raises(gr.Error, match=message):
        handlers.count(threshold, k, False, Asked())
    with pytest.raises(SettingsError):
        check_options(Decimal("NaN"), 3)


def test_the_order_is_chosen_on_the_page(handlers, sqlite_database):
    assert "Saved" in handlers.choose_order("uncertain", Asked())
    assert JudgementService(sqlite_database).pool(1).order is QueueOrder.UNCERTAIN
    with pytest.raises(gr.Error, match="no order"):
        handlers.choose_order("x", Asked())


def test_after_sending_the_page_says_what_is_open(handlers, sqlite_database):
    grade(sqlite_database, 1, {"ferries": "4"})
    told, *_ = handlers.open(Asked(query_params={"project": "1", "sent": "5"}))
    assert "5 new pairs sent. Open now: 4 of 5 pairs." in told
    assert handlers.open(Asked(query_params={"project": "1", "sent": "<b>"}))[0] == ""


def test_names_of_models_are_text_and_not_html(handlers, sqlite_database):
    [first, _] = documents()
    evil = type(first)(first.id, first.title, first.body, "en", (run(EVIL, {"ferries": 0.5}),))
    SendService(sqlite_database).send(1, [evil])
    grade(sqlite_database, 1, {"ferries": "4"})
    _, _, steps, figures, files, _ = handlers.open(Asked())
    assert "<img" not in steps + figures + files
    assert "&lt;img" in figures


def test_a_project_without_predictions_says_how_to_get_some(handlers, sqlite_database):
    from annotation.types import ProjectSettings

    project = ProjectService(sqlite_database).create(ProjectSettings("empty"))
    _, _, steps, figures, files, _ = handlers.open(Asked(query_params={"project": str(project.id)}))
    assert 'on the page <a href="/">Keyphrases</a>, press Send to a project' in steps
    assert "No figures yet" in figures
    assert "No files yet" in files


@dataclass
class Kept:
    """Stands in for annotation: keeps what it is handed."""

    bundles: list[Any] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)

    def keep(self, bundle: Any, sender: str) -> str:
        self.senders.append(sender)
        self.bundles.append(json.loads(json.dumps(bundle)))
        return "/annotate/send/x"


def load(name: str) -> FakePredictor:
    if name == "broken":
        raise ModelLoadError("The model <broken> is damaged.")
    return FakePredictor(name, absent=(f"absent of {name}",))


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def sender(kept) -> SendHandlers:
    shelf = ModelShelf({"one": "first", "two": "second", "broken": "none"}, load)
    return SendHandlers(shelf, kept.keep)


def send(sender: SendHandlers, models: list[str], body: str = "Ferries leave the old harbour.") -> str:
    return sender.send(models, f"At sea today\n\n{body}", progress=_quiet)


def _quiet(*_: object, **__: object) -> None:
    """A progress bar that shows nothing."""


def test_what_several_models_say_is_handed_over_together(sender, kept):
    shown = send(sender, ["two", "one"])
    [found] = read_bundle(kept.bundles[0])
    assert [run.model for run in found.runs] == ["one", "two"]
    assert found.text == "At sea today\n\nFerries leave the old harbour."
    assert 'href="/annotate/send/x"' in shown
    assert "1 document, by one and two, ready. <a" in shown
    one, two = (({phrase.key for phrase in run.phrases}) for run in found.runs)
    assert f"{len(one | two)} keyphrases of" in shown
    assert len(one & two) == len(one) - 1


def test_a_model_that_fails_is_named_and_the_others_are_sent(sender, kept):
    shown = send(sender, ["one", "broken"])
    assert "The model &lt;broken&gt; is damaged." in shown
    assert len(kept.bundles) == 1
    with pytest.raises(gr.Error, match="is damaged"):
        send(sender, ["broken"])
    with pytest.raises(gr.Error, match="No model is ticked"):
        send(sender, [])


def test_of_a_model_that_stops_half_way_nothing_is_sent(kept, tmp_path):
    """Or models would be compared on different documents."""

    @dataclass(frozen=True)
    class Stopping(FakePredictor):
        def predict(self, documents, **options):
            if any("document 39" in document for document in map(str, documents)):
                raise ModelStoppedError("The model stopped: not enough memory.")
            return super().predict(documents, **options)

    shelf = ModelShelf(
        {"one": "", "stops": ""}, lambda name: Stopping(name) if name == "stops" else load(name)
    )
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f'{{"text": "Ferries leave document {n}."}}\n' for n in range(40)))
    shown = SendHandlers(shelf, kept.keep).send_files([str(rows)], ["stops", "one"], PAGE, progress=_quiet)
    assert {run.model for one in read_bundle(kept.bundles[0]) for run in one.runs} == {"one"}
    assert "40 documents, by one, ready. <a" in shown
    assert "The model stopped: not enough memory." in shown


def test_a_model_that_does_not_read_the_language_is_named(sender, kept, tmp_path):
    with pytest.raises(gr.Error, match="Chinese, which the model two does not read: tick "):
        send(sender, ["two"], "深度学习模型在自然语言处理中的应用")
    rows = tmp_path / "rows.jsonl"
    bodies = ("Ferries leave the old harbour.", "深度学习模型在自然语言处理中的应用")
    rows.write_text("".join(json.dumps({"text": body}) + "\n" for body in bodies), encoding="utf-8")
    shown = sender.send_files([str(rows)], ["one", "two"], PAGE, progress=_quiet)
    assert "of 1 document, by one and two, ready, without 1 line that could not be read" in shown
    for model in ("one", "two"):
        assert (
            f"document &quot;2&quot;: The text is Chinese, which the model {model} does not read: tick "
            in shown
        )


def test_a_bundle_that_is_refused_is_explained(sender):
    def refuse(*_: object) -> str:
        raise ValueError("It is too large.")

    with pytest.raises(gr.Error, match="It is too large"):
        send(SendHandlers(sender.shelf, refuse), ["one"])


def test_all_documents_of_files_are_handed_over(sender, kept, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"id": "a", "text": "Ferries leave the old harbour.", "keyphrases": ["x"]}\n'
        '{"text": "Gulls follow the ferries."}\n{"id": "b"}\n{"id": "a", "text": "Another harbour."}\n'
    )
    text = tmp_path / "note.txt"
    text.write_text("The night train was late because of snow.")
    asked = SimpleNamespace(client=SimpleNamespace(host="192.0.2.7"), session_hash="a page")
    shown = sender.send_files([str(rows), str(text)], ["one", "two"], asked, progress=_quiet)
    assert kept.senders == ["192.0.2.7"]
    found = read_bundle(kept.bundles[0])
    assert [document.id for document in found] == ["a", "rows-2", "a-2", "note"]
    assert all(len(document.runs) == 2 for document in found)
    assert "4 documents, by one and two, ready, without 1 line that could not be read. <a" in shown
    assert "<li>rows.jsonl, line 3: " in shown


def test_lines_that_cannot_be_read_are_counted_and_the_first_are_told(sender, kept, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "Ferries leave."}\n' + "{nothing\n" * 7, encoding="utf-8")
    shown = sender.send_files([str(rows)], ["one"], PAGE, progress=_quiet)
    assert "1 document, by one, ready, without 7 lines that could not be read. <a" in shown
    assert [f"<li>rows.jsonl, line {line}: " in shown for line in range(1, 9)] == [
        False,
        *5 * [True],
        *2 * [False],
    ]
    assert "<li>2 more lines could not be read either.</li>" in shown
    assert str(tmp_path) not in shown
    rows.write_text("{nothing\n" * 7, encoding="utf-8")
    with pytest.raises(gr.Error, match=r"rows.jsonl, line 1: .* 6 more could not be used either"):
        sender.send_files([str(rows)], ["one"], PAGE, progress=_quiet)


def test_documents_that_no_model_reads_are_named_by_their_lines_and_counted_apart(sender, kept, tmp_path):
    rows, note = tmp_path / "rows.jsonl", tmp_path / "note.txt"
    bodies = ("Ferries leave.", "12 34", "Gulls follow.", "56 78")
    rows.write_text("".join(json.dumps({"text": body}) + "\n" for body in bodies), encoding="utf-8")
    with rows.open("a", encoding="utf-8") as stream:
        stream.write('{"text": "Gulls wait.", "language": "Frnch"}\n')
    note.write_text("99", encoding="utf-8")
    shown = sender.send_files([str(rows), str(note)], ["one", "two"], PAGE, progress=_quiet)
    assert [document.id for document in read_bundle(kept.bundles[0])] == ["rows-1", "rows-3"]
    done, failed = shown.split('<div class="note" role="alert">')
    assert "2 documents, by one and two, ready, without 3 lines and 1 file that could not be read. <a" in done
    assert "<li>" not in done
    letters = "The text holds no letters"
    places = ("rows.jsonl, line 5: &quot;Frnch", f"rows.jsonl, line 2: document &quot;2&quot;: {letters}")
    for told in (*places, f"rows.jsonl, line 4: document &quot;4&quot;: {letters}", f"note.txt: {letters}"):
        assert failed.count(f"<li>{told}") == 1
    assert "documents.jsonl" not in shown


def test_files_that_cannot_be_read_are_named_and_the_others_are_sent(sender, kept, tmp_path):
    files = [tmp_path / name for name in ("a.pptx", "a.pdf", "a.txt")]
    for path in files:
        path.write_text("The night train was late because of snow.")
    shown = sender.send_files([str(path) for path in files], ["one"], PAGE, progress=_quiet)
    assert [document.id for document in read_bundle(kept.bundles[0])] == ["a"]
    assert "<li>a.pptx cannot be read here" in shown
    assert "<li>a.pdf: " in shown
    assert "1 document, by one, ready, without 2 files that could not be read. <a" in shown
    assert str(tmp_path) not in shown


PAGE = SimpleNamespace(session_hash="a page", client=None)


@dataclass(frozen=True)
class Stopping(FakePredictor):
    """Presses Stop while it reads anything but its warm-up."""

    stop: Callable[[], None] = lambda: None

    def predict(self, documents: Any, **options: Any) -> Any:
        if documents != [WARM_UP]:
            self.stop()
        return super().predict(documents, **options)


def stopping_while(moment: str, kept: Kept) -> SendHandlers:
    """Stop is pressed while the only model is loaded, or reads, or before the question left the queue."""

    def stop() -> None:
        sender.stops.ask(PAGE.session_hash)
        sender.file_stops.ask(PAGE.session_hash)

    def load(name: str) -> FakePredictor:
        if moment == "loading":
            stop()
        return Stopping(name, stop=stop) if moment == "reading" else FakePredictor(name)

    sender = SendHandlers(ModelShelf({"one": "first"}, load), kept.keep)
    if moment == "queueing":
        stop()
    return sender


@pytest.mark.parametrize("moment", ["queueing", "loading", "reading"])
def test_what_was_stopped_is_not_sent(kept, tmp_path, moment):
    body, text = "Ferries leave the old harbour.", tmp_path / "note.txt"
    text.write_text("The night train was late because of snow.")
    with pytest.raises(gr.Error, match=STOPPED):
        stopping_while(moment, kept).send(["one"], body, "", "", "", PAGE, progress=_quiet)
    with pytest.raises(gr.Error, match=STOPPED):
        stopping_while(moment, kept).send_files([str(text)], ["one"], PAGE, progress=_quiet)
    assert kept.bundles == []


def test_a_reader_of_german_is_told_in_german_that_nothing_was_sent(kept, sender, tmp_path):
    text = tmp_path / "note.txt"
    text.write_text("The night train was late because of snow.")
    with use_language("de"):
        with pytest.raises(gr.Error, match="Angehalten: es wurde nichts gesendet"):
            stopping_while("queueing", kept).send(
                ["one"], "Ferries leave late.", "", "", "", PAGE, progress=_quiet
            )
        with pytest.raises(gr.Error, match="Angehalten: es wurde nichts gesendet"):
            stopping_while("queueing", kept).send_files([str(text)], ["one"], PAGE, progress=_quiet)
        rows = tmp_path / "rows.jsonl"
        rows.write_text('{"text": "Ferries leave."}\n' * (MOST_DOCUMENTS + 1))
        with pytest.raises(gr.Error, match="diese Seite sendet höchstens 1"):
            sender.send_files([str(rows)], ["one"], progress=_quiet)


def test_files_to_send_are_not_read_before_those_of_others(sender, tmp_path):
    def stop(*_: object, desc: str, **__: object) -> None:
        assert desc == "Other files are read first"
        sender.file_stops.ask(PAGE.session_hash)

    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "Ferries leave."}\n' * (MOST_DOCUMENTS + 1))  # refused once they are read
    with sender.shelf.turn_of_files, pytest.raises(gr.Error, match=STOPPED):
        sender.send_files([str(rows)], ["one"], PAGE, progress=stop)


def test_too_many_documents_are_for_the_command_line(sender, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "Ferries leave."}\n' * (MOST_DOCUMENTS + 1))
    with pytest.raises(gr.Error, match="use the command line"):
        sender.send_files([str(rows)], ["one"], progress=_quiet)
    with pytest.raises(gr.Error, match="No file is chosen"):
        sender.send_files(None, ["one"], progress=_quiet)
    assert Path(rows).exists()
