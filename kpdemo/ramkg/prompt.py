"""What RAMKG's generator reads and writes (section 4.2), as token ids.

| form | encoder reads | decoder begins with | |
|---|---|---|---|
| mbart | text `</s>` `[XX]` | `[XX]` | mBART (cc25), as in RAMKG |
| mbart50 | `[XX]` text `</s>` | `</s>` `[XX]` | mBART-50 and what was made of it |
| plain | as the tokenizer has it, `[XX]` after the text | its start, then `[XX]` | BART, T5, mT5 |

`[XX]` is the token of the document's language: the checkpoint's own, or one added for it. A plain model may
do without; its decoder then begins as its texts do.

The input is `[ENKPS] k [SEP] k [SEP] … k [TITLE] title [CTX] body`: without retrieved keyphrases it begins
at `[TITLE]`, and for a document without a title it has only `[CTX] body` after them. The output is `k [SEP]
k … k`. The tokens for begin, end and language are the model's own, see `kpdemo.ramkg.prompt`.

Retrieved keyphrases are left out whole, from the end, to make room for the document. As in the authors'
code `LEAST_RETRIEVED` tokens are reserved for them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

from tokenizers import Tokenizer

from kpdemo.errors import ModelLoadError
from kpdemo.languages import HAN, KANA, SOUTHEAST
from kpdemo.text import phrase_key
from kpdemo.types import Document

Form = Literal["mbart", "mbart50", "plain"]

_OWN_LANGUAGE = re.compile(r"([a-z]{2})_[A-Z]{2}")
_ADDED_LANGUAGE = "<language:{}>"


@dataclass(frozen=True)
class Ends:
    """What a tokenizer and a configuration of Transformers say of begin and end, as token ids.

    Attributes:
        special: what the tokenizer makes of an empty text.
        start: the decoder's first token, by the configuration.
    """

    special: tuple[int, ...]
    start: int
    end: int
    padding: int


@dataclass(frozen=True, slots=True)
class Frame:
    """The token ids around a prompt, for one language.

    Attributes:
        before, after: what the encoder reads around the text.
        start: what the decoder begins with; written is what comes after it, up to the end token.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    start: tuple[int, ...]

    @property
    def added(self) -> int:
        """Number of tokens that the encoder reads in addition to the text."""
        return len(self.before) + len(self.after)


def form_of(model_type: str, tokenizer: Any) -> Form:
    """The form of a checkpoint.

    Args:
        tokenizer: of Transformers; mBART and mBART-50 differ in its class alone.
    """
    if model_type != "mbart":
        return "plain"
    return "mbart50" if "MBart50" in type(tokenizer).__name__ else "mbart"


def own_languages(tokenizer: Any) -> dict[str, str]:
    """The languages that a tokenizer has tokens for, such as {"fr": "fr_XX"}, by ISO 639-1 code."""
    matches = map(_OWN_LANGUAGE.fullmatch, sorted(tokenizer.get_vocab()))
    return {match[1]: match[0] for match in matches if match}


def added_languages(codes: Sequence[str]) -> dict[str, str]:
    """Tokens for languages that a tokenizer does not know.

    >>> added_languages(["fr"])
    {'fr': '<language:fr>'}
    """
    return {code: _ADDED_LANGUAGE.format(code) for code in codes}


def frame(form: Form, ends: Ends, language: int | None) -> Frame:
    """The frame of a language.

    Args:
        language: its token; None for a plain model that has none.

    Raises:
        ModelLoadError: the form needs a language.
    """
    own = () if language is None else (language,)
    special, end = ends.special, ends.end
    if form == "plain":
        cut = special.index(end) if end in special else len(special)
        before = special[:cut]
        return Frame(before, (*own, *special[cut:]), (ends.start, *(own or before)))
    if not own:
        raise ModelLoadError(f"A model of the form {form!r} needs a language: give one of its own.")
    return Frame((), (end, *own), own) if form == "mbart" else Frame(own, (end,), (end, *own))


def language_frames(form: Form, ends: Ends, languages: Mapping[str, int]) -> dict[str, Frame]:
    """The frame of each language; under "" that of a model that does not distinguish languages."""
    known: Mapping[str, int | None] = languages or {"": None}
    return {code: frame(form, ends, token) for code, token in known.items()}


LEAST_RETRIEVED = 64

Encode = Callable[[str], Sequence[int]]
"""The token ids of a text without special tokens."""

_UNSPACED = f"{HAN}{KANA}{SOUTHEAST}"  # Korean has spaces, though they vary
_NEEDLESS_SPACE = re.compile(rf"(?<=[{_UNSPACED}])\s+(?=[{_UNSPACED}])")
_EDGES = " \t\r\n.,;:|。，、；：．·"


@dataclass(frozen=True, slots=True)
class Marks:
    """The ids of the tokens that were added for the parts of a prompt."""

    retrieved: int
    separator: int
    title: int
    context: int


def flat_phrases(retrieved: Iterable[Sequence[str]], *, deduplicate: bool) -> list[str]:
    """The keyphrases of all passages, the best passage's first.

    Args:
        deduplicate: leave out those whose English stems occurred before.
    """
    phrases = [clean for passage in retrieved for phrase in passage if (clean := " ".join(phrase.split()))]
    if not deduplicate:
        return phrases
    first: dict[str, str] = {}
    for phrase in phrases:
        first.setdefault(phrase_key(phrase), phrase)
    return list(first.values())


def join_phrases(phrases: Iterable[Sequence[int]], separator: int, *, room: int) -> list[int]:
    """As many phrases from the first on as fit into `room` tokens, with separators between them.

    Empty phrases are left out; one that does not fit ends the sequence.
    """
    whole = [phrase for phrase in phrases if len(phrase)]
    lengths = accumulate((len(phrase) + 1 for phrase in whole), initial=-1)
    kept = sum(length <= room for length in list(lengths)[1:])
    joined: list[int] = []
    for phrase in whole[:kept]:
        joined += [separator, *phrase] if joined else phrase
    return joined


def read_document(document: Document, marks: Marks, encode: Encode) -> list[int]:
    """The document's own part of the prompt, as long as it is."""
    title = [marks.title, *encode(document.title)] if document.title.strip() else []
    return [*title, marks.context, *encode(document.body)]


def build_prompt(
    document: Sequence[int], retrieved: Iterable[Sequence[int]], marks: Marks, *, room: int
) -> list[int]:
    """At most `room` tokens, with `LEAST_RETRIEVED` or half, whichever is less, kept for keyphrases.

    Args:
        document: of `read_document`; its end is cut off where it does not fit.
        retrieved: the ids of each retrieved keyphrase; without any the prompt is the document.
    """
    own = min(LEAST_RETRIEVED, room // 2)
    space = max(room - len(document), own) - 1
    phrases = join_phrases(retrieved, marks.separator, room=space)
    before = [marks.retrieved, *phrases] if phrases else []
    return [*before, *document[: room - len(before)]]


def clean_phrase(text: str, language: str) -> str:
    """A phrase as it was written by the model, in the form that people write it; it may be empty.

    Composed letters (NFC), single spaces, no marks of punctuation at its ends; in Chinese and Japanese plain
    instead of full-width forms, and no spaces between two characters of scripts that have none.
    """
    east_asian = language in ("zh", "ja")
    plain = unicodedata.normalize("NFKC" if east_asian else "NFC", text)
    phrase = " ".join(plain.split()).strip(_EDGES)
    return _NEEDLESS_SPACE.sub("", phrase) if east_asian or language == "th" else phrase


def clean_phrases(texts: Iterable[str], language: str) -> list[str]:
    """Clean phrases in their order, each once, by the stems of the language."""
    first: dict[str, str] = {}
    for text in texts:
        phrase = clean_phrase(text, language)
        if any(map(str.isalnum, phrase)):
            first.setdefault(phrase_key(phrase, language), phrase)
    return list(first.values())


MARKS = ("<En-kps>", "<kp-sep>", "<title>", "<context>")
"""The tokens that are added to the tokenizer, named as in the authors' code, in the order of `Marks`."""


@dataclass(frozen=True)
class WriterSettings:
    """How a generator is prompted and decoded; stored with it.

    Attributes:
        form: where language tokens go, see `kpdemo.ramkg.prompt`.
        languages: a document's language to its token; empty for a model that distinguishes none.
        made_for: the languages that it was trained on.
        window: most tokens read, special ones included; longer input is cut.
        longest: most tokens written.
        beams: of the beam search.
        deduplicate: whether a retrieved keyphrase occurs in the prompt only once.
        passages: m, how many passages' keyphrases are read.
        retrieves: whether it learnt with keyphrases of passages.
        retriever: the identity of the encoder whose index it learnt with; empty where that is not known.
        retriever_name: its name.
    """

    form: Form
    languages: Mapping[str, str] = field(default_factory=dict)
    made_for: tuple[str, ...] = ()
    window: int = 1024
    longest: int = 128
    beams: int = 5
    deduplicate: bool = True
    passages: int = 1
    retrieves: bool = True
    retriever: str = ""
    retriever_name: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """The special ids of a tokenizer.

    Attributes:
        frames: by language, see `language_frames`.
    """

    marks: Marks
    frames: Mapping[str, Frame]
    padding: int
    end: int

    @classmethod
    def of(cls, tokenizer: Tokenizer, settings: WriterSettings, ends: Ends) -> Vocabulary:
        """Raises:
        ModelLoadError: the tokenizer lacks one of `MARKS` or of the tokens of languages.
        """
        retrieved, separator, title, context = (_id(tokenizer, token) for token in MARKS)
        languages = {code: _id(tokenizer, token) for code, token in settings.languages.items()}
        frames = language_frames(settings.form, ends, languages)
        return cls(Marks(retrieved, separator, title, context), frames, ends.padding, ends.end)

    def frame(self, language: str) -> Frame | None:
        """None for a language that the model has no token for."""
        return self.frames.get(language) or self.frames.get("")


def _id(tokenizer: Tokenizer, token: str) -> int:
    number: int | None = tokenizer.token_to_id(token)
    if number is None:
        raise ModelLoadError(f"The tokenizer has no token {token!r}: retrain the model, or restore it.")
    return number
