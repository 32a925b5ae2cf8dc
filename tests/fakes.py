"""Stand-ins for the models: fast, deterministic, nothing to load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, product
from zlib import crc32

import numpy as np

from kpdemo.routing import latin_documents
from kpdemo.text import PhraseFinder, phrase_key, readable_documents, stems, words
from kpdemo.types import (
    Document,
    Keyphrase,
    Kind,
    Origin,
    PointKind,
    Prediction,
    RetrievalPrediction,
    RetrievedPassage,
    Span,
    VectorPoint,
    VectorSpace,
)

USUAL_OPTIONS = ["", "", "", "", "", "", "only", "", "", "", False, 0, False]
"""What the fields of the pages hold before anybody has changed them, as `read_options` takes them."""

_DEFAULT_COUNT = 5
_NO_LIMIT = 1_000


@dataclass(frozen=True)
class FakePredictor:
    """Its keyphrases are the first pair of long words side by side, then the first long words."""

    name: str = "fake"
    device: str = "cpu"
    absent: tuple[str, ...] = ("keyphrase prediction", "document understanding")
    finds_absent: bool = True

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        read = latin_documents(documents)
        count = top_k or (_DEFAULT_COUNT if threshold is None else _NO_LIMIT)
        return [self._predict_one(document, count, threshold or 0.0) for document in read]

    def _predict_one(self, document: Document, top_k: int, threshold: float) -> Prediction:
        spans = {phrase: find_phrase(document, phrase) for phrase in _first_phrases(document, top_k)}
        absent = [phrase for phrase in self.absent if not find_phrase(document, phrase)][:top_k]
        return Prediction(
            present=_scored(list(spans), spans, threshold, best=0.9),
            absent=_scored(absent, {}, threshold, best=0.5),
            language=document.language,
        )


PASSAGES = (
    RetrievedPassage(
        "nlp-01",
        "Kernels for graphs",
        "A kernel compares two graphs.",
        ("graph kernels", "molecules", "drug discovery"),
        "en",
        0.8123,
    ),
    RetrievedPassage("soc-02", "Who does the housework", "Time diaries.", ("time use",), "en", 0.4),
)


@dataclass(frozen=True)
class FakeRetriever(FakePredictor):
    """Reads every script; finds `passages` for every document, and an absent keyphrase made of the first.

    Present are those of `phrases` that stand in the text.
    """

    name: str = "multilingual"
    absent: tuple[str, ...] = ("découverte de médicaments",)
    phrases: tuple[str, ...] = ("noyaux de graphes", "molécules", "图核", "分子", "그래프 커널")
    passages: tuple[RetrievedPassage, ...] = PASSAGES
    near: float | None = 0.5
    languages: frozenset[str] = frozenset({"fr", "zh", "ko"})
    uses_passages: bool = True

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        return [found.prediction for found in self.predict_with_passages(documents, top_k=top_k)]

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        read = readable_documents(documents)
        return [self._found(document, top_k or _DEFAULT_COUNT) for document in read]

    def _found(self, document: Document, count: int) -> RetrievalPrediction:
        places = PhraseFinder(document)
        spans = {phrase: found for phrase in self.phrases if (found := places.of(phrase))}
        present = _scored(list(spans)[:count], spans, 0.0, best=0.9)
        without = Prediction(present, (), document.language)
        alone = RetrievalPrediction(self.passages, without, without, self.near)
        if not any(passage.keyphrases and alone.helps(passage) for passage in self.passages):
            return alone
        led = tuple(Keyphrase(phrase, 0.5, evidence=("drug discovery",)) for phrase in self.absent)
        return replace(alone, prediction=Prediction(present, led, document.language))


REASON = "Authors use it together with “surface current”"


def absent_keyphrases(count: int) -> tuple[Keyphrase, ...]:
    """So many absent keyphrases, best first, of every kind and source."""
    kinds, sources = (
        (Kind.UNSEEN, Kind.MIXED, Kind.REORDERED),
        (Origin.RETRIEVED, Origin.GENERATED, Origin.BOTH),
    )
    phrases = islice(product(("electric", "magnetic", "numerical", "adaptive", "sparse"), _NOUNS), count)
    return tuple(
        Keyphrase(
            f"{adjective} {noun}",
            round(0.6 / (1 + number / 5), 4),
            source=sources[(number + number // 3) % 3],
            kind=kinds[number % 3],
            evidence=("surface current", "integral equation")[: number % 4],
            reason=f"{REASON} ({number} times)." if number % 4 else "",
        )
        for number, (adjective, noun) in enumerate(phrases, start=1)
    )


_NOUNS = (
    *("currents", "scattering", "fields", "solvers", "preconditioners"),
    *("grids", "potentials", "antennas", "transforms", "decomposition of matrices with low rank"),
)


@dataclass(frozen=True)
class MappedPredictor(FakePredictor):
    """Shows an extractor space and, where it gives absent keyphrases, a reranker space.

    The candidates are the words of the text; the vectors follow from the phrases alone.
    """

    found: tuple[Keyphrase, ...] = ()

    def _predict_one(self, document: Document, top_k: int, threshold: float) -> Prediction:
        prediction = super()._predict_one(document, top_k, threshold)
        return Prediction(prediction.present, self.found, document.language)

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        [prediction] = self.predict([document], top_k=top_k, threshold=threshold)
        chosen = {keyphrase.text for keyphrase in prediction.present}
        points = [
            VectorPoint(document.title or document.body, PointKind.DOCUMENT),
            *(VectorPoint(item.text, PointKind.PRESENT, item.score) for item in prediction.present),
        ]
        others = dict.fromkeys(word for word in words(document.text) if word.isalpha())
        candidates = [VectorPoint(word, PointKind.CANDIDATE, 0.01) for word in others if word not in chosen]
        absent = [VectorPoint(item.text, PointKind.ABSENT, item.score) for item in prediction.absent]
        spaces = [_space("extractor", [*points, *candidates])]
        return [*spaces, _space("reranker", [*points, *absent])] if absent else spaces


def _space(name: str, points: Sequence[VectorPoint]) -> VectorSpace:
    rows = []
    for point in points:
        noise = np.random.default_rng(crc32(point.text.encode())).normal(size=24)
        noise[0] += 0 if point.kind is PointKind.CANDIDATE else 6  # what was chosen lies near the document
        rows.append(noise)
    return VectorSpace(name, tuple(points), np.array(rows, dtype=np.float32))


def find_phrase(document: Document, phrase: str) -> tuple[Span, ...]:
    """Every place in `document.text` where the stemmed words of `phrase` stand side by side."""
    wanted = stems(phrase)
    found: list[Span] = []
    for part, offset in ((document.title, 0), (document.body, document.body_start)):
        spans = _word_spans(part)
        part_stems = stems(part)
        found.extend(
            (offset + spans[first][0], offset + spans[first + len(wanted) - 1][1])
            for first in range(len(spans) - len(wanted) + 1)
            if part_stems[first : first + len(wanted)] == wanted
        )
    return tuple(found)


def _word_spans(text: str) -> list[Span]:
    spans = []
    position = 0
    for word in words(text):
        position = text.index(word, position)
        spans.append((position, position + len(word)))
        position += len(word)
    return spans


def _scored(
    phrases: Sequence[str], spans: dict[str, tuple[tuple[int, int], ...]], threshold: float, *, best: float
) -> tuple[Keyphrase, ...]:
    scored = (
        Keyphrase(phrase, round(best / rank, 4), spans.get(phrase, ()))
        for rank, phrase in enumerate(phrases, start=1)
    )
    return tuple(keyphrase for keyphrase in scored if keyphrase.score >= threshold)


def _first_phrases(document: Document, count: int) -> list[str]:
    found: dict[str, str] = {}
    for part in (document.title, document.body):
        spans = [(start, end) for start, end in _word_spans(part[:2_000]) if part[start:end].isalpha()]
        long = [(start, end) for start, end in spans if end - start > 3]
        for (start, middle), (begin, end) in pairwise(long):
            if part[middle:begin] == " ":
                found.setdefault(phrase_key(part[start:end]), part[start:end])
                break
        for start, end in long or spans:
            found.setdefault(phrase_key(part[start:end]), part[start:end])
            if len(found) > count:
                break
    return list(found.values())[:count]
