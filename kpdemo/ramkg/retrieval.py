"""A generator that reads the keyphrases of the passages which an index finds for a document."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import ClassVar

from kpdemo.errors import ModelLoadError, PassageIndexError
from kpdemo.languages.wording import folded
from kpdemo.ramkg.encoder import Encoder, load_encoder
from kpdemo.ramkg.generator import RamkgGenerator
from kpdemo.ramkg.generator_checkpoint import load_ramkg_generator
from kpdemo.ramkg.index import Hit, PassageIndex, retrieved_passage
from kpdemo.ramkg.iterate import Augmented
from kpdemo.ramkg.manifest import Manifest, read_manifest
from kpdemo.ramkg.others import retrieve_others
from kpdemo.text import readable_documents
from kpdemo.types import (
    Document,
    Keyphrase,
    Prediction,
    RetrievalPrediction,
)

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
    return "".join(letter for letter in unicodedata.normalize("NFD", folded(word)) if letter.isalnum())
