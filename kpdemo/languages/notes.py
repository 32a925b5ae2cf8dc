"""What a reader should know when a model was made for another language than that of the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from kpdemo.languages.names import NAMES, language_name
from kpdemo.languages.routing import READ_ALL, SERVED, TRAIN_ONE
from kpdemo.types import Prediction

MOST_NAMED = 4
NO_MODEL_HERE = (
    f"no included model was made for this language: try {' or '.join(READ_ALL)}, which read it without "
    "training"
)
"""What the page says of `NO_MODEL`: its readers have no shell."""

NO_MODEL = (
    f"no included model was made for this language: {' and '.join(READ_ALL)} read it without training, and "
    f"`{TRAIN_ONE}` learns it from documents with keyphrases, see docs/languages.md"
)


Foreign = Mapping[tuple[str, bool], int]
"""Documents by a language that the model was not made for, and by whether absent keyphrases lack."""


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
    lacks = lacks_absent(prediction, finds_absent=finds_absent)
    return language_note(prediction.language, model, languages, lacks_absent=lacks, advice=advice)


def lacks_absent(prediction: Prediction, *, finds_absent: bool) -> bool:
    """Whether there is no absent keyphrase to choose from, although the model finds some in other texts."""
    return finds_absent and not (prediction.absent or prediction.absent_candidates)


def is_foreign(language: str, languages: Collection[str]) -> bool:
    """Whether the model was made for other languages; unknown where text or model do not name theirs."""
    return bool(languages and language) and language not in languages


def foreign_notes(
    foreign: Foreign, model: str, languages: Collection[str], *, advice: str = NO_MODEL
) -> list[str]:
    """As `language_note`, a sentence for each language of many documents, the commonest first."""
    counts: Counter[str] = Counter()
    for (language, _), count in foreign.items():
        counts[language] += count
    return [
        language_note(
            language,
            model,
            languages,
            lacks_absent=not foreign.get((language, False)),
            advice=advice,
            documents=count,
        )
        for language, count in counts.most_common()
    ]


def language_note(
    language: str,
    model: str,
    languages: Collection[str],
    *,
    lacks_absent: bool = False,
    advice: str = NO_MODEL,
    documents: int = 0,
) -> str:
    """One sentence; empty when the model was made for the language, or does not say for which it was made.

    Args:
        lacks_absent: the model finds absent keyphrases in other languages, but none in this one.
        advice: what is added for a language that no model which ships was made for, unless `model` is one
            of those that read every language.
        documents: how many of a file it is about; 0 for the one text that the reader knows.

    >>> language_note("fr", "default", {"en"})
    "This text is French; the model 'default' was made for English, so treat its answer with care."
    """
    if not is_foreign(language, languages):
        return ""
    made_for = _listed([NAMES[code] for code in NAMES if code in languages])
    reason = f"was made for {made_for}" if made_for else "was not made for it"
    care = (
        "so it gives no absent keyphrases; treat the present ones with care"
        if lacks_absent
        else f"so treat its answer{'s' if documents > 1 else ''} with care"
    )
    reads_all = model in READ_ALL
    if reads_all:
        reason = "reads every language, but was trained on none"
    others = "" if language in SERVED or reads_all else f" ({advice})"
    return f"{_about(documents)} {language_name(language)}; the model '{model}' {reason}, {care}{others}."


def _about(documents: int) -> str:
    if not documents:
        return "This text is"
    return "1 document is" if documents == 1 else f"{documents:,} documents are"


def _listed(names: list[str]) -> str:
    """The names as people list them; nothing for more than a few."""
    if not 0 < len(names) <= MOST_NAMED:
        return ""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
