"""The contrastive extractor of SimCKP (Choi et al. 2023, section 4.2).

Letters: B documents, W windows, T tokens, R rows (a phrase within a window), P phrases, D width, F features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.errors import ConfigError
from kpdemo.progress import tell
from kpdemo.simckp.examples import FEATURES
from kpdemo.simckp.movable import Movable

PRIOR_WIDTH = 16


@dataclass(frozen=True)
class ExtractorConfig:
    """Attributes:
    temperature: τ of Equation 3.
    prior: add a learnt term for where and how often a phrase occurs to the cosine; the paper has none.
    window, overlap: tokens of one reading, and how many of them it shares with the next.
    minimum: keyphrases given when fewer are above the threshold (section 5.3).
    head: what a score is: the cosine of phrase and document, or what a classifier says of the phrase's vector
        alone, as in the ablation of Table 4.
    """

    temperature: float = 0.1
    prior: bool = True
    window: int = 256
    overlap: int = 64
    minimum: int = 5
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    head: Literal["similarity", "classifier"] = "similarity"

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise ConfigError(f"The temperature must be above 0, not {self.temperature}.")
        if not 0 <= self.overlap < self.window - 2:  # two places are for special tokens
            raise ConfigError(
                f"The overlap must be 0 or more and below {self.window} - 2, not {self.overlap}."
            )


@dataclass(frozen=True)
class Batch(Movable):
    """Some documents with their candidate phrases, flattened; made by `kpdemo.simckp.batches.collate`.

    Attributes:
        input_ids, attention_mask: (W, T) long.
        window_document: (W,) long, the document of each window.
        members: (M,) long, positions in the flattened (W·T) tokens, row after row.
        row_starts: (R,) long, where each row begins in `members`.
        row_phrase: (R,) long, the phrase of each row.
        row_window: (R,) long, ascending: the window of each row.
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
    row_window: Tensor
    phrase_document: Tensor
    features: Tensor
    positive: Tensor
    documents: int


class ContrastiveExtractor(nn.Module):
    """Scores every candidate phrase against its document."""

    def __init__(self, encoder: nn.Module, config: ExtractorConfig) -> None:
        super().__init__()
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.config = config
        self.encoder = encoder
        self.document_projection = nn.Linear(width, width)
        self.phrase_projection = nn.Linear(width, width)
        self.prior = feature_network(len(FEATURES), PRIOR_WIDTH) if config.prior else None
        self.classifier = nn.Linear(width, 1) if config.head == "classifier" else None

    def forward(self, batch: Batch, *, windows_at_once: int | None = None) -> Tensor:
        """(P,) the score of each phrase: what the head gives, plus the prior if there is one.

        Args:
            windows_at_once: encode no more windows together, which bounds the memory a long document takes.
        """
        return self.score(pool(self.encode, batch, windows_at_once or max(len(batch.input_ids), 1)), batch)

    def score(self, pooled: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        """(P,) as `forward`, from what `pool` gives for the batch."""
        documents, phrases = self.represent(pooled)
        scores: Tensor
        if self.classifier is not None:
            scores = self.classifier(phrases).squeeze(-1).float()
        else:
            scores = functional.cosine_similarity(documents[batch.phrase_document], phrases, dim=-1)
        if self.prior is not None:
            scores = scores + self.prior(batch.features).squeeze(-1).float()
        return scores

    def represent(self, pooled: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The vectors that are compared (Equation 2): documents (B, D) and phrases (P, D), from `pool`'s."""
        documents, phrases = pooled
        document_vectors = torch.tanh(self.document_projection(documents))
        phrase_vectors = torch.tanh(self.phrase_projection(phrases))
        return document_vectors.float(), phrase_vectors.float()

    def encode(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(W, T, D) the last hidden states (Equation 1) of token ids and mask, (W, T) each."""
        hidden: Tensor = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return hidden.float()


def pool(
    encode: Callable[[Tensor, Tensor], Tensor], batch: Batch, windows_at_once: int
) -> tuple[Tensor, Tensor]:
    """Document vectors (B, D) and phrase vectors (P, D) from the last hidden states.

    A document is its start token (h_0 of Equation 1), a phrase the sum over the union of its
    occurrences. Both are averaged over the windows that hold them: one window gives SimCKP's own
    pooling, and the mean keeps long documents in the range the projections were trained on.

    Args:
        encode: token ids and attention mask, (W, T) each, to hidden states, (W, T, D).
    """
    firsts: list[Tensor] = []
    sums: Tensor | None = None
    for start in range(0, len(batch.input_ids), windows_at_once):
        end = start + windows_at_once
        hidden = encode(batch.input_ids[start:end], batch.attention_mask[start:end])
        firsts.append(hidden[:, 0])
        if sums is None:
            sums = hidden.new_zeros(len(batch.phrase_document), hidden.shape[-1])
        low, high = _rows_between(batch, start, end)
        if low < high:
            sums = sums.index_add_(0, batch.row_phrase[low:high], _sum_rows(hidden, batch, start, low, high))
        tell(min(end / len(batch.input_ids), 1.0))
    assert sums is not None  # a batch has at least one window
    windows = torch.bincount(batch.row_phrase, minlength=len(sums)).clamp(min=1)
    return _mean_by(torch.cat(firsts), batch.window_document, batch.documents), sums / windows.unsqueeze(1)


def _rows_between(batch: Batch, start: int, end: int) -> tuple[int, int]:
    """The range of rows that belong to the windows from `start` up to `end`."""
    if start == 0 and end >= len(batch.input_ids):
        return 0, len(batch.row_window)
    low, high = torch.searchsorted(batch.row_window, batch.row_window.new_tensor([start, end])).tolist()
    return low, high


def _sum_rows(hidden: Tensor, batch: Batch, first_window: int, low: int, high: int) -> Tensor:
    """(high - low, D) the sum of the hidden states (W, T, D) of the tokens of each row."""
    first = int(batch.row_starts[low])
    end = int(batch.row_starts[high]) if high < len(batch.row_starts) else len(batch.members)
    return functional.embedding_bag(
        batch.members[first:end] - first_window * hidden.shape[1],
        hidden.flatten(0, 1),
        batch.row_starts[low:high] - first,
        mode="sum",
    )


def _mean_by(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """(groups, D) the means of the rows of `values` (N, D) by their `group` (N,)."""
    sums = values.new_zeros(groups, values.shape[1]).index_add(0, group, values)
    return sums / torch.bincount(group, minlength=groups).clamp(min=1).unsqueeze(1)


def feature_network(features: int, width: int) -> nn.Sequential:
    """From (N, features) to (N, 1): what is added to a cosine, over one hidden layer of `width`."""
    last = nn.Linear(width, 1)
    nn.init.zeros_(last.weight)  # training starts from the plain cosine
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(features, width), nn.GELU(), last)


def encoder_of(model: Any) -> nn.Module:
    """The part of a Hugging Face model that reads: the encoder of BART and its kin, else the model itself."""
    encoder: Any = model.get_encoder() if model.config.is_encoder_decoder else model
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None  # Equation 1 takes the last hidden states themselves
    if not hasattr(encoder.config, "hidden_size"):
        encoder.config.hidden_size = encoder.config.d_model
    return encoder  # type: ignore[no-any-return]
