"""Baselines that rank words or candidates by PageRank in a graph of the document."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kpdemo.candidates.chunks import Candidate
from kpdemo.evaluation.baseline import Baseline, Mine, Scored, mine_noun_phrases
from kpdemo.evaluation.phrases import document_words
from kpdemo.types import Document

if TYPE_CHECKING:
    import numpy as np

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
        return _summed(candidates, rank)


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
        return _summed(candidates, rank)


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

        candidates = _capped(self.mine(document))
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


def _summed(candidates: Sequence[Candidate], rank: Mapping[str, float]) -> list[Scored]:
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


def _capped(candidates: Sequence[Candidate]) -> list[Candidate]:
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
