"""Over-generation: absent keyphrase candidates from all beams of a search (SimCKP, section 4.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import torch
from tokenizers import Tokenizer

from kpdemo.simckp.examples import encode_windows, encoder_text
from kpdemo.simckp.generation.beam_search import Beam, SearchConfig
from kpdemo.simckp.generation.generator import ExtractorGenerator
from kpdemo.simckp.generation.memory import Memory
from kpdemo.simckp.generation.targets import TargetVocabulary
from kpdemo.simckp.halving import in_halves
from kpdemo.simckp.reading import padded
from kpdemo.text import StemmedText, phrase_key
from kpdemo.types import Document

_PLURAL = re.compile(r"(?<=\w\ws)\s*(['’])\s+(?!(?:s|t|d|m|re|ve|ll)\b)(?=\w)")  # "users ' needs"
_JOINED = re.compile(r"\s*([-‐‑–/'’])\s*")  # a WordPiece tokenizer gives "state - of - the - art" back


@dataclass(frozen=True, slots=True)
class GeneratedPhrase:
    """Attributes:
    log_probability: of its tokens and of the separator or end after it, given what is before it in
        its beam; the highest of all the places where it was generated.
    """

    text: str
    log_probability: float


@dataclass(frozen=True)
class SimckpGenerator:
    """An `ExtractorGenerator` with what it takes to read and write text.

    Attributes:
        padding: the pad token id.
        search: how candidates are over-generated where no other search is asked for.
    """

    name: str
    module: ExtractorGenerator
    tokenizer: Tokenizer
    padding: int
    search: SearchConfig = field(default_factory=SearchConfig)

    def read(self, documents: Sequence[Document]) -> Memory:
        """The first window of each document, encoded."""
        config = self.module.extractor.config
        windows = [
            encode_windows(self.tokenizer, encoder_text(document), config.window, config.overlap)[0]
            for document in documents
        ]
        device = next(self.module.parameters()).device
        input_ids, mask = padded([encoding.ids for encoding in windows], self.padding)
        return self.module.read(input_ids.to(device), mask.to(device))


def over_generate(
    generator: SimckpGenerator,
    documents: Iterable[Document],
    *,
    search: SearchConfig | None = None,
    batch_size: int = 8,
) -> Iterator[list[GeneratedPhrase]]:
    """The absent keyphrase candidates of each document, best first, in the order of the documents.

    Documents are read as results are taken. When the device runs out of memory, the batch is halved.

    Args:
        search: None for the generator's own.
        batch_size: documents searched together.
    """
    generator.module.eval()
    search = search or generator.search
    waiting = iter(documents)
    while batch := list(islice(waiting, batch_size)):
        for document, beams in zip(batch, search_together(generator, batch, search), strict=True):
            yield generated_phrases(document, beams, generator.module.decoder.vocabulary, generator.tokenizer)


def generated_phrases(
    document: Document, beams: Sequence[Beam], vocabulary: TargetVocabulary, tokenizer: Tokenizer
) -> list[GeneratedPhrase]:
    """The phrases of all beams that do not occur in the document, each once, by their stems.

    They keep the order of the beams and of their places in them, and the spelling of the first. A phrase
    that the longest length has cut off is left out.
    """
    text = StemmedText(document)
    found: dict[str, GeneratedPhrase] = {}
    for ids, log_probability in _distinct(beams, vocabulary).items():
        phrase = phrase_text(ids, vocabulary, tokenizer)
        key = phrase_key(phrase)
        if known := found.get(key):
            found[key] = GeneratedPhrase(known.text, max(known.log_probability, log_probability))
        elif any(map(str.isalnum, phrase)) and not text.contains(phrase):
            found[key] = GeneratedPhrase(phrase, log_probability)
    return list(found.values())


def _distinct(beams: Sequence[Beam], vocabulary: TargetVocabulary) -> dict[tuple[int, ...], float]:
    """The ids of each phrase, in order of first appearance, to its highest log-probability."""
    found: dict[tuple[int, ...], float] = {}
    for beam in beams:
        for first, end in vocabulary.split(beam.ids):
            if end < len(beam.log_probabilities):  # a separator or an end follows
                ids = beam.ids[first:end]
                gain = sum(beam.log_probabilities[first : end + 1])
                found[ids] = max(gain, found.get(ids, gain))
    return found


def phrase_text(ids: Sequence[int], vocabulary: TargetVocabulary, tokenizer: Tokenizer) -> str:
    """The phrase of some target ids, as people write it."""
    return as_written(tokenizer.decode(vocabulary.tokenizer_ids(ids)))


def as_written(decoded: str) -> str:
    """Without the blanks that a tokenizer puts round hyphens, slashes and apostrophes within words."""
    apart = _PLURAL.sub(r"\1\0", decoded)  # a mark with no blank next to it, so that the next step leaves it
    return " ".join(_JOINED.sub(r"\1", apart).replace("\0", " ").split())


def search_together(
    generator: SimckpGenerator, documents: Sequence[Document], search: SearchConfig
) -> list[list[Beam]]:
    """The beams of each document; in halves when the device's memory does not hold all of them."""

    def beams(part: Sequence[Document]) -> list[list[Beam]]:
        with torch.inference_mode():
            return generator.module.decoder.search(generator.read(part), search)

    advice = f"The device's memory is too small for a search with {search.beams} beams: use fewer, or a CPU."
    return in_halves(beams, documents, too_large=advice)
