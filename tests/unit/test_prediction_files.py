from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpdemo.errors import InputError
from kpdemo.io.predictions import document_record, prediction_row, read_predictions
from kpdemo.io.tables import LineError
from kpdemo.types import Document, Keyphrase, Kind, Origin, Prediction
from tests.fakes import FakePredictor


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "predictions.jsonl"


def test_a_record_holds_all_of_one_document() -> None:
    document = Document("They sort.", title="Neural networks")
    [prediction] = FakePredictor(absent=("learning to rank",)).predict([document], top_k=1)
    assert document_record(document, prediction, model="m", device="cpu", seconds=0.12345) == {
        "language": "en",
        "present": [{"text": "Neural networks", "score": 0.9, "spans": [[0, 15]]}],
        "absent": [{"text": "learning to rank", "score": 0.5}],
        "warnings": [],
        "model": "m",
        "device": "cpu",
        "seconds": 0.123,
        "text": "Neural networks\n\nThey sort.",
        "text_offset": 17,
    }


TOLD = Prediction(
    (Keyphrase("neural networks", 0.5),),
    absent=(
        Keyphrase("sorting networks", 0.25, source=Origin.BOTH, kind=Kind.MIXED, evidence=("sort", "網路")),
        Keyphrase("hardware", 0.125, kind=Kind.UNSEEN),
        Keyphrase("circuits", 0.0625),
    ),
    absent_candidates=("hardware", "sorting networks", "circuits", "gates"),
)


def test_what_is_told_of_an_absent_keyphrase_and_nothing_else_is_written() -> None:
    row = prediction_row("a", TOLD)
    assert row["absent"] == [
        {"text": "sorting networks", "score": 0.25, "kind": "mixed", "source": "both",
         "evidence": ["sort", "網路"]},
        {"text": "hardware", "score": 0.125, "kind": "unseen"},
        {"text": "circuits", "score": 0.0625},
    ]  # fmt: skip
    assert row["absent_candidates"] == ["hardware", "sorting networks", "circuits", "gates"]
    assert list(prediction_row("b", Prediction(()))) == ["id", "present", "absent"]


def test_a_prediction_comes_back_as_it_was_written(output: Path) -> None:
    output.write_text(json.dumps(prediction_row("a", TOLD)) + "\n", encoding="utf-8")
    assert read_predictions(output) == {"a": TOLD}


def test_doubtful_keyphrases_are_kept_apart_and_measured_as_given(output: Path) -> None:
    sure, doubtful = Keyphrase("sorting networks", 0.3), Keyphrase("hardware", 0.05)
    prediction = Prediction((), (sure,), "en", doubtful=(doubtful,))
    row = prediction_row("1", prediction)
    assert (row["absent"], row["doubtful"]) == (
        [{"text": "sorting networks", "score": 0.3}],
        [{"text": "hardware", "score": 0.05}],
    )
    output.write_text(json.dumps(row), encoding="utf-8")
    assert read_predictions(output)["1"].absent == (sure, doubtful)


def test_a_prediction_as_a_dictionary_is_what_json_takes(output: Path) -> None:
    member = Keyphrase("kernels", 0.2, ((6, 13),))
    head = Keyphrase("graph kernels", 0.4, ((0, 13),), variants=("GK",), family=(member,))
    prediction = Prediction(
        (head,), (Keyphrase("clove oil", 0.1, kind=Kind.UNSEEN),), "en", warnings=("Short.",)
    )
    assert json.loads(json.dumps(prediction.to_dict())) == {
        "language": "en",
        "present": [
            {
                "text": "graph kernels",
                "score": 0.4,
                "spans": [[0, 13]],
                "variants": ["GK"],
                "family": [{"text": "kernels", "score": 0.2, "spans": [[6, 13]]}],
            }
        ],
        "absent": [{"text": "clove oil", "score": 0.1, "kind": "unseen"}],
        "warnings": ["Short."],
    }


def test_what_others_call_kind_source_and_evidence_is_passed_over(output: Path) -> None:
    item = {"text": "gates", "kind": 1, "source": "corpus", "evidence": {"a": 1}}
    output.write_text(json.dumps({"id": "a", "absent": [item]}) + "\n", encoding="utf-8")
    assert read_predictions(output)["a"].absent == (Keyphrase("gates", 0.0),)


def test_a_whole_list_is_read_for_whoever_tells_present_from_absent(output: Path) -> None:
    row = {"id": "a", "keyphrases": ["gates", {"text": "locks", "score": 0.4}]}
    output.write_text(json.dumps(row) + "\n", encoding="utf-8")
    both = (Keyphrase("gates", 0.0), Keyphrase("locks", 0.4))
    assert read_predictions(output, may_be_lists=True)["a"] == Prediction(both, both)
    output.write_text(json.dumps(row | {"abstract": "Gates."}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1: a document with its gold keyphrases; give what"):
        read_predictions(output, may_be_lists=True)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"present": []}, 'no field "id"'),
        ({"id": "a", "keyphrases": ["gates"]}, 'neither "present" nor "absent"'),
        ({"id": "a", "present": "x"}, '"present" is not a list'),
        ({"id": "a", "present": {"text": "x"}}, '"present" is not a list'),
        ({"id": "a", "present": None}, '"present" is not a list'),
        ({"id": "a", "absent": [{"score": 1}]}, '"absent" is not a list'),
        ({"id": "a", "present": [{"text": None}]}, '"present" is not a list'),
        ({"id": "a", "present": [{"text": "gates", "score": 10**400}]}, '"present" is not a list'),
        ({"id": "a", "absent_candidates": "gates"}, '"absent_candidates" is not a list of strings'),
        ({"id": "a", "absent_candidates": [1]}, '"absent_candidates" is not a list of strings'),
        ({"id": "ok", "present": []}, "predicted on an earlier line"),
    ],
)
def test_a_line_that_is_no_prediction_is_named(output: Path, row: dict[str, object], message: str) -> None:
    output.write_text(f'{{"id": "ok", "present": [], "absent": []}}\n{json.dumps(row)}\n', encoding="utf-8")
    with pytest.raises(InputError, match=f"line 2: .*{message}"):
        read_predictions(output)
    problems: list[LineError] = []
    assert list(read_predictions(output, on_error=problems.append)) == ["ok"]
    assert [problem.line for problem in problems] == [2]
