"""What baselines share: one document at a time, candidates with scores, present keyphrases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from kpdemo.candidates.chunks import Candidate, present_keyphrase
from kpdemo.candidates.tagger import load_tagger
from kpdemo.evaluation.content import STOP_WORDS
from kpdemo.evaluation.phrases import noun_ngrams, noun_phrases
from kpdemo.languages.segmenting import SEGMENTED
from kpdemo.latin import segmentable_documents
from kpdemo.selection import check_options, keep
from kpdemo.types import Document, Prediction

DEFAULT_TOP_K = 10

Scored = tuple[Candidate, float]
Mine = Callable[[Document], list[Candidate]]


def mine_noun_phrases(document: Document) -> list[Candidate]:
    """The longest noun phrases, with the shipped tagger."""
    return noun_phrases(document, load_tagger())


def mine_noun_ngrams(document: Document) -> list[Candidate]:
    """Noun phrases of at most three words, also those inside longer ones, with the shipped tagger."""
    return noun_ngrams(document, load_tagger())


class Baseline(ABC):
    """A predictor that scores the candidates of one document at a time and finds present keyphrases only."""

    name: ClassVar[str]
    device: ClassVar[str] = "cpu"
    languages: ClassVar[frozenset[str]] = STOP_WORDS | SEGMENTED

    @abstractmethod
    def score(self, document: Document) -> list[Scored]:
        """The candidates with any numbers, higher is better and none below 0."""

    def own_count(self, document: Document) -> int:
        """How many keyphrases of a document are given where nobody asks for a number."""
        return DEFAULT_TOP_K

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; by default ten, and a score is the share of the best one's."""
        check_options(top_k, threshold)
        read = segmentable_documents(documents)
        return [self._predict_one(document, top_k, threshold) for document in read]

    def _predict_one(self, document: Document, top_k: int | None, threshold: float | None) -> Prediction:
        ranked = sorted(self.score(document), key=lambda pair: (-pair[1], pair[0].spans[0]))
        best = ranked[0][1] if ranked else 0.0
        shares = [value / best if best > 0 else 0.0 for _, value in ranked]
        candidates = [candidate for candidate, _ in ranked]
        keyphrases = tuple(
            present_keyphrase(document, candidates[index], shares[index])
            for index in keep(shares, top_k=top_k, threshold=threshold, own=self.own_count(document))
        )
        return Prediction(present=keyphrases, language=document.language)
