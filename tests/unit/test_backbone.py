"""Pretrained encoders as they are loaded."""

import pytest
import torch
from transformers import AutoModel

from kpdemo.errors import ModelLoadError
from kpdemo.simckp import encoder
from kpdemo.simckp.encoder import load_backbone, load_encoder_decoder
from tests.tiny import tiny_bart, tiny_bert


@pytest.mark.parametrize(
    ("make", "load"),
    [(tiny_bert, load_backbone), (tiny_bart, load_backbone), (tiny_bart, load_encoder_decoder)],
)
def test_weights_stored_in_halves_are_trained_whole(tmp_path, make, load):
    """Adam's steps in fp16 end in NaN; Transformers gives a model the precision that it is stored in."""
    folder = make(tmp_path)
    AutoModel.from_pretrained(folder).half().save_pretrained(folder)
    model, _ = load(str(folder))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_an_encoder_that_is_not_installed_is_told_at_once_with_what_installs_it(monkeypatch, caplog):
    monkeypatch.setattr(encoder, "find_spec", lambda package: None)
    with pytest.raises(ModelLoadError, match="'all-MiniLM-L6-v2' is not installed: run `make train-setup`"):
        load_backbone("all-MiniLM-L6-v2")
    with pytest.raises(ModelLoadError, match="no folder 'nobody/nothing' nor a model of that name"):
        load_backbone("nobody/nothing")
    assert caplog.records == []
