"""What tells phrases apart, and those that stand in a text: the keyphrase pages hand in their own rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

PhraseKey = Callable[[str, str], str]
"""What makes a phrase, the first text, the same as another one of its language, the second."""


@dataclass(frozen=True, slots=True)
class PhraseRules:
    key: PhraseKey
    presence: Callable[[str, str, str], Callable[[str], bool]]
    """Of title, body and language: what tells whether a phrase stands in them."""
    languages: Callable[[Sequence[tuple[str, str]]], list[str]]
    """Of the titles and bodies of a file that does not tell: the language of each."""
