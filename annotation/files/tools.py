"""Exports of other annotation tools, row by row as rows of ours: pairs, and who gave them which grade.

- Label Studio: JSON (`data`, `annotations`), and JSON-MIN and CSV, where each annotation is a row. Cancelled
  annotations and predictions are no ratings.
- Argilla: `records.to_json` (`fields`, `responses`), and the flat form of datasets on the Hub
  (`QUESTION.responses`). Drafts and discarded responses are no ratings.
- doccano: JSONL. The rater is the file's name, as each user has a file; of `all.jsonl` it is rater 1.
- Prodigy: JSONL of `db-out`. Only accepted answers are ratings.
- Potato: `annotated_instances` as JSONL, CSV or TSV.

A grade is the number of a rating, or that with which a label begins ("3 Somewhat similar", "scale_3").
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from html import unescape
from pathlib import PurePath
from typing import Any, NamedTuple

from annotation.columns import TEXTS, Columns, guess_columns
from annotation.errors import ImportFileError
from kpdemo.io.tables import column_name

_NUMBER = re.compile(r"(?:scale[_ ])?(\d+(?:[.,]\d+)?)(?![\w.])")
_OF_LABEL_STUDIO = frozenset({"annotation_id", "annotator", "created_at", "updated_at", "lead_time", "id"})
_OTHERS = ("id", "type", "genre", "intended", "source")
_SHARED_FILES = ("all", "admin", "unknown")
"""What doccano calls the file of a project whose members share their labels."""
_POTATO_TEXT = re.compile(r"(?:<br\s*/?>|\s)*(?:<b>)?[A-Z]\.(?:</b>)?\s+")


class Answer(NamedTuple):
    question: str
    rater: str
    value: Any


class Export(NamedTuple):
    """What a tool says of one row."""

    data: dict[str, Any]
    """The fields of the item, ids among them."""
    answers: list[Answer]
    id: Any = None
    """The tool's own."""


def tool_of(fields: dict[str, Any]) -> str:
    """The tool that wrote a row with these fields; empty for none that is known."""
    if isinstance(fields.get("data"), dict) and isinstance(fields.get("annotations"), list):
        return "Label Studio"
    if {"annotation_id", "annotator"} <= fields.keys():
        return "Label Studio, a row for each annotation"
    if isinstance(fields.get("fields"), dict) and "responses" in fields:
        return "Argilla"
    if any(name.endswith(".responses") for name in fields):
        return "Argilla, flat"
    if "_task_hash" in fields or "_input_hash" in fields:
        return "Prodigy"
    if "instance_id" in fields and ("label_annotations" in fields or "displayed_text" in fields):
        return "Potato"
    if "text" in fields and isinstance(fields.get("label"), list):
        return "doccano"
    return ""


def from_tool(tool: str, fields: dict[str, Any], name: str, where: str, columns: Columns) -> dict[str, Any]:
    """The fields of a pair with its ratings, or of a rating in long form, of a row of an export.

    Args:
        tool: of `tool_of`.
        name: of the file.
        where: begins messages.
        columns: of the item's fields those that are the texts, and as `grade` the question that counts.

    Raises:
        ImportFileError: it is not clear which are the two texts or the grades.
    """
    _, answers, id = _READERS[tool](fields, name)
    data = item_of(tool, fields, name)
    found = {field: name for field, name in {**guess_columns([*data]), **columns}.items() if name in data}
    if not set(TEXTS) <= found.keys():
        found |= _texts_of(data, tool, where)
    pair: dict[str, Any] = {field: data[found[field]] for field in _OTHERS if field in found}
    pair.setdefault("id", id)
    if isinstance(pair["id"], int):
        pair["id"] = str(pair["id"])
    pair |= {field: data[found[field]] for field in TEXTS if field in found}
    graded = [(answer, grade) for answer in answers if (grade := _grade_in(answer.value)) is not None]
    if question := columns.get("grade"):
        graded = [(answer, grade) for answer, grade in graded if answer.question.casefold() == question]
    questions = sorted({answer.question for answer, _ in graded})
    if len(questions) > 1:
        raise ImportFileError(
            f"{where}: grades of {len(questions)} questions ({', '.join(questions)}); say which counts, as "
            f"in --columns grade={questions[0]}."
        )
    if set(TEXTS) <= pair.keys():
        pair["ratings"] = [{"rater": answer.rater, "grade": grade} for answer, grade in graded]
    elif graded:
        pair |= {"rater": graded[0][0].rater, "grade": graded[0][1]}
    return pair


def item_of(tool: str, fields: dict[str, Any], name: str) -> dict[str, Any]:
    """The fields of the item of a row, called as columns are."""
    return {column_name(str(key)): value for key, value in _READERS[tool](fields, name).data.items()}


def _texts_of(data: dict[str, Any], tool: str, where: str) -> dict[str, str]:
    """Which two fields of an item are its texts, where their names do not tell."""
    texts = [name for name, value in data.items() if isinstance(value, str) and name not in _OTHERS]
    if len(texts) == 2:
        return dict(zip(TEXTS, texts, strict=True))
    if tool == "Potato" and not texts:
        return {}
    raise ImportFileError(
        f"{where}: an export of {tool.split(',')[0]} whose two texts are not clear (it has "
        f"{', '.join(data) or 'none'}); say which they are, as in --columns left=A,right=B."
    )


def _grade_in(value: Any) -> Any:
    """The number of an answer; text that has none as it is, which is refused with its place."""
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else None if not value else str(value)
    if isinstance(value, dict):
        known = (value[name] for name in ("rating", "number", "choices", "value") if name in value)
        return _grade_in(next(known, None))
    if isinstance(value, str):
        if value.lstrip().startswith(("{", "[")):
            try:
                return _grade_in(json.loads(value, parse_float=Decimal))
            except ValueError:
                return value
        found = _NUMBER.match(value.strip())
        return None if not value.strip() else found[1] if found else value
    return value


def _label_studio(fields: dict[str, Any], name: str) -> Export:
    answers = []
    for annotation in fields["annotations"]:
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        rater = annotation.get("completed_by")
        if isinstance(rater, dict):
            rater = rater.get("email") or rater.get("id")
        for result in annotation.get("result", ()):
            if result.get("type") in ("rating", "number", "choices"):
                answers.append(Answer(str(result.get("from_name", "")), _account(rater), result.get("value")))
    return Export(fields["data"], answers, fields.get("id"))


def _label_studio_rows(fields: dict[str, Any], name: str) -> Export:
    data = {field: value for field, value in fields.items() if field not in _OF_LABEL_STUDIO}
    guess = guess_columns([*data])
    known = {guess[field] for field in (*TEXTS, *_OTHERS) if field in guess}
    questions = [field for field in data if field not in known and _is_answer(data[field])]
    questions = questions or [field for field in ("rating", "score", "similarity", "label") if field in data]
    rater = _account(fields["annotator"])
    answers = [Answer(question, rater, data.pop(question)) for question in questions]
    return Export(data, answers, fields.get("id"))


def _is_answer(value: Any) -> bool:
    text = str(value).strip()
    return not isinstance(value, str) or text.startswith(("{", "[")) or _NUMBER.fullmatch(text) is not None


def _account(rater: Any) -> str:
    """A number alone would be one of the project's own raters, in the order of a file."""
    return f"user {rater}" if isinstance(rater, int) or str(rater).isdecimal() else str(rater or "1")


def _argilla(fields: dict[str, Any], name: str) -> Export:
    answers = []
    if isinstance(fields["responses"], dict):
        for question, given in fields["responses"].items():
            for one in given or ():
                if one.get("status", "submitted") in ("submitted", None):
                    answers.append(Answer(question, _account(one.get("user_id")), one.get("value")))
    else:
        for one in fields["responses"] or ():
            if one.get("status", "submitted") == "submitted":
                for question, value in (one.get("values") or {}).items():
                    answers.append(Answer(question, _account(one.get("user_id")), value))
    of_metadata = {key: value for key, value in (fields.get("metadata") or {}).items() if key in _OTHERS}
    return Export({**fields["fields"], **of_metadata}, answers, fields.get("external_id") or fields.get("id"))


def _argilla_flat(fields: dict[str, Any], name: str) -> Export:
    questions = [field.removesuffix(".responses") for field in fields if field.endswith(".responses")]
    answers = []
    for question in questions:
        values = fields[f"{question}.responses"] or []
        raters = fields.get(f"{question}.responses.users") or [None] * len(values)
        states = fields.get(f"{question}.responses.status") or [None] * len(values)
        for value, rater, state in zip(values, raters, states, strict=False):
            if state in ("submitted", None):
                answers.append(Answer(question, _account(rater), value))
    others = ("id", "status", "_server_id", "inserted_at", "updated_at")
    data = {field: value for field, value in fields.items() if "." not in field and field not in others}
    return Export(data, answers, fields.get("id"))


def _prodigy(fields: dict[str, Any], name: str) -> Export:
    rater = str(fields.get("_annotator_id") or fields.get("_session_id") or "1").rpartition("-")[2]
    answers = []
    if fields.get("answer", "accept") == "accept":
        chosen = fields.get("accept") or next(
            (fields[key] for key in ("rating", "score", "label", "user_input") if key in fields), None
        )
        answers = [Answer("accept", _account(rater), chosen)]
    own = ("options", "accept", "answer", "rating", "score", "label", "user_input", "meta", "config", "html")
    data = {key: value for key, value in fields.items() if not key.startswith("_") and key not in own}
    meta = fields.get("meta")
    if isinstance(meta, dict):
        data |= {key: value for key, value in meta.items() if key in _OTHERS}
    return Export(data, answers, fields.get("_input_hash"))


def _doccano(fields: dict[str, Any], name: str) -> Export:
    stem = PurePath(name).name.split(".")[0]
    rater = "1" if stem in _SHARED_FILES else stem
    data = {key: value for key, value in fields.items() if key not in ("id", "label", "comments")}
    if (
        len(parts := [part for part in str(data["text"]).splitlines() if part.strip()]) == 2
        and len(data) == 1
    ):
        data = dict(zip(TEXTS, parts, strict=True))
    return Export(data, [Answer("label", rater, fields["label"])], fields.get("id"))


def _potato(fields: dict[str, Any], name: str) -> Export:
    rater = _account(fields.get("user_id") or fields.get("user"))
    answers = []
    labels = fields.get("label_annotations") or {}
    for schema, given in labels.items() if isinstance(labels, dict) else ():
        chosen = [label for label, value in given.items() if value not in (False, None, "", "false")]
        answers += [Answer(schema, rater, chosen)] if chosen else []
    for column, value in fields.items():  # of CSV and TSV: schema:::label
        schema, mark, label = column.partition(":::")
        if mark and value not in ("", None):
            answers.append(Answer(schema, rater, label))
    text = str(fields.get("displayed_text") or "")
    parts = [unescape(part).strip() for part in _POTATO_TEXT.split(text) if part.strip()]
    data = dict(zip(TEXTS, parts, strict=True)) if len(parts) == 2 else {}
    data |= {key: fields[key] for key in TEXTS if key in fields}
    return Export(data, answers, fields["instance_id"])


_READERS: dict[str, Callable[[dict[str, Any], str], Export]] = {
    "Label Studio": _label_studio,
    "Label Studio, a row for each annotation": _label_studio_rows,
    "Argilla": _argilla,
    "Argilla, flat": _argilla_flat,
    "Prodigy": _prodigy,
    "doccano": _doccano,
    "Potato": _potato,
}
