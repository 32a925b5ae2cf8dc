"""What a prediction looks like and what can be kept of it."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import kpdemo
from kpdemo.io.tables import BYTE_ORDER_MARK
from kpdemo.lines import with_title_line
from kpdemo.translation import use_language
from kpdemo.types import (
    Document,
    Keyphrase,
    Kind,
    Origin,
    Prediction,
    PredictionOptions,
    PredictionRequest,
    PredictionResult,
    RetrievalPrediction,
    RetrievedPassage,
    Style,
)
from kpdemo.ui.html import group_digits, score_html
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.results import (
    INLINE_LIMIT,
    answer_html,
    as_json,
    as_record,
    copies,
    families,
    keyphrases_csv,
    one_in,
    passages_csv,
    python_lines,
    shell_lines,
    text_html,
)
from tests.fakes import absent_keyphrases

PACKAGE_FOLDER = str(Path(kpdemo.__file__).parent.parent)
DOCUMENT = Document("The graph neural network learns.", title="Graph networks")
PRESENT = (
    Keyphrase("graph neural network", 0.912345678, ((20, 40),)),
    Keyphrase("graph", 0.5, ((0, 5), (20, 25))),
)


ABSENT = (
    Keyphrase(
        "drug discovery",
        0.4,
        (),
        Origin.BOTH,
        Kind.UNSEEN,
        ("molecules", "graph"),
        reason="Authors use it together with “molecules” (31 times).",
    ),
    Keyphrase("chemistry", 0.2),
)


def answer(
    present=PRESENT, document=DOCUMENT, *, absent=(), finds_absent=True, **options
) -> PredictionResult:
    question, prediction = (
        PredictionRequest(document, "default", **options),
        Prediction(present, absent, "en"),
    )
    return PredictionResult(question, prediction, "default", "cpu", 0.1437, finds_absent=finds_absent)


def test_json_holds_scores_and_every_span():
    assert json.loads(as_json(answer())) == {
        "language": "en",
        "present": [
            {"text": "graph neural network", "score": 0.912346, "spans": [[20, 40]]},
            {"text": "graph", "score": 0.5, "spans": [[0, 5], [20, 25]]},
        ],
        "absent": [],
        "warnings": [],
        "model": "default",
        "device": "cpu",
        "seconds": 0.144,
        "text": "Graph networks\n\nThe graph neural network learns.",
        "text_offset": 16,
    }


def test_json_tells_of_an_absent_keyphrase_what_the_model_tells():
    assert json.loads(as_json(answer(absent=ABSENT)))["absent"] == [
        {"text": "drug discovery", "score": 0.4, "kind": "unseen", "source": "both",
         "evidence": ["molecules", "graph"], "reason": ABSENT[0].reason},
        {"text": "chemistry", "score": 0.2},
    ]  # fmt: skip


def as_csv(given: PredictionResult) -> str:
    return keyphrases_csv(given).removeprefix(BYTE_ORDER_MARK)


def test_a_spreadsheet_is_told_that_the_letters_are_unicode():
    assert keyphrases_csv(answer()).encode()[:3] == codecs.BOM_UTF8


def test_csv_holds_a_keyphrase_a_row():
    rows = list(csv.DictReader(io.StringIO(as_csv(answer()))))
    present = {"kind": "present", "source": "", "evidence": "", "filler": "no"}
    assert rows == [
        {"keyphrase": "graph neural network", "score": "0.912346", "count": "1", "first": "20", **present},
        {"keyphrase": "graph", "score": "0.500000", "count": "2", "first": "0", **present},
    ]


def test_csv_holds_absent_keyphrases_under_the_present_ones():
    first = replace(PRESENT[0], evidence=("networks", "graphs"))
    [one, *_] = csv.DictReader(io.StringIO(as_csv(answer((first,)))))
    assert one["evidence"] == "networks; graphs"
    _, _, *rows = csv.DictReader(io.StringIO(as_csv(answer(absent=ABSENT))))
    assert [tuple(row.values()) for row in rows] == [
        ("drug discovery", "0.400000", "0", "", "unseen", "both", "molecules; graph", "no"),
        ("chemistry", "0.200000", "0", "", "absent", "", "", "no"),
    ]


def test_csv_survives_quotes_and_line_ends():
    odd = 'a "b", c\nd'
    [row] = csv.DictReader(io.StringIO(as_csv(answer((Keyphrase(odd, 1.0, ((0, 1),)),))), newline=""))
    assert row["keyphrase"] == odd


def test_no_text_in_csv_runs_in_a_spreadsheet_and_json_has_it_as_it_is():
    link = Keyphrase('=HYPERLINK("http://x")', 0.5, ((0, 1),), evidence=("@sum", "b"))
    [row] = csv.DictReader(io.StringIO(as_csv(answer((link,)))))
    assert (row["keyphrase"], row["evidence"]) == ('\'=HYPERLINK("http://x")', "'@sum; b")
    assert json.loads(as_json(answer((link,))))["present"][0]["text"] == link.text
    passage = RetrievedPassage("+1", "-2", "Waves.", ("=a", "b"), "en", -0.25)
    retrieved = RetrievalPrediction((passage,), Prediction((), ()), Prediction((), ()))
    [told] = csv.DictReader(io.StringIO(passages_csv(retrieved).removeprefix(BYTE_ORDER_MARK)))
    assert (told["passage"], told["title"], told["keyphrases"]) == ("'+1", "'-2", "'=a; b")
    assert told["score"] == "-0.250000"


def test_a_score_is_a_bar_and_two_decimals():
    assert score_html(0.847).endswith("0.84</span>")
    assert score_html(0.0049) == '<span class="score">&lt;0.01</span>'
    assert "width:85%" in score_html(0.847)
    assert "width:100%" in score_html(1.2)
    assert "width:0%" in score_html(-0.1)


def test_counts_have_narrow_spaces():
    assert group_digits(1048576) == "1\u202f048\u202f576"


def test_small_print_has_language_model_time_and_device():
    assert ">English · model default · 0.14 s on CPU<" in answer_html(answer())


def test_figures_have_the_decimal_mark_of_the_reader_and_what_is_kept_a_point():
    given = answer(absent=ABSENT, threshold=0.25)
    unlikely = answer((), threshold=0.25)
    english = answer_html(given)
    with use_language("de"):
        german = answer_html(given)
        assert "0,25" in answer_html(unlikely)
        assert score_html(0.004) == '<span class="score">&lt;0,01</span>'
        assert "graph neural network · 0,91" in text_html(given)
        kept = as_json(given), keyphrases_csv(given), shell_lines(given.question)
    assert kept == (as_json(given), keyphrases_csv(given), shell_lines(given.question))
    assert "0.91" in english
    assert "0.14 s" in english
    assert "0,91" in german
    assert "0,14 s" in german
    assert not re.search(r"\d\.\d", re.sub("<[^>]*>", "", german.partition('<details id="predict-code"')[0]))


def test_what_a_score_means_is_said_where_it_is_shown():
    assert "the chance that the authors of such a text would choose the phrase" in answer_html(answer())
    assert "only ranks the phrases of this text" in answer_html(replace(answer(), model="tfidf"))


def rows(html: str) -> list[str]:
    """The phrases that are in sight, in order."""
    shown = re.sub("<details>.*?</details>", "", html, flags=re.DOTALL)
    return re.findall('<span class="phrase" dir="auto">(.*?)</span>', shown)


def test_a_family_of_nested_phrases_is_one_row_with_its_best_member():
    html = answer_html(answer())
    assert rows(html) == ["graph neural network"]
    [folded] = re.findall("<details><summary[^>]*>1 shorter</summary>.*?</details>", html)
    assert '<span class="phrase" dir="auto">graph</span>' in folded
    assert 'href="#kp-0-5" data-places="kp-0-5 kp-20-25"' in folded
    assert "2\u202f×</a>" in folded


def test_a_filler_is_less_likely_in_list_and_text_and_files():
    document = Document("The neural network learns drugs.")
    present = (
        Keyphrase("neural network", 0.9, ((4, 18),)),
        Keyphrase("drugs", 0.5, ((26, 31),), filler=True),
    )
    given = answer(present, document, absent=(replace(ABSENT[1], filler=True),))
    html = answer_html(given)
    likely, less = html.split("Less likely</p>")
    assert (rows(likely), rows(less)) == (["neural network"], ["drugs"])
    assert "Too unlikely by the model's own rule" in html
    assert re.findall(
        '<mark[^>]* class="kp kp-1 filler"[^>]* title="drugs · 0.50 · less likely"', text_html(given)
    )
    assert "Less likely" not in answer_html(answer())
    assert [row.get("filler") for row in json.loads(as_json(given))["present"]] == [None, True]
    assert [row["filler"] for row in csv.DictReader(io.StringIO(as_csv(given)))][:2] == ["no", "yes"]


def test_a_list_of_fillers_only_says_that_none_is_likely():
    assert "None is likely; the nearest are" in answer_html(answer((replace(PRESENT[0], filler=True),)))


def test_no_keyphrase_is_said_in_a_sentence():
    assert "No keyphrase was found. Add some sentences" in answer_html(answer(()))
    assert "No phrase of the text was found." in answer_html(answer((), absent=ABSENT))


def test_no_score_is_shown_as_one_that_it_does_not_reach():
    given = answer((Keyphrase("neural networks", 0.2995, ((0, 15),)),))
    assert "0.29</span>" in answer_html(given)
    assert " · 0.29" in text_html(given)  # of the mark
    assert "0.30" not in answer_html(given) + text_html(given)


def test_a_threshold_that_hides_all_keyphrases_is_blamed_for_it():
    html = answer_html(answer((), threshold=0.9))
    assert "No phrase of the text reaches the lowest score 0.9: lower it." in html
    assert "None reaches the lowest score 0.9." in html
    assert "was found" not in html
    assert "only phrases that are in the text" in answer_html(answer(finds_absent=False, threshold=0.9))


def test_a_threshold_of_0_is_not_blamed_since_nothing_is_below():
    html = answer_html(answer((), threshold=0.0))
    assert "No keyphrase was found. Add some sentences" in html
    assert "None was found." in html
    assert "reaches the lowest score" not in html


def test_without_absent_keyphrases_the_page_says_whether_the_model_could_have_some():
    assert "None was found." in answer_html(answer())
    assert "This model gives only phrases that are in the text." in answer_html(answer(finds_absent=False))


def test_absent_candidates_that_are_too_unlikely_are_not_called_missing():
    prediction = Prediction(PRESENT, absent_candidates=("drugs", "cells"))
    html = answer_html(replace(answer(), prediction=prediction))
    assert "None that the model trusts. Under Options you may ask for those that are mostly wrong." in html


def test_a_text_of_no_known_language_is_not_told_that_its_language_has_no_absent_keyphrases():
    unknown = replace(answer(), prediction=Prediction(PRESENT), languages=frozenset({"en"}))
    assert "None was found." in answer_html(unknown)


def test_an_absent_keyphrase_says_how_often_it_is_right_and_why_it_is_there():
    html = answer_html(answer(absent=ABSENT))
    assert "Not in the text · about 1 in 3 is right" in html
    first, second = re.findall(r"<li>.*?</li>", html.partition('id="predict-absent"')[2])
    assert "drug discovery" in first
    assert "<span>1 in 2</span>" in first
    assert f'<p dir="auto">{ABSENT[0].reason}</p>' in first
    assert "Why" not in second
    assert "1 in" not in answer_html(replace(answer(absent=ABSENT), model="me/mine"))


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "fewer than 1 in 1000"),
        (0.052, "about 1 in 19"),
        (0.5, "about 5 in 10"),
        (0.99, "about 9 in 10"),
    ],
)
def test_a_share_is_said_in_words(share, words):
    assert one_in(share) == words


def test_fifty_absent_keyphrases_are_there_and_most_of_them_folded():
    html = answer_html(answer(absent=absent_keyphrases(50)))
    shown, folded = html.split("<details><summary>45 more</summary>")
    assert (shown.count('class="chip"'), folded.count('class="chip"')) == (5, 45)
    assert "more</summary>" not in answer_html(answer(absent=absent_keyphrases(5)))


def test_what_is_copied_is_the_best_of_each_family_in_several_forms():
    given = answer((*PRESENT, Keyphrase("R&D, {50 %}", 0.4, ((0, 5),))), absent=ABSENT)
    found = {name: content for name, _, content in copies(given, families(given.prediction))}
    assert found == {
        "": "graph neural network; R&D, {50 %}",
        "lines": "graph neural network\nR&D, {50 %}",
        "bibtex": r"keywords = {graph neural network, R\&D 50 \%}",
        "all": "graph neural network; R&D, {50 %}; drug discovery; chemistry",
    }
    assert "all" not in [name for name, _, _ in copies(answer(), families(answer().prediction))]


def test_what_was_not_read_is_said_above_the_text():
    body = "Kernels compare graphs.\n\nReferences\n[1] A. Bee. Trees for kernels. 2001.\n"
    html = text_html(answer((), Document(body)))
    told = "The references (from character 25) were left out. What was left out is folded or grey here."
    assert f'<p class="small" id="predict-left-out">{told}</p>' in html
    assert "References, left out: " in html
    assert "left-out" not in text_html(answer())


def test_nothing_in_a_result_escapes_its_place():
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    document = Document(evil, title=evil)
    absent = (Keyphrase(evil, 0.5, reason=evil),)
    given = answer((Keyphrase(evil, 0.5, ((0, 8),)),), document, absent=absent)
    html = answer_html(given) + text_html(given)
    assert "<script" not in html
    assert "<img" not in html


@pytest.fixture
def recording_python(tmp_path):
    """A folder whose `python` writes down its arguments and its input."""
    fake = tmp_path / "python"
    record = (
        "import json,sys;"
        "json.dump([sys.argv[1:], sys.stdin.buffer.read().decode()], open(sys.argv[0]+'.json','w'))"
    )
    fake.write_text(f"#!{sys.executable}\n{record}\n", encoding="utf-8")
    fake.chmod(0o755)
    return tmp_path


def run_shell(lines: str, folder) -> tuple[list[str], str]:
    subprocess.run(
        ["bash", "-c", lines], env={"PATH": f"{folder}:/usr/bin:/bin"}, check=True, stdin=subprocess.DEVNULL
    )
    arguments, text = json.loads((folder / "python.json").read_text(encoding="utf-8"))
    return arguments, text


@pytest.mark.parametrize(
    "body",
    [
        "Plain text.",
        'It\'s $HOME, `id`, "quoted" \\ and !bang',
        "%s 100% \\n \\\\ -n",
        "-e a dash first",
        "two\n\nparts 😀 שלום",
        "a line end at the end\n",
        "two at the end, and a space \n\n ",
    ],
)
def test_the_command_passes_exactly_the_text_and_the_options(recording_python, body):
    title = "-rf it's; $(touch x)"
    question = PredictionRequest(Document(body, title=title), "default", top_k=7)
    arguments, text = run_shell(shell_lines(question), recording_python)
    assert arguments == [
        "-m", "kpdemo", "predict", "-", f"--title={title}", "--model=default", "--top-k=7", "--json",
    ]  # fmt: skip
    assert text == body


@pytest.mark.parametrize("threshold", [0.25, 0.123456789, 1e-7, 0.0])
def test_the_command_passes_exactly_the_threshold(recording_python, threshold):
    arguments, _ = run_shell(
        shell_lines(PredictionRequest(DOCUMENT, "yake", threshold=threshold)), recording_python
    )
    [passed] = [word.removeprefix("--threshold=") for word in arguments if "threshold" in word]
    assert float(passed) == threshold


def test_command_and_program_have_the_options_of_the_question():
    question = PredictionRequest(DOCUMENT, "yake", nested=False)
    assert shell_lines(question).endswith("--model=yake --no-nested --json")
    assert ".predict([document], nested=False)" in python_lines(question)
    further = PredictionOptions(
        longest=3, exclude=("a b",), candidates=("c",), seed_keywords=("d",), style=Style.INDEXER
    )
    question = PredictionRequest(DOCUMENT, "default", top_k=4, further=further)
    options = "--longest=3 --style=indexer '--exclude=a b' --candidates=phrases.txt --seed-keyword=d --json"
    assert shell_lines(question).endswith(f"--model=default --top-k=4 {options}")
    fields = "top_k=4, longest=3, exclude=['a b'], candidates=['c'], seed_keywords=['d'], style='indexer')"
    assert f".predict([document], {fields}" in python_lines(question)


@pytest.mark.parametrize("title", ["Graph kernels", ""], ids=["a title apart", "a title line"])
def test_the_command_prints_what_the_page_offers_as_json(tmp_path, title):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    body = "Graph kernels compare molecules,\nand *it's* 50 % cheaper.\n"
    document = Document(body, title=title) if title else Document(f"Kernels for graphs\n{body}")
    question = PredictionRequest(document, "first", top_k=3)
    assert with_title_line(question.document).body == body
    shelf = ModelShelf({"first": "first phrases"}, kpdemo.load_predictor)
    shown = as_record(shelf.answer(question))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": PACKAGE_FOLDER}
    printed = json.loads(subprocess.check_output(["bash", "-c", shell_lines(question)], env=environment))
    assert printed | {"seconds": 0} == shown | {"seconds": 0}


@pytest.mark.parametrize("body", ["x" * (INLINE_LIMIT + 1), "bell \x07", "old line end \r here"])
def test_a_text_that_is_long_or_odd_comes_from_a_file(body):
    question = PredictionRequest(Document(body), "default")
    assert shell_lines(question) == "python -m kpdemo predict document.txt --model=default --json"
    assert 'Path("document.txt")' in python_lines(question)
    assert "Save the text as" in text_html(answer((), Document(body)))


class RecordingPredictor:
    asked = None

    def predict(self, documents, **options):
        type(self).asked = (documents, options)
        return [Prediction(PRESENT, ABSENT)]


@pytest.mark.parametrize("options", [{}, {"top_k": 3}, {"threshold": 0.5}])
@pytest.mark.parametrize("length", [40, INLINE_LIMIT + 40])
@pytest.mark.parametrize("title", ["A 'title'", ""], ids=["a title apart", "a title line"])
def test_the_program_asks_the_same_question(monkeypatch, tmp_path, capsys, options, length, title):
    body = 'It\'s a "text" with {braces} and 😀.\n'.ljust(length, "x")
    body = body if title else f"Odd texts\n{body}"
    (tmp_path / "document.txt").write_bytes(body.encode())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kpdemo, "load_predictor", {"default": RecordingPredictor()}.__getitem__)
    question = PredictionRequest(Document(body, title=title), "default", **options)
    exec(python_lines(question), {})
    assert with_title_line(question.document).title == (title or "Odd texts")
    assert RecordingPredictor.asked == ([with_title_line(question.document)], options)
    printed = capsys.readouterr().out
    assert "0.912346  graph neural network  ((20, 40),)" in printed
    assert "0.400000  drug discovery  absent" in printed
