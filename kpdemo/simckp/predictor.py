"""Prediction of present keyphrases with a trained extractor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kpdemo.candidates.chunks import Candidate, mine_candidates, surface
from kpdemo.candidates.tagger import Tagger
from kpdemo.selection import check_options, keep
from kpdemo.simckp.batches import collate
from kpdemo.simckp.examples import Example, build_example
from kpdemo.simckp.model import ContrastiveExtractor
from kpdemo.simckp.threshold import Calibration, own_count
from kpdemo.text import readable_documents
from kpdemo.types import Document, Keyphrase, Prediction

BATCH_WINDOWS = 16


@dataclass(frozen=True)
class Selection:
    """How scores become an answer; learnt on validation data and stored with the weights.

    Attributes:
        threshold: on the raw similarity.
    """

    threshold: float
    calibration: Calibration


@dataclass(frozen=True)
class SimckpPredictor:
    """A `Predictor` with weights in memory."""

    name: str
    module: ContrastiveExtractor
    tokenizer: Any
    tagger: Tagger
    selection: Selection

    @property
    def device(self) -> str:
        return next(self.module.parameters()).device.type

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; a score is the estimated share of such candidates that are gold."""
        check_options(top_k, threshold)
        read = readable_documents(documents)
        config = self.module.config
        candidates = [mine_candidates(document, self.tagger, config.candidates) for document in read]
        examples = [
            build_example(document, mined, self.tokenizer, window=config.window, overlap=config.overlap)
            for document, mined in zip(read, candidates, strict=True)
        ]
        scores = score_examples(self.module, examples, padding=self.tokenizer.pad_token_id)
        return [
            self._choose(document, mined, score, top_k, threshold)
            for document, mined, score in zip(read, candidates, scores, strict=True)
        ]

    def _choose(
        self,
        document: Document,
        candidates: Sequence[Candidate],
        scores: NDArray[np.float32],
        top_k: int | None,
        threshold: float | None,
    ) -> Prediction:
        similarities = scores.tolist()
        own = own_count(similarities, self.selection.threshold, self.module.config.minimum)
        shown = [self.selection.calibration.probability(similarity) for similarity in similarities]
        return Prediction(
            present=tuple(
                Keyphrase(surface(document, candidates[index]), shown[index], candidates[index].spans)
                for index in keep(shown, top_k=top_k, threshold=threshold, own=own)
            ),
            language=document.language,
        )


def score_examples(
    module: ContrastiveExtractor, examples: Sequence[Example], *, padding: int
) -> list[NDArray[np.float32]]:
    """The raw similarity of every candidate of every example, in order: (P,) each.

    Examples are read in batches of like length; one with many windows is read in several batches.
    """
    scores: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32) for _ in examples]
    device = next(module.parameters()).device
    module.eval()
    with torch.inference_mode():
        for group in _groups(examples):
            batch = collate([examples[index] for index in group], padding=padding).to(device)
            counts = [len(examples[index].features) for index in group]
            flat = module(batch, windows_at_once=BATCH_WINDOWS).float().cpu().numpy()
            for index, part in zip(group, np.split(flat, np.cumsum(counts)[:-1]), strict=True):
                scores[index] = part
    return scores


def _groups(examples: Sequence[Example]) -> Iterator[list[int]]:
    """Indices of examples that have candidates, by length, at most `BATCH_WINDOWS` windows together."""
    group: list[int] = []
    windows = 0
    for index in sorted(range(len(examples)), key=lambda index: len(examples[index].windows[0])):
        example = examples[index]
        if not example.rows:
            continue
        if group and windows + len(example.windows) > BATCH_WINDOWS:
            yield group
            group, windows = [], 0
        group.append(index)
        windows += len(example.windows)
    if group:
        yield group
