"""Our BERT encoder is Transformers' BERT, number for number."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig as TheirConfig
from transformers import BertModel

from kpdemo.simckp import bert
from kpdemo.simckp.bert import BertConfig, BertEncoder, PackedEmbedding, bert_state, pack_words
from kpdemo.simckp.storage import pack, unpack


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


def stored_encoder() -> BertEncoder:
    """An encoder whose word embeddings are what int8 makes of numbers at random, one row all zero."""
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=60,
        hidden_size=64,  # narrower rows are not stored as integers
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=30,
        type_vocab_size=2,
        layer_norm_eps=1e-12,
    )
    encoder = BertEncoder(config).eval()
    words = encoder.words.weight.detach() * torch.logspace(-2, 3, 60).unsqueeze(1)
    words[7] = 0
    encoder.load_state_dict(unpack(pack(encoder.state_dict() | {"words.weight": words})))
    return encoder


def test_packed_words_give_the_same_numbers_in_a_quarter_of_the_memory(monkeypatch):
    monkeypatch.setattr(bert, "PACKED_AT_ONCE", 25)
    encoder = stored_encoder()
    ids, mask = torch.arange(60).view(2, 30), torch.ones(2, 30, dtype=torch.long)
    state, expected = encoder.state_dict(), encoder(ids, mask).last_hidden_state
    pack_words(encoder)
    assert torch.equal(encoder(ids, mask).last_hidden_state, expected)
    assert torch.equal(encoder.lower(1).words.table(), state["words.weight"])
    packed = encoder.state_dict()
    assert packed.keys() == state.keys()
    assert all(torch.equal(packed[name], state[name]) for name in state)
    held = sum(buffer.nbytes for buffer in encoder.words.buffers())
    assert held < state["words.weight"].nbytes * 0.27


def test_words_that_int8_cannot_hold_stay_and_equal_ones_are_kept_once():
    first, second, other = stored_encoder(), stored_encoder(), stored_encoder()
    with torch.no_grad():
        other.words.weight[3, 4] += 1e-4
    untouched = other.words
    pack_words(torch.nn.ModuleDict({"encoder": first}), second, other)
    assert isinstance(first.words, PackedEmbedding)
    assert first.words is second.words
    assert other.words is untouched
