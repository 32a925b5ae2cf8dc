"""Prediction of present keyphrases with a trained extractor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from kpdemo.candidates.chunks import Candidate, mine_candidates, present_keyphrase, surface
from kpdemo.candidates.tagger import Tagger
from kpdemo.languages.names import ENGLISH
from kpdemo.latin import latin_documents
from kpdemo.progress import part
from kpdemo.selection import check_options, keep, mark_fillers
from kpdemo.simckp.batches import collate
from kpdemo.simckp.counting import ExpectedF1
from kpdemo.simckp.examples import Example, build_example
from kpdemo.simckp.halving import in_halves
from kpdemo.simckp.model import ContrastiveExtractor, pool
from kpdemo.simckp.threshold import Calibration, own_count
from kpdemo.types import Document, PointKind, Prediction, VectorPoint, VectorSpace

BATCH_WINDOWS = 4
"""Windows of a batch on a CPU, whose caches hold the activations of that many."""
GPU_WINDOWS = 128
"""Windows of a batch on a GPU, which fewer would leave idle."""
TOO_LARGE = "The device's memory is too small for a single document: use --device cpu."


@dataclass(frozen=True)
class Selection:
    """How scores become an answer; learnt on validation data and stored with the weights.

    Attributes:
        threshold: on the raw score.
        counting: decides how many in place of the threshold; None for the paper's own rule.
    """

    threshold: float
    calibration: Calibration
    counting: ExpectedF1 | None = None

    def count(self, scores: Sequence[float], minimum: int) -> int:
        """How many keyphrases a document with these candidates gets, at least `minimum`."""
        if self.counting is None:
            return own_count(scores, self.threshold, minimum)
        probabilities = self.calibration.probabilities(np.asarray(scores))
        return max(self.counting.count(probabilities.tolist()), minimum)


@dataclass(frozen=True)
class Second:
    """A second extractor that reads the same tokens, and its share of the score of the two."""

    module: ContrastiveExtractor
    share: float


@dataclass(frozen=True)
class SimckpPredictor:
    """A `Predictor` with weights in memory.

    Attributes:
        padding: the pad token id.
        second: its scores are averaged with those of `module`; the two make different errors.
    """

    name: str
    module: ContrastiveExtractor
    tokenizer: Tokenizer
    padding: int
    tagger: Tagger
    selection: Selection
    second: Second | None = None

    languages: ClassVar[frozenset[str]] = frozenset({ENGLISH})  # of the tagger that finds the candidates

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
        read = latin_documents(documents)
        return [
            self.choose(document, candidates, scores, top_k=top_k, threshold=threshold)
            for document, (candidates, scores) in zip(read, self.score(read), strict=True)
        ]

    def score(self, documents: Sequence[Document]) -> list[tuple[list[Candidate], NDArray[np.float32]]]:
        """The candidates of each document and their raw scores, (P,)."""
        return self.score_mined([self._mine(document) for document in documents])

    def score_mined(
        self, mined: Sequence[tuple[list[Candidate], Example]]
    ) -> list[tuple[list[Candidate], NDArray[np.float32]]]:
        """As `score`, of documents whose candidates and examples are known already."""
        examples = [example for _, example in mined]
        scores = score_examples(self.module, examples, padding=self.padding, second=self.second)
        return [(candidates, row) for (candidates, _), row in zip(mined, scores, strict=True)]

    def choose(
        self,
        document: Document,
        candidates: Sequence[Candidate],
        scores: NDArray[np.float32],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> Prediction:
        """The answer for a document from the raw scores (P,) of its candidates."""
        shown, kept = self._select(scores, top_k, threshold)
        present = [present_keyphrase(document, candidates[index], shown[index]) for index in kept]
        sure = self.selection.count(scores.tolist(), 0)
        return Prediction(
            present=mark_fillers(present, sure, top_k=top_k, threshold=threshold),
            language=document.language,
        )

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`; the space of Equation 2, where an absent phrase has no place.

        The vectors of two extractors are concatenated, so that a cosine is the weighted mean of theirs.
        """
        check_options(top_k, threshold)
        if self.module.classifier is not None:
            return []  # a classifier compares a phrase with nothing
        [read] = latin_documents([document])
        candidates, example = self._mine(read)
        [(_, scores)] = self.score_mined([(candidates, example)])
        shown, kept = self._select(scores, top_k, threshold)
        points = [VectorPoint(read.title or read.body, PointKind.DOCUMENT)]
        for index, candidate in enumerate(candidates):
            kind = PointKind.PRESENT if index in kept else PointKind.CANDIDATE
            points.append(VectorPoint(surface(read, candidate), kind, shown[index]))
        return [VectorSpace("extractor", tuple(points), self._rows(example))]

    def _rows(self, example: Example) -> NDArray[np.float32]:
        """(1 + P, D) the vectors of a document and its candidates; (1 + P, 2 D) of two extractors."""
        rows = represent_example(self.module, example, padding=self.padding)
        if self.second is None:
            return rows.numpy()
        others = represent_example(self.second.module, example, padding=self.padding)
        weighted = [
            math.sqrt(share) * functional.normalize(half, dim=-1)
            for half, share in ((rows, 1 - self.second.share), (others, self.second.share))
        ]
        return torch.cat(weighted, dim=-1).numpy()

    def _mine(self, document: Document) -> tuple[list[Candidate], Example]:
        """The candidates of a document, and the document as the module reads it."""
        config = self.module.config
        candidates = mine_candidates(document, self.tagger, config.candidates)
        example = build_example(
            document, candidates, self.tokenizer, window=config.window, overlap=config.overlap
        )
        return candidates, example

    def _select(
        self, scores: NDArray[np.float32], top_k: int | None, threshold: float | None
    ) -> tuple[list[float], list[int]]:
        """The calibrated score of every candidate from the raw ones (P,), and which to give, best first."""
        own = self.selection.count(scores.tolist(), self.module.config.minimum)
        shown = self.selection.calibration.probabilities(scores).tolist()
        return shown, keep(shown, top_k=top_k, threshold=threshold, own=own)


def windows_at_once(device: torch.device) -> int:
    """How many windows of documents an encoder reads together."""
    return BATCH_WINDOWS if device.type == "cpu" else GPU_WINDOWS


def score_examples(
    module: ContrastiveExtractor, examples: Sequence[Example], *, padding: int, second: Second | None = None
) -> list[NDArray[np.float32]]:
    """The raw score of every candidate of every example, in order: (P,) each.

    With a second extractor it is the weighted mean of the two.

    Examples are read in batches of like length; one with many windows is read in several batches. A batch
    that the device's memory does not hold is halved.
    """
    scores: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32) for _ in examples]
    device = next(module.parameters()).device
    windows = windows_at_once(device)
    for one in (module, second.module) if second else (module,):
        one.eval()

    def read(group: Sequence[int]) -> list[NDArray[np.float32]]:
        batch = collate([examples[index] for index in group], padding=padding).to(device)
        counts = [len(examples[index].features) for index in group]
        with part(0, 1 if second is None else 2):
            flat = module(batch, windows_at_once=windows).float()
        if second is not None:
            with part(1, 2):
                other = second.module(batch, windows_at_once=windows).float()
            flat = flat.lerp(other, second.share)
        return np.split(flat.cpu().numpy(), np.cumsum(counts)[:-1])

    with torch.inference_mode():
        for group in _groups(examples, windows):
            for index, row in zip(group, in_halves(read, group, too_large=TOO_LARGE), strict=True):
                scores[index] = row
    return scores


def represent_example(module: ContrastiveExtractor, example: Example, *, padding: int) -> Tensor:
    """(1 + P, D) the vectors that are compared (Equation 2): of the document, and of each candidate."""
    module.eval()
    with torch.inference_mode():
        batch = collate([example], padding=padding).to(next(module.parameters()).device)
        return torch.cat(module.represent(pool(module.encode, batch, BATCH_WINDOWS))).cpu()


def _groups(examples: Sequence[Example], most: int) -> Iterator[list[int]]:
    """Indices of examples that have candidates, by length, at most `most` windows together."""
    group: list[int] = []
    windows = 0
    for index in sorted(range(len(examples)), key=lambda index: len(examples[index].windows[0])):
        example = examples[index]
        if not example.rows:
            continue
        if group and windows + len(example.windows) > most:
            yield group
            group, windows = [], 0
        group.append(index)
        windows += len(example.windows)
    if group:
        yield group
