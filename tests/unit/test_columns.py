"""Files of pairs whose columns are called otherwise, or not at all."""

from __future__ import annotations

import io
import zipfile
from decimal import Decimal
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from annotation.columns import guess_by_content, guess_columns, parse_columns
from annotation.errors import ImportFileError
from annotation.exchange import ReadingNotes, look_at, read_items_or_errors
from annotation.types import NewPair, NewRating
from kpdemo.io.tables import open_source, open_stream
from tests.workbooks import workbook

TYPE = "sentence2sentence"


def opened(content: str | bytes, name: str):
    data = content.encode() if isinstance(content, str) else content
    return open_stream(io.BufferedReader(io.BytesIO(data)), name, any_encoding=True)


def read(content: str | bytes, name: str = "pairs.csv", columns: str = "", type: str = TYPE):
    notes = ReadingNotes()
    items = [
        *read_items_or_errors(opened(content, name), type=type, columns=parse_columns(columns), notes=notes)
    ]
    for item in items:
        if isinstance(item, ImportFileError):
            raise item
    return items, notes.sentences(name)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (["pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"],
         {"id": "pair_ID", "left": "sentence_A", "right": "sentence_B"}),
        (["Word 1", "Word 2", "Human (mean)"], {"left": "Word 1", "right": "Word 2"}),
        (["idx", "text_a", "text_b", "label"], {"id": "idx", "left": "text_a", "right": "text_b"}),
        (["premise", "hypothesis", "annotator", "label"],
         {"left": "premise", "right": "hypothesis", "rater": "annotator", "grade": "label"}),
        (["id", "left", "right", "sentence1", "sentence2"], {"id": "id", "left": "left", "right": "right"}),
        (["a", "b"], {}),
    ],
)  # fmt: skip
def test_columns_are_guessed_by_the_names_of_published_data_sets(header, columns):
    assert guess_columns(header) == columns


def test_other_names_are_read_and_said():
    items, said = read("pair_ID,sentence_A,sentence_B,relatedness_score\n7,A dog barks.,A dog is loud.,4.1\n")
    assert items == [NewPair("7", TYPE, "A dog barks.", "A dog is loud.")]
    assert said == [
        "pairs.csv: id is pair_id, left is sentence_a, right is sentence_b. Not imported: relatedness_score."
    ]


def test_ids_are_made_of_the_files_name_and_line_and_said():
    content = "sentence1\tsentence2\nOne.\tEins.\n\nTwo.\tZwei.\n"
    items, said = read(content, "my pairs.tsv")
    assert [item.id for item in items] == ["my-pairs-2", "my-pairs-4"]
    assert said[-1] == (
        "my pairs.tsv: 2 pairs have no id and got the name of the file and the number of the line, "
        "first my-pairs-2."
    )
    assert [item.id for item in read(content, "my pairs.tsv")[0]] == [item.id for item in items]


def test_scores_beside_raters_are_ratings():
    items, _ = read("pair_id,worker,score\n7,ana,3.5\n")
    assert items == [NewRating("7", "ana", Decimal("3.5"), TYPE)]
    items, _ = read("pair_id,text1,text2,annotator,rating\n7,One.,Two.,ana,2\n")
    assert items[0].ratings == (("ana", Decimal(2)),)


def test_assigned_columns_win_over_names():
    items, said = read(
        "id,left,right,summary\n1,One.,x,Two.\n", columns="right=summary, genre=right", type=TYPE
    )
    assert items == [NewPair("1", TYPE, "One.", "Two.", genre="x")]
    assert said == ["pairs.csv: right is summary, genre is right."]


def test_columns_of_a_file_without_header_have_numbers():
    items, _ = read("love,romance,6.77\ntiger,cat,7.35\n", columns="left=1,right=2")
    assert [(item.left, item.right) for item in items] == [("love", "romance"), ("tiger", "cat")]
    items, _ = read(workbook([["One here.", "Two there."]]), "p.xlsx", columns="left=2,right=1")
    assert [(item.id, item.left) for item in items] == [("p-1", "Two there.")]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("left=sentence1,right=s2", r"there is no column 's2' for 'right'; it has sentence1, sentence2\.$"),
        ("left=sentence1,right=sentence1", r"the column 'sentence1' is assigned twice"),
        ("left", r"^'left' assigns no column: write FIELD=COLUMN"),
        ("word=sentence1", r"^'word=sentence1' assigns no column"),
        ("left=sentence1,left=sentence2", r"^The field 'left' is assigned twice"),
    ],
)
def test_a_wrong_assignment_is_one_sentence(columns, told):
    with pytest.raises(ImportFileError, match=told):
        read("sentence1,sentence2\nOne.,Two.\n", columns=columns)


STS = (
    "main-captions\tMSRvid\t2012test\t0001\t5.000\tA plane is taking off.\tAn air plane is taking off.\n"
    'main-news\theadlines\t2013\t7\t2.400\tHe said "no.\tHe refused.\tsource one\tsource two\n'
)


def test_the_sts_benchmarks_own_files_are_read_as_they_are():
    items, said = read(STS, "sts-dev.csv")
    assert said == [
        "sts-dev.csv was read as a file of the STS benchmark; its scores, means of several people, were not "
        "imported."
    ]
    assert look_at(opened(STS, "sts-dev.csv")).columns is None
    assert [(item.id, item.genre, item.left) for item in items] == [
        ("MSRvid-2012test-0001", "main-captions", "A plane is taking off."),
        ("headlines-2013-7", "main-news", 'He said "no.'),
    ]
    with pytest.raises(ImportFileError, match=r"line 3: 2 fields between tabs, not 7 as in"):
        read(STS + "main-news\theadlines\n", "sts-dev.csv")


@pytest.mark.parametrize(("encoding", "name"), [("utf-16", "UTF-16"), ("cp1252", "Windows-1252 (Latin-1)")])
def test_other_encodings_are_read_and_said(tmp_path: Path, encoding, name):
    path = tmp_path / "pairs.tsv"
    path.write_bytes("id\tleft\tright\n1\tLe café est fermé.\tfermé\n".encode(encoding))
    notes = ReadingNotes()
    with open_source(path, any_encoding=True) as source:
        [pair] = read_items_or_errors(source, type="sentence2word", notes=notes)
    assert pair.left == "Le café est fermé."
    assert notes.sentences("p") == [f"{path}: read as {name}; if letters are wrong, save it as UTF-8."]


def ods(rows: list[list[object]]) -> bytes:
    """A workbook as LibreOffice writes it: numbers as values, repeated cells counted, many empty ones."""
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
        for short, long in (("office", "office"), ("table", "table"), ("text", "text"))
    )
    body = ""
    for row in rows:
        body += "<table:table-row>"
        for value in row:
            if isinstance(value, float):
                body += (
                    f'<table:table-cell office:value-type="float" office:value="{value}">'
                    "<text:p>shown</text:p></table:table-cell>"
                )
            else:
                text = escape(str(value)).replace("  ", '<text:s text:c="2"/>')
                paragraphs = "".join(f"<text:p>{part}</text:p>" for part in text.split("\n"))
                body += f'<table:table-cell office:value-type="string">{paragraphs}</table:table-cell>'
        body += '<table:table-cell table:number-columns-repeated="1019"/></table:table-row>'
    body += (
        '<table:table-row table:number-rows-repeated="1048570">'
        '<table:table-cell table:number-columns-repeated="1024"/></table:table-row>'
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet><table:table>{body}"
            "</table:table></office:spreadsheet></office:body></office:document-content>",
        )
    return stream.getvalue()


def test_workbooks_of_libreoffice_are_read():
    content = ods(
        [
            ["id", "left", "right", "rating:ana"],
            [1.0, "a  <b>\nc", "d", 2.75],
            [2.0, "e", "f", 0.0],
        ]
    )
    items, _ = read(content, "pairs.ods")
    assert [(item.id, item.left, item.ratings) for item in items] == [
        ("1", "a  <b>\nc", (("ana", Decimal("2.75")),)),
        ("2", "e", (("ana", Decimal(0)),)),
    ]
    with pytest.raises(ImportFileError, match=r"^pairs\.ods, row 3, field 'left': is empty"):
        read(ods([["id", "left", "right"], ["1", "a", "b"], ["2", "", "b"]]), "pairs.ods")


def test_a_first_look_tells_what_a_file_is_and_guesses_its_columns():
    look = look_at(opened("pair_ID,sentence_A,sentence_B\n7,A dog barks.,A dog is loud.\n", "sick.csv"))
    assert (look.kind, look.names) == ("a table with a header", ("pair_id", "sentence_a", "sentence_b"))
    assert look.rows == (("7", "A dog barks.", "A dog is loud."),)
    assert look.columns == {"id": "pair_id", "left": "sentence_a", "right": "sentence_b"}
    bare = look_at(
        opened("x1,The dog barks loudly.,A loud dog.,3.5\nx2,It rains a lot.,Rain.,4.0\n", "p.csv")
    )
    assert bare.kind == "a table without a header"
    assert bare.columns == {"left": "2", "right": "3", "id": "1"}
    task = look_at(opened("one thing\tanother\tTravel-1\n", "p.tsv"))
    assert (task.kind, task.columns) == ("an input file of SemEval-2014 Task 3, without a header", None)
    assert look_at(opened("id,left,right\n", "p.csv")).names == ()


def test_two_columns_of_numbers_are_no_texts():
    assert guess_by_content([["1", "2"], ["3", "4"]]) == {}
