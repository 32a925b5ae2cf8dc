"""The document that a row of a file holds, whatever the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kpdemo.errors import InputError
from kpdemo.reading.json_rows import ReportLine, line_name, report
from kpdemo.reading.keyphrase_texts import SEPARATOR, keyphrase_field
from kpdemo.text import SURROGATE, shortened
from kpdemo.types import Document

BODY_FIELDS = ("abstract", "text")

SeeRow = Callable[[Mapping[str, Any]], None]
"""Called with the row of each document that can be used."""
NameRow = Callable[[int], str]
"""The id of a document that has none, by the number of its line; called for such documents only."""

ID_COLUMN = "id"


@dataclass(frozen=True, slots=True)
class RowIds:
    """Where the ids of rows are: in a field, or in a column whatever the case of its name."""

    column: str = ID_COLUMN
    name_row: NameRow = str


OWN_IDS = RowIds()


def document_from_row(
    row: Mapping[str, Any], *, where: str, default_id: str = "", id_column: str = ID_COLUMN
) -> Document:
    """The document of one row: our own fields, or those of KP20k.

    Args:
        row: `id`, `title`, `abstract` or `text`, `keyphrases` (or `keyword`, `keywords`; a list, or
            one text with semicolons) and `language`; only `abstract` or `text` must be there.
        where: begins the message when something is wrong, such as "docs.jsonl, line 3".
        default_id: the id of a row that has none.
        id_column: the field with the id.

    Raises:
        InputError: a field is missing or of the wrong kind.
    """
    body = next((_text_field(row, name, where) for name in BODY_FIELDS if row.get(name) is not None), None)
    if body is None:
        raise InputError(f'{where}: no field "abstract" or "text"; add one or empty the line.')
    return Document(
        body=body,
        title=_text_field(row, "title", where),
        id=_id_field(row, id_column, where) or default_id,
        keyphrases=_keyphrase_field(row, where),
        language=_text_field(row, "language", where),
    )


def documents_from_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    name: str,
    on_error: ReportLine | None,
    on_row: SeeRow | None = None,
    ids: RowIds = OWN_IDS,
) -> Iterator[tuple[int, Document]]:
    """The documents of rows with their line numbers."""
    for number, row in rows:
        try:
            document = document_from_row(row, where=line_name(name, number), id_column=ids.column)
        except InputError as error:
            report(error, number, on_error)
        else:
            if on_row is not None:
                on_row(row)
            yield number, document if document.id else replace(document, id=ids.name_row(number))


def _text_field(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    return "" if value is None else _checked_text(value, name, where)


def _checked_text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f'{where}: "{name}" is {_short(value)}, not text; put it in quotes or empty the line.'
        )
    if SURROGATE.search(value):
        raise InputError(f'{where}: "{name}" holds half a character; save the file as UTF-8 again.')
    return value


def _id_field(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    return str(value) if type(value) is int else _text_field(row, name, where)


def _keyphrase_field(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    name, value = keyphrase_field(row)
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(SEPARATOR)
    if not isinstance(value, list):
        raise InputError(f'{where}: "{name}" is {_short(value)}, not a list of texts; fix or empty the line.')
    phrases = (_checked_text(phrase, name, where).strip() for phrase in value)
    return tuple(phrase for phrase in phrases if phrase)


def _short(value: object) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str), 40)
