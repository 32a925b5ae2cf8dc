from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfWriter

from kpdemo.errors import InputError
from kpdemo.io.documents import (
    document_from_row,
    markdown_document,
    parse_documents,
    read_documents,
    read_numbered,
    read_whole,
)
from kpdemo.io.files import count_lines, decode_text, document_suffix, read_head, read_text
from kpdemo.io.tables import LineError, read_rows
from kpdemo.types import Document
from tests.pdfs import make_pdf
from tests.workbooks import workbook

UNREADABLE = Path("/proc/self/mem")

TEXTS = st.text(st.characters(codec="utf-8"))
PHRASES = st.text(st.characters(codec="utf-8", exclude_characters=";；\r\n"), min_size=1).filter(
    lambda phrase: phrase == phrase.strip()
)
DOCUMENTS = st.builds(
    Document,
    body=TEXTS,
    title=TEXTS,
    id=TEXTS.filter(bool),
    keyphrases=st.lists(PHRASES).map(tuple),
    language=st.sampled_from(["en", "de", "fr"]),
)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def as_row(document: Document) -> dict[str, object]:
    return {
        "id": document.id,
        "title": document.title,
        "abstract": document.body,
        "keyphrases": list(document.keyphrases),
        "language": document.language,
    }


class TestRows:
    def test_our_own_fields_are_read(self) -> None:
        row = {"id": 7, "title": "T", "abstract": "A", "keyphrases": ["a b", " "], "language": "de"}
        assert document_from_row(row, where="x") == Document("A", "T", "7", ("a b",), "de")

    def test_the_fields_of_kp20k_are_read(self) -> None:
        row = {"title": "T", "abstract": "A", "keyword": "neural network; ;learning to rank"}
        document = document_from_row(row, where="x", default_id="3")
        assert document == Document("A", "T", "3", ("neural network", "learning to rank"))

    def test_text_stands_for_abstract(self) -> None:
        assert document_from_row({"text": "B", "abstract": None}, where="x") == Document("B")

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"title": "T"}, 'no field "abstract" or "text"'),
            ({"text": 5}, '"text" is 5, not text'),
            ({"text": "A", "title": ["T"]}, '"title" is \\["T"\\], not text'),
            ({"text": "A", "id": 1.5}, '"id" is 1.5, not text'),
            ({"text": "A", "id": True}, '"id" is true, not text'),
            ({"text": "A", "keyphrases": {"a": 1}}, '"keyphrases" is {"a": 1}, not a list'),
            ({"text": "A", "keyphrases": ["a", 2]}, '"keyphrases" is 2, not text'),
            ({"text": "A", "language": 1}, '"language" is 1, not text'),
            ({"text": "a\ud800"}, '"text" holds half a character'),
        ],
    )
    def test_a_wrong_field_is_named(self, row: dict[str, object], message: str) -> None:
        with pytest.raises(InputError, match=f"docs.jsonl, line 3: {message}"):
            document_from_row(row, where="docs.jsonl, line 3")


class TestJsonLines:
    @settings(deadline=None, max_examples=40)
    @given(st.lists(DOCUMENTS, max_size=8))
    def test_what_is_written_is_read(self, documents: list[Document]) -> None:
        lines = [json.dumps(as_row(document), ensure_ascii=False).encode() + b"\n" for document in documents]
        stream = io.BytesIO(b"".join(lines))
        assert [document for _, document in parse_documents(stream, name="x")] == documents

    @pytest.mark.parametrize("suffix", [".jsonl", ".json", ".jsonl.gz", ".JSONL.XZ"])
    def test_compressed_or_not(self, tmp_path: Path, suffix: str) -> None:
        content = b'\xef\xbb\xbf{"text": "A"}\r\n\n  \n{"text": "B"}'
        if suffix.lower().endswith(".gz"):
            content = gzip.compress(content)
        if suffix.lower().endswith(".xz"):
            content = lzma.compress(content)
        path = write(tmp_path / f"docs{suffix}", content)
        assert list(read_numbered(path)) == [(1, Document("A", id="1")), (4, Document("B", id="4"))]
        assert list(read_documents(path)) == [Document("A", id="1"), Document("B", id="4")]

    def test_the_first_broken_line_stops_a_strict_reader(self, tmp_path: Path) -> None:
        path = write(tmp_path / "docs.jsonl", '{"text": "A"}\n{"text": \n{"text": "C"}\n')
        rows = read_rows(path)
        assert next(rows) == (1, {"text": "A"})
        with pytest.raises(
            InputError, match=r"docs\.jsonl, line 2: not JSON \(.+\); fix or empty the line\.$"
        ):
            next(rows)

    def test_broken_lines_are_reported_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        broken = [
            b"{",
            b"[1]",
            b'"\xff"',
            b"[" * 100_000,
            b'{"title": "no text"}',
            b'{"n": ' + b"9" * 5000 + b"}",
        ]
        path = write(
            tmp_path / "docs.jsonl", b"\n".join(['{"text": "Á"}'.encode(), *broken, b'{"text": "Z"}'])
        )
        problems: list[LineError] = []
        assert [document.body for document in read_documents(path, on_error=problems.append)] == ["Á", "Z"]
        assert [problem.line for problem in problems] == [2, 3, 4, 5, 6, 7]
        assert all(f"docs.jsonl, line {problem.line}: " in problem.message for problem in problems)
        assert "not UTF-8 text (byte 0xff)" in problems[2].message

    @pytest.mark.parametrize(
        ("array", "numbers"),
        [
            ('\ufeff[\n  {"text": "[A,\\n]"},\n\n  {"text": "é"}\n]\n', [2, 4]),
            ('[{"text": "[A,\\n]"}, {"text": "é"}]', [1, 2]),
            ("\n[]", []),
        ],
    )
    def test_an_array_is_read_as_the_objects_in_it(
        self, tmp_path: Path, array: str, numbers: list[int]
    ) -> None:
        found = list(read_numbered(write(tmp_path / "docs.json", array)))
        assert [number for number, _ in found] == numbers
        assert [document.body for _, document in found] == ["[A,\n]", "é"][: len(numbers)]

    def test_what_is_no_object_in_an_array_is_named_by_its_line(self, tmp_path: Path) -> None:
        problems: list[LineError] = []
        path = write(tmp_path / "docs.json", '[{"text": "A"},\n7,\n{"text": "B"}]')
        assert [document.body for document in read_documents(path, on_error=problems.append)] == ["A", "B"]
        assert [problem.message.partition(";")[0] for problem in problems] == [
            f"{path}, line 2: JSON, but not an object"
        ]

    def test_a_broken_array_is_one_sentence(self, tmp_path: Path) -> None:
        path = write(tmp_path / "docs.json", '[\n{"text": "A"}\n{"text": "B"}\n')
        told = r"docs\.json, entry 1: not JSON \(.* line 3\); fix it \(what follows was not read\)\.$"
        with pytest.raises(InputError, match=told):
            list(read_documents(path, on_error=unexpected))

    def test_a_first_line_that_is_an_array_by_itself_costs_no_other(self, tmp_path: Path) -> None:
        problems: list[LineError] = []
        path = write(tmp_path / "docs.jsonl", '[1]\n{"text": "B"}\n')
        assert [document.id for document in read_documents(path, on_error=problems.append)] == ["2"]
        assert [problem.line for problem in problems] == [1]

    def test_a_damaged_archive_is_explained(self, tmp_path: Path) -> None:
        whole = gzip.compress(json.dumps({"text": "many words " * 500}).encode())
        path = write(tmp_path / "docs.jsonl.gz", whole[:-12])
        with pytest.raises(InputError, match="compressed file is damaged"):
            list(read_documents(path))
        with pytest.raises(InputError, match="compressed file is damaged"):
            list(read_documents(write(tmp_path / "docs.jsonl.xz", b"no archive")))


class TestTables:
    @settings(deadline=None, max_examples=40)
    @given(st.lists(DOCUMENTS, max_size=8))
    def test_what_is_written_is_read(
        self, tmp_path_factory: pytest.TempPathFactory, documents: list[Document]
    ) -> None:
        table = io.StringIO()
        writer = csv.writer(table)
        writer.writerow(["id", "Title", "text", "keyphrases", "language"])
        for document in documents:
            phrases = ";".join(document.keyphrases)
            writer.writerow([document.id, document.title, document.body, phrases, document.language])
        path = write(tmp_path_factory.mktemp("tables") / "docs.csv", table.getvalue())
        assert list(read_documents(path)) == documents

    def test_tabs_semicolons_and_long_cells(self, tmp_path: Path) -> None:
        body = "word " * 100_000
        expected = [Document(body, "T", "1")]
        for name, comma in (("a.tsv", "\t"), ("b.csv", ";"), ("c.csv", ",")):
            content = f"id{comma}title{comma}abstract\n1{comma}T{comma}{body}\n"
            assert list(read_documents(write(tmp_path / name, content))) == expected

    def test_line_numbers_count_lines_of_the_file(self, tmp_path: Path) -> None:
        path = write(tmp_path / "docs.csv", 'text\n"one\nand more"\n\nlast\n')
        assert list(read_numbered(path)) == [
            (2, Document("one\nand more", id="2")),
            (5, Document("last", id="5")),
        ]

    def test_a_row_with_bad_bytes_is_reported_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        path = write(tmp_path / "docs.csv", "text\nfïne\n".encode() + b"b\xe9d\ngood\n")
        problems: list[LineError] = []
        assert [document.body for document in read_documents(path, on_error=problems.append)] == [
            "fïne",
            "good",
        ]
        assert [problem.line for problem in problems] == [3]
        assert problems[0].message == (
            f"{path}, line 3: not UTF-8 text (byte 0xe9); save the file as UTF-8 "
            "(in Excel: Save As, “CSV UTF-8”)."
        )

    def test_a_row_with_more_cells_than_columns_is_reported_and_the_rest_goes_on(
        self, tmp_path: Path
    ) -> None:
        rows = "1,Neural networks learn, and graph kernels too\n2,Spreadsheets end rows so,,\n3,Fine\n"
        path = write(tmp_path / "docs.csv", f"id,text\n{rows}")
        problems: list[LineError] = []
        assert [document.id for document in read_documents(path, on_error=problems.append)] == ["2", "3"]
        told = "3 fields under a header of 2; put fields with the separator in quotes."
        assert problems == [LineError(2, f"{path}, line 2: {told}")]
        with pytest.raises(InputError, match=told):
            list(read_documents(path))

    @pytest.mark.parametrize("cell", ['"networks', '"networks\n4 graph "kernels"'])
    def test_a_quote_that_is_not_closed_ends_reading_at_its_row(self, tmp_path: Path, cell: str) -> None:
        path = write(tmp_path / "docs.csv", f"id,text\n1,fine\n\n2,{cell}\n3,swallowed\n")
        problems: list[LineError] = []
        assert [document.id for document in read_documents(path, on_error=problems.append)] == ["1"]
        [problem] = problems
        assert problem.line == 4
        assert problem.message.startswith(f'{path}, line 4: a field begins with " and ')
        with pytest.raises(InputError, match=r"line 4: a field .* \(what follows was not read\)\.$"):
            list(read_documents(path))

    def test_text_after_a_closing_quote_costs_its_row_alone(self, tmp_path: Path) -> None:
        path = write(tmp_path / "docs.csv", 'id,text\n1,fine\n2,"Neural" networks\n3,fine too\n')
        problems: list[LineError] = []
        assert [document.id for document in read_documents(path, on_error=problems.append)] == ["1", "3"]
        assert "continues after the closing one" in problems[0].message

    @pytest.mark.parametrize("cell", ['"Neural" networks', '"networks', '5" disks, "so'])
    def test_a_quote_in_a_tsv_that_no_writer_put_there_is_text(self, tmp_path: Path, cell: str) -> None:
        path = write(tmp_path / "docs.tsv", f"id\ttext\n1\tfine\n2\t{cell}\n3\tfine too\n")
        assert [document.body for document in read_documents(path)] == ["fine", cell, "fine too"]

    def test_the_first_sheet_of_a_workbook_is_read(self, tmp_path: Path) -> None:
        rows = [
            (None, None),
            ("ID", "Title", "text", "Keyphrases"),
            (7, None, "Graph\nkernels", "graph; kernel"),
            (None, None, None, None),
            (8.5, "T", "B", None, None),
        ]
        assert list(read_numbered(write(tmp_path / "docs.xlsx", workbook(rows)))) == [
            (3, Document("Graph\nkernels", id="7", keyphrases=("graph", "kernel"))),
            (5, Document("B", "T", "8.5")),
        ]

    @pytest.mark.parametrize(
        ("rows", "where"),
        [
            ('2\tT\t"Graphs\n\n3\tT\tkernels\n4\tT\t5"\n', 'and one in line 6 ends'),
            ('2\t"Graphs\tkernels"\n', "and one in the same line ends"),
            ('2\t"Graphs\tfun\n3\tTrees\n4\tLeaves fall"\tno\n', "and one in line 5 ends"),
            ('2\tT\t"Graphs\n3\tT\tTrees\tmore\n4\tT\tLeaves"\n', "and one in line 5 ends"),
            ('"2\tT\tGraphs\n3"\tT\tTrees\n', "and one in line 4 ends"),
        ],
    )  # fmt: skip
    def test_a_quote_in_a_tsv_that_would_swallow_rows_is_reported_and_the_rest_goes_on(
        self, tmp_path: Path, rows: str, where: str
    ) -> None:
        path = write(tmp_path / "docs.tsv", f"id\ttitle\ttext\n1\tT\tfine\n{rows}9\tT\tfine\n")
        problems: list[LineError] = []
        assert [document.id for document in read_documents(path, on_error=problems.append)] == ["1", "9"]
        [problem] = problems
        assert problem.line == 3
        assert problem.message.startswith(f'{path}, line 3: a cell begins with " {where} with it, which may')
        with pytest.raises(InputError, match="write the header in quotes too, or save the file as CSV"):
            list(read_documents(path))

    def test_cells_of_a_tsv_that_pandas_put_in_quotes_are_read(self, tmp_path: Path) -> None:
        texts = ["one\ntwo", "a\tb", 'a "b"', "one\n\n5\t6\n", '"x']
        for columns in (
            ["id", "title", "text"],
            ["text", "id", "title"],
            ["id", "text", "title"],
            ["id", "text"],
        ):
            table = pd.DataFrame({"id": list("abcde"), "title": "T", "text": texts})
            path = write(tmp_path / "docs.tsv", table.to_csv(sep="\t", index=False, columns=columns))
            assert [document.body for document in read_documents(path)] == texts
        path = write(tmp_path / "quoted.tsv", '"id"\t"text"\n"1"\t"one\n5\t6"\n')
        assert [document.body for document in read_documents(path)] == ["one\n5\t6"]

    def test_a_quote_in_the_header_that_is_not_closed_is_explained(self, tmp_path: Path) -> None:
        path = write(tmp_path / "docs.csv", 'id,"text\n1,fine\n')
        with pytest.raises(InputError, match='line 1: a field begins with "'):
            list(read_documents(path, on_error=pytest.fail))

    def test_a_table_without_a_text_column_is_explained(self, tmp_path: Path) -> None:
        told = 'line 1: the header has a, b; it needs "abstract" or "text"'
        with pytest.raises(InputError, match=told):
            list(read_documents(write(tmp_path / "docs.csv", "a,b\n1,2\n")))


class TestWholeFiles:
    def test_text_is_taken_as_it_is(self, tmp_path: Path) -> None:
        path = write(tmp_path / "my.notes.txt", "\ufeffOne\r\n  two\n")
        assert list(read_documents(path)) == [Document("One\r\n  two\n", id="my.notes")]
        path = write(tmp_path / "zipped.txt.gz", gzip.compress(b"One"))
        assert list(read_documents(path)) == [Document("One", id="zipped")]

    def test_a_first_line_that_is_a_title_is_the_title_unless_one_is_given(self, tmp_path: Path) -> None:
        title, body = "Learning to rank", "We rank the pages of a collection by what people click on.\n"
        path = write(tmp_path / "a.txt", f"{title}\n{body}")
        expected = Document(body, title, "a", title_break="\n")
        assert list(read_documents(path)) == [expected]
        assert read_whole(path, title="Clicks") == Document(f"{title}\n{body}", "Clicks", "a")

    def test_a_first_heading_is_the_title(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.md", "\n# Learning to rank #\n\nWe *rank* `pages`.\n\n# Later\n")
        expected = Document("We *rank* `pages`.\n\n# Later\n", "Learning to rank", "a")
        assert list(read_documents(path)) == [expected]

    @pytest.mark.parametrize(
        ("text", "title", "body"),
        [
            ("# One", "One", ""),
            (" \t\r\n \n  #\tOne two ##\t\r\n\r\n  words\r\n", "One two", "  words\r\n"),
            ("# Programs in C#\nwords", "Programs in C#", "words"),
            ("# One\rwords", "One", "words"),
        ],
    )
    def test_a_heading_is_read_without_its_marks(self, text: str, title: str, body: str) -> None:
        assert markdown_document(text) == Document(body, title)

    def test_a_line_of_nearly_only_spaces_is_read_at_once(self) -> None:
        spaces = " " * 100_000
        assert markdown_document(f"# a{spaces}x y") == Document("", f"a{spaces}x y")
        assert markdown_document(f"# a{spaces}#{spaces}b") == Document("", f"a{spaces}#{spaces}b")
        assert markdown_document(f"{spaces}\n{spaces}x") == Document(f"{spaces}\n{spaces}x")

    @pytest.mark.parametrize(
        "text",
        ["", "#hashtag", "words\n# Heading", "## Second level\n", "#  \nwords", "# ###\nwords"],
    )
    def test_without_a_heading_markdown_is_text(self, text: str) -> None:
        assert markdown_document(text) == Document(text)

    @settings(deadline=None, max_examples=60)
    @given(TEXTS, TEXTS)
    def test_markdown_loses_no_word(self, title: str, body: str) -> None:
        source = f"# {title}\n\n{body}"
        assert [*markdown_document(source).text.replace("#", "").split()] == source.replace("#", "").split()

    def test_binary_is_explained_with_its_offset(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"not a text file \(a zero byte at offset 4\)"):
            list(read_documents(write(tmp_path / "a.txt", b"PK\x03\x05\x00\xff")))
        with pytest.raises(InputError, match=r"not UTF-8 text \(byte 0xe9 at offset 9\)"):
            list(read_documents(write(tmp_path / "a.md", "été".encode() + b" caf\xe9")))
        with pytest.raises(InputError, match="byte 0xe9 at offset 4"):
            decode_text(b"\xef\xbb\xbfa\xe9", name="x")


class TestPdf:
    def test_text_and_title_are_read(self, tmp_path: Path) -> None:
        path = make_pdf(
            tmp_path / "paper.pdf", ["We train neural net-", "works on a GPU-", "Cluster."], title="Deep Nets"
        )
        [document] = read_documents(path)
        assert (document.id, document.title) == ("paper", "Deep Nets")
        assert document.body == "We train neural networks on a GPU-\nCluster."

    @pytest.mark.parametrize(
        ("lines", "body"),
        [
            (["Deep nets", "for Maps (2)", "We train."], "We train."),
            (["Deep Nets for Maps (2) and more", "We train."], "Deep Nets for Maps (2) and more\nWe train."),
            (["Deep Nets for Maps (2)"], "Deep Nets for Maps (2)"),
        ],
    )
    def test_a_title_that_the_file_tells_is_not_read_twice(self, tmp_path: Path, lines, body) -> None:
        drawn = [line.replace("(", r"\(").replace(")", r"\)") for line in lines]
        [found] = read_documents(make_pdf(tmp_path / "a.pdf", drawn, title="Deep Nets for Maps (2)"))
        assert (found.title, found.body) == ("Deep Nets for Maps (2)", body)

    @pytest.mark.parametrize(
        ("second", "title"), [("Under Review at Nets 2", ""), ("Kim et al. 2", "Under Review at Nets 1")]
    )
    def test_a_line_that_heads_the_second_page_too_is_no_title(self, tmp_path: Path, second, title) -> None:
        body = "We train many neural networks on one GPU, and tell how long each of them takes there."
        writer = PdfWriter()
        for number, head in enumerate(("Under Review at Nets 1", second)):
            writer.append(make_pdf(tmp_path / f"{number}.pdf", [head, "", body]))
        writer.write(tmp_path / "paper.pdf")
        [document] = read_documents(tmp_path / "paper.pdf")
        assert document.title == title

    @pytest.mark.parametrize(
        "title", ["Microsoft Word - paper.doc", "Untitled 1", "final version.tex", "Paper"]
    )
    def test_a_title_made_by_a_program_is_left_out(self, tmp_path: Path, title: str) -> None:
        [document] = read_documents(make_pdf(tmp_path / "paper.pdf", ["Some words."], title=title))
        assert document == Document("Some words.", id="paper")

    def test_a_locked_pdf_is_explained(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="locked with a password"):
            list(read_documents(make_pdf(tmp_path / "a.pdf", ["Words."], password="secret")))

    def test_a_pdf_of_pictures_is_explained(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no text in this PDF"):
            list(read_documents(make_pdf(tmp_path / "a.pdf", [])))

    def test_what_is_no_pdf_is_explained(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        whole = make_pdf(tmp_path / "whole.pdf", ["Words."]).read_bytes()
        for content in (b"", b"no pdf", b"%PDF-1.7\n%%EOF", whole[: len(whole) // 2]):
            with pytest.raises(InputError, match=r"a\.pdf: .+\.$") as caught:
                list(read_documents(write(tmp_path / "a.pdf", content)))
            assert "\n" not in str(caught.value)
        assert not caplog.records


def unexpected(problem: LineError) -> None:
    raise AssertionError(problem)


class TestFiles:
    def test_a_missing_file_is_explained(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no such file"):
            list(read_documents(tmp_path / "a.txt"))

    def test_a_folder_is_explained(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").mkdir()
        with pytest.raises(InputError, match="a folder, not a file"):
            list(read_documents(tmp_path / "a.jsonl"))

    @pytest.mark.parametrize(
        "name", ["/dev/stdin", "/dev/fd/63", "run.pred", "docs-24.05", "docs.gz", ".txt"]
    )
    def test_a_name_that_says_nothing_stands_for_json_lines(self, name: str) -> None:
        assert document_suffix(Path(name)) == ".jsonl"

    @pytest.mark.parametrize("name", ["talk.pptx", "TABLE.ODS", "docs.jsonl.zst", "old.doc.gz"])
    def test_the_suffix_of_another_kind_of_file_is_explained(self, name: str) -> None:
        with pytest.raises(InputError, match=r"cannot be read; use one of \.jsonl, .*\.zip\.$"):
            document_suffix(Path(name))

    @pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\x00", b"\n\xff\xd8\xff\xe0\n"])
    def test_what_is_no_text_is_refused_once(self, tmp_path: Path, content: bytes) -> None:
        path = write(tmp_path / "photo.png", content)
        told = r"photo\.png: files that end in \.png .* it is not a text file; use one of \.jsonl, .*\.zip\.$"
        with pytest.raises(InputError, match=told):
            list(read_documents(path, on_error=unexpected))

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_utf_16_of_a_spreadsheet_without_its_mark_is_named(self, tmp_path: Path, encoding: str) -> None:
        path = write(tmp_path / "docs.csv", "id\ttext\n1\tGraph kernels.\n".encode(encoding))
        with pytest.raises(InputError, match=r"docs\.csv: not UTF-8 but UTF-16 text"):
            list(read_documents(path, on_error=unexpected))

    @pytest.mark.parametrize("name", ["docs.jsonl", "run.pred", "stdin"])
    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_utf_16_without_its_mark_is_named(self, tmp_path: Path, name: str, encoding: str) -> None:
        path = write(tmp_path / name, '{"text": "a"}\n'.encode(encoding))
        with pytest.raises(
            InputError, match=f"{name}: not UTF-8 but UTF-16 text, or not text at all; save it as UTF-8"
        ):
            list(read_documents(path, on_error=unexpected))
        with (
            path.open("rb") as stream,
            pytest.raises(InputError, match="standard input: not UTF-8 but UTF-16"),
        ):
            list(parse_documents(stream, name="standard input", on_error=unexpected))

    @pytest.mark.parametrize("line", [b'{"text": "\x00"}', b'\xe9 {"text"', b"\xff"])
    @pytest.mark.parametrize("name", ["docs.jsonl", "stdin"])
    def test_a_first_line_that_is_broken_costs_its_document_alone(
        self, tmp_path: Path, name: str, line: bytes
    ) -> None:
        problems: list[LineError] = []
        path = write(tmp_path / name, line + b'\n{"text": "a"}\n')
        assert [document.id for document in read_documents(path, on_error=problems.append)] == ["2"]
        assert [problem.line for problem in problems] == [1]

    def test_only_a_name_that_promises_no_json_has_its_first_line_looked_at(self, tmp_path: Path) -> None:
        source = "\\section{Words}\n" * 3
        with pytest.raises(
            InputError, match=r"files that end in \.log are read as JSON Lines, but the first"
        ):
            list(read_documents(write(tmp_path / "paper.log", source), on_error=unexpected))
        for name in ("paper.jsonl", "paper"):
            problems: list[LineError] = []
            assert not list(read_documents(write(tmp_path / name, source), on_error=problems.append))
            assert [problem.line for problem in problems] == [1, 2, 3]
        rows = b'\xef\xbb\xbf\n {"text": "a"}\n\xff\n'
        assert len(list(read_documents(write(tmp_path / "run.pred", rows), on_error=problems.append))) == 1

    def test_lines_that_are_not_blank_are_counted(self, tmp_path: Path) -> None:
        assert count_lines(write(tmp_path / "a.jsonl", "{}\n\n \n{}")) == 2
        assert count_lines(write(tmp_path / "a.jsonl.gz", gzip.compress(b"{}\n{}\n"))) == 2

    def test_the_head_is_that_of_the_bytes_on_the_disk(self, tmp_path: Path) -> None:
        assert read_head(write(tmp_path / "a.gz", b"no archive"), 4) == b"no a"

    @pytest.mark.skipif(not UNREADABLE.exists(), reason="needs a file that opens but cannot be read")
    def test_a_file_that_breaks_while_it_is_read_is_named(self, tmp_path: Path) -> None:
        for name in ("a.jsonl", "a.csv", "a.txt", "a.pdf"):
            path = tmp_path / name
            path.symlink_to(UNREADABLE)
            with pytest.raises(InputError, match=f"{name}: cannot be read \\("):
                list(read_documents(path))
        for read in (lambda: count_lines(path), lambda: read_head(path, 9)):
            with pytest.raises(InputError, match=r"a\.pdf: cannot be read \(.+\); check its permissions"):
                read()

    @pytest.mark.skipif(not UNREADABLE.exists(), reason="needs a file that opens but cannot be read")
    def test_a_stream_that_breaks_is_named(self) -> None:
        with UNREADABLE.open("rb") as stream:
            with pytest.raises(InputError, match="standard input: cannot be read"):
                list(parse_documents(stream, name="standard input"))
            with pytest.raises(InputError, match="standard input: cannot be read"):
                read_text(stream, name="standard input")
