"""Tiny random encoders with real fast tokenizers, made on the spot: same architecture, no download."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from tokenizers.implementations import BertWordPieceTokenizer
from transformers import (
    BartConfig,
    BartModel,
    BertConfig,
    BertModel,
    BertTokenizerFast,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from kpdemo.candidates.tagger import load_tagger
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.decoder import END, SEPARATOR, Decoder, DecoderConfig, KeyphraseDecoder
from kpdemo.simckp.dual_encoder import PairEncoder
from kpdemo.simckp.encoder import add_separator, is_encoder_decoder, load_backbone, load_encoder_decoder
from kpdemo.simckp.extractor import (
    ContrastiveExtractor,
    ExtractorConfig,
    Selection,
    SimckpPredictor,
    encoder_of,
)
from kpdemo.simckp.generator import ExtractorGenerator, SimckpGenerator
from kpdemo.simckp.phrase_bank import PhraseBank
from kpdemo.simckp.pretrained_decoder import PretrainedDecoder

TEXTS = [
    "graph kernels compare molecules and proteins by their structure",
    "boundary integral equation methods solve the scalar potential of low-frequency fields",
    "neural networks learn representations of documents, phrases and words.",
] * 5

LIKELY = 3.0  # logit


def train_wordpiece(texts: Sequence[str], size: int) -> BertWordPieceTokenizer:
    """BERT's own marks, all characters of the texts and their commonest words: at most `size` subwords."""
    words = Counter(word for text in texts for word in re.findall(r"\w+|\S", text.lower()))
    letters = sorted({letter for word in words for letter in word})
    marks = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    ranked = sorted(words, key=lambda word: (-words[word], word))
    pieces = dict.fromkeys([*marks, *letters, *(f"##{letter}" for letter in letters), *ranked])
    return BertWordPieceTokenizer({piece: n for n, piece in enumerate([*pieces][:size])}, lowercase=True)


def tiny_bert(folder: Path, *, width: int = 16, positions: int = 128) -> Path:
    """A BERT of one layer, saved as the Hub would hold it."""
    tokenizer = BertTokenizerFast(tokenizer_object=train_wordpiece(TEXTS, 195)._tokenizer)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_bart(folder: Path, *, width: int = 16) -> Path:
    """A BART of one encoder and one decoder layer, saved as the Hub would hold it."""
    tokenizer = _byte_tokenizer()
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


def tiny_t5(folder: Path, *, width: int = 16) -> Path:
    """A T5 of one encoder and one decoder layer: relative positions, spare embeddings."""
    tokenizer = _byte_tokenizer()
    config = T5Config(
        vocab_size=420,  # more than the tokenizer has, as the real one
        d_model=width,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _byte_tokenizer() -> PreTrainedTokenizerFast:
    trainer = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer.train_from_iterator(TEXTS, vocab_size=400, special_tokens=specials, show_progress=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=trainer._tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        cls_token="<s>",
    )


def tiny_tokenizer() -> Tokenizer:
    """The tokenizer of the tiny models."""
    return _byte_tokenizer().backend_tokenizer


def tiny_extractor(folder: Path) -> SimckpPredictor:
    """A `SimckpPredictor` around `tiny_bert`, saved in `folder`."""
    torch.manual_seed(0)
    encoder, tokenizer = load_backbone(str(tiny_bert(folder)))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12)).eval()
    selection = Selection(0.3, Calibration(4.0, -1.0))
    return SimckpPredictor(
        "tiny", module, tokenizer.backend_tokenizer, tokenizer.pad_token_id, load_tagger(), selection
    )


def tiny_generator(folder: Path) -> SimckpGenerator:
    """An untrained extractor-generator on the backbone in `folder`, which may have a decoder of its own.

    It likes to separate phrases and to end.
    """
    torch.manual_seed(0)
    if is_encoder_decoder(str(folder)):
        model, tokenizer = load_encoder_decoder(str(folder))
        separator = add_separator(model, tokenizer, "<sep>")
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias[0, [tokenizer.eos_token_id, separator]] = LIKELY
        decoder: Decoder = PretrainedDecoder(model, separator)
        encoder = encoder_of(model)
    else:
        encoder, tokenizer = load_backbone(str(folder))
        config = DecoderConfig(layers=1, heads=2, feed_forward=32, longest=16)
        decoder = KeyphraseDecoder(config, encoder.config.hidden_size, torch.arange(5, len(tokenizer)))
        decoder.bias.data[[END, SEPARATOR]] = LIKELY
    extractor = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12))
    module = ExtractorGenerator(extractor, decoder).eval()
    return SimckpGenerator("tiny", module, tokenizer.backend_tokenizer, tokenizer.pad_token_id)


def tiny_bank(encoder: PairEncoder, *texts: str, name: str = "e") -> PhraseBank:
    """A bank of these terms, each used more often than the one before.

    Args:
        name: the hash of the encoder.
    """
    vectors = torch.from_numpy(encoder.phrases(list(texts)))
    return PhraseBank.build(texts, np.arange(1, len(texts) + 1), vectors, encoder=name)
