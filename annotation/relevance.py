"""Graded phrases: relevance judgements, TREC's files, and nDCG, precision and F1 of each model.

nDCG is that of Järvelin and Kekäläinen (2002) with the discount of `ndcg` of trec_eval and `ndcg_score` of
scikit-learn, log2(r + 1) of rank r; the gain of a phrase is its gold grade, 0 to 4. The ideal ranking is that
of all graded phrases of the document, whoever predicted them.

A phrase is relevant when its grade reaches the threshold. Precision at k divides by k, however few phrases
there are; precision at M by their number. F1 is the harmonic mean of mean precision and mean recall (Choi et
al. 2023). Recall counts the relevant phrases that some model predicted: nobody graded any other.

A phrase without a gold grade counts as not relevant (`Unjudged.ZERO`, as trec_eval has it), or is taken out
of the ranking before anything is counted (`Unjudged.SKIP`, Sakai 2007).

Relevance judgements of pooled predictions: gold keyphrases, TREC's files, and the figures of each model.
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
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import numpy as np

from annotation.errors import NotFoundError, SettingsError
from annotation.predictions import QueueOrder
from annotation.scale import CLSS
from annotation.translation import _
from annotation.wording import quote_value
from kpdemo.statistics import harmonic_mean

DEFAULT_CUT = 5
"""Of F1@5, as everywhere in this program."""


class Unjudged(StrEnum):
    """What becomes of phrases without a gold grade."""

    ZERO = "zero"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Judged:
    """A document: the gold grades of its phrases, and which of these stand in its text."""

    grades: Mapping[int, float]
    """0 to 4, of the phrases that have one."""
    present: frozenset[int]


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over documents; None of no documents."""

    skip_empty: float | None
    """Over the documents that have anything relevant; of nDCG, those that have a grade above 0."""
    count_empty: float | None
    """Over all; one without anything relevant counts as 0."""


@dataclass(frozen=True, slots=True)
class KindAverages:
    """Precision, recall and F1 of one kind of phrase, at 5 and at M (all that were predicted)."""

    precision_5: Average
    recall_5: Average
    f1_5: Average
    precision_m: Average
    recall_m: Average
    f1_m: Average
    with_gold: int


@dataclass(frozen=True, slots=True)
class ModelFigures:
    documents: int
    """With at least one graded phrase."""
    predictions: int
    judged: int
    """How many of the predictions have a gold grade."""
    judged_at_k: float | None
    """The share of the first k that have one."""
    ndcg: Average
    precision: Average
    all: KindAverages
    present: KindAverages
    absent: KindAverages


def dcg(gains: Sequence[float]) -> float:
    """The discounted sum of gains, best first."""
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def ndcg(gains: Sequence[float], every: Iterable[float], k: int) -> float | None:
    """nDCG at k, 0 to 1; None where nothing has a gain.

    Args:
        gains: of the ranking, best first.
        every: the gains of all that could have been ranked.
        k: how many ranks count.
    """
    ideal = dcg(sorted(every, reverse=True)[:k])
    return dcg(gains[:k]) / ideal if ideal > 0 else None


def precision_at(relevant: Sequence[bool], k: int) -> float:
    """The share of the first k ranks that is relevant; ranks that are empty are not."""
    return sum(relevant[:k]) / k


def score_model(
    documents: Sequence[tuple[Judged, Sequence[int]]],
    *,
    threshold: float,
    k: int,
    unjudged: Unjudged = Unjudged.ZERO,
) -> ModelFigures:
    """Measure one model.

    Args:
        documents: each with the phrases that the model ranked, best first; those of which nothing is graded
            are left out.
        threshold: the lowest grade of a relevant phrase, above 0.
        k: of nDCG and precision, at least 1.
        unjudged: how phrases without a grade count.
    """
    counted = [(judged, ranking) for judged, ranking in documents if judged.grades]
    firsts = [phrase in judged.grades for judged, ranking in counted for phrase in ranking[:k]]
    kept = [
        (judged, [phrase for phrase in ranking if unjudged is Unjudged.ZERO or phrase in judged.grades])
        for judged, ranking in counted
    ]
    gains = [[judged.grades.get(phrase, 0.0) for phrase in ranking] for judged, ranking in kept]
    gold = [
        frozenset(phrase for phrase, grade in judged.grades.items() if grade >= threshold)
        for judged, _ in kept
    ]
    hits = [
        [phrase in relevant for phrase in ranking] for (_, ranking), relevant in zip(kept, gold, strict=True)
    ]
    ndcgs = [ndcg(mine, judged.grades.values(), k) for mine, (judged, _) in zip(gains, kept, strict=True)]
    precisions = [precision_at(mine, k) if gold[place] else None for place, mine in enumerate(hits)]
    return ModelFigures(
        documents=len(counted),
        predictions=sum(len(ranking) for _, ranking in counted),
        judged=sum(phrase in judged.grades for judged, ranking in counted for phrase in ranking),
        judged_at_k=sum(firsts) / len(firsts) if firsts else None,
        ndcg=average(ndcgs),
        precision=average(precisions),
        all=_kind_figures([(gold[n], ranking) for n, (_, ranking) in enumerate(kept)]),
        present=_kind_figures([_of_kind(gold[n], *one, is_present=True) for n, one in enumerate(kept)]),
        absent=_kind_figures([_of_kind(gold[n], *one, is_present=False) for n, one in enumerate(kept)]),
    )


def average(values: Sequence[float | None]) -> Average:
    """The mean of a figure over documents; None stands for a document without anything relevant."""
    known = [value for value in values if value is not None]
    total = math.fsum(known)
    return Average(total / len(known) if known else None, total / len(values) if known else None)


def _of_kind(
    gold: frozenset[int], judged: Judged, ranking: Sequence[int], *, is_present: bool
) -> tuple[frozenset[int], list[int]]:
    return (
        frozenset(phrase for phrase in gold if (phrase in judged.present) is is_present),
        [phrase for phrase in ranking if (phrase in judged.present) is is_present],
    )


def _kind_figures(documents: Sequence[tuple[frozenset[int], Sequence[int]]]) -> KindAverages:
    rows: list[tuple[float, float, float, float] | None] = []
    for gold, ranking in documents:
        if not gold:
            rows.append(None)
            continue
        hits = [phrase in gold for phrase in ranking]
        share = sum(hits) / len(ranking) if ranking else 0.0
        rows.append(
            (
                precision_at(hits, DEFAULT_CUT),
                sum(hits[:DEFAULT_CUT]) / len(gold),
                share,
                sum(hits) / len(gold),
            )
        )
    p5, r5, pm, rm = (average([None if row is None else row[place] for row in rows]) for place in range(4))
    return KindAverages(p5, r5, _f1(p5, r5), pm, rm, _f1(pm, rm), sum(row is not None for row in rows))


def _f1(precision: Average, recall: Average) -> Average:
    def both(p: float | None, r: float | None) -> float | None:
        return None if p is None or r is None else harmonic_mean(p, r)

    return Average(
        both(precision.skip_empty, recall.skip_empty), both(precision.count_empty, recall.count_empty)
    )


THRESHOLD = Decimal(3)
LEAST_THRESHOLD = Decimal("0.25")
DEFAULT_RANKS = 10
MOST_RANKS = 1_000
_LEAST_STEP = np.float32(1e-9)
"""Between tied scores near 0: the next lower number of 32 bits is 0 to programs that know no smaller ones."""
_QUOTED = re.compile(r"\s|%(?=[0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    threshold: Decimal = THRESHOLD
    """The lowest grade of a gold keyphrase, 0.25 to 4."""
    k: int = DEFAULT_RANKS
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
    def judgement(self) -> Judged:
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
            graded=sum(len(document.judgement.grades) for document in self.documents),
            undecided=self.undecided,
            documents_graded=sum(bool(document.judgement.grades) for document in self.documents),
            gold=sum(gold),
            documents_with_gold=sum(map(bool, gold)),
        )

    def figures(self, options: JudgingOptions) -> dict[str, ModelFigures]:
        """The figures of each model, over the documents that it read."""
        return {model: self._score(model, options) for model in self.models}

    def gold_lines(self, threshold: Decimal) -> Iterator[str]:
        """The gold file."""
        for document in self.documents:
            if document.judgement.grades:
                row = {
                    "id": document.id,
                    "title": document.title,
                    "abstract": document.body,
                    "keyphrases": document.gold(threshold),
                    **({"language": document.language} if document.language else {}),
                }
                yield json.dumps(row, ensure_ascii=False) + "\n"

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
            known = ", ".join(self.models) or _("none")
            raise NotFoundError(
                _(
                    "There is no model {model} in the project, which has {known}.",
                    model=quote_value(model),
                    known=known,
                )
            )
        return self._run_lines(model)

    def _run_lines(self, model: str) -> Iterator[str]:
        for document in self.documents:
            names = {phrase.id: phrase.pair for phrase in document.phrases}
            ranked = document.runs.get(model, ())
            scores = run_scores(score for _, score in ranked)
            for rank, ((phrase, _score), score) in enumerate(zip(ranked, scores, strict=True), start=1):
                yield f"{trec_id(document.id)} Q0 {trec_id(names[phrase])} {rank} {score} {trec_id(model)}\n"

    def _score(self, model: str, options: JudgingOptions) -> ModelFigures:
        return score_model(
            [
                (document.judgement, [phrase for phrase, _ in document.runs[model]])
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
    if not threshold.is_finite() or not LEAST_THRESHOLD <= threshold <= CLSS.highest:
        raise SettingsError(
            _(
                "The lowest grade of a keyphrase is {least} to 4, not {threshold}.",
                least=LEAST_THRESHOLD,
                threshold=threshold,
            )
        )
    if not 1 <= k <= MOST_RANKS:
        raise SettingsError(
            _("The number of ranks that count is 1 to {most}, not {k}.", most=f"{MOST_RANKS:,}", k=k)
        )
    return JudgingOptions(threshold, k, unjudged)


def relevance(grade: Decimal) -> int:
    """A gold grade as whole quarters, rounded down: 2.75 is 11, 2.875 too, as it does not reach 3."""
    return CLSS.to_steps(grade)


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


def trec_id(text: str) -> str:
    """An id without white space, which ends a field there; `urllib.parse.unquote` gives the id back."""
    return _QUOTED.sub(lambda found: quote(found[0]), text)
