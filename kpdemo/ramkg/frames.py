"""The special tokens around a text in an encoder-decoder's input and output: begin, end, and language.

| form | encoder reads | decoder begins with | |
|---|---|---|---|
| mbart | text `</s>` `[XX]` | `[XX]` | mBART (cc25), as in RAMKG |
| mbart50 | `[XX]` text `</s>` | `</s>` `[XX]` | mBART-50 and what was made of it |
| plain | as the tokenizer has it, `[XX]` after the text | its start, then `[XX]` | BART, T5, mT5 |

`[XX]` is the token of the document's language: the checkpoint's own, or one added for it. A plain model may
do without; its decoder then begins as its texts do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kpdemo.errors import ModelLoadError

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
