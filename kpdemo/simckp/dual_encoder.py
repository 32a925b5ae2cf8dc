"""The dual encoder of SimCKP's reranker (section 4.3), which the phrase bank uses too.

Letters (dual encoder): B documents, P phrases, T tokens, H width of the backbone, D width of the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.errors import ConfigError
from kpdemo.simckp.batches import Tower, encode_rows
from kpdemo.simckp.examples import LONGEST_TEXT, document_tokens, phrase_tokens, text_tokens
from kpdemo.types import Document
from kpdemo.vectors import text_cosines


@dataclass(frozen=True)
class DualEncoderConfig:
    """Attributes:
    width: D; 0 keeps the backbone's, as in the paper.
    pooling: "first" is the paper's start token, "mean" that of sentence encoders.
    temperature: τ; the paper's is 0.1.
    """

    width: int = 128
    pooling: Literal["first", "mean"] = "mean"
    temperature: float = 0.05

    def __post_init__(self) -> None:
        if self.width < 0:
            raise ConfigError(f"The width of the vectors must be 0 or more, not {self.width}.")
        if self.temperature <= 0:
            raise ConfigError(f"The temperature must be above 0, not {self.temperature}.")


class DualEncoder(nn.Module):
    """Documents and phrases as vectors of length 1, whose inner product is their cosine.

    One backbone reads both when no second one is given; the projections are always apart.
    """

    def __init__(
        self, documents: nn.Module, config: DualEncoderConfig, *, phrases: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = documents
        self.phrase_encoder = phrases
        self.document_projection = self._projection(documents)
        self.phrase_projection = self._projection(phrases or documents)

    def _projection(self, encoder: nn.Module) -> nn.Linear:
        hidden = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        return nn.Linear(hidden, self.config.width or hidden)

    def documents(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, D) document vectors of the token ids and their mask, (B, T) long each."""
        return project_to_unit(
            self.document_projection, self._pooled(self.encoder, input_ids, attention_mask)
        )

    def phrases(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(P, D) phrase vectors of the token ids and their mask, (P, T) long each."""
        return project_to_unit(self.phrase_projection, self.pooled_phrases(input_ids, attention_mask))

    def pooled_phrases(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(P, H) what the backbone makes of phrases, before the projection."""
        return self._pooled(self.phrase_encoder or self.encoder, input_ids, attention_mask)

    def _pooled(self, encoder: nn.Module, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden: Tensor = encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return pool_tokens(hidden, attention_mask, self.config.pooling)


def pool_tokens(hidden: Tensor, attention_mask: Tensor, pooling: str) -> Tensor:
    """(N, H) of hidden states (N, T, H): that of the start token for "first", else as `mean_pooled`."""
    return hidden[:, 0].float() if pooling == "first" else mean_of_tokens(hidden, attention_mask)


def mean_of_tokens(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    """(N, H) the mean over the tokens that the mask (N, T) lets count, of hidden states (N, T, H)."""
    mask = attention_mask.unsqueeze(-1).float()
    return (hidden.float() * mask).sum(1) / mask.sum(1).clamp(min=1)


def project_to_unit(projection: nn.Linear, encoded: Tensor) -> Tensor:
    """(N, D) vectors of length 1 from what the backbone made, (N, H); the tanh is that of Equation 2."""
    return functional.normalize(torch.tanh(projection(encoded)).float(), dim=-1)


def contrastive_loss_over(logits: Tensor, positive: Tensor, negative: Tensor, weight: Tensor) -> Tensor:
    """Each positive of a document against all of its negatives (SimCKP, Equation 3, as section 4.3 uses it).

    What is neither positive nor negative for a document is ignored, such as other documents' phrases that
    occur in its text.

    Args:
        logits: (B, P) similarity over temperature.
        positive, negative: (B, P) bool, never both.
        weight: (B, P) how much each positive counts.

    Returns:
        Scalar, in nats: the weighted mean over all positives, 0 without any.
    """
    against = torch.logsumexp(logits.masked_fill(~negative, -torch.inf), dim=1, keepdim=True)  # (B, 1)
    losses = functional.softplus(against - logits)[positive]
    weights = weight[positive]
    return (losses * weights).sum() / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)


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
