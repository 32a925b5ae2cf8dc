"""`python -m kpdemo predict --index` from file to answer, on a tiny ranker, and indexes that are no good."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kpdemo.cli import main
from kpdemo.predictors import PASSAGES_INDEX, index_identity
from kpdemo.ramkg.passage_index import read_manifest, write_manifest
from kpdemo.ramkg.predictor import chance_score
from kpdemo.ui.start import read_settings
from tests.tiny_ranker import PASSAGES, SENTENCE, build_tiny_index, save_tiny_ranker

FRENCH = SENTENCE.format("réseau de neurones")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_ranker(tmp_path_factory.mktemp("ranker"))


@pytest.fixture(scope="module")
def index(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_index(tmp_path_factory.mktemp("passages") / "index", model)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: Path) -> Run:
    def call(*arguments: object, stdin: str = FRENCH) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        options = ["--model", model, "--device", "cpu", *arguments]
        status = main(["predict", *(str(argument) for argument in options)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_json_tells_the_passages(run, index):
    status, out, err = run("-", "--language", "fr", "--index", index, "--json")
    assert (status, err) == (0, "")
    record = json.loads(out)
    assert record["language"] == "fr"
    fields = ["helps", "id", "keyphrases", "related", "score", "title", "used"]
    assert [sorted(passage) for passage in record["passages"]] == [fields] * 2
    assert record["passages"][0]["keyphrases"] == [record["passages"][0]["id"]]


def test_a_search_tells_which_passages_may_be_on_other_subjects(index, capsys):
    call = ["index", "search", PASSAGES[0].text, "--index", str(index), "--device", "cpu"]
    assert main([*call, "--json"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    chance = chance_score(len(PASSAGES), 64)
    assert [hit["related"] for hit in hits] == [hit["score"] > chance for hit in hits]
    assert (hits[0]["related"], hits[-1]["related"]) == (True, False)
    assert main(call) == 0
    assert f"with a score of up to {chance:.2f} are mostly on other subjects than the text.\n" in (
        capsys.readouterr().out
    )
    assert main([*call, "--top-k", "1"]) == 0
    assert "mostly on other subjects" not in capsys.readouterr().out


def test_people_see_them_in_a_table(run, index):
    status, out, _ = run("-", "--language", "fr", "--index", index)
    assert status == 0
    assert "Retrieved passages" in out


def test_a_file_has_them_and_is_not_resumed_with_other_passages(run, index, model, tmp_path):
    source, output = tmp_path / "docs.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps({"id": "1", "text": FRENCH}) + "\n", encoding="utf-8")
    files = ("--input", source, "--output", output)
    assert run(*files, "--index", index)[0] == 0
    assert len(json.loads(output.read_text(encoding="utf-8"))["passages"]) == 2
    other = build_tiny_index(tmp_path / "other", model, PASSAGES[:1])
    status, _, err = run(*files, "--index", other)
    assert status == 2
    assert "was started with other weights" in err


def test_passages_that_a_model_does_not_read_do_not_tell_it_from_others(model, index):
    assert index_identity(str(model), None) == ""
    assert index_identity(str(model), index) != ""
    assert index_identity("default", None) == index_identity("multilingual", PASSAGES_INDEX) != ""
    assert index_identity("yake", None) == ""


def test_without_an_index_the_model_reads_the_text_alone(run):
    status, out, _ = run("-", "--language", "fr", "--json")
    assert (status, "passages" in json.loads(out)) == (0, False)


def test_passages_without_keyphrases_change_nothing(run, model, tmp_path):
    bare = build_tiny_index(tmp_path / "bare", model, [replace(one, keyphrases=()) for one in PASSAGES])
    plain = json.loads(run("-", "--language", "fr", "--json")[1])
    status, out, _ = run("-", "--language", "fr", "--json", "--index", bare)
    record = json.loads(out)
    assert status == 0
    assert len(record["passages"]) == 2
    assert "None of these passages has keyphrases" in run("-", "--language", "fr", "--index", bare)[1]
    assert (record["present"], record["absent"]) == (plain["present"], plain["absent"])


def test_an_empty_index_gives_no_passages(run, model, tmp_path):
    empty = build_tiny_index(tmp_path / "empty", model, PASSAGES[:1])
    write_manifest(empty, replace(read_manifest(empty), passages=0, size=0, with_keyphrases=0, languages={}))
    status, out, _ = run("-", "--language", "fr", "--json", "--index", empty)
    assert (status, json.loads(out)["passages"]) == (0, [])
    assert "the index is empty" in run("-", "--language", "fr", "--index", empty)[1]


def broken(copy: Path, name: str, content: bytes | dict[str, object] | None) -> None:
    path = copy / name
    if isinstance(content, dict):
        content = json.dumps(json.loads(path.read_text()) | content).encode()
    path.unlink() if content is None else path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("index.json", None, "No passage index at"),
        ("index.json", b"{", "cannot be read"),
        ("index.json", {"passages": "two"}, "cannot be read"),
        ("index.json", {"width": 16}, "is damaged (its vectors have the width 16"),
        ("vectors.f32", b"short", "is damaged"),
        ("ends.u64", None, "lacks ends.u64"),
    ],
)
def test_a_damaged_index_is_told_in_a_sentence(run, model, tmp_path, name, content, said):
    copy = build_tiny_index(tmp_path / "copy", model)
    broken(copy, name, content)
    status, out, err = run("-", "--language", "fr", "--index", copy)
    assert (status, out, err.count("\n")) == (2 if said.startswith("No") else 1, "", 1)
    assert said in err


def test_an_index_of_another_encoder_is_refused(run, tmp_path):
    other = save_tiny_ranker(tmp_path, seed=1)
    index = build_tiny_index(tmp_path / "index", other)
    status, out, err = run("-", "--language", "fr", "--index", index)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "was built with the encoder" in err
    status, _, err = run("-", "--language", "fr", "--index", index, "--model", "multilingual")
    assert (status, err.count("\n")) == (1, 1)
    assert err.endswith("rebuild it with `python -m kpdemo index build --model multilingual`.\n")


def test_mixed_text_is_read_in_the_language_of_most_of_it(run, index):
    mixed = f"{FRENCH} {FRENCH} In this thesis the network has been trained. 本文研究神经网络。"
    status, out, _ = run("-", "--index", index, "--json", stdin=mixed)
    assert (status, json.loads(out)["language"]) == (0, "fr")


def test_a_language_that_the_model_was_not_made_for_is_told(run, index):
    german = "Diese Arbeit untersucht das neuronale Netz und zeigt, dass die Verfahren gut sind."
    status, out, err = run("-", "--index", index, "--json", stdin=german)
    assert (status, json.loads(out)["language"]) == (0, "de")
    assert "This text is German" in err
    assert "the model 'multilingual' was trained on no such text" in err


def test_documents_in_languages_that_the_model_was_not_made_for_are_told_once(run, model, tmp_path):
    texts = [
        "Diese Arbeit untersucht das neuronale Netz und zeigt, dass die Verfahren gut sind.",
        "Questa tesi studia la rete neurale e mostra che i metodi sono buoni.",
        "Die neuronalen Netze sind gut, und das wird in dieser Arbeit auch gezeigt.",
        FRENCH,
    ]
    rows = [json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts)]
    (tmp_path / "docs.jsonl").write_text("".join(rows), encoding="utf-8")
    call = ("--input", tmp_path / "docs.jsonl", "--output", tmp_path / "out.jsonl", "--batch-size", "2")
    status, _, err = run(*call)
    told = err.splitlines()[-3:]
    assert (status, told[0]) == (0, "4 documents predicted.")
    assert told[1].startswith(f"2 documents are German; the model '{model}' was made for Chinese, French")
    assert told[2].startswith(f"1 document is Italian; the model '{model}' was made for")
    assert run(*call)[2].splitlines()[-1].startswith("0 documents predicted")


def test_a_model_that_reads_no_passages_takes_no_index(run, index):
    status, _, err = run("-", "--model", "tfidf", "--index", index)
    assert status == 2
    assert "does not use passages" in err


@pytest.mark.slow
def test_experiments_measure_any_model_with_an_index(index, model, tmp_path, capsys):
    gold, results = tmp_path / "gold.jsonl", tmp_path / "results"
    row = {"id": "1", "text": FRENCH, "language": "fr", "keyphrases": ["réseau de neurones"]}
    gold.write_text(json.dumps(row) + "\n", encoding="utf-8")
    call = ["experiments", "ramkg", "--gold", str(gold), "--output", str(results), "--device", "cpu"]
    for name, passages in ((str(model), index), ("default", PASSAGES_INDEX)):
        assert main([*call, "--model", name, "--index", str(passages)]) == 0
    told = json.loads((results / "retrieval-default.json").read_text(encoding="utf-8"))
    assert set(told["datasets"]["gold"]["languages"]["fr"]) == {"with", "without", "difference"}
    capsys.readouterr()
    assert main([*call, "--model", "yake", "--index", str(index)]) == 2
    assert "The model 'yake' does not use passages: leave --index out" in capsys.readouterr().err


def test_the_program_of_the_pages_refuses_a_wrong_folder_at_once(tmp_path, index, capsys):
    assert read_settings(["--index", str(index)], {}).index == str(index)
    with pytest.raises(SystemExit):
        read_settings(["--index", str(tmp_path)], {})
    assert "No passage index at" in capsys.readouterr().err


def test_a_model_that_is_none_is_refused_before_the_page_is_served(capsys):
    assert read_settings(["--model", "tfidf"], {}).model == "tfidf"
    with pytest.raises(SystemExit) as stopped:
        read_settings(["--model", "nosuch"], {})
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    assert "There is no model 'nosuch'" in told
    assert told.count("\n") == 1
