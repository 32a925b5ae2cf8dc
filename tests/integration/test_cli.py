from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

import annotation.cli
from kpdemo.cli import app, main
from kpdemo.cli.options import PATH_OPTIONS
from kpdemo.errors import ModelLoadError
from kpdemo.io.files import plain_name
from kpdemo.pipeline import Pipeline
from kpdemo.types import Predictor
from kpdemo.worker import tell
from tests.fakes import FakePredictor, FakeRetriever
from tests.latex_tables import read_tables

ROOT = Path(__file__).parents[2]
UNREADABLE = Path("/proc/self/mem")
TEXT = "Neural networks learn word embeddings. Networks of neurons learn."

# The command line in a process of its own, with the fake instead of a model; SLOW is seconds a batch.
FAKE_PROGRAM = """
import os, sys, time
import kpdemo.cli, kpdemo.predictors
from tests.fakes import FakePredictor

class SlowPredictor(FakePredictor):
    def predict(self, documents, *, top_k=None, threshold=None):
        time.sleep(float(os.environ.get("SLOW", "0")))
        return super().predict(documents, top_k=top_k, threshold=threshold)

kpdemo.predictors.load_predictor = lambda *asked, **options: SlowPredictor()
sys.exit(kpdemo.cli.main())
"""


class TellingPredictor(FakePredictor):
    """Tells how far it is."""

    def predict(self, documents, *, top_k=None, threshold=None):
        tell(0.5)
        return super().predict(documents, top_k=top_k, threshold=threshold)


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Calls the command line in this process, with the fake predictor."""

    def call(*arguments: object, stdin: str | bytes = b"", predictor: Predictor | None = None) -> Result:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        opened = predictor or FakePredictor()
        monkeypatch.setattr("kpdemo.predictors.load_predictor", lambda *asked, **options: opened)
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return call


def path_options(typer_app: typer.Typer) -> set[str]:
    """The options whose help says that they take a file, a folder or the name of a model."""
    found, commands = set(), [typer.main.get_command(typer_app)]
    for each in commands:
        commands += getattr(each, "commands", {}).values()
        for one in each.params:
            names = re.search("FILE|FOLDER|DIR|NAME|SYSTEM", one.metavar or "")
            if names and one.param_type_name == "option":
                found.update(one.opts)
    return found


def command(*arguments: object, program: str = "", slow: float = 0.0) -> subprocess.Popen[bytes]:
    """Starts the command line in a process of its own; `program` replaces `-m kpdemo`."""
    start = ["-c", program] if program else ["-m", "kpdemo"]
    return subprocess.Popen(
        [sys.executable, *start, *(str(argument) for argument in arguments)],
        cwd=ROOT,
        env={**os.environ, "SLOW": str(slow)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes], stdin: bytes = b"") -> Result:
    out, err = process.communicate(stdin, timeout=120)
    return Result(process.returncode, out.decode(), err.decode())


def is_one_sentence(message: str) -> bool:
    return message.endswith(".\n") and message.count("\n") == 1 and "Traceback" not in message


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    rows = ({"id": f"d{n}", "text": f"Neural networks sort number{n} quickly."} for n in range(40))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.test.jsonl"
    rows = [
        {
            "id": "a",
            "title": "Neural networks",
            "abstract": "They learn.",
            "keyphrases": ["neural network", "AI"],
        },
        {"id": "b", "title": "Sorting", "abstract": "Quick words.", "keyphrases": ["sorting"]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def abstracts(tmp_path: Path) -> Path:
    """A table whose ids are in a column of another name."""
    folder = tmp_path / "tables"
    folder.mkdir()
    path = folder / "abstracts.csv"
    rows = ["10.1/a,Neural networks,They learn words.,neural networks", "=b,Sorting,Quick words.,sorting"]
    path.write_text("\n".join(["doi,Title,Abstract,Keyphrases", *rows]), encoding="utf-8")
    return path


class TestOneDocument:
    def test_json_is_the_contract(self, run: Run) -> None:
        result = run("predict", "-", "--json", "--top-k", 2, stdin=TEXT)
        assert (result.status, result.err) == (0, "")
        answer = json.loads(result.out)
        assert list(answer) == [
            *("language", "present", "absent", "warnings", "model", "device", "seconds"),
            *("text", "text_offset"),
        ]
        assert answer["present"][0] == {"text": "Neural networks", "score": 0.9, "spans": [[0, 15]]}
        assert answer["absent"][0] == {"text": "keyphrase prediction", "score": 0.5}
        assert (answer["language"], answer["model"], answer["device"]) == ("en", "fake", "cpu")
        assert answer["text"] == TEXT
        assert answer["text_offset"] == 0

    def test_how_far_a_long_text_is_read_is_told_now_and_then(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("kpdemo.terminal._SECONDS_BETWEEN_LINES", -1.0)
        predictor, text = TellingPredictor(), "Neural networks learn. " * 1000
        result = run("predict", "-", "--json", stdin=text, predictor=predictor)
        assert result.err == "Reading: 11,500 of 23,000 characters\n"
        assert json.loads(result.out)["text"] == text
        assert run("predict", "-", "--json", stdin=TEXT, predictor=predictor).err == ""

    def test_spans_of_a_titled_text_count_title_and_two_newlines(self, run: Run) -> None:
        answer = json.loads(run("predict", "--title", "Learning words", "--json", stdin=TEXT).out)
        whole = f"Learning words\n\n{TEXT}"
        assert answer["text"] == whole
        assert whole[answer["text_offset"] :] == TEXT
        for keyphrase in answer["present"]:
            [start, end] = keyphrase["spans"][0]
            assert whole[start:end] == keyphrase["text"]

    def test_people_see_the_marked_text_and_a_table(self, run: Run) -> None:
        result = run("predict", "-", "--top-k", 2, stdin="Neural networks learn [bold]words[/] \x1b[31mhere.")
        assert result.status == 0
        assert "[[Neural networks]] learn [bold]words[/] \ufffd[31mhere." in result.out
        assert "\x1b" not in result.out
        assert "Present keyphrases" in result.out
        assert "keyphrase prediction" in result.out
        assert "fake on cpu" in result.out

    def test_markdown_gives_its_heading_as_title(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "a.md").write_text("# Learning words\n\nBy networks.\n", encoding="utf-8")
        answer = json.loads(run("predict", tmp_path / "a.md", "--json").out)
        assert answer["text"] == "Learning words\n\nBy networks.\n"

    @pytest.mark.parametrize(
        "text",
        [
            "Two words",
            "<script>alert('words')</script> & more words than one",
            "Rocket 🚀 science 🎉 works",
            "Networks ברוכים learn words daily",
            "Line one\r\nline two",
            pytest.param(
                "Neural networks learn representations. " * 27_000, id="a megabyte", marks=pytest.mark.slow
            ),
        ],
    )
    def test_unusual_text_keeps_its_offsets(self, run: Run, text: str) -> None:
        result = run("predict", "-", "--json", stdin=text)
        assert (result.status, result.err) == (0, "")
        answer = json.loads(result.out)
        assert answer["text"] == text
        assert answer["present"]
        for keyphrase in answer["present"]:
            [start, end] = keyphrase["spans"][0]
            assert text[start:end] == keyphrase["text"]

    @pytest.mark.parametrize("name", ["-", "paper.txt"])
    def test_words_that_the_end_of_a_line_cuts_are_whole(self, run: Run, tmp_path: Path, name: str) -> None:
        text = "Neural net-\nworks learn scien-\ntific words."
        (tmp_path / "paper.txt").write_text(text, encoding="utf-8")
        given = "-" if name == "-" else tmp_path / name
        answer = json.loads(run("predict", given, "--json", stdin=text).out)
        assert answer["text"] == "Neural networks learn scientific words."

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (b"", "The text is empty"),
            (b" \n\t ", "The text is empty"),
            (b"\x7fELF\x00\x01", "standard input: not a text file (a zero byte at offset 4)"),
            (b"caf\xe9", "standard input: not UTF-8 text (byte 0xe9 at offset 3)"),
            (b"Word", "The text is only one word, “Word”: give a sentence or more.\n"),
            ("🎉🎉 123".encode(), "The text holds no letters"),
            ("神经网络学习词向量表示".encode(), "The text is Chinese, which this model does not read"),
            ("ברוכים הבאים לאתר שלנו".encode(), "The text is Hebrew, which this model does not read"),
        ],
    )
    def test_text_that_cannot_be_read_is_explained(self, run: Run, text: bytes, message: str) -> None:
        result = run("predict", "-", stdin=text)
        assert (result.status, result.out) == (1, "")
        assert result.err.startswith(message)
        assert is_one_sentence(result.err)


class TestWrongCalls:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["guess"], "No such command 'guess'"),
            (["predict", "--foo"], "No such option: --foo"),
            (["predict", "-", "--top-k", "0"], "Invalid value for '--top-k': it should be greater"),
            (["predict", "-", "--top-k", "many"], "Invalid value for '--top-k'"),
            (["predict", "-", "--threshold", "2"], "Invalid value for '--threshold'"),
            (["predict", "-", "--threshold", "nan"], "Invalid value for '--threshold'"),
            (["predict", "-", "--device", "tpu"], "Invalid value for '--device': 'tpu' is not one of"),
            (["predict", "missing.txt"], "missing.txt: no such file"),
            (["predict", "tests"], "tests: a folder"),
            (["predict", "pyproject.toml"], "pyproject.toml: a file with one document ends in .txt"),
            (["predict", "--input", "x.jsonl"], "--input and --output go together"),
            (["predict", "--output", "x.jsonl"], "--input and --output go together"),
            (["predict", "--input", "x.jsonl", "--output", "-", "--json"], "--json is for one document"),
            (["predict", "-", "--input", "-", "--output", "-"], "FILE and --title are for one document"),
            (["predict", "x.txt", "--output", "y"], "--output is for the documents of --input; for one "
             "document use `predict x.txt --json > y`"),
            (["predict", "--input", "missing.jsonl", "--output", "-"], "missing.jsonl: no such file"),
            (["predict", "--input", "a", "--input", "b", "--output", "-"], "--input is given 2 times"),
            (["predict", "-", "--batch-size", "0"], "Invalid value for '--batch-size'"),
            (["evaluate"], "Missing option '--gold'"),
            (["evaluate", "--gold", "x.jsonl"], "Evaluate either --predictions FILE or --model NAME"),
            (["evaluate", "--gold", "x.jsonl", "--model", "m"], "x.jsonl: no such file"),
            (["evaluate", "--gold", "x", "--model", "m", "--json", "--markdown"], "--json and --markdown"),
            (["evaluate", "--gold", "x", "--model", "m", "--latex", "--json"], "--json and --latex"),
            (
                ["evaluate", "--gold", "x", "--model", "m", "--convention", "skip_empty"],
                "--convention skip_empty is for --latex",
            ),
            (["train"], "Missing argument 'PART'"),
            (["train", "extractor", "--config", "tests"], "tests: a folder, not a file; name a file in it"),
            (["train", "extractor", "--set", "seed"], "--set seed: not KEY=VALUE"),
        ],
    )  # fmt: skip
    def test_status_2_and_one_sentence(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
    ) -> None:
        monkeypatch.chdir(ROOT)
        result = run(*arguments, stdin=TEXT)
        told = json.dumps({"error": result.err.rstrip("\n")}) + "\n" if "--json" in arguments else ""
        assert (result.status, result.out) == (2, told)
        assert result.err.startswith(message)
        assert is_one_sentence(result.err)

    def test_a_file_of_many_documents_is_sent_to_input(self, run: Run, documents: Path) -> None:
        result = run("predict", documents)
        assert result.status == 2
        assert f"use `predict --input {documents} --output predictions.jsonl`" in result.err
        assert is_one_sentence(result.err)


class TestProcess:
    def test_help_is_quick_and_loads_no_model_library(self) -> None:
        check = (
            "import sys, kpdemo.cli\n"
            "assert kpdemo.cli.main(['--help']) == 0\n"
            "assert not {'torch', 'transformers', 'numpy', 'gradio', 'rich', 'nltk'} & set(sys.modules)\n"
        )
        result = finish(command(program=check))
        assert (result.status, result.err) == (0, "")
        for name in ("predict", "evaluate", "train", "models"):
            assert name in result.out

    @pytest.mark.parametrize("name", ["predict", "evaluate", "train"])
    def test_each_command_shows_examples(self, run: Run, name: str) -> None:
        result = run(name, "--help")
        assert result.status == 0
        assert f"  python -m kpdemo {name} " in result.out.split("Examples:")[1]

    def test_a_wrong_call_is_status_2(self) -> None:
        result = finish(command("predict", "missing.txt"))
        assert (result.status, result.out, result.err) == (
            2,
            "",
            "missing.txt: no such file; check the name.\n",
        )

    @pytest.mark.parametrize("times", [1, 500])
    def test_a_text_in_place_of_a_file_is_told_its_way(self, run: Run, times: int) -> None:
        result = run("predict", "Graph kernels compare molecules. " * times)
        assert (result.status, result.out) == (2, "")
        assert result.err == (
            "Graph kernels compare molecules.…: no such file; to predict a text, pass it on standard input: "
            'echo "TEXT" | python -m kpdemo predict -\n'
        )

    def test_an_empty_text_is_status_1(self) -> None:
        result = finish(command("predict", "-", program=FAKE_PROGRAM))
        assert (result.status, result.out) == (1, "")
        assert is_one_sentence(result.err)

    def test_an_unknown_model_is_status_2(self) -> None:
        result = finish(command("predict", "-", "--model", "no-such-model"), TEXT.encode())
        assert (result.status, result.out) == (2, "")
        assert "no-such-model" in result.err
        assert is_one_sentence(result.err)

    def test_a_reader_that_goes_away_is_no_error(self, tmp_path: Path) -> None:
        source = tmp_path / "docs.jsonl"
        source.write_text('{"text": "Neural networks learn words."}\n' * 5000, encoding="utf-8")
        with command("predict", "--input", source, "--output", "-", program=FAKE_PROGRAM) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert b"Traceback" not in process.stderr.read()
        assert process.returncode == 1

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_full_disk_is_one_sentence(self) -> None:
        with Path("/dev/full").open("wb") as full:
            process = subprocess.Popen(
                [sys.executable, "-c", FAKE_PROGRAM, "predict", "-", "--json"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=full,
                stderr=subprocess.PIPE,
            )
            _, err = process.communicate(TEXT.encode(), timeout=60)
        assert process.returncode == 1
        assert is_one_sentence(err.decode())

    @pytest.mark.parametrize(
        "call",
        [
            ("predict", "--input", "", "--output", "out.jsonl"),
            ("predict", "--input=", "--output", "out.jsonl"),
            ("predict", "--model", "", "-"),
            ("evaluate", "--gold", "", "--model", "default"),
        ],
    )
    def test_an_empty_path_is_not_the_current_folder(self, run: Run, call: tuple[str, ...]) -> None:
        option = call[1].removesuffix("=")
        assert run(*call) == Result(2, "", f"{option} is empty: give a name.\n")
        assert run("predict", "-", "--title", "", stdin=TEXT).status == 0

    def test_every_option_of_a_path_may_not_be_empty(self) -> None:
        assert path_options(app) - {"--language"} == PATH_OPTIONS
        assert path_options(annotation.cli.app) == annotation.cli.PATH_OPTIONS

    def test_closed_streams_are_no_traceback(self, documents: Path, tmp_path: Path) -> None:
        def shell(call: str, redirection: str) -> tuple[int, str, str]:
            done = subprocess.run(
                ["bash", "-c", f'"$0" -c "$1" {call} {redirection}', sys.executable, FAKE_PROGRAM],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=60,
            )
            return done.returncode, done.stdout, done.stderr

        assert shell("models", ">&-") == (0, "", "")
        output = tmp_path / "out.jsonl"
        call = f"predict --input {documents} --output {output}"
        status, out, errors = shell(call, ">&- <&-")  # a slow machine tells how far it is
        assert (status, out, errors.splitlines()[-1]) == (0, "", "40 documents predicted.")
        status, out, errors = shell("predict -", "<&-")
        assert (status, out, is_one_sentence(errors)) == (1, "", True)
        assert shell("predict nope.txt", "2>&-") == (2, "", "")


class TestManyDocuments:
    def test_a_file_is_predicted_and_resumed(self, run: Run, documents: Path, tmp_path: Path) -> None:
        output = tmp_path / "out.jsonl"
        result = run("predict", "--input", documents, "--output", output, "--batch-size", 16)
        assert (result.status, result.out, result.err) == (0, "", "40 documents predicted.\n")
        result = run("predict", "--input", documents, "--output", output, "--batch-size", 16)
        assert (result.status, result.err) == (0, "0 documents predicted, 40 were there already.\n")
        documents.write_text(documents.read_text("utf-8").splitlines()[0], encoding="utf-8")
        output.write_text(output.read_text("utf-8").splitlines()[0] + "\n", encoding="utf-8")
        result = run("predict", "--input", documents, "--output", output, "--batch-size", 16)
        assert (result.status, result.err) == (0, "0 documents predicted, 1 was there already.\n")
        result = run("predict", "--input", documents, "--output", output, "--top-k", 3)
        assert result.status == 2
        assert is_one_sentence(result.err)

    @pytest.mark.parametrize("name", ["out.csv", "out.TSV", "out.txt", "out.xlsx"])
    def test_predictions_are_json_lines_whatever_the_name_promises(
        self, run: Run, documents: Path, tmp_path: Path, name: str
    ) -> None:
        output = tmp_path / name
        result = run("predict", "--input", documents, "--output", output)
        assert (result.status, output.exists()) == (2, False)
        told = f"predictions are JSON Lines, not {output.suffix.lower()}; name a file that ends in .jsonl"
        assert result.err == f"{output}: {told}, and one with --csv for a table.\n"
        assert run("predict", "--input", documents, "--output", tmp_path / "predictions").status == 0

    def test_a_table_holds_each_keyphrase_after_the_id_of_its_document(
        self, run: Run, abstracts: Path, tmp_path: Path
    ) -> None:
        output, table = tmp_path / "out.jsonl", tmp_path / "out.csv"
        call = ["predict", "--input", abstracts, "--output", output, "--csv", table, "--id-column", "DOI"]
        assert run(*call) == Result(0, "", "2 documents predicted.\n")
        with table.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        names = "id keyphrase score count first kind source evidence filler"
        assert list(rows[0]) == names.split()
        assert list(rows[0].values()) == [
            *("10.1/a", "Neural networks", "0.900000", "1", "0", "present", "", "", "no")
        ]
        present = json.loads(output.read_text("utf-8").splitlines()[0])["present"]
        assert [row["keyphrase"] for row in rows if row["id"] == "10.1/a" and row["kind"] == "present"] == [
            one["text"] for one in present
        ]
        assert rows[-1]["id"] == "'=b"  # which a spreadsheet would run
        assert rows[-1]["kind"] == "absent"
        before = table.read_bytes()
        table.unlink()
        assert run(*call).err == "0 documents predicted, 2 were there already.\n"
        assert table.read_bytes() == before

    @pytest.mark.parametrize(
        ("output", "table", "problem"),
        [
            ("-", "t.csv", "--csv is made from the file of --output"),
            ("/dev/null", "t.csv", "--csv is made from the file of --output: name one instead of /dev/null."),
            ("o.jsonl", "t.tsv", "t.tsv: the table is plain CSV; name a file that ends in .csv."),
            ("o.jsonl", "t.csv.gz", "t.csv.gz: the table is plain CSV"),
            ("o.jsonl", "-", "--csv - is standard output: name a file"),
            ("o.jsonl", "o.jsonl", "o.jsonl: used by another option too"),
            ("o.jsonl", "abstracts.csv", "abstracts.csv: used by another option too"),
            ("o.jsonl", ".", ".: a folder, not a file"),
        ],
    )
    def test_a_table_in_the_wrong_place_is_refused_before_the_work(
        self,
        run: Run,
        abstracts: Path,
        monkeypatch: pytest.MonkeyPatch,
        output: str,
        table: str,
        problem: str,
    ) -> None:
        monkeypatch.chdir(abstracts.parent)
        result = run("predict", "--input", abstracts.name, "--output", output, "--csv", table)
        assert (result.status, result.out) == (2, "")
        assert result.err.startswith(problem)
        assert is_one_sentence(result.err)
        assert [path.name for path in abstracts.parent.iterdir()] == [abstracts.name]

    def test_a_table_would_be_read_as_documents_in_the_input_folder(
        self, run: Run, abstracts: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "papers"
        folder.mkdir()
        abstracts.rename(folder / "a.csv")
        result = run(
            "predict", "--input", folder, "--output", tmp_path / "o.jsonl", "--csv", folder / "t.csv"
        )
        assert (result.status, is_one_sentence(result.err)) == (2, True)
        assert "inside the input folder" in result.err

    def test_a_table_without_an_id_column_is_told_once_and_named_by_its_lines(
        self, run: Run, abstracts: Path
    ) -> None:
        result = run("predict", "--input", abstracts, "--output", "-")
        assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["2", "3"]
        note, summary = result.err.splitlines()
        assert note == (
            f'{abstracts}, line 2: no "id", so this document and all others without one are named by line; '
            "--id-column can name another column or field."
        )
        assert (result.status, summary) == (0, "2 documents predicted.")

    def test_an_id_column_that_is_not_there_is_told(self, run: Run, abstracts: Path) -> None:
        result = run("predict", "--input", abstracts, "--output", "-", "--id-column", "pmid")
        told = 'the header has doi, title, abstract, keyphrases; it needs "pmid" for the ids.'
        assert result == Result(1, "", f"{abstracts}, line 1: {told}\n")

    def test_a_file_is_not_continued_with_ids_of_another_column(
        self, run: Run, abstracts: Path, tmp_path: Path
    ) -> None:
        call = ["predict", "--input", abstracts, "--output", tmp_path / "out.jsonl"]
        assert run(*call, "--id-column", "doi").status == 0
        result = run(*call)
        assert result.status == 2
        assert "was started with the id column doi, not id; " in result.err

    def test_a_column_of_a_table_is_the_same_in_capitals_when_a_file_is_continued(
        self, run: Run, abstracts: Path, tmp_path: Path
    ) -> None:
        call = ["predict", "--input", abstracts, "--output", tmp_path / "out.jsonl", "--id-column"]
        assert run(*call, "doi").status == 0
        assert run(*call, "DOI") == Result(0, "", "0 documents predicted, 2 were there already.\n")

    def test_a_field_of_json_lines_in_capitals_is_another_when_a_file_is_continued(
        self, run: Run, tmp_path: Path
    ) -> None:
        source, output = tmp_path / "docs.jsonl", tmp_path / "out.jsonl"
        rows = [{"doi": name, "abstract": f"Neural networks {name}"} for name in ("10.1/a", "10.1/b")]
        source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        call = ["predict", "--input", source, "--output", output, "--id-column"]
        assert run(*call, "doi").status == 0
        before = output.read_bytes()
        result = run(*call, "DOI")
        note, refusal = result.err.splitlines()
        assert (result.status, note.startswith(f'{source}, line 1: no "DOI", so this')) == (2, True)
        assert f'was started with a document "10.1/a", which {source} lacks; ' in refusal
        assert output.read_bytes() == before

    def test_evaluate_finds_predictions_by_the_same_column(
        self, run: Run, abstracts: Path, tmp_path: Path
    ) -> None:
        output, ids = tmp_path / "out.jsonl", ["--id-column", "doi"]
        assert run("predict", "--input", abstracts, "--output", output, *ids).status == 0
        result = run("evaluate", "--gold", abstracts, "--predictions", output, "--json", *ids)
        assert (result.status, result.err) == (0, "")
        assert run("evaluate", "--gold", abstracts, "--predictions", output, "--json").status == 1

    def test_evaluate_tells_once_that_documents_are_named_by_line(
        self, run: Run, abstracts: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "other.csv"
        other.write_bytes(abstracts.read_bytes())
        result = run("evaluate", "--gold", abstracts, "--gold", other, "--model", "default", "--json")
        assert result.status == 0
        assert [line for line in result.err.splitlines() if "without one are named by line" in line] == [
            f'{abstracts}, line 2: no "id", so this document and all others without one are named by line; '
            "--id-column can name another column or field."
        ]

    def test_progress_counts_to_the_rows_of_a_table_and_to_the_predictions_of_all_files(
        self, run: Run, abstracts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("kpdemo.terminal._SECONDS_BETWEEN_LINES", -1.0)
        output, ids = tmp_path / "out.jsonl", ["--id-column", "doi"]
        result = run("predict", "--input", abstracts, "--output", output, *ids)
        assert "Predicting: 2 of 2 documents\n" in result.err
        monkeypatch.setattr("kpdemo.cli.options._LARGEST_COUNTED", 10)
        assert "Predicting: 2 documents\n" in run("predict", "--input", abstracts, "--output", "-", *ids).err
        twice = ["--predictions", output, "--predictions", output]
        result = run("evaluate", "--gold", abstracts, *twice, *ids)
        assert "Evaluating: 3 of 4 predictions\n" in result.err

    def test_an_input_without_documents_is_told(self, run: Run, tmp_path: Path) -> None:
        result = run("predict", "--input", "-", "--output", "-", stdin="\n")
        assert (result.status, result.out) == (1, "")
        assert (
            result.err == "standard input: contains no documents; give a file with one document per line.\n"
        )

    def test_other_weights_of_the_same_model_are_refused(
        self, run: Run, documents: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "checkpoint"
        folder.mkdir()
        call = ["predict", "--input", documents, "--output", tmp_path / "out.jsonl", "--model", folder]
        sums = folder / "SHA256SUMS"
        sums.write_text("56ef  MODEL_CARD.md\n12ab  model.safetensors\n", encoding="utf-8")
        assert run(*call).status == 0
        sums.write_text("78ab  MODEL_CARD.md\n12ab  model.safetensors\n", encoding="utf-8")
        assert run(*call).status == 0  # only the card is another
        sums.write_text("78ab  MODEL_CARD.md\n34cd  model.safetensors\n", encoding="utf-8")
        result = run(*call)
        assert result.status == 2
        assert "was started with other weights of the model fake; " in result.err
        assert is_one_sentence(result.err)

    @pytest.mark.skipif(not UNREADABLE.exists(), reason="needs a file that opens but cannot be read")
    def test_an_input_that_cannot_be_read_is_named(self, run: Run, tmp_path: Path) -> None:
        source, output = tmp_path / "docs.jsonl", tmp_path / "out.jsonl"
        source.symlink_to(UNREADABLE)
        result = run("predict", "--input", source, "--output", output)
        assert result.status == 1
        assert result.err.startswith(f"{source}: cannot be read (")
        assert is_one_sentence(result.err)
        assert not output.exists()

    def test_standard_input_to_standard_output(self, run: Run, documents: Path) -> None:
        result = run("predict", "--input", "-", "--output", "-", stdin=documents.read_bytes())
        assert result.status == 0
        rows = [json.loads(line) for line in result.out.splitlines()]
        assert [row["id"] for row in rows] == [f"d{n}" for n in range(40)]
        assert set(rows[0]) == {"id", "language", "present", "absent", "model", "document_sha256"}

    def test_a_broken_line_is_named_and_the_rest_goes_on(self, run: Run, tmp_path: Path) -> None:
        source = tmp_path / "docs.jsonl"
        source.write_text(
            '{"id": "a", "text": "Two words."}\n{oops\n{"id": "c", "text": ""}\n', encoding="utf-8"
        )
        result = run("predict", "--input", source, "--output", "-")
        assert result.status == 1
        assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["a"]
        first, second, summary = result.err.splitlines()
        assert "docs.jsonl, line 2: not JSON" in first
        assert 'docs.jsonl, line 3: document "c": The text is empty' in second
        assert summary == "1 document predicted, 2 could not be used."

    def test_a_killed_run_resumes_to_the_same_bytes(self, documents: Path, tmp_path: Path) -> None:
        whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
        options = ["predict", "--input", documents, "--batch-size", 4, "--output"]
        assert finish(command(*options, whole, program=FAKE_PROGRAM)).status == 0

        process = command(*options, cut, program=FAKE_PROGRAM, slow=0.2)
        wait_for_bytes(cut)
        process.kill()
        finish(process)
        written = cut.read_bytes()
        assert 0 < len(written) < whole.stat().st_size
        cut.write_bytes(written[:-7])  # as if the kill had torn the last write

        result = finish(command(*options, cut, program=FAKE_PROGRAM))
        assert result.status == 0
        assert "were there already" in result.err
        assert cut.read_bytes() == whole.read_bytes()

    @pytest.mark.slow
    @pytest.mark.skipif(os.name == "nt", reason="there are no locks")
    def test_of_two_runs_at_once_the_second_is_refused_until_the_first_is_gone(
        self, documents: Path, tmp_path: Path
    ) -> None:
        output = tmp_path / "out.jsonl"
        options = ["predict", "--input", documents, "--batch-size", 4, "--output", output]
        first = command(*options, program=FAKE_PROGRAM, slow=5)
        wait_for_bytes(output)
        second = finish(command(*options, program=FAKE_PROGRAM))
        wait = "another run is writing to it; wait until it is done, or name another file."
        assert (second.status, second.err) == (1, f"{output}: {wait}\n")
        first.kill()
        finish(first)
        assert finish(command(*options, program=FAKE_PROGRAM)).status == 0
        assert len(output.read_text(encoding="utf-8").splitlines()) == 40

    @pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
    @pytest.mark.slow
    def test_ctrl_c_says_how_to_go_on(self, documents: Path, tmp_path: Path) -> None:
        output = tmp_path / "out.jsonl"
        options = ["predict", "--input", documents, "--batch-size", 4, "--output", output]
        process = command(*options, program=FAKE_PROGRAM, slow=0.2)
        wait_for_bytes(output)
        process.send_signal(signal.SIGINT)
        result = finish(process)
        assert result.status == 130
        assert result.err.splitlines()[-1] == "Stopped; run the same command to continue."
        assert finish(command(*options, program=FAKE_PROGRAM)).status == 0
        assert len(output.read_text(encoding="utf-8").splitlines()) == 40


def wait_for_bytes(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < deadline
        time.sleep(0.02)


class TestEvaluate:
    def test_a_model_and_its_predictions_give_the_same_figures(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        output = tmp_path / "out.jsonl"
        assert run("predict", "--input", gold, "--output", output).status == 0
        by_file = json.loads(run("evaluate", "--gold", gold, "--predictions", output, "--json").out)
        by_model = json.loads(run("evaluate", "--gold", gold, "--model", "fake", "--json").out)
        assert by_file["datasets"] == by_model["datasets"]
        assert list(by_file["datasets"]) == ["gold.test"]
        assert by_file["datasets"]["gold.test"]["documents"] == 2
        assert by_file["datasets"]["gold.test"]["present"]["skip_empty"]["R@M"] == 1.0
        assert (by_file["model"], by_file["device"]) == ("fake", None)
        assert (by_model["model"], by_model["device"]) == ("fake", "cpu")
        assert by_model["seconds"] >= 0

    def test_a_document_in_another_language_than_its_file_is_read_as_by_predict(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        french = "Cette thèse compare des noyaux de graphes pour des molécules entre elles."
        row = {"id": "fr", "text": french, "keyphrases": ["noyaux de graphes"]}
        gold.write_text(f"{gold.read_text('utf-8')}{json.dumps(row)}\n", encoding="utf-8")
        routed = Pipeline("default", FakePredictor, {"multilingual": FakeRetriever})
        output = tmp_path / "out.jsonl"
        assert run("predict", "--input", gold, "--output", output, predictor=routed).status == 0
        by_file = json.loads(run("evaluate", "--gold", gold, "--predictions", output, "--json").out)
        by_model = json.loads(run("evaluate", "--gold", gold, "--model", "m", "--json", predictor=routed).out)
        figures = by_model["datasets"]["gold.test"]
        assert by_file["datasets"]["gold.test"] == figures
        assert list(figures["languages"]) == ["en"]  # measured in that of the file
        assert figures["present"]["skip_empty"]["R@M"] == 1.0  # which the English model would not find

    def test_recall_at_50_is_that_of_the_absent_candidates(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        rows = [
            {"id": "a", "present": [], "absent": [], "absent_candidates": ["machine", "AI"]},
            {"id": "b", "present": [], "absent": []},
        ]
        output = tmp_path / "out.jsonl"
        output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        answer = json.loads(run("evaluate", "--gold", gold, "--predictions", output, "--json").out)
        absent = answer["datasets"]["gold.test"]["absent"]["skip_empty"]
        assert (absent["R@50"], absent["R@M"]) == (1.0, 0.0)

    def test_tables_for_people_and_in_markdown(self, run: Run, gold: Path) -> None:
        result = run("evaluate", "--gold", gold, "--model", "fake", "--limit", 1)
        assert result.status == 0
        assert "gold.test: 1 document " in result.out
        assert "F1@5" in result.out
        result = run("evaluate", "--gold", gold, "--model", "fake", "--markdown")
        assert "| gold.test | 2 |" in result.out

    def test_several_files_are_measured_apart(self, run: Run, gold: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.jsonl"
        other.write_text('{"id": "o", "text": "Word vectors", "keyphrases": ["vectors"]}\n', encoding="utf-8")
        both = ["evaluate", "--gold", gold, "--gold", other, "--json"]
        datasets = json.loads(run(*both, "--model", "fake").out)["datasets"]
        assert {name: figures["documents"] for name, figures in datasets.items()} == {
            "gold.test": 2,
            "other": 1,
        }

        everything = tmp_path / "both.jsonl"
        everything.write_text(gold.read_text("utf-8") + other.read_text("utf-8"), encoding="utf-8")
        run("predict", "--input", everything, "--output", tmp_path / "out.jsonl")
        answer = json.loads(run(*both, "--predictions", tmp_path / "out.jsonl").out)
        assert answer["datasets"] == datasets

        result = run("evaluate", "--gold", gold, "--predictions", tmp_path / "out.jsonl")
        assert result.status == 1
        assert '"o" is not the id of a gold document' in result.err

    def test_a_refused_document_counts_as_an_empty_prediction(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        refused = '{"id": "one", "text": "Word", "keyphrases": ["word"]}\n'
        gold.write_text(refused + gold.read_text("utf-8"), encoding="utf-8")
        output = tmp_path / "out.jsonl"
        assert run("predict", "--input", gold, "--output", output).status == 1
        by_file = run("evaluate", "--gold", gold, "--predictions", output, "--json")
        assert by_file.status == 1
        assert by_file.err == 'gold.test, document "one": no prediction; counted as empty.\n'
        by_model = run("evaluate", "--gold", gold, "--model", "fake", "--json")
        assert by_model.status == 1
        figures = json.loads(by_file.out)["datasets"]
        assert figures == json.loads(by_model.out)["datasets"]
        assert figures["gold.test"]["documents"] == 3

    def test_several_files_of_predictions_stand_side_by_side(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        files = [tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"]
        found = [{"id": "a", "present": ["neural networks"]}, {"id": "b", "present": ["sorting"]}]
        files[0].write_text("".join(json.dumps(row | {"model": "fake"}) + "\n" for row in found))
        files[1].write_text("".join(json.dumps(row | {"present": []}) + "\n" for row in found))
        alone = [
            json.loads(run("evaluate", "--gold", gold, "--predictions", file, "--json").out) for file in files
        ]
        several = ["evaluate", "--gold", gold, "--predictions", files[0], "--predictions", files[1]]
        written = json.loads(run(*several, "--json").out)
        difference = written["runs"][1]["datasets"]["gold.test"].pop("difference")
        assert written == {
            "runs": [{"predictions": file.name, **one} for file, one in zip(files, alone, strict=True)]
        }
        assert difference["present"]["skip_empty"]["F1@5"] == {
            "value": pytest.approx(-1 / 3), "interval": None, "p": 0.5, "p_holm": 0.5,
        }  # fmt: skip
        table = run(*several).out
        assert table.count("gold.test, documents without gold") == 4
        assert [line.split()[1:4] for line in table.splitlines() if "│ fake" in line] == [
            ["fake", "│", "0.333"],
            ["fake", "│", "0.333"],
        ]
        differences = table.partition("Differences from the first: gold.test")[2].partition("gold.test")[0]
        assert [line.split()[1:4] for line in differences.splitlines() if "theirs.jsonl" in line] == [
            ["theirs.jsonl", "│", "-0.333"]
        ]
        assert "p=0.500" in differences
        assert "Difference from fake, paired by document" in table
        assert "Holm" not in table  # one comparison needs no correction
        for kind, latex in zip(("present", "absent"), read_tables(run(*several, "--latex").out), strict=True):
            assert list(latex.rows) == ["fake", "theirs.jsonl"]
            for of_file, row in zip(alone, latex.rows.values(), strict=True):
                figures = of_file["datasets"]["gold.test"][kind]["skip_empty"]
                shown = dict(zip(latex.heads[1:], map(float, row), strict=True))
                assert shown == pytest.approx({head: figures[head] for head in shown}, abs=0.0005)
        further = read_tables(run(*several, "--latex", "--convention", "count_empty", "--at", "O").out)
        assert further[1].heads == ["Model", "F1@5", "F1@O", "F1@M", "R@50"]
        assert "--convention count_empty" in further[1].comments[0]
        markdown = run(*several, "--markdown").out
        assert "| theirs.jsonl | 2 | 0.000 / 0.000 / 0.000 |" in markdown
        assert "| theirs.jsonl | -0.333 p=0.500 |" in markdown
        assert "for the 2 comparisons in each column" in run(*several, "--predictions", files[1]).out

    def test_details_have_a_line_for_each_document_and_file_and_replace_an_earlier_file(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        files = [tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"]
        files[0].write_text('{"id": "b", "present": []}\n{"id": "a", "present": ["neural networks"]}\n')
        files[1].write_text(
            '{"id": "a", "present": [], "model": "m"}\n{"id": "b", "present": [], "model": "m"}\n'
        )
        given = ["evaluate", "--gold", gold, "--predictions", files[0], "--predictions", files[1], "--json"]
        details = tmp_path / "new" / "details.jsonl"
        for _ in range(2):
            assert run(*given, "--details", details).out == run(*given).out
        rows = [json.loads(line) for line in details.read_text("utf-8").splitlines()]
        assert [(row["dataset"], row["predictions"], row["model"], row["id"]) for row in rows] == [
            ("gold.test", "ours.jsonl", None, "a"),
            ("gold.test", "ours.jsonl", None, "b"),
            ("gold.test", "theirs.jsonl", "m", "a"),
            ("gold.test", "theirs.jsonl", "m", "b"),
        ]
        assert rows[0]["predicted"]["present"] == [{"text": "neural networks", "rank": 1, "correct": True}]
        assert run("evaluate", "--gold", gold, "--model", "fake", "--details", details).status == 0
        rows = [json.loads(line) for line in details.read_text("utf-8").splitlines()]
        assert [("predictions" in row, row["model"]) for row in rows] == [(False, "fake")] * 2

    def test_further_cuts_stand_beside_those_that_are_always_measured(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        files = [tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"]
        found = [
            {"id": "a", "present": ["learn", "neural networks"], "absent": ["AI"]},
            {"id": "b", "present": ["sorting"], "absent": []},
        ]
        for file, rows in zip(files, (found, [{"id": id, "present": []} for id in "ab"]), strict=True):
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        one = ["evaluate", "--gold", gold, "--predictions", files[0]]
        plain, further = (
            json.loads(run(*one, *at, "--json").out) for at in ([], ["--at", "10, o", "--at", 1])
        )
        figures, usual = further["datasets"]["gold.test"], plain["datasets"]["gold.test"]
        names = ["P@1", "R@1", "F1@1", "P@5", "R@5", "F1@5", "P@10", "R@10", "F1@10"]
        names += ["P@O", "R@O", "F1@O", "P@M", "R@M", "F1@M"]
        for kind, more in (("present", []), ("absent", ["R@50"])):
            for convention in ("skip_empty", "count_empty"):
                values = figures[kind][convention]
                assert list(values) == [*names, *more]
                assert {name: values[name] for name in usual[kind][convention]} == usual[kind][convention]
                assert list(figures["interval"][kind][convention]) == [
                    *(name for name in names if name.startswith("F1")),
                    *more,
                ]
        # of the two documents with present gold, one each, the first has the right one second
        present = figures["present"]["skip_empty"]
        assert [present[name] for name in ("P@1", "P@5", "P@10")] == [0.5, 0.2, 0.1]
        assert [present[name] for name in ("P@O", "R@O", "F1@O", "R@10")] == [0.5, 0.5, 0.5, 1.0]
        assert figures["absent"]["count_empty"]["F1@O"] == 0.5

        several = [*one, "--predictions", files[1], "--at", "10,O"]
        difference = json.loads(run(*several, "--json").out)["runs"][1]["datasets"]["gold.test"]["difference"]
        assert list(difference["present"]["skip_empty"]) == ["F1@5", "F1@10", "F1@O", "F1@M"]
        assert (
            difference["present"]["skip_empty"]["F1@O"]["value"] == -figures["present"]["skip_empty"]["F1@O"]
        )
        assert run(*several).out.count("F1@10") == 8  # of two kinds, in four tables under the usual ones
        assert "| Present @5 | Present @10 | Present @O | Present @M |" in run(*several, "--markdown").out
        assert "| Present F1@10 |" in run(*several, "--markdown").out

    @pytest.mark.parametrize("form", [[], ["--json"], ["--markdown"]])
    def test_the_cuts_that_are_always_measured_may_be_named(
        self, run: Run, gold: Path, form: list[str]
    ) -> None:
        found = gold.with_name("found.jsonl")
        run("predict", "--input", gold, "--output", found)
        call = ["evaluate", "--gold", gold, "--predictions", found, *form]
        assert run(*call, "--at", "5", "--at", "M").out == run(*call).out

    @pytest.mark.parametrize("at", ["0", "-1", "ten", "10,,15", "", "50", "1.5", "1000000", "\u0661"])
    def test_a_cut_that_is_none_is_refused(self, run: Run, gold: Path, at: str) -> None:
        result = run("evaluate", "--gold", gold, "--model", "fake", f"--at={at}")
        assert (result.status, result.out) == (2, "")
        assert is_one_sentence(result.err)

    def test_details_that_cannot_be_written_are_refused_before_anything_is_measured(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        found = tmp_path / "new.partial"
        found.write_text('{"id": "a", "present": []}\n')
        before = gold.read_bytes(), found.read_bytes()
        for name, told in (
            ("-", "standard output"),
            (tmp_path, "a folder"),
            (gold, "used by"),
            (found, "used by"),
            (tmp_path / "new", "new.partial: used by another option too"),
        ):
            result = run("evaluate", "--gold", gold, "--predictions", found, "--details", name)
            assert (result.status, result.out) == (2, "")
            assert told in result.err
            assert is_one_sentence(result.err)
        assert (gold.read_bytes(), found.read_bytes()) == before

    def test_details_do_not_take_the_place_of_the_figures(
        self, run: Run, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        figures = tmp_path / "figures.json"
        figures.touch()
        monkeypatch.setattr(os, "fstat", lambda _: figures.stat())  # as `--json > figures.json` has it
        result = run("evaluate", "--gold", gold, "--model", "fake", "--details", figures)
        assert (result.status, result.out) == (2, "")
        assert "is standard output" in result.err

    def test_an_evaluation_that_fails_leaves_the_earlier_details(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        details, stray = tmp_path / "details.jsonl", tmp_path / "stray.jsonl"
        details.write_text("earlier\n")
        stray.write_text('{"id": "z", "present": []}\n')
        found = tmp_path / "found.jsonl"
        found.write_text('{"id": "a", "present": []}\n{"id": "b", "present": []}\n')
        both = ["--predictions", found, "--predictions", stray]
        assert run("evaluate", "--gold", gold, *both, "--details", details).status == 1
        assert details.read_text() == "earlier\n"
        assert not details.with_name("details.jsonl.partial").exists()

    def test_of_several_files_it_shows_how_far_measuring_and_comparing_are(
        self, run: Run, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = tmp_path / "found.jsonl"
        run("predict", "--input", gold, "--output", found)
        monkeypatch.setattr("kpdemo.terminal._SECONDS_BETWEEN_LINES", -1.0)
        shown = run("evaluate", "--gold", gold, *["--predictions", found] * 3).err.splitlines()
        assert shown == [
            "Evaluating: 0 of 6 predictions",  # before the first
            *(f"Evaluating: {done} of 6 predictions" for done in range(6)),
            "Comparing: 0 of 2 comparisons",  # before the first
            *(f"Comparing: {done} of 2 comparisons" for done in range(2)),
        ]

    def test_of_several_files_each_that_leaves_documents_out_is_named(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        files = [tmp_path / "1" / "found.jsonl", tmp_path / "2" / "found.jsonl"]
        for file in files:
            file.parent.mkdir()
            file.write_text('{"id": "a", "present": []}\n', encoding="utf-8")
        result = run(
            "evaluate", "--gold", gold, *(part for file in files for part in ("--predictions", file))
        )
        assert result.status == 1
        missing = 'gold.test, document "b": no prediction; counted as empty.'
        assert result.err == "".join(f"{file}: {missing}\n" for file in files)

    def test_a_prediction_without_its_document_is_an_error(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        some = tmp_path / "some.jsonl"
        some.write_text('{"id": "a", "present": []}\n{"id": "z", "present": []}\n', encoding="utf-8")
        result = run("evaluate", "--gold", gold, "--predictions", some)
        assert (result.status, result.out) == (1, "")
        assert '"z" is not the id of a gold document' in result.err
        assert is_one_sentence(result.err)
        assert run("evaluate", "--gold", gold, "--predictions", some, "--limit", 1).status == 0

    def test_a_file_without_a_prediction_is_no_model_without_hits(self, run: Run, gold: Path) -> None:
        result = run("evaluate", "--gold", gold, "--predictions", gold)
        assert (result.status, result.out) == (1, "")
        assert "line 1: a document with its gold keyphrases" in result.err
        assert is_one_sentence(result.err)

    def test_another_systems_lists_are_told_apart_by_the_text(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        text = {"id": "a", "title": "Graph kernels", "abstract": "They compare molecules."}
        keyphrases = ["kernels of graphs", "graph kernel", "molecule", "chemistry"]
        gold.write_text(json.dumps(text | {"keyphrases": ["graph kernels", "chemistry"]}) + "\n")
        whole, split = tmp_path / "whole.jsonl", tmp_path / "split.jsonl"
        whole.write_text(json.dumps({"id": "a", "keyphrases": keyphrases}) + "\n")
        sides = {"present": keyphrases[1:3], "absent": [keyphrases[0], keyphrases[3]]}
        split.write_text(json.dumps({"id": "a"} | sides) + "\n")
        answers = [
            json.loads(run("evaluate", "--gold", gold, "--predictions", path, "--json").out)["datasets"]
            for path in (whole, split)
        ]
        assert answers[0] == answers[1]
        [figures] = answers[0].values()
        assert figures["present"]["skip_empty"]["P@M"] == figures["absent"]["skip_empty"]["P@M"] == 0.5
        assert figures["pooled"]["P@M"] == 0.25  # as strings: "graph kernel" is not "graph kernels"

    @pytest.mark.parametrize("content", ["", "\n \n"])
    def test_an_empty_file_is_no_model_without_hits(
        self, run: Run, gold: Path, tmp_path: Path, content: str
    ) -> None:
        empty = tmp_path / "empty.jsonl"
        empty.write_text(content, encoding="utf-8")
        result = run("evaluate", "--gold", gold, "--predictions", empty, "--json")
        assert (result.status, json.loads(result.out)) == (1, {"error": result.err.rstrip("\n")})
        assert "no prediction in the file" in result.err
        assert is_one_sentence(result.err)

    def test_a_broken_gold_line_is_named_and_the_rest_counts(self, run: Run, gold: Path) -> None:
        gold.write_text(gold.read_text(encoding="utf-8") + "{oops\n", encoding="utf-8")
        result = run("evaluate", "--gold", gold, "--model", "fake", "--json")
        assert result.status == 1
        assert "gold.test.jsonl, line 3: not JSON" in result.err
        assert json.loads(result.out)["datasets"]["gold.test"]["documents"] == 2

    @pytest.mark.parametrize("by", ["model", "file"])
    def test_documents_without_gold_keyphrases_are_named(
        self, run: Run, gold: Path, tmp_path: Path, by: str
    ) -> None:
        lines = gold.read_text(encoding="utf-8") + '{"id": "none", "text": "Word vectors."}\n'
        gold.write_text(lines, encoding="utf-8")
        found = tmp_path / "found.jsonl"
        run("predict", "--input", gold, "--output", found)
        given = ["--model", "fake"] if by == "model" else ["--predictions", found]
        result = run("evaluate", "--gold", gold, *given, "--json")
        assert result.status == 0
        assert 'gold.test: 1 of 3 documents has no gold keyphrases, "none"; skip_empty leaves' in result.err
        figures = json.loads(result.out)["datasets"]["gold.test"]
        assert figures["without_gold"] == ["none"]
        kinds = figures["with_gold"]
        told = "Documents with gold of the kind: " + ", ".join(f"{kind} {kinds[kind]}" for kind in kinds)
        assert f"{told}." in " ".join(run("evaluate", "--gold", gold, *given).out.split())
        if by == "file":
            several = " ".join(run("evaluate", "--gold", gold, *given, *given).out.split())
            assert several.count(told) == 1  # by the convention that skips

    def test_gold_without_keyphrases_is_explained(self, run: Run, documents: Path) -> None:
        result = run("evaluate", "--gold", documents, "--model", "fake")
        assert result.status == 1
        assert 'no document has gold "keyphrases"' in result.err

    def test_two_files_of_one_name_are_refused(self, run: Run, gold: Path) -> None:
        result = run("evaluate", "--gold", gold, "--gold", gold, "--model", "fake")
        assert result.status == 2
        assert is_one_sentence(result.err)

    def test_files_of_one_name_in_two_folders_are_told_apart_by_these(
        self, run: Run, gold: Path, tmp_path: Path
    ) -> None:
        files = [tmp_path / folder / "test.jsonl" for folder in ("inspec", "semeval")]
        for file in files:
            file.parent.mkdir()
            file.write_bytes(gold.read_bytes())
        given = [word for file in files for word in ("--gold", file)]
        result = run("evaluate", *given, "--model", "fake", "--json")
        assert list(json.loads(result.out)["datasets"]) == ["inspec/test", "semeval/test"]

    @pytest.mark.parametrize("name", ["kp20k.valid.jsonl", "kp20k.valid.JSON.gz", "kp20k.valid.csv.xz"])
    def test_a_dataset_is_called_after_its_file(self, name: str) -> None:
        assert plain_name(Path("data") / name) == "kp20k.valid"


class TestOtherCommands:
    def test_models_are_listed(self, run: Run) -> None:
        listed = json.loads(run("models", "--json").out)
        assert next(iter(listed)) == "default"
        lines = run("models").out.splitlines()
        [line] = [line for line in lines if line.startswith("tfidf ")]
        assert line.index("TF-IDF") < 20  # the long names of the Hub stand in a table of their own

    def test_training_gets_what_the_call_says(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[tuple[object, ...]] = []

        def train(part: str, config_path: Path, *, output: Path | None, overrides: dict[str, str]) -> None:
            calls.append((part, config_path, output, overrides))

        monkeypatch.setattr("kpdemo.training.run", train)
        options = ["--config", "c.toml", "--output", "o", "--set", "seed=7", "--set", "a.b=x=y"]
        assert run("train", "extractor", *options).status == 0
        assert calls == [("extractor", Path("c.toml"), Path("o"), {"seed": "7", "a.b": "x=y"})]

    def test_a_file_that_a_command_misses_is_named(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        missing = tmp_path / "words.txt"

        def train(part: str, config_path: Path, *, output: Path | None, overrides: dict[str, str]) -> None:
            missing.read_text(encoding="utf-8")

        monkeypatch.setattr("kpdemo.training.run", train)
        result = run("train", "tagger")
        message = f"{missing}: cannot be used (No such file or directory); fix that and try again.\n"
        assert (result.status, result.out, result.err) == (1, "", message)

    def test_candidates_are_measured(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "small.test.jsonl"
        rows = [
            {
                "id": "a",
                "title": "Neural networks",
                "abstract": "They learn word embeddings quickly.",
                "keyphrases": ["neural network", "word embeddings", "they learn", "graph kernels"],
            },
            {"id": "b", "text": "Support vector machines sort.", "keyphrases": ["support vector machine"]},
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        result = run("candidates", "--gold", path, "--json")
        assert (result.status, result.err) == (0, "")
        figures = json.loads(result.out)
        assert list(figures) == ["small.test"]
        mined = figures["small.test"].pop("candidates_per_document")
        assert figures["small.test"] == {"documents": 2, "gold": 4, "found": 3, "recall": 0.75}
        assert mined >= 1.5

        one = json.loads(run("candidates", "--gold", path, "--limit", 1, "--json").out)
        assert one["small.test"]["documents"] == 1
        assert "0.7500" in run("candidates", "--gold", path).out

    def test_a_damaged_model_is_status_1(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(model: str, **options: object) -> Predictor:
            raise ModelLoadError(f"{model} is damaged.")

        monkeypatch.setattr("kpdemo.predictors.load_predictor", refuse)
        assert main(["predict", "-", "--model", str(tmp_path)]) == 1


def test_of_several_files_each_is_answered_and_the_bad_one_named(run, tmp_path):
    good, bad, last = (tmp_path / name for name in ("one.txt", "two.txt", "three.txt"))
    good.write_text(TEXT, encoding="utf-8")
    last.write_text(TEXT, encoding="utf-8")
    result = run("predict", good, bad, last, "--json")
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert result.status == 1
    assert [row["file"] for row in rows] == [str(good), str(bad), str(last)]
    assert rows[1] == {"file": str(bad), "error": f"{bad}: no such file; check the name."}
    assert result.err == f"{bad}: no such file; check the name.\n"
    alone = json.loads(run("predict", good, "--json").out)
    assert {**rows[0], "seconds": 0} == {"file": str(good), **alone, "seconds": 0}

    shown = run("predict", good, last)
    assert shown.status == 0
    assert shown.out.index(f"{good}:") < shown.out.index(f"{last}:")
    assert run("predict", good, "-").status == 2
    assert run("predict", good, last, "--title", "T").status == 2
