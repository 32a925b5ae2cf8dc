"""Keyphrase models in Hugging Face's own form, and ONE2SEQ by an encoder-decoder of the Hub.

Letters (generator): B texts, N sequences, T tokens of a text, S tokens of a sequence, D width, V
vocabulary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import torch
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
    GenerationConfig,
)
from transformers.modeling_outputs import BaseModelOutput

from kpdemo.config import load_section
from kpdemo.errors import ConfigError, KpdemoError, LanguageError, ModelLoadError
from kpdemo.routing import latin_documents
from kpdemo.selection import Proposal, build_answer, check_options
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.checkpoint import UNREADABLE, choose_device
from kpdemo.simckp.encoder import longest_reading, quiet_transformers
from kpdemo.simckp.examples import TURN
from kpdemo.simckp.hub.profiles import OWN_PROFILE, Profile, profile_of
from kpdemo.simckp.hub.tagger import HubTagger
from kpdemo.simckp.pretrained_decoder import generation_config, log_probabilities
from kpdemo.text import readable_documents
from kpdemo.types import Document, Prediction, Predictor, Span

SEQUENCES_AT_ONCE = 32
LEAST_ROOM = 32
"""Tokens that a profile's prefix must leave for the text."""

_ORDINARY = ("bos_token", "eos_token", "pad_token", "unk_token", "mask_token", "cls_token")


@dataclass(frozen=True)
class Piece:
    """A piece of a document as the model reads it; a short document is one piece."""

    document: int
    text: str
    language: str


@dataclass(frozen=True)
class HubGenerator:
    """A `Predictor` that writes; without a number or a threshold it gives its most likely sequence.

    Otherwise it chooses among the phrases of all beams. The score of a phrase is the geometric mean of the
    probabilities of its tokens, in the sequence where that is highest.

    Attributes:
        window: tokens of one piece, prefix and special tokens included; what is longer is read in several.
        separators: what may come between two phrases; never empty.
        start: the token id that the decoder begins with.
    """

    finds_absent: ClassVar[bool] = True

    name: str
    model: Any
    tokenizer: Any
    profile: Profile
    window: int
    separators: tuple[str, ...]
    start: int

    @classmethod
    def of(cls, name: str, model: Any, tokenizer: Any, profile: Profile, window: int) -> HubGenerator:
        """Raises:
        ModelLoadError: the model does not say how its sequences begin and end, lacks a token of the profile,
            or the profile leaves no room for the text.
        """
        starts = (model.generation_config.decoder_start_token_id, model.generation_config.bos_token_id)
        start = next((token for token in starts if token is not None), None)
        if start is None or tokenizer.eos_token_id is None:
            raise ModelLoadError(
                f"The model {name!r} does not say how its sequences begin and end: set "
                "decoder_start_token_id and eos_token in its configuration."
            )
        # Otherwise a checkpoint's own settings would apply wherever a call sets none.
        model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
        separators = profile.separators or _added_separators(tokenizer)
        generator = cls(name, model, tokenizer, profile, window, separators, start)
        generator._check()
        return generator

    @property
    def languages(self) -> frozenset[str]:
        return frozenset(self.profile.reads or self.profile.languages)

    @property
    def device(self) -> str:
        return str(self.model.device.type)

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`.

        Raises:
            LanguageError: the model distinguishes languages, and a document's is not among them.
        """
        check_options(top_k, threshold)
        several = bool(self.profile.languages)
        read = readable_documents(documents) if several else latin_documents(documents)
        pieces = [piece for number, document in enumerate(read) for piece in self._read(number, document)]
        proposals: list[list[Proposal]] = [[] for _ in read]
        for group in self._groups(pieces):
            for piece, found in zip(group, self._write(group), strict=True):
                proposals[piece.document] += found
        return [
            build_answer(document, found, top_k=top_k, threshold=threshold)
            for document, found in zip(read, proposals, strict=True)
        ]

    def _check(self) -> None:
        for token in filter(None, (self.profile.forced_first, *self.profile.languages.values())):
            if self._id(token) in (None, self.tokenizer.unk_token_id):
                raise ModelLoadError(f"The model {self.name!r} has no token {token!r}: fix its profile.")
        if self._room < LEAST_ROOM:
            raise ModelLoadError(
                f"The model {self.name!r} reads {self.window} tokens, of which its profile leaves "
                f"{self._room} for the text: shorten its prefix."
            )

    def _id(self, token: str) -> int | None:
        number: int | None = self.tokenizer.convert_tokens_to_ids(token)
        return number

    @property
    def _room(self) -> int:
        """How many tokens of a piece are the document's own."""
        with TURN:
            prefix = self.tokenizer(self.profile.prefix, add_special_tokens=False)["input_ids"]
        return self.window - len(prefix) - int(self.tokenizer.num_special_tokens_to_add())

    def _read(self, number: int, document: Document) -> Iterator[Piece]:
        languages = self.profile.languages
        if languages and document.language not in languages:
            raise LanguageError(
                f"The model {self.name!r} does not read {document.language!r}: give a document in one of "
                f"{', '.join(languages)}."
            )
        text = f"{document.title}{self.profile.joiner}{document.body}" if document.title else document.body
        room = self._room
        with TURN:
            encoded = self.tokenizer(
                text,
                add_special_tokens=False,
                truncation=True,
                max_length=room,
                stride=min(self.profile.overlap, room // 4),
                return_overflowing_tokens=True,
            )
        for encoding in encoded.encodings:
            piece = text[encoding.offsets[0][0] : encoding.offsets[-1][1]]
            yield Piece(number, f"{self.profile.prefix}{piece}", document.language)

    def _groups(self, pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
        """Pieces of one language that are written about together."""
        size = max(SEQUENCES_AT_ONCE // self.profile.beams, 1)
        for language in dict.fromkeys(piece.language for piece in pieces):
            same = [piece for piece in pieces if piece.language == language]
            yield from (same[first : first + size] for first in range(0, len(same), size))

    def _write(self, pieces: Sequence[Piece]) -> Iterator[list[Proposal]]:
        """The phrases of every beam of each piece."""
        first = self.profile.languages.get(pieces[0].language, "")
        with TURN:
            if first and hasattr(self.tokenizer, "src_lang"):
                self.tokenizer.src_lang = first
            inputs = self.tokenizer(
                [piece.text for piece in pieces],
                padding=True,
                truncation=True,
                max_length=self.window,
                return_tensors="pt",
            ).to(self.model.device)
        mask = inputs["attention_mask"]
        forced = first or self.profile.forced_first
        with torch.inference_mode():
            hidden = self.model.get_encoder()(input_ids=inputs["input_ids"], attention_mask=mask)[0]
            sequences = self.model.generate(
                encoder_outputs=BaseModelOutput(hidden),
                attention_mask=mask,
                generation_config=generation_config(
                    self._search,
                    start=self.start,
                    end=self.tokenizer.eos_token_id,
                    padding=self.tokenizer.pad_token_id,
                    forced_first=self._id(forced) if forced else None,
                ),
            )
            scores = log_probabilities(self.model, hidden, mask, sequences)
        for number in range(len(pieces)):
            rows = range(number * self.profile.beams, (number + 1) * self.profile.beams)
            yield [
                Proposal(phrase, score, chosen=row == rows[0])
                for row in rows
                for phrase, score in self._phrases(sequences[row, 1:].tolist(), scores[row].tolist())
            ]

    @property
    def _search(self) -> SearchConfig:
        profile = self.profile
        return SearchConfig(beams=profile.beams, longest=profile.longest, no_repeat=profile.no_repeat)

    def _phrases(self, ids: Sequence[int], scores: Sequence[float]) -> Iterator[tuple[str, float]]:
        """The phrases of one sequence, in order, each with the geometric mean of its probabilities.

        Args:
            ids, scores: (S - 1,) its tokens without the first, and their log-probabilities.
        """
        end = self.tokenizer.eos_token_id
        length = ids.index(end) if end in ids else len(ids)
        spoken = [pair for pair in zip(ids[:length], scores, strict=False) if pair[0] not in self._silent]
        tokens = [token for token, _ in spoken]
        ends = [len(self._decode(tokens[:count])) for count in range(len(tokens) + 1)]
        text = self._decode(tokens)
        for start, stop in _between(text, self.separators):
            own = [
                score
                for (begin, finish), (_, score) in zip(pairwise(ends), spoken, strict=True)
                if begin < stop and finish > start
            ]
            yield text[start:stop], math.exp(sum(own) / len(own))

    @property
    def _silent(self) -> set[int | None]:
        """Tokens that belong to no phrase and separate none."""
        forced = map(self._id, filter(None, (self.profile.forced_first, *self.profile.languages.values())))
        return {self.tokenizer.bos_token_id, self.tokenizer.pad_token_id, *forced}

    def _decode(self, tokens: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(
            tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text


def _added_separators(tokenizer: Any) -> tuple[str, ...]:
    """The tokens that were added to those of the architecture, and a semicolon."""
    ordinary = {getattr(tokenizer, name) for name in _ORDINARY}
    return (*sorted(token for token in tokenizer.get_added_vocab() if token not in ordinary), ";")


def _between(text: str, separators: Sequence[str]) -> Iterator[Span]:
    """The spans of the phrases between separators, without surrounding spaces; empty ones are left out."""
    start = 0
    for match in re.finditer("|".join(map(re.escape, separators)) + r"|\Z", text):
        phrase = text[start : match.start()]
        if phrase.strip():
            yield start + len(phrase) - len(phrase.lstrip()), start + len(phrase.rstrip())
        start = match.end()


def open_hub_model(name: str, folder: Path, *, device: str = "auto") -> Predictor:
    """The model in `folder`.

    Args:
        name: decides the profile, see `kpdemo.simckp.hub.profiles.profile_of`; named in errors.
        device: "auto" (CUDA when there is one), "cpu" or "cuda".

    Raises:
        ConfigError: the profile next to the model is wrong.
        ModelLoadError: the model is damaged, or of a kind that finds no keyphrases.
    """
    target = choose_device(device)
    with quiet_transformers(), _model_errors(name):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        profile = _profile(name, folder, config)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        if not tokenizer.is_fast:
            raise ModelLoadError(
                f"The tokenizer of {name!r} gives no character offsets: choose a model with a fast one."
            )
        generates = profile.task == "generation"
        auto = AutoModelForSeq2SeqLM if generates else AutoModelForTokenClassification
        model, loaded = auto.from_pretrained(
            folder, output_loading_info=True, dtype=torch.float32, trust_remote_code=False
        )
        missing = set(loaded["missing_keys"]) & {name for name, _ in model.named_parameters()}
        if missing:
            raise ModelLoadError(f"The model {name!r} lacks the weights {min(missing)}: give a trained one.")
        window = min(profile.window, longest_reading(config, tokenizer))
        kind = HubGenerator if generates else HubTagger
        return kind.of(name, model.to(target).eval(), tokenizer, profile, window)


def _profile(name: str, folder: Path, config: Any) -> Profile:
    architecture = (config.architectures or ["an unnamed one"])[0]
    profile = profile_of(name, architecture)
    if profile is None:
        raise ModelLoadError(
            f"The model {name!r} is a {architecture}, which neither writes keyphrases nor marks them: "
            "give an encoder-decoder or a token classifier."
        )
    own = folder / OWN_PROFILE
    if not own.is_file():
        return profile
    written = load_section(own, "profile", Profile)
    if written.task != profile.task:
        raise ConfigError(f"{own} says {written.task}, but the model is a {architecture}: correct the task.")
    return written


@contextmanager
def _model_errors(name: str) -> Iterator[None]:
    try:
        yield
    except KpdemoError:
        raise
    except UNREADABLE as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise ModelLoadError(
            f"The model {name!r} cannot be loaded ({reason}): give another, or restore its files."
        ) from error
