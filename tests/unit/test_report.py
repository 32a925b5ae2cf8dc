"""The shape of the JSON that scripts rely on, and the Markdown that people read."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from kpdemo import __version__
from kpdemo.cli import tables
from kpdemo.evaluation.protocol import evaluate
from kpdemo.evaluation.report import Report, interval_note, report_to_json, report_to_markdown
from kpdemo.evaluation.runs import Run, compare_runs, runs_to_latex
from kpdemo.types import Document, Keyphrase, Prediction
from tests.latex_tables import read_tables

AT_5_AND_M = {"P@5", "R@5", "F1@5", "P@M", "R@M", "F1@M"}


def small_report(copies=1):
    # one right present keyphrase of two predicted; no absent gold; the second document has no gold
    golds = [
        Document(body="Neural networks learn.", id="a", keyphrases=("neural network",)),
        Document(body="Empty."),
    ]
    found = Prediction(
        present=(Keyphrase("neural networks", 0.9, ((0, 15),)), Keyphrase("learn", 0.1, ((16, 21),)))
    )
    figures = evaluate(golds * copies, [found, Prediction(present=())] * copies)
    return Report({"tiny": figures}, model="fake", device="cpu", seconds=1.5, identity="abc")


def test_the_json_has_the_promised_shape():
    written = json.loads(json.dumps(report_to_json(small_report()), allow_nan=False))
    assert set(written) == {"datasets", "model", "identity", "device", "seconds"}
    tiny = written["datasets"]["tiny"]
    assert set(tiny) == {
        "documents", "not_in_text", "with_gold", "present", "absent", "pooled", "interval", "languages",
    }  # fmt: skip
    assert set(tiny["languages"]) == {"en"}
    assert set(tiny["languages"]["en"]) == set(tiny) - {"languages"}
    assert set(tiny["present"]) == set(tiny["absent"]) == {"skip_empty", "count_empty"}
    for convention in ("skip_empty", "count_empty"):
        assert set(tiny["present"][convention]) == AT_5_AND_M
        assert set(tiny["absent"][convention]) == AT_5_AND_M | {"R@50"}
    assert set(tiny["pooled"]) == {"P@M", "R@M", "F1@M"}
    assert {kind: set(tiny["interval"][kind]["count_empty"]) for kind in ("present", "absent")} == {
        "present": {"F1@5", "F1@M"},
        "absent": {"F1@5", "F1@M", "R@50"},
    }
    assert set(tiny["interval"]["pooled"]) == {"F1@M"}


def test_the_json_holds_fractions_of_one():
    written = report_to_json(small_report())
    tiny = written["datasets"]["tiny"]
    assert (tiny["documents"], tiny["with_gold"]) == (2, {"present": 1, "absent": 0, "pooled": 1})
    # P@5 1/5, R@5 1: F1 1/3; P@M 1/2, R@M 1: F1 2/3; over two documents half of P and R
    assert tiny["present"]["skip_empty"] == {
        "P@5": 0.2, "R@5": 1.0, "F1@5": 2 * 0.2 / 1.2, "P@M": 0.5, "R@M": 1.0, "F1@M": 2 * 0.5 / 1.5,
    }  # fmt: skip
    assert tiny["present"]["count_empty"]["P@M"] == 0.25
    # without stems "neural networks" is not "neural network"
    assert tiny["pooled"] == {"P@M": 0.0, "R@M": 0.0, "F1@M": 0.0}
    assert (written["model"], written["device"], written["seconds"]) == ("fake", "cpu", 1.5)
    assert written["identity"] == "abc"


def test_a_figure_has_its_interval_where_documents_differ():
    interval = report_to_json(small_report(copies=2))["datasets"]["tiny"]["interval"]
    assert interval["present"]["skip_empty"] == {"F1@5": None, "F1@M": None}  # those with gold are alike
    low, high = interval["present"]["count_empty"]["F1@5"]
    assert 0 <= low < 0.5 * 1 / 3 < high <= 1
    assert interval["absent"]["count_empty"] == {"F1@5": None, "F1@M": None, "R@50": None}


def test_a_single_document_with_gold_has_no_interval_by_either_convention():
    interval = report_to_json(small_report())["datasets"]["tiny"]["interval"]
    none = {"F1@5": None, "F1@M": None}
    assert interval["present"] == {"skip_empty": none, "count_empty": none}
    told = interval_note(small_report().datasets)
    assert told.endswith(" tiny: 1 document has present gold keyphrases; from one there is no interval.")


def test_undefined_figures_are_null():
    absent = report_to_json(small_report())["datasets"]["tiny"]["absent"]
    assert set(absent["skip_empty"].values()) == set(absent["count_empty"].values()) == {None}


def test_the_markdown_names_each_convention_and_shows_three_decimals():
    lines = report_to_markdown(small_report()).splitlines()
    captions = [line for line in lines if line.startswith("Macro")]
    assert ["skip_empty" in caption for caption in captions] == [True, False]
    assert ["count_empty" in caption for caption in captions] == [False, True]
    [first, second] = [line for line in lines if line.startswith("| tiny")]
    last = report_to_markdown(small_report(copies=2)).splitlines()[-1]
    assert first.startswith("| tiny | 2 | 0.200 / 1.000 / 0.333 | 0.500 / 1.000 / 0.667 | – | – | – |")
    assert second.startswith("| tiny | 2 | 0.100 / 0.500 / 0.167 | 0.250 / 0.500 / 0.333 | – | – | – |")
    assert last.startswith("| tiny | 4 | 0.100 / 0.500 / 0.167 ±0.306 | ")


@pytest.mark.parametrize("count", [1, 2])
def test_in_a_terminal_of_80_columns_no_head_is_cut(monkeypatch, count):
    written = StringIO()
    monkeypatch.setattr(tables, "open_console", lambda: Console(file=written, width=80))
    report = small_report(copies=2)
    if count == 1:
        tables.show_report(report)
    else:
        runs = [Run("a-long-name.jsonl", report), Run("another-name.jsonl", report)]
        tables.show_runs(compare_runs(runs))
    assert "±0.306" in written.getvalue()
    assert "…" not in written.getvalue()


def test_every_row_has_as_many_cells_as_the_header():
    figures = small_report().datasets["tiny"]
    written = report_to_markdown(Report({"a|b\nc": figures, "d": evaluate([], [])}))
    rows = [line.replace("\\|", "") for line in written.splitlines() if line.startswith("|")]
    assert len(rows) == 2 * 4
    assert {row.count("|") for row in rows} == {9}


def test_documents_without_gold_are_named_where_there_are_some():
    report = replace(small_report(), without_gold={"tiny": ["b"]})
    assert report_to_json(report)["datasets"]["tiny"]["without_gold"] == ["b"]


def latex_of(*runs, convention="skip_empty"):
    return read_tables(f"{runs_to_latex(runs, convention, made_by='The page Evaluate')}\n")


@pytest.mark.parametrize(
    ("convention", "figures", "said"),
    [
        ("skip_empty", [".333", ".667"], "the documents that have gold of the kind, as in SimCKP"),
        ("count_empty", [".167", ".333"], "those without gold of the kind counted as zero"),
    ],
)
def test_latex_has_the_figures_of_one_convention_and_names_it(convention, figures, said):
    present, absent = latex_of(Run("", small_report()), convention=convention)
    assert present.groups == [("Present", 1), ("tiny", 2)]
    assert present.heads == ["Model", "F1@5", "F1@M"]
    assert present.rows == {"fake": figures}
    assert absent.groups == [("Absent", 1), ("tiny", 3)]
    assert absent.heads == ["Model", "F1@5", "F1@M", "R@50"]
    assert absent.rows == {"fake": ["--"] * 3}
    for table, kind, with_gold in ((present, "present", 1), (absent, "absent", 0)):
        assert table.comments[0] == (f"The page Evaluate, version {__version__}.")
        assert said in table.comments[1]
        assert table.comments[2:4] == [
            "fake: identity abc.",
            f"tiny: documents 2, with {kind} gold keyphrases {with_gold}.",
        ]
    assert "--: no document of tiny has absent gold keyphrases." in absent.comments
    assert not any(comment.startswith("--") for comment in present.comments)


def test_latex_says_of_how_many_documents_there_was_no_prediction():
    report = replace(small_report(), without_prediction={"tiny": ["b"]})
    for table in latex_of(Run("", report)):
        assert 'fake: tiny, document "b": no prediction; counted as empty.' in table.comments


def test_latex_has_data_sets_side_by_side_with_their_languages_and_a_row_for_each_run():
    names = ["a_1 & b%", "中文#2"]
    german = Document(body="Neuronale Netze lernen.", keyphrases=("Netze",), language="de")
    english = Document(body="Nets learn.", keyphrases=("nets", "graphs"))
    found, nothing = Prediction(present=(Keyphrase("Netze", 1.0, ()),)), Prediction(present=())
    datasets = {
        "good": {
            names[0]: evaluate([german], [found]),
            names[1]: evaluate([german, english], [found, nothing]),
        },
        "none": {
            names[0]: evaluate([german], [nothing]),
            names[1]: evaluate([german, english], [nothing] * 2),
        },
    }
    runs = [Run(f"{name}_{{^}}~.jsonl", Report(of_run)) for name, of_run in datasets.items()]
    present, absent = latex_of(*runs)
    groups = [*names, "中文#2, German", "中文#2, English"]
    assert present.groups == [("Present", 1), *((name, 2) for name in groups)]
    right, half = [".333", "1.000"], [".167", ".500"]  # P@5 is 1/5, or a half of that; R 1, or a half
    assert present.rows == {
        "good_{^}~.jsonl": [*right, *half, *right, ".000", ".000"],
        "none_{^}~.jsonl": [".000"] * 8,
    }
    assert absent.rows["good_{^}~.jsonl"] == [*["--"] * 3, *[".000"] * 3, *["--"] * 3, *[".000"] * 3]
    undefined = "--: no document of a_1 & b%, 中文#2, German has absent gold keyphrases."
    assert undefined in absent.comments
