from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpdemo.batch import (
    IDENTITY,
    BatchSummary,
    OutputError,
    ResumeError,
    ask_each,
    predict_file,
    recorded_model,
    refused_path,
    settings_path,
)
from kpdemo.errors import InputError
from kpdemo.io.predictions import read_predictions
from kpdemo.io.tables import LineError
from kpdemo.types import Document, Prediction
from tests.fakes import FakePredictor, FakeRetriever

COUNT = 7


class CountingPredictor(FakePredictor):
    """Remembers the size of each batch it is given."""

    sizes: list[int]

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        self.sizes.append(len(documents))
        return super().predict(documents, top_k=top_k, threshold=threshold)


def write_documents(path: Path, count: int = COUNT) -> Path:
    rows = (
        {"id": f"d{n}", "title": f"Title {n}", "text": f"Neural networks sort number{n}."}
        for n in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs.jsonl")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "predictions.jsonl"


@pytest.mark.parametrize(("device", "sizes"), [("cpu", [32, 8]), ("cuda", [40])])
def test_batches_are_larger_on_a_gpu(device: str, sizes: list[int], tmp_path: Path) -> None:
    predictor = CountingPredictor(device=device)
    object.__setattr__(predictor, "sizes", [])
    predict_file(predictor, write_documents(tmp_path / "docs.jsonl", 40), tmp_path / "predictions.jsonl")
    assert predictor.sizes == sizes


def test_every_document_gets_a_line_in_order(source: Path, output: Path) -> None:
    seen: list[BatchSummary] = []
    summary = predict_file(FakePredictor(), source, output, batch_size=3, top_k=2, progress=seen.append)
    assert summary == BatchSummary(done=COUNT)
    assert [step.done for step in seen] == [3, 6, 7]
    rows = rows_of(output)
    assert [row["id"] for row in rows] == [f"d{n}" for n in range(COUNT)]
    assert {row["model"] for row in rows} == {"fake"}
    assert rows[0]["present"] == [
        {"text": "Title", "score": 0.9, "spans": [[0, 5]]},
        {"text": "Neural networks", "score": 0.45, "spans": [[9, 24]]},
    ]
    assert rows[0]["absent"] == [
        {"text": "keyphrase prediction", "score": 0.5},
        {"text": "document understanding", "score": 0.25},
    ]


def test_a_file_whose_lines_name_no_model_yet_goes_on(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    earlier = [{name: row[name] for name in row if name != "model"} for row in rows_of(output)[:4]]
    output.write_text("".join(f"{json.dumps(row)}\n" for row in earlier), encoding="utf-8")
    assert predict_file(FakePredictor(), source, output) == BatchSummary(done=COUNT - 4, skipped=4)
    assert [row.get("model") for row in rows_of(output)] == [None] * 4 + ["fake"] * (COUNT - 4)


def test_spans_count_from_the_title_on(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    text = "Title 0\n\nNeural networks sort number0."
    for keyphrase in json.loads(output.read_text(encoding="utf-8").splitlines()[0])["present"]:
        assert all(text[start:end] == keyphrase["text"] for start, end in keyphrase["spans"])


def test_no_more_than_a_batch_is_held(source: Path, output: Path) -> None:
    predictor = CountingPredictor()
    object.__setattr__(predictor, "sizes", [])
    predict_file(predictor, source, output, batch_size=3)
    assert predictor.sizes == [3, 3, 1]


def test_a_finished_file_is_left_as_it_is(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    before = output.read_bytes()
    assert predict_file(FakePredictor(), source, output) == BatchSummary(skipped=COUNT)
    assert output.read_bytes() == before


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_a_run_cut_at_any_byte_ends_with_the_same_bytes(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        source = write_documents(Path(folder) / "docs.jsonl")
        output = Path(folder) / "predictions.jsonl"
        predict_file(FakePredictor(), source, output, batch_size=3)
        whole = output.read_bytes()
        output.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
        summary = predict_file(FakePredictor(), source, output, batch_size=3)
        assert output.read_bytes() == whole
        assert summary.done + summary.skipped == COUNT


MIXED = [
    '{"id": "a", "text": "Neural networks."}',
    '{"id": "b", "text": ""}',
    '{"id": "c", "text": "神经网络学习词向量"}',
    '{"id": "d", "text": "Graph kernels."}',
    '{"id": "e", "text": "Word"}',
]


def test_a_finished_file_is_not_predicted_again_for_what_was_refused(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "docs.jsonl"
    source.write_text("\n".join(MIXED), encoding="utf-8")
    first: list[LineError] = []
    predict_file(FakePredictor(), source, output, batch_size=2, on_error=first.append)
    predictor = CountingPredictor()
    object.__setattr__(predictor, "sizes", [])
    again: list[LineError] = []
    summary = predict_file(predictor, source, output, batch_size=2, on_error=again.append)
    assert predictor.sizes == []
    assert summary == BatchSummary(skipped=2, failed=3)
    assert again == first


def test_a_refused_document_that_was_mended_is_predicted(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "docs.jsonl"
    long = json.dumps({"id": "long", "text": "Neural networks. " * 5_000})  # what follows is not compared
    source.write_text("\n".join([long, *MIXED]), encoding="utf-8")
    predict_file(FakePredictor(), source, output, batch_size=2)
    source.write_text(source.read_text("utf-8").replace('"Word"', '"Word vectors"'), encoding="utf-8")
    summary = predict_file(FakePredictor(), source, output, batch_size=2)
    assert summary == BatchSummary(done=1, skipped=3, failed=2)
    assert predict_file(FakePredictor(), source, output) == BatchSummary(skipped=4, failed=2)


def test_what_another_model_refused_goes_with_its_output(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "docs.jsonl"
    source.write_text("\n".join(MIXED), encoding="utf-8")
    predict_file(FakePredictor(), source, output)
    output.unlink()
    predict_file(FakeRetriever(), source, output)
    assert [row["id"] for row in rows_of(output)] == ["a", "c", "d"]


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_what_was_refused_is_kept_whatever_was_cut_off(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        source, output = Path(folder) / "docs.jsonl", Path(folder) / "predictions.jsonl"
        source.write_text("\n".join(MIXED), encoding="utf-8")
        predict_file(FakePredictor(), source, output, batch_size=2)
        whole = [path.read_bytes() for path in (output, refused_path(output))]
        assert whole[1].count(b"\n") == 3
        for path, content in zip((output, refused_path(output)), whole, strict=True):
            path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        predict_file(FakePredictor(), source, output, batch_size=2)
        assert [path.read_bytes() for path in (output, refused_path(output))] == whole


def test_zeros_that_a_power_cut_left_are_cut_off(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    whole = output.read_bytes()
    output.write_bytes(whole[:100] + bytes(50))
    predict_file(FakePredictor(), source, output)
    assert output.read_bytes() == whole


def test_an_interrupted_batch_is_predicted_again_as_a_whole(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output, batch_size=3)
    output.write_bytes(b"".join(output.read_bytes().splitlines(keepends=True)[:4]))
    predictor = CountingPredictor()
    object.__setattr__(predictor, "sizes", [])
    assert predict_file(predictor, source, output, batch_size=3) == BatchSummary(done=3, skipped=4)
    assert predictor.sizes == [3, 1]


@pytest.mark.parametrize(
    ("name", "options", "difference"),
    [
        ("other", {}, "the model fake, not other"),
        ("other", {"identity": "b"}, "the model fake, not other"),
        ("fake", {"identity": "b"}, "other weights of the model fake"),
        ("fake", {"top_k": 3}, "top_k automatic, not 3"),
        ("fake", {"threshold": 0.5}, "threshold the model's own, not 0.5"),
        (
            "fake",
            {"top_k": 3, "threshold": 0.0},
            "top_k automatic, not 3, threshold the model's own, not 0.0",
        ),
    ],
)
def test_other_settings_are_refused(
    source: Path, output: Path, name: str, options: dict[str, Any], difference: str
) -> None:
    predict_file(FakePredictor(), source, output, identity="a")
    before = output.read_bytes()
    with pytest.raises(ResumeError) as caught:
        predict_file(FakePredictor(name=name), source, output, **{"identity": "a", **options})
    advice = "use the same settings, name another output or delete it."
    assert str(caught.value) == f"{output} was started with {difference}; {advice}"
    assert output.read_bytes() == before


BROKEN = [
    '{"text": "Neural networks."}',
    '{"text": "Word',
    '{"text": "Graph kernels."}',
    '{"text": "Random fields."}',
]


def test_a_broken_line_that_was_mended_is_predicted_and_nothing_else(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "docs.jsonl"
    source.write_text("\n".join(BROKEN), encoding="utf-8")
    assert predict_file(FakePredictor(), source, output, batch_size=2) == BatchSummary(done=3, failed=1)
    before = output.read_bytes()
    source.write_text("\n".join(BROKEN).replace('"Word\n', '"Word vectors."}\n'), encoding="utf-8")
    assert predict_file(FakePredictor(), source, output, batch_size=2) == BatchSummary(done=1, skipped=3)
    assert output.read_bytes().startswith(before)
    assert [row["id"] for row in rows_of(output)] == ["1", "3", "4", "2"]
    assert predict_file(FakePredictor(), source, output, batch_size=2) == BatchSummary(skipped=4)


def test_a_broken_line_that_was_emptied_as_its_message_says_is_no_other_document(
    tmp_path: Path, output: Path
) -> None:
    source, problems = tmp_path / "docs.jsonl", []
    source.write_text("\n".join(BROKEN), encoding="utf-8")
    predict_file(FakePredictor(), source, output, on_error=problems.append)
    assert [problem.message.endswith("; fix or empty the line.") for problem in problems] == [True]
    source.write_text("\n".join(BROKEN).replace(BROKEN[1], ""), encoding="utf-8")
    assert predict_file(FakePredictor(), source, output) == BatchSummary(skipped=3)
    assert [row["id"] for row in rows_of(output)] == ["1", "3", "4"]


@pytest.mark.parametrize(
    ("lines", "difference"),
    [
        # The numbers of lines are ids: where one is deleted, those after it get others.
        ([BROKEN[0], *BROKEN[2:]], r'another text or language of the document "3" than .*other\.jsonl has'),
        (BROKEN[:3], r'a document "4", which .*other\.jsonl lacks'),
        ([*BROKEN[:3], '{"text": "Social fields."}'], 'another text or language of the document "4"'),
        ([f'{{"id": "x", {line[1:]}' for line in BROKEN], 'a document "1", which'),
    ],
)
def test_another_input_is_refused(tmp_path: Path, output: Path, lines: list[str], difference: str) -> None:
    source, other = tmp_path / "docs.jsonl", tmp_path / "other.jsonl"
    source.write_text("\n".join(BROKEN), encoding="utf-8")
    other.write_text("\n".join(lines), encoding="utf-8")
    predict_file(FakePredictor(), source, output, batch_size=1)
    before = output.read_bytes()
    with pytest.raises(ResumeError, match=f"started with {difference}.*; use the same"):
        predict_file(FakePredictor(), other, output, batch_size=1)
    assert output.read_bytes() == before


def test_of_a_stream_too_no_stale_prediction_is_kept(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    changed = io.BytesIO(source.read_bytes().replace(b"sort number3", b"forget number3"))
    with pytest.raises(
        ResumeError, match='another text or language of the document "d3" than standard input has'
    ):
        predict_file(FakePredictor(), changed, output)


def test_a_line_that_does_not_tell_which_text_was_read_is_not_continued(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    rows = rows_of(output)
    del rows[2][IDENTITY]
    output.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with pytest.raises(ResumeError, match="line 3: not a prediction"):
        predict_file(FakePredictor(), source, output)


@pytest.mark.parametrize("count", [COUNT, 2_000])
def test_an_input_that_grew_or_moved_goes_on(tmp_path: Path, output: Path, count: int) -> None:
    predict_file(FakePredictor(), write_documents(tmp_path / "docs.jsonl", count), output)
    moved = write_documents(tmp_path / "moved.jsonl", count + 2)
    assert predict_file(FakePredictor(), moved, output) == BatchSummary(done=2, skipped=count)
    assert predict_file(FakePredictor(), moved, output) == BatchSummary(skipped=count + 2)


def test_a_stream_goes_on_with_what_a_file_began(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    with source.open("rb") as stream:
        assert predict_file(FakePredictor(), stream, output) == BatchSummary(skipped=COUNT)
    output.unlink()
    with source.open("rb") as stream:
        predict_file(FakePredictor(), stream, output)
    assert predict_file(FakePredictor(), source, output) == BatchSummary(skipped=COUNT)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once(source: Path, output: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.write_bytes, source.read_bytes())
        assert predict_file(FakePredictor(), pipe, output) == BatchSummary(done=COUNT)


def test_a_file_of_something_else_is_never_touched(source: Path, output: Path) -> None:
    output.write_text("my notes\n", encoding="utf-8")
    with pytest.raises(ResumeError, match="does not say how it was made"):
        predict_file(FakePredictor(), source, output)
    assert output.read_text(encoding="utf-8") == "my notes\n"
    assert not settings_path(output).exists()


def test_a_damaged_line_in_the_middle_is_explained(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    output.write_bytes(b"{\n" + output.read_bytes())
    with pytest.raises(ResumeError, match="line 1: not a prediction"):
        predict_file(FakePredictor(), source, output)


def test_a_second_run_at_the_same_time_is_refused_and_the_first_is_undisturbed(
    source: Path, output: Path, tmp_path: Path
) -> None:
    refused: list[str] = []

    class Interrupted(FakePredictor):
        def predict(self, documents: Sequence[Document | str], **options: Any) -> list[Prediction]:
            with pytest.raises(OutputError) as caught:
                predict_file(FakePredictor(), source, output)
            refused.append(str(caught.value))
            return super().predict(documents, **options)

    predict_file(Interrupted(), source, output, batch_size=3)
    assert refused == [
        f"{output}: another run is writing to it; wait until it is done, or name another file."
    ] * len(range(0, COUNT, 3))
    whole = tmp_path / "whole.jsonl"
    predict_file(FakePredictor(), source, whole)
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_nothing_can_be_locked_a_file_is_written_all_the_same(
    source: Path, output: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert predict_file(FakePredictor(), source, output).done == COUNT
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    assert predict_file(FakePredictor(), source, output).skipped == COUNT


def test_an_output_with_a_document_twice_is_not_continued(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    doubled = output.read_bytes() * 2
    output.write_bytes(doubled)
    told = f'{COUNT} lines repeat the id of an earlier one, first line {COUNT + 1} with "d0"; delete'
    with pytest.raises(ResumeError, match=told):
        predict_file(FakePredictor(), source, output)
    assert output.read_bytes() == doubled


def test_input_and_output_must_differ(source: Path) -> None:
    with pytest.raises(ResumeError, match="both input and output"):
        predict_file(FakePredictor(), source, source)


def test_an_input_that_cannot_be_read_leaves_no_output(tmp_path: Path, output: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        predict_file(FakePredictor(), tmp_path / "missing.jsonl", output)
    assert list(tmp_path.iterdir()) == []


def test_bad_documents_are_named_and_the_rest_goes_on(tmp_path: Path, output: Path) -> None:
    lines = [
        '{"id": "a", "text": "Neural networks."}',
        '{"id": "b", "text": ',
        '{"id": "c", "text": ""}',
        '{"id": "d", "text": "神经网络学习词向量"}',
        '{"id": "a", "text": "Again."}',
        '{"id": "e", "text": "😀 🎉"}',
        '{"id": "f", "text": "<b>Bold</b> words."}',
        '{"id": "g", "text": "ברוכים הבאים לאתר"}',
        '{"id": "h", "text": "Word"}',
    ]
    source = tmp_path / "docs.jsonl"
    source.write_text("\n".join(lines), encoding="utf-8")
    problems: list[LineError] = []
    summary = predict_file(FakePredictor(), source, output, batch_size=4, on_error=problems.append)
    assert summary == BatchSummary(done=2, failed=7)
    assert [row["id"] for row in rows_of(output)] == ["a", "f"]
    assert sorted(problem.line for problem in problems) == [2, 3, 4, 5, 6, 8, 9]
    for problem in problems:
        assert f"docs.jsonl, line {problem.line}: " in problem.message
    assert any('line 4: document "d": The text is Chinese' in problem.message for problem in problems)
    assert any('line 5: the id "a" is that of an earlier document' in problem.message for problem in problems)

    again = predict_file(FakePredictor(), source, output, batch_size=4)
    assert again == BatchSummary(skipped=2, failed=7)


def test_a_language_that_is_none_is_told_unless_the_call_says_another(tmp_path: Path) -> None:
    source = tmp_path / "docs.jsonl"
    languages = ["fr", "French", "fr-CA", "sw", "yor", "", "xx", "Frnch"]
    rows = ({"id": f"d{n}", "text": "Deux mots.", "language": name} for n, name in enumerate(languages))
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    problems: list[LineError] = []
    summary = predict_file(FakePredictor(), source, io.BytesIO(), on_error=problems.append)
    assert summary == BatchSummary(done=6, failed=2)
    assert [problem.line for problem in problems] == [7, 8]
    assert problems[0].message.endswith(
        'line 7: "xx" is not a known language; write a code such as "sw", or leave "language" out.'
    )
    assert predict_file(FakePredictor(), source, io.BytesIO(), language="fr") == BatchSummary(done=8)


def test_an_input_with_an_unknown_language_before_its_mended_line_goes_on(
    tmp_path: Path, output: Path
) -> None:
    rows = [
        {"id": "a", "text": "Neural networks.", "language": "Frnch"},
        {"id": "a", "text": "Neural networks."},
        {"id": "b", "text": "Graph kernels."},
    ]
    source = tmp_path / "docs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert predict_file(FakePredictor(), source, output) == BatchSummary(done=1, failed=2)
    assert predict_file(FakePredictor(), source, output) == BatchSummary(skipped=1, failed=2)
    rows[0]["language"] = "fr"  # it has become the first of its id that can be read
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert predict_file(FakePredictor(), source, output) == BatchSummary(done=1, skipped=1, failed=1)
    assert [row["id"] for row in rows_of(output)] == ["b", "a"]


@pytest.mark.parametrize(("asked", "is_refused"), [("", True), ("fr", False)])
def test_another_language_of_a_document_counts_where_it_is_read_in_it(
    tmp_path: Path, output: Path, asked: str, is_refused: bool
) -> None:
    source = tmp_path / "docs.jsonl"
    source.write_text('{"id": "a", "text": "Deux mots.", "language": "fr"}\n', encoding="utf-8")
    predict_file(FakePredictor(), source, output, language=asked)
    source.write_text('{"id": "a", "text": "Deux mots.", "language": "it"}\n', encoding="utf-8")
    if is_refused:
        with pytest.raises(ResumeError, match='another text or language of the document "a" than'):
            predict_file(FakePredictor(), source, output, language=asked)
    else:
        again = predict_file(FakePredictor(), source, output, language=asked)
        assert again == BatchSummary(skipped=1)


@pytest.mark.parametrize("name", ["note.txt", "note.md", "NOTE.TXT"])
def test_of_a_file_that_is_one_document_no_line_is_named(tmp_path: Path, name: str) -> None:
    source = tmp_path / name
    source.write_text("Word", encoding="utf-8")
    problems: list[LineError] = []
    predict_file(FakePredictor(), source, io.BytesIO(), on_error=problems.append)
    assert [problem.message for problem in problems] == [
        f"{source}: The text is only one word, “Word”: give a sentence or more."
    ]


def test_one_bad_document_does_not_spoil_its_batch() -> None:
    documents = [Document("Neural networks."), Document(""), Document("Word embeddings.")]
    first, second, third = ask_each(documents, partial(FakePredictor().predict, top_k=1))
    assert isinstance(first, Prediction)
    assert isinstance(second, InputError)
    assert isinstance(third, Prediction)
    assert third.present[0].text == "Word embeddings"


def test_streams_are_read_and_written(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    target = io.BytesIO()
    with source.open("rb") as stream:
        assert predict_file(FakePredictor(), stream, target) == BatchSummary(done=COUNT)
    assert target.getvalue() == output.read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_explained(source: Path) -> None:
    with pytest.raises(OutputError, match=r"/dev/full: cannot be written \(No space left on device\)"):
        predict_file(FakePredictor(), source, "/dev/full")


@pytest.mark.parametrize(
    ("name", "message"),
    [("none/p.jsonl", "cannot be written"), (".", "a folder"), ("p.jsonl.gz", "compressed")],
)
def test_an_output_that_cannot_be_is_explained(source: Path, tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises((OutputError, ResumeError), match=message):
        predict_file(FakePredictor(), source, tmp_path / name)


def test_a_batch_holds_at_least_one(source: Path, output: Path) -> None:
    with pytest.raises(InputError, match="batch size is 0"):
        predict_file(FakePredictor(), source, output, batch_size=0)


def test_settings_with_fields_of_an_earlier_version_are_read(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output)
    settings = settings_path(output)
    row = json.loads(settings.read_text(encoding="utf-8"))
    settings.write_text(json.dumps(row | {"input_bytes": 0, "input_sha256": ""}), encoding="utf-8")
    assert predict_file(FakePredictor(), source, output) == BatchSummary(done=0, skipped=COUNT)
    assert recorded_model(output) == "fake"


def test_a_device_is_written_to_without_settings(source: Path) -> None:
    assert predict_file(FakePredictor(), source, os.devnull) == BatchSummary(done=COUNT)
    assert not settings_path(Path(os.devnull)).exists()


def test_predictions_are_read_back(source: Path, output: Path) -> None:
    predict_file(FakePredictor(), source, output, top_k=1)
    predictions = read_predictions(output)
    assert list(predictions) == [f"d{n}" for n in range(COUNT)]
    assert [keyphrase.text for keyphrase in predictions["d0"].present] == ["Title"]
    assert [keyphrase.text for keyphrase in predictions["d0"].absent] == ["keyphrase prediction"]
    assert recorded_model(output) == "fake"
    assert recorded_model(source) is None
