"""`python -m kpdemo index` from file to answer, on a tiny encoder."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kpdemo.cli import main
from tests.tiny import tiny_bert

WORDS = ("graph", "kernels", "molecules", "boundary", "integral", "low-frequency", "neural", "networks")
WORDS += ("phrases", "words", "proteins")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(0)
    return str(tiny_bert(tmp_path_factory.mktemp("encoder") / "bert"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = main(["index", *(str(argument) for argument in arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def rows(count: int) -> list[dict[str, object]]:
    """Passages of three words each, all different."""
    return [
        {
            "id": f"p{number}",
            "title": f"{WORDS[number % 11]} {number}",
            "text": " ".join(WORDS[(number * step + number // 11) % 11] for step in (1, 2, 5)),
            "keyphrases": [WORDS[number % 11]],
        }
        for number in range(count)
    ]


def write(path: Path, items: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


@pytest.fixture
def index(tmp_path: Path, run: Run, encoder: str) -> Path:
    source = write(tmp_path / "passages.jsonl", rows(40))
    status, out, err = run(
        "build", "--input", source, "--output", tmp_path / "index", "--model", encoder, "--device", "cpu"
    )
    assert (status, out) == (0, "")
    assert err.splitlines()[-1] == f"40 passages in {tmp_path / 'index'}."
    return tmp_path / "index"


def test_a_passage_is_found_by_its_own_text(run, index):
    text = f"{rows(40)[7]['title']}. {rows(40)[7]['text']}"
    status, out, _ = run("search", text, "--index", index, "--top-k", "3", "--json")
    answer = json.loads(out)
    assert status == 0
    assert [hit["rank"] for hit in answer["hits"]] == [1, 2, 3]
    told = {"rank": 1, "score": 1.0, "related": None, "language": "en"}
    assert answer["hits"][0] | {"score": 1.0} == {**told, **rows(40)[7]}
    assert answer["hits"][0]["score"] == pytest.approx(1.0, abs=1e-5)
    status, piped, _ = run("search", "-", "--index", index, "--json", stdin=text)
    assert json.loads(piped)["hits"][:3] == answer["hits"]
    status, shown, _ = run("search", text, "--index", index, "--top-k", "1")
    assert str(rows(40)[7]["title"]) in shown


def test_info_tells_what_is_in_an_index(run, index, encoder):
    status, out, _ = run("info", "--index", index, "--recall", "20", "--check", "--json")
    told = json.loads(out)
    assert status == 0
    assert (told["passages"], told["with_keyphrases"], told["languages"]) == (40, 40, {"en": 40})
    assert (told["type"], told["recall"], told["checked"]) == ("flat", 1.0, True)
    assert told["encoder"]["model"] == encoder
    assert "40" in run("info", "--index", index)[1]


def test_another_type_reports_its_recall(run, tmp_path, encoder):
    source = "".join(json.dumps(row) + "\n" for row in rows(60))
    options = ("--output", tmp_path / "graph", "--model", encoder, "--type", "hnsw", "--device", "cpu")
    status, _, err = run("build", "--input", "-", *options, stdin=source)
    assert status == 0
    assert "recall of the exact ten nearest" in err
    told = json.loads(run("info", "--index", tmp_path / "graph", "--json")[1])
    assert told["recall"] > 0.9
    assert told["ef_search"] >= 16


def test_passages_are_added_once(run, index, tmp_path):
    more = write(tmp_path / "more.jsonl", rows(45))
    status, _, err = run("add", "--index", index, "--input", more)
    assert status == 0
    assert err.splitlines()[-1] == f"5 passages added to {index}, 40 were there already."
    assert json.loads(run("info", "--index", index, "--json")[1])["passages"] == 45


def test_recall_counts_the_passages_that_queries_name(run, index, tmp_path):
    queries = [row | {"passage": row["id"], "id": f"q{row['id']}"} for row in rows(10)]
    path = write(tmp_path / "queries.jsonl", queries)
    status, out, _ = run("evaluate", "--index", index, "--queries", path, "--json")
    report = json.loads(out)
    assert status == 0
    assert (report["queries"], report["passages"]) == (10, 40)
    assert report["recall"] == dict.fromkeys(("1", "2", "5", "10", "20"), 1.0)
    path = write(path, [*queries, {"text": "words", "passage": "nobody"}, {"text": "words"}])
    status, out, err = run("evaluate", "--index", index, "--queries", path, "--json")
    assert status == 1
    assert json.loads(out)["recall"]["20"] == round(10 / 11, 4)
    assert 'no passage "nobody" in the index; counted as not found' in err
    assert 'line 12: no field "passage"' in err


def test_the_same_passages_are_mined_as_pairs(run, tmp_path, encoder):
    source = write(tmp_path / "a.jsonl", rows(12))
    target = write(tmp_path / "b.jsonl", [row | {"id": f"t{row['id']}"} for row in reversed(rows(12))])
    options = ("--model", encoder, "--threshold", "0", "--neighbours", "2")
    status, _, err = run(
        "mine", "--source", source, "--target", target, "--output", tmp_path / "o.tsv", *options
    )
    assert status == 0
    assert err.splitlines()[-1] == "12 pairs of 12 and 12 passages."
    header, *lines = (tmp_path / "o.tsv").read_text().splitlines()
    assert header == "margin\tsource_id\ttarget_id\tsource\ttarget"
    cells = [line.split("\t") for line in lines]
    assert {(cell[1], cell[2]) for cell in cells} == {(f"p{n}", f"tp{n}") for n in range(12)}
    margins = [float(cell[0]) for cell in cells]
    assert margins == sorted(margins, reverse=True)


def test_a_repeated_id_is_not_mined(run, tmp_path, encoder):
    source = write(tmp_path / "a.jsonl", [*rows(12), rows(13)[12] | {"id": "p3"}])
    target = write(tmp_path / "b.jsonl", rows(13))
    options = ("--model", encoder, "--threshold", "0", "--neighbours", "2", "--output", tmp_path / "o.tsv")
    status, _, err = run("mine", "--source", source, "--target", target, *options)
    assert status == 1
    assert f'{source}, line 13: the id "p3" is that of another passage; give each its own.' in err
    assert err.splitlines()[-1] == "12 pairs of 12 and 13 passages."


def test_calls_that_make_no_sense_are_explained(run, index, tmp_path, encoder):
    passages = write(tmp_path / "more.jsonl", rows(3))
    other = tiny_bert(tmp_path / "other")
    for status, message, arguments in (
        (2, "no such file", ("build", "--input", "none.jsonl", "--output", tmp_path / "new")),
        (2, "--input is given 2 times", ("build", *["--input", passages] * 2, "--output", tmp_path / "new")),
        (1, "already exists", ("build", "--input", passages, "--output", index, "--model", encoder)),
        (2, "No passage index at", ("search", "words", "--index", tmp_path / "none")),
        (1, "The query is empty", ("search", " ", "--index", index)),
        (1, ", or leave --model out.", ("search", "words", "--index", index, "--model", other)),
        (2, "No passage index at", ("add", "--index", tmp_path, "--input", passages)),
    ):
        result = run(*arguments)
        assert (result[0], result[1]) == (status, "")
        assert message in result[2]
        assert len(result[2].splitlines()) == 1


def test_passages_without_keyphrases_are_told_by_the_build(run, tmp_path, encoder):
    source = write(tmp_path / "bare.jsonl", [row | {"keyphrases": []} for row in rows(3)])
    status, _, err = run("build", "--input", source, "--output", tmp_path / "bare", "--model", encoder)
    assert status == 0
    assert err.splitlines()[-1].startswith("None of them has keyphrases")


def test_a_query_longer_than_the_encoder_is_cut(run, index):
    status, out, err = run("search", "-", "--index", index, "--json", stdin="graph kernels " * 20_000)
    assert (status, err, len(json.loads(out)["hits"])) == (0, "", 5)


def test_a_damaged_index_is_found_out(run, index):
    vectors = index / "vectors.f32"
    vectors.write_bytes(bytes(vectors.stat().st_size))
    status, _, err = run("info", "--index", index, "--check")
    assert status == 1
    assert err == f"The index {index} is damaged (vectors.f32 differs): rebuild it.\n"
