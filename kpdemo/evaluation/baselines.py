"""Simple systems to compare the trained model with; none of them is trained on keyphrases."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from kpdemo.candidates.chunks import Candidate
from kpdemo.evaluation.baseline import Baseline, Mine, Scored, mine_noun_ngrams, mine_noun_phrases
from kpdemo.evaluation.content import STOP_WORDS, spaced, yake_code
from kpdemo.evaluation.frequency import DocumentFrequency, load_document_frequency
from kpdemo.evaluation.graph_baselines import MultipartiteRank, PositionRank, TextRank
from kpdemo.evaluation.phrases import key_of, phrase_candidates, whole_places
from kpdemo.languages.names import ENGLISH
from kpdemo.languages.segmenting import SEGMENTED
from kpdemo.types import Document, Predictor


@dataclass(frozen=True)
class FirstPhrases(Baseline):
    """The noun phrases in the order of the text: titles and opening sentences name the subject."""

    mine: Mine = mine_noun_phrases
    name: ClassVar[str] = "first"

    def score(self, document: Document) -> list[Scored]:
        length = len(document.text)
        return [(candidate, 1 - candidate.spans[0][0] / length) for candidate in self.mine(document)]


@dataclass(frozen=True)
class TfIdf(Baseline):
    """Occurrences in the document × inverse document frequency in a fixed collection.

    The collection is fixed so that a prediction does not depend on what else is predicted. It is
    English: in other languages most terms count as rare, and the number of occurrences decides.
    """

    mine: Mine = mine_noun_ngrams
    load_frequency: Callable[[], DocumentFrequency] = load_document_frequency
    name: ClassVar[str] = "tfidf"
    languages: ClassVar[frozenset[str]] = frozenset({ENGLISH})

    def score(self, document: Document) -> list[Scored]:
        frequency = self.load_frequency()
        return [
            (candidate, len(candidate.spans) * frequency.idf(candidate.key))
            for candidate in self.mine(document)
        ]


@dataclass(frozen=True)
class Yake(Baseline):
    """YAKE (Campos et al. 2020) from its own package, which finds its own candidates.

    A phrase of YAKE's that does not occur in the text verbatim (it may cross a mark) is left out, and so is
    one that occurs only inside compounds, such as the "Stokes equation" of Navier–Stokes.
    """

    longest: int = 3
    most: int = 200
    name: ClassVar[str] = "yake"
    languages: ClassVar[frozenset[str]] = STOP_WORDS  # it takes words of two letters for stop words

    def score(self, document: Document) -> list[Scored]:
        from yake import KeywordExtractor

        language = document.language or ENGLISH
        extractor = KeywordExtractor(lan=yake_code(language), n=self.longest, top=self.most)
        found = extractor.extract_keywords(spaced(document.text, language))
        candidates = phrase_candidates(document, [phrase for phrase, _ in found])
        if language not in SEGMENTED:
            places = {key: whole_places(document, one) for key, one in candidates.items()}
            candidates = {key: Candidate(key, spans) for key, spans in places.items() if spans}
        best: dict[str, float] = {}
        for phrase, value in found:  # lower is better
            key = key_of(phrase, document)
            if key in candidates:
                best[key] = min(best.get(key, math.inf), max(float(value), 0.0))
        return [(candidates[key], 1 / (1e-9 + value)) for key, value in best.items()]


BASELINES: dict[str, Callable[[], Predictor]] = {
    baseline.name: baseline
    for baseline in (FirstPhrases, TfIdf, Yake, TextRank, PositionRank, MultipartiteRank)
}
"""By name; what one needs loads on its first prediction."""
