"""Tiny random encoders with real fast tokenizers, made on the spot: same architecture, no download."""

from __future__ import annotations

from pathlib import Path

from tokenizers import ByteLevelBPETokenizer
from tokenizers.implementations import BertWordPieceTokenizer
from transformers import (
    BartConfig,
    BartModel,
    BertConfig,
    BertModel,
    BertTokenizerFast,
    PreTrainedTokenizerFast,
)

TEXTS = [
    "graph kernels compare molecules and proteins by their structure",
    "boundary integral equation methods solve the scalar potential of low-frequency fields",
    "neural networks learn representations of documents, phrases and words.",
] * 5


def tiny_bert(folder: Path, *, width: int = 16) -> Path:
    """A BERT of one layer, saved as the Hub would hold it."""
    trainer = BertWordPieceTokenizer(lowercase=True)
    trainer.train_from_iterator(TEXTS, vocab_size=200, min_frequency=1, show_progress=False)
    tokenizer = BertTokenizerFast(tokenizer_object=trainer._tokenizer)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_bart(folder: Path, *, width: int = 16) -> Path:
    """A BART of one encoder and one decoder layer, saved as the Hub would hold it."""
    trainer = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer.train_from_iterator(TEXTS, vocab_size=400, special_tokens=specials, show_progress=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trainer._tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        cls_token="<s>",
    )
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=width,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=128,
    )
    BartModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
