"""Training of a cross-lingual retriever (RAMKG, section 4.1): queries in one language, English passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch

from kpdemo.errors import ConfigError
from kpdemo.identity import content_identity
from kpdemo.ramkg.subwords import SubwordEncoder, load_reader, read_bags, train_tokenizer
from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.pair_checkpoint import state_hash
from kpdemo.training.arrays import tokenizer_hash
from kpdemo.training.loop import train
from kpdemo.training.multilingual.parallel import ParallelSource, Translation, read_translations
from kpdemo.training.multilingual.retriever_config import SUBWORDS, RetrieverTraining
from kpdemo.training.multilingual.retriever_part import RetrieverPart
from kpdemo.training.multilingual.towers import SubwordTower, Tower, backbone_tower
from kpdemo.training.part import Metrics
from kpdemo.training.progress import Progress
from kpdemo.training.run_identity import run_identity
from kpdemo.training.sources import read_source
from kpdemo.types import Document


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
    """The `run_identity` of a retriever; by content the encoder as it begins, and a vocabulary of its own.

    Args:
        texts: lists of pairs, and of further passages that negatives are drawn from.
    """
    vocabulary = tokenizer_hash(tower.tokenizer) if isinstance(tower, SubwordTower) else ""
    begun = {name: value.cpu() for name, value in tower.module.state_dict().items()}
    return run_identity(
        vars(config), vocabulary=vocabulary, begun=state_hash(begun), texts=content_identity(*texts)
    )


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
