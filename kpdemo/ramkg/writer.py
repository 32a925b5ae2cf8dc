"""RAMKG's generator (section 4.2) on any encoder-decoder, with and without retrieved keyphrases.

Letters: B documents, K beams, N = B · K sequences, T tokens read, S tokens written, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import fmean
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers.modeling_outputs import BaseModelOutput

from kpdemo.errors import LanguageError
from kpdemo.languages.names import language_name
from kpdemo.ramkg.frames import Frame
from kpdemo.ramkg.iterate import Augmented
from kpdemo.ramkg.prompt import build_prompt, clean_phrase, clean_phrases, flat_phrases, read_document
from kpdemo.ramkg.vocabulary import Vocabulary, WriterSettings
from kpdemo.simckp.generation.beam_search import SearchConfig
from kpdemo.simckp.generation.pretrained_search import generation_config, log_probabilities
from kpdemo.simckp.generation.targets import phrase_spans
from kpdemo.simckp.halving import in_halves
from kpdemo.simckp.proposals import Proposal
from kpdemo.simckp.reading import padded
from kpdemo.types import Document

SEQUENCES_AT_ONCE = 40
_TOO_LARGE = "The device's memory is too small for one document with its beams: use --device cpu."


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
        inputs, mask = padded([source for source, _ in work], self.vocabulary.padding)
        starts = torch.tensor([self.vocabulary.frame(language).start for _, language in work])  # type: ignore[union-attr]
        mask, starts = mask.to(device), starts.to(device)
        with torch.inference_mode():
            hidden = self.model.get_encoder()(input_ids=inputs.to(device), attention_mask=mask)[0]
            rows = self.settings.beams if every_beam else 1
            sequences = self.model.generate(
                encoder_outputs=BaseModelOutput(hidden),
                attention_mask=mask,
                decoder_input_ids=starts,
                generation_config=generation_config(
                    self._search,
                    start=starts[:, 0].tolist(),
                    end=self.vocabulary.end,
                    padding=self.vocabulary.padding,
                    sequences=rows,
                ),
            )
            scores = log_probabilities(self.model, hidden, mask, sequences) if every_beam else None
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

    @property
    def _search(self) -> SearchConfig:
        settings = self.settings
        return SearchConfig(
            beams=settings.beams,
            longest=settings.longest,
            no_repeat=0,
            early_stopping=False,
        )

    def _phrases(self, ids: Sequence[int], scores: Sequence[float] | None) -> Iterator[tuple[str, float]]:
        """The phrases of one sequence in order, each with the geometric mean of its probabilities."""
        written = list(takewhile(lambda token: token != self.vocabulary.end, ids))
        for first, stop in phrase_spans(written, self.vocabulary.marks.separator):
            text = self.tokenizer.decode(written[first:stop], skip_special_tokens=True)
            yield text, 1.0 if scores is None else math.exp(fmean(scores[first:stop]))
