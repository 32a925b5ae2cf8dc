"""Predictions measured against the gold of their documents, in all and one by one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from kpdemo.batch import recorded_model
from kpdemo.errors import InputError
from kpdemo.evaluation.metrics import CUTS, Cut
from kpdemo.evaluation.protocol import (
    ComparedDocument,
    DatasetFigures,
    DocumentScores,
    ReportCompared,
    score_documents,
    summarise,
    summarise_languages,
)
from kpdemo.evaluation.report import Report, shares
from kpdemo.io.predictions import read_predictions
from kpdemo.io.tables import LineError, ReportLine, read_rows
from kpdemo.languages import identify_together
from kpdemo.pipeline import OWN_RULE, read_with_passages
from kpdemo.selection import EVERYTHING, choose
from kpdemo.types import SCORE_DIGITS, Document, Keyphrase, Prediction, Predictor, RetrievalPrediction


def predict_everything(predictor: Predictor, documents: Sequence[Document]) -> list[RetrievalPrediction]:
    """What is measured: also the keyphrases that answers leave out as seldom right, named in `doubtful`."""
    found = read_with_passages(predictor, documents, EVERYTHING)
    return [
        replace(one, prediction=replace(one.prediction, doubtful=choose(one.prediction, OWN_RULE).doubtful))
        for one in found
    ]


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
            "present": _rank_rows(found, prediction.present, wanted.present),
            "absent": _rank_rows(others, prediction.absent, wanted.absent),
        },
        "missed": {
            "present": [keyphrases[place] for key, place in wanted.present.items() if key not in found],
            "absent": [keyphrases[place] for key, place in wanted.absent.items() if key not in others],
        },
        "not_in_text": [prediction.present[place].text for place in dropped],
        **{
            kind: None if all(value is None for value in values.values()) else values
            for kind, values in figures.items()
        },
    }


def _rank_rows(
    found: Mapping[str, int], keyphrases: tuple[Keyphrase, ...], wanted: Mapping[str, int]
) -> list[dict[str, Any]]:
    rows = []
    for rank, (key, place) in enumerate(found.items(), start=1):
        text, score = keyphrases[place].text, keyphrases[place].score
        is_told = math.isfinite(score) and score != 0  # one that a file lacks is read as 0
        told = {"score": round(score, SCORE_DIGITS)} if is_told else {}
        rows.append({"text": text, "rank": rank, **told, "correct": key in wanted})
    return rows


BeforeEach = Callable[[], None]
"""Called before each document is measured; what it raises ends the measuring."""
ReportMissing = Callable[[str, Sequence[str]], None]
"""Called with the name of a dataset and the ids of its documents that have no prediction."""
SHOWN_MISSING = 3


def document_scores(
    documents: Sequence[Document],
    predictions: Sequence[Prediction],
    before_each: BeforeEach | None = None,
    on_compared: ReportCompared | None = None,
    cuts: Sequence[Cut] = CUTS,
    *,
    released: bool = False,
) -> list[DocumentScores]:
    """Each document's scores, in the language that it is measured in; other arguments as in `evaluate`."""
    golds: Iterable[Document] = identify_together(documents)
    told = golds if before_each is None else _call_before_each(golds, before_each)
    return score_documents(told, predictions, on_compared, cuts, released=released)


def measure_file(
    datasets: Mapping[str, Sequence[Document]],
    path: Path,
    *,
    on_missing: ReportMissing,
    on_error: ReportLine | None = None,
    whole: bool = True,
    before_each: BeforeEach | None = None,
    details: Details | None = None,
    cuts: Sequence[Cut] = CUTS,
    released: bool = False,
) -> Report:
    """Measure what `predict --output` wrote, or whole lists of keyphrases, present or absent by the text.

    Args:
        datasets: the gold documents, by the name of their file.
        path: the predictions.
        on_missing: called with the documents of a dataset that have no prediction; they count as empty.
        on_error: called with each bad line.
        whole: whether `datasets` hold all gold documents; then a prediction must be of one of them.
        before_each: called before each document.
        details: called with each document of each dataset.
        cuts: at how many predictions to measure.
        released: see `kpdemo.evaluation.protocol.compare_document`.

    Raises:
        InputError: ids do not fit, no line is a prediction, or the file cannot be read; without `on_error`,
            also the first bad line.
    """
    problems: list[LineError] = []
    report_problem = None if on_error is None else problems.append
    predictions = read_predictions(path, on_error=report_problem, may_be_lists=True)
    if not predictions:  # figures of nothing but zeros would be taken for the model's
        nothing = f"{path}: no prediction in the file; give one that `predict --output` wrote."
        raise InputError(problems[0].message if problems else nothing)
    if on_error is not None:
        for problem in problems:
            on_error(problem)
    _check_ids(datasets, predictions, path if whole else None)
    model = recorded_model(path) or _model_of_rows(path)
    figures, without_prediction = {}, {}
    for name, documents in datasets.items():
        if missing := [document.id for document in documents if document.id not in predictions]:
            on_missing(name, missing)
            without_prediction[name] = missing
        found = [predictions.get(document.id, Prediction(())) for document in documents]
        on_compared = None if details is None else partial(details.add, name, model)
        scores = document_scores(documents, found, before_each, on_compared, cuts, released=released)
        figures[name] = summarise_languages(scores)
    return Report(
        figures,
        model=model,
        without_gold=without_gold(datasets),
        without_prediction=without_prediction,
        released=released,
    )


def without_gold(datasets: Mapping[str, Sequence[Document]]) -> dict[str, list[str]]:
    """The ids of the documents that have no gold keyphrases, of each dataset that has such."""
    ids = {
        name: [document.id for document in documents if not document.keyphrases]
        for name, documents in datasets.items()
    }
    return {name: found for name, found in ids.items() if found}


def missing_message(dataset: str, ids: Sequence[str]) -> str:
    """A sentence on documents without a prediction."""
    named = _first_few(ids)
    if len(ids) == 1:
        return f"{dataset}, document {named}: no prediction; counted as empty."
    return f"{dataset}: no prediction for {len(ids):,} documents, {named}; counted as empty."


def without_gold_message(dataset: str, ids: Sequence[str], documents: int) -> str:
    """A sentence on those of that many documents that have no gold keyphrases."""
    have, them = ("has", "it") if len(ids) == 1 else ("have", "them")
    return (
        f"{dataset}: {len(ids):,} of {documents:,} documents {have} no gold keyphrases, {_first_few(ids)}; "
        f"skip_empty leaves {them} out, count_empty counts {them} as zero."
    )


def not_in_text_message(dataset: str, figures: DatasetFigures) -> str:
    """A sentence on predictions that earn nothing whatever the gold; nothing where there are none."""
    count = figures.not_in_text
    if not count:
        return ""
    those = (
        "1 keyphrase that was predicted as present is"
        if count == 1
        else (f"{count:,} keyphrases that were predicted as present are")
    )
    return (
        f"{dataset}: {those} not in the text by the rule of docs/evaluation.md, for example because "
        "they run from the title into the body, and counted as if not predicted."
    )


def _first_few(ids: Sequence[str]) -> str:
    """The first few."""
    named = ", ".join(f'"{id}"' for id in ids[:SHOWN_MISSING])
    return named if len(ids) <= SHOWN_MISSING else f"{named} and others"


def _check_ids(
    datasets: Mapping[str, Sequence[Document]], predictions: Mapping[str, Prediction], whole: Path | None
) -> None:
    home: dict[str, str] = {}
    for name, documents in datasets.items():
        for document in documents:
            if (other := home.get(document.id)) == name:
                raise InputError(
                    f"Two gold documents have the id {document.id!r}: give every document its own id."
                )
            if other is not None:
                raise InputError(f'The id "{document.id}" is in {other} and {name}; evaluate one at a time.')
            home[document.id] = name
    stray = next((id for id in predictions if id not in home), None)
    if stray is not None and whole is not None:
        raise InputError(
            f'{whole}: "{stray}" is not the id of a gold document; give the gold file that belongs to it.'
        )


def _call_before_each(golds: Iterable[Document], before_each: BeforeEach) -> Iterator[Document]:
    for gold in golds:
        before_each()
        yield gold


def _model_of_rows(path: Path) -> str | None:
    """What all lines of a predictions file call their model, if they do."""
    values = (row.get("model") for _, row in read_rows(path, on_error=_ignore))
    names = {value if isinstance(value, str) else "" for value in values}
    return (names.pop() or None) if len(names) == 1 else None


def _ignore(error: LineError) -> None:
    """It was reported when the predictions were read."""
