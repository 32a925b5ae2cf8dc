"""Names of languages for people, by their ISO 639-1 codes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from kpdemo.errors import InputError

ENGLISH = "en"

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "ar": "Arabic",
        "bg": "Bulgarian",
        "ca": "Catalan",
        "zh": "Chinese",
        "hr": "Croatian",
        "cs": "Czech",
        "da": "Danish",
        "nl": "Dutch",
        "en": "English",
        "et": "Estonian",
        "fi": "Finnish",
        "fr": "French",
        "de": "German",
        "el": "Greek",
        "he": "Hebrew",
        "hi": "Hindi",
        "hu": "Hungarian",
        "id": "Indonesian",
        "it": "Italian",
        "ja": "Japanese",
        "ko": "Korean",
        "lv": "Latvian",
        "lt": "Lithuanian",
        "no": "Norwegian",
        "fa": "Persian",
        "pl": "Polish",
        "pt": "Portuguese",
        "ro": "Romanian",
        "ru": "Russian",
        "sk": "Slovak",
        "sl": "Slovenian",
        "es": "Spanish",
        "sv": "Swedish",
        "th": "Thai",
        "tr": "Turkish",
        "uk": "Ukrainian",
        "vi": "Vietnamese",
    }
)
"""The languages that are told apart, in the order of their names."""

_OTHER_CODES = """
ara ar, bul bg, cat ca, zho zh, chi zh, cmn zh, hrv hr, ces cs, cze cs, dan da, nld nl, dut nl, eng en,
est et, fin fi, fra fr, fre fr, deu de, ger de, ell el, gre el, heb he, hin hi, hun hu, ind id,
ita it, jpn ja, kor ko, lav lv, lit lt, nor no, nob no, nno no, fas fa, per fa, pol pl, por pt, ron ro,
rum ro, rus ru, slk sk, slo sk, slv sl, spa es, swe sv, tha th, tur tr, ukr uk, vie vi, nb no, nn no, iw he,
in id
"""  # ISO 639-2 and 639-3, and other ways with two
_CODES = (
    {name.lower(): code for code, name in NAMES.items()}
    | {code: code for code in NAMES}
    | dict(pair.split() for pair in _OTHER_CODES.split(","))
)


def language_code(written: str) -> str:
    """The code of a language as people and files write it: "fr", "fra", "fr-CA", "zh_CN" or "French".

    One that is not among `NAMES` comes back as it is, in lower case.
    """
    plain = written.strip().lower()
    return _CODES.get(plain) or _CODES.get(re.split(r"[-_]", plain)[0]) or plain


def known_language(written: str) -> str:
    """As `language_code`, of `NAMES` only.

    Raises:
        InputError: it is none of them.
    """
    code = language_code(written)
    if code not in NAMES:
        raise InputError(f"{written}: not a language known here; give one of {', '.join(NAMES.values())}.")
    return code


def language_name(code: str) -> str:
    """The name for people; a code that has none stands in quotation marks."""
    return NAMES.get(code) or (f"“{code}”" if code else "an unknown language")
