"""A tiny random T5 with a unigram vocabulary of its own, in Transformers' form: no download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokenizers import SentencePieceUnigramTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration


def train_unigram(texts: Sequence[str], size: int, special: Sequence[str]) -> Any:
    """A vocabulary of at most `size` pieces; `special` must hold "<unk>"."""
    trainer = SentencePieceUnigramTokenizer()
    trainer.train_from_iterator(
        texts, vocab_size=size, special_tokens=list(special), unk_token="<unk>", show_progress=False
    )
    return trainer


def tiny_t5(texts: Sequence[str], size: int) -> tuple[Any, Any]:
    """Model and tokenizer, as T5 and mT5: no languages, `text </s>`."""
    trainer = train_unigram(texts, size, ["<pad>", "</s>", "<unk>"])
    trainer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trainer._tokenizer, **names)
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
