"""What a reader should know when a model was made for another language than that of the text."""

from __future__ import annotations

from collections.abc import Collection

from kpdemo.languages.names import NAMES, language_name
from kpdemo.languages.routing import SERVED
from kpdemo.text import READ_ALL, TRAIN_ONE
from kpdemo.types import Prediction

MOST_NAMED = 4
NO_MODEL_HERE = (
    f"no model that ships was made for this language: try {' or '.join(READ_ALL)}, which read it without "
    "training"
)
"""What the page says of `NO_MODEL`: its readers have no shell."""

NO_MODEL = (
    f"no model that ships was made for this language: {' and '.join(READ_ALL)} read it without training, and "
    f"`{TRAIN_ONE}` learns it from documents with keyphrases, see docs/languages.md"
)


def prediction_note(
    prediction: Prediction,
    model: str,
    languages: Collection[str],
    *,
    finds_absent: bool,
    advice: str = NO_MODEL,
) -> str:
    """As `language_note`, of an answer.

    Args:
        finds_absent: whether the model can give absent keyphrases.
    """
    lacks_absent = finds_absent and not (prediction.absent or prediction.absent_candidates)
    return language_note(prediction.language, model, languages, lacks_absent=lacks_absent, advice=advice)


def language_note(
    language: str,
    model: str,
    languages: Collection[str],
    *,
    lacks_absent: bool = False,
    advice: str = NO_MODEL,
) -> str:
    """One sentence; empty when the model was made for the language, or does not tell for which it was made.

    Args:
        lacks_absent: the model finds absent keyphrases in other languages, but none in this one.
        advice: what is added for a language that no model which ships was made for, unless `model` is one
            of those that read every language.

    >>> language_note("fr", "default", {"en"})
    "This text is French; the model 'default' was made for English, so treat its answer with care."
    """
    if not languages or not language or language in languages:
        return ""
    made_for = _listed([NAMES[code] for code in NAMES if code in languages])
    reason = f"was made for {made_for}" if made_for else "was not made for it"
    care = (
        "so it gives no absent keyphrases; treat the present ones with care"
        if lacks_absent
        else "so treat its answer with care"
    )
    reads_all = model in READ_ALL
    if reads_all:
        reason = "reads every language, but has learnt none"
    others = "" if language in SERVED or reads_all else f" ({advice})"
    return f"This text is {language_name(language)}; the model '{model}' {reason}, {care}{others}."


def _listed(names: list[str]) -> str:
    """The names as people list them; nothing for more than a few."""
    if not 0 < len(names) <= MOST_NAMED:
        return ""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
