"""SimCKP's extractor-generator (section 4.2): the model, over-generation, ONE2SEQ, and its checkpoints.

Letters (generator): B documents, P phrases, T tokens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from kpdemo.languages import ENGLISH
from kpdemo.routing import latin_documents
from kpdemo.selection import Proposal, build_answer, check_options
from kpdemo.simckp.batches import in_halves, pad_rows
from kpdemo.simckp.beam_search import Beam, SearchConfig
from kpdemo.simckp.checkpoint import (
    StoredModel,
    backbone_config,
    build_extractor,
    choose_device,
    extractor_config,
    extractor_predictor,
    extractor_settings,
    load_own_state,
    open_folder,
    own_state,
    part_of,
    transformers_encoder_decoder,
    write_folder,
)
from kpdemo.simckp.decoder import Decoder, DecoderConfig, KeyphraseDecoder, Memory, TargetVocabulary
from kpdemo.simckp.examples import encode_windows, encoder_text
from kpdemo.simckp.extractor import Batch, ContrastiveExtractor, Selection, SimckpPredictor, encoder_of, pool
from kpdemo.simckp.storage import Storage, unset_weights
from kpdemo.text import StemmedText, phrase_key
from kpdemo.types import Document, Prediction


class ExtractorGenerator(nn.Module):
    """A `ContrastiveExtractor`, and a decoder that reads the same hidden states.

    The decoder reads the first window of a document, which should be wide enough for an abstract.
    """

    def __init__(self, extractor: ContrastiveExtractor, decoder: Decoder) -> None:
        super().__init__()
        self.extractor = extractor
        self.decoder = decoder

    def forward(self, batch: Batch) -> tuple[Tensor, Memory]:
        """(P,) the similarity of each phrase to its document, and what the decoder may read."""
        hidden = self.extractor.encode(batch.input_ids, batch.attention_mask)
        scores = self.extractor.score(pool(lambda *_: hidden, batch, len(hidden)), batch)
        documents = torch.arange(batch.documents, device=hidden.device)
        firsts = torch.searchsorted(batch.window_document, documents)
        return scores, self._memory(hidden, batch.input_ids, batch.attention_mask).rows(firsts)

    def read(self, input_ids: Tensor, attention_mask: Tensor) -> Memory:
        """What the decoder may read of token ids and mask, (B, T) each."""
        return self._memory(self.extractor.encode(input_ids, attention_mask), input_ids, attention_mask)

    def _memory(self, hidden: Tensor, input_ids: Tensor, mask: Tensor) -> Memory:
        words: Tensor = self.extractor.encoder.get_input_embeddings().weight  # type: ignore[operator]
        return Memory(hidden, input_ids, mask, words)


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
        input_ids, mask = pad_rows([encoding.ids for encoding in windows], self.padding)
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
    return join_tokenised(tokenizer.decode(vocabulary.tokenizer_ids(ids)))


def join_tokenised(decoded: str) -> str:
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


BATCH = 8
SEARCH = SearchConfig(beams=10, longest=64, no_repeat=3)  # with 2 no two phrases could begin alike


@dataclass(frozen=True)
class One2SeqPredictor:
    """A `Predictor`; without a number or a threshold it gives its most likely sequence.

    Otherwise it chooses among the phrases of all beams. The score of a phrase is the geometric mean of the
    probabilities of its tokens and of what ends it, in the sequence where that is highest.
    """

    finds_absent: ClassVar[bool] = True
    languages: ClassVar[frozenset[str]] = frozenset({ENGLISH})

    generator: SimckpGenerator

    @property
    def name(self) -> str:
        return self.generator.name

    @property
    def device(self) -> str:
        return next(self.generator.module.parameters()).device.type

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        check_options(top_k, threshold)
        self.generator.module.eval()
        read = latin_documents(documents)
        batches = [read[first : first + BATCH] for first in range(0, len(read), BATCH)]
        return [
            build_answer(document, self._proposals(beams), top_k=top_k, threshold=threshold)
            for batch in batches
            for document, beams in zip(batch, search_together(self.generator, batch, SEARCH), strict=True)
        ]

    def _proposals(self, beams: Sequence[Beam]) -> Iterator[Proposal]:
        """The phrases of all beams; one that the longest length has cut off is left out."""
        vocabulary = self.generator.module.decoder.vocabulary
        for number, beam in enumerate(beams):
            for first, end in vocabulary.split(beam.ids):
                gains = beam.log_probabilities[first : end + 1]
                if len(gains) > end - first:
                    text = phrase_text(beam.ids[first:end], vocabulary, self.generator.tokenizer)
                    yield Proposal(text, math.exp(fmean(gains)), chosen=number == 0)


KIND = "simckp-generator"
ONE2SEQ = "one2seq"
_EXTRACTOR, _DECODER = "extractor.", "decoder."


def save_generator(
    folder: Path,
    module: ExtractorGenerator,
    tokenizer: Any,
    selection: Selection | None,
    *,
    name: str,
    card: str,
    storage: Storage = "fp16",
    kind: str = KIND,
    search: SearchConfig | None = None,
) -> None:
    """Write the folder as `save_checkpoint` does; what extractor and decoder share is written once.

    Args:
        search: of the `SimckpGenerator`.
        kind: `ONE2SEQ` for a decoder that writes the present keyphrases too.
    """
    config = extractor_config(module.extractor, selection) | {"kind": kind, "name": name}
    config |= _decoder_config(module.decoder) | ({"search": asdict(search)} if search else {})
    write_folder(folder, own_state(module), tokenizer, config, card=card, storage=storage)


def load_generator(folder: Path, *, device: str = "auto") -> tuple[SimckpPredictor, SimckpGenerator]:
    """Open a folder that `save_generator` wrote, as an extractor and a generator with the same weights.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, or the device is not there.
    """
    target = choose_device(device)
    with open_folder(folder, KIND) as stored:
        generator = _generator(stored, target)
        return extractor_predictor(stored, generator.module.extractor), generator


def load_one2seq(folder: Path, *, device: str = "auto") -> One2SeqPredictor:
    """The same for a decoder that writes present and absent keyphrases.

    Raises:
        ModelLoadError: as of `load_generator`.
    """
    target = choose_device(device)
    with open_folder(folder, ONE2SEQ) as stored:
        return One2SeqPredictor(_generator(stored, target))


def _generator(stored: StoredModel, device: torch.device) -> SimckpGenerator:
    build = _with_small_decoder if "decoder" in stored.config else _with_pretrained_decoder
    module = build(stored).to(device).eval()
    search = SearchConfig(**stored.config.get("search", {}))  # `ONE2SEQ` has none
    return SimckpGenerator(stored.config["name"], module, stored.tokenizer, stored.padding, search)


def _decoder_config(decoder: nn.Module) -> dict[str, Any]:
    """What the configuration says of the decoder; a pretrained one is described by the whole backbone."""
    if isinstance(decoder, KeyphraseDecoder):
        return {"decoder": asdict(decoder.config)}
    return {"backbone": backbone_config(decoder.model.config), "separator": decoder.vocabulary.separator}  # type: ignore[union-attr]


def _with_small_decoder(stored: StoredModel) -> ExtractorGenerator:
    extractor = build_extractor(stored.config, part_of(stored.weights, _EXTRACTOR))
    weights = part_of(stored.weights, _DECODER)
    width = int(stored.config["backbone"]["hidden_size"])
    with unset_weights():
        decoder = KeyphraseDecoder(DecoderConfig(**stored.config["decoder"]), width, weights["tokens"])
    decoder.load_state_dict(weights, assign=True)
    return ExtractorGenerator(extractor, decoder)


def _with_pretrained_decoder(stored: StoredModel) -> ExtractorGenerator:
    from kpdemo.simckp.pretrained_decoder import PretrainedDecoder

    model = transformers_encoder_decoder(stored.config["backbone"])
    extractor = ContrastiveExtractor(encoder_of(model), extractor_settings(stored.config))
    module = ExtractorGenerator(extractor, PretrainedDecoder(model, stored.config["separator"]))
    load_own_state(module, stored.weights)
    return module
