"""Precision, recall and F1 of ranked keyphrases: arithmetic on phrases that are already normalised.

Two families are kept apart. The macro figures follow Chan et al. 2019 and SimCKP (Choi et al. 2023):
mean precision and mean recall first, then F1 as their harmonic mean. The pooled figures follow
RAMKG (Gao et al. 2022): one set of phrases a document, and the mean of the documents' own F1.
"""

from __future__ import annotations

import math
import string
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Convention = Literal["skip_empty", "count_empty"]

CUT = 5
DEEP_CUT = 50

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class KindScores:
    """One document's figures for one kind (present or absent); all zero when it has no gold of the kind."""

    has_gold: bool
    precision_5: float = 0.0
    recall_5: float = 0.0
    precision_m: float = 0.0
    recall_m: float = 0.0
    recall_50: float = 0.0


@dataclass(frozen=True, slots=True)
class SetScores:
    """One document's precision, recall and F1 with present and absent keyphrases in one set."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class MacroFigures:
    """Averages over documents; None where no document has gold of the kind."""

    precision_5: float | None = None
    recall_5: float | None = None
    f1_5: float | None = None
    precision_m: float | None = None
    recall_m: float | None = None
    f1_m: float | None = None
    recall_50: float | None = None


def named_metrics(figures: MacroFigures) -> dict[str, float | None]:
    """The figures by the names that reports and model cards give them."""
    return {
        "P@5": figures.precision_5,
        "R@5": figures.recall_5,
        "F1@5": figures.f1_5,
        "P@M": figures.precision_m,
        "R@M": figures.recall_m,
        "F1@M": figures.f1_m,
        "R@50": figures.recall_50,
    }


@dataclass(frozen=True, slots=True)
class PooledFigures:
    """Means of the documents' own precision, recall and F1; None when no document has gold."""

    precision_m: float | None = None
    recall_m: float | None = None
    f1_m: float | None = None


def harmonic_mean(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def score_kind(
    gold: Iterable[str], predicted: Iterable[str], candidates: Iterable[str] | None = None
) -> KindScores:
    """Compare one document's gold keys with its predicted keys, best first.

    A repeated key counts once, at its first rank. Precision at 5 divides by 5 however few
    predictions there are, precision at M by their number.

    Args:
        candidates: what the predictions were chosen from, best first: recall at 50 is theirs. None where
            only the predictions are known.
    """
    wanted = set(gold)
    if not wanted:
        return KindScores(has_gold=False)
    ranked = list(dict.fromkeys(predicted))
    hits = [key in wanted for key in ranked]
    deep = wanted.intersection(list(dict.fromkeys(ranked if candidates is None else candidates))[:DEEP_CUT])
    return KindScores(
        has_gold=True,
        precision_5=sum(hits[:CUT]) / CUT,
        recall_5=sum(hits[:CUT]) / len(wanted),
        precision_m=sum(hits) / len(ranked) if ranked else 0.0,
        recall_m=sum(hits) / len(wanted),
        recall_50=len(deep) / len(wanted),
    )


def macro_average(scores: Iterable[KindScores], convention: Convention) -> MacroFigures:
    """Average over the documents with gold of the kind (`skip_empty`) or over all (`count_empty`).

    In the second a document without gold of the kind counts as zero, whatever was predicted.
    """
    every = list(scores)
    with_gold = [document for document in every if document.has_gold]
    if not with_gold:
        return MacroFigures()
    count = len(with_gold) if convention == "skip_empty" else len(every)

    def mean(values: Iterable[float]) -> float:
        return math.fsum(values) / count  # fsum: the order of the documents leaves no trace

    precision_5, recall_5 = mean(d.precision_5 for d in with_gold), mean(d.recall_5 for d in with_gold)
    precision_m, recall_m = mean(d.precision_m for d in with_gold), mean(d.recall_m for d in with_gold)
    return MacroFigures(
        precision_5=precision_5,
        recall_5=recall_5,
        f1_5=harmonic_mean(precision_5, recall_5),
        precision_m=precision_m,
        recall_m=recall_m,
        f1_m=harmonic_mean(precision_m, recall_m),
        recall_50=mean(d.recall_50 for d in with_gold),
    )


def plain_key(phrase: str) -> str:
    """RAMKG's normal form: lower case, no ASCII punctuation, single spaces, no stemming; accents in NFC."""
    return " ".join(unicodedata.normalize("NFC", phrase).lower().translate(_NO_PUNCTUATION).split())


def score_sets(gold: Iterable[str], predicted: Iterable[str]) -> SetScores | None:
    """Compare two lists of phrases as sets in their plain form; None when there is no gold."""
    wanted = {key for key in map(plain_key, gold) if key}
    found = {key for key in map(plain_key, predicted) if key}
    if not wanted:
        return None
    right = len(wanted & found)
    precision = right / len(found) if found else 0.0
    recall = right / len(wanted)
    return SetScores(precision, recall, harmonic_mean(precision, recall))


def pooled_average(scores: Iterable[SetScores | None]) -> PooledFigures:
    """Average over the documents with gold; F1 is the mean of their F1."""
    with_gold = [document for document in scores if document is not None]
    if not with_gold:
        return PooledFigures()
    count = len(with_gold)
    return PooledFigures(
        precision_m=math.fsum(d.precision for d in with_gold) / count,
        recall_m=math.fsum(d.recall for d in with_gold) / count,
        f1_m=math.fsum(d.f1 for d in with_gold) / count,
    )
