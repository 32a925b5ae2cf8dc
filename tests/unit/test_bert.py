"""Our BERT encoder is Transformers' BERT, number for number."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig as TheirConfig
from transformers import BertModel

from kpdemo.simckp.bert import BertConfig, BertEncoder, bert_state


@pytest.fixture
def theirs() -> BertModel:
    torch.manual_seed(0)
    config = TheirConfig(
        vocab_size=50,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=30,
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    for parameter in model.parameters():  # a fresh LayerNorm or bias would hide a mistake
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.fixture
def ours(theirs) -> BertEncoder:
    encoder = BertEncoder(BertConfig.of(theirs.config.to_dict()))
    encoder.load_state_dict(bert_state(theirs.state_dict()))
    return encoder.eval()


@pytest.mark.parametrize("lengths", [[12, 12], [12, 5, 1], [30]])
@pytest.mark.parametrize("mode", [torch.inference_mode, torch.enable_grad])
def test_hidden_states_equal_those_of_transformers(theirs, ours, lengths, mode):
    ids = torch.randint(50, (len(lengths), max(lengths)))
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    with mode():
        expected = theirs(input_ids=ids, attention_mask=mask).last_hidden_state
        got = ours(ids, mask).last_hidden_state
    assert got.shape == expected.shape
    torch.testing.assert_close(got[mask.bool()], expected[mask.bool()], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("other", [{"hidden_act": "relu"}, {"is_decoder": True}, {"model_type": "roberta"}])
def test_what_is_not_plain_bert_is_left_to_transformers(theirs, other):
    assert BertConfig.of(theirs.config.to_dict() | other) is None


def test_weights_that_plain_bert_has_not_are_refused(theirs):
    with pytest.raises(KeyError, match=r"pooler\.dense\.weight"):
        bert_state({**theirs.state_dict(), "pooler.dense.weight": torch.zeros(1)})
