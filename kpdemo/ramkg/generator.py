"""RAMKG's generator (section 4.2) on any encoder-decoder, with and without retrieved keyphrases.

Letters: B documents, K beams, N = B · K sequences, T tokens read, S tokens written, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from kpdemo.errors import LanguageError, ModelLoadError
from kpdemo.languages.names import language_name
from kpdemo.ramkg.frames import Form, Frame, language_frames
from kpdemo.ramkg.iterate import Augmented
from kpdemo.ramkg.prompt import Marks, build_prompt, clean_phrase, clean_phrases, flat_phrases, read_document
from kpdemo.selection import check_options
from kpdemo.simckp.halving import in_halves
from kpdemo.simckp.proposals import Proposal, build_answer
from kpdemo.text import readable_documents
from kpdemo.types import Document, Prediction

SEQUENCES_AT_ONCE = 40
_MOST_LOGITS = 2**27  # half a gigabyte of log-probabilities at once
_TOO_LARGE = "The device's memory does not hold one document with its beams: use --device cpu."


@dataclass(frozen=True)
class WriterSettings:
    """How a generator is asked; stored with it.

    Attributes:
        form: where language tokens stand, see `kpdemo.ramkg.frames`.
        languages: a document's language to its token; empty for a model that tells none apart.
        made_for: the languages that it was trained on.
        window: tokens read at most, special ones included; what is longer is cut.
        longest: tokens written at most.
        beams, length_penalty, early_stopping: of the beam search.
        deduplicate: whether a retrieved keyphrase stands in the prompt once only.
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
    length_penalty: float = 1.0
    early_stopping: bool = False
    deduplicate: bool = True
    passages: int = 1
    retrieves: bool = True
    retriever: str = ""
    retriever_name: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """The ids of a tokenizer that are more than text.

    Attributes:
        frames: by language, see `language_frames`.
    """

    marks: Marks
    frames: Mapping[str, Frame]
    padding: int
    end: int

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        settings: WriterSettings,
        *,
        special: Sequence[int],
        start: int,
        end: int,
        padding: int,
    ) -> Vocabulary:
        """Args as of `frame`.

        Raises:
            ModelLoadError: the tokenizer lacks one of `MARKS` or of the tokens of languages.
        """
        retrieved, separator, title, context = (_id(tokenizer, token) for token in MARKS)
        languages = {code: _id(tokenizer, token) for code, token in settings.languages.items()}
        frames = language_frames(settings.form, languages, special=special, start=start, end=end)
        return cls(Marks(retrieved, separator, title, context), frames, padding, end)

    def frame(self, language: str) -> Frame | None:
        """None for a language that the model has no token for."""
        return self.frames.get(language) or self.frames.get("")


def _id(tokenizer: Tokenizer, token: str) -> int:
    number: int | None = tokenizer.token_to_id(token)
    if number is None:
        raise ModelLoadError(f"The tokenizer has no token {token!r}: train the model anew, or restore it.")
    return number


MARKS = ("<En-kps>", "<kp-sep>", "<title>", "<context>")
"""The tokens that are added to the tokenizer, named as in the authors' code, in the order of `Marks`."""


@dataclass(frozen=True)
class Writer:
    """Reads documents with retrieved keyphrases and writes keyphrases; the model, without the protocol."""

    name: str
    model: Any
    tokenizer: Tokenizer
    vocabulary: Vocabulary
    settings: WriterSettings

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    def source(self, given: Augmented) -> list[int]:
        """(T,) what the encoder reads of a document and what was retrieved for it.

        Raises:
            LanguageError: the model has no token for the document's language.
        """
        frame = self._frame(given.document)
        phrases = flat_phrases(given.retrieved, deduplicate=self.settings.deduplicate)
        prompt = build_prompt(
            read_document(given.document, self.vocabulary.marks, self.encode),
            map(self.encode, phrases),
            self.vocabulary.marks,
            room=self.settings.window - frame.added,
        )
        return [*frame.before, *prompt, *frame.after]

    def encode(self, text: str) -> list[int]:
        """Without special tokens."""
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def keyphrases(self, inputs: Sequence[Augmented]) -> list[list[str]]:
        """Those of the best sequence for each input, in the order written, each once."""
        proposals = self.proposals(inputs, every_beam=False)
        return [
            clean_phrases((proposal.text for proposal in found), given.document.language)
            for given, found in zip(inputs, proposals, strict=True)
        ]

    def proposals(self, inputs: Sequence[Augmented], *, every_beam: bool = True) -> list[list[Proposal]]:
        """The phrases of the best sequence for each input, `chosen`, and those of the other beams.

        A score is the geometric mean of the probabilities of the phrase's tokens in its sequence.

        Args:
            every_beam: else the best alone, with scores of 1.

        Raises:
            LanguageError: see `source`.
        """
        sources = [self.source(given) for given in inputs]
        order = sorted(range(len(inputs)), key=lambda number: len(sources[number]))
        size = max(SEQUENCES_AT_ONCE // self.settings.beams, 1)
        found: dict[int, list[Proposal]] = {}
        for first in range(0, len(order), size):
            group = order[first : first + size]
            work = [(sources[number], inputs[number].document.language) for number in group]
            results = in_halves(lambda part: self._write(part, every_beam), work, too_large=_TOO_LARGE)
            found.update(zip(group, results, strict=True))
        return [found[number] for number in range(len(inputs))]

    def _frame(self, document: Document) -> Frame:
        frame = self.vocabulary.frame(document.language)
        if frame is None:
            known = ", ".join(map(language_name, self.settings.languages))
            raise LanguageError(
                f"The model {self.name!r} does not write {language_name(document.language)}: "
                f"give a document in {known}."
            )
        return frame

    def _write(self, work: Sequence[tuple[list[int], str]], every_beam: bool) -> list[list[Proposal]]:
        """Args:
        work: the ids and the language of each document.
        """
        device = self.device
        inputs, mask = pad([source for source, _ in work], self.vocabulary.padding)
        starts = torch.tensor([self.vocabulary.frame(language).start for _, language in work])  # type: ignore[union-attr]
        mask, starts = mask.to(device), starts.to(device)
        with torch.inference_mode():
            hidden = self.model.get_encoder()(input_ids=inputs.to(device), attention_mask=mask)[0]
            rows = self.settings.beams if every_beam else 1
            sequences = self.model.generate(
                encoder_outputs=BaseModelOutput(hidden),
                attention_mask=mask,
                decoder_input_ids=starts,
                generation_config=self._generation(starts[:, 0].tolist(), rows),
            )
            scores = self._log_probabilities(hidden, mask, sequences) if every_beam else None
        known = starts.shape[1]
        written = sequences[:, known:].tolist()
        values = None if scores is None else scores[:, known - 1 :].tolist()
        return [
            [
                Proposal(clean_phrase(text, language), score, chosen=row == number * rows)
                for row in range(number * rows, (number + 1) * rows)
                for text, score in self._phrases(written[row], None if values is None else values[row])
            ]
            for number, (_, language) in enumerate(work)
        ]

    def _generation(self, starts: list[int], rows: int) -> GenerationConfig:
        """Beam search, every argument that changes its outcome named.

        Args:
            starts: the decoder's first token of each document; without it Transformers puts one before ours.
            rows: sequences given for each document.
        """
        settings = self.settings
        return GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False,
            num_beams=settings.beams,
            num_return_sequences=rows,
            max_new_tokens=settings.longest,
            min_length=0,
            length_penalty=settings.length_penalty,
            early_stopping=settings.early_stopping,
            repetition_penalty=1.0,
            no_repeat_ngram_size=0,
            encoder_no_repeat_ngram_size=0,
            bad_words_ids=None,
            suppress_tokens=None,
            begin_suppress_tokens=None,
            forced_bos_token_id=None,
            forced_eos_token_id=None,
            decoder_start_token_id=starts,
            eos_token_id=self.vocabulary.end,
            pad_token_id=self.vocabulary.padding,
            use_cache=True,
            return_dict_in_generate=False,
        )

    def _log_probabilities(self, hidden: Tensor, mask: Tensor, sequences: Tensor) -> Tensor:
        """(N, S - 1) of each token but the first, given those before it.

        Args:
            hidden: (B, T, D) what the encoder made of the documents.
            mask: (B, T)
            sequences: (N, S)
        """
        document = torch.arange(len(sequences), device=hidden.device) // (len(sequences) // len(hidden))
        width = sequences.shape[1] * self.model.get_input_embeddings().num_embeddings
        size = max(_MOST_LOGITS // width, 1)
        parts: list[Tensor] = []
        for first in range(0, len(sequences), size):
            some, of = sequences[first : first + size], document[first : first + size]
            logits = self.model(
                encoder_outputs=BaseModelOutput(hidden[of]),
                attention_mask=mask[of],
                decoder_input_ids=some[:, :-1],
                use_cache=False,
            ).logits  # (n, S - 1, V)
            chosen = logits.float().log_softmax(-1).gather(-1, some[:, 1:, None])
            parts.append(chosen.squeeze(-1))
        return torch.cat(parts).cpu()

    def _phrases(self, ids: Sequence[int], scores: Sequence[float] | None) -> Iterator[tuple[str, float]]:
        """The phrases of one sequence in order, each with the geometric mean of its probabilities."""
        length = ids.index(self.vocabulary.end) if self.vocabulary.end in ids else len(ids)
        borders = [number for number in range(length) if ids[number] == self.vocabulary.marks.separator]
        for before, stop in pairwise([-1, *borders, length]):
            tokens = ids[before + 1 : stop]
            if tokens:
                own = [0.0] if scores is None else scores[before + 1 : stop]
                text = self.tokenizer.decode(tokens, skip_special_tokens=True)
                yield text, math.exp(sum(own) / len(own))


@dataclass(frozen=True)
class RamkgGenerator:
    """A `Predictor` that writes keyphrases from the document alone.

    Asked for no number and no threshold it gives its most likely sequence, otherwise it chooses among the
    phrases of all beams.
    """

    finds_absent: ClassVar[bool] = True

    writer: Writer

    @property
    def name(self) -> str:
        return self.writer.name

    @property
    def device(self) -> str:
        return str(self.writer.device.type)

    @property
    def languages(self) -> frozenset[str]:
        return frozenset(self.writer.settings.made_for)

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`.

        Raises:
            LanguageError: the model has no token for a document's language.
        """
        inputs = [Augmented(document) for document in readable_documents(documents, any_script=True)]
        return self.answer(inputs, top_k=top_k, threshold=threshold)

    def answer(
        self, inputs: Sequence[Augmented], *, top_k: int | None, threshold: float | None
    ) -> list[Prediction]:
        """As `predict`, of documents that were read and of which the language is known."""
        check_options(top_k, threshold)
        return [
            build_answer(given.document, found, top_k=top_k, threshold=threshold)
            for given, found in zip(inputs, self.writer.proposals(inputs), strict=True)
        ]


def pad(rows: Sequence[Sequence[int]], filler: int) -> tuple[Tensor, Tensor]:
    """(B, T) the rows, filled up at their ends, and 1 where they are their own."""
    length = max(map(len, rows))
    ids = torch.tensor([[*row, *[filler] * (length - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    return ids, mask
