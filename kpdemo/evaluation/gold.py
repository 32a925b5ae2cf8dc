"""Gold files: documents with the keyphrases that people gave them."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

from kpdemo.batch.sources import SeeUnnamed, telling
from kpdemo.errors import InputError
from kpdemo.reading.document_rows import ID_COLUMN, RowIds
from kpdemo.reading.documents import read_numbered
from kpdemo.reading.json_rows import ReportLine
from kpdemo.reading.keyphrase_texts import KeyphraseTexts
from kpdemo.types import Document


def read_gold(
    path: str | Path,
    *,
    limit: int | None = None,
    on_error: ReportLine | None = None,
    language: str = "",
    id_column: str = ID_COLUMN,
    on_unnamed: SeeUnnamed | None = None,
) -> list[Document]:
    """The documents, all in `language` where one is given, with the ids of `id_column`.

    Args:
        on_unnamed: called with the place of each row without an id.

    Raises:
        InputError: the file cannot be read, has no keyphrases, or separates them by another mark than ";";
            without `on_error`, also the first bad line.
    """
    texts = KeyphraseTexts()
    ids = RowIds(id_column, telling(str, str(path), on_unnamed))
    numbered = islice(read_numbered(path, on_error=on_error, on_row=texts.see, ids=ids), limit)
    documents = [document for _, document in numbered]
    if not any(document.keyphrases for document in documents):
        raise InputError(f'{path}: no document has gold "keyphrases"; give a file that has them.')
    if problem := texts.problem():
        raise InputError(f"{path}: {problem}")
    return [replace(document, language=language) for document in documents] if language else documents
