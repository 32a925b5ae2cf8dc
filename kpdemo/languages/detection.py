"""The language of a text, found without a network.

The text is cut into pieces of a few sentences. A script that only one language uses decides on its own, and a
piece full of English function words is English, so most texts need nothing more. The others are left to
py3langid, a naive Bayes classifier over byte n-grams (Lui and Baldwin 2012, langid.py; Barbaresi 2021), with
the languages of `NAMES`, and English where it is not sure.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from kpdemo.languages.names import ENGLISH, NAMES, language_code, language_name
from kpdemo.languages.scripts import LETTERS_SAMPLED, scripts
from kpdemo.types import Document

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

PIECE = 300
"""Characters of a piece at least, unless the text has fewer."""

LEAST_SURE = 0.6
"""A classifier's probability for another language than English; titles of a few words seldom reach it."""

_ONE_LANGUAGE = {
    "HANGUL": "ko",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "GREEK": "el",
    "HEBREW": "he",
    "THAI": "th",
}
_WORTH = {"CJK": 3, "HIRAGANA": 3, "KATAKANA": 3, "HANGUL": 3}
"""A syllable or a character says as much as some letters; others count 1."""

_LEAST_KANA = 0.1  # of the letters of East Asia: Chinese has none, Japanese a third at least
_SMALL_WORDS = """
the of and with that this from which by are to as have been these were has their its can or not such
between using we our than other both it they while also how when where into each
"""
_ENGLISH_WORDS = frozenset(_SMALL_WORDS.split())
_LEAST_ENGLISH = 0.12  # of the words of a piece; other languages have under 0.03
_DIFFERENT_ENGLISH = 3
_WORD = re.compile(r"[^\W\d_]+")
_PIECE = re.compile(rf".{{{PIECE},}}?(?:[.!?;:。！？]+|\n|$)|.+$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Language:
    """By its `code` of ISO 639-1, one of `NAMES`."""

    code: str

    @property
    def name(self) -> str:
        return language_name(self.code)


def detect(text: str) -> Language | None:
    """The language of most of the text; None for a text without letters, or in a script of no known language.

    At most `LETTERS_SAMPLED` characters are looked at, of a longer text its beginning.

    >>> detect("Cette thèse porte sur la représentation du corps féminin.")
    Language(code='fr')
    """
    found: Counter[str] = Counter()
    # Composed: what a Mac or a PDF writes as a letter and its accent is one letter to the classifier.
    for piece in _pieces(unicodedata.normalize("NFC", text[:LETTERS_SAMPLED])):
        by_script = scripts(piece)
        code = _language(piece, by_script)
        found[code] += sum(count * _WORTH.get(script, 1) for script, count in by_script.items())
    if not (found - Counter({"": found[""]})):
        return None
    return Language(max((code for code in found if code), key=lambda code: found[code]))


def identified(document: Document) -> Document:
    """The document with the code of its language: its own, else the one detected, else English."""
    if document.language:
        code = language_code(document.language)
    else:
        language = detect(document.text)
        code = language.code if language else ENGLISH
    return document if code == document.language else replace(document, language=code)


def _pieces(text: str) -> Iterator[str]:
    return (match.group() for match in _PIECE.finditer(text) if any(map(str.isalpha, match.group())))


def _language(piece: str, by_script: Counter[str]) -> str:
    """The code of one piece with letters; empty when no known language is written so."""
    worth = Counter({script: count * _WORTH.get(script, 1) for script, count in by_script.items()})
    kana = by_script["HIRAGANA"] + by_script["KATAKANA"]
    han = by_script["CJK"]
    if 3 * (kana + han) * 2 > worth.total():
        return "ja" if kana > _LEAST_KANA * (kana + han) else "zh"
    script = max(worth, key=lambda script: worth[script])
    if script in _ONE_LANGUAGE:
        return _ONE_LANGUAGE[script]
    if script == "LATIN" and _is_plainly_english(piece):
        return ENGLISH
    if script not in ("LATIN", "CYRILLIC", "ARABIC", "DEVANAGARI"):
        return ""
    return _classified(piece)


def _is_plainly_english(piece: str) -> bool:
    words = _WORD.findall(piece.lower())
    small = [word for word in words if word in _ENGLISH_WORDS]
    return len(small) >= _LEAST_ENGLISH * len(words) and len(set(small)) >= _DIFFERENT_ENGLISH


def _classified(piece: str) -> str:
    code, probability = _classifier().classify(piece)
    # A dash, a quotation mark or an emoji speaks for no language, a letter with an accent against English.
    foreign = not piece.isascii() and any(letter.isalpha() for letter in piece if letter > "\x7f")
    return code if probability >= LEAST_SURE or foreign else ENGLISH


@lru_cache(maxsize=1)
def _classifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # here, because English seldom needs it

    classifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    classifier.set_languages(NAMES)
    return classifier
