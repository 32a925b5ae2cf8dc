"""Predictions of several models as one value that annotation takes: plain dicts and lists, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kpdemo.text import phrase_key
from kpdemo.types import Document, Keyphrase, Prediction


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
