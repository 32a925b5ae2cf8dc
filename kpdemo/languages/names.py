"""Names of languages for people, by their ISO 639-1 codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kpdemo.errors import ConfigError, InputError

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
"""The languages that are distinguished, in the order of their names."""

_OTHER_CODES = """
ara ar, bul bg, cat ca, zho zh, chi zh, cmn zh, hrv hr, ces cs, cze cs, dan da, nld nl, dut nl, eng en,
est et, fin fi, fra fr, fre fr, deu de, ger de, ell el, gre el, heb he, hin hi, hun hu, ind id,
ita it, jpn ja, kor ko, lav lv, lit lt, nor no, nob no, nno no, fas fa, per fa, pol pl, por pt, ron ro,
rum ro, rus ru, slk sk, slo sk, slv sl, spa es, swe sv, tha th, tur tr, ukr uk, vie vi, nb no, nn no, iw he,
in id
"""  # ISO 639-2 and 639-3, and other ways with two
_ISO_639_1 = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu
ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na
nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn
so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
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
        InputError: it is not one of them.
    """
    code = language_code(written)
    if code not in NAMES:
        raise InputError(f"{written}: not a known language; give one of {', '.join(NAMES.values())}.")
    return code


def names_language(written: str) -> bool:
    """Whether it is one of `NAMES`, or another code: of two letters in ISO 639-1, or any of three.

    Models from elsewhere may read those; anything else, such as "Frnch" or "xx", is a mistake.
    """
    code = re.split(r"[-_]", language_code(written))[0]
    return code in _ISO_639_1.split() or re.fullmatch("[a-z]{3}", code) is not None


def check_codes(codes: Iterable[str]) -> None:
    """Raises:
    ConfigError: a language that a model is to be made for is unknown, or not written as a code.
    """
    for code in codes:
        if not names_language(code) or code != language_code(code):
            raise ConfigError(
                f"`languages` has {code!r}, which is not a known language code: give codes such as "
                f"{', '.join(NAMES)}."
            )


def language_name(code: str) -> str:
    """The name for people; a code that has none is put in quotation marks."""
    return NAMES.get(code) or (f"“{code}”" if code else "an unknown language")
