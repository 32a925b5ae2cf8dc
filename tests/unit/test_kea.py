"""Supervised features: what is frequent elsewhere or early wins, in every language, and damage is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kpdemo.candidates.noun_phrases import key_of
from kpdemo.errors import LanguageError, ModelLoadError, TrainingError
from kpdemo.evaluation.kea import LanguageTables, load_kea, mine_ngrams
from kpdemo.identity import model_identity
from kpdemo.predictors import load_predictor
from kpdemo.training import run
from kpdemo.training.data import Source
from kpdemo.training.kea import KeaTraining, train_kea
from kpdemo.training.parts import CHECKPOINT
from kpdemo.types import Document

FRENCH = "Le noyau de graphes compare {0}. Une méthode lente compare {0} avec un arbre à cames numéro {1}."
CHINESE = "本文用图核比较{0}。慢的方法比较{0}与树{1}。"
SUBJECTS = {"fr": ["molécules", "protéines", "textes", "images"], "zh": ["分子", "蛋白质", "文本", "图像"]}


def write_documents(path: Path, *, languages: tuple[str, ...] = ("fr", "zh")) -> Path:
    rows = []
    for language in languages:
        pattern, kernel = (FRENCH, "noyau de graphes") if language == "fr" else (CHINESE, "图核")
        for number in range(40):
            subject = SUBJECTS[language][number % 4]
            text = pattern.format(subject, number)
            rows.append({"id": f"{language}{number}", "text": text, "keyphrases": [kernel, subject]})
            rows[-1]["language"] = language
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model trained by the command."""
    place = tmp_path_factory.mktemp("kea")
    write_documents(place / "docs.jsonl")
    config = place / "kea.toml"
    config.write_text(
        f'[kea]\ndata = "{place}"\noutput = "{place / "run"}"\ntrain = [{{ path = "docs.jsonl" }}]\n',
        encoding="utf-8",
    )
    run("kea", config, output=None, overrides={})
    return place / "run" / CHECKPOINT


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("fr", FRENCH.format("protéines", 99), {"noyau de graphes", "protéines"}),
        ("zh", CHINESE.format("蛋白质", 99), {"图核", "蛋白质"}),
    ],
)
def test_it_gives_what_was_given_elsewhere_and_as_many(folder, language, text, expected):
    predictor = load_predictor(folder)
    [prediction] = predictor.predict([Document(text, language=language)])
    assert {keyphrase.text for keyphrase in prediction.present} == expected
    assert all(0 <= keyphrase.score <= 1 for keyphrase in prediction.present)
    assert {text[slice(*span)] for k in prediction.present for span in k.spans} == expected
    assert predictor.languages == {"fr", "zh"}
    assert len(predictor.predict([Document(text, language=language)], top_k=1)[0].present) == 1


def test_its_card_tells_the_weights(folder):
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "| French | 40 |" in card
    assert "| Chinese | 40 |" in card


def test_a_language_that_it_has_not_learnt_is_refused(folder):
    with pytest.raises(LanguageError, match="not trained on Korean: give a document in French, Chinese"):
        load_predictor(folder).predict([Document("그래프 커널로 분자를 비교한다.", language="ko")])


@pytest.mark.parametrize("name", ["config.json", "tables.json.gz", "MODEL_CARD.md", "SHA256SUMS"])
def test_a_damaged_or_missing_file_is_told(folder, tmp_path, name):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    with (copy / name).open("ab") as stream:
        stream.write(b"0  nothing.bin\n")
    with pytest.raises(ModelLoadError, match="nothing.bin is missing" if name == "SHA256SUMS" else "differs"):
        load_kea(copy)
    (copy / name).unlink()
    with pytest.raises(ModelLoadError, match=f"{name} is missing"):
        load_kea(copy)


def test_sums_that_leave_out_a_file_of_the_model_are_told(folder, tmp_path):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    lines = (copy / "SHA256SUMS").read_text().splitlines(keepends=True)
    (copy / "SHA256SUMS").write_text("".join(line for line in lines if "tables" not in line))
    with pytest.raises(ModelLoadError, match="does not name all files"):
        load_kea(copy)


def test_a_file_of_predictions_tells_one_model_from_another(folder):
    assert model_identity(str(folder))


def test_the_document_itself_is_left_out_of_its_features():
    document = Document("Le graphe.", language="fr")
    [candidate] = mine_ngrams(document, 4)
    tables = LanguageTables(10, {candidate.key: 1}, {candidate.key: 1})
    [counted] = tables.features(document, [candidate])
    [left_out] = tables.features(document, [candidate], gold=frozenset({candidate.key}))
    assert left_out[0] > counted[0]
    assert (counted[3] > 0, left_out[3]) == (True, 0.0)


def test_words_of_no_content_may_stand_inside_a_candidate_only():
    document = Document("Le sac à dos rouge, et le chat.", language="fr")
    keys = {candidate.key for candidate in mine_ngrams(document, 4)}
    assert key_of("sac à dos", document) in keys
    assert key_of("le sac", document) not in keys
    assert key_of("rouge et", document) not in keys
    assert key_of("rouge chat", document) not in keys


@pytest.mark.parametrize(
    ("count", "told"), [(1, "There is 1 French document with"), (2, "French documents have no keyphrase")]
)
def test_documents_of_which_nothing_can_be_learnt_are_refused(tmp_path, count, told):
    path = tmp_path / "docs.jsonl"
    row = {"text": "Le graphe.", "keyphrases": ["absent"], "language": "fr"}
    path.write_text((json.dumps(row) + "\n") * count, encoding="utf-8")
    with pytest.raises(TrainingError, match=told):
        train_kea(KeaTraining((Source(Path("docs.jsonl")),), data=tmp_path, output=tmp_path / "run"))


def test_a_file_without_keyphrases_teaches_nothing_and_leaves_no_checkpoint(tmp_path):
    (tmp_path / "docs.jsonl").write_text(json.dumps({"text": "Le graphe."}) + "\n", encoding="utf-8")
    config = tmp_path / "kea.toml"
    config.write_text(f'[kea]\ndata = "{tmp_path}"\ntrain = [{{ path = "docs.jsonl" }}]\n', encoding="utf-8")
    with pytest.raises(TrainingError, match="No training document has keyphrases and words to learn from"):
        run("kea", config, output=tmp_path / "run", overrides={})
    assert not (tmp_path / "run" / "checkpoint").exists()
