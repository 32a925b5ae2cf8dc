"""The lines of `evaluate --details`: what was counted of a document, and that figures are made of it."""

from __future__ import annotations

import io
import json
import random
from functools import partial
from statistics import fmean

import pytest

from kpdemo.evaluation.measuring import Details, document_row, document_scores
from kpdemo.evaluation.protocol import compare_document, summarise
from kpdemo.evaluation.report import shares
from kpdemo.types import Document, Keyphrase, Prediction

DOCUMENT = Document(
    "We train a kernel machine on molecules.",
    title="Graph kernels",
    id="a",
    keyphrases=("graph kernels", "kernel machines", "Kernel machine", "drug discovery"),
)


def ranked(*phrases, score=0.5):
    return tuple(Keyphrase(phrase, score) for phrase in phrases)


def row_of(present=(), absent=(), gold=DOCUMENT, **told):
    return document_row(compare_document(gold, Prediction(ranked(*present, **told), ranked(*absent, **told))))


def test_what_is_right_wrong_and_missed_is_told_as_it_is_spelt():
    row = row_of(["molecules", "Kernel Machine"], ["drug design"])
    assert row["gold"] == {"present": ["graph kernels", "kernel machines"], "absent": ["drug discovery"]}
    assert row["predicted"]["present"] == [
        {"text": "molecules", "rank": 1, "score": 0.5, "correct": False},
        {"text": "Kernel Machine", "rank": 2, "score": 0.5, "correct": True},
    ]
    assert row["missed"] == {"present": ["graph kernels"], "absent": ["drug discovery"]}
    assert row["present"]["P@5"] == 0.2
    assert row["absent"]["F1@5"] == 0.0


def test_what_is_not_counted_has_no_rank():
    row = row_of(["", "molecules", "molecule", "chemistry", "graph kernel"], ["kernel", "drug discovery"])
    assert [(one["text"], one["rank"]) for one in row["predicted"]["present"]] == [
        ("molecules", 1),
        ("graph kernel", 2),
    ]
    assert [one["text"] for one in row["predicted"]["absent"]] == ["drug discovery"]
    assert row["not_in_text"] == ["chemistry"]


def test_a_list_given_whole_stands_once_on_each_side():
    whole = ["drug discovery", "graph kernels"]
    row = row_of(whole, whole)
    texts = {kind: [one["text"] for one in row["predicted"][kind]] for kind in ("present", "absent")}
    assert texts == {"present": ["graph kernels"], "absent": ["drug discovery"]}
    assert row["not_in_text"] == []


def test_a_kind_without_gold_has_no_scores_and_nothing_right():
    row = row_of(["molecules"], ["chemistry"], Document(DOCUMENT.body, keyphrases=("molecules",)))
    assert row["present"]["F1@M"] == 1.0
    assert row["absent"] is None
    assert row["predicted"]["absent"][0]["correct"] is False


@pytest.mark.parametrize("score", [0.0, float("nan"), float("-inf")])
def test_scores_are_left_out_where_the_predictions_tell_none_that_json_can_hold(score):
    scored = Keyphrase("kernel machine", 0.5)
    row = document_row(compare_document(DOCUMENT, Prediction((Keyphrase("molecules", score), scored))))
    [untold, told] = row["predicted"]["present"]
    assert untold == {"text": "molecules", "rank": 1, "correct": False}
    assert told["score"] == 0.5


def test_half_a_character_is_written_as_json_writes_it():
    stream = io.BytesIO()
    compared = compare_document(DOCUMENT, Prediction(ranked("molecules", "\ud800 é")))
    Details(stream).add("gold", None, compared)
    assert json.loads(stream.getvalue())["not_in_text"] == ["\ud800 é"]
    assert "é".encode() in stream.getvalue()


WORDS = ["graph", "graphs", "kernel", "kernels", "machine", "machines", "drug", "design", "", "!"]


def random_phrases(source, most):
    return [" ".join(source.choices(WORDS, k=source.randint(1, 2))) for _ in range(source.randint(0, most))]


def random_pair(source, number, *, with_candidates):
    gold = Document(
        f"{' '.join(source.choices(WORDS, k=12))} and so on",
        id=str(number),
        keyphrases=tuple(random_phrases(source, 6)),
        language="en",
    )
    candidates = tuple(random_phrases(source, 60)) if with_candidates and source.random() < 0.5 else ()
    found = [ranked(*random_phrases(source, 12)) for _ in range(2)]
    return gold, Prediction(*found, absent_candidates=candidates)


@pytest.mark.parametrize("with_candidates", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_every_figure_is_computed_again_from_the_lines(seed, with_candidates):
    source, stream = random.Random(seed), io.BytesIO()
    golds, predictions = zip(
        *(random_pair(source, number, with_candidates=with_candidates) for number in range(40)), strict=True
    )
    details = Details(stream)
    add = partial(details.add, "gold", "ours")
    figures = summarise(document_scores(golds, predictions, on_compared=add))
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [row["id"] for row in rows] == [document.id for document in golds]
    for convention in ("skip_empty", "count_empty"):
        expected = shares(figures, convention)
        for kind in ("present", "absent"):
            counted = [row for row in rows if convention == "count_empty" or row["gold"][kind]]
            for name in expected[kind]:
                if not name.startswith("F1"):
                    values = [row[kind][name] if row[kind] else 0.0 for row in counted]
                    assert fmean(values) == pytest.approx(expected[kind][name], abs=1e-15)
            stand_in = with_candidates and kind == "absent"  # at 5 for keyphrases that are not given
            for cut in ("M",) if stand_in else ("5", "M"):
                counts = [counts_at(row, kind, cut) for row in counted]
                precision = fmean(right / length if length else 0.0 for right, length, _ in counts)
                recall = fmean(right / gold if gold else 0.0 for right, _, gold in counts)
                assert precision == pytest.approx(expected[kind][f"P@{cut}"], abs=1e-15)
                assert recall == pytest.approx(expected[kind][f"R@{cut}"], abs=1e-15)
                f1 = 2 * precision * recall / (precision + recall)
                assert f1 == pytest.approx(expected[kind][f"F1@{cut}"], abs=1e-15)
    pooled = [row["pooled"]["F1@M"] for row in rows if row["pooled"]]
    assert fmean(pooled) == pytest.approx(figures.pooled.f1_m, abs=1e-15)
    assert sum(len(row["not_in_text"]) for row in rows) == figures.not_in_text


def counts_at(row, kind, cut):
    """How many are right, of how many, and how many are gold, by nothing but the lists of the line."""
    found = [one for one in row["predicted"][kind] if cut == "M" or one["rank"] <= int(cut)]
    right, gold = sum(one["correct"] for one in found), len(row["gold"][kind])
    assert not right or gold
    if cut == "M":
        assert len(row["missed"][kind]) == gold - right
    return right, len(found) if cut == "M" else int(cut), gold
