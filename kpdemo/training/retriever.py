"""Training of a cross-lingual retriever (RAMKG, section 4.1): queries in one language, English passages.

Letters: B pairs of a batch, N passages of it, D width.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.errors import ConfigError
from kpdemo.evaluation.retrieval import recall_at
from kpdemo.identity import content_identity
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.ramkg.subwords import SubwordEncoder, load_reader, read_bags, train_tokenizer
from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.pair_checkpoint import state_hash
from kpdemo.training.arrays import tokenizer_hash
from kpdemo.training.batching import length_bucketed
from kpdemo.training.loop import LoopConfig, Metrics, Progress, train
from kpdemo.training.parallel import ParallelSource, Translation, read_translations
from kpdemo.training.settings import decisive
from kpdemo.training.sources import Source, read_source, refuse_repeats
from kpdemo.training.towers import SubwordTower, Tower, backbone_tower
from kpdemo.types import Document

SUBWORDS = "subwords"
"""The backbone that is no pretrained encoder: bags of subwords, with a vocabulary of their own."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SubwordSettings:
    """Attributes:
    vocabulary, width: V and D.
    texts, translations: what the vocabulary is learnt from, besides the pairs; both sides of the latter.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    vocabulary: Annotated[int, Field(ge=100)] = 32_000
    width: Annotated[int, Field(ge=8)] = 256
    texts: tuple[Source, ...] = ()
    translations: tuple[ParallelSource, ...] = ()

    def __post_init__(self) -> None:
        refuse_repeats(self.texts, "A vocabulary is learnt from")


@dataclass(frozen=True)
class RetrieverTraining:
    """Attributes:
    data: the folder that the paths of the sources start from.
    train: pairs to learn from.
    validation: pairs that recall is measured on, each query among the passages of all.
    backbone: "subwords", or a pretrained encoder by name or folder.
    encoder: pooling, length and prefixes; also whether vectors have length 1, as RAMKG's have not. Its
        `model` is not used. Of "subwords" it has the length alone.
    temperature: what dot products are divided by; 1 is RAMKG's own, too weak for vectors of length 1.
    negatives: other passages that each query is told from, besides those of its batch.
    both_ways: also find the query by its passage.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[ParallelSource, ...]
    validation: tuple[ParallelSource, ...]
    loop: LoopConfig
    name: str = "retriever"
    data: Path = Path("data")
    output: Path = Path("runs/retriever")
    backbone: str = SUBWORDS
    subwords: SubwordSettings = field(default_factory=SubwordSettings)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    temperature: Annotated[float, Field(gt=0)] = 0.05
    negatives: Annotated[int, Field(ge=0)] = 1
    both_ways: bool = True
    learning_rate: Annotated[float, Field(gt=0)] = 3e-3
    weight_decay: float = 0.0
    attention: str = "eager"
    device: str = "auto"

    def __post_init__(self) -> None:
        check_trainable(self.encoder, self.backbone)


def check_trainable(encoder: EncoderConfig, backbone: str) -> None:
    """Raises:
    ConfigError: a setting would be left out of the training.
    """
    if encoder.model != EncoderConfig().model:
        raise ConfigError(
            f"A retriever is trained from its `backbone`: name {encoder.model!r} there and leave out "
            "`encoder.model`."
        )
    if backbone == SUBWORDS and replace(encoder, length=EncoderConfig().length) != EncoderConfig():
        raise ConfigError(
            f"A retriever of {SUBWORDS} has a pooling of its own and reads no prefixes: set only the length "
            "of its encoder, such as encoder = { length = 512 }."
        )
    if encoder.pooling == "pooler":
        raise ConfigError("A retriever cannot be trained with the pooling 'pooler': choose mean or first.")


@dataclass(frozen=True)
class TrainedRetriever:
    """What a run leaves behind."""

    tower: Tower
    progress: Progress
    pairs: int
    validation: Metrics


def train_retriever(config: RetrieverTraining, *, device: torch.device) -> TrainedRetriever:
    """Train or resume as the configuration says.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    pairs = read_all(config.train, config.data)
    validation = read_all(config.validation, config.data)
    torch.manual_seed(config.loop.seed)
    tower = new_tower(config, pairs)
    passages = [pair.passage for pair in pairs]
    part = RetrieverPart(tower, config, pairs, passages, validation)
    identity = retriever_identity(config, tower, pairs, validation)
    progress = train(part, config.loop, config.output, device, identity=identity)
    return TrainedRetriever(tower, progress, len(pairs), part.evaluate())


def retriever_identity(
    config: RetrieverTraining, tower: Tower, *texts: Iterable[Translation | Document]
) -> str:
    """All that decides what is learnt; by content the encoder as it begins, and a vocabulary of its own.

    Args:
        texts: lists of pairs, and of passages that negatives are drawn from besides.
    """
    vocabulary = tokenizer_hash(tower.tokenizer) if isinstance(tower, SubwordTower) else ""
    begun = {name: value.cpu() for name, value in tower.module.state_dict().items()}
    return repr([*decisive(vars(config)), vocabulary, state_hash(begun), content_identity(*texts)])


def read_all(sources: Sequence[ParallelSource], folder: Path) -> list[Translation]:
    """All pairs of some sources.

    Raises:
        ConfigError: there is none.
    """
    pairs = [pair for source in sources for pair in read_translations(source, folder)]
    if not pairs:
        raise ConfigError("No pair of texts to learn from: check the sources.")
    return pairs


def new_tower(config: RetrieverTraining, pairs: Sequence[Translation]) -> Tower:
    """The encoder before training; one of subwords gets its vocabulary from the texts."""
    if config.backbone != SUBWORDS:
        return backbone_tower(config.backbone, config.encoder, attention=config.attention)
    settings = config.subwords
    translations = chain(
        pairs, (pair for source in settings.translations for pair in read_translations(source, config.data))
    )
    documents = chain(
        chain.from_iterable((pair.document, pair.passage) for pair in translations),
        chain.from_iterable(read_source(source, config.data) for source in settings.texts),
    )
    texts = [f"{encoder_text(document)}\n{' '.join(document.keyphrases)}" for document in documents]
    tokenizer = train_tokenizer(texts, settings.vocabulary)
    module = SubwordEncoder(tokenizer.get_vocab_size(), settings.width)
    module.start_from_rarity(read_bags(tokenizer, texts, config.encoder.length))
    return SubwordTower(module, tokenizer, config.encoder.length)


def open_tower(config: RetrieverTraining, folder: Path) -> Tower:
    """A stored encoder, to be trained further.

    Raises:
        ModelLoadError: it is damaged, or of another kind.
    """
    if config.backbone != SUBWORDS:
        return backbone_tower(str(folder), config.encoder, attention=config.attention)
    reader = load_reader(folder, device=torch.device("cpu"))
    reader.module.train().requires_grad_(True)
    return SubwordTower(reader.module, reader.tokenizer, reader.length)


class RetrieverPart:
    """A retriever as the training loop sees it: an item is a pair, with passages to tell it from."""

    selected = "R@5"

    def __init__(
        self,
        tower: Tower,
        config: RetrieverTraining,
        pairs: Sequence[Translation],
        passages: Sequence[Document],
        validation: Sequence[Translation],
    ) -> None:
        """Args:
        passages: what negatives are drawn from.
        """
        self._tower = tower
        self._config = config
        queries, found = config.encoder.query_prefix, config.encoder.passage_prefix
        self._queries = tower.read(_texts(queries, (pair.document for pair in pairs)))
        positives = _texts(found, (pair.passage for pair in pairs))
        negatives = _texts(found, passages) if config.negatives else []
        numbers = {text: number for number, text in enumerate(dict.fromkeys([*positives, *negatives]))}
        self._positives = _numbered(tower.read(positives), positives, numbers)
        self._negatives = _numbered(tower.read(negatives), negatives, numbers)
        self._several = len(set(negatives)) > 1
        self._validation = [
            tower.read(_texts(queries, (pair.document for pair in validation))),
            tower.read(_texts(found, (pair.passage for pair in validation))),
        ]
        self._epoch = 0

    @property
    def module(self) -> nn.Module:
        return self._tower.module

    def parameter_groups(self) -> list[dict[str, Any]]:
        config = self._config
        parameters = [value for value in self.module.parameters() if value.requires_grad]
        return [{"params": parameters, "lr": config.learning_rate, "weight_decay": config.weight_decay}]

    def batches(self, epoch: int) -> list[list[int]]:
        self._epoch = epoch
        loop = self._config.loop
        count = len(self._queries)
        return length_bucketed(
            [0] * count, [1] * count, batch_size=loop.batch_size, seed=loop.seed, epoch=epoch
        )

    def __getitem__(self, index: int) -> tuple[Any, _Passage, list[_Passage]]:
        own = self._positives[index]
        return self._queries[index], own, self._drawn(own, index)

    def _drawn(self, own: _Passage, index: int) -> list[_Passage]:
        """Negatives of a pair: its own passage is none, and is drawn anew."""
        chance = random.Random(f"{self._config.loop.seed} {self._epoch} {index}")
        drawn: list[_Passage] = []
        while len(drawn) < self._config.negatives:
            passage = chance.choice(self._negatives)
            if passage.number != own.number:
                drawn.append(passage)
            elif not self._several:
                break  # there is no other to draw
        return drawn

    def collate(self, items: Sequence[tuple[Any, _Passage, list[_Passage]]]) -> PairBatch:
        queries, positives, negatives = zip(*items, strict=True)
        passages: list[_Passage] = [*positives, *chain.from_iterable(negatives)]
        return PairBatch(
            self._tower.collate(queries),
            self._tower.collate([passage.item for passage in passages]),
            torch.tensor([passage.number for passage in passages]),
        )

    def loss(self, batch: PairBatch) -> Tensor:
        return retrieval_loss(
            self.module(batch.queries),
            self.module(batch.passages),
            batch.numbers,
            temperature=self._config.temperature,
            both_ways=self._config.both_ways,
        )

    def evaluate(self) -> Metrics:
        queries, passages = (self._encode(items) for items in self._validation)
        scores = queries @ passages.T
        ranks = (~(scores < scores.diagonal()[:, None])).sum(1)  # behind all ties, and NaN is no hit
        return {f"R@{k}": value for k, value in recall_at(ranks.tolist()).items()}

    def _encode(self, items: Sequence[Any]) -> Tensor:
        device = next(self.module.parameters()).device
        size = self._config.loop.batch_size
        with torch.no_grad():
            return torch.cat(
                [
                    self.module(self._tower.collate(items[first : first + size]).to(device))
                    for first in range(0, len(items), size)
                ]
            )


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage as the tower reads it; those of one text have one number."""

    item: Any
    number: int


def _texts(prefix: str, documents: Iterable[Document]) -> list[str]:
    """As the encoder of an index reads them."""
    return [f"{prefix}{encoder_text(document)}" for document in documents]


def _numbered(items: Sequence[Any], texts: Sequence[str], numbers: Mapping[str, int]) -> list[_Passage]:
    return [_Passage(item, numbers[text]) for item, text in zip(items, texts, strict=True)]


@dataclass(frozen=True)
class PairBatch:
    """B queries; their passages in the same order, and negatives after them.

    Attributes:
        numbers: (N,) long, the same for the same passage.
    """

    queries: Any
    passages: Any
    numbers: Tensor

    def to(self, device: torch.device) -> PairBatch:
        return PairBatch(self.queries.to(device), self.passages.to(device), self.numbers.to(device))


def retrieval_loss(
    queries: Tensor, passages: Tensor, numbers: Tensor, *, temperature: float, both_ways: bool
) -> Tensor:
    """The negative log-likelihood of each query's passage among all of the batch (RAMKG, section 4.1).

        -log (exp sim(q, p+) / (exp sim(q, p+) + Σ exp sim(q, p-)))

    with sim the dot product, p+ the query's passage, and p- all others of the batch. Where p+ stands in the
    batch once more, as another query's passage or negative, it is no p- and is left out.

    Args:
        queries: (B, D).
        passages: (N, D), the queries' own first.
        numbers: (N,) the same for the same passage.
        both_ways: add that of each passage's query among the queries.

    Returns:
        Scalar, in nats.
    """
    scores = queries @ passages.T / temperature  # (B, N)
    own = torch.arange(len(queries), device=scores.device)
    again = numbers[:, None][: len(queries)] == numbers
    again[own, own] = False
    scores = scores.masked_fill(again, -torch.inf)
    loss = functional.cross_entropy(scores, own)
    return loss + functional.cross_entropy(scores[:, : len(queries)].T, own) if both_ways else loss
