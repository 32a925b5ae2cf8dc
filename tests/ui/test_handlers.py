"""What each button does, called as Gradio calls it."""

from __future__ import annotations

import csv
import json
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import gradio as gr
import pytest

import app
import kpdemo
from kpdemo.errors import LanguageError, ModelLoadError, ModelStoppedError
from kpdemo.languages import detect
from kpdemo.translation import use_language
from kpdemo.types import Keyphrase, Prediction, PredictionRequest, PredictionResult
from kpdemo.ui.compare import OWN_SCALES, STOPPED, UNCOUNTED, Column, CompareHandlers, columns_html
from kpdemo.ui.files import (
    BATCH_SIZE,
    MOST_FILES,
    SHOWN_ABSENT,
    SHOWN_ROWS,
    STOPPED_EARLY,
    FilesHandlers,
    SharedKeyphrases,
    readable_copies,
)
from kpdemo.ui.html import page_html
from kpdemo.ui.models import TURN_CHARACTERS, ModelShelf
from kpdemo.ui.page import FooterHandlers
from kpdemo.ui.predict import PredictHandlers, load_examples
from kpdemo.ui.requests import LONGEST_TEXT
from kpdemo.worker import WARM_UP
from tests.fakes import REASON, FakePredictor, MappedPredictor, absent_keyphrases
from tests.pdfs import make_slow_pdf

MODELS = {"default": "the trained one", "first": "first phrases"}
PAGE = SimpleNamespace(session_hash="a page", client=None)
TEXT = "Neural networks learn from many examples of language."


def load(name):
    if name == "damaged":
        raise ModelLoadError("The model <damaged> is damaged: install it again.")
    return FakePredictor(name)


@pytest.fixture
def shelf() -> ModelShelf:
    return ModelShelf({**MODELS, "damaged": "a broken one"}, load)


def predict(shelf, document=TEXT, model="default"):
    """Both parts of the answer: the list, and the marked text."""
    return "".join(PredictHandlers(shelf).predict(document, model))


def test_a_script_that_is_not_read_promises_no_language(shelf):
    with pytest.raises(
        gr.Error, match=r"is Arabic, which .*: choose the model multilingual, positionrank or multipartite\."
    ):
        predict(shelf, "تقدم هذه الورقة طريقة جديدة")


def test_predict_marks_the_text(shelf):
    html = predict(shelf, f"A title about networks\n\n{TEXT}")
    assert '<mark id="kp-2-7"' in html
    assert "Same in code" in html


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (" ", "The text is empty"),
        ("Entropy!", "only one word, “Entropy!”: give a sentence or more"),
        ("x" * 100_000, "only one word, “x+…”"),
        ("12345 67", "holds no letters"),
        ("深度学习模型在自然语言处理中的应用", "The text is Chinese, which this model does not read"),
        ("zero \x00 byte", "NUL byte"),
    ],
)
def test_a_bad_text_is_a_toast_with_one_sentence(shelf, document, sentence):
    with pytest.raises(gr.Error, match=sentence):
        predict(shelf, document)


class EnglishPredictor(FakePredictor):
    languages = frozenset({"en"})


@pytest.mark.parametrize(
    ("language", "named"), [("", "This text is French; the model"), ("it", "This text is Italian; the model")]
)
def test_a_text_in_another_language_than_the_model_was_made_for_is_named(language, named):
    text = "Nous présentons une méthode d’extraction de termes-clés pour les réseaux électriques."
    handlers = PredictHandlers(ModelShelf(MODELS, EnglishPredictor))
    html = "".join(handlers.predict(text, "default", language=language))
    assert f'id="predict-language-note">{named} &#x27;default&#x27; was trained on no such text, so' in html
    assert ("--language=it" in html) == (language == "it")
    assert "predict-language-note" not in handlers.predict(TEXT, "default")[0]


def test_a_damaged_model_is_a_toast_and_its_name_is_escaped(shelf):
    with pytest.raises(gr.Error, match=r"The model &lt;damaged&gt; is damaged: install it again."):
        predict(shelf, model="damaged")


def test_the_page_explains_a_damaged_default():
    shelf = ModelShelf({"damaged": "the default"}, load)
    shelf.warm_up()
    html = PredictHandlers(shelf).explain_problem()
    assert 'role="alert"' in html
    assert "The model &lt;damaged&gt; is damaged" in html


def test_the_card_of_a_model_is_harmless_html():
    evil = "# {}\n\n<script>alert(1)</script> [a](javascript:alert(2)) ![p](https://example.org/p.png) ${{1}}"
    handlers = PredictHandlers(ModelShelf(MODELS, load, lambda name: evil.replace("# {}", "")))
    card = page_html("first", evil.format("first")).partition("</style>")[2]
    html = handlers.describe_model("first") + card
    assert 'href="cards/first" target="_blank">About the model first</a>' in html
    assert "<h3" in html
    for harmful in ("<script", 'href="javascript', "<img", "$", "{"):
        assert harmful not in html


def test_there_is_no_card_of_a_model_that_is_not_offered(shelf):
    with pytest.raises(gr.Error, match="There is no model “/etc”"):
        PredictHandlers(shelf).describe_model("/etc")


def test_a_good_default_needs_no_words(shelf):
    shelf.warm_up()
    assert PredictHandlers(shelf).explain_problem() == ""


def test_the_footer_has_version_model_device_documentation_and_licence(shelf):
    shelf.warm_up()
    html = FooterHandlers(shelf).show_model()
    for fact in (f"kpdemo {kpdemo.__version__}", "model default on CPU", "README.md", "licence Apache-2.0"):
        assert fact in html


def test_the_footer_links_to_the_documentation_where_it_has_a_public_address(shelf):
    shelf.warm_up()
    html = FooterHandlers(shelf, "https://example.org/?a=1&b=2").show_model()
    assert '<a href="https://example.org/?a=1&amp;b=2">documentation</a>' in html
    assert "README.md" not in html


def test_the_footer_names_no_device_of_a_damaged_default():
    shelf = ModelShelf({"damaged": "the default"}, load)
    shelf.warm_up()
    assert " · model damaged · " in FooterHandlers(shelf).show_model()


def test_examples_are_abstracts_from_four_fields_and_in_the_languages_of_the_models_that_ship():
    examples = load_examples()
    assert len({example.field for example in examples}) == len(examples)
    assert [detect(example.text).code for example in examples] == ["en"] * 4 + ["fr", "zh"]
    assert all(120 <= len(example.text.split()) <= 180 for example in examples[:5])
    assert json.dumps(f"{examples[0].title}\n\n{examples[0].text}") in examples[0].script


def compare(shelf, models):
    return CompareHandlers(shelf).compare(models, TEXT)


def test_compare_shows_a_column_for_each_model_in_the_order_of_the_page(shelf):
    html = compare(shelf, ["first", "default"])
    assert html.index("<h3>default") < html.index("<h3>first")
    assert "2 of 2" in html


def test_compare_shows_absent_keyphrases_under_the_present_ones(shelf):
    html = compare(shelf, ["default"])
    assert html.index("Neural networks") < html.index(">Absent<") < html.index("keyphrase prediction")


def test_compare_goes_on_past_a_damaged_model(shelf):
    html = compare(shelf, ["damaged", "default"])
    assert "The model &lt;damaged&gt; is damaged" in html
    assert "<h3>default" in html


def test_compare_goes_on_past_a_model_that_died(shelf):
    class Mortal(FakePredictor):
        def predict(self, documents, **options):
            if self.name == "default" and documents != [WARM_UP]:
                raise ModelStoppedError("The model stopped.")
            return super().predict(documents, **options)

    html = compare(ModelShelf(MODELS, Mortal), ["default", "first"])
    assert "The model stopped." in html
    assert "<h3>first</h3><ol>" in html


def test_compare_goes_on_past_a_model_that_does_not_read_the_script(shelf):
    class Latin(FakePredictor):
        def predict(self, documents, **options):
            if self.name == "default" and documents != [WARM_UP]:
                raise LanguageError("In Arabic, which this model does not read: choose the model yake.")
            return super().predict(documents, **options)

    html = compare(ModelShelf(MODELS, Latin), ["default", "first"])
    assert "In Arabic, which the model default does not read: tick yake." in html
    assert "<h3>first</h3><ol>" in html


def test_compare_needs_a_model(shelf):
    with pytest.raises(gr.Error, match="No model is ticked"):
        compare(shelf, [])


@dataclass(frozen=True)
class Stopping(FakePredictor):
    """Presses Stop while it reads for the first time, but for its warm-up."""

    stop: Callable[[], None] = lambda: None

    def predict(self, documents, **options):
        if documents != [WARM_UP]:
            self.stop()
        return super().predict(documents, **options)


def test_a_model_of_another_language_comes_last_folded_and_does_not_count():
    def column(model, *languages):
        one = answered(model, "coraux")
        prediction = replace(one.answer.prediction, language="fr")
        return replace(one, answer=replace(one.answer, prediction=prediction, languages=frozenset(languages)))

    english, french, any_language = column("indexer", "en"), column("default", "fr"), column("first")
    html = columns_html([english, french, any_language])
    assert html.index("<h3>first") < html.index("<h3>indexer") < html.index("This text is French; the model")
    assert html.count("2 of 2") == 2
    _, folded = html.split(f"<details><summary>{UNCOUNTED}</summary>")
    assert ("coraux" in folded, "2 of" in folded) == (True, False)
    alone = columns_html([english, replace(english, model="english")])
    assert UNCOUNTED not in alone


def test_what_models_had_answered_before_a_stop_is_compared():
    shelf = ModelShelf(
        MODELS, lambda name: Stopping(name, stop=partial(handlers.stops.ask, PAGE.session_hash))
    )
    handlers = CompareHandlers(shelf)
    html = handlers.compare(["default", "first"], TEXT, "", "", "", PAGE)
    assert "<h3>default</h3><ol>" in html
    assert f'<h3>first</h3><p class="note">{STOPPED}</p>' in html


def answered(model, *phrases, absent=(), reader=""):
    prediction = Prediction(
        tuple(Keyphrase(phrase, 0.5, ((0, 1),)) for phrase in phrases),
        tuple(Keyphrase(phrase, score) for phrase, score in absent),
    )
    question = PredictionRequest(None, model)
    return Column(
        model, PredictionResult(question, prediction, reader or model, "cpu", 0.1, finds_absent=bool(absent))
    )


def test_compare_tells_fillers_in_the_columns_and_once_what_they_are():
    column = answered("a", "neural networks", "tree", absent=[("forest", 0.2)])
    prediction = column.answer.prediction
    given = replace(
        prediction,
        present=(prediction.present[0], replace(prediction.present[1], filler=True)),
        absent=(replace(prediction.absent[0], filler=True),),
    )
    html = columns_html([replace(column, answer=replace(column.answer, prediction=given))])
    first, *fillers = re.findall("<li.*?</li>", html)
    assert "less likely" not in first
    assert all('<li class="filler">' in one and ">less likely</span>" in one for one in fillers)
    assert html.count("Less likely: too unlikely by the model's own rule") == 1
    assert "less likely" not in columns_html([column])


def test_several_models_are_told_to_have_scales_of_their_own():
    assert columns_html([answered("a", "tree"), answered("b", "forest")]).count(OWN_SCALES) == 1
    assert OWN_SCALES not in columns_html([answered("a", "tree"), Column("b", problem="It failed.")])


def test_agreement_is_counted_by_stems():
    html = columns_html(
        [answered("a", "neural networks", "tree"), answered("b", "Neural network"), answered("c", "<b>")]
    )
    assert html.count("2 of 3") == 2
    assert "<b>" not in html


def test_a_list_of_absent_keyphrases_that_two_models_share_has_one_vote():
    bank = [("machine learning", 0.031), ("language models", 0.02)]
    html = columns_html(
        [
            answered("default", "tree", absent=bank),
            answered("indexer", "trees", absent=bank),
            answered("generator", "shrub", absent=[("Machine learning", 0.4)]),
        ]
    )
    assert html.count("2 of 3") == 2  # the present ones
    assert html.count("2 of 2") == 3  # “machine learning”, of the bank and of the generator
    assert "<summary>Absent: the same list as default, counted once</summary>" in html
    assert "“2 of 4” next to a keyphrase" in html


def test_a_model_under_two_names_has_one_vote():
    html = columns_html(
        [answered("default", "arbre", reader="multilingual"), answered("multilingual", "arbre"), Column("x")]
    )
    assert "The same model as default, counted once." in html
    assert "read by multilingual" in html
    assert "2 of" not in html.partition('id="compare-columns"')[2]


def run_files(shelf, paths, model="default"):
    steps = FilesHandlers(shelf).predict_files([str(path) for path in paths] if paths else paths, model)
    html, download, table = next(steps)
    rows = [json.loads(line) for line in Path(download["value"]).read_text(encoding="utf-8").splitlines()]
    with Path(table["value"]).open(encoding="utf-8-sig", newline="") as stream:
        cells = list(csv.DictReader(stream))
    told = [(row["id"], one["text"]) for row in rows for one in row["present"] + row["absent"]]
    assert [(one["id"], one["keyphrase"]) for one in cells] == told
    assert next(iter(cells[0])) == ("file" if "file" in rows[0] else "id")
    assert list(steps) == []
    assert not Path(download["value"]).exists()
    return html, rows


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "docs.jsonl"
    good = [{"id": f"d{number}", "title": "Graphs", "abstract": TEXT} for number in range(3)]
    path.write_text("\n".join([json.dumps(good[0]), "{broken", *map(json.dumps, good[1:])]), encoding="utf-8")
    return path


def test_files_predicts_every_document_and_names_the_broken_line(shelf, jsonl):
    html, rows = run_files(shelf, [jsonl])
    assert [row["id"] for row in rows] == ["d0", "d1", "d2"]
    assert rows[0]["present"][0]["spans"]
    assert "3 documents predicted." in html
    assert "1 line could not be used:" in html
    assert "docs.jsonl, line 2" in html
    assert str(jsonl.parent) not in html


def test_files_in_another_language_than_the_model_was_made_for_are_told_above_the_table(tmp_path):
    german = "Diese Arbeit untersucht das neuronale Netz und zeigt, dass die Verfahren gut sind."
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    for path, text in zip(paths, (german, german, TEXT), strict=True):
        path.write_text(text, encoding="utf-8")
    html, _ = run_files(ModelShelf(MODELS, EnglishPredictor), paths)
    note = "2 documents are German; the model &#x27;default&#x27; was trained on no such text, so treat its"
    assert f'<p class="note" role="status">{note}' in html.partition("<table")[0]


def test_rows_without_ids_are_told_once_above_the_table(shelf, tmp_path):
    table, lines = tmp_path / "abstracts.csv", tmp_path / "more.jsonl"
    table.write_text(f"doi,Abstract\n10.1/a,{TEXT}\n10.1/b,{TEXT}\n", encoding="utf-8")
    lines.write_text(json.dumps({"text": TEXT}), encoding="utf-8")
    html, rows = run_files(shelf, [table, lines])
    assert [row["id"] for row in rows] == ["2", "3", "1"]
    note = "abstracts.csv, line 2: no “id”, so this document and all others without one are named by line;"
    assert note in html.partition("<table")[0]
    assert html.count("named by line") == 1
    with use_language("de"):
        german = run_files(shelf, [table, lines])[0]
    assert "abstracts.csv, Zeile 2: keine „id“, daher heißen dieses Dokument und alle anderen ohne" in german
    assert "named by line" not in german
    table.write_text(table.read_text("utf-8").replace("doi", "ID"), encoding="utf-8")
    assert "named by line" not in run_files(shelf, [table])[0]


def test_the_download_names_the_model_in_each_line(shelf, jsonl):
    _, rows = run_files(shelf, [jsonl], "first")
    assert [row["model"] for row in rows] == ["first"] * 3


@pytest.mark.parametrize("name", ["report.pptx", "table.ods", "REPORT"])
def test_a_file_of_another_kind_is_refused_when_it_is_chosen(shelf, name):
    files = FilesHandlers(shelf)
    told = files.check_files(["/tmp/a.txt", f"/tmp/{name}"])
    assert f"{name} cannot be read here: use one of .jsonl, " in told
    assert 'class="note refusal" role="alert"' in told
    assert "The other files can be predicted." in told
    for good in (["/tmp/A.TXT", "/tmp/a.pdf"], [], None):
        assert files.check_files(good) == gr.skip()


def run_stopped_files(paths):
    shelf = ModelShelf(
        MODELS, lambda name: Stopping(name, stop=partial(handlers.stops.ask, PAGE.session_hash))
    )
    handlers = FilesHandlers(shelf)
    [(html, download)] = [
        (html, Path(update["value"]).read_text(encoding="utf-8").splitlines())
        for html, update, _ in handlers.predict_files(
            [str(path) for path in paths], "default", "", "", "", PAGE
        )
    ]
    return html, download


def many_documents(tmp_path, *broken):
    """Two batches of documents, with broken lines where asked for."""
    path = tmp_path / "many.jsonl"
    lines = [json.dumps({"id": f"n{number}", "text": TEXT}) for number in range(2 * BATCH_SIZE)]
    for place in sorted(broken, reverse=True):
        lines.insert(place, "{broken")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_what_was_predicted_before_a_stop_can_be_downloaded(tmp_path, jsonl):
    html, download = run_stopped_files([many_documents(tmp_path), jsonl])
    assert f"Stopped: {BATCH_SIZE} of {2 * BATCH_SIZE + 4} documents are predicted" in html
    assert f"they are in the download; {BATCH_SIZE + 4} were not read." in html
    assert [json.loads(line)["id"] for line in download] == [f"n{number}" for number in range(BATCH_SIZE)]


def test_after_a_stop_broken_lines_are_neither_predicted_nor_unread(tmp_path):
    html, _ = run_stopped_files([many_documents(tmp_path, *[0] * 20)])
    assert f"Stopped: {BATCH_SIZE} of {2 * BATCH_SIZE + 20} documents are predicted" in html
    assert f"; {BATCH_SIZE} were not read." in html
    assert "20 lines could not be used:" in html


def test_broken_lines_among_which_a_stop_came_are_shown(tmp_path):
    html, _ = run_stopped_files([many_documents(tmp_path, BATCH_SIZE + 2, BATCH_SIZE + 3)])
    assert "2 lines could not be used:" in html
    assert f"many.jsonl, line {BATCH_SIZE + 3}" in html
    assert f"; {BATCH_SIZE} were not read." in html


def test_a_stop_before_the_first_document_is_a_sentence(jsonl):
    def load_and_stop(name):
        handlers.stops.ask(PAGE.session_hash)
        return FakePredictor(name)

    handlers = FilesHandlers(ModelShelf(MODELS, load_and_stop))
    with pytest.raises(gr.Error, match=STOPPED_EARLY):
        list(handlers.predict_files([str(jsonl)], "default", "", "", "", PAGE))


def test_a_stop_counts_while_files_of_others_are_read(jsonl, shelf):
    handlers = FilesHandlers(shelf)

    def stop(*_, desc, **__):
        assert desc == "Other files are read first"
        handlers.stops.ask(PAGE.session_hash)

    with shelf.turn_of_files, pytest.raises(gr.Error, match=STOPPED_EARLY):
        list(handlers.predict_files([str(jsonl)], "default", "", "", "", PAGE, stop))
    assert run_files(shelf, [jsonl])[1]


def test_a_stop_counts_while_a_pdf_is_read_and_keeps_what_was_predicted(jsonl, shelf, tmp_path):
    handlers = FilesHandlers(shelf)

    def stop_at_the_pdf(done, **_):
        if done == (4, 5):
            Timer(0.2, handlers.stops.ask, [PAGE.session_hash]).start()

    paths = [str(jsonl), str(make_slow_pdf(tmp_path / "slow.pdf"))]
    [(html, _, _)] = handlers.predict_files(paths, "default", "", "", "", PAGE, stop_at_the_pdf)
    assert "Stopped: 3 of 5 documents are predicted" in html
    assert "; 1 was not read." in html


def test_a_stop_counts_before_the_question_has_left_the_queue(jsonl, shelf):
    files, comparing = FilesHandlers(shelf), CompareHandlers(shelf)
    files.stops.ask(PAGE.session_hash)
    comparing.stops.ask(PAGE.session_hash)
    with pytest.raises(gr.Error, match=STOPPED_EARLY):
        list(files.predict_files([str(jsonl)], "default", "", "", "", PAGE))
    fields = (["default"], TEXT, "", "", "", PAGE)
    assert STOPPED in comparing.compare(*fields)
    assert STOPPED not in comparing.compare(*fields)
    comparing = CompareHandlers(shelf)
    comparing.stops.ask(PAGE.session_hash)
    with use_language("de"):
        assert "Angehalten" in comparing.compare(*fields)


def test_a_stop_counts_while_uploads_are_copied(jsonl, shelf, monkeypatch):
    def copy_and_stop(paths, folder):
        handlers.stops.ask(PAGE.session_hash)
        return readable_copies(paths, folder)

    handlers = FilesHandlers(shelf)
    monkeypatch.setattr("kpdemo.ui.files.readable_copies", copy_and_stop)
    with pytest.raises(gr.Error, match=STOPPED_EARLY):
        list(handlers.predict_files([str(jsonl)], "default", "", "", "", PAGE))


def test_options_hold_for_files_and_what_documents_have_in_common_is_counted(shelf, tmp_path):
    def keyphrases(*texts: str) -> dict[str, list[dict[str, str]]]:
        return {"present": [{"text": text} for text in texts], "absent": []}

    shared = SharedKeyphrases()
    for row in (
        keyphrases("Graph kernel", "drugs"),
        keyphrases("graph kernels"),
        keyphrases("graph kernels"),
    ):
        shared.add(row)
    assert shared.most_common() == [("graph kernels", 3)]
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps({"id": id, "text": TEXT}) + "\n" for id in "ab"), encoding="utf-8")
    steps = FilesHandlers(shelf).predict_files([str(path)], "default", "1")
    html, download, _ = next(steps)
    assert 'data-filter="' in html
    assert "2 documents</li>" in html
    rows = [json.loads(line) for line in Path(download["value"]).read_text(encoding="utf-8").splitlines()]
    assert [len(row["present"]) for row in rows] == [1, 1]
    with pytest.raises(gr.Error, match="The number of keyphrases is “none”"):
        list(FilesHandlers(shelf).predict_files([str(path)], "default", "none"))


def test_several_files_are_told_apart(shelf, jsonl, tmp_path):
    text = tmp_path / "note.md"
    text.write_text(f"# A heading\n\n{TEXT}", encoding="utf-8")
    _, rows = run_files(shelf, [text, jsonl])
    assert [(row["file"], row["id"]) for row in rows][:2] == [("note.md", "note"), ("docs.jsonl", "d0")]


def test_unreadable_files_do_not_stop_the_others(shelf, jsonl, tmp_path):
    pdf, word = tmp_path / "a.pdf", tmp_path / "report.pptx"
    pdf.write_bytes(b"not a pdf")
    word.write_bytes(b"PK")
    html, rows = run_files(shelf, [word, pdf, tmp_path / "gone.txt", jsonl])
    assert len(rows) == 3
    assert "1 line and 3 files could not be used:" in html
    for told in ("report.pptx cannot be read here", "a.pdf: ", "gone.txt is gone", "docs.jsonl, line 2"):
        assert f"<li>{told}" in html
    assert str(tmp_path) not in html


def test_files_of_one_name_and_documents_of_one_id_stay_apart(shelf, tmp_path):
    names = ("a/note.txt", "b/note.txt", "a/d.jsonl", "b/d.jsonl")
    files = [tmp_path / name for name in names]
    for path in files:
        path.parent.mkdir(exist_ok=True)
        path.write_text(TEXT if path.suffix == ".txt" else json.dumps({"id": "x", "text": TEXT}), "utf-8")
    html, rows = run_files(shelf, files)
    assert [(row["file"], row["id"]) for row in rows] == [
        ("note.txt", "note"), ("note-2.txt", "note-2"), ("d.jsonl", "x"), ("d-2.jsonl", "x-2"),
    ]  # fmt: skip
    assert "the later ones end in -2" in html
    assert "the later ones" not in run_files(shelf, files[::3])[0]


def test_fillers_of_files_are_told_as_those_of_a_text(jsonl):
    class Filling(FakePredictor):
        def predict(self, documents, **options):
            sure, filler = Keyphrase("sure", 0.9), Keyphrase("given", 0.1, filler=True)
            return [Prediction((sure, filler), (replace(filler, text="besides"),)) for _ in documents]

    html, _ = run_files(ModelShelf(MODELS, Filling), [jsonl])
    assert 'auto">sure · <span class="filler"><span class="phrase">given</span> <span' in html
    assert '<span class="filler"><span class="phrase"><span class="chip" dir="auto">besides</span>' in html
    assert html.count(">less likely</span>") == 6
    assert html.count("Less likely: too unlikely by the model's own rule") == 1


def test_absent_keyphrases_are_chips_in_the_table_and_rows_in_the_download(jsonl):
    found = absent_keyphrases(SHOWN_ABSENT + 2)
    html, rows = run_files(ModelShelf(MODELS, lambda name: MappedPredictor(name, found=found)), [jsonl])
    assert html.count('class="chip"') == 3 * SHOWN_ABSENT
    assert "and 2 more" in html
    assert rows[0]["absent"][0] == {
        "text": "electric currents", "score": 0.5, "kind": "mixed", "source": "generated",
        "evidence": ["surface current"], "reason": f"{REASON} (1 times).",
    }  # fmt: skip


def test_only_the_first_rows_are_shown(shelf, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("id,text\n" + "".join(f"{n},{TEXT}\n" for n in range(SHOWN_ROWS + 5)), encoding="utf-8")
    html, rows = run_files(shelf, [path])
    assert len(rows) == SHOWN_ROWS + 5
    assert html.count("<tr data-keyphrases=") == SHOWN_ROWS
    assert f"The first {SHOWN_ROWS} are shown" in html


def test_what_follows_an_open_quote_in_a_table_is_said_not_to_be_read(shelf, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(f'id,text\n1,{TEXT}\n2,"{TEXT}\n3,{TEXT}\n', encoding="utf-8")
    html, rows = run_files(shelf, [path])
    assert [row["id"] for row in rows] == ["1"]
    assert "table.csv, line 3: a field begins with &quot;" in html
    assert "what follows was not read" in html


def test_a_text_that_is_too_long_is_refused_by_name_and_the_others_are_read(shelf, tmp_path):
    path = tmp_path / "mixed.jsonl"
    texts = {"short": TEXT, "huge": "word " * (LONGEST_TEXT // 5) + "x", "last": TEXT}
    path.write_text("\n".join(json.dumps({"id": id, "text": text}) for id, text in texts.items()), "utf-8")
    html, rows = run_files(shelf, [path])
    assert [row["id"] for row in rows] == ["short", "last"]
    assert "mixed.jsonl, line 2: document &quot;huge&quot;: The text has 250\u202f001 characters" in html


def test_long_texts_are_read_in_turns_and_come_out_in_order(tmp_path):
    asked = []

    class Recording(FakePredictor):
        def predict(self, documents, **options):
            asked.append([len(document.text) for document in documents])
            return super().predict(documents, **options)

    path = tmp_path / "long.jsonl"
    lengths = [TURN_CHARACTERS // 2, TURN_CHARACTERS // 2, 20, TURN_CHARACTERS * 2, 30, 40]
    texts = [f"{name} networks ".ljust(length, "x") for name, length in zip("abcdef", lengths, strict=True)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    _, rows = run_files(ModelShelf(MODELS, Recording), [path])
    assert [row["id"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert asked[1:] == [lengths[:2], lengths[2:3], lengths[3:4], lengths[4:]]  # after the warm-up


def test_uploads_may_go_while_they_are_read_and_earlier_ones_are_asked_for_again(shelf, tmp_path):
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]

    class Deleting(FakePredictor):
        def predict(self, documents, **options):
            for path in files:
                path.unlink(missing_ok=True)
            return super().predict(documents, **options)

    deleting = ModelShelf(MODELS, Deleting)
    deleting.warm_up()
    for path in files:
        path.write_text(TEXT, "utf-8")
    _, rows = run_files(deleting, files)
    assert [row["file"] for row in rows] == ["a.txt", "b.txt"]
    with pytest.raises(gr.Error, match=r"a\.txt is gone: uploads are deleted after 10 minutes"):
        run_files(shelf, files)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.exe", b"MZ", "a.exe cannot be read here: use one of"),
        ("a.txt.gz", b"", "a.txt.gz cannot be read here"),
        ("a.txt", b"a\x00", "a.txt: not a text file"),
        ("a.jsonl", b"", "a.jsonl: contains no documents; give a file with one document per line"),
        ("a.csv", b"x,y\n1,2\n", "a.csv, line 1: the header has x, y; it needs"),
    ],
)
def test_a_file_without_documents_is_a_toast(shelf, tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(gr.Error, match=sentence) as caught:
        run_files(shelf, [path])
    assert str(tmp_path) not in caught.value.message


def test_of_files_without_documents_the_first_is_explained_and_the_others_counted(shelf, tmp_path):
    files = [tmp_path / name for name in ("a.pptx", "b.pptx", "c.txt")]
    with pytest.raises(gr.Error, match=r"a\.pptx cannot .* 2 more could not be used either\."):
        run_files(shelf, files)


def test_no_file_and_too_many_are_toasts(shelf, tmp_path):
    with pytest.raises(gr.Error, match="No file is chosen"):
        run_files(shelf, None)
    with pytest.raises(gr.Error, match=f"There are {MOST_FILES + 1} files: give at most {MOST_FILES}"):
        run_files(shelf, [tmp_path / "a.txt"] * (MOST_FILES + 1))


def test_markup_in_a_file_is_shown_as_text(shelf, tmp_path):
    path = tmp_path / "evil.jsonl"
    path.write_text(json.dumps({"id": "<img src=x onerror=alert(1)>", "text": TEXT}), encoding="utf-8")
    html, _ = run_files(shelf, [path])
    assert "<img" not in html


def test_every_event_has_a_name_and_every_model_event_shares_a_queue(shelf):
    page = app.build_app(shelf)
    names = [function.api_name for function in page.fns.values()]
    assert all(isinstance(name, str) for name in names)
    assert len(set(names)) == len(names)
    queues = {function.api_name: function.concurrency_id for function in page.fns.values()}
    assert {queues[name] for name in ("predict", "compare", "predict_example_1", "draw_space")} == {"model"}
    assert queues["describe_model"] != "model"


@pytest.mark.parametrize(
    ("arguments", "environment", "host", "port"),
    [
        ([], {}, "127.0.0.1", 7860),
        ([], {"SPACE_ID": "a/b"}, "0.0.0.0", 7860),
        (["--host", "::1", "--port", "80"], {"SPACE_ID": "a/b"}, "::1", 80),
    ],
)
def test_the_page_is_private_unless_told_otherwise(arguments, environment, host, port):
    settings = app.read_settings(arguments, environment)
    assert (settings.host, settings.port) == (host, port)


@pytest.mark.parametrize(
    ("arguments", "environment", "address"),
    [
        ([], {}, ""),
        ([], {"KPDEMO_DOCUMENTATION": "https://example.org/docs"}, "https://example.org/docs"),
        ([], {"SPACE_ID": "a/b"}, "https://huggingface.co/spaces/a/b/blob/main/README.md"),
        (["--documentation", "http://x.org"], {"SPACE_ID": "a/b"}, "http://x.org"),
    ],
)
def test_the_documentation_has_an_address_where_it_is_told_or_in_a_space(arguments, environment, address):
    assert app.read_settings(arguments, environment).documentation == address


@pytest.mark.parametrize(
    ("arguments", "environment", "address"),
    [
        ([], {"KPDEMO_ADDRESS": "https://rate.example.org/"}, "https://rate.example.org"),
        (["--address", "http://x.org"], {"KPDEMO_ADDRESS": "https://rate.example.org"}, "http://x.org"),
        ([], {"KPDEMO_ADDRESS": "https://me-it.hf.space", "SPACE_ID": "me/it"}, "https://me-it.hf.space"),
        ([], {"SPACE_ID": "me/it"}, "https://ADDRESS-OF-THE-SPACE"),
        ([], {"KPDEMO_ADDRESS": ""}, "http://127.0.0.1:"),
    ],
)
def test_the_first_link_has_the_address_of_the_pages_where_it_is_told(arguments, environment, address):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = app.visitors_address(app.read_settings(arguments, environment), listener)
    assert found.startswith(address)
    assert not found.endswith("/")


def test_an_address_of_the_documentation_that_is_none_is_refused(capsys):
    with pytest.raises(SystemExit):
        app.read_settings(["--documentation", "javascript:alert(1)"], {})
    assert "start it with https://" in capsys.readouterr().err
