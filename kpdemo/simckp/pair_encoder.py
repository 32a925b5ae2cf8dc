"""Documents and phrases to vectors: a dual encoder with its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from kpdemo.simckp.dual_encoder import DualEncoder
from kpdemo.simckp.reading import Tower, encode_rows
from kpdemo.simckp.text_cosines import text_cosines
from kpdemo.simckp.tokens import LONGEST_TEXT, document_tokens, phrase_tokens, text_tokens
from kpdemo.types import Document

DOCUMENT_BATCH = 16
PHRASE_BATCH = 128
TEXT_BATCH = 32
GPU_BATCHES = 8
"""On a GPU this many batches are encoded as one: smaller ones leave it idle."""


@dataclass(frozen=True)
class PairEncoder:
    """A `DualEncoder` with its tokenizer.

    Attributes:
        padding: the pad token id.
        length: tokens of a document that are read.
    """

    module: DualEncoder
    tokenizer: Tokenizer
    padding: int
    length: int

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    def documents(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """(B, D) vectors of length 1."""
        return self.read_documents(
            [document_tokens(document, self.tokenizer, self.length) for document in documents]
        )

    def read_documents(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """As `documents`, from their `document_tokens`."""
        return self._encode(self.module.documents, rows, DOCUMENT_BATCH)

    def phrases(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """(P, D) vectors of length 1."""
        rows = [phrase_tokens(phrase, self.tokenizer) for phrase in phrases]
        return self._encode(self.module.phrases, rows, PHRASE_BATCH)

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The cosine of two texts of any length, clipped to 0 to 1.

        It is that of the backbone's vectors, before the projections: these were trained to match documents
        with phrases, and fit graded similarity worse (docs/scoring.md).
        """
        return text_cosines(pairs, self._pooled)

    def _pooled(self, texts: Sequence[str]) -> NDArray[np.float32]:
        positions = int(self.module.encoder.config.max_position_embeddings)  # type: ignore[union-attr, arg-type]
        rows = [text_tokens(text, self.tokenizer, min(LONGEST_TEXT, positions)) for text in texts]
        return self._encode(self.module.pooled_phrases, rows, TEXT_BATCH)

    def _encode(self, tower: Tower, rows: Sequence[Sequence[int]], size: int) -> NDArray[np.float32]:
        if not rows:
            return np.zeros((0, self.module.phrase_projection.out_features), dtype=np.float32)
        size = size if self.device.type == "cpu" else size * GPU_BATCHES
        with torch.inference_mode():
            vectors = encode_rows(tower, rows, padding=self.padding, device=self.device, size=size)
        return vectors.numpy()
