"""Relevance judgements of pooled predictions: gold keyphrases, TREC's files, and the figures of each model.

Three kinds of files leave it. The gold file has a line {"id", "title", "abstract", "keyphrases", "language"}
for each document with a grade, as `python -m kpdemo evaluate` reads it. The qrels and the runs are those of
TREC: "document 0 phrase relevance" and "document Q0 phrase rank score model". There documents stand for
topics and pairs for documents, and relevance is the gold grade in whole quarters, 0 to 16; a mean between two
quarters is rounded down, so that it reaches a threshold there only if it does here. White space in an id is
written as %20. Scores are those of the model, but for ties: what follows an equal score gets one of the next
lower ones that 32 bits hold, because trec_eval, which keeps no more of them, orders by scores alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import numpy as np

from annotation.characters import shown
from annotation.errors import NotFoundError, SettingsError
from annotation.predictions.queue_order import QueueOrder
from annotation.predictions.relevance import (
    Average,
    Judged,
    KindAverages,
    ModelFigures,
    Unjudged,
    score_model,
)
from annotation.types import QUARTERS_PER_POINT

THRESHOLD = Decimal(3)
LEAST_THRESHOLD = Decimal("0.25")
CUT = 10
MOST_RANKS = 1_000
_LEAST_STEP = np.float32(1e-9)
"""Between tied scores near 0: the next lower number of 32 bits is 0 to programs that know no smaller ones."""
_QUOTED = re.compile(r"\s|%(?=[0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    threshold: Decimal = THRESHOLD
    """The lowest grade of a gold keyphrase, 0.25 to 4."""
    k: int = CUT
    """Of nDCG and precision."""
    unjudged: Unjudged = Unjudged.ZERO


@dataclass(frozen=True, slots=True)
class GradedPhrase:
    """A phrase of a document with its gold grade, if it has one yet."""

    id: int
    pair: str
    """The id of its pair."""
    text: str
    is_present: bool
    grade: Decimal | None


@dataclass(frozen=True, slots=True)
class GradedDocument:
    id: str
    title: str
    body: str
    language: str
    phrases: tuple[GradedPhrase, ...]
    runs: Mapping[str, tuple[tuple[int, float], ...]]
    """By model: ids of phrases with their scores, best first."""

    @property
    def judged(self) -> Judged:
        return Judged(
            {phrase.id: float(phrase.grade) for phrase in self.phrases if phrase.grade is not None},
            frozenset(phrase.id for phrase in self.phrases if phrase.is_present),
        )

    def gold(self, threshold: Decimal) -> list[str]:
        """The keyphrases of that grade or more, best first."""
        found = [
            (-phrase.grade, phrase.text)
            for phrase in self.phrases
            if phrase.grade is not None and phrase.grade >= threshold
        ]
        return [text for _, text in sorted(found)]


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """How far each step is."""

    documents: int
    predictions: int
    phrases: int
    """As many pairs: what several models predict is one."""
    graded: int
    """With a gold grade."""
    undecided: int
    """Flagged, without a decision."""
    documents_graded: int
    """With at least one gold grade."""
    gold: int
    """Gold keyphrases."""
    documents_with_gold: int


@dataclass(frozen=True, slots=True)
class JudgedPool:
    """The predictions of all models in a project, pooled, with the grades they have."""

    documents: tuple[GradedDocument, ...]
    undecided: int
    order: QueueOrder

    @property
    def models(self) -> list[str]:
        return sorted({model for document in self.documents for model in document.runs})

    def counts(self, threshold: Decimal) -> PoolCounts:
        gold = [len(document.gold(threshold)) for document in self.documents]
        return PoolCounts(
            documents=len(self.documents),
            predictions=sum(len(run) for document in self.documents for run in document.runs.values()),
            phrases=sum(len(document.phrases) for document in self.documents),
            graded=sum(len(document.judged.grades) for document in self.documents),
            undecided=self.undecided,
            documents_graded=sum(bool(document.judged.grades) for document in self.documents),
            gold=sum(gold),
            documents_with_gold=sum(map(bool, gold)),
        )

    def figures(self, options: JudgingOptions) -> dict[str, ModelFigures]:
        """The figures of each model, over the documents that it read."""
        return {model: self._score(model, options) for model in self.models}

    def gold_lines(self, threshold: Decimal) -> Iterator[str]:
        """The gold file."""
        for document in self.documents:
            if document.judged.grades:
                yield _json_line(
                    {
                        "id": document.id,
                        "title": document.title,
                        "abstract": document.body,
                        "keyphrases": document.gold(threshold),
                        **({"language": document.language} if document.language else {}),
                    }
                )

    def qrels_lines(self) -> Iterator[str]:
        """The relevance of every phrase that has a gold grade."""
        for document in self.documents:
            for phrase in document.phrases:
                if phrase.grade is not None:
                    yield f"{trec_id(document.id)} 0 {trec_id(phrase.pair)} {relevance(phrase.grade)}\n"

    def run_lines(self, model: str) -> Iterator[str]:
        """What a model ranked, also what has no grade yet.

        Raises:
            NotFoundError: it predicted nothing here.
        """
        if model not in self.models:
            known = ", ".join(self.models) or "none"
            raise NotFoundError(f"There is no model {shown(model)} in the project, which has {known}.")
        return self._run_lines(model)

    def _run_lines(self, model: str) -> Iterator[str]:
        for document in self.documents:
            names = {phrase.id: phrase.pair for phrase in document.phrases}
            ranked = document.runs.get(model, ())
            scores = run_scores(score for _, score in ranked)
            for rank, ((phrase, _), score) in enumerate(zip(ranked, scores, strict=True), start=1):
                yield f"{trec_id(document.id)} Q0 {trec_id(names[phrase])} {rank} {score} {trec_id(model)}\n"

    def _score(self, model: str, options: JudgingOptions) -> ModelFigures:
        return score_model(
            [
                (document.judged, [phrase for phrase, _ in document.runs[model]])
                for document in self.documents
                if model in document.runs
            ],
            threshold=float(options.threshold),
            k=options.k,
            unjudged=options.unjudged,
        )


def check_options(threshold: Decimal, k: int, unjudged: Unjudged = Unjudged.ZERO) -> JudgingOptions:
    """The options, if they can be used.

    Raises:
        SettingsError: one of them cannot.
    """
    if not threshold.is_finite() or not LEAST_THRESHOLD <= threshold <= 4:
        raise SettingsError(f"The lowest grade of a keyphrase is {LEAST_THRESHOLD} to 4, not {threshold}.")
    if not 1 <= k <= MOST_RANKS:
        raise SettingsError(f"The number of ranks that count is 1 to {MOST_RANKS:,}, not {k}.")
    return JudgingOptions(threshold, k, unjudged)


def relevance(grade: Decimal) -> int:
    """A gold grade as whole quarters, rounded down: 2.75 is 11, 2.875 too, as it does not reach 3."""
    return int(grade * QUARTERS_PER_POINT)


def run_scores(scores: Iterable[float]) -> Iterator[str]:
    """The scores of a ranking, best first, as written: each lower than the one before, also in 32 bits."""
    before = np.float32(np.inf)
    for score in map(np.float32, scores):
        lower = score if score < before else before - max(np.spacing(abs(before)), _LEAST_STEP)
        yield str(lower)
        before = lower


def figures_json(figures: ModelFigures, k: int) -> dict[str, Any]:
    """The figures of a model as `--json` prints them, fractions of 1."""
    return {
        "documents": figures.documents,
        "predictions": figures.predictions,
        "judged": figures.judged,
        f"judged@{k}": figures.judged_at_k,
        f"nDCG@{k}": _average_json(figures.ndcg),
        f"P@{k}": _average_json(figures.precision),
        "all": _kind_json(figures.all),
        "present": _kind_json(figures.present),
        "absent": _kind_json(figures.absent),
    }


def _average_json(average: Average) -> dict[str, float | None]:
    return {"skip_empty": average.skip_empty, "count_empty": average.count_empty}


def _kind_json(kind: KindAverages) -> dict[str, Any]:
    named = {
        "P@5": kind.precision_5,
        "R@5": kind.recall_5,
        "F1@5": kind.f1_5,
        "P@M": kind.precision_m,
        "R@M": kind.recall_m,
        "F1@M": kind.f1_m,
    }
    return {
        "documents_with_gold": kind.with_gold,
        "skip_empty": {name: average.skip_empty for name, average in named.items()},
        "count_empty": {name: average.count_empty for name, average in named.items()},
    }


def _json_line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def trec_id(text: str) -> str:
    """An id without white space, which ends a field there; `urllib.parse.unquote` gives the id back."""
    return _QUOTED.sub(lambda found: quote(found[0]), text)
