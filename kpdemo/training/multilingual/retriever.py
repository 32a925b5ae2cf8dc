"""Training of a cross-lingual retriever (RAMKG, section 4.1): queries in one language, English passages.

One tower reads queries and passages, as in RAMKG's own code. Letters (towers): B texts, T tokens, D width.

Letters (retriever part): B pairs of a batch, N passages of it, D width.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.errors import ConfigError, InputError
from kpdemo.evaluation.metrics import recall_at
from kpdemo.identity import CARD, content_identity
from kpdemo.io.documents import document_from_row
from kpdemo.io.tables import line_name, read_rows
from kpdemo.markup import plain_document
from kpdemo.ramkg.passage_encoder import (
    PassageReader,
    Projection,
    ProjectionConfig,
    load_reader,
    new_reader,
    save_reader,
)
from kpdemo.ramkg.settings import EncoderConfig, Pooling
from kpdemo.simckp.batches import Movable, pad_rows
from kpdemo.simckp.bert import BertEncoder
from kpdemo.simckp.dual_encoder import pool_tokens
from kpdemo.simckp.encoder import E5, load_backbone, load_tokenizer
from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.pair_checkpoint import state_hash
from kpdemo.training.data import (
    AboveZero,
    Count,
    Positive,
    Rate,
    source_file,
)
from kpdemo.training.loop import LoopConfig, Metrics, Progress, run_identity, train
from kpdemo.types import Document


@dataclass(frozen=True)
class ParallelSource:
    """A JSON Lines file whose rows have a text in two languages.

    Attributes:
        path: plain, .gz or .xz; relative to the data folder.
        language: ISO 639-1 code of the side that is not English.
        parts: fields that hold a text by language, such as `{"fr": …, "en": …}`; each gives a pair. Without
            any a row is a document in both: its text in "fr" and "en", with `fr_title` and `fr_keyphrases`.
        skip_ids: a regular expression; rows whose id it matches at its start are left out.
    limit: only this many of the first rows.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: Path
    language: str
    parts: tuple[str, ...] = ()
    skip_ids: str = ""
    limit: Positive | None = None


@dataclass(frozen=True, slots=True)
class Translation:
    """A document and its English translation; both have the row's id."""

    document: Document
    passage: Document


def read_translations(source: ParallelSource, folder: Path) -> Iterator[Translation]:
    """The pairs of a source whose two texts are both there.

    Raises:
        ConfigError: there is no such file.
        InputError: a row cannot be read.
    """
    path = source_file(source, folder)
    for number, row in islice(read_rows(path), source.limit):
        place = line_name(path.name, number)
        if source.skip_ids and re.match(source.skip_ids, str(row.get("id", place))):
            continue
        for sides in _sides(row, source, place):
            if all(side.get("text") for side in sides):
                first, second = (plain_document(document_from_row(side, where=place)) for side in sides)
                yield Translation(first, second)


def _sides(
    row: Mapping[str, Any], source: ParallelSource, place: str
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    identifier = str(row.get("id", place))
    languages = (source.language, "en")
    if not source.parts:
        yield tuple(_whole(row, identifier, language) for language in languages)  # type: ignore[misc]
    for part in source.parts:
        texts = row.get(part)
        if not isinstance(texts, Mapping):
            raise InputError(f'{place}: "{part}" holds no texts by language; name another field in `parts`.')
        yield tuple(  # type: ignore[misc]
            {"id": f"{identifier}-{part}", "text": texts.get(language, ""), "language": language}
            for language in languages
        )


def _whole(row: Mapping[str, Any], identifier: str, language: str) -> dict[str, Any]:
    return {
        "id": identifier,
        "title": row.get(f"{language}_title") or "",
        "text": row.get(language) or "",
        "keyphrases": row.get(f"{language}_keyphrases") or [],
        "language": language,
    }


@dataclass(frozen=True)
class RetrieverTraining:
    """Attributes:
    data: the folder that the paths of the sources start from.
    train: pairs to learn from.
    validation: pairs that recall is measured on, each query among the passages of all.
    backbone: a pretrained encoder by name or folder.
    projection: train only a projection after its lower layers; None trains the whole encoder, as RAMKG.
    encoder: pooling, length and prefixes; also whether vectors have length 1, as RAMKG's have not. Its
        `model` is not used. With a projection it is left out.
    temperature: what dot products are divided by; 1 is RAMKG's own, too weak for vectors of length 1.
    negatives: passages that each query is contrasted with, in addition to those of its batch.
    both_ways: also find the query by its passage.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[ParallelSource, ...]
    validation: tuple[ParallelSource, ...]
    loop: LoopConfig
    name: str = "retriever"
    data: Path = Path("data")
    output: Path = Path("runs/retriever")
    backbone: str = E5
    projection: ProjectionConfig | None = None
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    temperature: AboveZero = 0.05
    negatives: Count = 1
    both_ways: bool = True
    learning_rate: Rate = 3e-3
    weight_decay: float = 0.0
    attention: str = "eager"
    device: str = "auto"

    def __post_init__(self) -> None:
        check_trainable(self.encoder, projection=self.projection is not None)


def check_trainable(encoder: EncoderConfig, *, projection: bool = False) -> None:
    """Raises:
    ConfigError: a setting would be left out of the training.
    """
    if encoder.model != EncoderConfig().model:
        raise ConfigError(
            f"A retriever is trained from its `backbone`: name {encoder.model!r} there and leave out "
            "`encoder.model`."
        )
    if projection and encoder != EncoderConfig():
        raise ConfigError(
            "A projection has a pooling of its own and reads no prefixes: leave out `encoder`, and set "
            "projection = { length = … }."
        )
    if encoder.pooling == "pooler":
        raise ConfigError("A retriever cannot be trained with the pooling 'pooler': choose mean or first.")


_WHITENED = 2_000
"""Pairs whose texts a projection begins with."""
_CHARACTERS = 5
"""Of a token, at most, in most languages."""


class Tower(Protocol):
    """Makes vectors of texts while it is trained."""

    @property
    def module(self) -> nn.Module:
        """(B, D) of a batch that `collate` made."""

    def read(self, texts: Sequence[str]) -> list[Any]:
        """What is encoded of each text; small, so that all texts can be read beforehand."""

    def collate(self, items: Sequence[Any]) -> Movable:
        """A batch of these."""

    def save(self, folder: Path, card: str) -> None:
        """Write a folder that `kpdemo.ramkg.retriever.load_encoder` opens."""


@dataclass(frozen=True)
class PooledTexts(Movable):
    """Attributes:
    vectors: (B, H) float, the means over the tokens.
    """

    vectors: Tensor


class ProjectedTexts(nn.Module):
    """A projection as a module of `PooledTexts`."""

    def __init__(self, projection: Projection) -> None:
        super().__init__()
        self.projection = projection

    def forward(self, batch: PooledTexts) -> Tensor:
        """(B, D)."""
        vectors: Tensor = self.projection(batch.vectors)
        return vectors


@dataclass(frozen=True)
class ProjectionTower:
    """The lower layers of a frozen encoder, whose projection is trained.

    Attributes:
        tokenizer: of Transformers.
    """

    module: ProjectedTexts
    reader: PassageReader
    tokenizer: Any

    @classmethod
    def of(cls, reader: PassageReader, tokenizer: Any) -> ProjectionTower:
        reader.projection.train().requires_grad_(True)
        return cls(ProjectedTexts(reader.projection), reader, tokenizer)

    def read(self, texts: Sequence[str]) -> list[Any]:
        """See `Tower`."""
        return list(self.reader.pool(texts))

    def collate(self, items: Sequence[Any]) -> PooledTexts:
        """See `Tower`."""
        return PooledTexts(torch.from_numpy(np.stack(items)))

    def save(self, folder: Path, card: str) -> None:
        """See `Tower`."""
        save_reader(folder, self.reader, self.tokenizer, card=card)


@dataclass(frozen=True)
class TokenBatch(Movable):
    """Attributes:
    input_ids, attention_mask: (B, T) long.
    """

    input_ids: Tensor
    attention_mask: Tensor


class PooledBackbone(nn.Module):
    """A pretrained encoder and what makes one vector of its hidden states."""

    def __init__(self, backbone: nn.Module, pooling: Pooling, *, normalise: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self._pooling = pooling
        self._normalise = normalise

    def forward(self, batch: TokenBatch) -> Tensor:
        """(B, D)."""
        output = self.backbone(input_ids=batch.input_ids, attention_mask=batch.attention_mask)
        vectors = pool_tokens(output.last_hidden_state, batch.attention_mask, self._pooling)
        return functional.normalize(vectors, dim=-1) if self._normalise else vectors


@dataclass(frozen=True)
class BackboneTower:
    """A pretrained encoder of the Hub."""

    module: PooledBackbone
    tokenizer: Any
    length: int

    def read(self, texts: Sequence[str]) -> list[Any]:
        """See `Tower`."""
        fast = self.tokenizer.backend_tokenizer
        fast.enable_truncation(self.length)
        return [torch.tensor(encoding.ids) for encoding in fast.encode_batch(list(texts))]

    def collate(self, items: Sequence[Any]) -> TokenBatch:
        """See `Tower`."""
        return TokenBatch(*pad_rows(items, self.tokenizer.pad_token_id))

    def save(self, folder: Path, card: str) -> None:
        """See `Tower`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.module.backbone.save_pretrained(folder)  # type: ignore[operator]
        self.tokenizer.backend_tokenizer.no_truncation()
        self.tokenizer.save_pretrained(folder)
        (folder / CARD).write_text(card, encoding="utf-8")


def backbone_tower(name: str, config: EncoderConfig, *, attention: str) -> BackboneTower:
    """A pretrained encoder by name or folder, to be trained further.

    Raises:
        ModelLoadError: it cannot be loaded.
    """
    backbone, tokenizer = load_backbone(name, attention=attention)
    module = PooledBackbone(backbone, config.pooling, normalise=config.normalise)
    return BackboneTower(module, tokenizer, config.length)


class RetrieverPart:
    """A retriever as the training loop sees it: an item is a pair with its negatives."""

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
        self._positives = _number(tower.read(positives), positives, numbers)
        self._negatives = _number(tower.read(negatives), negatives, numbers)
        self._several = len(set(negatives)) > 1
        self._validation = [
            tower.read(_texts(queries, (pair.document for pair in validation))),
            tower.read(_texts(found, (pair.passage for pair in validation))),
        ]
        self.lengths = self.repeats = [1] * len(pairs)
        self._epoch = 0

    @property
    def module(self) -> nn.Module:
        return self._tower.module

    def parameter_groups(self) -> list[dict[str, Any]]:
        config = self._config
        parameters = [value for value in self.module.parameters() if value.requires_grad]
        return [{"params": parameters, "lr": config.learning_rate, "weight_decay": config.weight_decay}]

    def begin_epoch(self, epoch: int) -> None:
        """Draw other negatives than in other epochs."""
        self._epoch = epoch

    def __getitem__(self, index: int) -> tuple[Any, _Passage, list[_Passage]]:
        own = self._positives[index]
        return self._queries[index], own, self._draw(own, index)

    def _draw(self, own: _Passage, index: int) -> list[_Passage]:
        """Negatives of a pair; where its own passage is drawn, another is drawn instead."""
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
        ranks = (~(scores < scores.diagonal()[:, None])).sum(1)  # after all ties, and NaN is not a hit
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


def _number(items: Sequence[Any], texts: Sequence[str], numbers: Mapping[str, int]) -> list[_Passage]:
    return [_Passage(item, numbers[text]) for item, text in zip(items, texts, strict=True)]


@dataclass(frozen=True)
class PairBatch(Movable):
    """B queries; their passages in the same order, and negatives after them.

    Attributes:
        numbers: (N,) long, the same for the same passage.
    """

    queries: Movable
    passages: Movable
    numbers: Tensor


def retrieval_loss(
    queries: Tensor, passages: Tensor, numbers: Tensor, *, temperature: float, both_ways: bool
) -> Tensor:
    """The negative log-likelihood of each query's passage among all of the batch (RAMKG, section 4.1).

        -log (exp sim(q, p+) / (exp sim(q, p+) + Σ exp sim(q, p-)))

    with sim the dot product, p+ the query's passage, and p- all others of the batch. Where p+ occurs in the
    batch again, as another query's passage or negative, it is not a p- and is left out.

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


@dataclass(frozen=True)
class TrainedRetriever:
    """The result of a run."""

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
    """The `run_identity` of a retriever; by content the encoder as it begins.

    Args:
        texts: lists of pairs, and of further passages that negatives are drawn from.
    """
    begun = {name: value.cpu() for name, value in tower.module.state_dict().items()}
    return run_identity(vars(config), begun=state_hash(begun), texts=content_identity(*texts))


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
    """The encoder before training; a projection begins with what texts of the pairs vary in most."""
    if config.projection is None:
        return backbone_tower(config.backbone, config.encoder, attention=config.attention)
    encoder, tokenizer = load_backbone(config.backbone)
    fast, padding = tokenizer.backend_tokenizer, tokenizer.pad_token_id
    reader = new_reader(BertEncoder.from_transformers(encoder), fast, padding, config.projection)
    step = -(-len(pairs) // _WHITENED)
    drawn = pairs[::step]
    sides = [pair.document for pair in drawn] + [pair.passage for pair in drawn]
    texts = list(map(encoder_text, sides))
    reader.measure_lengths(joined_texts(texts, config.projection.length))
    reader.projection.whiten(torch.from_numpy(reader.pool(texts)))
    return ProjectionTower.of(reader, tokenizer)


def joined_texts(texts: Iterable[str], length: int) -> list[str]:
    """Texts one after the other, joined to ones of about `length` tokens or more."""
    joined: list[list[str]] = [[]]
    for text in texts:
        if sum(map(len, joined[-1])) >= _CHARACTERS * length:
            joined.append([])
        joined[-1].append(text)
    return list(map(" ".join, joined))


def open_tower(config: RetrieverTraining, folder: Path) -> Tower:
    """A stored encoder, to be trained further.

    Raises:
        ModelLoadError: it is damaged, or of another kind.
    """
    if config.projection is None:
        return backbone_tower(str(folder), config.encoder, attention=config.attention)
    reader = load_reader(folder, device=torch.device("cpu"))
    return ProjectionTower.of(reader, load_tokenizer(str(folder)))
