"""A folder of documents: which files are read, what they are called, and what is said of the others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kpdemo.batch import ResumeError, predict_file
from kpdemo.cli import main
from kpdemo.errors import InputError
from kpdemo.io.documents import folder_files, read_located
from tests.fakes import FakePredictor

TEXT = "Neural networks sort numbers quickly."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    (made / "b.txt").write_text(f"{TEXT} B.", encoding="utf-8")
    (made / "a.md").write_text(f"# Sorting\n\n{TEXT}", encoding="utf-8")
    (made / "c.jsonl").write_text(json.dumps({"id": "row", "text": TEXT}) + "\n", encoding="utf-8")
    return made


def ids(folder: Path) -> list[str]:
    return [one.document.id for one in read_located(folder)]


def written(output: Path) -> list[str]:
    return [json.loads(line)["id"] for line in output.read_text(encoding="utf-8").splitlines()]


def test_files_are_read_by_name_and_called_by_it(folder: Path) -> None:
    assert ids(folder) == ["a", "b", "row"]


def test_two_files_of_one_name_have_their_suffixes(folder: Path) -> None:
    (folder / "b.md").write_text(TEXT, encoding="utf-8")
    assert ids(folder) == ["a", "b.md", "b.txt", "row"]


def test_rows_without_ids_are_called_by_file_and_line(folder: Path, tmp_path: Path) -> None:
    for name in ("d{1}.csv", "e.csv"):
        (folder / name).write_text(f"id,text\n,{TEXT}\n2,{TEXT}\n,{TEXT} {name}\n", encoding="utf-8")
    (folder / "f.json").write_text(json.dumps([{"text": TEXT}, {"text": TEXT}]), encoding="utf-8")
    Path(os.fsdecode(bytes(folder / "g") + b"\xe9.csv")).write_text(f"text\n{TEXT}\n", encoding="utf-8")
    told: list[str] = []
    output = tmp_path / "out.jsonl"
    predict_file(FakePredictor(), folder, output, on_error=lambda problem: told.append(problem.message))
    rows = ["d{1}.csv:2", "2", "d{1}.csv:4", "e.csv:2", "e.csv:4", "f.json:1", "f.json:2", "g�.csv:2"]
    assert written(output) == ["a", "b", "row", *rows]
    assert told == [f'{folder}/e.csv, line 3: the id "2" is that of an earlier document; give each its own.']


def test_predictions_of_a_folder_whose_rows_were_called_otherwise_are_not_gone_on_with(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "d.csv").write_text(f"text\n{TEXT}\n", encoding="utf-8")
    output = tmp_path / "out.jsonl"
    predict_file(FakePredictor(), folder, output)
    before = output.read_text(encoding="utf-8").replace('"d.csv:2"', '"2"')
    output.write_text(before, encoding="utf-8")
    with pytest.raises(ResumeError, match=r'started with a document "2", which .*papers lacks; use the same'):
        predict_file(FakePredictor(), folder, output)
    assert output.read_text(encoding="utf-8") == before


def test_folders_in_it_hidden_files_and_pictures_are_passed_over(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "d.txt").write_text(TEXT, encoding="utf-8")
    for name in (".hidden.txt", "figure.png", "notes"):
        (folder / name).write_text(TEXT, encoding="utf-8")
    assert [path.name for path in folder_files(folder)] == ["a.md", "b.txt", "c.jsonl"]


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(folder: Path, tmp_path: Path) -> None:
    (folder / "0.pptx").write_bytes(b"PK")
    (folder / "1.txt").write_bytes("é ".encode() + b"caf\xe9 networks")
    (folder / "d.csv").write_text(f"id,text\nrow,{TEXT}\n", encoding="utf-8")
    (folder / "e.txt").write_text(" ", encoding="utf-8")
    Path(os.fsdecode(bytes(folder / "f") + b"\xe9.txt")).write_text(TEXT, encoding="utf-8")
    told: list[str] = []
    output = tmp_path / "out.jsonl"
    summary = predict_file(
        FakePredictor(), folder, output, on_error=lambda problem: told.append(problem.message)
    )
    assert (summary.done, summary.failed) == (3, 5)
    assert written(output) == ["a", "b", "row"]
    assert f"{folder}/0.pptx: files that end in .pptx cannot be read" in told[0]
    assert f"{folder}/1.txt: not UTF-8 text" in told[1]
    assert f'{folder}/d.csv, line 2: the id "row" is that of an earlier document' in told[2]
    assert told[4].startswith(f"{folder}/e.txt: The text is empty")
    assert told[3] == f"{folder}/f�.txt: the name of the file, which becomes an id, is not UTF-8; rename it."


@pytest.mark.parametrize(("name", "content"), [("d.jsonl", "\n"), ("d.json", "[]"), ("d.csv", "id,text\n")])
def test_a_file_without_a_document_is_told(folder: Path, tmp_path: Path, name: str, content: str) -> None:
    output, empty = tmp_path / "out.jsonl", folder / name
    empty.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=rf"{name}: contains no documents; give a file with"):
        predict_file(FakePredictor(), empty, output, on_error=pytest.fail)
    assert not output.exists()
    told: list[str] = []
    predict_file(FakePredictor(), folder, output, on_error=lambda problem: told.append(problem.message))
    assert [f"{name}: contains no documents" in one for one in told] == [True]
    assert written(output) == ["a", "b", "row"]


def test_a_folder_is_resumed_as_a_file_is(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    predict_file(FakePredictor(), folder, output)
    (folder / "d.txt").write_text(TEXT, encoding="utf-8")
    again = predict_file(FakePredictor(), folder, output)
    assert (again.done, again.skipped) == (1, 3)
    assert written(output) == ["a", "b", "row", "d"]
    (folder / "b.txt").write_text("Another text about graph kernels.", encoding="utf-8")
    with pytest.raises(ResumeError, match='another text or language of the document "b"'):
        predict_file(FakePredictor(), folder, output)
    (folder / "b.txt").unlink()
    with pytest.raises(ResumeError, match=r'a document "b", which .*papers lacks'):
        predict_file(FakePredictor(), folder, output)


def test_the_predictions_do_not_go_into_the_folder(folder: Path) -> None:
    with pytest.raises(ResumeError, match="inside the input folder"):
        predict_file(FakePredictor(), folder, folder / "out.jsonl")
    assert not (folder / "out.jsonl").exists()


def test_a_folder_without_documents_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no documents in the folder; put files there that end in \.jsonl"):
        predict_file(FakePredictor(), tmp_path, tmp_path.parent / "out.jsonl")


def test_the_command_takes_a_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kpdemo.predictors.load_predictor", lambda *asked, **options: FakePredictor())
    output = tmp_path / "out.jsonl"
    assert main(["predict", "--input", str(folder), "--output", str(output)]) == 0
    assert written(output) == ["a", "b", "row"]
    assert capsys.readouterr().err.endswith("3 documents predicted.\n")
    assert main(["predict", str(folder)]) == 2
    advice = f"for all documents in it use `predict --input {folder} --output predictions.jsonl`."
    assert capsys.readouterr().err == f"{folder}: a folder, not a file; {advice}\n"
