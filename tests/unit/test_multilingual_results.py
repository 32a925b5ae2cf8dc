"""A model in several languages by RAMKG's measure, and the page with the paper's figures beside it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from shutil import copytree

import pytest

from kpdemo.cli import main
from kpdemo.errors import ConfigError, InputError, LanguageError
from kpdemo.evaluation.metrics import SetScores
from kpdemo.experiments.measuring import (
    difference,
    measure_languages,
    refusal_notes,
    refusals_of,
    rounds_result,
    with_and_without,
)
from kpdemo.experiments.pages import write_page
from kpdemo.experiments.results import Results
from kpdemo.types import Document, Keyphrase, Prediction, RetrievalPrediction
from tests.tiny_multilingual import CHINESE, FRENCH, KOREAN

DOCS = Path(__file__).parents[2] / "docs"


class Fixed:
    """Gives the first of the gold keyphrases and "x", and reads no Korean."""

    name = "fixed"
    device = "cpu"

    def predict(self, documents, *, top_k=None, threshold=None):
        if any(document.language == "ko" for document in documents):
            raise LanguageError("No Korean.")
        return [
            Prediction((Keyphrase(document.keyphrases[0], 1.0, ((0, 1),)), Keyphrase("x", 0.5, ((0, 1),))))
            for document in documents
        ]


def test_each_language_counts_apart_and_the_average_by_documents():
    done = []
    documents = [FRENCH, CHINESE, Document("Un graphe.", keyphrases=("graphe", "x"), language="fr"), KOREAN]
    found = measure_languages(documents, Fixed(), done.append)
    f1 = {code: figures["pooled"]["F1@M"] for code, figures in found["languages"].items()}
    assert f1 == {"fr": pytest.approx(0.75), "ko": 0.0, "zh": pytest.approx(0.5)}
    assert found["pooled"]["F1@M"] == pytest.approx((1.0 + 0.5 + 0.5 + 0.0) / 4)
    assert {code: figures["refused"] for code, figures in found["languages"].items()} == {
        "fr": 0,
        "ko": 1,
        "zh": 0,
    }
    assert found["languages"]["ko"]["reasons"] == {"No Korean.": 1}
    assert sum(done) == 4
    assert found["languages"]["zh"]["pooled_error"] is None


@pytest.mark.parametrize("measured", [measure_languages, with_and_without])
def test_the_language_of_most_documents_is_for_measuring_and_no_model_is_told_it(measured):
    class Listening(Helped):
        def predict_with_passages(self, documents, **options):
            told.extend(document.language for document in documents)
            return super().predict_with_passages(documents, **options)

    told: list[str] = []
    english = Document("We compare the kernels of graphs with those of trees.", keyphrases=("kernels",))
    german = Document("Wir vergleichen die Kerne von Graphen mit denen von Bäumen.", keyphrases=("Kerne",))
    found = measured([english, german, english, FRENCH], Listening(), lambda count: None)
    assert told == ["en", "de", "en", "fr"]  # each as it reads by itself, also the German one among English
    assert found["languages"].keys() == {"en", "fr"}


def test_what_passages_add_has_student_s_interval_and_none_where_nothing_varies():
    def added(*values: float) -> dict[str, float | None] | None:
        return difference([SetScores(0, 0, value) for value in values], [SetScores(0, 0, 0.0)] * len(values))

    assert added(0.1, 0.2, 0.6) == {  # t of two degrees of freedom: 4.3027
        "mean": pytest.approx(0.3),
        "low": pytest.approx(0.3 - 4.3027 * math.sqrt(0.07 / 3), abs=1e-4),
        "high": pytest.approx(0.3 + 4.3027 * math.sqrt(0.07 / 3), abs=1e-4),
    }
    assert added(0.3) == {"mean": 0.3, "low": None, "high": None}
    assert difference([None], [None]) is None


def test_the_page_says_what_a_dash_stands_for(tmp_path):
    found = measure_languages([FRENCH, KOREAN], Fixed(), lambda count: None)
    results = Results(tmp_path / "figures")
    results.write("ramkg-fixed", {"kind": "ramkg", "model": "fixed", "datasets": {"papers": found}})
    del found["languages"]["ko"]["reasons"]  # as figures were stored once
    results.write("ramkg-older", {"kind": "ramkg", "model": "older", "datasets": {"papers": found}})
    write_page(results)
    page = results.page.read_text(encoding="utf-8")
    assert "| – |" in page
    count = "refused 1 of the 1 documents of papers in Korean, which count as having no keyphrases"
    assert f"`fixed` {count}" in page
    assert f"`older` {count}.\n" in page


def test_the_page_tells_the_three_commonest_reasons_and_how_many_more():
    reasons = [
        f"No {word}." for word in ("verbs", "nouns", "nouns", "commas", "verbs", "letters", "verbs", "ends")
    ]
    told = refusals_of(map(InputError, reasons))
    assert (told["refused"], len(told["reasons"])) == (8, 5)
    note = refusal_notes([("fixed", "papers", told | {"documents": 9})])
    assert note.endswith("keyphrases: 3 × “No verbs.”; 2 × “No nouns.”; 1 × “No commas.”; and 2 more")


def test_the_command_writes_figures_and_a_page_beside_the_paper_s(tmp_path):
    gold = tmp_path / "papers.jsonl"
    rows = [
        {
            "id": document.id,
            "title": document.title,
            "abstract": document.body,
            "keyphrases": document.keyphrases,
            "language": document.language,
        }
        for document in (FRENCH, CHINESE)
    ]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    output = tmp_path / "multilingual"
    for model in ("first", "textrank"):
        call = ["experiments", "ramkg", "--gold", str(gold), "--model", model, "--output", str(output)]
        assert main(call) == 0
    stored = json.loads((output / "ramkg-first.json").read_text(encoding="utf-8"))
    assert stored["datasets"]["papers"]["languages"]["fr"]["documents"] == 1
    page = (tmp_path / "multilingual.md").read_text(encoding="utf-8")
    assert "## papers" in page
    assert "|  | French (1) | Chinese (1) |" in page
    assert "| textrank |" in page
    assert "| RAMKG + RGIT | 43.30 | 46.64 | 40.86 | 59.87 | 33.15 | 28.00 |" in page
    assert "| Kea | 11.92 | 16.11 | 11.05 | 18.81 | – | – |" in page


class Helped:
    """Finds the first gold keyphrase without passages and all of them with, and reads no Korean."""

    name = "helped"
    device = "cpu"
    languages = frozenset({"fr"})

    def predict(self, documents, *, top_k=None, threshold=None):
        return [answer.prediction for answer in self.predict_with_passages(documents)]

    def predict_with_passages(self, documents, *, top_k=None, threshold=None):
        if any(document.language == "ko" for document in documents):
            raise LanguageError("No Korean.")

        def found(texts):
            return Prediction(tuple(Keyphrase(text, 1.0, ((0, 1),)) for text in texts))

        return [
            RetrievalPrediction((), found(document.keyphrases), found(document.keyphrases[:1]))
            for document in documents
        ]


def test_what_passages_add_is_told_with_its_interval():
    documents = [Document("Un graphe.", keyphrases=("a", "b"), language="fr") for _ in range(4)]
    found = with_and_without(documents, Helped(), lambda count: None)["languages"]["fr"]
    assert found["with"]["pooled"]["F1@M"] == 1
    assert found["without"]["pooled"]["F1@M"] == pytest.approx(2 / 3)
    assert found["difference"] == {"mean": pytest.approx(1 / 3), "low": None, "high": None}  # all the same
    mixed = [Document("Un graphe.", keyphrases=("a", "b")[: 1 + n % 2], language="fr") for n in range(40)]
    spread = with_and_without(mixed, Helped(), lambda count: None)["languages"]["fr"]["difference"]
    assert 0 < spread["low"] < spread["mean"] < spread["high"] < 1 / 3


def test_passages_add_nothing_to_what_the_model_refuses(tmp_path):
    french, without_gold = (
        Document("Un graphe.", keyphrases=gold, language="fr") for gold in (("a", "b"), ())
    )
    german = Document("Ein Graph.", language="de")
    found = with_and_without([french, KOREAN, without_gold, german], Helped(), lambda count: None)
    languages = found["languages"]
    for way in ("with", "without"):
        assert [languages[code][way]["refused"] for code in ("fr", "ko")] == [0, 1]
        assert languages["ko"][way]["reasons"] == {"No Korean.": 1}
    assert languages["fr"]["with"]["pooled"]["F1@M"] == 1
    assert languages["de"]["difference"] is None
    results = Results(tmp_path / "figures")
    stored = {
        "model": "helped",
        "files": [],
        "machine": "a CPU",
        "passages": 3,
        "datasets": {"papers": found},
    }
    results.write("retrieval-helped", {"kind": "retrieval"} | stored)
    write_page(results)
    page = results.page.read_text(encoding="utf-8")
    assert "| papers, Korean (1) | – | – | – |" in page
    assert re.search(r"\| papers, French \(2\) \|.*\| \+33\.3 \|\n", page)  # one document has no interval
    assert "| papers, Korean, with passages | – | – | – | – |" in page
    assert "`helped` refused 1 of the 1 documents of papers, Korean, which count as having no" in page
    assert "1 × “No Korean.”" in page


def test_a_file_whose_name_has_a_bar_in_it_has_rows_of_as_many_cells_as_the_head(tmp_path):
    found = with_and_without([FRENCH], Helped(), lambda count: None)
    told = {"model": "helped", "files": [], "machine": "a CPU", "passages": 3, "datasets": {"a|b": found}}
    results = Results(tmp_path / "figures")
    results.write("retrieval", {"kind": "retrieval", **told})
    write_page(results)
    page = results.page.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| a")]
    assert [row.replace("\\|", "").count("|") for row in rows] == [5, 6, 6]


def test_rounds_stand_beside_the_paper_s(tmp_path):
    recall = {str(k): 0.8 for k in (1, 2, 5, 10, 20)}
    rounds = {
        "best": 2,
        "rounds": [
            {
                "round": 1,
                "recall": recall,
                "pseudo_pairs": 1_234,
                "label_accuracy": 0.5,
                "base_f1": 0.1,
                "f1": 0.2,
            },
            {"round": 2, "recall": recall | {"5": 0.9}},
        ],
    }
    (tmp_path / "rgit.json").write_text(json.dumps(rounds), encoding="utf-8")
    results = Results(tmp_path / "figures")
    results.write("rounds", rounds_result(tmp_path / "rgit.json"))
    write_page(results)
    page = results.page.read_text(encoding="utf-8")
    assert "misses 50 % fewer passages at 5" in page
    assert "| pseudo pairs, ours | 1,234 | – |" in page
    assert "| RAMKG + RGIT (paper) | 45.8 | 58.3 | 72.4 |" in page
    with pytest.raises(ConfigError, match="cannot be read"):
        rounds_result(tmp_path / "none.json")


_RECALL = {str(k): 1.0 for k in (1, 2, 5, 10, 20)}
_MINED = {"pseudo_pairs": 1, "label_accuracy": None, "base_f1": 0.1, "f1": 0.2}


def one_round(best: object = 1, **values: object) -> dict[str, object]:
    return {"best": best, "rounds": [{"round": 1, "recall": _RECALL} | values]}


@pytest.mark.parametrize(
    "told",
    [
        [],
        {},
        one_round(recall={"5": 1.0}),
        one_round(1.0),
        one_round(True),
        one_round(0),
        one_round(2),
        one_round(round="1"),
        one_round(recall=_RECALL | {"5": "1.0"}),
        one_round(recall=_RECALL | {"5": None}),
        one_round(recall=_RECALL | {"5": math.nan}),
        *(one_round(**_MINED | {name: value}) for name in ("pseudo_pairs", "f1") for value in (None, "1")),
        one_round(pseudo_pairs=1, base_f1=0.1, f1=0.2),
    ],
)
def test_a_file_that_is_no_rounds_is_refused_before_anything_is_measured(tmp_path, capsys, told):
    path, output = tmp_path / "rounds.json", tmp_path / "figures"
    path.write_text(json.dumps(told), encoding="utf-8")
    gold = tmp_path / "papers.jsonl"
    gold.write_text('{"id": "a", "text": "Un graphe.", "keyphrases": ["graphe"]}\n', encoding="utf-8")
    call = ["experiments", "ramkg", "--gold", str(gold), "--model", "first", "--rounds", str(path)]
    assert main([*call, "--output", str(output)]) == 2
    assert f"{path} has no rounds: give the rgit.json" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("name", ["results", "results_multilingual"])
def test_the_pages_of_the_documentation_are_those_of_their_figures(tmp_path, name):
    copytree(DOCS / name, tmp_path / name)
    results = Results(tmp_path / name)
    write_page(results)
    assert results.page.read_bytes() == (DOCS / f"{name}.md").read_bytes()


def test_rounds_that_begin_without_a_miss_have_a_table(tmp_path):
    results = Results(tmp_path / "figures")
    recall = {str(k): 1.0 for k in (1, 2, 5, 10, 20)}
    results.write("rounds", {"kind": "rounds", "best": 1, "rounds": [{"round": 1, "recall": recall}]})
    write_page(results)
    assert "misses 0 % fewer passages at 5" in results.page.read_text(encoding="utf-8")
