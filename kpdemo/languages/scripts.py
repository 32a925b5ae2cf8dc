"""Which scripts a text is written in, and which of them put no spaces between words."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import islice

LETTERS_SAMPLED = 20_000

SCRIPT_NAMES = {
    "CJK": "Chinese or Japanese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "CYRILLIC": "Cyrillic",
    "GREEK": "Greek",
    "DEVANAGARI": "Devanagari",
    "THAI": "Thai",
    "LAO": "Lao",
    "KHMER": "Khmer",
    "MYANMAR": "Burmese",
}

UNSEGMENTED = frozenset({"THAI", "LAO", "KHMER", "MYANMAR"})
"""Scripts without spaces whose words nothing here can tell apart."""

HAN = r"\u3005-\u3007\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = r"\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = r"\u3130-\u318f\uac00-\ud7af"
SOUTHEAST = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer."""

UNSPACED = f"{HAN}{KANA}{HANGUL}{SOUTHEAST}"
"""Of a character class of `re`: letters of scripts without spaces, or, as Hangul, with spaces that vary."""


def scripts(text: str) -> Counter[str]:
    """How many of the first letters belong to each script, by the first word of their Unicode names."""
    letters = Counter(islice(filter(str.isalpha, text), LETTERS_SAMPLED))
    found: Counter[str] = Counter()
    for letter, count in letters.items():
        found[script_of(letter)] += count
    return found


@lru_cache(maxsize=20_000)
def script_of(letter: str) -> str:
    """Such as "LATIN"; half-width and full-width forms have the script of the plain letter."""
    plain = unicodedata.normalize("NFKC", letter)[:1] or letter
    return unicodedata.name(plain, "UNKNOWN").split(" ")[0].split("-")[0]
