"""The gold files of a command: their names as data sets, and their documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from kpdemo.commands.options import CallError, Problems, check_file
from kpdemo.documents import COMPRESSIONS, DOCUMENT_SUFFIXES, LINE_SUFFIXES, TABLE_SUFFIXES, read_numbered
from kpdemo.errors import InputError
from kpdemo.types import Document


def dataset_names(paths: Sequence[str]) -> dict[str, str]:
    names = {path: dataset_name(check_file(path, (*LINE_SUFFIXES, *TABLE_SUFFIXES))) for path in paths}
    repeated = next((name for name in names.values() if list(names.values()).count(name) > 1), None)
    if repeated is not None or len(names) < len(paths):
        raise CallError(
            f"Two --gold files are called {repeated or 'the same'}; give each once, under its own name."
        )
    return names


def dataset_name(path: Path) -> str:
    """The name of a gold file without what says how it is written: a/inspec.test.jsonl.gz is inspec.test."""
    name = path.name
    for endings in (COMPRESSIONS, DOCUMENT_SUFFIXES):
        ending = next((ending for ending in endings if name.lower().endswith(ending)), "")
        name = name[: len(name) - len(ending)]
    return name


def read_gold(path: str, limit: int | None, problems: Problems, language: str = "") -> list[Document]:
    """The documents, all in `language` where one is given."""
    documents = [document for _, document in islice(read_numbered(path, on_error=problems), limit)]
    if not any(document.keyphrases for document in documents):
        raise InputError(f'{path}: no document has gold "keyphrases"; give a file that has them.')
    return [replace(document, language=language) for document in documents] if language else documents
