"""How good a ranking of graded phrases is: nDCG, precision and F1 for each model.

nDCG is that of Järvelin and Kekäläinen (2002) with the discount of `ndcg` of trec_eval and `ndcg_score` of
scikit-learn, log2(r + 1) of rank r; the gain of a phrase is its gold grade, 0 to 4. The ideal ranking is that
of all graded phrases of the document, whoever predicted them.

A phrase is relevant when its grade reaches the threshold. Precision at k divides by k, however few phrases
there are; precision at M by their number. F1 is the harmonic mean of mean precision and mean recall (Choi et
al. 2023). Recall counts the relevant phrases that some model predicted: nobody graded any other.

A phrase without a gold grade counts as not relevant (`Unjudged.ZERO`, as trec_eval has it), or is taken out
of the ranking before anything is counted (`Unjudged.SKIP`, Sakai 2007).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

CUT = 5
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


def harmonic_mean(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


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
        rows.append((precision_at(hits, CUT), sum(hits[:CUT]) / len(gold), share, sum(hits) / len(gold)))
    p5, r5, pm, rm = (average([None if row is None else row[place] for row in rows]) for place in range(4))
    return KindAverages(p5, r5, _f1(p5, r5), pm, rm, _f1(pm, rm), sum(row is not None for row in rows))


def _f1(precision: Average, recall: Average) -> Average:
    def both(p: float | None, r: float | None) -> float | None:
        return None if p is None or r is None else harmonic_mean(p, r)

    return Average(
        both(precision.skip_empty, recall.skip_empty), both(precision.count_empty, recall.count_empty)
    )
