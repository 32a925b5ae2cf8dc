"""Sentences in the reader's language, by gettext; the code has them in English.

A part of the product has its catalogues in a folder of its own, as `de/LC_MESSAGES/NAME.po`, and marks its
sentences with the two functions of its `Catalogues`. Which language they answer in is said once, by who
answers a request.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from functools import cache
from gettext import NullTranslations, translation
from pathlib import Path
from types import MappingProxyType

ENGLISH = "en"
LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        ENGLISH: "English",
        "fr": "Français",
        "de": "Deutsch",
        "es": "Español",
        "zh": "中文",
        "ko": "한국어",
        "sr": "Srpski",
    }
)
"""By their codes, which are those of HTML too, as they call themselves. Chinese is written in simplified
characters, Serbian in Latin ones."""

DECIMAL_COMMA = ("fr", "de", "es", "sr")

LANGUAGE_COOKIE = "kpdemo-language"
"""Where a browser keeps the reader's choice."""
_MOST_WANTED = 20

_language: ContextVar[str] = ContextVar("language", default=ENGLISH)


def set_language(code: str) -> None:
    """Answer in this language for the rest of the request; in English where it is none of `LANGUAGES`.

    Args:
        code: also with a script or country, such as "zh-Hans".
    """
    _language.set(_known(code))


def _known(code: str) -> str:
    language = code.partition("-")[0]
    return language if language in LANGUAGES else ENGLISH


def current_language() -> str:
    """The language of the answer that is being made."""
    return _language.get()


@contextmanager
def use_language(code: str) -> Iterator[None]:
    """Answer in this language meanwhile."""
    token = _language.set(_known(code))
    try:
        yield
    finally:
        _language.reset(token)


def language_of(cookies: Mapping[str, str], headers: Mapping[str, str], otherwise: str = "") -> str:
    """The language of who asks: that of their choice, else the first of their browser's that there is.

    Args:
        cookies: of the request.
        headers: of the request, by their names in small letters.
        otherwise: the language of what they look at, which goes before their browser's.

    >>> language_of({}, {"accept-language": "de-AT;q=0.8, nl, fr;q=0.9"})
    'fr'
    """
    chosen = cookies.get(LANGUAGE_COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    wanted = []
    accepted = otherwise or headers.get("accept-language", "")
    for number, part in enumerate(accepted.split(",")[:_MOST_WANTED]):
        name, _, weight = part.strip().partition(";q=")
        code = name.lower().partition("-")[0]
        try:
            share = float(weight or 1)
        except ValueError:
            continue
        if code in LANGUAGES and share > 0:
            wanted.append((-share, number, code))
    return min(wanted)[2] if wanted else ENGLISH


def html_language(code: str) -> str:
    """The code for `lang`, with the script where a language has two."""
    return {"sr": "sr-Latn", "zh": "zh-Hans"}.get(code, code)


def write_decimal(number: Decimal) -> str:
    """A decimal as the language writes it, 2.75 or 2,75."""
    return write_number(f"{number.normalize():f}")


def write_number(text: str) -> str:
    """A number with a decimal point, without groups of digits, as the language writes it: 0.64 or 0,64."""
    return text.replace(".", ",") if _language.get() in DECIMAL_COMMA else text


class Catalogues:
    """The catalogues of one part, each read when it is first needed.

    Args:
        folder: where they are.
        name: of the catalogue that scripts are given too.
        others: of those where a sentence is looked for that it has not.
    """

    def __init__(self, folder: Path, name: str, *others: str) -> None:
        self._folder = folder
        self._name = name
        self._others = others
        self._of: Callable[[str], NullTranslations] = cache(self._read)

    def gettext(self, message: str, /, **values: object) -> str:
        """The sentence in the language of the request, with its {placeholders} filled in."""
        text = self._of(_language.get()).gettext(message)
        return text.format(**values) if values else text

    def ngettext(self, one: str, more: str, count: int, /, **values: object) -> str:
        """The form that the language has for `count`, which stands there as {count}."""
        text = self._of(_language.get()).ngettext(one, more, count)
        return text.format(**{"count": count, **values})

    def messages(self, code: str) -> dict[str, str | list[str]]:
        """The catalogue for a script: texts and, of counted ones, their forms, by the English text.

        Texts of several lines are left out: no script shows a whole document.
        """
        if code == ENGLISH:
            return {}
        found = read_messages(self._file(code).read_bytes())
        told = {one: forms if is_counted else forms[0] for (one, is_counted), forms in found.items()}
        return {one: text for one, text in told.items() if one and "\n" not in one}

    def _file(self, code: str) -> Path:
        return self._folder / code / "LC_MESSAGES" / f"{self._name}.mo"

    def _read(self, code: str) -> NullTranslations:
        if code == ENGLISH:
            return NullTranslations()
        found = translation(self._name, self._folder, [code])
        for other in self._others:
            found.add_fallback(translation(other, self._folder, [code]))
        return found


def read_messages(content: bytes) -> dict[tuple[str, bool], list[str]]:
    """The forms of each message of an .mo file, by its English text and whether it is counted.

    gettext itself tells one message at a time; a script needs them all.
    """
    _, _, count, originals, translations = struct.unpack_from("<5I", content)

    def texts(table: int, at: int) -> list[str]:
        length, start = struct.unpack_from("<2I", content, table + 8 * at)
        return content[start : start + length].decode().split("\0")

    named = ((texts(originals, at), texts(translations, at)) for at in range(count))
    return {(original[0], len(original) > 1): forms for original, forms in named}
