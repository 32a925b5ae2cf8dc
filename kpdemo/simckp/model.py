"""The contrastive extractor of SimCKP (Choi et al. 2023, section 4.2).

Letters: B documents, W windows, T tokens, R rows (a phrase within a window), P phrases, D width, F features.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.simckp.examples import FEATURES

PRIOR_WIDTH = 16


@dataclass(frozen=True)
class ExtractorConfig:
    """Attributes:
    temperature: τ of Equation 3.
    prior: add a learnt term for where and how often a phrase occurs to the cosine; the paper has none.
    window, overlap: tokens of one reading, and how many of them it shares with the next.
    minimum: keyphrases given when fewer are above the threshold (section 5.3).
    """

    temperature: float = 0.1
    prior: bool = True
    window: int = 256
    overlap: int = 64
    minimum: int = 5
    candidates: CandidateConfig = field(default_factory=CandidateConfig)


@dataclass(frozen=True)
class Batch:
    """Some documents with their candidate phrases, flattened; made by `kpdemo.simckp.batches.collate`.

    Attributes:
        input_ids, attention_mask: (W, T) long.
        window_document: (W,) long, the document of each window.
        members: (M,) long, positions in the flattened (W·T) tokens, row after row.
        row_starts: (R,) long, where each row begins in `members`.
        row_phrase: (R,) long, the phrase of each row.
        phrase_document: (P,) long, ascending.
        features: (P, F) float.
        positive: (P,) bool, true for gold; all false where gold is not known.
        documents: B.
    """

    input_ids: Tensor
    attention_mask: Tensor
    window_document: Tensor
    members: Tensor
    row_starts: Tensor
    row_phrase: Tensor
    phrase_document: Tensor
    features: Tensor
    positive: Tensor
    documents: int

    def to(self, device: torch.device) -> Batch:
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}
        moved = {name: value.to(device, non_blocking=True) for name, value in tensors.items()}
        return replace(self, **moved)  # type: ignore[arg-type]


class ContrastiveExtractor(nn.Module):
    """Scores every candidate phrase against its document."""

    def __init__(self, encoder: nn.Module, config: ExtractorConfig) -> None:
        super().__init__()
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.config = config
        self.encoder = encoder
        self.document_projection = nn.Linear(width, width)
        self.phrase_projection = nn.Linear(width, width)
        self.prior = _prior() if config.prior else None

    def forward(self, batch: Batch, *, windows_at_once: int | None = None) -> Tensor:
        """(P,) the similarity of each phrase to its document: the cosine, plus the prior if there is one.

        Args:
            windows_at_once: encode no more windows together, which bounds the memory a long document takes.
        """
        hidden = self._encode(batch, windows_at_once or max(len(batch.input_ids), 1))
        documents = _mean_by(
            hidden[:, 0].float(), batch.window_document, batch.documents
        )  # h_0 of Equation 1
        phrases = sum_pool(hidden.float(), batch)
        document_vectors = torch.tanh(self.document_projection(documents))  # Equation 2
        phrase_vectors = torch.tanh(self.phrase_projection(phrases))
        scores = functional.cosine_similarity(
            document_vectors.float()[batch.phrase_document], phrase_vectors.float(), dim=-1
        )
        if self.prior is not None:
            scores = scores + self.prior(batch.features).squeeze(-1).float()
        return scores

    def _encode(self, batch: Batch, windows_at_once: int) -> Tensor:
        """(W, T, D) the last hidden states."""
        parts = zip(
            torch.split(batch.input_ids, windows_at_once),
            torch.split(batch.attention_mask, windows_at_once),
            strict=True,
        )
        hidden = [self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state for ids, mask in parts]
        return torch.cat(hidden) if len(hidden) > 1 else hidden[0]


def sum_pool(hidden: Tensor, batch: Batch) -> Tensor:
    """(P, D) the sum over the union of a phrase's occurrences in a window, averaged over its windows.

    Args:
        hidden: (W, T, D).

    A document of one window gives SimCKP's sum pooling; the mean keeps the vectors of long
    documents in the range the projection was trained on.
    """
    rows = functional.embedding_bag(batch.members, hidden.flatten(0, 1), batch.row_starts, mode="sum")
    return _mean_by(rows, batch.row_phrase, len(batch.phrase_document))


def _mean_by(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """(groups, D) the means of the rows of `values` (N, D) by their `group` (N,)."""
    sums = values.new_zeros(groups, values.shape[1]).index_add(0, group, values)
    return sums / torch.bincount(group, minlength=groups).clamp(min=1).unsqueeze(1)


def _prior() -> nn.Sequential:
    last = nn.Linear(PRIOR_WIDTH, 1)
    nn.init.zeros_(last.weight)  # training starts from the plain cosine
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(len(FEATURES), PRIOR_WIDTH), nn.GELU(), last)


def encoder_of(model: Any) -> nn.Module:
    """The part of a Hugging Face model that reads: the encoder of BART and its kin, else the model itself."""
    encoder: Any = model.get_encoder() if model.config.is_encoder_decoder else model
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None  # Equation 1 takes the last hidden states themselves
    if not hasattr(encoder.config, "hidden_size"):
        encoder.config.hidden_size = encoder.config.d_model
    return encoder  # type: ignore[no-any-return]
