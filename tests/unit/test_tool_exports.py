"""Exports of other annotation tools, as their documentation shows them."""

from __future__ import annotations

import io
import json
from decimal import Decimal

import pytest

from annotation.columns import parse_columns
from annotation.errors import ImportFileError
from annotation.exchange import ReadingNotes, look_at, read_items_or_errors
from annotation.types import NewRating
from kpdemo.io.tables import open_stream

LEFT, RIGHT = "The night train was cancelled.", "a cancelled train"


def opened(content: object, name: str):
    text = content if isinstance(content, str) else json.dumps(content)
    return open_stream(io.BufferedReader(io.BytesIO(text.encode())), name)


def read(content: object, name: str, columns: str = ""):
    items = [
        *read_items_or_errors(opened(content, name), type="sentence2phrase", columns=parse_columns(columns))
    ]
    for item in items:
        if isinstance(item, ImportFileError):
            raise item
    return items


def annotation(rater: object, kind: str, value: object, *, cancelled: bool = False, question: str = "grade"):
    result = {"id": "r1", "from_name": question, "to_name": "text", "type": kind, "value": value}
    return {"id": 1, "completed_by": rater, "result": [result], "was_cancelled": cancelled, "lead_time": 4.2}


LABEL_STUDIO = [
    {
        "id": 12,
        "data": {"Sentence1": LEFT, "sentence2": RIGHT, "genre": "news"},
        "annotations": [
            annotation({"id": 3, "email": "ana@lab.org"}, "rating", {"rating": 4}),
            annotation(7, "choices", {"choices": ["2 Somewhat related"]}),
            annotation(8, "number", {"number": 1}, cancelled=True),
        ],
        "predictions": [{"result": [{"type": "rating", "value": {"rating": 0}}]}],
        "project": 83,
    }
]
LABEL_STUDIO_CSV = (
    "annotation_id,annotator,created_at,grade,id,lead_time,sentence1,sentence2,updated_at\n"
    f'1,ana@lab.org,2021-03-09T22:16:08Z,"[{{""rating"": 4}}]",12,4.2,{LEFT},{RIGHT},2021-03-09T22:16:08Z\n'
    f"2,7,2021-03-09T22:16:08Z,2,12,4.2,{LEFT},{RIGHT},2021-03-09T22:16:08Z\n"
)
ARGILLA = [
    {
        "id": "12",
        "fields": {"text_a": LEFT, "text_b": RIGHT},
        "metadata": {"genre": "news"},
        "suggestions": {"grade": {"value": 0, "agent": "model"}},
        "responses": {
            "grade": [
                {"value": 4, "user_id": "ana", "status": "submitted"},
                {"value": 1, "user_id": "ben", "status": "draft"},
                {"value": "2", "user_id": "cy"},
            ]
        },
        "vectors": {},
        "status": "completed",
    }
]
ARGILLA_FLAT = {
    "id": "12",
    "status": "completed",
    "_server_id": "8986eef4",
    "text_a": LEFT,
    "text_b": RIGHT,
    "grade.responses": [4, 1, 2],
    "grade.responses.users": ["ana", "ben", "cy"],
    "grade.responses.status": ["submitted", "discarded", None],
    "grade.suggestion": 0,
}
PRODIGY = "".join(
    json.dumps(
        {
            "left": LEFT,
            "right": RIGHT,
            "meta": {"genre": "news"},
            "_input_hash": 12,
            "_task_hash": -340967702,
            "options": [{"id": str(n), "text": str(n)} for n in range(5)],
            "accept": chosen,
            "answer": answer,
            "_annotator_id": f"train-{rater}",
            "_session_id": f"train-{rater}",
        }
    )
    + "\n"
    for rater, chosen, answer in (("ana", ["4"], "accept"), ("ben", [], "ignore"), ("cy", ["2"], "accept"))
)


@pytest.mark.parametrize(
    ("content", "name", "raters"),
    [
        (LABEL_STUDIO, "project-83.json", ("ana@lab.org", "user 7")),
        (LABEL_STUDIO_CSV, "project-83.csv", ("ana@lab.org", "user 7")),
        (ARGILLA, "records.json", ("ana", "cy")),
        (json.dumps(ARGILLA_FLAT) + "\n", "records.jsonl", ("ana", "cy")),
        (PRODIGY, "train.jsonl", ("ana", "cy")),
    ],
    ids=["label-studio", "label-studio-csv", "argilla", "argilla-flat", "prodigy"],
)
def test_pairs_and_ratings_of_an_export_are_read(content, name, raters):
    items = read(content, name)
    assert {(item.id, item.left, item.right) for item in items} == {("12", LEFT, RIGHT)}
    ratings = [rating for item in items for rating in item.ratings]
    assert ratings == [(raters[0], Decimal(4)), (raters[1], Decimal(2))]


def test_of_doccano_the_file_is_the_rater():
    row = {"id": 12, "text": LEFT, "phrase": RIGHT, "label": ["3 Somewhat similar"], "Comments": []}
    [pair] = read(json.dumps(row), "ana.jsonl")
    assert (pair.id, pair.left, pair.right) == ("12", LEFT, RIGHT)
    assert pair.ratings == (("ana", Decimal(3)),)
    both = {"id": 12, "text": f"{LEFT}\n{RIGHT}", "label": ["3"]}
    [pair] = read(json.dumps(both), "all.jsonl")
    assert (pair.left, pair.right, pair.ratings) == (LEFT, RIGHT, (("1", Decimal(3)),))


def test_of_potato_two_texts_shown_together_are_a_pair_and_others_ratings_of_one():
    row = {
        "user_id": "ana",
        "instance_id": "12",
        "displayed_text": f"<b>A.</b> {LEFT}<br><b>B.</b> {RIGHT}",
        "label_annotations": {"grade": {"scale_3": "3"}},
        "span_annotations": {},
    }
    [pair] = read(json.dumps(row), "annotated_instances.jsonl")
    assert (pair.id, pair.left, pair.right, pair.ratings) == ("12", LEFT, RIGHT, (("ana", Decimal(3)),))
    table = f"user\tinstance_id\tdisplayed_text\tgrade:::2\tgrade:::3\nana\t12\t{LEFT}\t\ttrue\n"
    [rating] = read(table, "annotated_instances.tsv")
    assert rating == NewRating("12", "ana", Decimal(3), "sentence2phrase")


def test_a_grade_off_the_scale_is_refused_with_its_row_and_value():
    with pytest.raises(ImportFileError, match=r"^x\.json, line 1, field 'ratings': 9 is not 0 to 4"):
        read([{**LABEL_STUDIO[0], "annotations": [annotation(1, "rating", {"rating": 9})]}], "x.json")
    with pytest.raises(ImportFileError, match=r"field 'ratings': 'good' is not a grade"):
        read(
            [{**LABEL_STUDIO[0], "annotations": [annotation(1, "choices", {"choices": ["good"]})]}], "x.json"
        )


def test_what_is_not_clear_is_asked_for():
    several = {**LABEL_STUDIO[0], "data": {"one": LEFT, "two": RIGHT, "three": "x"}}
    with pytest.raises(ImportFileError, match=r"whose two texts are not clear \(it has one, two, three\)"):
        read([several], "x.json")
    [pair] = read([several], "x.json", "left=one,right=two")
    assert (pair.left, pair.right) == (LEFT, RIGHT)
    assert look_at(opened([several], "x.json")).names == ("one", "two", "three")
    questions = [annotation(1, "rating", {"rating": 3}, question=name) for name in ("fit", "style")]
    with pytest.raises(ImportFileError, match=r"grades of 2 questions \(fit, style\); say which counts"):
        read([{**LABEL_STUDIO[0], "annotations": questions}], "x.json")
    [pair] = read([{**LABEL_STUDIO[0], "annotations": questions}], "x.json", "grade=style")
    assert pair.ratings == (("user 1", Decimal(3)),)


def test_an_export_is_named_and_shown_as_its_pairs():
    look = look_at(opened(LABEL_STUDIO, "x.json"))
    assert look.kind == "an export of Label Studio"
    assert dict(zip(look.names, look.rows[0], strict=True))["ratings"] == "ana@lab.org=4; user 7=2"
    notes = ReadingNotes()
    list(read_items_or_errors(opened(LABEL_STUDIO, "x.json"), notes=notes))
    assert notes.sentences("x.json") == ["x.json was read as an export of Label Studio."]
