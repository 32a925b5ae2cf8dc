"""Iterative training (RAMKG, Algorithm 1) of a retriever and a ranker, and the model that comes of it."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar

import faiss
import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from kpdemo.identity import content_identity
from kpdemo.languages import check_codes
from kpdemo.ramkg.ranker import RankerModel, load_ranker, save_ranker
from kpdemo.ramkg.rgit import Augmented, Outcome, Retrieved, RgitConfig, augment, iterate, search_once
from kpdemo.ramkg.subwords import Bag, load_reader
from kpdemo.simckp.checkpoint import content_hash
from kpdemo.simckp.examples import encoder_text
from kpdemo.training.data import AboveZero, Count, Positive, Rate, Source
from kpdemo.training.loop import LoopConfig
from kpdemo.training.multilingual.ranker import (
    Mined,
    RankerTraining,
    mine_documents,
    predict_keyphrases,
    train_ranker,
)
from kpdemo.training.multilingual.retriever import (
    ParallelSource,
    RetrieverTraining,
    Tower,
    Translation,
    open_tower,
)
from kpdemo.training.multilingual.rounds import Corpus, RoundTrained, read_rounds
from kpdemo.training.parts import CHECKPOINT
from kpdemo.types import Document
from kpdemo.worker import usable_cores

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Thinning:
    """Keeps near passages from a document, so that a ranker learns what far ones are worth: most indexes hold
    no translation of it.

    Attributes:
        share: of the corpus in which passages are found, drawn at random.
        skipped: this many of the best are left out.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    skipped: Count = 0


WAYS = (Thinning(), Thinning(), Thinning(skipped=1), Thinning(0.1), Thinning(0.01), Thinning(0.001))


@dataclass(frozen=True)
class MultilingualTraining:
    """Attributes:
    start: the folder of a retriever that every round begins with, as `train retriever` leaves it.
    translations: documents in two languages with keyphrases in both; their English sides are passages.
    parallel: this many of them, drawn at random, are used as translations. The others are treated as
        documents without a known passage, and show how many mined pairs are right.
    others: further documents whose passages are not known.
    passages: the rest of the corpus in which passages are found.
    validation: documents in two languages on which recall is measured; their passages have to be in the
        corpus under the same id.
    rounds: its `final_generator` is not used: the last rankers are trained as `thinned` says.
    epochs: visits of each pair in a round.
    thinned: how the passages are found that the model's ranker learns with, one way drawn for each document.
    near: the least score of a passage that helps the model; the ranker should have met such.
    languages: ISO 639-1 codes of those that the model is made for.
    card: Markdown that the model card begins with.
    device: of the encoder.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    start: Path
    translations: tuple[ParallelSource, ...]
    passages: tuple[Source, ...]
    validation: tuple[ParallelSource, ...]
    languages: Annotated[tuple[str, ...], Field(min_length=1)]
    parallel: Positive = 1_200
    others: tuple[Source, ...] = ()
    data: Path = Path("data")
    output: Path = Path("runs/multilingual")
    name: str = "multilingual"
    card: Path | None = None
    rounds: RgitConfig = field(default_factory=lambda: RgitConfig(passages=5))
    learning_rate: Rate = 3e-3
    temperature: AboveZero = 0.05
    batch_size: Annotated[int, Field(ge=2)] = 128
    epochs: Positive = 20
    thinned: Annotated[tuple[Thinning, ...], Field(min_length=1)] = WAYS
    near: Annotated[float, Field(ge=-1, le=1)] = 0.1
    ranker: RankerTraining = field(default_factory=RankerTraining)
    seed: Count = 42
    device: str = "auto"

    def __post_init__(self) -> None:
        check_codes(self.languages)


class RetrieverRounds(RoundTrained):
    """A `Retriever` of `kpdemo.ramkg.rgit` over a corpus in memory."""

    def __init__(self, config: MultilingualTraining, corpus: Corpus, device: torch.device) -> None:
        loop = LoopConfig(
            documents=1,  # overruled by `epochs`
            batch_size=config.batch_size,
            warmup=0.1,
            decay=0.9,
            precision="fp32",
            seed=config.seed,
        )
        training = RetrieverTraining(
            train=(),
            validation=(),
            loop=loop,
            learning_rate=config.learning_rate,
            temperature=config.temperature,
        )
        super().__init__(training, corpus, device, epochs=config.epochs)
        self._config = config
        self._bags: list[Bag] = []
        self._encoded: tuple[Path, NDArray[np.float32]] | None = None

    def _tower(
        self, config: RetrieverTraining, translations: Sequence[Translation], start: Path | None
    ) -> Tower:
        return open_tower(config, start / CHECKPOINT if start else self._config.start)

    def search(self, model: Path, documents: Sequence[Document], count: int) -> list[list[Retrieved]]:
        """See `Retriever`; exact."""
        return self.search_thinned(model, documents, count, Thinning())

    def search_thinned(
        self, model: Path, documents: Sequence[Document], count: int, thinning: Thinning
    ) -> list[list[Retrieved]]:
        """The same in a part of the corpus and past the best; fewer than `count` of a small corpus."""
        vectors = self._vectors(model)
        read = min(count + thinning.skipped, len(vectors))
        size = max(round(thinning.share * len(vectors)), read)
        part = np.sort(np.random.default_rng(self._config.seed).permutation(len(vectors))[:size])
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors if size == len(vectors) else vectors[part])
        reader = load_reader(model / CHECKPOINT, device=self._device)
        scores, places = index.search(reader.documents(documents), read)
        return self._corpus.retrieved(scores[:, thinning.skipped :], part[places[:, thinning.skipped :]])

    def _vectors(self, model: Path) -> NDArray[np.float32]:
        """(N, D) of all passages by this model; the last model's are kept."""
        if self._encoded is None or self._encoded[0] != model:
            reader = load_reader(model / CHECKPOINT, device=self._device)
            if not self._bags:
                logger.info("reading %d passages", len(self._corpus.passages))
                self._bags = reader.bags([encoder_text(passage) for passage in self._corpus.passages])
            self._encoded = model, reader.encode(self._bags)
        return self._encoded[1]


class RankerRounds:
    """A `Generator` of `kpdemo.ramkg.rgit`: it ranks phrases of the document and of the language."""

    def __init__(self, config: MultilingualTraining, device: torch.device) -> None:
        self._config = config
        self._device = device
        self._mined: dict[str, Mined] = {}

    def train(self, examples: Sequence[Augmented], into: Path, *, retriever: Path | None) -> None:
        """See `Generator`."""
        model = self.fit(examples, into, encoder=retriever / CHECKPOINT if retriever else self._config.start)
        save_ranker(into / CHECKPOINT, model, name=into.name, card="# A ranker of RGIT\n")

    def fit(
        self,
        examples: Sequence[Augmented],
        into: Path,
        *,
        encoder: Path,
        translated: Sequence[Augmented] | None = None,
    ) -> RankerModel:
        """A ranker on an encoder; the base model where no document has retrieved keyphrases.

        Args:
            translated: the same documents, to learn translations from; without it the examples.
        """
        retrieval = any(given.retrieved for given in examples)
        choosing, knowledge, metrics = train_ranker(
            self.mined([given.document for given in examples]),
            examples,
            load_reader(encoder, device=self._device),
            self._config.ranker,
            into,
            retrieval=retrieval,
            translated=translated,
        )
        logger.info("%s: F1@M of candidates %.4f", into.name, metrics["F1@M"])
        return RankerModel(
            knowledge=knowledge,
            augmented=choosing if retrieval else None,
            base=None if retrieval else choosing,
            passages=self._config.rounds.passages,
            languages=frozenset(self._config.languages),
            near=self._config.near,
        )

    def predict(self, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        """See `Generator`."""
        stored = load_ranker(model / CHECKPOINT, device=self._device)
        choosing = stored.augmented or stored.base
        assert choosing is not None  # a stored ranker has one
        mined = self.mined([given.document for given in inputs])
        return predict_keyphrases(mined, inputs, choosing, stored.knowledge)

    def mined(self, documents: Sequence[Document]) -> list[Mined]:
        """The phrases of the documents, each mined once."""
        new = [document for document in documents if document.id not in self._mined]
        for item in mine_documents(new, usable_cores()):
            self._mined[item.document.id] = item
        return [self._mined[document.id] for document in documents]


@dataclass(frozen=True)
class TrainedMultilingual:
    """Attributes:
    model: with both rankers, on all documents.
    outcome: of the rounds.
    documents: by language.
    """

    model: RankerModel
    outcome: Outcome
    documents: dict[str, int]
    passages: int


def train_multilingual(config: MultilingualTraining, *, device: torch.device) -> TrainedMultilingual:
    """The rounds, and then both rankers on all documents with the best round's encoder; resumes.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    data, corpus = read_rounds(config)
    retriever, ranker = RetrieverRounds(config, corpus, device), RankerRounds(config, device)
    rounds = replace(config.rounds, final_generator=False)
    outcome = iterate(retriever, ranker, data, rounds, config.output, identity=_identity(config, corpus))
    everything = [*(pair.document for pair in data.parallel), *data.others]
    encoder, folder = outcome.retriever / CHECKPOINT, outcome.retriever.parent  # of the best round
    base = ranker.fit(
        [Augmented(document) for document in everything], folder / "base-on-all", encoder=encoder
    )
    found = search_once(
        folder, "passages-of-all", lambda: retriever.search(outcome.retriever, everything, rounds.passages)
    )
    thinned = search_once(
        folder, "passages-of-last", lambda: find_thinned(retriever, outcome.retriever, everything, config)
    )
    last = ranker.fit(
        augment(everything, thinned),
        folder / "last",
        encoder=encoder,
        translated=augment(everything, found),
    )
    counts = dict(Counter(document.language for document in everything))
    return TrainedMultilingual(replace(last, base=base.base), outcome, counts, len(corpus.passages))


def find_thinned(
    retriever: RetrieverRounds, model: Path, documents: Sequence[Document], config: MultilingualTraining
) -> list[list[Retrieved]]:
    """The passages of each document, found in one of the ways of `thinned`."""
    drawn = random.Random(config.seed).choices(range(len(config.thinned)), k=len(documents))
    found: dict[int, list[Retrieved]] = {}
    for number, thinning in enumerate(config.thinned):
        places = [place for place, own in enumerate(drawn) if own == number]
        group = [documents[place] for place in places]
        passages = retriever.search_thinned(model, group, config.rounds.passages, thinning)
        found |= dict(zip(places, passages, strict=True))
    return [found[place] for place in range(len(documents))]


def _identity(config: MultilingualTraining, corpus: Corpus) -> str:
    """All that decides what is learnt, except the documents; start and passages by their content."""
    decisive = ("learning_rate", "temperature", "batch_size", "epochs", "thinned", "ranker", "seed")
    passages = content_identity(corpus.passages)
    return repr([content_hash(config.start), passages, *(getattr(config, name) for name in decisive)])
