"""RAMKG as published: a retriever and a generator that writes, trained in turns (RGIT, Algorithm 1)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copytree
from typing import Annotated, ClassVar

import faiss
import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from kpdemo.identity import CARD, content_identity, write_sums
from kpdemo.ramkg.generator import load_writer
from kpdemo.ramkg.retriever import Encoder, load_encoder
from kpdemo.ramkg.rgit import Augmented, Outcome, Retrieved, RgitConfig, iterate
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.training.data import AboveZero, Count, Positive, Rate, Source
from kpdemo.training.loop import LoopConfig, Precision
from kpdemo.training.multilingual.generator import FoundBy, WriterTraining, train_writer
from kpdemo.training.multilingual.retriever import (
    ParallelSource,
    RetrieverTraining,
    Tower,
    Translation,
    check_trainable,
    new_tower,
    open_tower,
)
from kpdemo.training.multilingual.rounds import Corpus, RoundTrained, read_rounds
from kpdemo.training.parts import CHECKPOINT
from kpdemo.types import Document

RETRIEVER = "retriever"
"""Folder of the best retriever in the folder of a run, to build an index with."""
HELD_OUT = 20
"""One example in this many chooses the weights and is not trained on."""

_AT_ONCE = 4_096  # passages that are encoded in one call
_MULTILINGUAL_BERT = "google-bert/bert-base-multilingual-cased"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RoundRetriever:
    """How the retriever of a round is trained: see `RetrieverTraining`. What is set is RAMKG's.

    Attributes:
        backbone: a pretrained encoder by name or folder; every round begins with it.
        epochs: visits of each pair, in each of the two trainings of "pretrain".
        warmup: share of the steps. The authors' 1,237 steps are more than their first round has.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    backbone: str = _MULTILINGUAL_BERT
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(pooling="first", normalise=False))
    temperature: AboveZero = 1.0
    negatives: Count = 1
    both_ways: bool = False
    learning_rate: Rate = 2e-5
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    epochs: Positive = 15
    batch_size: Annotated[int, Field(ge=2)] = 32
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.1
    clip: AboveZero = 2.0
    precision: Precision = "auto"
    attention: str = "eager"

    def __post_init__(self) -> None:
        check_trainable(self.encoder)


@dataclass(frozen=True, kw_only=True)
class RoundWriter(WriterTraining):
    """How the generator of a round is trained; `passages` is that of the rounds.

    Attributes:
        epochs: visits of each document.
        warmup: share of the steps.
    """

    epochs: Positive = 10
    batch_size: Positive = 8
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.02
    clip: AboveZero = 1.0
    precision: Precision = "auto"


@dataclass(frozen=True)
class RamkgRounds:
    """Attributes:
    translations: documents in two languages with keyphrases in both; their English sides are passages.
    validation: documents in two languages on which recall is measured; their passages have to be in the
        corpus under the same id.
    passages: the rest of the corpus in which passages are found.
    others: further documents whose passages are not known.
    parallel: this many of the translations, drawn at random, are used as such; None for all. The rest is
        treated as documents without a known passage, and shows how many mined pairs are right.
    rounds: its `passages` is m, how many passages' keyphrases the generator reads.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    translations: tuple[ParallelSource, ...]
    validation: tuple[ParallelSource, ...]
    passages: tuple[Source, ...] = ()
    others: tuple[Source, ...] = ()
    parallel: Positive | None = None
    data: Path = Path("data")
    output: Path = Path("runs/ramkg-rounds")
    rounds: RgitConfig = field(default_factory=RgitConfig)
    retriever: RoundRetriever = field(default_factory=RoundRetriever)
    generator: RoundWriter = field(default_factory=RoundWriter)
    seed: Count = 42
    device: str = "auto"


class EncoderRounds(RoundTrained):
    """A `Retriever` of `kpdemo.ramkg.rgit` over a corpus in memory: any encoder, searched exactly."""

    def __init__(self, config: RoundRetriever, corpus: Corpus, *, seed: int, device: torch.device) -> None:
        loop = LoopConfig(
            documents=1,  # overruled by `epochs`
            batch_size=config.batch_size,
            warmup=config.warmup,
            decay=1 - config.warmup,
            clip=config.clip,
            precision=config.precision,
            seed=seed,
        )
        training = RetrieverTraining(
            train=(),
            validation=(),
            loop=loop,
            backbone=config.backbone,
            encoder=config.encoder,
            temperature=config.temperature,
            negatives=config.negatives,
            both_ways=config.both_ways,
            learning_rate=config.learning_rate,
            weight_decay=config.weight_decay,
            attention=config.attention,
        )
        super().__init__(training, corpus, device, epochs=config.epochs)
        self._config = config
        self._encoded: tuple[Path, Encoder, NDArray[np.float32]] | None = None

    def _tower(
        self, config: RetrieverTraining, translations: Sequence[Translation], start: Path | None
    ) -> Tower:
        torch.manual_seed(config.loop.seed)
        return open_tower(config, start / CHECKPOINT) if start else new_tower(config, translations)

    def search(self, model: Path, documents: Sequence[Document], count: int) -> list[list[Retrieved]]:
        """See `Retriever`."""
        encoder, vectors = self._read(model)
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        scores, places = index.search(encoder.queries(documents), min(count, len(vectors)))
        return self._corpus.retrieved(scores, places)

    def found_by(self, model: Path) -> str:
        """The hash of what an index must be built with for a generator that learnt with this model."""
        return self._encoder(model).identity

    def _read(self, model: Path) -> tuple[Encoder, NDArray[np.float32]]:
        """The encoder and the vectors (N, D) of all passages; the last model's are kept."""
        if self._encoded is None or self._encoded[0] != model:
            passages = self._corpus.passages
            logger.info("reading %d passages", len(passages))
            encoder = self._encoder(model)
            parts = [
                encoder.passages(passages[first : first + _AT_ONCE])
                for first in range(0, len(passages), _AT_ONCE)
            ]
            self._encoded = model, encoder, np.concatenate(parts)
        return self._encoded[1:]

    def _encoder(self, model: Path) -> Encoder:
        own = replace(self._config.encoder, model=str(model / CHECKPOINT))
        return load_encoder(own, device=self._device.type)


@dataclass(frozen=True)
class WriterRounds:
    """A `Generator` of `kpdemo.ramkg.rgit`: RAMKG's own, trained from scratch in every round.

    Attributes:
        found_by: from the folder of a retriever to `FoundBy.identity`.
        retriever_name: `FoundBy.name`.
    """

    config: RoundWriter
    found_by: Callable[[Path], str]
    retriever_name: str
    seed: int
    device: torch.device

    def train(self, examples: Sequence[Augmented], into: Path, *, retriever: Path | None) -> None:
        """See `Generator`; an interrupted training resumes where it stopped."""
        config = self.config
        held_out = list(examples[HELD_OUT - 1 :: HELD_OUT]) or list(examples)
        taught = [given for number, given in enumerate(examples, start=1) if number % HELD_OUT]
        loop = LoopConfig(
            documents=config.epochs * len(taught),
            batch_size=min(config.batch_size, len(taught)),
            warmup=config.warmup,
            decay=1 - config.warmup,
            clip=config.clip,
            precision=config.precision,
            evaluate_every=len(taught),
            patience=config.epochs,
            seed=self.seed,
        )
        found_by = FoundBy(self.found_by(retriever), self.retriever_name) if retriever else None
        trained = train_writer(
            taught, held_out, config, loop, into=into, device=self.device, found_by=found_by
        )
        card = f"# {config.name}: a generator of RGIT\n\nTrained on {len(taught):,} documents.\n"
        trained.save(into / CHECKPOINT, card, config.storage)

    def predict(self, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        """See `Generator`."""
        return load_writer(model / CHECKPOINT, device=self.device.type).keyphrases(inputs)


@dataclass(frozen=True)
class TrainedRounds:
    """Attributes:
    retriever, generator: folders of the best round's encoder and of the generator that learnt with it.
    documents: by language, that the last generator learnt from.
    """

    outcome: Outcome
    retriever: Path
    generator: Path
    documents: dict[str, int]
    parallel: int
    passages: int


def train_rounds(config: RamkgRounds, *, device: torch.device) -> TrainedRounds:
    """The rounds and the last generator; resumes.

    Raises:
        ConfigError, InputError, LanguageError, ModelLoadError, TrainingError: in one sentence, before or
            during training.
    """
    data, corpus = read_rounds(config)
    writer = replace(config.generator, passages=config.rounds.passages)
    retriever = EncoderRounds(config.retriever, corpus, seed=config.seed, device=device)
    generator = WriterRounds(
        writer, retriever.found_by, str(config.output / RETRIEVER), seed=config.seed, device=device
    )
    outcome = iterate(
        retriever, generator, data, config.rounds, config.output, identity=_identity(config, writer, corpus)
    )
    taught = [pair.document for pair in data.parallel]
    if config.rounds.final_generator:
        taught += data.others
    return TrainedRounds(
        outcome,
        outcome.retriever / CHECKPOINT,
        outcome.generator / CHECKPOINT,
        dict(Counter(document.language for document in taught)),
        len(data.parallel),
        len(corpus.passages),
    )


def save_rounds(folder: Path, config: RamkgRounds, trained: TrainedRounds, card: str) -> None:
    """Copy the generator to `folder`, with its card, and the retriever to `RETRIEVER` of the run."""
    copytree(trained.generator, folder, dirs_exist_ok=True)
    (folder / CARD).write_text(card, encoding="utf-8")
    write_sums(folder)
    copytree(trained.retriever, config.output / RETRIEVER, dirs_exist_ok=True)


def _identity(config: RamkgRounds, writer: RoundWriter, corpus: Corpus) -> str:
    """All that decides what is learnt, except the documents; the passages by their content."""
    passages = content_identity(corpus.passages)
    settings = replace(writer, style="")  # which is only given in the card
    return repr([config.retriever, settings, config.seed, passages])
