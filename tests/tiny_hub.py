"""Tiny keyphrase models as the Hub would hold them, taught one document by heart: no download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import ByteLevelBPETokenizer
from tokenizers.processors import BertProcessing, RobertaProcessing
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    DistilBertConfig,
    DistilBertForTokenClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForTokenClassification,
)

from kpdemo.simckp.examples import encoder_text
from kpdemo.types import Document
from tests.tiny import train_wordpiece
from tests.tiny_t5 import tiny_t5

TITLE = "Graph kernels in chemistry"
BODY = "We compare molecules with a graph kernel. A boundary integral method is slower, low-frequency or not."
DOCUMENT = Document(BODY, title=TITLE)
WRITTEN = ("graph kernels", "drug discovery", "boundary integral")
MARKED = ("Graph kernels", "boundary integral method")

_TEXTS = [TITLE, BODY, "drug discovery; Keywords: <>|,", "neural networks learn representations of documents"]
_VOCABULARY = 300
_STEPS = 100


def bpe_tokenizer(added: Sequence[str] = ()) -> Any:
    """As BART's and RoBERTa's: `<s> text </s>`."""
    trainer = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer.train_from_iterator(_TEXTS, _VOCABULARY, special_tokens=specials, show_progress=False)
    trainer.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "cls": "<s>", "sep": "</s>"}
    tokenizer = _wrap(trainer, names)
    tokenizer.add_tokens(list(added), special_tokens=True)
    return tokenizer


def wordpiece_tokenizer() -> Any:
    """As DistilBERT's: `[CLS] text [SEP]`, in lower case."""
    trainer = train_wordpiece(_TEXTS * 3, _VOCABULARY)
    ids = {name: trainer.token_to_id(f"[{name.upper()}]") for name in ("sep", "cls")}
    trainer.post_processor = BertProcessing(("[SEP]", ids["sep"]), ("[CLS]", ids["cls"]))
    return _wrap(trainer, {name: f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")})


def _wrap(trainer: Any, names: dict[str, str]) -> Any:
    tokens = {f"{name}_token": token for name, token in names.items()}
    return PreTrainedTokenizerFast(tokenizer_object=trainer._tokenizer, **tokens)


def bart_generator(folder: Path, separator: str, *, joiner: str = ". ", added: Sequence[str] = ()) -> Path:
    """A BART that answers the document with its keyphrases between separators."""
    tokenizer = bpe_tokenizer(added)
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=128,
        dropout=0.0,
        forced_bos_token_id=None,
    )
    return _teach_to_write(
        folder, BartForConditionalGeneration(config), tokenizer, f"{TITLE}{joiner}{BODY}", separator
    )


def t5_generator(folder: Path, separator: str, *, prefix: str = "") -> Path:
    """A T5 that answers the document with its keyphrases between separators."""
    model, tokenizer = tiny_t5(_TEXTS, _VOCABULARY // 3)
    return _teach_to_write(folder, model, tokenizer, f"{prefix}{TITLE}. {BODY}", separator)


def _teach_to_write(folder: Path, model: Any, tokenizer: Any, text: str, separator: str) -> Path:
    answer = tokenizer(separator.join(WRITTEN), return_tensors="pt")["input_ids"]
    return _teach(folder, model, tokenizer, tokenizer(text, return_tensors="pt"), answer)


def roberta_tagger(folder: Path) -> Path:
    """A RoBERTa that marks the document's keyphrases; it reads 128 tokens together."""
    tokenizer = bpe_tokenizer()
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=130,
        id2label={0: "B-KEY", 1: "I-KEY", 2: "O"},
        label2id={"B-KEY": 0, "I-KEY": 1, "O": 2},
        pad_token_id=1,
    )
    return _teach_to_mark(folder, RobertaForTokenClassification(config), tokenizer)


def distilbert_tagger(folder: Path) -> Path:
    """A DistilBERT that marks the document's keyphrases; it reads 128 tokens together."""
    tokenizer = wordpiece_tokenizer()
    config = DistilBertConfig(
        vocab_size=len(tokenizer),
        dim=32,
        n_layers=1,
        n_heads=2,
        hidden_dim=64,
        max_position_embeddings=128,
        id2label={0: "B", 1: "I", 2: "O"},
        label2id={"B": 0, "I": 1, "O": 2},
    )
    return _teach_to_mark(folder, DistilBertForTokenClassification(config), tokenizer)


def _teach_to_mark(folder: Path, model: Any, tokenizer: Any) -> Path:
    text = encoder_text(DOCUMENT)
    encoded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    labels = torch.full_like(encoded["input_ids"], 2)
    for phrase in MARKED:
        first = text.index(phrase)
        for token, (start, end) in enumerate(encoded["offset_mapping"][0].tolist()):
            if first <= start < end <= first + len(phrase):
                labels[0, token] = 0 if start == first else 1
    return _teach(folder, model, tokenizer, encoded, labels)


def _teach(folder: Path, model: Any, tokenizer: Any, inputs: Any, labels: torch.Tensor) -> Path:
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(_STEPS):
        optimizer.zero_grad()
        model(input_ids=inputs["input_ids"], labels=labels).loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
