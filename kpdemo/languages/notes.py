"""What a reader should know when a model was made for another language than that of the text."""

from __future__ import annotations

from collections.abc import Collection

from kpdemo.languages.names import NAMES, language_name

MOST_NAMED = 3


def language_note(language: str, model: str, languages: Collection[str]) -> str:
    """One sentence; empty when the model was made for the language, or does not tell for which it was made.

    >>> language_note("fr", "default", {"en"})
    "This text is French; the model 'default' was made for English, so treat its answer with care."
    """
    if not languages or not language or language in languages:
        return ""
    made_for = _listed([NAMES[code] for code in NAMES if code in languages])
    reason = f"was made for {made_for}" if made_for else "was not made for it"
    advice = "so treat its answer with care"
    return f"This text is {language_name(language)}; the model '{model}' {reason}, {advice}."


def _listed(names: list[str]) -> str:
    """The names as people list them; nothing for more than a few."""
    if not 0 < len(names) <= MOST_NAMED:
        return ""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
