"""Models in several languages, measured as RAMKG's Tables 2 and 3: pooled P, R and F1@M of each language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kpdemo.evaluation.measuring import document_scores
from kpdemo.evaluation.metrics import SetScores, named_pooled, pooled_average
from kpdemo.evaluation.report import UNDEFINED
from kpdemo.evaluation.uncertainty import standard_error
from kpdemo.experiments.measuring import Advance, figures, predict_all
from kpdemo.experiments.refusals import all_refused
from kpdemo.languages.datasets import identified_together
from kpdemo.types import Document, Prediction, Predictor

Figures = dict[str, Any]


def by_language(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """The documents of each language that they are measured in, by its code; no model sees it."""
    groups: dict[str, list[Document]] = {}
    for document, measured in zip(documents, identified_together(documents), strict=True):
        groups.setdefault(measured.language, []).append(document)
    return dict(sorted(groups.items()))


def measure_languages(documents: Sequence[Document], predictor: Predictor, advance: Advance) -> Figures:
    """Under `languages` the figures of each, and `pooled` of all: the average weighted by documents.

    A document that the model refuses, such as one in a language that it does not read, has no keyphrases.
    """
    languages: dict[str, Figures] = {}
    every: list[SetScores | None] = []
    for code, group in by_language(documents).items():
        predictions, refusals = predict_all(group, predictor, advance)
        every += pooled_scores(group, predictions)
        languages[code] = language_figures(group, predictions) | refusals
    return {
        "documents": len(every),
        "languages": languages,
        "pooled": named_pooled(pooled_average(every)),
        "pooled_error": _error(every),
    }


def language_figures(documents: Sequence[Document], predictions: Sequence[Prediction]) -> Figures:
    """Of documents of one language, with the standard error of the pooled F1@M as `pooled_error`."""
    return figures(documents, predictions) | {"pooled_error": _error(pooled_scores(documents, predictions))}


def pooled_scores(documents: Sequence[Document], predictions: Sequence[Prediction]) -> list[SetScores | None]:
    """RAMKG's scores of each document; None for one without keyphrases."""
    return [scores.pooled for scores in document_scores(documents, predictions)]


def _error(scores: Sequence[SetScores | None]) -> float | None:
    """The standard error of the mean F1 of the documents with gold."""
    return standard_error([score.f1 for score in scores if score is not None])


def pooled_cell(result: Mapping[str, Any], dataset: str, language: str) -> str:
    """See `figures_cell`; a dash also where the model was not asked."""
    found = result["datasets"].get(dataset, {}).get("languages", {}).get(language)
    return UNDEFINED if found is None else figures_cell(found)


def figures_cell(found: Mapping[str, Any]) -> str:
    """P, R and F1@M in percent with the standard error of F1; a dash where nothing was measured.

    Args:
        found: the figures of a language.
    """
    if all_refused(found) or found["pooled"]["F1@M"] is None:
        return UNDEFINED
    precision, recall, f1 = (100 * found["pooled"][name] for name in ("P@M", "R@M", "F1@M"))
    error = "" if found["pooled_error"] is None else f" ± {100 * found['pooled_error']:.1f}"
    return f"{precision:.1f} / {recall:.1f} / **{f1:.1f}**{error}"
