"""A predictor measured on documents, as JSON."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from kpdemo.batch.predicting import ask_each
from kpdemo.errors import InputError
from kpdemo.evaluation.measuring import document_scores
from kpdemo.evaluation.protocol import summarise
from kpdemo.evaluation.report import dataset_to_json
from kpdemo.evaluation.uncertainty import standard_errors
from kpdemo.experiments.refusals import Refusals, told_refusals
from kpdemo.markup import without_markup
from kpdemo.types import Document, Prediction, Predictor

BATCH = 32

Answer = TypeVar("Answer")

Advance = Callable[[int], None]
"""Called with the number of documents that are done."""


def without(documents: Iterable[Document], seen: Collection[str]) -> list[Document]:
    """Those whose text is not among `seen`: what chose a threshold is not a fair test of it.

    Args:
        seen: texts as models read them.
    """
    return [document for document in documents if without_markup(document).text not in seen]


def measure(documents: Sequence[Document], predictor: Predictor, advance: Advance) -> dict[str, Any]:
    """Figures of present and absent keyphrases with their standard errors, see `figures`, and `Refusals`."""
    predictions, refusals = predict_all(documents, predictor, advance)
    return figures(documents, predictions) | refusals


def predict_all(
    documents: Sequence[Document], predictor: Predictor, advance: Advance
) -> tuple[list[Prediction], Refusals]:
    """A prediction for each document, without keyphrases where it was refused, and what was refused."""
    return ask_all(documents, predictor.predict, Prediction(()), advance)


def ask_all(
    documents: Sequence[Document],
    ask: Callable[[Sequence[Document]], Sequence[Answer]],
    instead: Answer,
    advance: Advance,
) -> tuple[list[Answer], Refusals]:
    """An answer for each document, `instead` where it was refused, and what was refused."""
    outcomes: list[Answer | InputError] = []
    for first in range(0, len(documents), BATCH):
        batch = documents[first : first + BATCH]
        outcomes += ask_each(batch, ask)
        advance(len(batch))
    answers = [instead if isinstance(one, InputError) else one for one in outcomes]
    return answers, told_refusals(outcomes)


def figures(documents: Sequence[Document], predictions: Sequence[Prediction]) -> dict[str, Any]:
    """As `evaluate --json` prints them for a dataset, and `standard_error` for each kind (`skip_empty`)."""
    scores = document_scores(documents, predictions)
    return dataset_to_json(summarise(scores)) | {
        "standard_error": {
            "present": standard_errors([score.present for score in scores]),
            "absent": standard_errors([score.absent for score in scores]),
        }
    }


def machine(device: str) -> str:
    """What it was measured on, in words."""
    return "a GPU" if device == "cuda" else f"a CPU ({platform.machine()})"
