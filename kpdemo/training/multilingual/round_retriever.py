"""The training that the retrievers of RGIT (RAMKG, Algorithm 1) share: on the pairs of a round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from kpdemo.ramkg.iterate import Pair
from kpdemo.training.loop import train
from kpdemo.training.multilingual.parallel import Translation
from kpdemo.training.multilingual.retriever import retriever_identity
from kpdemo.training.multilingual.retriever_config import RetrieverTraining
from kpdemo.training.multilingual.retriever_part import RetrieverPart
from kpdemo.training.multilingual.round_data import Corpus
from kpdemo.training.multilingual.towers import Tower
from kpdemo.training.settings import CHECKPOINT


class RoundTrained(ABC):
    """The half of a `Retriever` of `kpdemo.ramkg.iterate` that learns, over a corpus in memory."""

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
