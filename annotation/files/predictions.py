"""Reading predicted keyphrases: bundles that a page hands over, and files of `python -m kpdemo predict`.

A bundle is {"documents": [{"id", "title", "text", "language", "runs": [{"model", "present": […], "absent":
[…]}]}]}, a phrase in it {"text", "score", "key"}: phrases of one document with the same key are the same. A
file of predictions has a line {"id", "present", "absent"} for each document, best first, and may name its
"model"; a file of documents has the same ids with "title" and "abstract" or "text". As for `evaluate`, a
phrase may be a string, and one list "keyphrases" stand for both: the text tells then which are present.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from annotation.errors import ImportFileError
from annotation.exchange import LONGEST_TEXT, FileFormat, open_file, read_rows
from annotation.predictions import PredictedDocument, PredictedPhrase, Run
from annotation.wording import UNSTORABLE, clean_text, quote_value
from kpdemo.text import measured_languages, phrase_key, presence

LONGEST_PHRASE = 1_000
LONGEST_DOCUMENT_ID = 180
"""So that the ids of pairs, which begin with it, have room."""
LONGEST_MODEL = 200
_SIDES = (("present", True), ("absent", False))
_WHOLE = "keyphrases"
_BODIES = ("abstract", "text")


def read_bundle(bundle: Mapping[str, Any]) -> tuple[PredictedDocument, ...]:
    """The documents of a bundle, with the runs of its models.

    Raises:
        ImportFileError: it is not a bundle; the message names document and field.
    """
    found = []
    for number, row in enumerate(_phrase_list(bundle, "documents", "The predictions"), start=1):
        where = f"Document {number}"
        reader = _Reader(_object(row, where), where)
        language = reader.text("language", LONGEST_DOCUMENT_ID)
        runs = [
            _run(_Reader(_object(run, where), f"{where}, run {place}"), language)
            for place, run in enumerate(_phrase_list(reader.fields, "runs", where), start=1)
        ]
        found.append(_document(reader, "text", language, runs))
    return tuple(found)


def read_prediction_files(
    documents: Path, predictions: Sequence[tuple[str, Path]]
) -> Iterator[PredictedDocument]:
    """The documents of a file that were predicted, with what each model said of them.

    Args:
        documents: JSON Lines, compressed or not.
        predictions: the name of a model, or nothing, and its file; without a name, that of the file's rows or
            else of the file.

    Raises:
        ImportFileError: a line cannot be used, two files are of the same model, or a document is missing.
    """
    runs: dict[str, dict[str, _PredictedRow]] = {}
    for name, path in predictions:
        for id, row in _prediction_rows(name, path):
            mine = runs.setdefault(id, {})
            if row.model in mine:
                raise row.reader.error(
                    "id",
                    f"{id!r} is predicted by {row.model!r} already; name the files: --predictions NAME=FILE",
                )
            mine[row.model] = row
    languages = _languages(documents, runs)
    for reader in _readers(documents):
        id = reader.text("id", LONGEST_DOCUMENT_ID)
        rows = runs.pop(id, None)
        if rows is None:
            continue
        language = languages.get(id) or _document_language(reader, rows)
        is_present = partial(presence, *_texts(reader), language)
        found = [_run(row.reader, language, row.model, phrase_key, is_present) for row in rows.values()]
        yield _document(reader, _body_field(reader), language, found)
    if runs:
        id, rows = next(iter(runs.items()))
        first = next(iter(rows.values()))
        raise first.reader.error(
            "id", f"{documents.name} has no document {id!r}; give the file that was predicted"
        )


@dataclass(frozen=True, slots=True)
class _PredictedRow:
    """A line of a file of predictions, and where it stands."""

    model: str
    language: str
    reader: _Reader


def _languages(documents: Path, runs: Mapping[str, Mapping[str, _PredictedRow]]) -> dict[str, str]:
    """The languages of the predicted documents of which nothing tells them."""
    if all(any(row.language for row in rows.values()) for rows in runs.values()):
        return {}
    untold: dict[str, tuple[str, str]] = {}
    for reader in _readers(documents):
        id = reader.text("id", LONGEST_DOCUMENT_ID)
        if id in runs and not _document_language(reader, runs[id]):
            untold[id] = _texts(reader)
    return dict(zip(untold, measured_languages(list(untold.values())), strict=True))


def _document_language(reader: _Reader, rows: Mapping[str, _PredictedRow]) -> str:
    """What the document says, else the first prediction that says it."""
    told = reader.text("language", LONGEST_DOCUMENT_ID)
    return told or next((row.language for row in rows.values() if row.language), "")


def _texts(reader: _Reader) -> tuple[str, str]:
    """Title and body of a document."""
    return reader.text("title", LONGEST_TEXT).strip(), reader.text(_body_field(reader), LONGEST_TEXT)


def _body_field(reader: _Reader) -> str:
    return next((name for name in _BODIES if reader.fields.get(name) is not None), _BODIES[0])


def _prediction_rows(name: str, path: Path) -> Iterator[tuple[str, _PredictedRow]]:
    stem = clean_text(path.name.removesuffix(".gz").rsplit(".", 1)[0])
    usual = name or _only_model(path) or stem
    for reader in _readers(path):
        id = reader.text("id", LONGEST_DOCUMENT_ID)
        if not id:
            raise reader.error("id", "is missing; give the id of a document")
        if problem := _no_prediction(reader.fields):
            raise ImportFileError(f"{reader.where}: {problem}")
        model = name or reader.text("model", LONGEST_MODEL) or usual
        yield id, _PredictedRow(model, reader.text("language", LONGEST_DOCUMENT_ID), reader)


def _no_prediction(fields: Mapping[str, Any]) -> str:
    """Why the fields are no prediction; nothing when they are."""
    if _has_sides(fields):
        return ""
    if _WHOLE not in fields:
        return "it has neither 'present' and 'absent' nor 'keyphrases'; give a file of predictions."
    if any(body in fields for body in _BODIES):
        return "a document with its gold keyphrases; give what a model predicted for it."
    return ""


def _has_sides(fields: Mapping[str, Any]) -> bool:
    return any(side in fields for side, _ in _SIDES)


def _only_model(path: Path) -> str:
    """The one model that lines of the file name: others name none where it was begun before lines did."""
    told = (fields.get("model") for _, fields in _rows(path))
    named = {model for model in told if model and isinstance(model, str)}
    return named.pop() if len(named) == 1 else ""


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a file of JSON Lines, each with what begins messages about it."""
    try:
        with open_file(path, name=path.name) as source:
            for row in read_rows(source, format=FileFormat.JSONL):
                yield f"{path.name}, {row.place}", row.fields
    except FileNotFoundError:
        raise ImportFileError(f"{path}: no such file; check the name.") from None
    except OSError as error:
        raise ImportFileError(f"{path} cannot be read ({error}); check the file.") from None


def _readers(path: Path) -> Iterator[_Reader]:
    return (_Reader(fields, where) for where, fields in _rows(path))


def _document(reader: _Reader, body: str, language: str, runs: Sequence[Run]) -> PredictedDocument:
    title = reader.text("title", LONGEST_TEXT).strip()
    text = reader.text(body, LONGEST_TEXT)
    if not (title + text).strip():
        raise reader.error(body, "is empty; give the text of the document")
    if not runs:
        raise reader.error("runs", "is empty; give the predictions of a model")
    names = [run.model for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise reader.error("model", f"{twice!r} occurs twice; give each model once")
    found = PredictedDocument(reader.text("id", LONGEST_DOCUMENT_ID), title, text, language, tuple(runs))
    if len(found.text) > LONGEST_TEXT:
        raise reader.error(body, f"has {len(found.text):,} characters; shorten it to {LONGEST_TEXT:,}")
    return found


def _run(
    reader: _Reader,
    language: str,
    model: str = "",
    key_of: Callable[[str, str], str] | None = None,
    presence: Callable[[], Callable[[str], bool]] | None = None,
) -> Run:
    """What one model said; where no phrase has a score, the first has 1, the second 1/2, the third 1/3."""
    name = model or reader.text("model", LONGEST_MODEL)
    if not name:
        raise reader.error("model", "is missing; name the model")
    is_in = presence() if presence is not None and not _has_sides(reader.fields) else None
    sides = _SIDES if is_in is None else ((_WHOLE, False),)
    lists = {side: _phrases(reader, side) for side, _ in sides}
    has_scores = any("score" in fields for items in lists.values() for fields in items)
    phrases = []
    for side, is_present in sides:
        for rank, fields in enumerate(lists[side], start=1):
            one = _Reader(fields, f"{reader.where}, field {side!r}")
            text = " ".join(one.text("text", LONGEST_PHRASE).split())
            if any(character.isalnum() for character in text):
                key = one.text("key", LONGEST_PHRASE) or (key_of(text, language) if key_of else "")
                if not key and key_of is None:
                    raise one.error("key", f"is missing; say what makes {text!r} the same as other phrases")
                score = one.score() if has_scores else 1 / rank
                phrases.append(PredictedPhrase(text, score, is_in(text) if is_in else is_present, key))
    return Run(name, tuple(phrases))


def _phrases(reader: _Reader, side: str) -> list[dict[str, Any]]:
    """The phrases of a list; one that is only a text has no other field."""
    items = _phrase_list(reader.fields, side, reader.where)
    return [{"text": item} if isinstance(item, str) else _object(item, reader.where) for item in items]


def _phrase_list(fields: Mapping[str, Any], name: str, where: str) -> list[Any]:
    value = fields.get(name) or []
    if not isinstance(value, list):
        raise ImportFileError(f"{where}, field {name!r}: {quote_value(value)} is not a list; fix it.")
    return value


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ImportFileError(f"{where}: {quote_value(value)} is not a JSON object; fix it.")
    return value


@dataclass(frozen=True, slots=True)
class _Reader:
    """Takes the fields of one object apart; `where` begins every message."""

    fields: Mapping[str, Any]
    where: str

    def text(self, name: str, longest: int) -> str:
        """A text, or a whole number as it is written; empty when there is none."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise self.error(name, f"{quote_value(value)} is not text; put it in quotes")
        if len(value) > longest:
            raise self.error(name, f"has {len(value):,} characters; shorten it to {longest:,}")
        if UNSTORABLE.search(value):
            raise self.error(name, f"{quote_value(value)} holds a NUL or half a character; write it as UTF-8")
        return value

    def score(self) -> float:
        """0 to 1; 0 where there is none."""
        value = self.fields.get("score", 0.0)
        number = float(value) if isinstance(value, Decimal) else value  # as files have it
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
            raise self.error(
                "score", f"{quote_value(value)} is not a score; give numbers from 0 to 1, or none"
            )
        return float(number)

    def error(self, field: str, problem: str) -> ImportFileError:
        return ImportFileError(f"{self.where}, field {field!r}: {problem}.")
