"""Words, stems, and the rule that tells a present keyphrase from an absent one.

English has Porter's stems, as the released evaluation of SimCKP, of words in one normal form: NFKC, plain
apostrophes and dashes, no accents. "CO₂" is "CO2", and "naïve" is "naive". See
`kpdemo.languages` for other languages.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from kpdemo import languages
from kpdemo.errors import InputError
from kpdemo.languages import (
    ENGLISH,
    SEGMENTED,
    UNSPACED,
    identify,
    identify_together,
    known_language,
    language_code,
    normal_form,
    scripts,
    segments,
)
from kpdemo.locale import _
from kpdemo.markup import plain_document, plain_text, without_markup
from kpdemo.types import Document, Kind, Span

_WORD = re.compile(r"\w+|[^\w\s]")

# The released SimCKP evaluation puts spaces round exactly these; [, ], \ and _ stay in words.
_PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@^`{|}~")
_RELEASED_WORD = re.compile(rf"[{_PUNCTUATION}]|[^\s{_PUNCTUATION}]+")

_UNFOLDED = re.compile("[A-Za-z]?[\u0300-\u036f]+|[^\x00-\x7f][\u0300-\u036f]*")
_LETTERS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "Ae", "œ": "oe"}
    | {"Œ": "Oe", "ß": "ss", "™": "", "®": ""}
)
"""In English; those that are no plain letter with an accent."""

SURROGATE = re.compile("[\ud800-\udfff]")

_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")

LONGEST_KEYPHRASE = 100
"""Characters: anything longer is not a phrase but data, such as an encoded picture or a DNA sequence."""

LONGEST_SHOWN = 40
LEAST_UNSPACED = 5
"""Letters of scripts without spaces that may be more than one word."""


class _Word(NamedTuple):
    """A word in its normal form, with its span in the text that was given."""

    text: str
    span: Span


def words(text: str, language: str = "") -> list[str]:
    """The words of `text`; each punctuation mark is a word of its own.

    Args:
        language: ISO 639-1; the rules for languages other than English are in `kpdemo.languages`. A
            text without a language is taken as English, here and in all of this file.
    """
    return [text[start:end] for start, end in word_spans(text, language)]


def word_spans(text: str, language: str = "") -> list[Span]:
    """The span of each of `words` in `text`."""
    return [word.span for word in _read_words(text, language)]


def _read_words(text: str, language: str) -> list[_Word]:
    if not is_english(language):
        return [_Word(text[start:end], (start, end)) for start, end in languages.word_spans(text)]
    if text.isascii():
        return [_Word(match.group(), match.span()) for match in _WORD.finditer(text)]
    pieces: list[str] = []
    starts: list[int] = []  # of each character of the normal form, where it was given; and ends
    ends: list[int] = []
    done = 0
    for match in _UNFOLDED.finditer(text):
        start, end = match.span()
        folded = _fold(match.group())
        pieces += text[done:start], folded
        starts += *range(done, start), *[start] * len(folded)
        ends += *range(done + 1, start + 1), *[end] * len(folded)
        done = end
    pieces.append(text[done:])
    starts += range(done, len(text))
    ends += range(done + 1, len(text) + 1)
    return [
        _Word(match.group(), (starts[match.start()], ends[match.end() - 1]))
        for match in _WORD.finditer("".join(pieces))
    ]


@lru_cache(maxsize=10_000)
def _fold(character: str) -> str:
    """The normal form of a character with its accents, or of a run of accents; it may be several, or none.

    One that would be more than one word, such as "½", stays.
    """
    plain = unicodedata.normalize("NFD", normal_form(character.translate(_LETTERS)))
    if plain[:1].isascii() or unicodedata.category(plain[0]) == "Mn":
        plain = "".join(sign for sign in plain if unicodedata.category(sign) != "Mn")
        return plain if len(plain) < 2 or plain.isalnum() else character
    if unicodedata.category(plain[0]) == "Cf":
        return ""
    composed = unicodedata.normalize("NFC", plain)
    return composed if len(composed) == 1 or composed.isalnum() else unicodedata.normalize("NFC", character)


def stem(word: str, language: str = "") -> str:
    """In English the Porter stem of the word in lower case (NLTK's default mode, as in SimCKP)."""
    return _english_stem(word) if is_english(language) else languages.stem(word, language)


@lru_cache(maxsize=200_000)
def _english_stem(word: str) -> str:
    if not word.isascii():
        word = "".join(_UNFOLDED.sub(lambda match: _fold(match.group()), word).split())
    return str(_porter().stem(word, to_lowercase=True))


@lru_cache(maxsize=200_000)
def _released_stem(word: str) -> str:
    return str(_porter().stem(unicodedata.normalize("NFC", word), to_lowercase=True))


@lru_cache(maxsize=1)
def _porter():  # type: ignore[no-untyped-def]
    from nltk.stem.porter import PorterStemmer  # here, because nltk takes long to import

    return PorterStemmer()


def is_english(language: str) -> bool:
    """Whether it is English, or unknown."""
    return language in ("", ENGLISH)


def stems(text: str, language: str = "", *, released: bool = False) -> tuple[str, ...]:
    """The stem of each of `words`.

    Args:
        released: an English text is read as by the released evaluation of SimCKP, in no normal form:
            see docs/evaluation.md.
    """
    if not is_english(language):
        code = language_code(language)
        return tuple(languages.stem(text[start:end], code) for start, end in languages.word_spans(text))
    if released:
        return tuple(map(_released_stem, _RELEASED_WORD.findall(text)))
    if text.isascii():  # as most texts: their words need no places
        return tuple(map(_english_stem, _WORD.findall(text)))
    return tuple(_english_stem(word.text) for word in _read_words(text, language))


@lru_cache(maxsize=50_000)  # an answer asks for each phrase several times, and texts of a field share them
def phrase_key(text: str, language: str = "", *, released: bool = False) -> str:
    """What makes two phrases the same: their `stems`, joined by single spaces."""
    return " ".join(stems(text, language, released=released))


class StemmedText:
    """A document prepared for many questions of the kind "is this phrase present?".

    A keyphrase is present when its stemmed words occur contiguously in the stemmed title or in
    the stemmed body; it may not straddle the two. Words and stems are those of the document's language.

    Args:
        released: see `stems`.
    """

    def __init__(self, document: Document, *, released: bool = False) -> None:
        self._language, self._released = document.language, released
        given = (document.title, document.body)
        parts = [stems(part, document.language, released=released) for part in given if part]
        self._parts = [f" {' '.join(part)} " for part in parts]

    def key(self, phrase: str) -> str:
        """See `phrase_key`, in the language of the document."""
        return phrase_key(phrase, self._language, released=self._released)

    def contains(self, phrase: str) -> bool:
        key = self.key(phrase)
        return bool(key) and any(f" {key} " in part for part in self._parts)


def check_readable(document: Document) -> None:
    """Refuse what no predictor can read.

    Raises:
        InputError: there are not two words with a letter in the text, or it is not text.
    """
    text = document.text
    if not text.strip():
        raise InputError(_("The text is empty: give a title or some sentences."))
    if "\x00" in text:
        raise InputError("The text holds a NUL byte, so it is not plain text: save it as UTF-8 text first.")
    if SURROGATE.search(text):
        raise InputError(
            "The text holds half of a character (a lone surrogate): save it as UTF-8 text first."
        )
    if not scripts(text):
        raise InputError(_("The text holds no letters, so there is nothing to extract: give some sentences."))
    _check_length(text)


def readable_documents(documents: Iterable[Document | str]) -> list[Document]:
    """The documents, each with its language and without markup; a plain string is one without a title.

    Raises:
        InputError: as in `check_readable`; a single document is given where a list of them is taken, or one
            of them, its title or its body is something else, such as an empty cell of a table.
    """
    if isinstance(documents, str | Document):
        kind = "one string" if isinstance(documents, str) else "one Document"
        raise InputError(f"The documents must be a list, not {kind}: put it into one, as in predict([text]).")
    if isinstance(documents, bytes | Mapping) or not isinstance(documents, Iterable):
        raise InputError(
            f"The documents must be a list, not {name_of_value(documents)}: give one, as in predict([text])."
        )
    read = [without_markup(_document(number, document)) for number, document in enumerate(documents)]
    for number, document in enumerate(read):
        try:
            check_readable(document)
        except InputError as error:
            if len(read) == 1:
                raise
            raise InputError(f"documents[{number}]: {error}") from None
    return [identify(document) for document in read]


def _document(number: int, given: Document | str) -> Document:
    if isinstance(given, str):
        return Document(given)
    if not isinstance(given, Document):
        raise InputError(
            f"documents[{number}] is {name_of_value(given)}, neither a string nor a Document: give its text "
            "or "
            "kpdemo.Document(body, title=…), or leave it out."
        )
    for part, text in (("title", given.title), ("body", given.body), ("language", given.language)):
        if not isinstance(text, str):
            raise InputError(
                f'documents[{number}].{part} is {name_of_value(text)}, not a string: give its text, or "" '
                "where "
                "there is none."
            )
    return given


def name_of_value(value: object) -> str:
    """What messages call a value of a wrong type: None and numbers as written, of others the type."""
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**9):
        return repr(value)
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _check_length(text: str) -> None:
    lettered = (word for word in re.finditer(r"\S+", text) if any(map(str.isalpha, word.group())))
    first = [word.group() for word in islice(lettered, 2)]
    if len(first) == 1 and len(_UNSPACED_LETTER.findall(text[: 2 * LONGEST_SHOWN])) < LEAST_UNSPACED:
        word = shorten(first[0], LONGEST_SHOWN)
        raise InputError(_("The text is only one word, “{word}”: give a sentence or more.", word=word))


def shorten(text: str, longest: int) -> str:
    """The text, or its beginning with "…" in place of the rest: at most `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def number_of(count: int, noun: str) -> str:
    """1 pair, 1,200 pairs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


class PhraseFinder:
    """A document prepared for many questions of the kind "where does this phrase occur?".

    The rule is that of `kpdemo.text.StemmedText`: a phrase occurs where its stemmed words do,
    contiguously, in the title or in the body. Spans count in `Document.text`.
    """

    def __init__(self, document: Document) -> None:
        self._language = document.language
        parts = ((document.title, 0), (document.body, document.body_start))
        read = [(_read_words(part, self._language), offset) for part, offset in parts]
        self._spans = [
            [(word.span[0] + offset, word.span[1] + offset) for word in words] for words, offset in read
        ]
        self._stems = [tuple(stem(word.text, self._language) for word in words) for words, _ in read]
        self._firsts: dict[str, list[tuple[int, int]]] = {}
        for part, words in enumerate(self._stems):
            for position, word in enumerate(words):
                self._firsts.setdefault(word, []).append((part, position))

    def of(self, phrase: str) -> tuple[Span, ...]:
        """All places of the phrase, in order; none when it is absent."""
        wanted = stems(phrase, self._language)
        return tuple(
            (self._spans[part][first][0], self._spans[part][first + len(wanted) - 1][1])
            for part, first in (self._firsts.get(wanted[0], ()) if wanted else ())
            if self._stems[part][first : first + len(wanted)] == wanted
        )

    def widened(self, span: Span) -> Span:
        """The span with the words whole that it begins and ends in."""
        start, end = span
        for words in self._spans:
            first = bisect_right(words, start, key=lambda word: word[1])
            last = bisect_left(words, end, key=lambda word: word[0]) - 1
            if first <= last:
                return words[first][0], words[last][1]
        return span


class PhraseKinds:
    """A document prepared for many questions of the kind "is this phrase reordered, mixed or unseen?".

    A phrase is present by the rule of `StemmedText`. Of any other, the stems of its words are looked up
    one by one in title and body; punctuation marks do not count as words. In languages without spaces the
    words are those of a segmenter, and each is looked up as a phrase.
    """

    def __init__(self, document: Document) -> None:
        self._text = StemmedText(document)
        self._language = document.language

    def __call__(self, phrase: str) -> Kind:
        if self._text.contains(phrase):
            return Kind.PRESENT
        found = [self._text.contains(word) for word in _words(phrase, self._language)]
        if not any(found):
            return Kind.UNSEEN
        return Kind.REORDERED if all(found) else Kind.MIXED


def _words(phrase: str, language: str) -> list[str]:
    if language in SEGMENTED:
        found = [phrase[start:end] for start, end, *_ in segments(phrase, language)]
    else:
        found = words(phrase, language)
    return [word for word in found if any(map(str.isalnum, word))]


def presence(title: str, body: str, language: str) -> Callable[[str], bool]:
    """Tells whether a phrase is present in the text; see docs/evaluation.md.

    Args:
        language: a code or a name; of one that is not known the words are compared without stems.
    """
    try:
        code = known_language(language) if language else ENGLISH
    except InputError:
        code = language
    source = StemmedText(plain_document(Document(body, title=title, language=code)))
    return lambda phrase: source.contains(plain_text(phrase))


def measured_languages(texts: Sequence[tuple[str, str]]) -> list[str]:
    """The language that `evaluate` measures each document of a file in, by titles and bodies alone."""
    documents = [Document(body, title=title) for title, body in texts]
    return [document.language for document in identify_together(documents)]
