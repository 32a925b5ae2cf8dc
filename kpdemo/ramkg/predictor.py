"""Keyphrases with the help of retrieved passages (RAMKG), by the ranker and its retriever."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from threading import Lock

from kpdemo.markup import spans_as_given
from kpdemo.ramkg.passage_index import Hit, PassageIndex, retrieved_passage
from kpdemo.ramkg.ranker import (
    MOST_KEYPHRASES,
    Help,
    Phrase,
    RankerModel,
    list_candidates,
    load_ranker,
    rank_input,
)
from kpdemo.ramkg.retriever import Encoder, PassageEncoder, retrieve_others
from kpdemo.routing import segmentable_documents
from kpdemo.selection import TRUSTED, best_first, check_options, ranked_count, ranked_prediction
from kpdemo.simckp.checkpoint import choose_device
from kpdemo.text import PhraseKinds
from kpdemo.types import (
    Document,
    Keyphrase,
    Kind,
    Origin,
    PointKind,
    Prediction,
    Ranking,
    RetrievalPrediction,
    VectorPoint,
    VectorSpace,
)
from kpdemo.variants import written_forms
from kpdemo.vectors import text_cosines

ABSENT_CANDIDATES = 50
"""This many of the best are reported, for R@50."""

UNRELATED_MEAN, UNRELATED_SPREAD = 0.27, 1.4
"""Scores of texts with passages on other subjects are about normal: their mean, and the standard deviation
that the best of many follow, in units of that of random directions. Measured on validation documents, see
docs/retrieval.md."""

BY_CHANCE = 0.01
"""The share of texts for which `chance_score` finds a related passage in an index that holds none."""


@dataclass(frozen=True)
class RankingPredictor:
    """A `RetrievalPredictor`.

    Attributes:
        folder: of the index; None for no passages.
    """

    model: RankerModel
    encoder: PassageEncoder
    folder: Path | None
    name: str = "multilingual"
    _lock: Lock = field(default_factory=Lock, repr=False)

    finds_absent = True

    @property
    def device(self) -> str:
        return self.encoder.device

    @property
    def languages(self) -> frozenset[str]:
        return self.model.languages

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; with the passages where there are any."""
        answers = self.predict_with_passages(documents, top_k=top_k, threshold=threshold)
        return [answer.prediction for answer in answers]

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`."""
        check_options(top_k, threshold)
        read = segmentable_documents(documents)
        found = self._retrieve(read)
        listed = list_candidates(self.model.extractor, read)
        return [
            self._answer(document, candidates, hits, top_k, threshold)
            for document, candidates, hits in zip(read, listed, found, strict=True)
        ]

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`; the extractor's space."""
        [read] = segmentable_documents([document])
        [prediction] = self.predict([read], top_k=top_k, threshold=threshold)
        chosen = {keyphrase.text: keyphrase.score for keyphrase in prediction.present}
        return [
            replace(space, points=tuple(_mark(point, chosen) for point in space.points))
            for space in self.model.extractor.vectors(read)
        ]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """See `kpdemo.types.Comparing`; by the vectors that passages are found with."""
        return text_cosines(pairs, self.model.knowledge.reader.phrases)

    def _retrieve(self, documents: Sequence[Document]) -> list[list[Hit]]:
        if self.folder is None:
            return [[] for _ in documents]
        with self._lock:
            index = self._index
        return retrieve_others(index, self.encoder, documents, self.model.passages)

    @cached_property
    def _index(self) -> PassageIndex:
        assert self.folder is not None  # asked for only where there is one
        index = PassageIndex.open(self.folder)
        index.check_encoder(self.encoder)
        return index

    def _answer(
        self,
        document: Document,
        candidates: Sequence[Phrase],
        hits: Sequence[Hit],
        top_k: int | None,
        threshold: float | None,
    ) -> RetrievalPrediction:
        near = self.model.near
        help = [
            Help(text, place, hit.score)
            for place, hit in enumerate(hit for hit in hits if hit.score >= near)
            for text in hit.passage.keyphrases[:MOST_KEYPHRASES]
        ]
        chance = chance_score(len(self._index), self.encoder.width) if hits else None
        related = frozenset(item.text for item in help if chance is None or item.score > chance)
        without = self._predict(document, candidates, (), related, top_k, threshold)
        helped = self._predict(document, candidates, help, related, top_k, threshold) if help else without
        return RetrievalPrediction(
            tuple(map(retrieved_passage, hits)),
            helped,
            without,
            near,
            retrieves=self.folder is not None,
            chance=chance,
        )

    def _predict(
        self,
        document: Document,
        candidates: Sequence[Phrase],
        help: Sequence[Help],
        related: Collection[str],
        top_k: int | None,
        threshold: float | None,
    ) -> Prediction:
        choosing = self.model.augmented if help else self.model.base
        choosing = choosing or self.model.base or self.model.augmented
        assert choosing is not None  # a stored ranker has one
        ranked = rank_input(document, candidates, self.model.knowledge, help)
        scores = choosing.probabilities(ranked).tolist()
        present = [number for number, phrase in enumerate(ranked.phrases) if phrase.spans]
        absent = [number for number, phrase in enumerate(ranked.phrases) if not phrase.spans]
        order = best_first(scores)
        own = set(order[: choosing.count(scores)])
        sure = set(order[: choosing.counting.count(scores)])
        evidence = [_evidence(nearest, help, related) for nearest in ranked.nearest.tolist()]
        kinds = PhraseKinds(document)

        def ranking(group: Sequence[int], floor: float = 0.0) -> Ranking:
            values = [scores[number] for number in group]
            places = best_first(values)[: ranked_count(values, top_k, threshold)]
            return Ranking(
                tuple(
                    _keyphrase(document, ranked.phrases[number], scores[number], evidence[number], kinds)
                    for number in (group[place] for place in places)
                ),
                own=len(own & set(group)),
                sure=len(sure & set(group)),
                floor=floor,
            )

        prediction = ranked_prediction(
            document, ranking(present), ranking(absent, TRUSTED), top_k=top_k, threshold=threshold
        )
        return replace(prediction, absent_candidates=prediction.absent_candidates[:ABSENT_CANDIDATES])


def _mark(point: VectorPoint, chosen: Mapping[str, float]) -> VectorPoint:
    """The point as a keyphrase of the answer, or else as a candidate."""
    if point.kind == PointKind.DOCUMENT:
        return point
    kind = PointKind.PRESENT if point.text in chosen else PointKind.CANDIDATE
    return replace(point, kind=kind, score=chosen.get(point.text, point.score))


def chance_score(passages: int, width: int) -> float:
    """The best score that so many unrelated passages reach in one of a hundred texts (`BY_CHANCE`).

    >>> [round(chance_score(passages, 256), 2) for passages in (10, 447, 300_000)]
    [0.54, 0.63, 0.74]
    """
    best = NormalDist().inv_cdf((1 - BY_CHANCE) ** (1 / passages))
    return UNRELATED_MEAN + UNRELATED_SPREAD * best / math.sqrt(width)


def known_chance(encoder: Encoder, passages: int) -> float | None:
    """`chance_score`; None for encoders that it was not measured for."""
    return chance_score(passages, encoder.width) if passages and isinstance(encoder, PassageEncoder) else None


def _evidence(nearest: int, help: Sequence[Help], related: Collection[str]) -> tuple[str, ...]:
    """The keyphrase that supports a candidate most, if a related passage has it."""
    text = help[nearest].text if nearest >= 0 else ""
    return (text,) if text in related else ()


def _keyphrase(
    document: Document, phrase: Phrase, score: float, evidence: tuple[str, ...], kinds: PhraseKinds
) -> Keyphrase:
    if phrase.spans:
        text, spans = written_forms(document).of(phrase.spans)
        return Keyphrase(text, score, spans_as_given(document, spans), evidence=evidence)
    kind = kinds(phrase.text)
    return Keyphrase(
        phrase.text,
        score,
        source=Origin.RETRIEVED,
        kind=Kind.REORDERED if kind == Kind.PRESENT else kind,
        evidence=evidence,
        reason=f"A passage on the same subject has the keyphrase “{evidence[0]}”." if evidence else "",
    )


def load_ranking_predictor(folder: Path, *, index: Path | None, device: str = "auto") -> RankingPredictor:
    """Open a model that `kpdemo.ramkg.ranker` wrote, with an index of passages.

    Raises:
        ModelLoadError: the model is damaged, or the device is not there.
        PassageIndexError: the index is damaged, or was built with another encoder; raised by the first
            prediction.
    """
    target = choose_device(device)
    model = load_ranker(folder, device=target)
    return RankingPredictor(model, PassageEncoder.of(model.knowledge.reader, str(folder)), index)
