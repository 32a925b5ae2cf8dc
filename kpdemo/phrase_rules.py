"""The rules of `evaluate` for phrases, as plain functions for callers that have no `Document`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kpdemo.errors import InputError
from kpdemo.languages.datasets import identified_together
from kpdemo.languages.names import ENGLISH, known_language
from kpdemo.markup import plain_document, plain_text
from kpdemo.text import StemmedText
from kpdemo.types import Document


def presence(title: str, body: str, language: str) -> Callable[[str], bool]:
    """Tells whether a phrase is present in the text; see docs/evaluation.md.

    Args:
        language: a code or a name; of one that is not known the words are compared without stems.
    """
    try:
        code = known_language(language) if language else ENGLISH
    except InputError:
        code = language
    source = StemmedText(plain_document(Document(body, title=title, language=code)))
    return lambda phrase: source.contains(plain_text(phrase))


def languages(texts: Sequence[tuple[str, str]]) -> list[str]:
    """The language that `evaluate` measures each document of a file in, by titles and bodies alone."""
    documents = [Document(body, title=title) for title, body in texts]
    return [document.language for document in identified_together(documents)]
