"""Tiny random encoder-decoders of several languages, in Transformers' form: no download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import (
    MBart50Tokenizer,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
)

from kpdemo.types import Document
from tests.tiny_t5 import tiny_t5, train_unigram

FRENCH = Document(
    "Nous comparons des molécules avec un noyau de graphes.",
    title="Noyaux de graphes",
    id="fr1",
    keyphrases=("noyau de graphes", "chimie"),
    language="fr",
)
CHINESE = Document("本文用图核比较分子。", title="图核", id="zh1", keyphrases=("图核", "化学"), language="zh")
KOREAN = Document(
    "그래프 커널로 분자를 비교한다.",
    title="그래프 커널",
    id="ko1",
    keyphrases=("그래프 커널", "화학"),
    language="ko",
)
DOCUMENTS = (FRENCH, CHINESE, KOREAN)
RETRIEVED = {"fr1": (("graph kernels", "chemistry"),), "zh1": (("graph kernels",),), "ko1": ()}

_TEXTS = [
    *(document.text for document in DOCUMENTS),
    *(" ".join(document.keyphrases) for document in DOCUMENTS),
    "graph kernels chemistry molecules drug discovery",
]

_VOCABULARY = 200


def write_documents(path: Path) -> Path:
    """`DOCUMENTS` with what was retrieved, as JSON Lines."""
    rows = [
        {
            "id": document.id,
            "title": document.title,
            "abstract": document.body,
            "keyphrases": document.keyphrases,
            "language": document.language,
            "retrieved": RETRIEVED[document.id],
        }
        for document in DOCUMENTS
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def mbart(folder: Path) -> Path:
    """As facebook/mbart-large-cc25: its class of tokenizer, with the tokens of its languages."""
    return _save_mbart(folder, MBartTokenizer(vocab=_pieces(), src_lang="fr_XX"))


def mbart50(folder: Path) -> Path:
    """As facebook/mbart-large-50."""
    return _save_mbart(folder, MBart50Tokenizer(vocab=_pieces(), src_lang="fr_XX"))


def t5(folder: Path) -> Path:
    """As T5 and mT5."""
    return _save(folder, *tiny_t5(_TEXTS, _VOCABULARY))


def _pieces() -> list[tuple[str, float]]:
    described = json.loads(train_unigram(_TEXTS, _VOCABULARY, ["<s>", "<pad>", "</s>", "<unk>"]).to_str())
    return [(piece, score) for piece, score in described["model"]["vocab"]]


def _save_mbart(folder: Path, tokenizer: Any) -> Path:
    config = MBartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=256,
        dropout=0.0,
    )
    return _save(folder, MBartForConditionalGeneration(config), tokenizer)


def _save(folder: Path, model: Any, tokenizer: Any) -> Path:
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.1)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
