"""Training of the phrase bank: its terms, the pair encoder, the vectors of the terms, and its score."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from kpdemo.errors import ConfigError
from kpdemo.simckp.backbone import check_reading, load_backbone
from kpdemo.simckp.bank import PhraseBank, VectorStorage
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, projected
from kpdemo.simckp.pair_checkpoint import state_hash, stored_state
from kpdemo.simckp.predictor import Selection
from kpdemo.simckp.quantized import Storage
from kpdemo.simckp.reading import Tower, encode_rows
from kpdemo.simckp.terms import TermIndex
from kpdemo.simckp.tokens import phrase_tokens
from kpdemo.storage import replacing
from kpdemo.training.arrays import cache_errors, cache_name
from kpdemo.training.bank_model import BankModel
from kpdemo.training.bank_validation import BankValidation
from kpdemo.training.bounds import Positive, Rate, Share
from kpdemo.training.freezing import freeze_embeddings, set_dropout
from kpdemo.training.loop import train
from kpdemo.training.loop_config import LoopConfig, uses_bf16
from kpdemo.training.pair_encoder import PairObjective, PairPart, Rates
from kpdemo.training.pairs import PairCache, cached_pairs
from kpdemo.training.part import Metrics
from kpdemo.training.progress import Progress
from kpdemo.training.refinement import RefinementPart
from kpdemo.training.run_identity import run_identity
from kpdemo.training.sources import Source, source_hashes, validation_documents
from kpdemo.training.terms import TermCollection, cached_terms

ENCODED_TOGETHER = 64

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refinement:
    """The training of the terms alone, with the encoder frozen.

    Attributes:
        train: documents that the terms learn from; more fields than the encoder's suit a bank that is to
            serve them.
        pool: documents drawn from `train`; the reranker may learn from the others.
        rate: peak learning rate.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    loop: LoopConfig
    pool: Positive = 1_000_000
    rate: Rate = 1e-3


@dataclass(frozen=True)
class BankTraining:
    """Attributes:
    terms: where the terms come from; documents without a text count too. `repeat` weighs a source in how
        frequent its terms are, and so in how readily they are given.
    train: documents the encoder learns from.
    validation: chooses the weights of the network and of the score.
    minimum: documents that use a term as a keyphrase before it enters the bank.
    together: documents that use two terms before the bank knows them as a pair.
    pool: documents drawn from `train`.
    length: tokens of a document that are read.
    refinement: of the terms, after the encoder; without it they stay as they are.
    freeze_embeddings: leave the word embeddings as they were pretrained.
    dropout: everywhere in the encoder; 0 suits a run that sees each document about once.
    attention: the attention implementation, by Transformers' name; "eager" trains fastest on a CPU.
    storage: of the encoder's weights in the folder, "fp16" or "int8".
    vectors: how those of the terms are stored, "int8" or "int4"; twice the `model.width` in four bits takes
        the same room.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    terms: tuple[Source, ...]
    train: tuple[Source, ...]
    validation: Source
    loop: LoopConfig
    refinement: Refinement | None = None
    name: str = "bank"
    data: Path = Path("data")
    output: Path = Path("runs/bank")
    cache: Path = Path("runs/cache")
    backbone: str = "all-MiniLM-L6-v2"
    model: DualEncoderConfig = field(default_factory=DualEncoderConfig)
    objective: PairObjective = field(default_factory=PairObjective)
    rates: Rates = field(default_factory=Rates)
    minimum: Positive = 3
    together: Positive = 2
    pool: Positive = 1_000_000
    length: Positive = 128
    freeze_embeddings: bool = True
    dropout: Share = 0.0
    attention: str = "eager"
    device: str = "auto"
    storage: Storage = "fp16"
    vectors: VectorStorage = "int8"


@dataclass(frozen=True)
class TrainedBank:
    """The result of a run, ready to be stored."""

    module: DualEncoder
    tokenizer: Any
    bank: PhraseBank
    selection: Selection
    progress: Progress
    documents: int
    validation: Metrics


def train_bank(config: BankTraining, *, device: torch.device) -> TrainedBank:
    """Train or resume as the configuration says; the best weights by validation R@50.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    torch.manual_seed(config.loop.seed)
    encoder, tokenizer = load_backbone(config.backbone, attention=config.attention)
    check_reading(encoder, config.length, "length")
    _check_width(encoder, config)
    set_dropout(encoder, config.dropout)
    found = cached_terms(
        config.terms, config.data, config.cache, minimum=config.minimum, together=config.together
    )
    index = TermIndex([term.key for term in found.terms])
    validation = BankValidation(
        validation_documents(config.validation, config.data),
        index,
        tokenizer.backend_tokenizer,
        padding=tokenizer.pad_token_id,
        length=config.length,
    )
    run = _BankRun(config, found, index, validation, tokenizer, device)
    pairs = run.pairs(config.train, config.pool)
    logger.info("%d terms, %d training documents", len(found.terms), len(pairs))
    module = run.begin(encoder)
    progress = run.train_encoder(module, pairs)
    run.train_terms(module, progress.precision)
    vectors = validation.vectors(module.dual)
    bank, metrics = run.build(module, vectors)
    selection = validation.select(bank, vectors)
    return TrainedBank(module.dual, tokenizer, bank, selection, progress, len(pairs), metrics)


def _check_width(encoder: Any, config: BankTraining) -> None:
    """Raises:
    ConfigError: the vectors are to be wider than the encoder's own, whose first directions they begin with,
        or of an odd width in four bits a number.
    """
    width, hidden = config.model.width, int(encoder.config.hidden_size)
    if config.vectors == "int4" and (width or hidden) % 2:
        raise ConfigError(
            f'Two numbers of four bits share a byte: with `vectors` "int4" make `model.width`, which is '
            f"{width or hidden}, even."
        )
    if width > hidden:
        raise ConfigError(
            f"The encoder gives {hidden} numbers a vector: lower `model.width`, which is {width}."
        )


@dataclass(frozen=True)
class _BankRun:
    config: BankTraining
    found: TermCollection
    index: TermIndex
    validation: BankValidation
    tokenizer: Any
    device: torch.device

    @cached_property
    def phrases(self) -> list[list[int]]:
        """Token ids of each term."""
        return [phrase_tokens(term.text, self.tokenizer.backend_tokenizer) for term in self.found.terms]

    def pairs(self, sources: Sequence[Source], pool: int) -> PairCache:
        config = self.config
        return cached_pairs(
            sources, config.data, self.index, self.tokenizer.backend_tokenizer, config.cache,
            length=config.length, documents=pool, seed=config.loop.seed,
        )  # fmt: skip

    def begin(self, encoder: nn.Module) -> BankModel:
        """A dual encoder that begins with the cosines of its backbone, and with the terms where it puts them.

        Both projections are the principal directions of the terms, so that a narrow vector keeps what
        distinguishes them.
        """
        dual = DualEncoder(encoder, self.config.model).to(self.device).eval()
        with torch.no_grad():
            pooled = self._pooled_terms(dual)
            directions = torch.linalg.eigh((pooled.T @ pooled).double()).eigenvectors.flip(1).T.float()
            for projection in (dual.document_projection, dual.phrase_projection):
                projection.weight.copy_(directions[: len(projection.weight)])
                projection.bias.zero_()
            vectors = projected(dual.phrase_projection, pooled)
        counts = torch.tensor([term.frequency for term in self.found.terms], dtype=torch.float)
        return BankModel(dual, vectors, torch.log1p(counts))

    def _pooled_terms(self, dual: DualEncoder) -> Tensor:
        """(N, H) what the untrained backbone makes of each term, from the cache when it is there."""
        config = self.config
        # A resumed run has its own terms, in any precision.
        precision = "bf16" if uses_bf16(config.loop.precision, self.device) else "fp32"
        weights = state_hash({name: value.cpu() for name, value in dual.encoder.state_dict().items()})
        name = cache_name([weights, precision, dual.config.pooling, self.phrases])
        path = config.cache / f"phrases-{name}.npy"
        if not path.is_file():
            vectors = self._encode(dual.pooled_phrases, self.phrases, precision).half().numpy()
            with replacing(path) as partial, partial.open("wb") as stream:
                np.save(stream, vectors)
        with cache_errors(path):
            return torch.from_numpy(np.load(path, allow_pickle=False)).to(self.device, torch.float32)

    def train_encoder(self, module: BankModel, pairs: PairCache) -> Progress:
        """Documents, phrases and terms together."""
        config = self.config
        if config.freeze_embeddings:
            freeze_embeddings(module.dual.encoder)
        part = PairPart(
            module, pairs, self.phrases, self.validation,
            objective=config.objective, rates=config.rates, padding=self.tokenizer.pad_token_id,
        )  # fmt: skip
        return train(part, config.loop, config.output, self.device, identity=bank_identity(config))

    def train_terms(self, module: BankModel, precision: str) -> None:
        """The terms alone, with the encoder frozen, in the precision that it was trained in."""
        config, refinement = self.config, self.config.refinement
        module.eval().requires_grad_(False)
        if refinement is None:
            return
        pairs = self.pairs(refinement.train, refinement.pool)
        part = RefinementPart(
            module, pairs, self._documents(module.dual, pairs, precision), self.validation,
            present_weight=config.objective.present_weight, rate=refinement.rate, unseen=config.rates.unseen,
        )  # fmt: skip
        sources = source_hashes(refinement.train, config.data)
        identity = run_identity(asdict(refinement), encoder=bank_identity(config), sources=sources)
        # Named after the weights: an encoder that was trained further must not resume with old terms.
        folder = config.output / "terms" / state_hash(stored_state(module.dual, "fp16"))[:12]
        train(part, refinement.loop, folder, self.device, identity=identity)

    def _documents(self, dual: DualEncoder, pairs: PairCache, precision: str) -> Tensor:
        """(len(pairs), D) the documents by the trained encoder."""
        rows = [pairs[number].tokens.tolist() for number in range(len(pairs))]
        return self._encode(dual.documents, rows, precision)

    @torch.no_grad()
    def _encode(self, tower: Tower, rows: Sequence[Sequence[int]], precision: str) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=precision == "bf16"):
            return encode_rows(
                tower, rows, padding=self.tokenizer.pad_token_id, device=self.device, size=ENCODED_TOGETHER
            )

    def build(self, module: BankModel, vectors: Tensor) -> tuple[PhraseBank, Metrics]:
        """The bank with the score that suits the validation documents (B, D), and its figures there."""
        bank = PhraseBank.build(
            [term.text for term in self.found.terms],
            module.log_frequency.cpu().numpy(),
            module.term_vectors().detach().cpu(),
            encoder=state_hash(stored_state(module.dual, self.config.storage)),
            associations=self.found.associations(),
            storage=self.config.vectors,
        )
        score, metrics = self.validation.choose_score(bank, vectors)
        return replace(bank, score=score), metrics


def bank_identity(config: BankTraining) -> str:
    """The `run_identity` of the encoder of a bank; data count by their content.

    Raises:
        ConfigError: a file of data is missing.
    """
    sources = source_hashes([*config.terms, *config.train, config.validation], config.data)
    return run_identity(asdict(config), refinement=None, sources=sources)
