"""Languages: which one a text is in, and how its words are cut, stemmed and compared.

The text is cut into pieces of a few sentences. A script that only one language uses decides on its own, and
a piece full of English function words is English, so most texts need nothing more. The others are left to
py3langid, a naive Bayes classifier over byte n-grams (Lui and Baldwin 2012, langid.py; Barbaresi 2021),
with the languages of `NAMES`, and English where it is not sure.

A word is a run of letters, digits and their marks; each punctuation mark is a word of its own. In Chinese,
Japanese, Korean, Thai, Lao, Burmese and Khmer every letter is one: their texts have no spaces or vary them,
and a segmenter cuts a phrase on its own differently from the same phrase in a sentence. So such a phrase is
present when its letters occur in the text in order, with any spaces between.

Two words are the same when their stems are, after NFKC (full-width forms, composed accents, ligatures), with
plain apostrophes and dashes, case folding by the rules of the language, and without invisible characters.

Whether a phrase is present does not depend on them (see `wording`): they say which words a phrase is made
of. Each loads with the first text of its language; Kiwi then takes seconds and 340 MB.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kpdemo.errors import ConfigError, InputError
from kpdemo.types import Document

if TYPE_CHECKING:
    from kiwipiepy import Kiwi
    from py3langid.langid import LanguageIdentifier


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


def identify(document: Document) -> Document:
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


Span = tuple[int, int]

SNOWBALL: Mapping[str, str] = MappingProxyType(
    {
        "ar": "arabic",
        "da": "danish",
        "de": "german",
        "es": "spanish",
        "fi": "finnish",
        "fr": "french",
        "hu": "hungarian",
        "it": "italian",
        "nl": "dutch",
        "no": "norwegian",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sv": "swedish",
    }
)
"""Languages with a Snowball stemmer in NLTK, by its name there; in others words are compared unstemmed."""

PLAIN_MARKS = str.maketrans("’‘ʼ´′‐‑‒–—−“”„ـ", "'''''------\"\"\"\u00ad")
"""Apostrophes, dashes and quotation marks as keyboards have them; the Arabic tatweel is only length."""

_DOTTED = str.maketrans("Iİ", "ıi")
DOTLESS = frozenset({"az", "tr"})
"""Languages in which the capital of i is İ, and I that of ı."""

_BASIC_PLANE = 0x10000
_JAMO = r"[\u1100-\u115f][\u1160-\u11a7]?[\u11a8-\u11ff]?"  # a Hangul syllable taken apart, as in NFD


def word_spans(text: str) -> list[Span]:
    """The span of each word of a text that is not English; invisible characters are not words."""
    return [match.span() for match in _word().finditer(text) if fold_word(match.group())]


def normal_form(text: str) -> str:
    """NFKC, with plain apostrophes, dashes and quotation marks."""
    return unicodedata.normalize("NFKC", text.translate(PLAIN_MARKS)).translate(PLAIN_MARKS)


@lru_cache(maxsize=200_000)
def fold_word(word: str, language: str = "") -> str:
    """The normal form of a word, see above; it may be empty, and has no space.

    Args:
        language: its capitals are lowered by the rules of this one.
    """
    plain = normal_form(word)
    plain = plain.translate(_DOTTED) if language in DOTLESS else plain.replace("İ", "i")
    plain = plain.casefold()
    seen = "".join(letter for letter in plain if unicodedata.category(letter)[0] not in "CZ")
    return unicodedata.normalize("NFKC", seen)


@lru_cache(maxsize=200_000)
def stem(word: str, language: str) -> str:
    """The stem of one word; the folded word in a language without a stemmer.

    Args:
        language: as `language_code` reads it.
    """
    code = language_code(language)
    plain = fold_word(word, code)
    return _stemmer(code)(plain) or plain


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    r"""Python's `\w` has no combining marks, without which Hindi, pointed Hebrew and NFD fall apart."""
    marks, hidden = combining_marks(), _class("Cf")
    letter = rf"[^\W_{UNSPACED}]"
    return re.compile(
        rf"{_JAMO}|[{UNSPACED}][{marks}{hidden}\uff9e\uff9f]*|{letter}(?:{letter}|[{marks}{hidden}])*|[^\s{hidden}]"
    )


@lru_cache(maxsize=1)
def combining_marks() -> str:
    """The accents and vowel signs that follow a letter, for a class of a regular expression."""
    return _class("Mn", "Mc", "Me")


def _class(*categories: str) -> str:
    """The characters of some Unicode categories in the basic plane, as ranges of a character class."""
    wanted = [code for code in range(_BASIC_PLANE) if unicodedata.category(chr(code)) in categories]
    runs: list[Span] = []
    for code in wanted:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in runs)


@lru_cache(maxsize=100)
def _stemmer(code: str) -> Callable[[str], str]:
    if code not in SNOWBALL:
        return str
    from nltk.stem.snowball import SnowballStemmer  # here, because only few languages of few texts need it

    # A new one for each word: NLTK's Arabic one remembers the suffix of a word before, of any thread.
    return lambda word: str(SnowballStemmer(SNOWBALL[code]).stem(word))


_CHINESE_CONTENT = ("n", "vn", "v", "a", "b", "j", "l", "i", "eng")
_CHINESE_EDGES = (*_CHINESE_CONTENT, "t", "z", "f", "g", "s", "d", "m", "q", "h", "k")
_KOREAN_CONTENT = ("NNG", "NNP", "SL", "SH", "XPN", "XSN", "XR")
_KOREAN_EDGES = (*_KOREAN_CONTENT, "MM", "MAG", "NNB", "NR")
_JAPANESE = re.compile(rf"[{HAN}]+|[\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f]+|[^\W_{UNSPACED}]+|[^\s]")
_JAPANESE_CONTENT = re.compile(rf"[{HAN}\u30a1-\u30fa\uff66-\uff9d]|[^\W\d_{UNSPACED}]")


class Segment(NamedTuple):
    """A word, by its character offsets.

    Attributes:
        content: whether it says something by itself.
        edge: whether a keyphrase may begin or end with it, as with the adverb "random" of "random forest".
    """

    start: int
    end: int
    content: bool
    edge: bool


def segments(text: str, language: str) -> list[Segment]:
    """The words of a text in their order; white space belongs to none, and Korean particles are words.

    Args:
        language: one of `SEGMENTED`.
    """
    return list(_SEGMENTERS[language](text))


def _chinese(text: str) -> Iterator[Segment]:
    yield from _joined(text, _jieba(text))


def _joined(text: str, pieces: Iterator[Segment]) -> Iterator[Segment]:
    """The pieces of a segmenter, joined where it cuts a word of other letters.

    jieba knows no "ö" in "Schrödinger", and Kiwi cuts "learning." at the end of a sentence.
    """
    inside = {place for start, end in word_spans(text) for place in range(start + 1, end)}
    joined: Segment | None = None
    for piece in pieces:
        if joined and piece.start in inside:
            content, edge = joined.content or piece.content, joined.edge or piece.edge
            joined = Segment(joined.start, piece.end, content, edge)
            continue
        if joined:
            yield joined
        joined = piece
    if joined:
        yield joined


def _jieba(text: str) -> Iterator[Segment]:
    import rjieba  # here, as Kiwi below: only for texts of their language

    start = 0
    for word, tag in rjieba.tag(text):
        end = start + len(word)
        if not word.isspace():
            named = any(map(str.isalpha, word))
            content, edge = tag.startswith(_CHINESE_CONTENT), tag.startswith(_CHINESE_EDGES)
            yield Segment(start, end, named and content, named and edge)
        start = end


def _korean(text: str) -> Iterator[Segment]:
    """The words of Kiwi without the full stop that it takes into "IoT."; "U.S." keeps its own."""
    for word in _joined(text, _kiwi_words(text)):
        stop = text.find(".", word.start + 1, word.end)
        if stop == word.end - 1:
            yield word._replace(end=stop)
            yield Segment(stop, word.end, content=False, edge=False)
        else:
            yield word


def _kiwi_words(text: str) -> Iterator[Segment]:
    done = 0
    for token in _kiwi().tokenize(text):
        start, end = token.start, token.start + token.len
        if start >= done and end > start:  # "할" is a verb and its ending, both in one syllable
            yield Segment(start, end, token.tag in _KOREAN_CONTENT, token.tag in _KOREAN_EDGES)
            done = end


def _japanese(text: str) -> Iterator[Segment]:
    for match in _JAPANESE.finditer(text):
        content = _JAPANESE_CONTENT.match(match.group()) is not None
        yield Segment(*match.span(), content, content)


_SEGMENTERS: Mapping[str, Callable[[str], Iterator[Segment]]] = MappingProxyType(
    {"zh": _chinese, "ja": _japanese, "ko": _korean}
)
SEGMENTED = frozenset(_SEGMENTERS)


@lru_cache(maxsize=1)
def _kiwi() -> Kiwi:
    from kiwipiepy import Kiwi

    # Without its dictionaries of typing errors and of long names: half the memory.
    return Kiwi(num_workers=1, load_typo_dict=False, load_multi_dict=False)


SAMPLE = 100


def identify_together(documents: Sequence[Document]) -> list[Document]:
    """Each document, in order, with the language that it is measured in, which no model sees.

    A document that names no language gets the detected one, unless it is written in Latin letters: then that
    of most such documents of the file. So one German abstract among English ones is measured as English, as
    the published evaluations do, which know one language only.
    """
    latin = [not document.language and _is_latin(document.text) for document in documents]
    shared = _most_common([document for document, of_many in zip(documents, latin, strict=True) if of_many])
    return [
        replace(document, language=shared) if of_many else identify(document)
        for document, of_many in zip(documents, latin, strict=True)
    ]


def _is_latin(text: str) -> bool:
    found = scripts(text)
    return found["LATIN"] * 2 > found.total()


def _most_common(documents: Sequence[Document]) -> str:
    """Of `SAMPLE` of them, spread evenly."""
    step = -(-len(documents) // SAMPLE) or 1
    found = filter(None, (detect(document.text) for document in documents[::step]))
    counts = Counter(language.code for language in found)
    return counts.most_common(1)[0][0] if counts else ENGLISH
