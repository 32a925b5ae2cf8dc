"""Parallel texts in two languages: what a retriever is trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from kpdemo.errors import InputError
from kpdemo.markup import plain_document
from kpdemo.reading.document_rows import document_from_row
from kpdemo.reading.json_rows import line_name, read_rows
from kpdemo.training.bounds import Positive
from kpdemo.training.sources import source_file
from kpdemo.types import Document


@dataclass(frozen=True)
class ParallelSource:
    """A JSON Lines file whose rows have a text in two languages.

    Attributes:
        path: plain, .gz or .xz; relative to the data folder.
        language: ISO 639-1 code of the side that is not English.
        parts: fields that hold a text by language, such as `{"fr": …, "en": …}`; each gives a pair. Without
            any a row is a document in both: its text in "fr" and "en", with `fr_title` and `fr_keyphrases`.
        limit: only this many of the first rows.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: Path
    language: str
    parts: tuple[str, ...] = ()
    limit: Positive | None = None


@dataclass(frozen=True, slots=True)
class Translation:
    """A document and its English translation; both have the row's id."""

    document: Document
    passage: Document


def read_translations(source: ParallelSource, folder: Path) -> Iterator[Translation]:
    """The pairs of a source whose two texts are both there.

    Raises:
        ConfigError: there is no such file.
        InputError: a row cannot be read.
    """
    path = source_file(source, folder)
    for number, row in islice(read_rows(path), source.limit):
        place = line_name(path.name, number)
        for sides in _sides(row, source, place):
            if all(side.get("text") for side in sides):
                first, second = (plain_document(document_from_row(side, where=place)) for side in sides)
                yield Translation(first, second)


def _sides(
    row: Mapping[str, Any], source: ParallelSource, place: str
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    identifier = str(row.get("id", place))
    languages = (source.language, "en")
    if not source.parts:
        yield tuple(_whole(row, identifier, language) for language in languages)  # type: ignore[misc]
    for part in source.parts:
        texts = row.get(part)
        if not isinstance(texts, Mapping):
            raise InputError(f'{place}: "{part}" holds no texts by language; name another field in `parts`.')
        yield tuple(  # type: ignore[misc]
            {"id": f"{identifier}-{part}", "text": texts.get(language, ""), "language": language}
            for language in languages
        )


def _whole(row: Mapping[str, Any], identifier: str, language: str) -> dict[str, Any]:
    return {
        "id": identifier,
        "title": row.get(f"{language}_title") or "",
        "text": row.get(language) or "",
        "keyphrases": row.get(f"{language}_keyphrases") or [],
        "language": language,
    }
