"""Precision, recall and F1 of ranked keyphrases: arithmetic on phrases that are already normalised.

Two families are kept apart. The macro figures follow Chan et al. 2019 and SimCKP (Choi et al. 2023): mean
precision and mean recall first, then F1 as their harmonic mean. The pooled figures follow RAMKG (Gao et al.
2022): one set of phrases a document, and the mean of the documents' own F1.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kpdemo.errors import InputError
from kpdemo.languages import normal_form
from kpdemo.statistics import harmonic_mean
from kpdemo.text import shorten

Convention = Literal["skip_empty", "count_empty"]
Cut = int | Literal["O", "M"]
"""How many of the predictions count: the first so many, as many as there are gold keyphrases, or all."""

CUT = 5
DEEP_CUT = 50
CUTS: tuple[Cut, ...] = (CUT, "M")
"""Those that are always measured."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


class SharesAt(NamedTuple):
    """One document's precision and recall at a cut."""

    precision: float = 0.0
    recall: float = 0.0


class MeansAt(NamedTuple):
    """Averages at a cut, and F1 of them; None where no document has gold of the kind."""

    precision: float | None = None
    recall: float | None = None
    f1: float | None = None


@dataclass(frozen=True, slots=True)
class KindScores:
    """One document's figures for one kind (present or absent); all zero when it has no gold of the kind."""

    has_gold: bool
    at: Mapping[Cut, SharesAt] = field(default_factory=lambda: dict.fromkeys(CUTS, SharesAt()))
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

    at: Mapping[Cut, MeansAt] = field(default_factory=lambda: dict.fromkeys(CUTS, MeansAt()))
    recall_50: float | None = None


def named_metrics(figures: MacroFigures) -> dict[str, float | None]:
    """The figures by the names that reports and model cards give them."""
    named: dict[str, float | None] = {}
    for cut, (precision, recall, f1) in figures.at.items():
        named |= {f"P@{cut}": precision, f"R@{cut}": recall, f"F1@{cut}": f1}
    return named | {f"R@{DEEP_CUT}": figures.recall_50}


@dataclass(frozen=True, slots=True)
class PooledFigures:
    """Means of the documents' own precision, recall and F1; None when no document has gold."""

    precision_m: float | None = None
    recall_m: float | None = None
    f1_m: float | None = None


def named_pooled(figures: PooledFigures) -> dict[str, float | None]:
    """As `named_metrics`."""
    return {"P@M": figures.precision_m, "R@M": figures.recall_m, "F1@M": figures.f1_m}


def with_further(cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    """`CUTS` and these, each once, in order: ranks, then O, then M."""
    every = {*CUTS, *cuts}
    ranks: list[Cut] = [*sorted(cut for cut in every if isinstance(cut, int))]
    named: tuple[Cut, ...] = ("O", "M")
    return (*ranks, *(cut for cut in named if cut in every))


def score_kind(
    gold: Iterable[str],
    predicted: Iterable[str],
    candidates: Iterable[str] | None = None,
    cuts: Iterable[Cut] = CUTS,
) -> KindScores:
    """Compare one document's gold keys with its predicted keys, best first.

    A repeated key counts once, at its first rank. Precision at a rank, and at O, divides by it however few
    predictions there are, precision at M by their number.

    Args:
        candidates: what the predictions were chosen from, best first: recall at 50 is theirs, and at a rank
            and at O they stand in for predictions that the model chose not to give. None where only the
            predictions are known.
    """
    wanted = set(gold)
    if not wanted:
        return KindScores(has_gold=False, at=dict.fromkeys(cuts, SharesAt()))
    given = list(dict.fromkeys(predicted))
    chosen_from = given if candidates is None else list(dict.fromkeys(candidates))
    hits = [key in wanted for key in dict.fromkeys([*given, *chosen_from])]
    deep = wanted.intersection(chosen_from[:DEEP_CUT])

    def shares_at(cut: Cut) -> SharesAt:
        length = {"M": len(given), "O": len(wanted)}[cut] if isinstance(cut, str) else cut
        right = sum(hits[:length])
        return SharesAt(right / length if length else 0.0, right / len(wanted))

    return KindScores(
        has_gold=True,
        at={cut: shares_at(cut) for cut in cuts},
        recall_50=len(deep) / len(wanted),
    )


def macro_average(scores: Iterable[KindScores], convention: Convention) -> MacroFigures:
    """Average over the documents with gold of the kind (`skip_empty`) or over all (`count_empty`).

    In the second a document without gold of the kind counts as zero, whatever was predicted. All documents
    have the same cuts.
    """
    every = list(scores)
    cuts = tuple(every[0].at) if every else CUTS
    with_gold = [document for document in every if document.has_gold]
    if not with_gold:
        return MacroFigures(dict.fromkeys(cuts, MeansAt()))
    count = len(with_gold) if convention == "skip_empty" else len(every)

    def mean(values: Iterable[float]) -> float:
        return math.fsum(values) / count  # fsum: the order of the documents leaves no trace

    def means_at(cut: Cut) -> MeansAt:
        precision = mean(document.at[cut].precision for document in with_gold)
        recall = mean(document.at[cut].recall for document in with_gold)
        return MeansAt(precision, recall, harmonic_mean(precision, recall))

    return MacroFigures(
        at={cut: means_at(cut) for cut in cuts},
        recall_50=mean(document.recall_50 for document in with_gold),
    )


def plain_key(phrase: str) -> str:
    """RAMKG's normal form: lower case, no ASCII punctuation, single spaces, no stemming.

    Before, what `kpdemo.languages.normal_form` makes of characters: accents stay.
    """
    return " ".join(normal_form(phrase).lower().translate(_NO_PUNCTUATION).split())


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


_RANK = re.compile(r"[1-9][0-9]{0,5}")
_LONGEST_SHOWN = 40


def read_cuts(text: str) -> list[Cut]:
    """The cut-offs of a list with commas.

    Raises:
        InputError: an item is not a cut-off.
    """
    return [_read(part.strip()) for part in text.split(",")]


def _read(part: str) -> Cut:
    if part == str(DEEP_CUT):
        raise InputError(f"{part}: R@{part} is computed on the candidates and always reported; leave it out.")
    if _RANK.fullmatch(part):
        return int(part)
    if part.upper() == "O":
        return "O"
    if part.upper() == "M":
        return "M"
    shown = shorten(part, _LONGEST_SHOWN)
    raise InputError(
        f"{shown!r}: give a number from 1 to 999999, such as 10, or O for the number of gold keyphrases."
    )


CUT_OFFS = (1, 2, 5, 10, 20)
"""Of RAMKG, Table 4."""


def rank_of(wanted: str, found: Sequence[str]) -> int | None:
    """The place of a passage among those found, from 1; None when it is not there."""
    return found.index(wanted) + 1 if wanted in found else None


def recall_at(ranks: Sequence[int | None]) -> dict[int, float]:
    """The share of all queries whose passage is among the first k found, for each k.

    Args:
        ranks: of each query's passage, from 1; None where it was not found.

    Raises:
        ValueError: there is no query.

    >>> recall_at([1, 3, None, 2])
    {1: 0.25, 2: 0.5, 5: 0.75, 10: 0.75, 20: 0.75}
    """
    if not ranks:
        raise ValueError("no query to count")
    return {k: sum(rank is not None and rank <= k for rank in ranks) / len(ranks) for k in CUT_OFFS}
