"""RAMKG's generator (section 4.2) on any encoder-decoder, with and without retrieved keyphrases.

Letters (writer): B documents, K beams, N = B · K sequences, T tokens read, S tokens written, V vocabulary.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import torch
from tokenizers import Tokenizer
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from kpdemo.errors import LanguageError, ModelLoadError, PassageIndexError
from kpdemo.identity import RAMKG_KIND
from kpdemo.languages import fold_word, language_name
from kpdemo.ramkg.passage_index import Hit, Manifest, PassageIndex, read_manifest, retrieved_passage
from kpdemo.ramkg.prompt import (
    Ends,
    Frame,
    Vocabulary,
    WriterSettings,
    build_prompt,
    clean_phrase,
    clean_phrases,
    flat_phrases,
    read_document,
)
from kpdemo.ramkg.retriever import Encoder, load_encoder, retrieve_others
from kpdemo.ramkg.rgit import Augmented
from kpdemo.selection import Proposal, build_answer, check_options
from kpdemo.simckp.batches import in_halves, pad_rows
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.checkpoint import (
    backbone_config,
    choose_device,
    load_own_state,
    open_folder,
    own_state,
    transformers_encoder_decoder,
    write_folder,
)
from kpdemo.simckp.decoder import phrase_spans
from kpdemo.simckp.pretrained_decoder import generation_config, log_probabilities
from kpdemo.simckp.storage import Storage
from kpdemo.text import readable_documents
from kpdemo.types import Document, Keyphrase, Prediction, RetrievalPrediction

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
        inputs, mask = pad_rows([source for source, _ in work], self.vocabulary.padding)
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


@dataclass(frozen=True)
class RamkgGenerator:
    """A `Predictor` that writes keyphrases from the document alone.

    Without a number or a threshold it gives its most likely sequence, otherwise it chooses among the
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
        inputs = [Augmented(document) for document in readable_documents(documents)]
        return self.answer(inputs, top_k=top_k, threshold=threshold)

    def answer(
        self, inputs: Sequence[Augmented], *, top_k: int | None, threshold: float | None
    ) -> list[Prediction]:
        """As `predict`, of documents that were read and whose language is known."""
        check_options(top_k, threshold)
        return [
            build_answer(given.document, found, top_k=top_k, threshold=threshold)
            for given, found in zip(inputs, self.writer.proposals(inputs), strict=True)
        ]


def build_writer(name: str, model: Any, tokenizer: Any, settings: WriterSettings, ends: Ends) -> Writer:
    """Args:
    model: of Transformers; its `generation_config` is reset.
    tokenizer: of the `tokenizers` library.
    """
    # Otherwise a checkpoint's own settings would apply wherever a call sets none.
    model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Writer(name, model, tokenizer, Vocabulary.of(tokenizer, settings, ends), settings)


def save_writer(
    folder: Path, writer: Writer, tokenizer: Any, ends: Ends, *, card: str, storage: Storage = "fp16"
) -> None:
    """Write weights, tokenizer, configuration, model card and hashes into `folder`.

    Args:
        tokenizer: of Transformers.
    """
    config = {
        "kind": RAMKG_KIND,
        "name": writer.name,
        "architecture": type(writer.model).__name__,
        "backbone": backbone_config(writer.model.config),
        "writer": asdict(writer.settings),
        "ends": asdict(ends),
    }
    write_folder(folder, own_state(writer.model), tokenizer, config, card=card, storage=storage)


def load_writer(folder: Path, *, device: str = "auto") -> Writer:
    """Open a folder that `save_writer` wrote.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, or the device is not there.
    """
    target = choose_device(device)
    with open_folder(folder, RAMKG_KIND) as stored:
        model = transformers_encoder_decoder(stored.config["backbone"])
        load_own_state(model, stored.weights)
        settings = dict(stored.config["writer"])
        settings["made_for"] = tuple(settings["made_for"])
        ends = dict(stored.config["ends"])
        return build_writer(
            stored.config["name"],
            model.to(target).eval(),
            stored.tokenizer,
            WriterSettings(**settings),
            Ends(**ends | {"special": tuple(ends["special"])}),
        )


def load_ramkg_generator(folder: Path, *, device: str = "auto") -> RamkgGenerator:
    """A predictor without passages; args and errors as `load_writer`."""
    return RamkgGenerator(load_writer(folder, device=device))


ALIKE = 0.8
"""The similarity in spelling at which a keyphrase counts as made of a retrieved one; cognates reach it."""


@dataclass(frozen=True)
class PassageSource:
    """An index with the encoder that it was made with."""

    index: PassageIndex
    encoder: Encoder

    @classmethod
    def open(cls, folder: Path, *, device: str = "auto") -> PassageSource:
        """Raises:
        PassageIndexError: there is no index, it is damaged, or its encoder has other weights than it had.
        ModelLoadError: its encoder cannot be opened.
        """
        index = PassageIndex.open(folder)
        encoder = load_encoder(index.manifest.encoder, device=device)
        index.check_encoder(encoder)
        return cls(index, encoder)

    def hits(self, documents: Sequence[Document], count: int) -> list[list[Hit]]:
        """The `count` best passages for each document, best first; none is the document itself."""
        return retrieve_others(self.index, self.encoder, documents, count)


@dataclass(frozen=True)
class RamkgPredictor:
    """A `RetrievalPredictor`."""

    finds_absent: ClassVar[bool] = True
    uses_passages: ClassVar[bool] = True

    generator: RamkgGenerator
    source: PassageSource

    @property
    def name(self) -> str:
        return self.generator.name

    @property
    def device(self) -> str:
        return self.generator.device

    @property
    def languages(self) -> frozenset[str]:
        return self.generator.languages

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; errors also as `predict_with_passages`."""
        _, inputs = self._retrieve(documents)
        return self.generator.answer(inputs, top_k=top_k, threshold=threshold)

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`."""
        found, inputs = self._retrieve(documents)
        plain = [replace(given, retrieved=()) for given in inputs]
        with_them = self.generator.answer(inputs, top_k=top_k, threshold=threshold)
        without = self.generator.answer(plain, top_k=top_k, threshold=threshold)
        return [
            RetrievalPrediction(tuple(map(retrieved_passage, hits)), _with_evidence(prediction, given), alone)
            for hits, given, prediction, alone in zip(found, inputs, with_them, without, strict=True)
        ]

    def _retrieve(self, documents: Sequence[Document | str]) -> tuple[list[list[Hit]], list[Augmented]]:
        read = readable_documents(documents)
        found = self.source.hits(read, self.generator.writer.settings.passages)
        inputs = [
            Augmented(document, tuple(hit.passage.keyphrases for hit in hits))
            for document, hits in zip(read, found, strict=True)
        ]
        return found, inputs


def load_ramkg_predictor(folder: Path, index: Path, *, device: str = "auto") -> RamkgPredictor:
    """The generator in a folder with a passage index.

    Raises:
        ModelLoadError: the generator or the index's encoder cannot be opened, or the generator was trained
            without passages.
        PassageIndexError: there is no index, it is damaged, or another encoder made it than the one whose
            passages the generator learnt with.
    """
    generator = load_ramkg_generator(folder, device=device)
    _check_retriever(generator, read_manifest(index), folder, index)
    return RamkgPredictor(generator, PassageSource.open(index, device=device))


def _check_retriever(generator: RamkgGenerator, manifest: Manifest, folder: Path, index: Path) -> None:
    learnt = generator.writer.settings
    if not learnt.retrieves:
        raise ModelLoadError(
            f"The model in {folder} was trained without passages: leave the index out, or train one that "
            'reads them (retrieval = "index").'
        )
    if learnt.retriever and learnt.retriever != manifest.identity:
        raise PassageIndexError(
            f"The index {index} was built with the encoder {manifest.encoder.model} "
            f"({manifest.identity[:12]}), and the model in {folder} was trained with passages that "
            f"{learnt.retriever_name} ({learnt.retriever[:12]}) found: rebuild the index with that encoder."
        )


def _with_evidence(prediction: Prediction, given: Augmented) -> Prediction:
    """The prediction, with the retrieved keyphrases that each keyphrase is spelt like as its evidence."""
    retrieved = list(dict.fromkeys(phrase for passage in given.retrieved for phrase in passage))

    def told(keyphrase: Keyphrase) -> Keyphrase:
        alike = tuple(phrase for phrase in retrieved if are_alike(keyphrase.text, phrase))
        return replace(keyphrase, evidence=alike) if alike else keyphrase

    return replace(
        prediction,
        present=tuple(map(told, prediction.present)),
        absent=tuple(map(told, prediction.absent)),
    )


def are_alike(keyphrase: str, retrieved: str) -> bool:
    """Whether two phrases are spelt nearly alike, in any order of their words.

    >>> are_alike("diabète gestationnel", "gestational diabetes"), are_alike("grippe", "influenza")
    (True, False)
    """
    first, second = (" ".join(sorted(map(_plain, phrase.split()))) for phrase in (keyphrase, retrieved))
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= ALIKE


def _plain(word: str) -> str:
    """Without accents, which another language may not write."""
    return "".join(letter for letter in unicodedata.normalize("NFD", fold_word(word)) if letter.isalnum())
