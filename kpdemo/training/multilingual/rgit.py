"""Iterative training (RAMKG, Algorithm 1) of a retriever and a ranker, and the model that comes of it."""

from __future__ import annotations

import json
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
from safetensors import safe_open
from safetensors.torch import load_file

from kpdemo.identity import content_identity
from kpdemo.io.files import parse_json
from kpdemo.languages import check_codes
from kpdemo.ramkg.passage_encoder import PassageReader, ProjectionConfig, load_reader
from kpdemo.ramkg.ranker import Choosing, Knowledge, Lexicon, Ranker, RankerModel
from kpdemo.ramkg.rgit import Augmented, Outcome, Retrieved, RgitConfig, augment, iterate, search_once
from kpdemo.simckp.calibration import ExpectedF1
from kpdemo.simckp.checkpoint import content_hash, load_checkpoint, write_tensors
from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.extractor import SimckpPredictor
from kpdemo.training.data import AboveZero, Count, Positive, Rate, Source, read_source
from kpdemo.training.loop import LoopConfig
from kpdemo.training.multilingual.ranker import (
    Listed,
    RankerTraining,
    learn_lexicon,
    list_documents,
    predict_keyphrases,
    train_ranker,
)
from kpdemo.training.multilingual.retriever import (
    ParallelSource,
    RetrieverTraining,
    Tower,
    Translation,
    open_tower,
    read_translations,
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
    extractor: the checkpoint of the extractor that lists the candidates of a text.
    start: the folder of a retriever that every round begins with, as `train retriever` leaves it: a
        projection after the lower layers of the same encoder, which the extractor left as they were.
    known: documents in two languages that the extractor has read, for terms and translations.
    terms: documents in one language, for terms.
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

    extractor: Path
    start: Path
    known: tuple[ParallelSource, ...]
    translations: tuple[ParallelSource, ...]
    passages: tuple[Source, ...]
    validation: tuple[ParallelSource, ...]
    languages: Annotated[tuple[str, ...], Field(min_length=1)]
    parallel: Positive = 1_200
    others: tuple[Source, ...] = ()
    terms: tuple[Source, ...] = ()
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
            projection=ProjectionConfig(),  # of the start
            negatives=0,  # a batch of these is large
        )
        super().__init__(training, corpus, device, epochs=config.epochs)
        self._config = config
        self._pooled: NDArray[np.float32] | None = None
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
            if self._pooled is None:  # the same for all models, which differ in their projection
                logger.info("reading %d passages", len(self._corpus.passages))
                self._pooled = reader.pool([encoder_text(passage) for passage in self._corpus.passages])
            self._encoded = model, reader.project(self._pooled)
        return self._encoded[1]


_RANKER = "ranker.safetensors"


class RankerRounds:
    """A `Generator` of `kpdemo.ramkg.rgit`: it ranks phrases of the document and of the language."""

    def __init__(
        self, config: MultilingualTraining, extractor: SimckpPredictor, lexicon: Lexicon, device: torch.device
    ) -> None:
        self._config = config
        self._extractor = extractor
        self._lexicon = lexicon
        self._device = device
        self._listed: dict[str, Listed] = {}
        self._reader: PassageReader | None = None

    def train(self, examples: Sequence[Augmented], into: Path, *, retriever: Path | None) -> None:
        """See `Generator`."""
        encoder = retriever / CHECKPOINT if retriever else self._config.start
        choosing = self.fit(examples, into, encoder=encoder)
        described = {
            "encoder": str(encoder),
            "retrieval": choosing.module.retrieval,
            "gold": choosing.counting.gold,
            "minimum": choosing.minimum,
        }
        write_tensors(into / _RANKER, choosing.module.state_dict(), {"ranker": json.dumps(described)})

    def fit(self, examples: Sequence[Augmented], into: Path, *, encoder: Path) -> Choosing:
        """A ranker on an encoder; one without retrieval where no document has retrieved keyphrases."""
        choosing, metrics = train_ranker(
            self.listed([given.document for given in examples]),
            examples,
            self.knowledge(encoder),
            self._config.ranker,
            into,
            retrieval=any(given.retrieved for given in examples),
        )
        logger.info("%s: F1@M of candidates %.4f", into.name, metrics["F1@M"])
        return choosing

    def predict(self, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        """See `Generator`."""
        with safe_open(model / _RANKER, framework="pt") as file:
            described = parse_json(file.metadata()["ranker"])
        module = Ranker(retrieval=described["retrieval"])
        module.load_state_dict(load_file(model / _RANKER))
        choosing = Choosing(module.eval(), ExpectedF1(described["gold"]), described["minimum"])
        listed = self.listed([given.document for given in inputs])
        return predict_keyphrases(listed, inputs, choosing, self.knowledge(Path(described["encoder"])))

    def listed(self, documents: Sequence[Document]) -> list[Listed]:
        """The candidates of the documents, each read once."""
        new = [document for document in documents if document.id not in self._listed]
        for item in list_documents(self._extractor, new):
            self._listed[item.document.id] = item
        return [self._listed[document.id] for document in documents]

    def knowledge(self, encoder: Path) -> Knowledge:
        """The lexicon with vectors of an encoder; all share the phrases that were read before."""
        reader = load_reader(encoder, device=self._device)
        self._reader = replace(self._reader or reader, projection=reader.projection)
        return Knowledge.of(self._reader, self._lexicon)


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
    extractor = load_checkpoint(config.extractor, device=device.type)
    lexicon = learn_lexicon(_known_documents(config), usable_cores())
    retriever = RetrieverRounds(config, corpus, device)
    ranker = RankerRounds(config, extractor, lexicon, device)
    rounds = replace(config.rounds, final_generator=False)
    outcome = iterate(retriever, ranker, data, rounds, config.output, identity=_identity(config, corpus))
    everything = [*(pair.document for pair in data.parallel), *data.others]
    encoder, folder = outcome.retriever / CHECKPOINT, outcome.retriever.parent  # of the best round
    base = ranker.fit(
        [Augmented(document) for document in everything], folder / "base-on-all", encoder=encoder
    )
    thinned = search_once(
        folder, "passages-of-last", lambda: find_thinned(retriever, outcome.retriever, everything, config)
    )
    augmented = ranker.fit(augment(everything, thinned), folder / "last", encoder=encoder)
    model = RankerModel(
        extractor=extractor,
        knowledge=ranker.knowledge(encoder),
        augmented=augmented,
        base=base,
        passages=rounds.passages,
        languages=frozenset(config.languages),
        near=config.near,
    )
    counts = dict(Counter(document.language for document in everything))
    return TrainedMultilingual(model, outcome, counts, len(corpus.passages))


def _known_documents(config: MultilingualTraining) -> list[tuple[Document, tuple[str, ...]]]:
    """The documents that terms are learnt from, each with its English keyphrases."""
    pairs = (pair for source in config.known for pair in read_translations(source, config.data))
    alone = (document for source in config.terms for document in read_source(source, config.data))
    return [(pair.document, pair.passage.keyphrases) for pair in pairs] + [(one, ()) for one in alone]


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
    hashes = [content_hash(folder) for folder in (config.start, config.extractor)]
    return repr([hashes, passages, config.known, config.terms, *(getattr(config, name) for name in decisive)])
