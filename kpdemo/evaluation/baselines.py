"""Simple systems to compare the trained model with; none of them is trained on keyphrases."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kpdemo.candidates.chunks import Candidate, present_keyphrase
from kpdemo.candidates.noun_phrases import (
    STOP_WORDS,
    add_spaces,
    document_words,
    key_of,
    noun_ngrams,
    noun_phrases,
    phrase_candidates,
    whole_spans,
    yake_code,
)
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import ModelLoadError
from kpdemo.io.files import read_json_gz
from kpdemo.languages import ENGLISH, SEGMENTED
from kpdemo.routing import segmentable_documents
from kpdemo.selection import check_options, ranked_count, ranked_prediction
from kpdemo.types import Document, Prediction, Predictor, Ranking

if TYPE_CHECKING:
    import numpy as np


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
            present_keyphrase(document, candidate, share)
            for candidate, share in zip(
                candidates, shares[: ranked_count(shares, top_k, threshold)], strict=False
            )
        )
        own = self.own_count(document)
        ranking = Ranking(keyphrases, own, own)
        return ranked_prediction(document, ranking, top_k=top_k, threshold=threshold)


FREQUENCY_ASSET = Path(__file__).parent.parent / "assets" / "document_frequency.json.gz"


@dataclass(frozen=True)
class DocumentFrequency:
    """Terms as stems joined by spaces; those in fewer than `minimum` documents are not kept."""

    documents: int
    minimum: int
    terms: dict[str, int]

    def idf(self, key: str) -> float:
        """Inverse document frequency, smoothed; an unlisted term counts as in a quarter of `minimum`."""
        frequency = self.terms.get(key, self.minimum / 4)
        return math.log((1 + self.documents) / (1 + frequency))


@lru_cache(maxsize=1)
def load_document_frequency(path: Path = FREQUENCY_ASSET) -> DocumentFrequency:
    """Read a table written by `kpdemo.training.frequency`; kept for the life of the process.

    Raises:
        ModelLoadError: the file is missing or damaged.
    """
    try:
        stored = read_json_gz(path)
        return DocumentFrequency(int(stored["documents"]), int(stored["minimum"]), dict(stored["terms"]))
    except FileNotFoundError as error:
        raise ModelLoadError(
            f"No term frequencies at {path}: run `python -m kpdemo train frequency`."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelLoadError(
            f"The term frequencies {path} are damaged ({error}): restore the file."
        ) from error


MOST_CANDIDATES = 400  # of one document in a graph: the most frequent, then the first
MOST_SPANS = 20  # of one candidate in a graph: the first


@dataclass(frozen=True)
class TextRank(Baseline):
    """TextRank (Mihalcea and Tarau 2004): PageRank over words that co-occur, phrases by the sum.

    Words are those of the candidates; two are linked when they occur less than `window` words apart.
    """

    mine: Mine = mine_noun_phrases
    window: int = 2
    name: ClassVar[str] = "textrank"

    def score(self, document: Document) -> list[Scored]:
        import networkx as nx

        candidates = self.mine(document)
        graph = nx.Graph()
        recent: deque[str | None] = deque(maxlen=self.window - 1)
        for word in _candidate_words(document, candidates):
            if word is not None:
                graph.add_node(word)
                graph.add_edges_from((other, word) for other in recent if other is not None and other != word)
            recent.append(word)
        rank = nx.pagerank(graph)
        return _sum_of_ranks(candidates, rank)


@dataclass(frozen=True)
class PositionRank(Baseline):
    """PositionRank (Florescu and Caragea 2017): PageRank over words, drawn to early and frequent ones.

    Two words are linked as often as they occur less than `window` words apart. A random jump lands on a word
    in proportion to the sum of 1 / place over its places. Candidates have at most `longest` words.
    """

    mine: Mine = mine_noun_phrases
    window: int = 10
    longest: int = 3
    name: ClassVar[str] = "positionrank"

    def score(self, document: Document) -> list[Scored]:
        import networkx as nx

        candidates = [one for one in self.mine(document) if one.key.count(" ") < self.longest]
        graph = nx.Graph()
        bias: dict[str, float] = {}
        recent: deque[str | None] = deque(maxlen=self.window - 1)
        for place, word in enumerate(_candidate_words(document, candidates), start=1):
            if word is not None:
                bias[word] = bias.get(word, 0.0) + 1 / place
                graph.add_node(word)
                for other in recent:
                    if other is not None and other != word:
                        known = graph.get_edge_data(other, word, {"weight": 0})["weight"]
                        graph.add_edge(other, word, weight=known + 1)
            recent.append(word)
        rank = nx.pagerank(graph, personalization=bias, dangling=bias) if bias else {}
        return _sum_of_ranks(candidates, rank)


@dataclass(frozen=True)
class MultipartiteRank(Baseline):
    """MultipartiteRank (Boudin 2018): candidates linked across topics, the first of each topic promoted.

    A topic is a cluster of candidates that share stems: average linkage, Jaccard distance at most
    `distance`. Of a long document `MOST_CANDIDATES` candidates with `MOST_SPANS` places each take part.
    """

    mine: Mine = mine_noun_phrases
    distance: float = 0.74
    alpha: float = 1.1
    name: ClassVar[str] = "multipartite"

    def score(self, document: Document) -> list[Scored]:
        import networkx as nx
        import numpy as np

        candidates = _most_frequent(self.mine(document))
        if not candidates:
            return []
        positions = _word_positions(document, candidates)
        topics = _topics(candidates, self.distance)
        weights = _closeness(candidates, positions)
        weights[topics[:, None] == topics[None, :]] = 0.0
        for topic in np.unique(topics):
            first, *variants = np.flatnonzero(topics == topic)  # candidates are in the order of the text
            if variants:
                boost = self.alpha * math.exp(1 / (1 + positions[first][0]))
                weights[:, first] += boost * weights[:, variants].sum(axis=1)
        rank = nx.pagerank(nx.from_numpy_array(weights, create_using=nx.DiGraph))
        return [(candidate, rank[index]) for index, candidate in enumerate(candidates)]


def _sum_of_ranks(candidates: Sequence[Candidate], rank: Mapping[str, float]) -> list[Scored]:
    """Each candidate with the sum of the ranks of its words."""
    return [
        (candidate, math.fsum(rank.get(word, 0.0) for word in candidate.key.split(" ")))
        for candidate in candidates
    ]


def _candidate_words(document: Document, candidates: Sequence[Candidate]) -> Iterator[str | None]:
    """The stems of the document in order; None for a word outside all candidates and after each part."""
    inside = bytearray(len(document.text))
    for candidate in candidates:
        for start, end in candidate.spans:
            inside[start:end] = b"\x01" * (end - start)
    for part in document_words(document):
        for word, token in part:
            yield word if inside[token.start] else None
        if part:
            yield None


def _most_frequent(candidates: Sequence[Candidate]) -> list[Candidate]:
    """At most `MOST_CANDIDATES`, the most frequent and then the first; in the order of the text."""
    best = sorted(candidates, key=lambda candidate: (-len(candidate.spans), candidate.spans[0]))
    return sorted(best[:MOST_CANDIDATES], key=lambda candidate: candidate.spans[0])


def _word_positions(document: Document, candidates: Sequence[Candidate]) -> list[list[int]]:
    """At which word of the document each candidate begins, for its first `MOST_SPANS` places."""
    starts = [token.start for part in document_words(document) for _, token in part]
    return [
        [bisect_right(starts, start) - 1 for start, _ in candidate.spans[:MOST_SPANS]]
        for candidate in candidates
    ]


def _topics(candidates: Sequence[Candidate], distance: float) -> np.ndarray:
    """The number of each candidate's topic."""
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    if len(candidates) < 2:  # linkage needs a pair
        return np.ones(len(candidates), dtype=int)
    vocabulary = sorted({word for candidate in candidates for word in candidate.key.split(" ")})
    column = {word: index for index, word in enumerate(vocabulary)}
    words = np.zeros((len(candidates), len(vocabulary)), dtype=bool)
    for row, candidate in enumerate(candidates):
        words[row, [column[word] for word in candidate.key.split(" ")]] = True
    topics: np.ndarray = fcluster(linkage(pdist(words, "jaccard"), "average"), distance, "distance")
    return topics


def _closeness(candidates: Sequence[Candidate], positions: Sequence[Sequence[int]]) -> np.ndarray:
    """(P, P) sums of inverse distances over all pairs of places, in words from the end of the earlier one."""
    import numpy as np

    lengths = [candidate.key.count(" ") + 1 for candidate in candidates]
    counts = [len(places) for places in positions]
    place = np.concatenate([np.asarray(places) for places in positions])
    length = np.repeat(lengths, counts)
    bounds = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rows = []
    for own_length, places in zip(lengths, positions, strict=True):
        ahead = place[None, :] - np.asarray(places)[:, None]
        gap = np.where(ahead >= 0, ahead - (own_length - 1), -ahead - (length - 1))
        rows.append(np.add.reduceat((1 / np.maximum(gap, 1)).sum(axis=0), bounds))
    return np.stack(rows)


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
        found = extractor.extract_keywords(add_spaces(document.text, language))
        candidates = phrase_candidates(document, [phrase for phrase, _ in found])
        if language not in SEGMENTED:
            places = {key: whole_spans(document, one) for key, one in candidates.items()}
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
