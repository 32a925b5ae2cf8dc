"""Two extractors whose scores are averaged: what is stored, what they answer, what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.torch import load_file, save_file

from kpdemo.config import load_section
from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.identity import write_sums
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import SECOND_WEIGHTS, WEIGHTS, load_checkpoint, save_checkpoint
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.predictor import load_system
from kpdemo.simckp.storage import LARGEST_NIBBLE, NARROWEST, STEP, pack_differences, unpack_differences
from kpdemo.training import run
from kpdemo.training.assembly import ModelAssembly, assemble
from kpdemo.training.ensemble import EnsembleTraining
from kpdemo.types import Document
from kpdemo.ui.space import document_cosines
from tests.tiny import tiny_bert

COLUMNS = NARROWEST + 1
"""Odd, so that the last byte of a row holds one weight only."""

DOCUMENT = Document("Graph kernels compare molecules. The graph kernel of proteins and boundary equations.")


@given(values=arrays(np.float32, (2, 3, COLUMNS), elements=st.floats(-1e4, 1e4, width=32)))
@example(values=np.stack([np.zeros((3, COLUMNS)), np.full((3, COLUMNS), 2.0**-23)]).astype(np.float32))
def test_a_difference_moves_by_at_most_half_a_step_of_its_row(values):
    base, weight = map(torch.from_numpy, values)
    [restored] = unpack_differences(
        pack_differences({"weight": weight}, {"weight": base}), {"weight": base}
    ).values()
    step = (weight - base).abs().amax(1, keepdim=True) / LARGEST_NIBBLE
    of_step = 2**-9 * step + 2**-25  # the second for the smallest numbers of fp16
    rounding = LARGEST_NIBBLE * of_step + 2**-20 * (weight.abs() + base.abs())
    assert bool(((restored - weight).abs() <= step / 2 + rounding).all())


def test_the_steps_and_bytes_of_a_row_are_computed_by_hand():
    base = torch.full((2, COLUMNS), 5.0)
    weight = base.clone()
    weight[0, :4] += torch.tensor([-7.0, 3.0, 0.6, -0.4])
    tensors = pack_differences({"weight": weight}, {"weight": base})
    assert tensors[f"weight{STEP}"].tolist() == [1, 0]
    assert tensors["weight"].shape == (2, (COLUMNS + 1) // 2)
    assert tensors["weight"][0, :2].tolist() == [0 + 16 * 10, 8 + 16 * 7]
    restored = unpack_differences(tensors, {"weight": base})["weight"]
    assert restored[0, :5].tolist() == [-2, 8, 6, 5, 5]
    assert torch.equal(restored[1], base[1])


def test_equal_weights_are_left_out_and_narrow_ones_stored_themselves():
    base = {"same": torch.randn(3, COLUMNS), "bias": torch.randn(COLUMNS), "narrow": torch.randn(2, 4)}
    state = base | {"bias": torch.randn(COLUMNS), "narrow": torch.randn(2, 4)}
    tensors = pack_differences(state, base)
    assert tensors.keys() == {"bias", "narrow"}
    restored = unpack_differences(tensors, base)
    assert restored["same"] is base["same"]
    assert torch.equal(restored["narrow"], state["narrow"].half().float())


@pytest.mark.parametrize("other", [{"weight": torch.zeros(2, 3)}, {"elsewhere": torch.zeros(2, COLUMNS)}])
def test_weights_of_another_model_are_refused(other):
    base = {"weight": torch.zeros(2, COLUMNS)}
    with pytest.raises(ValueError, match="other names or shapes"):
        pack_differences(other, base)
    tensors = pack_differences({"weight": torch.ones(2, COLUMNS)}, base)
    with pytest.raises(ValueError, match=r"another shape|is not a weight"):
        unpack_differences(tensors, other)


def checkpoint(folder: Path, backbone: Path, seed: int, **settings) -> Path:
    """An extractor with heads of its own on the backbone, as `train extractor` stores it."""
    encoder, tokenizer = load_backbone(str(backbone))
    torch.manual_seed(seed)
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12, **settings)).eval()
    with torch.no_grad():
        module.prior[-1].weight.normal_()
    selection = Selection(0.3, Calibration(4.0, -1.0))
    save_checkpoint(
        folder, module, tokenizer, selection, name=folder.name, card=f"# {folder.name}\n\nText.\n"
    )
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("ensemble")
    backbone = tiny_bert(root / "backbone", width=64)
    return checkpoint(root / "one", backbone, 1), checkpoint(root / "other", backbone, 2, temperature=0.2)


@pytest.fixture(scope="module")
def configuration(folders, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("configuration")
    row = {"title": "", "abstract": DOCUMENT.body, "keyphrases": ["graph kernel", "molecules"]}
    (root / "gold.jsonl").write_text(f"{json.dumps(row)}\n" * 3, encoding="utf-8")
    settings = [
        "[ensemble]", 'name = "both"', f"first = '{folders[0]}'", f"second = '{folders[1]}'", "share = 0.25",
        f"data = '{root}'", f"output = '{root / 'run'}'", 'device = "cpu"', "window = 64",
        "[ensemble.validation]", 'path = "gold.jsonl"',
    ]  # fmt: skip
    path = root / "ensemble.toml"
    path.write_text("\n".join(settings), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def both(configuration) -> Path:
    run("ensemble", configuration, output=None, overrides={})
    return configuration.parent / "run" / "checkpoint"


def test_the_score_is_the_weighted_mean_of_the_two(both):
    ensemble = load_checkpoint(both, device="cpu")
    assert ensemble.module.config.window == 64
    one = replace(ensemble, second=None)
    other = replace(one, module=ensemble.second.module)
    [(_, first)], [(_, second)], [(candidates, scores)] = (
        predictor.score([DOCUMENT]) for predictor in (one, other, ensemble)
    )
    assert len(candidates) > 3
    assert np.abs(first - second).max() > 0.05, "the two have to differ for the test to see anything"
    assert scores == pytest.approx(0.75 * first + 0.25 * second, abs=1e-5)


def test_the_first_extractor_is_stored_byte_for_byte_and_of_the_second_little(folders, both):
    assert (both / WEIGHTS).read_bytes() == (folders[0] / WEIGHTS).read_bytes()
    tensors = load_file(both / SECOND_WEIGHTS)
    assert not [name for name in tensors if "word_embeddings" in name], (
        "the frozen ones are those of the first"
    )
    stored, whole = (path.stat().st_size for path in (both / SECOND_WEIGHTS, folders[1] / WEIGHTS))
    assert stored < whole / 2


def test_scores_that_are_shown_in_the_space_are_those_of_the_answer(both):
    predictor = load_checkpoint(both, device="cpu")
    [prediction] = predictor.predict([DOCUMENT], top_k=3)
    [space] = predictor.vectors(DOCUMENT, top_k=3)
    shown = {point.text: point.score for point in space.points if point.score is not None}
    assert [shown[phrase.text] for phrase in prediction.present] == [
        pytest.approx(phrase.score) for phrase in prediction.present
    ]


def test_cosines_in_the_space_are_the_weighted_means_of_those_of_the_two(both):
    ensemble = load_checkpoint(both, device="cpu")
    one = replace(ensemble, second=None)
    other = replace(one, module=ensemble.second.module)
    first, second, mean = (cosines(predictor) for predictor in (one, other, ensemble))
    assert np.abs(first - second).max() > 0.01, "the two have to differ for the test to see anything"
    assert mean == pytest.approx(0.75 * first + 0.25 * second, abs=1e-5)


def cosines(predictor) -> np.ndarray:
    """Of every candidate with the document."""
    [space] = predictor.vectors(DOCUMENT)
    return np.array(document_cosines(space)[1:])


def test_the_card_says_how_the_two_go_together_and_holds_theirs(both):
    card = (both / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert card.startswith("# both")
    assert "0.75 of a candidate's score is the first" in card
    assert "## one\n" in card
    assert "## other\n" in card


def test_a_model_is_put_together_of_an_ensemble_and_not_of_its_first_extractor_alone(folders, both, tmp_path):
    (tmp_path / "link").symlink_to("model")  # to nothing yet
    config = ModelAssembly(("extractor", "ensemble"), output=tmp_path / "link")
    assemble(config, {"extractor": folders[0], "ensemble": both})
    assert load_system(tmp_path / "model", device="cpu").second.share == 0.25
    (tmp_path / "model" / "README.md").write_text("edited", encoding="utf-8")
    (tmp_path / "model" / "left.json").write_text("{}", encoding="utf-8")
    assemble(config, {"extractor": folders[0], "ensemble": both})
    assert (tmp_path / "model" / "README.md").read_text(encoding="utf-8") == "edited"
    assert not (tmp_path / "model" / "left.json").exists()
    load_system(tmp_path / "link", device="cpu")
    with pytest.raises(ConfigError, match="a part ensemble or a generator"):
        assemble(config, {"ensemble": both, "generator": folders[0]})


def test_another_ensemble_or_a_missing_second_is_refused(folders, both, configuration, tmp_path):
    with pytest.raises(ModelLoadError, match="holds two extractors"):
        run("ensemble", configuration, output=tmp_path / "again", overrides={"first": str(both)})
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in both.iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    (broken / SECOND_WEIGHTS).unlink()
    with pytest.raises(ModelLoadError, match="is missing; restore it"):
        load_checkpoint(broken, device="cpu")
    save_file({"no such": torch.zeros(2)}, broken / SECOND_WEIGHTS)
    write_sums(broken)
    with pytest.raises(ModelLoadError, match="cannot be read"):
        load_checkpoint(broken, device="cpu")


def _with_another_word(folder: Path, like: Path) -> Path:
    """A backbone like that of a checkpoint, one of whose word pieces is another."""
    backbone = tiny_bert(folder / "renaming", width=64)
    own = json.loads((like / "tokenizer.json").read_text(encoding="utf-8"))
    words = own["model"]["vocab"]
    words["zzz"] = words.pop(max(words, key=words.__getitem__))
    (backbone / "tokenizer.json").write_text(json.dumps(own), encoding="utf-8")
    return backbone


def test_extractors_that_are_not_alike_are_refused(folders, configuration, tmp_path):
    wider = checkpoint(tmp_path / "wider", tiny_bert(tmp_path / "wide", width=128), 3)
    with pytest.raises(ModelLoadError, match="differ in backbone"):
        run("ensemble", configuration, output=tmp_path / "run", overrides={"second": str(wider)})
    renamed = checkpoint(tmp_path / "renamed", _with_another_word(tmp_path, folders[0]), 4)
    with pytest.raises(ModelLoadError, match="differ in vocabulary: train both"):
        run("ensemble", configuration, output=tmp_path / "run", overrides={"second": str(renamed)})
    with pytest.raises(ConfigError, match="reads at most 128 tokens: lower `window`, which is 512"):
        run("ensemble", configuration, output=tmp_path / "run", overrides={"window": "512"})
    with pytest.raises(ConfigError, match="share"):
        load_section(configuration, "ensemble", EnsembleTraining, {"share": "1"})


def test_the_second_is_stored_as_near_to_what_was_trained_as_its_steps_allow(folders, both):
    tensors = load_file(both / SECOND_WEIGHTS)
    stored = load_checkpoint(both, device="cpu").second.module.state_dict()
    trained = load_checkpoint(folders[1], device="cpu").module.state_dict()
    heads = [name for name in trained if f"{name}{STEP}" in tensors]
    assert heads == ["document_projection.weight", "phrase_projection.weight"]
    for name in heads:
        step = tensors[f"{name}{STEP}"].float().unsqueeze(1)
        assert bool(((stored[name] - trained[name]).abs() <= 0.51 * step + 1e-3).all()), name
