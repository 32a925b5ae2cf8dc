"""The model that ships: whole, small, sensible, and the same from every door."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

import kpdemo
from kpdemo.cli import main
from kpdemo.errors import ModelLoadError
from kpdemo.predictors import DEFAULT_FOLDER, PASSAGES_INDEX, model_folder
from kpdemo.text import StemmedText
from kpdemo.types import Document, Origin, Prediction

ABSTRACT = Document(
    title="A boundary integral equation for eddy currents",
    body=(
        "We derive a boundary integral equation for the scalar potential of eddy currents. "
        "The integral equation is discretised, and the fast multipole method lowers its cost. "
        "On three benchmarks the results agree with those of a finite element method."
    ),
)


@pytest.fixture(scope="module")
def predictor():
    return kpdemo.load_predictor(device="cpu")


def test_it_finds_what_the_text_is_about(predictor):
    [prediction] = predictor.predict([ABSTRACT], top_k=8)
    found = {keyphrase.text.lower() for keyphrase in prediction.present}
    assert {"eddy currents", "boundary integral equation", "fast multipole method"} <= found


def test_a_keyphrase_knows_all_its_places(predictor):
    [prediction] = predictor.predict([ABSTRACT], top_k=30)
    [equation] = [k for k in prediction.present if k.text.lower() == "boundary integral equation"]
    read = [ABSTRACT.text[start:end].lower() for start, end in equation.spans]
    assert read == ["boundary integral equation"] * 2


def test_by_itself_and_in_company_an_abstract_gets_the_same(predictor):
    [alone] = predictor.predict([ABSTRACT])
    others = ["Graph kernels compare molecules.", "Voters punish corrupt mayors. " * 200]
    together = predictor.predict([others[0], ABSTRACT, others[1]])[1]
    assert [k.text for k in together.present] == [k.text for k in alone.present]
    assert [k.score for k in together.present] == pytest.approx([k.score for k in alone.present], abs=1e-3)


@pytest.mark.slow
def test_a_long_text_is_read_to_its_end(predictor):
    filler = "The committee met again and nothing was decided about the budget. " * 400  # some twenty windows
    text = f"{filler}A variational quantum eigensolver estimates ground state energies."
    [prediction] = predictor.predict([text], top_k=2_000)
    assert "variational quantum eigensolver" in [k.text.lower() for k in prediction.present]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert('x')</script> scripts in web pages",
        "😀 smileys 🎉 in chats",
        "the of and to",
        "אב English text here",
    ],
)
def test_odd_text_is_answered(predictor, text):
    [prediction] = predictor.predict([text])
    assert all(text[start:end] for k in prediction.present for start, end in k.spans)


def test_command_line_and_python_agree(predictor):
    command = [
        sys.executable,
        "-m",
        "kpdemo",
        "predict",
        "-",
        "--title",
        ABSTRACT.title,
        "--json",
        "--device",
        "cpu",
    ]
    printed = subprocess.run(command, input=ABSTRACT.body, capture_output=True, text=True, check=True).stdout
    answer = json.loads(printed)
    [prediction] = predictor.predict([ABSTRACT])
    assert [row["text"] for row in answer["present"]] == [k.text for k in prediction.present]
    assert [[tuple(span) for span in row["spans"]] for row in answer["present"]] == [
        list(k.spans) for k in prediction.present
    ]
    assert (answer["language"], answer["model"], answer["device"]) == ("en", "default", "cpu")


def test_absent_keyphrases_are_new_to_the_text_and_say_where_they_come_from(predictor):
    [prediction] = predictor.predict([ABSTRACT], top_k=50, unsure=True)
    assert 40 < len(prediction.absent) <= 50  # without variants of one another and of what is present
    text = StemmedText(ABSTRACT)
    assert not [k.text for k in prediction.absent if text.contains(k.text)]
    assert {k.source for k in prediction.absent} == {Origin.RETRIEVED}
    assert all(k.kind is not None and k.reason for k in prediction.absent)
    read = " ".join(ABSTRACT.text.split())
    assert {phrase for k in prediction.absent for phrase in k.evidence if phrase not in read} == set()
    found = " ".join(k.text.lower() for k in prediction.absent)
    assert "magnetic" in found  # what eddy currents go with


def test_a_sentence_tells_its_keyphrases_from_what_fills_up_to_the_papers_minimum(predictor):
    [prediction] = predictor.predict(["Graph kernels compare molecules by their common parts."])
    assert [k.filler for k in prediction.present] == sorted(k.filler for k in prediction.present)
    assert len(prediction.present) == 5
    assert not prediction.present[0].filler
    assert prediction.present[-1].filler


def test_absent_keyphrases_that_are_hardly_ever_right_are_given_only_where_asked_for(predictor):
    text = "The committee met again on Monday, and nothing was decided about the budget of the village."
    assert predictor.predict([text])[0].absent == ()
    assert predictor.predict([text], top_k=5)[0].absent == ()
    assert len(predictor.predict([text], top_k=5, unsure=True)[0].absent) == 5


@pytest.mark.parametrize("covid", ["COVID-19", "COVID19", "COVID‑19", "ＣＯＶＩＤ－１９"])
def test_no_spelling_of_what_stands_in_the_text_is_absent(predictor, covid):
    text = f"How {covid} changed teaching at universities, and how {covid} cohorts learnt at home."
    [prediction] = predictor.predict([text], top_k=50)
    assert not [k.text for k in prediction.absent if k.text.lower().replace("-", "").strip() == "covid19"]


@pytest.mark.slow
def test_indexers_choose_more_and_longer_phrases_than_authors(predictor):
    indexer = kpdemo.load_predictor("indexer", device="cpu")
    documents = english_examples()
    authors, indexers = predictor.predict(documents), indexer.predict(documents)
    for theirs, ours in zip(indexers, authors, strict=True):
        assert len(theirs.present) > len(ours.present)
        assert theirs.absent_candidates == ours.absent_candidates  # one bank serves both
    assert mean_words(indexers) > mean_words(authors)


def test_every_english_example_of_the_page_has_absent_keyphrases_that_are_trusted_and_the_first_has_two(
    predictor,
):
    first, *others = predictor.predict(english_examples())
    assert len(first.absent) >= 2
    assert all(one.absent and len(one.present) >= 5 for one in others)


def english_examples() -> list[Document]:
    """Those of the page."""
    rows = json.loads((Path(kpdemo.__file__).parent / "assets" / "examples.json").read_text(encoding="utf-8"))
    return [Document(row["text"], title=row["title"]) for row in rows[:4]]


def mean_words(predictions: list[Prediction]) -> float:
    return mean(len(keyphrase.text.split()) for row in predictions for keyphrase in row.present)


def test_they_are_small_and_say_where_they_come_from():
    files = {
        name: [path for path in model_folder(name).rglob("*") if path.is_file()]
        for name in ("default", "indexer", "multilingual")
    }
    sizes = [path.stat().st_size for found in files.values() for path in found]
    assert sum(sizes) <= 150_000_000
    assert max(sizes) <= 95_000_000
    encoders = {"default": "all-MiniLM-L6-v2", "indexer": "all-MiniLM-L6-v2", "multilingual": "e5-small"}
    for name, found in files.items():
        for card in (path for path in found if path.name == "MODEL_CARD.md"):
            assert encoders[name] in card.read_text(encoding="utf-8")
        assert "Apache-2.0" in card.read_text(encoding="utf-8")


def test_a_damaged_copy_is_refused(tmp_path):
    folder = shutil.copytree(DEFAULT_FOLDER, tmp_path / "model")
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\x00\x01\x02\x03")
    with pytest.raises(ModelLoadError, match=r"model\.safetensors is damaged"):
        kpdemo.load_predictor(folder).predict([ABSTRACT])


def test_the_embedding_baseline_uses_its_encoder():
    [prediction] = kpdemo.load_predictor("embedding", device="cpu").predict([ABSTRACT], top_k=5)
    scores = [keyphrase.score for keyphrase in prediction.present]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)


def test_passages_that_no_model_reads_are_told_once(tmp_path, capsys):
    documents = tmp_path / "documents.jsonl"
    text = f"{ABSTRACT.title}. {ABSTRACT.body}"
    lines = (json.dumps({"id": name, "text": text, "language": "en"}) + "\n" for name in "ab")
    documents.write_text("".join(lines), encoding="utf-8")
    one = tmp_path / "one.txt"
    one.write_text(text, encoding="utf-8")
    options = ("--index", str(PASSAGES_INDEX), "--device", "cpu")
    assert main(["predict", str(one), "--json", *options]) == 0
    said = capsys.readouterr()
    told = "This text is English, which 'default' reads without passages: --index is not used."
    assert said.err == f"{told}\n"
    assert json.loads(said.out)["warnings"] == [told]
    files = ("--input", str(documents), "--output", str(tmp_path / "found.jsonl"))
    assert main(["predict", *files, *options]) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == "--index was not used for 2 documents: 'default' reads their languages without passages."
