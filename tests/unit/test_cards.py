"""Every model says what it is."""

from pathlib import Path

import pytest

from kpdemo.cards import LONGEST_CARD, model_card
from kpdemo.predictors import DEFAULT_FOLDER, available_models, hub_models
from kpdemo.training.cards import describe_source, licence
from kpdemo.training.data import Source


@pytest.mark.parametrize("name", [*available_models(), *hub_models()])
def test_every_model_that_can_be_chosen_has_a_card_under_its_name(name):
    assert model_card(name).startswith(f"# {name}: ")


def test_the_card_of_a_folder_is_the_file_in_it():
    assert model_card(DEFAULT_FOLDER) == (DEFAULT_FOLDER / "MODEL_CARD.md").read_text(encoding="utf-8")


def test_what_the_hub_puts_before_a_card_is_left_out(tmp_path):
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n# Mine\n", encoding="utf-8")
    assert model_card(tmp_path) == "# Mine\n"


def test_a_folder_without_a_card_says_so_and_does_not_name_itself(tmp_path):
    assert model_card(tmp_path / "none").startswith("This model has no card")
    assert str(tmp_path) not in model_card(tmp_path)


def test_a_card_without_end_is_read_in_part(tmp_path):
    (tmp_path / "MODEL_CARD.md").write_bytes(b"\xff" + b"x" * (2 * LONGEST_CARD))
    assert len(model_card(tmp_path)) == LONGEST_CARD


def test_the_card_of_a_predictor_in_python_is_the_docstring_of_its_factory():
    card = model_card("docs.examples.capitals:Capitals")
    assert card.startswith("# docs.examples.capitals:Capitals: a model in Python\n\nThe capitalised words")


@pytest.mark.parametrize("source", ["class Mine:\n    pass\n", "raise SystemExit\n", "not Python\n"])
def test_a_predictor_in_python_that_says_nothing_of_itself_is_told_how(tmp_path, monkeypatch, source):
    (tmp_path / "undescribed.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("undescribed:Mine", "nowhere:Mine", "nowhere.at_all:Mine"):
        module = name.partition(":")[0]
        told = f"It has no description: `{module}` itself does not define `Mine` with a docstring. Write one "
        assert model_card(name).endswith(f"{told}there, or name the module that defines it.\n")


def test_a_predictor_in_python_is_described_where_it_is_defined(tmp_path, monkeypatch):
    package = tmp_path / "exporting"
    package.mkdir()
    (package / "__init__.py").write_text("from exporting.inner import Mine\n", encoding="utf-8")
    (package / "inner.py").write_text('class Mine:\n    """Told."""\n', encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert model_card("exporting.inner:Mine").endswith("\n\nTold.\n")
    assert "`exporting` itself does not define `Mine`" in model_card("exporting:Mine")


def test_a_package_that_cannot_be_imported_does_not_break_the_page(tmp_path, monkeypatch):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("raise RuntimeError('no GPU')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert "It has no description" in model_card("broken.inner:Mine")


@pytest.mark.parametrize(
    ("pretrained", "told"),
    [
        ((), "Apache-2.0, as kpdemo.\n"),
        (("all-MiniLM-L6-v2",), "; all-MiniLM-L6-v2 is Apache-2.0, by the Sentence-Transformers authors.\n"),
        (("ORG/bert", "ORG/bert"), "as kpdemo, for what was trained here; ORG/bert keeps its own licence.\n"),
    ],
)
def test_a_licence_names_the_models_that_training_began_with(pretrained, told):
    assert told in licence(*pretrained)


def test_a_card_tells_all_that_says_which_documents_of_a_file_were_taken():
    source = Source(Path("a.jsonl"), where={"cs": True}, skip_ids="x", every=10, repeat=2, limit=1000)
    told = "a.jsonl, cs = True, without ids x, one document in 10, 2 times an epoch, first 1,000"
    assert describe_source(source) == told
