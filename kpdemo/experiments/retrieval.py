"""What passages add to a model, and the rounds that trained it: RAMKG's Tables 2 to 5."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kpdemo.errors import ConfigError
from kpdemo.evaluation.metrics import SetScores
from kpdemo.experiments.measuring import Advance, ask_all
from kpdemo.experiments.multilingual import Figures, by_language, language_figures, pooled_scores
from kpdemo.experiments.results import Result, Results
from kpdemo.types import Document, Prediction, RetrievalPrediction, RetrievalPredictor

RESAMPLES = 2_000
SEED = 42


def with_and_without(
    documents: Sequence[Document], predictor: RetrievalPredictor, advance: Advance
) -> Figures:
    """Under `languages`, of each: figures "with" passages and "without", and their "difference".

    A document that the model refuses has no keyphrases in either; both tell the `Refusals`.
    """
    languages: dict[str, Figures] = {}
    for code, group in by_language(documents).items():
        nothing = RetrievalPrediction((), Prediction(()), Prediction(()))
        answers, refusals = ask_all(group, predictor.predict_with_passages, nothing, advance)
        helped = [answer.prediction for answer in answers]
        alone = [answer.without for answer in answers]
        languages[code] = {
            "with": language_figures(group, helped) | refusals,
            "without": language_figures(group, alone) | refusals,
            "difference": difference(pooled_scores(group, helped), pooled_scores(group, alone)),
        }
    return {"documents": len(documents), "languages": languages}


def difference(
    first: Sequence[SetScores | None], second: Sequence[SetScores | None]
) -> dict[str, float] | None:
    """The mean difference of F1@M, paired by document, and its 95 % percentile bootstrap interval.

    None where no document has keyphrases.
    """
    values = np.array([one.f1 - other.f1 for one, other in zip(first, second, strict=True) if one and other])
    if not len(values):
        return None
    random = np.random.default_rng(SEED)
    means = values[random.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return {"mean": float(values.mean()), "low": float(low), "high": float(high)}


def store_rounds(path: Path, results: Results) -> None:
    """Keep what a run of RGIT tells of its rounds.

    Args:
        path: the file `rgit.json` of its folder.

    Raises:
        ConfigError: there is none.
    """
    try:
        rounds: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The rounds at {path} cannot be read ({error}): check --rounds.") from error
    described: Result = {"kind": "rounds"} | rounds
    results.write("rounds", described)
