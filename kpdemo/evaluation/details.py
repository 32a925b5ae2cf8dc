"""Each document of an evaluation by itself: what was right, wrong and missed, as a line of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from kpdemo.evaluation.protocol import ComparedDocument, summarise
from kpdemo.evaluation.report import shares
from kpdemo.scores import SCORE_DIGITS
from kpdemo.types import Keyphrase


@dataclass(frozen=True, slots=True)
class Details:
    """Where the lines of a run go; `predictions` is what its file is called, empty for a model run now."""

    stream: BinaryIO
    predictions: str = ""

    def add(self, dataset: str, model: str | None, compared: ComparedDocument) -> None:
        """Write the line of a document."""
        run = {"predictions": self.predictions} if self.predictions else {}
        row = {"dataset": dataset, **run, "model": model, **document_row(compared)}
        line = json.dumps(row, ensure_ascii=False)
        self.stream.write(f"{line}\n".encode(errors="backslashreplace"))  # half a character as JSON writes it


def document_row(compared: ComparedDocument) -> dict[str, Any]:
    """What was counted of a document, as it is spelt in gold and predictions, and its scores.

    The scores are null where it has no gold of the kind. Of equal phrases only the first is given, and a
    predicted one has the rank that it was counted at.
    """
    gold, prediction, wanted = compared.gold, compared.prediction, compared.wanted
    found, others = compared.found.present, compared.others.absent
    keyphrases = gold.keyphrases
    dropped = [place for key, place in compared.found.absent.items() if key not in others]
    figures = shares(summarise([compared.scores]), "skip_empty")
    return {
        "id": gold.id,
        "title": gold.title,
        "language": compared.scores.language,
        "gold": {
            "present": [keyphrases[place] for place in wanted.present.values()],
            "absent": [keyphrases[place] for place in wanted.absent.values()],
        },
        "predicted": {
            "present": _ranked(found, prediction.present, wanted.present),
            "absent": _ranked(others, prediction.absent, wanted.absent),
        },
        "missed": {
            "present": [keyphrases[place] for key, place in wanted.present.items() if key not in found],
            "absent": [keyphrases[place] for key, place in wanted.absent.items() if key not in others],
        },
        "not_in_text": [prediction.present[place].text for place in dropped],
        **{kind: None if _is_empty(values.values()) else values for kind, values in figures.items()},
    }


def _ranked(
    found: Mapping[str, int], keyphrases: tuple[Keyphrase, ...], wanted: Mapping[str, int]
) -> list[dict[str, Any]]:
    rows = []
    for rank, (key, place) in enumerate(found.items(), start=1):
        text, score = keyphrases[place].text, keyphrases[place].score
        is_told = math.isfinite(score) and score != 0  # one that a file lacks is read as 0
        told = {"score": round(score, SCORE_DIGITS)} if is_told else {}
        rows.append({"text": text, "rank": rank, **told, "correct": key in wanted})
    return rows


def _is_empty(values: Iterable[float | None]) -> bool:
    return all(value is None for value in values)
