"""What rounds of RGIT (RAMKG, Algorithm 1) learn from, and the training that their retrievers share."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from kpdemo.errors import ConfigError
from kpdemo.languages import ENGLISH
from kpdemo.ramkg.rgit import Pair, Retrieved, RgitData
from kpdemo.training.data import read_source, refuse_repeats
from kpdemo.training.loop import train
from kpdemo.training.multilingual.retriever import (
    RetrieverPart,
    RetrieverTraining,
    Tower,
    Translation,
    read_translations,
    retriever_identity,
)
from kpdemo.training.parts import CHECKPOINT
from kpdemo.types import Document

if TYPE_CHECKING:
    from kpdemo.training.multilingual.generator_rounds import RamkgRounds
    from kpdemo.training.multilingual.rgit import MultilingualTraining


def read_rounds(config: MultilingualTraining | RamkgRounds) -> tuple[RgitData, Corpus]:
    """What the rounds learn from, and the passages.

    Raises:
        ConfigError: there are no more translations than `parallel`, no passage of a validation pair, two
            passages of one id, or a source is repeated.
    """
    refuse_repeats([*config.passages, *config.others], "The rounds take")
    passages: dict[str, Document] = {}
    for source in config.passages:
        for passage in read_source(source, config.data):
            _check_same(passages, passage)
            passages[passage.id] = replace(passage, language=ENGLISH)
    known = [
        pair
        for source in config.translations
        for pair in read_translations(source, config.data)
        if pair.document.keyphrases
    ]
    for pair in known:
        _check_same(passages, pair.passage)
        passages.setdefault(pair.passage.id, pair.passage)
    if config.parallel is not None and len(known) <= config.parallel:
        raise ConfigError(
            f"There are {len(known)} translations, not more than parallel = {config.parallel}: lower "
            "`parallel`, or add translations."
        )
    random.Random(config.seed).shuffle(known)
    told, untold = known[: config.parallel], known[config.parallel :]
    others = [document for source in config.others for document in read_source(source, config.data)]
    measured = _measured(config, passages)
    data = RgitData(
        parallel=[Pair(pair.document, pair.passage.id) for pair in told],
        others=[*(pair.document for pair in untold), *others],
        validation=[Pair(pair.document, pair.passage.id) for pair in measured],
        truth={pair.document.id: pair.passage.id for pair in untold},
    )
    return data, Corpus(list(passages.values()))


def _measured(
    config: MultilingualTraining | RamkgRounds, passages: Mapping[str, Document]
) -> list[Translation]:
    """The validation pairs, whose English sides are to be found among the passages."""
    measured = []
    for source in config.validation:
        for pair in read_translations(source, config.data):
            if pair.passage.id not in passages:
                raise ConfigError(
                    f"The passage {pair.passage.id!r} of a validation pair is not in the corpus: add to "
                    f'`passages` {{ path = "{source.path}", fields = {{ title = "en_title", abstract = "en", '
                    'keyphrases = "en_keyphrases" } }, or the file that has it.'
                )
            _check_same(passages, pair.passage)
            measured.append(pair)
    return measured


def _check_same(passages: Mapping[str, Document], passage: Document) -> None:
    """Raises:
    ConfigError: there is another passage of its id; one that has another title only is the same.
    """
    known = passages.get(passage.id)
    if known is not None and known.body.split() != passage.body.split():
        raise ConfigError(
            f"Two different passages have the id {passage.id!r}: give each its own, or leave one out "
            "(`skip_ids` of its source)."
        )


@dataclass(frozen=True)
class Corpus:
    """The passages, each once by its id."""

    passages: Sequence[Document]

    @cached_property
    def by_id(self) -> dict[str, Document]:
        return {passage.id: passage for passage in self.passages}

    def negatives(self, pairs: int, seed: int) -> list[Document]:
        """Passages to draw negatives from for this many pairs: at most ten times as many."""
        return random.Random(seed).sample(self.passages, min(10 * pairs, len(self.passages)))

    def retrieved(self, scores: NDArray[np.float32], places: NDArray[np.int64]) -> list[list[Retrieved]]:
        """The passages at (Q, K) places, with their scores."""
        return [
            [
                Retrieved(passage.id, passage.keyphrases, round(score, 4))
                for score, passage in zip(row, map(self.passages.__getitem__, found), strict=True)
            ]
            for row, found in zip(scores.tolist(), places.tolist(), strict=True)
        ]


class RoundTrained(ABC):
    """The half of a `Retriever` of `kpdemo.ramkg.rgit` that learns, over a corpus in memory."""

    def __init__(
        self, training: RetrieverTraining, corpus: Corpus, device: torch.device, *, epochs: int
    ) -> None:
        """Args:
        training: how each round's encoder is trained; its output and its loop's `documents` are not used.
        epochs: visits of each pair.
        """
        self._training = training
        self._epochs = epochs
        self._corpus = corpus
        self._device = device

    def train(self, pairs: Sequence[Pair], into: Path, *, start: Path | None) -> None:
        """See `Retriever`."""
        visits = self._epochs * len(pairs)
        size = min(self._training.loop.batch_size, len(pairs))
        loop = replace(self._training.loop, documents=visits, batch_size=size, evaluate_every=visits)
        config = replace(self._training, loop=loop, output=into)
        translations = [Translation(pair.document, self._corpus.by_id[pair.passage]) for pair in pairs]
        tower = self._tower(config, translations, start)
        others = self._corpus.negatives(len(pairs), loop.seed)
        part = RetrieverPart(tower, config, translations, others, translations[:500])
        identity = retriever_identity(config, tower, translations, others)
        train(part, loop, into, self._device, identity=identity)
        tower.save(into / CHECKPOINT, f"# A retriever of RGIT\n\nTrained on {len(pairs):,} pairs.\n")

    @abstractmethod
    def _tower(
        self, config: RetrieverTraining, translations: Sequence[Translation], start: Path | None
    ) -> Tower:
        """The encoder as a round begins.

        Args:
            start: the folder of an earlier round to begin with; None for a fresh start.
        """
