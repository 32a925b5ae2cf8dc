"""Keyphrases with the help of retrieved passages (RAMKG), by the ranker and its retriever."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from threading import Lock

import numpy as np

from kpdemo.markup import spans_as_given
from kpdemo.prmu import PhraseKinds
from kpdemo.ramkg.encoder import BagEncoder
from kpdemo.ramkg.features import Help, Phrase, Ranked, candidates_of, rank_input
from kpdemo.ramkg.index import Hit, PassageIndex
from kpdemo.ramkg.others import retrieve_others
from kpdemo.ramkg.ranker_checkpoint import RankerModel, load_ranker
from kpdemo.selection import check_options, keep, mark_fillers
from kpdemo.simckp.checkpoint import choose_device
from kpdemo.text import readable_documents
from kpdemo.types import (
    Document,
    Keyphrase,
    Kind,
    Prediction,
    RetrievalPrediction,
    RetrievedPassage,
    Source,
)

MOST_KEYPHRASES = 12
"""Of one passage that are read."""

ABSENT_CANDIDATES = 50
"""So many of the best are told; R@50 counts them."""

UNRELATED_MEAN, UNRELATED_SPREAD = 0.03, 1.07
"""Scores of texts with passages on other subjects are about normal: their mean, and their standard deviation
in units of that of random directions. Measured on validation documents, see docs/retrieval.md."""

BY_CHANCE = 0.01
"""Of the texts that have a related passage by `chance_score` when the index holds none."""


@dataclass(frozen=True)
class RankingPredictor:
    """A `RetrievalPredictor`.

    Attributes:
        folder: of the index; None for no passages.
    """

    model: RankerModel
    encoder: BagEncoder
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
        read = readable_documents(documents, any_script=True)
        found = self._retrieve(read)
        return [
            self._answer(document, hits, top_k, threshold) for document, hits in zip(read, found, strict=True)
        ]

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
        self, document: Document, hits: Sequence[Hit], top_k: int | None, threshold: float | None
    ) -> RetrievalPrediction:
        candidates, near = candidates_of(document), self.model.near
        help = [
            Help(text, place, hit.score)
            for place, hit in enumerate(hit for hit in hits if hit.score >= near)
            for text in hit.passage.keyphrases[:MOST_KEYPHRASES]
        ]
        without = self._predict(document, candidates, (), top_k, threshold)
        helped = self._predict(document, candidates, help, top_k, threshold) if help else without
        has_index = self.folder is not None
        return RetrievalPrediction(
            tuple(map(_passage, hits)),
            helped,
            without,
            near,
            retrieves=has_index,
            chance=chance_score(len(self._index), self.encoder.width) if hits else None,
        )

    def _predict(
        self,
        document: Document,
        candidates: Sequence[Phrase],
        help: Sequence[Help],
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
        own = _best(scores, choosing.count(scores))
        sure = _best(scores, choosing.counting.count(scores))
        kinds = PhraseKinds(document)

        def kept(group: Sequence[int]) -> tuple[Keyphrase, ...]:
            given = len(own & set(group))
            found = _kept(
                document, group, ranked, scores, help, kinds, top_k=top_k, threshold=threshold, own=given
            )
            return mark_fillers(found, len(sure & set(group)), top_k=top_k, threshold=threshold)

        best = sorted(absent, key=lambda number: -scores[number])[:ABSENT_CANDIDATES]
        candidates_told = tuple(ranked.phrases[number].text for number in best)
        return Prediction(kept(present), kept(absent), document.language, candidates_told)


def chance_score(passages: int, width: int) -> float:
    """What the best of so many passages on other subjects reaches in one of a hundred texts (`BY_CHANCE`).

    >>> [round(chance_score(passages, 256), 2) for passages in (10, 447, 300_000)]
    [0.24, 0.3, 0.39]
    """
    best = NormalDist().inv_cdf((1 - BY_CHANCE) ** (1 / passages))
    return UNRELATED_MEAN + UNRELATED_SPREAD * best / math.sqrt(width)


def _best(scores: Sequence[float], count: int) -> set[int]:
    """The numbers of so many with the highest scores."""
    order = np.argsort(-np.array(scores), kind="stable")
    return set(order[:count].tolist())


def _kept(
    document: Document,
    group: Sequence[int],
    ranked: Ranked,
    scores: Sequence[float],
    help: Sequence[Help],
    kinds: PhraseKinds,
    *,
    top_k: int | None,
    threshold: float | None,
    own: int,
) -> tuple[Keyphrase, ...]:
    """The keyphrases of present or absent candidates, by their numbers, best first."""
    values = [scores[number] for number in group]
    kept = (group[place] for place in keep(values, top_k=top_k, threshold=threshold, own=own))
    return tuple(_keyphrase(document, number, ranked, scores[number], help, kinds) for number in kept)


def _keyphrase(
    document: Document,
    number: int,
    ranked: Ranked,
    score: float,
    help: Sequence[Help],
    kinds: PhraseKinds,
) -> Keyphrase:
    phrase, nearest = ranked.phrases[number], int(ranked.nearest[number])
    evidence = (help[nearest].text,) if nearest >= 0 else ()
    if phrase.spans:
        return Keyphrase(phrase.text, score, spans_as_given(document, phrase.spans), evidence=evidence)
    kind = kinds(phrase.text)
    return Keyphrase(
        phrase.text,
        score,
        source=Source.RETRIEVED,
        kind=Kind.REORDERED if kind == Kind.PRESENT else kind,
        evidence=evidence,
    )


def _passage(hit: Hit) -> RetrievedPassage:
    passage = hit.passage
    return RetrievedPassage(
        passage.id, passage.title, passage.body, passage.keyphrases, passage.language, hit.score
    )


def load_ranking_predictor(folder: Path, *, index: Path | None, device: str = "auto") -> RankingPredictor:
    """Open a model that `kpdemo.ramkg.ranker_checkpoint` wrote, with an index of passages.

    Raises:
        ModelLoadError: the model is damaged, or the device is not there.
        PassageIndexError: the index is damaged, or was built with another encoder; told by the first
            prediction.
    """
    target = choose_device(device)
    model = load_ranker(folder, device=target)
    return RankingPredictor(model, BagEncoder.of(model.knowledge.reader, str(folder)), index)
