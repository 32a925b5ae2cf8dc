"""Reading pairs and ratings: the layouts, and a sentence for every bad row."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import re
import tracemalloc
import zipfile
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotation.errors import ImportFileError
from annotation.exchange import FileFormat, fingerprint, read_items_or_errors
from annotation.types import NewPair, NewRating
from kpdemo.io.tables import LARGEST_FILE, escape_formula, open_source, open_stream
from tests.reading import read_items
from tests.workbooks import workbook

PAIR = {"id": "a", "type": "phrase2word", "left": "a small boat", "right": "canoe"}


def read(content: str | bytes, name: str = "pairs.jsonl", **options):
    data = content.encode() if isinstance(content, str) else content
    source = open_stream(io.BufferedReader(io.BytesIO(data)), name)
    return list(read_items(source, **options))


def line(**changes) -> str:
    return json.dumps({**PAIR, **changes}) + "\n"


def message(content: str | bytes, name: str = "pairs.jsonl", **options) -> str:
    with pytest.raises(ImportFileError) as caught:
        read(content, name, **options)
    return str(caught.value)


# Layouts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.tsv", "id\ttype\tleft\tright\na\tphrase2word\ta small boat\tcanoe\n"),
        ("p.csv", "id,type,left,right\na,phrase2word,a small boat,canoe\n"),
        ("p.csv", "id;type;left;right\r\na;phrase2word;a small boat;canoe\r\n"),
        ("p.CSV", "﻿ID, Type ,LEFT,Right,comment\na,phrase2word,a small boat,canoe,x\n"),
        ("p.jsonl", line()),
        ("p.jsonl", "﻿\n\n" + line(baseline_lcs=0.3) + "\n"),
        ("p.ndjson", json.dumps({key.upper(): value for key, value in PAIR.items()})),
        ("standard input", line()),
        ("standard input", "id\ttype\tleft\tright\na\tphrase2word\ta small boat\tcanoe"),
        ("phrase2word.csv", "id,left,right\na,a small boat,canoe"),
    ],
)
def test_a_pair_is_the_same_in_every_layout(name, content):
    assert read(content, name) == [NewPair(**PAIR)]


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_compressed_files_are_read_and_named(tmp_path: Path, suffix, compress):
    path = tmp_path / f"pairs.csv.{suffix}"
    path.write_bytes(compress(b"id,type,left,right\na,phrase2word,a small boat,canoe\n"))
    with open_source(path) as source:
        [pair] = read_items(source)
    assert pair == NewPair(**PAIR)
    assert pair.place == f"{path}, line 2"


def test_quoted_fields_keep_line_breaks_separators_and_quotes():
    [pair] = read('id,type,left,right\na,phrase2word,"one,\r\n""two""",three\n', "p.csv")
    assert pair.left == 'one,\r\n"two"'


def test_optional_fields_are_read_and_numbers_serve_as_ids():
    [pair] = read(line(id=7, genre="Travel", intended=2.25, source="berlitz"))
    assert (pair.id, pair.genre, pair.intended, pair.source) == ("7", "Travel", Decimal("2.25"), "berlitz")


@pytest.mark.parametrize("ratings", [[3, 2.5], "3;2.5", "[3, 2.5]", "3; 2,5"])
def test_ratings_without_names_are_numbered(ratings):
    [pair] = read(line(ratings=ratings))
    assert pair.ratings == (("1", Decimal(3)), ("2", Decimal("2.5")))


@pytest.mark.parametrize(
    "ratings",
    [[None, 0], ";0", [{"rater": "ana", "grade": None}, {"rater": "2", "grade": 0, "at": 1}], "ana=;2=0"],
)
def test_an_empty_place_is_no_rating_and_zero_is_one(ratings):
    [pair] = read(line(ratings=ratings))
    assert pair.ratings == (("2", Decimal(0)),)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", line(ratings=[{"rater": "ana", "grade": 3}, {"rater": "Ben B", "grade": 0.75}])),
        ("p.csv", "id,type,left,right,ratings\na,phrase2word,a small boat,canoe,ana=3;Ben B=0.75\n"),
        ("p.csv", "id,type,left,right,rating:ana,rating:Ben B,rating:Cy\na,phrase2word,x,y,3,0.75,\n"),
    ],
)
def test_ratings_may_name_their_raters(name, content):
    [pair] = read(content, name)
    assert pair.ratings == (("ana", Decimal(3)), ("Ben B", Decimal("0.75")))


def test_ratings_in_long_form_stand_alone_or_bring_their_pair():
    content = "id,rater,grade,type,left,right\na,ana,2.5,,,\na,ben,3,phrase2word,x,y\n"
    rating, pair = read(content, "r.csv")
    assert rating == NewRating("a", "ana", Decimal("2.5"))
    assert pair == NewPair("a", "phrase2word", "x", "y", ratings=(("ben", Decimal(3)),))


@given(
    cells=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(str.strip),
        min_size=2,
        max_size=2,
    ),
    delimiter=st.sampled_from([",", ";", "\t"]),
)
def test_what_a_csv_writer_wrote_is_read_back(cells, delimiter):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([["id", "type", "left", "right"], ["a", "phrase2word", *cells]])
    [pair] = read(buffer.getvalue(), "p.tsv" if delimiter == "\t" else "p.csv")
    assert [pair.left, pair.right] == cells


def test_a_quotation_mark_in_tsv_swallows_no_line():
    content = (
        "id\ttype\tleft\tright\n"
        'a\tphrase2word\t"He said no.\tno\n'
        'b\tphrase2word\t"Stop," she said\t"stop"\n'
        'c\tphrase2word\t"a ""b"" c"\t"\n'  # as pandas writes it
    )
    pairs = read(content, "p.tsv")
    assert [(pair.left, pair.right) for pair in pairs] == [
        ('"He said no.', "no"),
        ('"Stop," she said', '"stop"'),
        ('a "b" c', '"'),
    ]


HEADER = "id\ttype\tleft\tright\tgenre\n"


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        # A tab, or a line break, that pandas put in quotes, read into other columns or pairs
        ('a\tt\tx\ty\nb\tt\t"one\ttwo"\tz\n', 'line 3: a cell begins with " and one in the same line ends'),
        ('b\tt\tx\ty\t"one\nc\tt\tx\ty\ttwo"\n', "line 2: a cell begins with \" and one in line 3 ends"),
        ('b\tt\tx\t"one\nc\tt\tx\ttwo"\n', "line 2: a cell begins with \" and one in line 3 ends"),
        ('b\tt\tx\ty\t"one\n' + "c\tt\tx\ty\tz\n" * 99 + '"\n', "and one in line 102 ends with it"),
    ],
)  # fmt: skip
def test_a_cell_of_tsv_that_may_go_on_in_the_next_is_refused(rows, part):
    told = message(HEADER + rows, "p.tsv")
    assert told.startswith("p.tsv, line ")
    assert part in told
    assert told.endswith("; write the header in quotes too, or save the file as CSV.")
    assert told.count(". ") == 0


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        ('b\tt\t"one\ttwo"\tz\tTravel\n', ("one\ttwo", "z")),
        ('b\tt\tx\t"one\n\n ""two"" \nthree"\tTravel\n', ("x", 'one\n\n "two" \nthree')),
    ],
)
def test_a_cell_of_tsv_that_only_a_writer_can_have_put_in_quotes_is_read(rows, cells):
    [pair] = read(HEADER + rows, "p.tsv")
    assert (pair.left, pair.right, pair.genre) == (*cells, "Travel")


def test_a_workbook_is_read_whatever_it_is_called():
    rows = [
        ("ID", "type", "left", "right", "rating:Ana", "rating:ben"),
        (1, "phrase2word", "x", "'-y", 2.75, None),
        (),
        (2, "phrase2word", "", "y"),
        (3, "phrase2word", "x", "y", None, None, "more"),
    ]
    content = workbook(rows)
    for name in ("p.xlsx", "p.csv", "standard input"):
        source = open_stream(io.BufferedReader(io.BytesIO(content)), name)
        pair, empty, long = read_items_or_errors(source)
        assert pair == NewPair("1", "phrase2word", "x", "'-y", ratings=(("Ana", Decimal("2.75")),))
        assert str(empty).startswith(f"{name}, row 4, field 'left': is empty")
        assert str(long) == f"{name}, row 5: 7 fields under a header of 6; delete what is right of it."


def test_a_workbook_that_unpacks_to_too_much_or_is_none_is_told():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(LARGEST_FILE + 1))
    assert message(packed.getvalue(), "p.xlsx") == (
        "p.xlsx: a workbook of more than 104,857,600 bytes; save it as CSV."
    )
    whole = workbook([("id", "type", "left", "right"), ("a", "t", "x", "y")])
    for content in (b"PK\x03\x04\x00", whole[: len(whole) // 2], whole[:100] + whole[200:]):
        told = message(content, "p.xlsx")
        assert told.startswith("p.xlsx: not a workbook that can be read (")
        assert told.endswith("; save it as XLSX again, or as CSV.")
    assert message(workbook([]), "p.xlsx") == "p.xlsx: the file has no rows; add one or more."


@pytest.mark.parametrize(
    "lefts",
    [
        ('"Hello', "x"),
        ('5"', '"quoted"', '"quoted" text', '""', '"a" and "b"', '"5" pipe', 'a 5"" pipe'),
        ('"Hello', '"again', 'a 5" pipe', '"'),
        ('"Hello', *(["x"] * 100), 'so far"'),  # no cell is so long
    ],
)
def test_marks_that_no_writer_put_into_a_tsv_stay(lefts):
    rows = (f"{number}\tt\t{left}\ty\tTravel\n" for number, left in enumerate(lefts))
    assert [pair.left for pair in read(HEADER + "".join(rows), "p.tsv")] == list(lefts)


def test_two_marks_that_are_not_the_ends_of_one_cell_stay():
    rows = 'a\tt\tx\t"Hello\tz\nb\tt\ta pipe of 5"\ty\tTravel\n'  # one row of them had six cells
    pairs = read(HEADER + rows, "p.tsv")
    assert [(pair.left, pair.right) for pair in pairs] == [("x", '"Hello'), ('a pipe of 5"', "y")]


@pytest.mark.parametrize(
    ("lefts", "is_refused"),
    [
        (('"Hello, world"', "x", '"so, then"'), True),
        (('"Hello, world"', '"5"" pipe"', '"so, then"'), True),
        (('"Hello, world"', "x"), False),
        (('"Hello, world"', '"so, then"', "a, b"), False),
        (('"Hello, world"', '"so, then"', '"x"'), False),
        (('"Hello, world"', '"so, then"', 'a 5" pipe'), False),
    ],
)
def test_a_tsv_with_marks_around_each_text_with_a_comma_and_no_other_is_refused_as_excels(lefts, is_refused):
    content = HEADER + "".join(f"{number}\tt\t{left}\ty\tTravel\n" for number, left in enumerate(lefts))
    if is_refused:
        told = message(content, "p.tsv")
        assert told.startswith("p.tsv, line 2: from here on only cells with a comma are in quotation")
        assert told.endswith("; save the file as “CSV UTF-8” instead.")
    else:
        assert [pair.left for pair in read(content, "p.tsv")] == list(lefts)


CELLS = st.text('"\t\n ab', max_size=12) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=12
)


@settings(max_examples=500, deadline=None)
@given(rows=st.lists(st.tuples(*[CELLS] * 5), min_size=1, max_size=4), width=st.integers(3, 5))
@example(rows=[("1", "a\tb\tc\td\nx\tx\tc", "d\te\nf", "g", "s")], width=5)
def test_what_pandas_wrote_into_a_tsv_is_read_back_or_refused(rows, width):
    columns = ["id", "left", "right", "genre", "source"][:width]
    table = pd.DataFrame([row[:width] for row in rows], columns=columns)
    found = None
    with suppress(ImportFileError):
        pairs = read(table.to_csv(sep="\t", index=False), "p.tsv", type="phrase2word")
        found = [(p.id, p.left, p.right, p.genre or "", p.source or "")[:width] for p in pairs]
    kept = [row[:width] for row in rows if any(cell.strip() for cell in row[:width])]
    assert found in (None, [tuple(c if n in (1, 2) else c.strip() for n, c in enumerate(r)) for r in kept])


def test_cells_made_safe_for_spreadsheets_are_restored_only_in_our_own_files():
    formula = "=1+1 is a formula"
    ours = f"id,type,left,right,gold_source\na,phrase2word,{escape_formula(formula)},b,mean\n"
    assert read(ours, "gold.csv")[0].left == formula
    plain = '"id","type","left","right","gold_source"\na,phrase2word,\'@anna,b,mean\n'
    assert read(plain, "gold.csv")[0].left == "'@anna"
    theirs = "id,type,left,right\na,phrase2word,'-tis nothing,b\n"
    assert read(theirs, "p.csv")[0].left == "'-tis nothing"


# The task's own files


def test_input_files_of_the_task_are_read_as_they_are():
    content = 'He said "hi.\t"hi"\tCQA-75\n\nSnow fell.\twhite stuff\tNews-wire-2\r\n'
    assert read(content, "sentence2phrase.test.input.tsv") == [
        NewPair("CQA-75", "sentence2phrase", 'He said "hi.', '"hi"', genre="CQA"),
        NewPair("News-wire-2", "sentence2phrase", "Snow fell.", "white stuff", genre="News-wire"),
    ]


def test_word2sense_has_a_key_and_a_sense_number():
    [pair] = read("pot#n\tbasket%1:06:00::\tbasket#n#1\tw2s-1\n", "data/word2sense.test.input.tsv")
    assert pair == NewPair("w2s-1", "word2sense", "pot#n", "basket%1:06:00::", source="basket#n#1")


def test_items_without_id_are_called_by_type_and_line():
    pairs = read("a bee\tb\n\nc\td\n", "x.tsv", type="phrase2word")
    assert [pair.id for pair in pairs] == ["phrase2word-1", "phrase2word-3"]


def test_a_file_without_header_needs_a_type():
    assert "name its comparison type" in message("a bee\tb\n", "pairs.tsv")
    assert "line 1: 1 fields between tabs, not 2 to 3" in message("2.75\n", "phrase2word.test.gs.tsv")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("sentence\tphrase\nSnow fell.\twhite stuff\n", "the header has sentence, phrase; it needs id, left"),
        ("a\tb\n1\t2\n", "the header has a, b; it needs id, left and right"),
        ("Id\tLarger item\tSmaller item\n", "the header has id, larger item, smaller item; it needs id"),
        ("text_1\ttext_2\tscore\t\n", "the file has no rows"),
        ("2.75\t80\n", "line 1: '2.75' and '80' are numbers, no texts to grade"),
    ],
)  # fmt: skip
def test_a_header_of_other_columns_and_scores_are_no_pairs(content, told):
    assert told in message(content, "pairs.tsv", type="sentence2phrase")


# Bad rows


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (line() + line(left=" "), "pairs.jsonl, line 2, field 'left': is empty"),
        (line(right=5), "line 1, field 'right': 5 is not text"),
        (line(left="a\0b"), "holds a NUL character"),
        ('{"id": "a", "type": "t", "left": "\\ud83d", "right": "b"}', "half a character, U+D83D"),
        (line(id=""), "field 'id': is empty"),
        (line(id="x" * 201), "field 'id': has 201 characters"),
        (line(id=True), "field 'id': True is not text"),
        (line(type=None), "field 'type': is missing"),
        (line(left="x" * 250_001), "has 250,001 characters"),
        (line(intended=5), "field 'intended': 5 is not 0 to 4 in steps of 0.25"),
        (line(ratings=[4.25]), "field 'ratings': 4.25 is not 0 to 4"),
        (line(ratings=[2.1]), "field 'ratings': 2.1 is not 0 to 4 in steps of 0.25"),
        (line(ratings=[-1]), "-1 is not 0 to 4"),
        (line(ratings=[True]), "True is not a grade"),
        (line(ratings=["two"]), "'two' is not a grade"),
        (line(ratings=[float("nan")]), "NaN is not 0 to 4"),
        (line(ratings=float("inf")), "Infinity is not a list"),
        (line(ratings="[3"), "is not a list; write 3;2.5 or [3, 2.5]"),
        (line(ratings=[{"rater": "ana"}]), "needs \"rater\" and \"grade\""),
        (line(ratings=[{"rater": "ana", "score": 3}]), "needs \"rater\" and \"grade\""),
        (line(ratings="1E-2000000"), "1E-2000000 is not 0 to 4 in steps of 0.25"),
        (line(ratings=["1E-30"]), "1E-30 is not 0 to 4"),
        (line(ratings=[{"rater": "", "grade": 1}]), "a rating without rater"),
        (line(ratings=[{"rater": "a", "grade": 1}, {"rater": "a", "grade": 1}]), "'a' rated the pair twice"),
        (line(ratings=[1], scale="0-10"), "field 'scale': '0-10' is not 0-4"),
        ('{"id": "a", "rater": "ana"}', "field 'grade': is missing"),
        ('{"id": "a", "rater": "ana", "grade": 1, "rating:ben": 2}', "there are a rater and a grade too"),
        (line(rater="", grade=2), "field 'rater': a grade without rater; name the rater or empty the grade"),
        (line(**{"rating:ana": 1, "Rating:ana": 2}), "line 1: two fields have the same name; rename one"),
        ("{broken\n", "line 1: not JSON"),
        ('"text"', "line 1: JSON, but not an object"),
        (line() + "[1]\n", "line 2: JSON, but not an object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": ' + "9" * 5_000 + "}", "a number with too many digits"),
        ('{"id": 1e99999999999999999999}', "a number with too many digits"),
        (line(ratings="[1e99999999999999999999]"), "is not a list; write 3;2.5 or [3, 2.5]"),
        (b'\xff\xfe{\x00"\x00', "not UTF-8 but UTF-16 text, or not text at all; save it as UTF-8"),
        (line().encode() + b'{"id": "\xe9"}', "line 2: not UTF-8 text (byte 0xe9)"),
        (b'{"id": "\xe9"}', "save the file as UTF-8 (in Excel: Save As, “CSV UTF-8”)."),
        (b"%PDF-1.7 \xe2", "pairs.jsonl: this is a PDF, not a text file; save it as TSV, CSV, XLSX or"),
        (b"\xd0\xcf\x11\xe0", "this is a workbook of an old Excel, not a text file"),
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
    ],
)  # fmt: skip
def test_a_bad_line_is_told_with_its_place(content, part):
    told = message(content)
    assert told.startswith("pairs.jsonl")
    assert part in told
    assert told.endswith(".")
    assert len(told) < 300


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("ident,left,write\n", "the header has ident, left, write; it needs id, left and right"),
        ("id,left,LEFT,right\n", "the column 'left' occurs twice"),
        ("id,type,left,right\na,t,b,c,d\n", "line 2: 5 fields under a header of 4"),
        ("id,type,left,right\na,t,b\n", "line 2, field 'right': is missing"),
        ('id,type,left,right\na,t,"b\nc,d\n', "line 2: a field begins with \" and is never closed"),
        ('id,type,left,right\na,t,"b\nc,d\n', "close it (what follows was not read)."),
        ('id,type,left,right\na,t,"b" c,d\n', "continues after the closing one"),
        ('id,type,left,right\na,t,"b\n\nc",d\nb,t,,d\n', "line 5, field 'left'"),
    ],
)  # fmt: skip
def test_a_bad_row_of_a_table_is_told_with_its_place(content, part):
    assert part in message(content, "pairs.csv")


@pytest.mark.parametrize(
    ("name", "content", "wrong"),
    [
        ("p.tsv", HEADER + "a\tt\tx\ty\tz\tz\nb\tt\tx\ty\nc\tt\t\ty\nd\tt\tx\rx\ty\n", [2, 4, 5]),
        ("p.csv", "id,type,left,right\na,t,x,y,z\nb,t,x,y\nc,t,,y\nd,t,x,y,z\n", [2, 4, 5]),
        ("p.csv", 'id,type,left,right\na,t,"x" x,y\nb,t,x,y\nc,t,"x\nx",y,z\nd,t,,y\n', [2, 4, 6]),
        ("p.csv", 'id,type,left,right\na,t,,y\nb,t,"x" x,"y\nc,t,x,y,z\n', [2, 3]),
        ("p.csv", 'id,type,left,right\na,t,x,y,z\nb,t,"x\nc,t,x,y,z\n', [2, 3]),
        ("p.jsonl", "{broken\n" + line() + "[1]\n" + line(left="") + '"text"\n', [1, 3, 4, 5]),
        ("phrase2word.test.input.tsv", "a bee\nb c\td\n1\t2\ne f\tg\th\ti\n", [1, 3, 4]),
    ],
)  # fmt: skip
def test_every_wrong_line_is_told_as_long_as_it_is_known_where_the_next_row_begins(name, content, wrong):
    source = open_stream(io.BufferedReader(io.BytesIO(content.encode())), name)
    found = [str(item) for item in read_items_or_errors(source) if isinstance(item, ImportFileError)]
    assert [int(re.search(r", line (\d+)", told)[1]) for told in found] == wrong


def test_a_damaged_gz_is_told():
    whole = gzip.compress(line().encode() * 100)
    assert "damaged" in message(whole[:-20], "pairs.jsonl.gz")


class Endless(io.RawIOBase):
    """200 MB without a line break, of which a reader must not take much."""

    def __init__(self, beginning: bytes) -> None:
        self.left = 200_000_000
        self.beginning = beginning

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        size = min(len(buffer), self.left)
        buffer[:size] = self.beginning[:size].ljust(size, b"x")
        self.beginning = b""
        self.left -= size
        return size


def test_a_line_of_200_mb_is_refused_before_it_is_read():
    endless = Endless(b'{"id": "')
    tracemalloc.start()
    with pytest.raises(ImportFileError, match=r"line 1: longer than 16,777,216 bytes"):
        list(read_items(open_stream(io.BufferedReader(endless), "p.jsonl")))
    assert tracemalloc.get_traced_memory()[1] < 40_000_000
    tracemalloc.stop()
    assert endless.left > 190_000_000 - 16_777_216


@pytest.mark.slow
def test_files_stream():
    rows = io.BufferedReader(io.BytesIO(line().encode() * 20_000))
    tracemalloc.start()
    items = read_items(open_stream(rows, "p.jsonl", format := None))
    assert sum(1 for _ in items) == 20_000
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    assert format is None


# Fingerprints


def test_white_space_makes_no_other_pair_but_order_and_type_do():
    same = fingerprint("t", "a  b ", "c")
    assert same == fingerprint("t", "a b", "c\n")
    assert same == fingerprint("t", "a b", "c")
    assert (
        len({same, fingerprint("t", "c", "a b"), fingerprint("u", "a b", "c"), fingerprint("t", "a", "b c")})
        == 4
    )


def test_the_format_can_be_said_instead_of_found():
    assert read("a\tb\n", "x.txt", format=FileFormat.SEMEVAL, type="phrase2word")[0].left == "a"


def test_a_small_archive_of_very_many_empty_lines_is_refused(tmp_path):
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress(b"id\ttype\tleft\tright\n" + b"\n" * 1_000_000))
    with (
        pytest.raises(ImportFileError, match=r"line 100002: 100,000 empty lines"),
        open_source(path) as source,
    ):
        list(read_items(source))
