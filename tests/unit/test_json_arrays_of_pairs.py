"""A file of pairs that is one JSON array: read as JSON Lines are, its entries called by their number."""

from __future__ import annotations

import io
import json

import pytest

from annotation.exchange import read_items_or_errors, read_larger_items
from kpdemo.io import tables
from kpdemo.io.tables import open_stream

PAIRS = [{"id": f"p{number}", "type": "t", "left": "x [1], {2}", "right": "y"} for number in range(3)]


def source(content: str, name: str):
    return open_stream(io.BufferedReader(io.BytesIO(content.encode())), name)


def read(content: str, name: str = "pairs.json") -> list[str]:
    """The id of each pair, or what is said in its place."""
    return [getattr(item, "id", None) or str(item) for item in read_items_or_errors(source(content, name))]


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("name", ["pairs.json", "pairs.jsonl", "pairs", "phrase2word.JSON"])
def test_an_array_is_read_like_lines(name, indent):
    assert read("\ufeff\n" + json.dumps(PAIRS, indent=indent) + "\n", name) == ["p0", "p1", "p2"]


def test_larger_items_may_stand_in_an_array():
    [item] = read_larger_items(source('[{"ID": "a", "type": "t", "text": "One."}]', "items.json"))
    assert item.id == "a"


def test_a_line_of_an_array_may_be_longer_than_another_line():
    assert len(read(json.dumps([{**PAIRS[0], "left": "x" * 200_000, "id": str(n)} for n in range(50)]))) == 50


def test_a_long_line_of_an_array_may_come_after_empty_ones(monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_LINE", 100)
    assert read("\n \n" + json.dumps(PAIRS)) == ["p0", "p1", "p2"]


def test_an_array_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "LARGEST_FILE", 100)
    assert read(json.dumps(PAIRS, indent=1)) == [
        "pairs.json: an array of more than 100 characters; write JSON Lines, one object a line."
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            json.dumps([PAIRS[0], 7, {**PAIRS[1], "left": ""}, PAIRS[2]]),
            ["p0", "entry 2: JSON, but not an object", "entry 3, field 'left': is empty", "p2"],
        ),
        (json.dumps(PAIRS)[:-1], ["p0", "p1", "p2", "entry 3: not JSON (no comma and no ] follows at"]),
        (json.dumps(PAIRS[:1])[:-1] + ",]", ["p0", "entry 2: not JSON (Expecting value at"]),
        (json.dumps(PAIRS[:1], indent=1) + "x", ["p0", "entry 1: not JSON (something follows the array at"]),
        ("[\n" + "[" * 100_000, ["entry 1: nested too deeply"]),
        (" [ ] ", ["pairs.json: the file has no rows; add one or more."]),
        ("[1]\n" + json.dumps(PAIRS[0]), ["line 1: JSON, but not an object", "p0"]),
    ],
)
def test_what_is_wrong_in_an_array_is_told_with_the_number_of_the_entry(content, told):
    found = read(content)
    assert len(found) == len(told)
    assert all(part in said for part, said in zip(told, found, strict=True))


def test_other_content_of_a_json_file_is_read_as_before():
    assert read("".join(json.dumps(pair) + "\n" for pair in PAIRS)) == ["p0", "p1", "p2"]
    assert read("id,type,left,right\np0,t,x,y\n") == ["p0"]
