"""Stand-ins for the models: fast, deterministic, nothing to load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kpdemo.text import check_readable, find_phrase, phrase_key, word_spans
from kpdemo.types import Document, Keyphrase, Prediction

_DEFAULT_COUNT = 5


@dataclass(frozen=True)
class FakePredictor:
    """Its keyphrases are the first pair of long words side by side, then the first long words."""

    name: str = "fake"
    device: str = "cpu"
    absent: tuple[str, ...] = ("keyphrase prediction", "document understanding")

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        read = [Document(document) if isinstance(document, str) else document for document in documents]
        for document in read:
            check_readable(document)
        return [self._predict_one(document, top_k or _DEFAULT_COUNT, threshold or 0.0) for document in read]

    def _predict_one(self, document: Document, top_k: int, threshold: float) -> Prediction:
        spans = {phrase: find_phrase(document, phrase) for phrase in _first_phrases(document, top_k)}
        absent = [phrase for phrase in self.absent if not find_phrase(document, phrase)][:top_k]
        return Prediction(
            present=_scored(list(spans), spans, threshold, best=0.9),
            absent=_scored(absent, {}, threshold, best=0.5),
            language=document.language,
        )


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
        spans = [(start, end) for start, end in word_spans(part[:2_000]) if part[start:end].isalpha()]
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
