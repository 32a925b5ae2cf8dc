"""Which model reads which language, what a reader should know about it, and which documents are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from kpdemo.errors import LanguageError
from kpdemo.languages import ENGLISH, NAMES, SCRIPT_NAMES, UNSEGMENTED, detect, language_name, scripts
from kpdemo.text import readable_documents
from kpdemo.types import Document, Prediction

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
    models = (MULTILINGUAL_MODEL, *READ_ALL) if language and language.code in ROUTES else READ_ALL
    return f"{refusal}: {_CHOOSE} {', '.join(models[:-1])} or {models[-1]}."


def without_map_advice(reason: str) -> str:
    """The sentence of a refusal where the text would be drawn, which the models of its advice cannot do."""
    said, _, _ = reason.partition(": ")
    said = said.replace(f"{_THIS_MODEL} does", "models that compare vectors do")
    return f"{said}: there is no map of it."


def refusal_of(model: str, reason: str) -> str:
    """The sentence of a refusal where several models are ticked and asked."""
    return reason.replace(_THIS_MODEL, f"the model {model}").replace(_CHOOSE, "tick")
