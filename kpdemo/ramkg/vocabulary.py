"""The settings of RAMKG's generator, and the special ids of its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokenizers import Tokenizer

from kpdemo.errors import ModelLoadError
from kpdemo.ramkg.frames import Ends, Form, Frame, language_frames
from kpdemo.ramkg.prompt import Marks

MARKS = ("<En-kps>", "<kp-sep>", "<title>", "<context>")
"""The tokens that are added to the tokenizer, named as in the authors' code, in the order of `Marks`."""


@dataclass(frozen=True)
class WriterSettings:
    """How a generator is prompted and decoded; stored with it.

    Attributes:
        form: where language tokens go, see `kpdemo.ramkg.frames`.
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
