"""Training of the reranker (SimCKP, section 4.3) on candidates that generator and bank propose."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch

from kpdemo.errors import ConfigError
from kpdemo.simckp.backbone import check_reading, load_backbone, load_tokenizer
from kpdemo.simckp.counting import Counting
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig
from kpdemo.simckp.folders import content_hash
from kpdemo.simckp.generation.beam_search import SearchConfig
from kpdemo.simckp.generation.checkpoint import load_generator
from kpdemo.simckp.pair_checkpoint import TermRetriever, load_bank, load_trainable_dual
from kpdemo.simckp.predictor import Selection
from kpdemo.simckp.proposing import Proposer
from kpdemo.simckp.quantized import Storage
from kpdemo.simckp.reranker import RerankerConfig, RerankerModel
from kpdemo.training.bounds import Count, Positive, Rate, Share
from kpdemo.training.candidates import proposed_documents
from kpdemo.training.freezing import freeze_embeddings, set_dropout
from kpdemo.training.loop import train
from kpdemo.training.loop_config import LoopConfig
from kpdemo.training.part import Metrics
from kpdemo.training.progress import Progress
from kpdemo.training.reranker_part import CandidateReader, RerankerPart, RerankerValidation
from kpdemo.training.run_identity import run_identity
from kpdemo.training.sources import Source, draw_documents, source_hashes, validation_documents

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RerankerTraining:
    """Attributes:
    train: documents whose candidates are ranked; they should be new to bank and generator, whose scores
        say too much about documents they have learnt from.
    validation: chooses the weights, the threshold and the calibration.
    skip, pool: of the documents drawn from `train`, the first `skip` are left out and `pool` are used. Those
        that bank and generator have learnt from are left out if they drew them from the same sources.
    draw_seed: the `loop.seed` of bank and generator, which gives the order that `skip` counts in; without it
        the reranker's own.
    bank, generator: checkpoint folders that propose candidates; at least one of them.
    retrieved: terms of the bank that are proposed.
    share_encoder: begin with the bank's pair encoder; the settings `backbone`, `towers`, `dual` and `length`
        are those of one without it.
    freeze_encoder: train the combination of features alone; the bank's pair encoder is not stored again.
    backbone: encoder of the documents, and of the phrases where there are two `towers`.
    length: tokens of a document that are read.
    counting: what decides how many keyphrases a document gets: "threshold" is SimCKP's own rule.

    Raises:
        ConfigError: documents are to be skipped, but `draw_seed` does not say in which order.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    validation: Source
    loop: LoopConfig
    name: str = "reranker"
    data: Path = Path("data")
    output: Path = Path("runs/reranker")
    cache: Path = Path("runs/cache")
    skip: Count = 0
    pool: Positive = 1_000_000
    draw_seed: Count | None = None
    bank: Path | None = None
    generator: Path | None = None
    search: SearchConfig = field(default_factory=SearchConfig)
    retrieved: Positive = 50
    share_encoder: bool = False
    freeze_encoder: bool = False
    backbone: str = "all-MiniLM-L6-v2"
    towers: Literal[1, 2] = 1
    dual: DualEncoderConfig = field(default_factory=DualEncoderConfig)
    model: RerankerConfig = field(default_factory=RerankerConfig)
    length: Positive = 128
    learning_rate: Rate = 3e-5
    head_learning_rate: Rate = 3e-5
    weight_decay: Share = 0.01
    freeze_embeddings: bool = False
    dropout: Share | Literal["pretrained"] = "pretrained"
    attention: str = "eager"
    counting: Counting = "expected F1"
    device: str = "auto"
    storage: Storage = "fp16"

    def __post_init__(self) -> None:
        if self.skip and self.draw_seed is None:
            raise ConfigError(
                f"The {self.skip} documents to `skip` are the first that the bank and the generator drew: "
                "set `draw_seed` to their `loop.seed`."
            )

    @property
    def drawn_with(self) -> int:
        """The seed that the training documents are drawn with."""
        return self.loop.seed if self.draw_seed is None else self.draw_seed


@dataclass(frozen=True)
class TrainedReranker:
    """The result of a run, ready to be stored."""

    module: RerankerModel
    tokenizer: Any
    length: int
    selection: Selection
    progress: Progress
    documents: int
    validation: Metrics
    shared: str | None = None
    """The hash of the bank's encoder where the reranker ranks with that, unchanged."""


def train_reranker(config: RerankerTraining, *, device: torch.device) -> TrainedReranker:
    """Train or resume as the configuration says; the best weights by validation F1@M.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    torch.manual_seed(config.loop.seed)  # before the heads are made
    retriever = load_bank(config.bank, device=device.type) if config.bank else None
    proposer = _proposer(config, retriever, device)
    dual, tokenizer, length = _dual_encoder(config)
    drawn = draw_documents(config.train, config.data, config.skip + config.pool, config.drawn_with)
    drawn = drawn[config.skip :]
    validated = validation_documents(config.validation, config.data)
    identity = str((_sources(config), config.search, config.retrieved))
    once = proposed_documents([one for one, _ in drawn], proposer, config.cache, identity=identity)
    trained_on = [replace(item, repeat=repeat) for item, (_, repeat) in zip(once, drawn, strict=True)]
    validation = proposed_documents(validated, proposer, config.cache, identity=identity)
    module = RerankerModel(dual, config.model)
    bank = retriever.bank if retriever else None
    reader = CandidateReader(tokenizer.backend_tokenizer, tokenizer.pad_token_id, length, bank)
    judged = RerankerValidation(validation, reader, config.counting)
    part = RerankerPart(module, trained_on, reader, judged, config)
    logger.info("%d training documents, %d validation documents", len(part), len(validation))
    progress = train(part, config.loop, config.output, device, identity=reranker_identity(config))
    selection, metrics = judged.select(module)
    shared = retriever.bank.encoder if retriever and config.share_encoder and config.freeze_encoder else None
    return TrainedReranker(module, tokenizer, length, selection, progress, len(part), metrics, shared)


def _proposer(config: RerankerTraining, retriever: TermRetriever | None, device: torch.device) -> Proposer:
    if config.generator is None and retriever is None:
        raise ConfigError("The reranker needs candidates: set `bank`, `generator` or both in [reranker].")
    generator = load_generator(config.generator, device=device.type)[1] if config.generator else None
    return Proposer(retriever, generator, config.search, config.retrieved)


def _dual_encoder(config: RerankerTraining) -> tuple[DualEncoder, Any, int]:
    """The encoder to train, its tokenizer, and the tokens of a document it reads."""
    if not config.share_encoder:
        dual, tokenizer = _own_dual_encoder(config)
        length = config.length
    elif config.bank is None:
        raise ConfigError("`share_encoder` needs a `bank` in [reranker]: name its folder, or leave it out.")
    else:
        dual, length = load_trainable_dual(config.bank, attention=config.attention)
        tokenizer = load_tokenizer(str(config.bank))
    for tower in (dual.encoder, dual.phrase_encoder):
        if tower is not None:
            set_dropout(tower, config.dropout)
            if config.freeze_embeddings:
                freeze_embeddings(tower)
    if config.freeze_encoder:
        dual.requires_grad_(False)
    return dual, tokenizer, length


def _own_dual_encoder(config: RerankerTraining) -> tuple[DualEncoder, Any]:
    encoder, tokenizer = load_backbone(config.backbone, attention=config.attention)
    phrases = load_backbone(config.backbone, attention=config.attention)[0] if config.towers == 2 else None
    check_reading(encoder, config.length, "length")
    return DualEncoder(encoder, config.dual, phrases=phrases), tokenizer


def _sources(config: RerankerTraining) -> dict[str, str]:
    """What proposes the candidates: by content, for a part that is trained again keeps its folder."""
    folders = {"bank": config.bank, "generator": config.generator}
    return {name: content_hash(folder) for name, folder in folders.items() if folder}


def reranker_identity(config: RerankerTraining) -> str:
    """The `run_identity` of a reranker; data, bank and generator count by their content.

    Raises:
        ConfigError: a file of data is missing.
        ModelLoadError: bank or generator is missing or damaged.
    """
    free = ["counting"]
    if config.drawn_with == config.loop.seed:  # as in runs from before there was such a setting
        free.append("draw_seed")
    data = source_hashes([*config.train, config.validation], config.data)
    content = {"bank": None, "generator": None, "sources": data} | _sources(config)
    return run_identity(asdict(config), *free, **content)
