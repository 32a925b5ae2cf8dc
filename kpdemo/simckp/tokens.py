"""Documents and phrases as the dual encoder reads them: token ids, without PyTorch."""

from __future__ import annotations

from tokenizers import Tokenizer

from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.truncating import truncating
from kpdemo.types import Document

LONGEST_PHRASE = 24
"""Tokens of a phrase, special tokens included."""
LONGEST_TEXT = 256
"""Tokens of a text of any kind that is compared with another: a paragraph is read whole."""

_HYPHENS = str.maketrans(dict.fromkeys("-‐‑–", " "))  # corpora differ in them: "real time", "real-time"


def document_tokens(document: Document, tokenizer: Tokenizer, length: int) -> list[int]:
    """The ids of the first `length` tokens, special tokens included."""
    return text_tokens(encoder_text(document), tokenizer, length)


def phrase_tokens(phrase: str, tokenizer: Tokenizer) -> list[int]:
    return text_tokens(phrase, tokenizer, LONGEST_PHRASE)


def text_tokens(text: str, tokenizer: Tokenizer, length: int) -> list[int]:
    with truncating(tokenizer, length):
        ids: list[int] = tokenizer.encode(text.translate(_HYPHENS)).ids
    return ids
