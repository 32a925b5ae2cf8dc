"""Answers without nested keyphrases: "graph kernels" alone, without "kernels" and "graph"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice

from kpdemo.forwarding import Forwarding, read_with_passages
from kpdemo.selection import check_options
from kpdemo.text import readable_documents, stem, words
from kpdemo.types import (
    Document,
    Keyphrase,
    PointKind,
    Prediction,
    Predictor,
    RetrievalPrediction,
    VectorPoint,
    VectorSpace,
)

_AT_FIRST = 4  # times as many as wanted are asked for: mostly enough, and one call


def unnested(phrases: Iterable[str], language: str = "") -> Iterator[int]:
    """Which of the phrases to keep, by number, so that none is nested in another.

    Of two that nest, the one that comes first stays, whether it is the longer or the shorter. One is
    nested in another when its stems are, contiguously; punctuation marks do not count as words here, except
    those that tell C++ and C# from C.

    >>> list(unnested(["Graph kernels", "kernels", "support vectors", "fast graph kernel", "graphs"]))
    [0, 2]
    """
    return unnested_keys(" ".join(_stems(phrase, language)) for phrase in phrases)


def _stems(phrase: str, language: str) -> list[str]:
    stems: list[str] = []
    for word in words(phrase, language):
        if any(map(str.isalnum, word)):
            stems.append(stem(word, language))
        elif word in ("+", "#") and stems:
            stems[-1] += word
    return stems


def unnested_keys(keys: Iterable[str]) -> Iterator[int]:
    """The same of phrases that are given by their stems, with a blank between two."""
    kept: set[str] = set()
    inside: set[str] = set()  # every piece of those kept: a thousand of them are looked through at once
    for number, key in enumerate(keys):
        pieces = _pieces(key.split(" "))
        if key not in inside and kept.isdisjoint(pieces):
            kept.add(key)
            inside |= pieces
            yield number


def _pieces(stems: Sequence[str]) -> set[str]:
    ends = range(1, len(stems) + 1)
    return {" ".join(stems[start:end]) for end in ends for start in range(end)}


@dataclass(frozen=True)
class Unnested(Forwarding):
    """A `RetrievalPredictor`: any predictor, whose present keyphrases are not nested.

    The answer keeps its length where possible: each keyphrase left out is replaced by the next best, which is
    marked as a filler unless a number was asked for. With a threshold alone nothing is replaced. Absent
    keyphrases stay as they are.
    """

    predictor: Predictor

    def _predictor(self) -> Predictor:
        return self.predictor

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        found = self.predict_with_passages(documents, top_k=top_k, threshold=threshold)
        return [one.prediction for one in found]

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`."""
        check_options(top_k, threshold)
        documents = readable_documents(documents)
        own = read_with_passages(self.predictor, documents, top_k=top_k, threshold=threshold)
        fills = top_k is None
        found = [_thinned(one, one, fills=fills) for one in own]
        if top_k is None and threshold is not None:
            return found
        waiting = [number for number, one in enumerate(own) if found[number] != one]
        asked = _AT_FIRST * max((_longest(own[number]) for number in waiting), default=0)
        while waiting:
            more = read_with_passages(
                self.predictor, [documents[number] for number in waiting], top_k=asked, threshold=threshold
            )
            for number, one in zip(waiting, more, strict=True):
                found[number] = _thinned(own[number], one, fills=fills)
            waiting = [
                number
                for number, one in zip(waiting, more, strict=True)
                if _is_short(found[number], own[number]) and _longest(one) >= asked
            ]
            asked *= 2
        return found

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`."""
        spaces = super().vectors(document, top_k=top_k, threshold=threshold)
        if not spaces:
            return []
        [prediction] = self.predict([document], top_k=top_k, threshold=threshold)
        present = {one.text for one in prediction.present}
        return [
            replace(space, points=tuple(_chosen(point, present) for point in space.points))
            for space in spaces
        ]


def _chosen(point: VectorPoint, present: Set[str]) -> VectorPoint:
    if point.kind not in (PointKind.PRESENT, PointKind.CANDIDATE):
        return point
    kind = PointKind.PRESENT if point.text in present else PointKind.CANDIDATE
    return replace(point, kind=kind)


def _thinned(own: RetrievalPrediction, longer: RetrievalPrediction, *, fills: bool) -> RetrievalPrediction:
    """`own` with the first keyphrases of `longer` that do not nest, as many as it has.

    Args:
        fills: whether those that `own` does not have are fillers.
    """
    return replace(
        own,
        prediction=_replaced(own.prediction, longer.prediction.present, fills=fills),
        without=_replaced(own.without, longer.without.present, fills=fills),
    )


def _replaced(own: Prediction, ranked: Sequence[Keyphrase], *, fills: bool) -> Prediction:
    known = {one.spans: one for one in own.present}
    places = islice(unnested((one.text for one in ranked), own.language), len(own.present))
    chosen = (ranked[place] for place in places)
    present = (known.get(one.spans) or replace(one, filler=fills) for one in chosen)
    return replace(own, present=tuple(present))


def _is_short(found: RetrievalPrediction, own: RetrievalPrediction) -> bool:
    pairs = ((found.prediction, own.prediction), (found.without, own.without))
    return any(len(now.present) < len(before.present) for now, before in pairs)


def _longest(found: RetrievalPrediction) -> int:
    return max(len(found.prediction.present), len(found.without.present))
