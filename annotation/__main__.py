"""python -m annotation

The one place where annotation meets the models: its commands are handed plain functions, which load what they
need when they are first called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from annotation.cli import main
from annotation.errors import ModelError
from annotation.predictions import PhraseRules
from annotation.types import Columns, Rows


def embedding(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """How alike the two texts of each pair are by the default model's vectors, 0 to 1."""
    from kpdemo.errors import KpdemoError
    from kpdemo.predictors import load_predictor

    try:
        return load_predictor().similarities(pairs)
    except KpdemoError as error:
        raise ModelError(str(error)) from error


def encoder(name: str) -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    """As `embedding`, by the vectors of an encoder of the Hub or in a folder."""
    from kpdemo.errors import KpdemoError
    from kpdemo.predictors import load_similarities

    similarities = load_similarities(name)

    def compared(pairs: Sequence[tuple[str, str]]) -> list[float]:
        try:
            return similarities(pairs)
        except KpdemoError as error:
            raise ModelError(str(error)) from error

    return compared


def phrase_key(text: str, language: str) -> str:
    """What makes two phrases the same on the keyphrase pages and in `python -m kpdemo evaluate`."""
    from kpdemo.text import phrase_key as key_of

    return key_of(text, language)


def presence(title: str, body: str, language: str) -> Callable[[str], bool]:
    """Tells whether a phrase is present in a text, as in `python -m kpdemo evaluate`."""
    from kpdemo.text import presence as presence_in

    return presence_in(title, body, language)


def languages(texts: Sequence[tuple[str, str]]) -> list[str]:
    """The language that `python -m kpdemo evaluate` measures each document of a file in."""
    from kpdemo.text import measured_languages as languages_of

    return languages_of(texts)


def latex_table(
    first: tuple[str, str], columns: Sequence[Columns], rows: Rows, *, comments: Iterable[str]
) -> str:
    """A table of a paper, as `python -m kpdemo evaluate --latex` prints them."""
    from kpdemo.io.latex import latex_table as table

    return table(first, columns, rows, comments=comments)


PHRASES = PhraseRules(phrase_key, presence, languages)

if __name__ == "__main__":
    sys.exit(main(embedding=embedding, encoder=encoder, phrases=PHRASES, latex=latex_table))
