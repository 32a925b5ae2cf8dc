"""The embedding baseline: cosine similarity with maximal marginal relevance, in the manner of KeyBERT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.candidates.chunks import present_keyphrase, surface
from kpdemo.candidates.noun_phrases import noun_ngrams
from kpdemo.candidates.tagger import Tagger
from kpdemo.languages import ENGLISH
from kpdemo.routing import latin_documents
from kpdemo.selection import check_options, keep
from kpdemo.simckp.batches import encode_rows
from kpdemo.simckp.checkpoint import load_checkpoint
from kpdemo.simckp.dual_encoder import mean_of_tokens
from kpdemo.simckp.examples import encode_windows, encoder_text, truncating
from kpdemo.simckp.extractor import BATCH_WINDOWS
from kpdemo.types import Document, Prediction

DIVERSITY = 0.5
DEFAULT_COUNT = 10
MOST_CANDIDATES = 500  # the most frequent ones, the earlier of equals; each is encoded on its own
PHRASE_BATCH = 128


@dataclass(frozen=True)
class EmbeddingBaseline:
    """Ranks noun n-grams by the cosine of their mean-pooled embedding to the document's.

    The encoder is that of the given model, but none of its keyphrase layers, threshold or context is
    used: every phrase is encoded on its own. Maximal marginal relevance (Carbonell and Goldstein 1998)
    picks, with a threshold among those that reach it; what it picked is sorted by cosine, clipped to 0
    and above.

    Attributes:
        padding: the pad token id.
        window, overlap: in tokens, of a long document's readings.
    """

    encoder: nn.Module
    tokenizer: Tokenizer
    padding: int
    tagger: Tagger
    window: int
    overlap: int
    name: str = "embedding"

    languages: ClassVar[frozenset[str]] = frozenset({ENGLISH})

    @property
    def device(self) -> str:
        return self._device.type

    @property
    def _device(self) -> torch.device:
        return next(self.encoder.parameters()).device

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; without `top_k` the best ten."""
        check_options(top_k, threshold)
        return [self._predict(document, top_k, threshold) for document in latin_documents(documents)]

    def _predict(self, document: Document, top_k: int | None, threshold: float | None) -> Prediction:
        found = noun_ngrams(document, self.tagger)
        found = sorted(found, key=lambda candidate: -len(candidate.spans))[:MOST_CANDIDATES]
        if not found:
            return Prediction((), language=document.language)
        texts = [surface(document, candidate) for candidate in found]
        with torch.inference_mode():
            phrases = functional.normalize(self._phrase_vectors(texts), dim=-1)
            relevance = phrases @ functional.normalize(self._document_vector(document), dim=-1)
            near = keep(relevance.clamp(min=0).tolist(), top_k=None, threshold=threshold, own=len(found))
            near.sort()  # of equals the first is picked
            if not near:
                return Prediction((), language=document.language)
            found, phrases, relevance = [found[index] for index in near], phrases[near], relevance[near]
            wanted = top_k or (DEFAULT_COUNT if threshold is None else len(found))
            picked = maximal_marginal_relevance(relevance, phrases @ phrases.T, wanted)
        scores = [max(float(relevance[index]), 0.0) for index in picked]
        kept = keep(scores, top_k=top_k, threshold=threshold, own=DEFAULT_COUNT)
        return Prediction(
            tuple(present_keyphrase(document, found[picked[index]], scores[index]) for index in kept),
            language=document.language,
        )

    def _document_vector(self, document: Document) -> Tensor:
        """(D,)."""
        read = encode_windows(self.tokenizer, encoder_text(document), self.window, self.overlap)
        return self._encode([encoding.ids for encoding in read], BATCH_WINDOWS).mean(0)

    def _phrase_vectors(self, texts: Sequence[str]) -> Tensor:
        """(P, D)."""
        with truncating(self.tokenizer, self.window):
            rows = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        return self._encode(rows, PHRASE_BATCH)

    def _encode(self, rows: Sequence[Sequence[int]], size: int) -> Tensor:
        """(N, D) on the CPU."""
        return encode_rows(self._tower, rows, padding=self.padding, device=self._device, size=size)

    def _tower(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(N, D) of token ids and their mask, (N, T) long each."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return mean_of_tokens(hidden, attention_mask)


def maximal_marginal_relevance(relevance: Tensor, similarity: Tensor, count: int) -> list[int]:
    """Pick one after the other what is relevant and unlike those picked before.

    Args:
        relevance: (P,) similarity to the document.
        similarity: (P, P) among the phrases.
    """
    picked = [int(relevance.argmax())]
    while len(picked) < min(count, len(relevance)):
        value = (1 - DIVERSITY) * relevance - DIVERSITY * similarity[:, picked].max(dim=1).values
        value[picked] = -torch.inf
        picked.append(int(value.argmax()))
    return picked


def load_embedding_baseline(folder: Path, *, device: str = "auto") -> EmbeddingBaseline:
    """On the encoder of the checkpoint in `folder`; errors as in `load_checkpoint`."""
    model = load_checkpoint(folder, device=device)
    config = model.module.config
    return EmbeddingBaseline(
        model.module.encoder,
        model.tokenizer,
        model.padding,
        model.tagger,
        config.window,
        config.overlap,
    )
