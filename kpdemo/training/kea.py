"""Training of the baseline with supervised features (`kpdemo.evaluation.kea`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from tqdm import tqdm

from kpdemo.candidates.chunks import Candidate
from kpdemo.candidates.noun_phrases import key_of
from kpdemo.errors import TrainingError
from kpdemo.evaluation.kea import Features, Kea, LanguageTables, mine_ngrams
from kpdemo.evaluation.metrics import pooled_average, score_sets
from kpdemo.languages import identify, language_name
from kpdemo.selection import best_first
from kpdemo.training.cards import source_list
from kpdemo.training.data import Positive, Source, draw_documents, refuse_repeats
from kpdemo.types import Document

MOST_GIVEN = 15
_EVERY = 10  # one document in this many chooses how many keyphrases are given


@dataclass(frozen=True)
class KeaTraining:
    """Attributes:
    data: the folder that the paths of the sources start from.
    pool: documents drawn from the sources.
    longest: most words of a candidate; characters or morphemes where a language has no spaces.
    least: a candidate that occurs in fewer training documents is not counted.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    name: str = "kea"
    data: Path = Path("data")
    output: Path = Path("runs/kea")
    pool: Positive = 10_000
    longest: Positive = 4
    least: Positive = 3
    seed: int = 42

    def __post_init__(self) -> None:
        refuse_repeats(self.train, "KEA counts")


@dataclass(frozen=True)
class _Mined:
    document: Document
    candidates: list[Candidate]
    gold: frozenset[str]


def train_kea(config: KeaTraining) -> Kea:
    """Raises:
    TrainingError: there is no document; or of a language none has a keyphrase among its candidates, or all
        candidates are keyphrases.
    """
    drawn = draw_documents(config.train, config.data, config.pool, config.seed)
    groups: dict[str, list[_Mined]] = defaultdict(list)
    for document, _ in tqdm(drawn, desc="candidates", unit="doc"):
        own = identify(document)
        gold = frozenset(key for phrase in own.keyphrases if (key := key_of(phrase, own)))
        candidates = mine_ngrams(own, config.longest)
        if candidates:
            groups[own.language].append(_Mined(own, candidates, gold))
    if not groups:
        raise TrainingError("No training document has keyphrases and words to learn from: check the sources.")
    tables = {language: learn_tables(language, groups[language], config) for language in sorted(groups)}
    return Kea(config.name, tables, config.longest)


def learn_tables(language: str, mined: Sequence[_Mined], config: KeaTraining) -> LanguageTables:
    """Count in all documents of a language, fit on nine in ten, and choose the number on the others."""
    frequency = Counter(candidate.key for one in mined for candidate in one.candidates)
    keyphrases = Counter(key for one in mined for key in one.gold)
    tables = LanguageTables(
        documents=len(mined),
        frequency={key: count for key, count in frequency.items() if count >= config.least},
        keyphrases={key: count for key, count in keyphrases.items() if count > 1},
    )
    fitted = _fit(language, tables, [one for number, one in enumerate(mined) if number % _EVERY])
    return replace(fitted, count=_best_count(fitted, mined[::_EVERY]))


def _fit(language: str, tables: LanguageTables, mined: Sequence[_Mined]) -> LanguageTables:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rows = [row for one in mined for row in _features(tables, one)]
    labels = [candidate.key in one.gold for one in mined for candidate in one.candidates]
    if not mined:
        raise TrainingError(
            f"There is 1 {language_name(language)} document with keyphrases: give at least two of a "
            "language, or leave it out."
        )
    if len(set(labels)) < 2:
        raise TrainingError(
            f"The {language_name(language)} documents have no keyphrase among their candidates, or no other "
            "candidates: give more documents."
        )
    scaler = StandardScaler()
    values = scaler.fit_transform(np.asarray(rows))
    classifier = LogisticRegression(max_iter=1000).fit(values, labels)
    weights = classifier.coef_[0] / scaler.scale_
    first, second, third, fourth = map(float, weights)
    bias = float(classifier.intercept_[0] - weights @ scaler.mean_)
    return replace(tables, weights=(first, second, third, fourth), bias=bias)


def _features(tables: LanguageTables, one: _Mined) -> list[Features]:
    return tables.features(one.document, one.candidates, gold=one.gold)


def _best_count(tables: LanguageTables, mined: Sequence[_Mined]) -> int:
    """The number of keyphrases with the best pooled F1@M."""
    ranked: list[tuple[Document, list[str]]] = []
    for one in mined:
        values = [tables.probability(row) for row in _features(tables, one)]
        order = best_first(values)[:MOST_GIVEN]
        text = one.document.text
        ranked.append((one.document, [text[slice(*one.candidates[index].spans[0])] for index in order]))

    def figure(count: int) -> float:
        scores = (score_sets(document.keyphrases, texts[:count]) for document, texts in ranked)
        return pooled_average(scores).f1_m or 0.0

    return max(range(1, MOST_GIVEN + 1), key=figure)


def kea_card(config: KeaTraining, model: Kea) -> str:
    """Markdown, from the configuration and the result of the run."""
    rows = "\n".join(_row(language, tables) for language, tables in model.tables.items())
    return f"""# {config.name}: present keyphrases by four features

TF×IDF, first occurrence, length and keyphrase frequency, as in KEA (Witten et al. 1999), put together by a
logistic regression for each language; trained by `python -m kpdemo train kea`. It is a baseline.

| language | documents | TF×IDF | first occurrence | words | keyphrase frequency | given |
|---|---|---|---|---|---|---|
{rows}

The weights are of the features as they are; as many keyphrases are given as had the best F1@M on one
document in {_EVERY}.

Sources:

{source_list(config.train)}
"""


def _row(language: str, tables: LanguageTables) -> str:
    weights = " | ".join(f"{weight:.3f}" for weight in tables.weights)
    return f"| {language_name(language)} | {tables.documents:,} | {weights} | {tables.count} |"
