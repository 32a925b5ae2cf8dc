"""Documents in letters that a predictor reads; the others are refused by their language's name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from kpdemo.errors import LanguageError
from kpdemo.languages.detection import detect
from kpdemo.languages.names import language_name
from kpdemo.languages.routing import MULTILINGUAL_MODEL, READ_ALL, ROUTES
from kpdemo.languages.scripts import SCRIPT_NAMES, UNSEGMENTED, scripts
from kpdemo.text import readable_documents
from kpdemo.types import Document

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


def mapless(reason: str) -> str:
    """The sentence of a refusal where the text would be drawn, which the models of its advice cannot do."""
    said, _, _ = reason.partition(": ")
    said = said.replace(f"{_THIS_MODEL} does", "models that compare vectors do")
    return f"{said}: there is no map of it."


def refusal_of(model: str, reason: str) -> str:
    """The sentence of a refusal where several models are ticked and asked."""
    return reason.replace(_THIS_MODEL, f"the model {model}").replace(_CHOOSE, "tick")
