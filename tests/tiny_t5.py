"""A tiny random T5 with a unigram vocabulary of its own, in Transformers' form: no download."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tokenizers import SentencePieceUnigramTokenizer, Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration


def train_unigram(texts: Sequence[str], size: int, special: Sequence[str]) -> Tokenizer:
    """A vocabulary of at most `size` pieces; `special` must hold "<unk>".

    Its pieces are put in order: the trainer leaves equally likely ones as its hash table has them, another
    way in every process, and with other numbers a tiny model learns another thing.
    """
    trainer = SentencePieceUnigramTokenizer()
    trainer.train_from_iterator(
        texts, vocab_size=size, special_tokens=list(special), unk_token="<unk>", show_progress=False
    )
    described = json.loads(trainer.to_str())
    pieces = [(piece, round(score, 3)) for piece, score in described["model"]["vocab"]]
    ranked = sorted(pieces[len(special) :], key=lambda pair: (-pair[1], pair[0]))
    described["model"]["vocab"] = pieces[: len(special)] + ranked
    return Tokenizer.from_str(json.dumps(described))


def tiny_t5(texts: Sequence[str], size: int) -> tuple[Any, Any]:
    """Model and tokenizer, as T5 and mT5: no languages, `text </s>`."""
    pieces = train_unigram(texts, size, ["<pad>", "</s>", "<unk>"])
    pieces.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, **names)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        decoder_start_token_id=0,
    )
    return T5ForConditionalGeneration(config), tokenizer
