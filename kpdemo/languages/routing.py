"""Which models read a language: the one place where that is decided."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kpdemo.languages.names import ENGLISH

DEFAULT_MODEL = "default"
"""The name of "the model made for this language"; on its own it is SimCKP's, for English."""

MULTILINGUAL_MODEL = "multilingual"

ROUTES: Mapping[str, str] = MappingProxyType(dict.fromkeys(("fr", "zh", "ko"), MULTILINGUAL_MODEL))
"""Languages that another model than the default one was made for."""

SERVED = frozenset({ENGLISH, *ROUTES})
"""Languages that a model which ships was made for."""

READ_ALL = ("positionrank", "multipartite")
"""Baselines that read every script, with the best figures among those that do."""

TRAIN_ONE = "python -m kpdemo train kea"
"""What makes a model of any language from documents with keyphrases, on a CPU."""


def model_for(language: str) -> str:
    """The name of the model that reads a language, by its ISO 639-1 code; the default one reads all others.

    >>> model_for("fr"), model_for("en"), model_for("de")
    ('multilingual', 'default', 'default')
    """
    return ROUTES.get(language, DEFAULT_MODEL)
