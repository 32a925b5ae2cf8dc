"""Training of the phrase bank: its terms, the pair encoder, the terms' vectors, word profiles, its score.

Letters (profiles): B documents, N terms, W words.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix, diags, vstack
from torch import Tensor, nn

from kpdemo.errors import ConfigError
from kpdemo.identity import CARD
from kpdemo.io.files import replacing
from kpdemo.simckp.batches import Tower, encode_rows
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, project_to_unit
from kpdemo.simckp.encoder import check_reading, load_backbone
from kpdemo.simckp.examples import phrase_tokens
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.pair_checkpoint import TermRetriever, load_bank, state_hash, stored_state
from kpdemo.simckp.phrase_bank import PhraseBank, TermRanker, VectorStorage, WordProfiles
from kpdemo.simckp.storage import Storage
from kpdemo.simckp.terms import FUNCTION_WORDS, TermIndex
from kpdemo.text import stem
from kpdemo.training.data import (
    Positive,
    Rate,
    Share,
    Source,
    cache_errors,
    cache_name,
    read_source,
    refuse_repeats,
    source_hashes,
    validation_documents,
)
from kpdemo.training.fine_tuning import freeze_embeddings, set_dropout
from kpdemo.training.loop import LoopConfig, Metrics, Progress, run_identity, train, uses_bf16
from kpdemo.training.pair_encoder import (
    BankModel,
    BankValidation,
    PairObjective,
    PairPart,
    Rates,
    RefinementPart,
)
from kpdemo.training.processes import ALONE, join_processes
from kpdemo.training.term_ranker import RankerTraining
from kpdemo.training.terms import (
    DocumentWords,
    PairCache,
    TermCollection,
    cached_pairs,
    cached_terms,
    cached_words,
)

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
    with join_processes().first_alone():
        found = cached_terms(
            config.terms, config.data, config.cache, minimum=config.minimum, together=config.together
        )
    index = TermIndex([term.key for term in found.terms], [term.text for term in found.terms])
    validation = BankValidation(
        validation_documents([config.validation], config.data),
        index,
        tokenizer.backend_tokenizer,
        padding=tokenizer.pad_token_id,
        length=config.length,
    )
    run = _BankRun(config, found, index, validation, tokenizer, device)
    with join_processes().first_alone():
        pairs = run.pairs(config.train, config.pool)
        module = run.begin(encoder)
    logger.info("%d terms, %d training documents", len(found.terms), len(pairs))
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
            vectors = project_to_unit(dual.phrase_projection, pooled)
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
        train(part, refinement.loop, folder, self.device, identity=identity, processes=ALONE)

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


TOGETHER = 4096
"""Terms whose documents are added up at once: all of them would take gigabytes."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProfilesTraining:
    """Attributes:
    bank: the checkpoint of a phrase bank, whose encoder and terms stay as they are.
    train: documents whose words make the profiles.
    validation: chooses the weights of the score, and how many keyphrases to give.
    words: of a profile, times the square root of its documents: what few documents say is soon said.
    most: words of a profile.
    shared: documents of a term that have a word before it is in the term's profile.
    least: documents of all that have a word before it counts.
    common: a word that a larger share of all documents has does not count.
    ranker: a network that puts the best terms of each document in order, and the floor below which none is
        given; without it the score does, and there is no floor.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    bank: Path
    train: tuple[Source, ...]
    validation: Source
    words: Positive = 3
    most: Positive = 40
    shared: Positive = 2
    least: Positive = 8
    common: Share = 0.3
    ranker: RankerTraining | None = None
    name: str = "bank"
    data: Path = Path("data")
    output: Path = Path("runs/profiles")
    cache: Path = Path("runs/cache")
    device: str = "auto"


@dataclass(frozen=True)
class ProfiledBank:
    """The result of a run.

    Attributes:
        floor: see `TermRetriever`.
        before, profiled, validation: the figures of the bank as it was, with profiles, and as it is.
        card: of the bank as it was.
    """

    bank: PhraseBank
    selection: Selection
    floor: float
    documents: int
    before: Metrics
    profiled: Metrics
    validation: Metrics
    card: str


def train_profiles(config: ProfilesTraining, *, device: torch.device) -> ProfiledBank:
    """Count the profiles, then choose the score's weights and the selection again.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence.
    """
    refuse_repeats(config.train, "Word profiles count")
    retriever = load_bank(config.bank, device=device.type)
    encoder, bank = retriever.encoder, retriever.bank
    validation = BankValidation(
        validation_documents([config.validation], config.data),
        bank.terms,
        encoder.tokenizer,
        padding=encoder.padding,
        length=encoder.length,
    )
    read = cached_words(config.train, config.data, bank.terms, config.cache, least=config.least)
    logger.info("%d terms, %d documents, %d words", len(bank), len(read.gold.indptr) - 1, len(read.words))
    profiles = learn_profiles(read, config)
    if not profiles.words:
        raise ConfigError(
            "No term has a word in its profile: give more documents, "
            f"a smaller `shared` than {config.shared} or a larger `common` than {config.common:g}."
        )
    vectors = validation.vectors(encoder.module)
    before = validation.score_figures(bank, vectors)
    profiled = replace(bank, profiles=profiles)
    score, with_profiles = validation.choose_score(profiled, vectors)
    ranked = replace(profiled, score=score)
    if config.ranker is not None:
        fitted = _ranker(config, config.ranker, replace(retriever, bank=ranked))
        ranked = replace(ranked, ranker=validation.weigh_score(ranked, vectors, fitted))
    metrics = validation.score_figures(ranked, vectors)
    selection, floor = validation.select(ranked, vectors), 0.0
    if config.ranker is not None:
        floor = validation.floor(ranked, vectors, selection.calibration, config.ranker.precision)
    card = (config.bank / CARD).read_text(encoding="utf-8")
    documents = read.gold.shape[0]
    return ProfiledBank(ranked, selection, floor, documents, before, with_profiles, metrics, card)


def _ranker(config: ProfilesTraining, ranker: RankerTraining, retriever: TermRetriever) -> TermRanker:
    """Of a bank whose score is chosen."""
    encoder, bank = retriever.encoder, retriever.bank
    documents = [document for source in ranker.train for document in read_source(source, config.data)]
    logger.info("%d documents for the ranker", len(documents))
    if not documents:
        raise ConfigError("The ranker has no document with a keyphrase: give more, or a smaller `skip`.")
    read = BankValidation(
        documents, bank.terms, encoder.tokenizer, padding=encoder.padding, length=encoder.length
    )
    return read.train_ranker(bank, read.vectors(encoder.module), ranker)


def learn_profiles(read: DocumentWords, config: ProfilesTraining) -> WordProfiles:
    """The mean TF-IDF vector of each term's documents, cut to its strongest words.

    A document's vector has the inverse document frequency of each of its words, and length 1. Function words
    are left out.
    """
    documents = read.documents.shape[0]
    holding = np.asarray(read.documents.sum(axis=0)).ravel()
    rarity = (np.log((1 + documents) / (1 + holding)) + 1).astype(np.float32)
    grammar = {stem(word) for word in FUNCTION_WORDS}
    telling = (holding <= config.common * documents) & [word not in grammar for word in read.words]
    vectors = _normalise_rows(read.documents @ diags(np.where(telling, rarity, 0).astype(np.float32)))
    by_term = read.gold.T.tocsr()
    room = np.minimum(config.words * np.sqrt(np.diff(by_term.indptr)), config.most).astype(np.int64)
    blocks = []
    for first in range(0, by_term.shape[0], TOGETHER):
        own = by_term[first : first + TOGETHER]
        shared = (own @ read.documents) >= config.shared
        blocks.append(strongest((own @ vectors).multiply(shared).tocsr(), room[first : first + TOGETHER]))
    return _by_word(vstack(blocks).tocsc(), read.words, rarity)


def strongest(rows: csr_matrix, counts: Sequence[int] | NDArray[np.int64]) -> csr_matrix:
    """Each row cut to its so many largest values above 0; of equal ones the first in the row."""
    rows = rows.copy()
    rows.sort_indices()
    for first, end, count in zip(rows.indptr, rows.indptr[1:], counts, strict=False):
        own = rows.data[first:end]
        own[np.argsort(-own, kind="stable")[count:]] = 0
    rows.eliminate_zeros()
    return rows


def _normalise_rows(rows: csr_matrix) -> csr_matrix:
    """Each row of length 1, or of zeros."""
    rows = csr_matrix(rows)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return csr_matrix(diags((1 / np.maximum(lengths, 1e-30)).astype(np.float32)) @ rows)


def _by_word(profiles: csc_matrix, words: tuple[str, ...], rarity: NDArray[np.float32]) -> WordProfiles:
    """From sums (N, W), with the words that a profile has, in the order of the alphabet."""
    holding = np.diff(profiles.indptr)
    order = sorted(np.flatnonzero(holding), key=words.__getitem__)
    ordered = profiles[:, order].tocsc()
    ordered.sort_indices()
    return WordProfiles.build(
        tuple(words[number] for number in order),
        rarity[order],
        holding[order].astype(np.int32),
        ordered.indices.astype(np.int32),
        ordered.data.astype(np.float32),
        profiles.shape[0],
    )
