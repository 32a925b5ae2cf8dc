"""Predictions in files: JSON, CSV for spreadsheets, and the bundle that annotation takes.

Texts that a spreadsheet would run as a formula begin with an apostrophe (`escape_formula`); numbers, and
JSON, are as they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from kpdemo.errors import InputError
from kpdemo.io.tables import BYTE_ORDER_MARK, ReportLine, escape_formula, line_name, read_rows, report
from kpdemo.passages import passage_rows
from kpdemo.text import phrase_key
from kpdemo.types import SCORE_DIGITS, Document, Keyphrase, Kind, Origin, Prediction, RetrievalPrediction

SECONDS_DIGITS = 3


def document_record(
    document: Document,
    prediction: Prediction,
    *,
    model: str,
    device: str,
    seconds: float,
    retrieval: RetrievalPrediction | None = None,
) -> dict[str, Any]:
    """The result of one document as `predict --json` and the page give it; spans count in "text".

    Args:
        retrieval: what a model that retrieves found; None for another model.
    """
    return {
        "language": prediction.language,
        **keyphrase_rows(prediction),
        **({} if retrieval is None else {"passages": passage_rows(retrieval)}),
        "warnings": [*document.warnings, *prediction.warnings],
        "model": model,
        "device": device,
        "seconds": round(seconds, SECONDS_DIGITS),
        "text": document.text,
        "text_offset": document.body_start,
    }


def prediction_row(
    id: str, prediction: Prediction, retrieval: RetrievalPrediction | None = None
) -> dict[str, Any]:
    """A prediction as a row of a predictions file."""
    language = {"language": prediction.language} if prediction.language else {}
    found = {"passages": passage_rows(retrieval)} if retrieval and retrieval.passages else {}
    warnings = {"warnings": list(prediction.warnings)} if prediction.warnings else {}
    return {"id": id, **language, **keyphrase_rows(prediction), **found, **warnings}


def keyphrase_rows(prediction: Prediction) -> dict[str, list[Any]]:
    """The keyphrases as plain values for JSON, without what the predictor does not tell."""
    rows = prediction.to_dict()
    return {name: value for name, value in rows.items() if name not in ("language", "warnings")}


def read_predictions(
    path: str | Path, *, on_error: ReportLine | None = None, may_be_lists: bool = False
) -> dict[str, Prediction]:
    """The predictions of a file, by the id of their document; spans are not read back.

    Doubtful keyphrases are among the absent ones too.

    Args:
        may_be_lists: whether a line may have one list "keyphrases" instead of "present" and "absent". Both
            sides then hold all of it, for callers that split it by the text.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first bad line.
    """
    predictions: dict[str, Prediction] = {}
    for line, row in read_rows(path, on_error=on_error):
        try:
            id, prediction = _prediction_from_row(row, may_be_lists)
            if id in predictions:
                raise InputError(f'"{id}" is predicted on an earlier line too; delete one of them.')
        except InputError as error:
            report(InputError(f"{line_name(str(path), line)}: {error}"), line, on_error)
        else:
            predictions[id] = prediction
    return predictions


def _prediction_from_row(row: dict[str, Any], may_be_lists: bool) -> tuple[str, Prediction]:
    id = row.get("id")
    if not isinstance(id, (str, int)):
        raise InputError('no field "id"; give a file that `predict --output` wrote.')
    candidates = row.get("absent_candidates", [])
    if not _are_strings(candidates):
        raise InputError('"absent_candidates" is not a list of strings; fix or delete the line.')
    if "present" in row or "absent" in row:
        present = _keyphrases(row, "present")
        doubtful = _keyphrases(row, "doubtful")
        every = (*_keyphrases(row, "absent"), *doubtful)
        absent = tuple(sorted(every, key=lambda one: -one.score)) if "doubtful" in row else every
    elif not may_be_lists or "keyphrases" not in row:
        raise InputError('neither "present" nor "absent"; give a file that `predict --output` wrote.')
    elif "abstract" in row or "text" in row:
        raise InputError("a document with its gold keyphrases; give what a model predicted for it.")
    else:
        present = absent = _keyphrases(row, "keyphrases")
        doubtful = ()
    language = row.get("language")
    told = language if isinstance(language, str) else ""
    known = Prediction(present, absent, told, absent_candidates=tuple(candidates), doubtful=doubtful)
    return str(id), known


def _keyphrases(row: dict[str, Any], side: str) -> tuple[Keyphrase, ...]:
    items = row.get(side, [])
    try:
        if not isinstance(items, list):
            raise TypeError(items)
        return tuple(_keyphrase({"text": item} if isinstance(item, str) else item) for item in items)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise InputError(
            f'"{side}" is not a list of strings or {{"text", "score"}}; fix or delete the line.'
        ) from None


def _keyphrase(item: dict[str, Any]) -> Keyphrase:
    """One of a row; what others may have written under "kind" and the like is not an error."""
    text, evidence = item["text"], item.get("evidence")
    if not isinstance(text, str):
        raise TypeError(text)
    return Keyphrase(
        text,
        float(item.get("score", 0.0)),
        source=next((source for source in Origin if source == item.get("source")), None),
        kind=next((kind for kind in Kind if kind == item.get("kind")), None),
        evidence=tuple(evidence) if _are_strings(evidence) else (),
        filler=item.get("filler") is True,
    )


def _are_strings(values: object) -> TypeGuard[list[str]]:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


COLUMNS = ("keyphrase", "score", "count", "first", "kind", "source", "evidence", "filler")
_BETWEEN = "; "


def keyphrase_cells(row: Mapping[str, Any]) -> Iterator[list[object]]:
    """The cells under `COLUMNS` of each keyphrase of a row of `keyphrase_rows`, the present ones first.

    `first` is the offset of the first character of the first occurrence; `kind` is "present", or of an absent
    one "reordered", "mixed", "unseen" or, where the model does not tell, "absent"; `filler` is "yes" or "no".
    """
    for side in ("present", "absent"):
        for item in row[side]:
            spans = item.get("spans", [])
            yield [
                escape_formula(item["text"]),
                score_cell(item["score"]),
                len(spans),
                spans[0][0] if spans else "",
                item.get("kind", "absent") if side == "absent" else side,
                item.get("source", ""),
                listed_cell(item.get("evidence", [])),
                "yes" if item.get("filler") else "no",
            ]


def write_predictions_table(predictions: Path, output: Path, *, places: Sequence[str] = ("id",)) -> None:
    """A file of predictions as a table; a document without keyphrases has no row in it.

    Args:
        places: the fields of a prediction that come before `COLUMNS`.

    Raises:
        InputError: a line is not as `kpdemo.batch` writes it.
    """
    with output.open("w", encoding="utf-8", newline="") as stream:
        stream.write(BYTE_ORDER_MARK)
        writer = csv.writer(stream)
        writer.writerow([*places, *COLUMNS])
        for line, row in read_rows(predictions):
            try:
                place = [escape_formula(row[name]) for name in places]
                writer.writerows([*place, *cells] for cells in keyphrase_cells(row))
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                raise InputError(
                    f"{line_name(str(predictions), line)}: not as `predict --output` writes it; delete the "
                    "line and predict its document again."
                ) from None


def listed_cell(texts: Iterable[str]) -> str:
    return escape_formula(_BETWEEN.join(texts))


def score_cell(score: float) -> str:
    return f"{score:.{SCORE_DIGITS}f}"


def table_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows([names, *rows])
    return BYTE_ORDER_MARK + stream.getvalue()


def bundle_of(documents: Iterable[tuple[Document, Mapping[str, Prediction]]]) -> dict[str, Any]:
    """The documents with what each model predicted, by the model's name.

    A phrase has the key by which this package compares phrases, so that several models' spellings of one
    phrase can be merged.
    """
    return {"documents": [_document(document, predictions) for document, predictions in documents]}


def count_phrases(bundle: Mapping[str, Any]) -> int:
    """How many phrases there are, those of several models counted once for each document."""
    return sum(
        len({phrase["key"] for run in document["runs"] for phrase in (*run["present"], *run["absent"])})
        for document in bundle["documents"]
    )


def _document(document: Document, predictions: Mapping[str, Prediction]) -> dict[str, Any]:
    found = (prediction.language for prediction in predictions.values() if prediction.language)
    language = document.language or next(found, "")
    runs = [
        {
            "model": model,
            "present": _phrases(prediction.present, language),
            "absent": _phrases(prediction.absent, language),
        }
        for model, prediction in predictions.items()
    ]
    return {
        "id": document.id,
        "title": document.title,
        "text": document.body,
        "language": language,
        "runs": runs,
    }


def _phrases(keyphrases: Sequence[Keyphrase], language: str) -> list[dict[str, Any]]:
    return [
        {
            "text": keyphrase.text,
            "score": min(1.0, max(0.0, keyphrase.score)),
            "key": phrase_key(keyphrase.text, language),
        }
        for keyphrase in keyphrases
        if any(character.isalnum() for character in keyphrase.text)
    ]
