"""The subwords that an encoder keeps for the languages that it is to read."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from kpdemo.errors import ConfigError
from kpdemo.simckp.e5 import load_e5_encoder, load_e5_tokenizer
from kpdemo.simckp.encoder import load_tokenizer
from kpdemo.training.data import Source
from kpdemo.training.vocabulary import (
    VocabularyTraining,
    basic_pieces,
    count_pieces,
    frequent_pieces,
    prune_tokenizer,
    train_vocabulary,
)
from tests.tiny import tiny_bert
from tests.tiny_e5 import tiny_e5


@pytest.fixture
def e5(tmp_path):
    path, _ = tiny_e5(tmp_path)
    return load_e5_encoder(path), load_e5_tokenizer(path)


@pytest.fixture
def folder(tmp_path, e5):
    """An encoder of that kind as Transformers saves it."""
    for part in e5:
        part.save_pretrained(tmp_path / "whole")
    return tmp_path / "whole"


def pieces_of(tokenizer, numbers):
    return {tokenizer.convert_ids_to_tokens(int(number)) for number in numbers}


def test_a_subword_counts_as_often_as_its_texts(e5):
    tokenizer = e5[1]
    counts = count_pieces(
        tokenizer.backend_tokenizer, ["graph kernels", "kernels,"], weights=np.array([1.0, 2.5])
    )
    used = {tokenizer.convert_ids_to_tokens(int(n)): counts[n] for n in np.flatnonzero(counts)}
    assert used == {"▁graph": 1.0, "▁kernels": 3.5, ",": 2.5}


@pytest.mark.parametrize(
    ("coverage", "kept"), [(0.5, [2]), (0.8, [0, 2]), (0.9, [0, 2, 3]), (1.0, [0, 2, 3])]
)
def test_the_fewest_that_make_up_the_share_are_kept(coverage, kept):
    assert frequent_pieces(np.array([3.0, 0.0, 5.0, 2.0]), coverage).tolist() == kept


def test_marks_and_single_characters_are_always_kept(e5):
    kept = pieces_of(e5[1], basic_pieces(e5[1].backend_tokenizer))
    assert {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "▁", "s", "核", "그"} <= kept
    assert kept.isdisjoint({"▁graph", "核函数", "▁그래프"})


def test_what_is_kept_is_read_as_before_and_the_rest_in_shorter_pieces(folder, tmp_path):
    documents = tmp_path / "own.jsonl"
    documents.write_text('{"title": "Graph kernels", "text": "graph, graph", "keyphrases": ["graph"]}\n')
    config = VocabularyTraining(
        train=(Source(Path(documents.name)),), backbone=str(folder), data=tmp_path, output=tmp_path / "cut"
    )
    kept = train_vocabulary(config)
    assert kept["documents of en"] == 4  # with the comma
    whole, cut = (AutoTokenizer.from_pretrained(path) for path in (folder, config.output))
    assert len(cut) == kept["all"] < len(whole)
    assert cut.tokenize("Graph kernels, graph") == whole.tokenize("Graph kernels, graph")
    assert whole.tokenize("그래프 核函数") == ["▁그래프", "▁", "核函数"]
    assert cut.tokenize("그래프 核函数") == ["▁", "그", "래", "프", "▁", "核", "函", "数"]
    old, new = (AutoModel.from_pretrained(path).eval() for path in (folder, config.output))
    with torch.no_grad():
        vectors = [
            model(**tokenizer("Graph kernels", return_tensors="pt")).last_hidden_state
            for model, tokenizer in ((old, whole), (new, cut))
        ]
    torch.testing.assert_close(*vectors)
    assert new.config.vocab_size == len(cut)
    load_tokenizer.cache_clear()


def test_frequent_words_stand_for_a_language_without_documents(folder, tmp_path, monkeypatch):
    def get_frequency_dict(language, wordlist):
        if language != "fr":
            raise LookupError(language)
        return {"noyaux": 0.2, "graph": 0.1, "kernel": 0.001}

    monkeypatch.setitem(sys.modules, "wordfreq", SimpleNamespace(get_frequency_dict=get_frequency_dict))
    config = VocabularyTraining(languages={"fr": 1.0}, words=2, backbone=str(folder), output=tmp_path / "cut")
    train_vocabulary(config)
    cut = AutoTokenizer.from_pretrained(config.output)
    assert cut.tokenize("noyaux Graph") == ["▁noyaux", "▁Graph"]
    assert cut.tokenize("kernel")[:2] == ["▁", "k"]
    with pytest.raises(ConfigError, match="wordfreq has no words of 'th'"):
        train_vocabulary(
            VocabularyTraining(languages={"th": 0.9}, backbone=str(folder), output=tmp_path / "th")
        )
    load_tokenizer.cache_clear()


def test_a_vocabulary_of_another_kind_is_refused(tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert(tmp_path)).backend_tokenizer
    with pytest.raises(ConfigError, match="Only a vocabulary of the kind Unigram is cut, not WordPiece"):
        prune_tokenizer(tokenizer, np.arange(10))
