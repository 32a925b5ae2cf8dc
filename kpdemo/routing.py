"""Which model reads which language, what a reader should know about it, and which documents are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from kpdemo.errors import LanguageError
from kpdemo.languages import ENGLISH, NAMES, SCRIPT_NAMES, UNSEGMENTED, detect, language_name, scripts
from kpdemo.text import is_english, readable_documents
from kpdemo.types import Document, Prediction, Style

DEFAULT_MODEL = "default"
"""The name of "the model made for this language"; on its own it is SimCKP's, for English."""

MULTILINGUAL_MODEL = "multilingual"

SERVED = frozenset({"de", ENGLISH, "es", "fr", "zh"})
"""Languages that a model which ships has learnt from documents of; it reads others too."""

READ_ALL = ("positionrank", "multipartite")
"""Baselines that read every script, with the best figures among those that do."""


INDEXER_MODEL = "indexer"

STYLES = {DEFAULT_MODEL: Style.AUTHOR, INDEXER_MODEL: Style.INDEXER}
"""The models that have a style, which are for English."""


def model_for(language: str, style: Style | None = None) -> str:
    """The name of the model that reads a language, by its ISO 639-1 code; the default one reads English.

    >>> model_for("fr"), model_for("en"), model_for("en", Style.INDEXER)
    ('multilingual', 'default', 'indexer')
    """
    if not is_english(language):
        return MULTILINGUAL_MODEL
    return INDEXER_MODEL if style == Style.INDEXER else DEFAULT_MODEL


MOST_NAMED = 4
ADVICE = f"the model '{MULTILINGUAL_MODEL}' reads it"
"""For a language that a model was not made for."""


Foreign = Mapping[tuple[str, bool], int]
"""Documents by a language that the model was not made for, and by whether absent keyphrases lack."""


def prediction_note(
    prediction: Prediction,
    model: str,
    languages: Collection[str],
    *,
    finds_absent: bool,
) -> str:
    """As `language_note`, of an answer.

    Args:
        finds_absent: whether the model can give absent keyphrases.
    """
    lacks = lacks_absent(prediction, finds_absent=finds_absent)
    return language_note(prediction.language, model, languages, lacks_absent=lacks)


def lacks_absent(prediction: Prediction, *, finds_absent: bool) -> bool:
    """Whether there is no absent keyphrase to choose from, although the model finds some in other texts."""
    return finds_absent and not (prediction.absent or prediction.absent_candidates)


def is_foreign(language: str, languages: Collection[str]) -> bool:
    """Whether the model was made for other languages; unknown where text or model do not name theirs."""
    return bool(languages and language) and language not in languages


def foreign_notes(foreign: Foreign, model: str, languages: Collection[str]) -> list[str]:
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
    documents: int = 0,
) -> str:
    """One sentence; empty when the model was made for the language, or does not say for which it was made.

    Args:
        lacks_absent: the model finds absent keyphrases in other languages, but none in this one.
        documents: how many of a file it is about; 0 for the one text that the reader knows.

    >>> language_note("cs", "multilingual", SERVED)
    "This text is Czech; the model 'multilingual' was trained on no such text, so treat its answer with care."
    """
    if not is_foreign(language, languages):
        return ""
    if model in READ_ALL:
        reason = "reads every language, but was trained on none"
    elif model in (DEFAULT_MODEL, MULTILINGUAL_MODEL):
        reason = "was trained on no such text"
    else:
        made_for = _listed([NAMES[code] for code in NAMES if code in languages])
        reason = f"was made for {made_for}" if made_for else "was not made for it"
    care = (
        "so it gives no absent keyphrases; treat the present ones with care"
        if lacks_absent
        else f"so treat its answer{'s' if documents > 1 else ''} with care"
    )
    others = "" if model in (DEFAULT_MODEL, MULTILINGUAL_MODEL, *READ_ALL) else f" ({ADVICE})"
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


_NEITHER = ("LATIN", "UNKNOWN")
_THIS_MODEL, _CHOOSE = "this model", "choose the model"


def latin_documents(documents: Sequence[Document | str]) -> list[Document]:
    """As `readable_documents`.

    Raises:
        LanguageError: most letters of a document belong to another script.
    """
    return _read(documents, lambda script: script not in _NEITHER)


def segmentable_documents(documents: Sequence[Document | str]) -> list[Document]:
    """As `readable_documents`, for predictors that read every script in which words can be told apart.

    Raises:
        LanguageError: most letters of a document belong to a script of `UNSEGMENTED`.
    """
    return _read(documents, UNSEGMENTED.__contains__)


def _read(documents: Sequence[Document | str], is_unread: Callable[[str], bool]) -> list[Document]:
    read = readable_documents(documents)
    for document in read:
        found = scripts(document.text)
        others = Counter({script: count for script, count in found.items() if is_unread(script)})
        if others.total() * 2 > found.total():
            raise LanguageError(_unread(document.text, others.most_common(1)[0][0]))
    return read


def _unread(text: str, script: str) -> str:
    """One sentence, with the models that read such a text; made for it first."""
    language = detect(text)
    # Where the script, such as Cyrillic, leaves the language open, name the script instead.
    sure = language is not None and language.name in SCRIPT_NAMES.get(script, "")
    name = (
        language_name(language.code)
        if language and sure
        else f"mostly in {SCRIPT_NAMES.get(script, script.capitalize())} script"
    )
    refusal = f"The text is {name}, which {_THIS_MODEL} does not read"
    if script in UNSEGMENTED:
        return f"{refusal}, nor does any other that is included: its words cannot be told apart."
    return f"{refusal}: {_CHOOSE} {MULTILINGUAL_MODEL}, {READ_ALL[0]} or {READ_ALL[1]}."


def map_advice(reason: str) -> str:
    """The sentence of a refusal where the text would be drawn, which baselines cannot do."""
    said, advises, _ = reason.partition(f": {_CHOOSE}")
    return f"{said}: {_CHOOSE} {MULTILINGUAL_MODEL}." if advises else reason


def refusal_of(model: str, reason: str) -> str:
    """The sentence of a refusal where several models are ticked and asked."""
    return reason.replace(_THIS_MODEL, f"the model {model}").replace(_CHOOSE, "tick")
