"""The page of a checkpoint for the Hugging Face Hub."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants

from kpdemo.cli import main
from kpdemo.cli.readme import hub_page
from kpdemo.identity import check_sums, read_sums, write_sums
from kpdemo.predictors import load_predictor
from kpdemo.types import Document
from tests.hub_cache import publish
from tests.tiny_ranker import save_tiny_ranker

NAME = "somebody/keyphrases"
TEXT = "Cette thèse étudie les réseaux de neurones dans plusieurs cas."


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    return save_tiny_ranker(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def model(trained, tmp_path) -> Path:
    return shutil.copytree(trained, tmp_path / "default")  # as a model that ships is called


def test_the_page_is_the_card_with_what_the_hub_reads(model, capsys, monkeypatch):
    monkeypatch.chdir(model.parent)
    assert main(["readme", "default", NAME, "--licence", "cc-by-4.0"]) == 0
    assert capsys.readouterr().out == f"hf upload {NAME} default\n"
    _, front, body = (model / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(front) == {
        "license": "cc-by-4.0",
        "language": ["fr", "ko", "zh"],
        "library_name": "kpdemo",
        "pipeline_tag": "token-classification",
        "tags": ["keyphrase-extraction", "ramkg"],
    }
    assert body.startswith("\n# tiny\n")
    assert f"--model {NAME}" in body


def test_a_published_model_is_opened_whatever_becomes_of_its_page(model, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    assert main(["readme", str(model), NAME, "--licence", "mit"]) == 0
    write_sums(model)  # as when it is put together anew
    assert "README.md" not in read_sums(model)
    (model / "README.md").write_text("edited on the Hub", encoding="utf-8")
    check_sums(model, ["MODEL_CARD.md"])
    publish(tmp_path / "hub", NAME, model)
    document = Document(TEXT, language="fr")
    assert load_predictor(NAME).predict([document]) == load_predictor(model).predict([document])


@pytest.mark.parametrize("licence", ["no", "null", "1.0"])  # which YAML reads as others than texts
def test_licence_and_languages_are_text_whatever_they_are_called(licence):
    page = hub_page(NAME, "# x", kind="simckp-extractor", licence=licence, languages=("no",))
    front = yaml.safe_load(page.split("---\n")[1])
    assert (front["license"], front["language"]) == (licence, ["no"])


def test_a_model_that_writes_is_listed_so_and_one_of_unknown_languages_without_any():
    page = hub_page(NAME, "# x", kind="ramkg-generator", licence="mit", languages=())
    front = yaml.safe_load(page.split("---\n")[1])
    assert front["pipeline_tag"] == "text-generation"
    assert "language" not in front


@pytest.mark.parametrize(
    ("change", "call", "status", "message"),
    [
        (None, ["{model}", "name", "--licence", "mit"], 2, "'name' is not a valid Hub name"),
        (None, ["{model}", "me/kp.git", "--licence", "mit"], 2, "'me/kp.git' is not a valid Hub name"),
        (None, ["{model}", "me/a--b", "--licence", "mit"], 2, "'me/a--b' is not a valid Hub name"),
        (None, ["{model}", "me/a..b", "--licence", "mit"], 2, "'me/a..b' is not a valid Hub name"),
        (None, ["{model}", NAME, "--licence", "CC BY"], 2, "'CC BY' is not a licence identifier"),
        (None, ["{model}/nothing", NAME, "--licence", "mit"], 2, "is not a model that `train` wrote"),
        (
            "README.md",
            ["{model}", NAME, "--licence", "mit"],
            2,
            "already exists: delete it to write a new one",
        ),
        ("lexicon.json.gz", ["{model}", NAME, "--licence", "mit"], 1, "is damaged"),
    ],
)
def test_what_cannot_be_published_is_told(model, capsys, change, call, status, message):
    if change:
        (model / change).write_bytes(b"something else")
    assert main(["readme", *(part.format(model=model) for part in call)]) == status
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""
    assert (model / "README.md").exists() == (change == "README.md")


def test_only_what_is_whole_is_published(model, capsys):
    config = (model / "config.json").read_text(encoding="utf-8")
    (model / "config.json").write_text(config.replace("{", '{"base": {"folder": "other"},', 1))
    assert main(["readme", str(model), NAME, "--licence", "mit"]) == 2
    assert "without `base` in [model]" in capsys.readouterr().err
