"""The languages of the documents of a file, which mostly have the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kpdemo.languages.detection import detect, identified
from kpdemo.languages.names import ENGLISH
from kpdemo.languages.scripts import scripts
from kpdemo.types import Document

SAMPLE = 100


def identified_together(documents: Sequence[Document]) -> list[Document]:
    """Each document, in order, with the language that it is measured in, which no model sees.

    A document that names no language gets the detected one, unless it is written in Latin letters: then that
    of most such documents of the file. So one German abstract among English ones is measured as English, as
    the published evaluations do, which know one language only.
    """
    latin = [not document.language and _is_latin(document.text) for document in documents]
    shared = _most_common([document for document, of_many in zip(documents, latin, strict=True) if of_many])
    return [
        replace(document, language=shared) if of_many else identified(document)
        for document, of_many in zip(documents, latin, strict=True)
    ]


def _is_latin(text: str) -> bool:
    found = scripts(text)
    return found["LATIN"] * 2 > found.total()


def _most_common(documents: Sequence[Document]) -> str:
    """Of `SAMPLE` of them, spread evenly."""
    step = -(-len(documents) // SAMPLE) or 1
    found = filter(None, (detect(document.text) for document in documents[::step]))
    counts = Counter(language.code for language in found)
    return counts.most_common(1)[0][0] if counts else ENGLISH
