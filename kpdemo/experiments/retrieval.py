"""What passages add to a model, and the rounds that trained it: RAMKG's Tables 2 to 5."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from kpdemo.errors import ConfigError
from kpdemo.evaluation.metrics import SetScores
from kpdemo.evaluation.retrieval import CUT_OFFS
from kpdemo.evaluation.uncertainty import margin
from kpdemo.experiments.measuring import Advance, ask_all
from kpdemo.experiments.multilingual import Figures, by_language, language_figures, pooled_scores
from kpdemo.experiments.results import Result
from kpdemo.json_text import parse_json
from kpdemo.types import Document, Prediction, RetrievalPrediction, RetrievalPredictor


def with_and_without(
    documents: Sequence[Document], predictor: RetrievalPredictor, advance: Advance
) -> Figures:
    """Under `languages`, of each: figures "with" passages and "without", and their "difference".

    A document that the model refuses has no keyphrases in either; both have the `Refusals`.
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
) -> dict[str, float | None] | None:
    """The mean difference of F1@M, paired by document, and its 95 % interval, None as in `margin`.

    None where no document has keyphrases.
    """
    values = [one.f1 - other.f1 for one, other in zip(first, second, strict=True) if one and other]
    if not values:
        return None
    mean, half = fmean(values), margin(values)
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return {"mean": mean, "low": low, "high": high}


def rounds_result(path: Path) -> Result:
    """What a run of RGIT recorded of its rounds, to be stored.

    Args:
        path: the file `rgit.json` of its folder.

    Raises:
        ConfigError: there is no such file, or it has no rounds.
    """
    try:
        rounds: Result = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The rounds at {path} cannot be read ({error}): check --rounds.") from error
    if not _are_rounds(rounds):
        raise ConfigError(f"{path} has no rounds: give the rgit.json of a model's training as --rounds.")
    return {"kind": "rounds"} | rounds


def _are_rounds(told: Any) -> bool:
    """Whether all is there that the tables of the rounds show."""
    rounds = told.get("rounds") if isinstance(told, dict) else None
    if not isinstance(rounds, list) or not _is_count(told.get("best")):
        return False
    return 1 <= told["best"] <= len(rounds) and all(map(_is_round, rounds))


def _is_round(told: Any) -> bool:
    if not isinstance(told, dict) or not _is_count(told.get("round")):
        return False
    recall = told.get("recall")
    if not isinstance(recall, dict) or not all(_is_share(recall.get(str(k))) for k in CUT_OFFS):
        return False
    if "pseudo_pairs" not in told:
        return True
    accuracy = told.get("label_accuracy", "")  # none where no true passage is known
    figures = [told.get("base_f1"), told.get("f1"), *([] if accuracy is None else [accuracy])]
    return _is_count(told["pseudo_pairs"]) and all(map(_is_share, figures))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1
