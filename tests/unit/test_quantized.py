"""Weights stored in 8 bits: what is lost, what is not, and how much room they take."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.torch import load_file, save_file

from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import load_checkpoint, load_weights, save_checkpoint
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.storage import LARGEST_INT8, NARROWEST, SCALE, pack, unpack
from tests.tiny import tiny_bert

SMALLEST_STEP = 2.0**-24  # of fp16
WIDE = NARROWEST + 1
TEXT = "Graph kernels compare molecules. The graph kernel of proteins and boundary integral equations."


@given(
    arrays(np.float32, (3, WIDE), elements=st.floats(-1e6, 1e6, width=32)),
    st.integers(-12, 0).map(lambda exponent: 10.0**exponent),
)
def test_a_weight_moves_by_at_most_half_a_step_of_its_row(weight, size):
    weight = torch.from_numpy(weight) * size
    [restored] = unpack(pack({"weight": weight})).values()
    step = weight.abs().amax(1, keepdim=True) / LARGEST_INT8 * (1 + 2**-10) + SMALLEST_STEP
    assert bool(((restored - weight).abs() <= step / 2 * (1 + 1e-5)).all())


def test_the_steps_of_a_row_are_computed_by_hand():
    weight = torch.zeros(2, WIDE)
    weight[0, :4] = torch.tensor([-127.0, 63.5, 1.4, -0.4])
    tensors = pack({"weight": weight})
    assert tensors["weight"].dtype == torch.int8
    assert tensors["weight"][0, :5].tolist() == [-127, 64, 1, 0, 0]  # 63.5: halves go to the even one
    assert tensors[f"weight{SCALE}"].tolist() == [1, 0]
    assert not unpack(tensors)["weight"][1].any()


def test_what_was_stored_is_stored_again_as_it_was():
    once = pack({"weight": torch.randn(20, WIDE)})
    twice = pack(unpack(once))
    assert torch.equal(once["weight"], twice["weight"])


def test_vectors_and_narrow_matrices_keep_half_precision_and_integers_stay():
    state = {
        "bias": torch.randn(WIDE),
        "prior": torch.randn(8, NARROWEST - 1),
        "places": torch.arange(WIDE).repeat(2, 1),
    }
    restored = unpack(pack(state))
    assert torch.equal(restored["bias"], state["bias"].half().float())
    assert torch.equal(restored["prior"], state["prior"].half().float())
    assert torch.equal(restored["places"], state["places"])


def test_half_precision_is_stored_as_before(tmp_path):
    state = {"weight": torch.randn(4, WIDE)}
    assert pack(state, "fp16")["weight"].dtype == torch.float16
    assert torch.equal(unpack(pack(state, "fp16"))["weight"], state["weight"].half().float())


def test_a_file_of_eight_bits_is_half_as_large(tmp_path):
    state = {"weight": torch.randn(1_000, 384), "bias": torch.randn(384)}
    for storage in ("fp16", "int8"):
        save_file(pack(state, storage), tmp_path / storage)
    sizes = {storage: (tmp_path / storage).stat().st_size for storage in ("fp16", "int8")}
    assert sizes["int8"] < 0.51 * sizes["fp16"]
    assert torch.allclose(unpack(load_file(tmp_path / "int8"))["weight"], state["weight"], atol=0.03)


@pytest.mark.parametrize("storage", ["fp16", "int8"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e12])
def test_a_weight_that_cannot_be_stored_is_named(storage, value):
    weight = torch.ones(2, WIDE)
    weight[1, 3] = value
    with pytest.raises(ValueError, match=r"encoder\.weight holds a weight that is not finite or too large"):
        pack({"encoder.weight": weight}, storage)


def test_a_checkpoint_of_eight_bits_predicts_nearly_the_same(tmp_path):
    torch.manual_seed(0)
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path / "backbone", width=NARROWEST)))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12))
    scores = {}
    for storage in ("fp16", "int8"):
        folder = tmp_path / storage
        selection = Selection(0.3, Calibration(4.0, -1.0))
        save_checkpoint(folder, module, tokenizer, selection, name="tiny", card="", storage=storage)
        [prediction] = load_checkpoint(folder, device="cpu").predict([TEXT], threshold=0.0)
        scores[storage] = {keyphrase.text: keyphrase.score for keyphrase in prediction.present}
    stored = load_file(tmp_path / "int8" / "model.safetensors")
    assert sum(value.dtype == torch.int8 for value in stored.values()) > 5
    assert scores["int8"] == pytest.approx(scores["fp16"], abs=0.02)


def test_training_begins_from_a_checkpoint_of_eight_bits(tmp_path):
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path / "backbone", width=NARROWEST)))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12))
    selection = Selection(0.3, Calibration())
    save_checkpoint(tmp_path / "a", module, tokenizer, selection, name="a", card="", storage="int8")
    before = {name: value.clone() for name, value in module.state_dict().items()}
    for parameter in module.parameters():
        parameter.data.zero_()
    load_weights(tmp_path / "a", module)
    for name, value in module.state_dict().items():
        torch.testing.assert_close(value, before[name], atol=0.01, rtol=0)
