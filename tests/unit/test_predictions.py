"""Pooling several models' keyphrases, reading them, and the order in which raters meet them."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.errors import ImportFileError
from annotation.files.predictions import read_bundle, read_prediction_files
from annotation.predictions import (
    Moving,
    PredictedDocument,
    PredictedPhrase,
    QueueOrder,
    Run,
    new_positions,
    pool,
    positions_by_document,
    uncertainty,
)
from kpdemo.io.predictions import read_predictions
from kpdemo.text import phrase_key

TEXT = "Boundary integral equations for surface currents."


def phrase(text: str, score: float, *, is_present: bool = True) -> PredictedPhrase:
    return PredictedPhrase(text, score, is_present, phrase_key(text))


def document(*runs: Run) -> PredictedDocument:
    return PredictedDocument("d1", "", TEXT, "en", runs)


def test_phrases_of_several_models_are_pooled_by_their_stems():
    both = document(
        Run("a", (phrase("integral equation", 0.9), phrase("antenna", 0.1, is_present=False))),
        Run("b", (phrase("integral equations", 0.2), phrase("surface currents", 0.8))),
        Run("c", (phrase("integral equations", 0.2),)),
    )
    found = {(pooled.text, pooled.is_present) for pooled in pool(both)}
    assert found == {("integral equations", True), ("antenna", False), ("surface currents", True)}


def test_the_pool_is_in_the_same_order_whoever_predicted_what():
    words = [phrase(word, score / 10) for score, word in enumerate(("alpha", "beta", "gamma", "delta"))]
    one = document(Run("a", tuple(words)))
    other = document(Run("b", tuple(words[2:])), Run("a", tuple(reversed(words[:2]))))
    assert [pooled.key for pooled in pool(one)] == [pooled.key for pooled in pool(other)]


def test_a_run_is_ranked_by_score_and_has_each_phrase_once():
    run = Run(
        "a", (phrase("b c", 0.5), phrase("a", 0.5, is_present=False), phrase("A", 0.9), phrase("d", 0.5))
    )
    assert [ranked.text for ranked in run.rank()] == ["A", "b c", "d"]


@pytest.mark.parametrize(
    ("scores", "models", "expected"),
    [([0.5], 1, 1.0), ([1.0], 1, 0.0), ([1.0], 2, 1.0), ([0.1], 1, 0.2), ([], 0, 0.0)],
)
def test_uncertain_is_what_the_scores_leave_even(scores, models, expected):
    assert uncertainty(scores, models) == pytest.approx(expected)


def waiting(uncertainties: list[float]) -> list[Moving]:
    return [Moving(n + 1, 10 * n, 10 * n, doubt, 10 * (n % 3)) for n, doubt in enumerate(uncertainties)]


def in_order(positions: dict[int, int]) -> list[int]:
    return sorted(positions, key=positions.__getitem__)


def test_the_orders():
    pairs = waiting([0.1, 0.9, 0.5, 0.9, 0.2])
    assert in_order(new_positions(pairs, QueueOrder.PROJECT)) == [1, 2, 3, 4, 5]
    assert in_order(new_positions(pairs, QueueOrder.UNCERTAIN)) == [2, 4, 3, 5, 1]
    assert in_order(new_positions(pairs, QueueOrder.MIXED)) == [2, 1, 4, 3, 5]
    assert in_order(positions_by_document(pairs)) == [1, 4, 2, 5, 3]


@given(st.lists(st.floats(0, 1), max_size=30), st.sampled_from(QueueOrder))
def test_pairs_only_change_places_among_themselves_and_can_go_back(uncertainties, order):
    pairs = waiting(uncertainties)
    moved = new_positions(pairs, order)
    assert sorted(moved.values()) == [pair.position for pair in pairs]
    elsewhere = [replace(pair, position=moved[pair.pair_id]) for pair in pairs]
    assert new_positions(elsewhere, QueueOrder.PROJECT) == {pair.pair_id: pair.own for pair in pairs}


@given(st.lists(st.none() | st.integers(0, 3), max_size=30), st.sets(st.integers(0, 29)))
def test_a_document_is_in_one_piece_at_its_first_pair_and_the_others_keep_their_order(documents, removed):
    first = {document: place for place, document in reversed(list(enumerate(documents)))}
    pairs = [
        Moving(place, place, place, 0, place if document is None else first[document])
        for place, document in enumerate(documents)
        if place not in removed
    ]
    positions = positions_by_document(pairs)
    met = [documents[pair] for pair in in_order(positions)]
    assert len(set(positions.values())) == len(pairs)
    assert max(positions.values(), default=0) <= max((pair.own for pair in pairs), default=0)
    begun = [document for document, _ in groupby(met) if document is not None]
    assert len(begun) == len(set(begun))
    others = [pair for pair in in_order(positions) if documents[pair] is None]
    assert others == sorted(others)


def lines(path: Path, *rows: object) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def predicted(id: object = "d1", **fields: object) -> dict[str, object]:
    return {"id": id, "present": [{"text": "surface currents", "score": 0.5}], "absent": [], **fields}


def test_files_of_several_models_are_read_together(tmp_path):
    documents = lines(
        tmp_path / "docs.jsonl",
        {"id": 1, "title": "T", "abstract": "B"},
        {"id": "2", "text": "not predicted"},
    )
    first = lines(tmp_path / "first.jsonl.gz", predicted("1"))
    second = lines(tmp_path / "x.jsonl", predicted("1", model="second", language="de"))
    [found] = read_prediction_files(documents, [("", first), ("", second)])
    assert (found.id, found.text, found.language) == ("1", "T\n\nB", "de")
    assert [run.model for run in found.runs] == ["first", "second"]


def test_documents_and_predictions_may_be_arrays(tmp_path):
    documents, told = tmp_path / "docs.json", tmp_path / "first.json"
    documents.write_text(json.dumps([{"id": "1", "text": TEXT}, {"id": "2", "text": TEXT}], indent=2))
    told.write_text(json.dumps([predicted("1"), predicted("2"), predicted("3")]))
    with pytest.raises(ImportFileError, match=r"^first\.json, entry 3, field 'id': docs\.json has no"):
        list(read_prediction_files(documents, [("", told)]))


def test_a_file_begun_before_its_lines_named_their_model_is_of_one_model(tmp_path):
    documents = lines(tmp_path / "docs.jsonl", {"id": 1, "text": TEXT}, {"id": 2, "text": TEXT})
    file = lines(tmp_path / "p.jsonl", predicted("1"), predicted("2", model="default"))
    found = read_prediction_files(documents, [("", file)])
    assert [run.model for document in found for run in document.runs] == ["default", "default"]


def test_a_file_that_evaluate_reads_is_ranked_by_its_order_and_told_apart_by_the_text(tmp_path):
    docs = tmp_path / "docs.jsonl"
    lines(docs, {"id": "d1", "title": "Antenna arrays", "abstract": TEXT}, {"id": "d2", "abstract": TEXT})
    whole = {"id": "d1", "keyphrases": ["surface current", {"text": "radar"}, "array boundary", "antenna"]}
    apart = {"id": "d2", "present": ["integral equations", {"text": "Boundary"}], "absent": ["radar"]}
    file = lines(tmp_path / "mine.jsonl", whole, apart)
    first, second = read_prediction_files(docs, [("", file)])
    assert [(found.text, found.score, found.is_present) for found in first.runs[0].phrases] == [
        ("surface current", 1.0, True),
        ("radar", 1 / 2, False),
        ("array boundary", 1 / 3, False),
        ("antenna", 1 / 4, True),
    ]
    assert [(found.text, found.score, found.is_present) for found in second.runs[0].rank()] == [
        ("integral equations", 1.0, True),
        ("radar", 1.0, False),
        ("Boundary", 0.5, True),
    ]
    assert set(read_predictions(file, may_be_lists=True)) == {"d1", "d2"}
    assert (first.runs[0].model, first.language) == ("mine", "en")


def test_scores_count_as_soon_as_one_phrase_has_one(tmp_path):
    docs = lines(tmp_path / "docs.jsonl", {"id": "d1", "text": TEXT})
    file = lines(tmp_path / "p.jsonl", {"id": "d1", "keyphrases": ["a", {"text": "b", "score": 0.2}]})
    [found] = read_prediction_files(docs, [("", file)])
    assert [(phrase.text, phrase.score) for phrase in found.runs[0].rank()] == [("b", 0.2), ("a", 0.0)]


def test_a_language_that_nothing_tells_is_the_one_that_evaluate_finds(tmp_path):
    text = "Die Fähren verlassen den alten Hafen am Mittag, und die Möwen folgen ihnen bis vor die Küste."
    docs = lines(
        tmp_path / "docs.jsonl",
        {"id": "1", "text": text},
        {"id": "2", "text": "我们提出一种新的图核方法,用于比较分子结构。"},
        {"id": "3", "text": text, "language": "en"},
    )
    rows = [{"id": id, "keyphrases": ["Hafen", "分子结构"]} for id in "123"]
    found = list(read_prediction_files(docs, [("", lines(tmp_path / "p.jsonl", *rows))]))
    assert [document.language for document in found] == ["de", "zh", "en"]
    assert [[one.is_present for one in document.runs[0].phrases] for document in found[:2]] == [
        [True, False],
        [False, True],
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"present": []}, r"p.jsonl, line 1, field 'id': is missing"),
        (predicted("other"), r"docs.jsonl has no document 'other'"),
        (predicted(present=[{"text": "a b", "score": 2}]), r"2 is not a score"),
        (predicted(present=["a b", 3]), r"3 is not a JSON object"),
        ({"id": "d1", "keyphrases": "a; b"}, r"field 'keyphrases': 'a; b' is not a list"),
        ({"id": "d1"}, r"p.jsonl, line 1: it has neither 'present' and 'absent' nor 'keyphrases'"),
        ({"id": "d1", "keyphrases": ["a"], "text": TEXT}, r"line 1: a document with its gold keyphrases"),
        (predicted(present="a b"), r"'a b' is not a list"),
        (predicted(present=[{"text": "a\0b"}]), r"holds a NUL"),
        (predicted(present=[{"text": "a" * 1001}]), r"has 1,001 characters"),
    ],
)
def test_a_bad_line_is_named(tmp_path, row, message):
    documents = lines(tmp_path / "docs.jsonl", {"id": "d1", "text": TEXT})
    with pytest.raises(ImportFileError, match=message):
        list(read_prediction_files(documents, [("", lines(tmp_path / "p.jsonl", row))]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{broken\n", r"^p\.jsonl\.gz, line 1: not JSON \(.+\); fix or empty the line\.$"),
        (b"\n{}\n[1]\n", r"^p\.jsonl\.gz, line 3: JSON, but not an object; write"),
        (b"\n[1]\n", r"^p\.jsonl\.gz, line 2: JSON, but not an object; write"),
        (b'{"id": "\xe9"}\n', r"^p\.jsonl\.gz, line 1: not UTF-8 text \(byte 0xe9\)"),
        (b'{"id": 1e99999999999999999999}\n', r"^p\.jsonl\.gz, line 1: not JSON \(a number with too many"),
        (b" " * 17_000_000 + b"{}\n", r"^p\.jsonl\.gz, line 1: longer than 16,777,216 bytes"),
        (json.dumps(predicted(present=[{"text": "a", "score": math.nan}])).encode(), "NaN is not a score"),
        (b"", r"^p\.jsonl\.gz: the file is empty"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path, content, message):
    documents = lines(tmp_path / "docs.jsonl", {"id": "d1", "text": TEXT})
    file = tmp_path / "p.jsonl.gz"
    file.write_bytes(gzip.compress(content))
    with pytest.raises(ImportFileError, match=message):
        list(read_prediction_files(documents, [("", file)]))


def test_damaged_compressed_predictions_are_told(tmp_path):
    documents = lines(tmp_path / "docs.jsonl", {"id": "d1", "text": TEXT})
    whole = lines(tmp_path / "p.jsonl.gz", *(predicted(f"d{number}") for number in range(200)))
    content = bytearray(whole.read_bytes())
    for place in range(12, len(content), 7):
        damaged = tmp_path / "damaged.jsonl.gz"
        damaged.write_bytes(content[:place] + bytes([content[place] ^ 0x5A]) + content[place + 1 :])
        with pytest.raises(ImportFileError, match=r"damaged\.jsonl\.gz"):
            list(read_prediction_files(documents, [("", damaged)]))


def test_two_files_of_one_model_are_refused(tmp_path):
    documents = lines(tmp_path / "docs.jsonl", {"id": "d1", "text": TEXT})
    file = lines(tmp_path / "p.jsonl", predicted())
    with pytest.raises(ImportFileError, match="name the files: --predictions NAME=FILE"):
        list(read_prediction_files(documents, [("", file), ("", file)]))
    [named] = read_prediction_files(documents, [("a", file), ("b", file)])
    assert [run.model for run in named.runs] == ["a", "b"]


def test_a_bundle_keeps_the_keys_it_brings_and_loses_phrases_without_letters():
    phrases = [{"text": " surface\n currents ", "score": 0.5, "key": "mine"}, {"text": "–", "score": 0.4}]
    row = {"text": TEXT, "runs": [{"model": "a", "present": phrases, "absent": []}]}
    [found] = read_bundle({"documents": [row]})
    assert found.runs[0].phrases == (PredictedPhrase("surface currents", 0.5, True, "mine"),)
    assert found.name.startswith("document-")


@pytest.mark.parametrize(
    "bundle",
    [
        {"documents": 3},
        {"documents": [3]},
        {"documents": [{"text": " ", "runs": [{"model": "a"}]}]},
        {"documents": [{"text": TEXT, "runs": []}]},
        {"documents": [{"text": TEXT, "runs": [{"model": ""}]}]},
        {"documents": [{"text": TEXT, "runs": [{"model": "a", "present": [{"text": "without a key"}]}]}]},
        *(
            {"documents": [{"text": TEXT, "runs": [{"model": "a", "present": [{"text": "b", "key": key}]}]}]}
            for key in ("", None)
        ),
        {"documents": [{"text": TEXT, "runs": [{"model": "a"}, {"model": "a"}]}]},
    ],
)
def test_what_is_no_bundle_is_refused(bundle):
    with pytest.raises(ImportFileError, match=r"^(The predictions|Document 1)"):
        read_bundle(bundle)
