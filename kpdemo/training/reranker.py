"""Training of the reranker (SimCKP, section 4.3) on candidates that generator and bank propose."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm

from kpdemo.errors import ConfigError, TrainingError
from kpdemo.evaluation.protocol import evaluate
from kpdemo.io.files import lock_file, parse_json
from kpdemo.selection import best_first
from kpdemo.simckp.batches import pad_rows
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.calibration import Counting, refuse_without_gold
from kpdemo.simckp.checkpoint import content_hash
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig
from kpdemo.simckp.encoder import check_reading, load_backbone, load_tokenizer
from kpdemo.simckp.examples import document_tokens, phrase_tokens
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.generator import load_generator
from kpdemo.simckp.losses import contrastive_loss
from kpdemo.simckp.pair_checkpoint import TermRetriever, load_bank, load_trainable_dual
from kpdemo.simckp.phrase_bank import PhraseBank
from kpdemo.simckp.predictor import Proposer
from kpdemo.simckp.reranker import (
    AbsentCandidate,
    CandidateBatch,
    RerankerConfig,
    RerankerModel,
    candidate_features,
)
from kpdemo.simckp.storage import Storage
from kpdemo.simckp.terms import term_key
from kpdemo.text import PhraseKinds
from kpdemo.training.data import (
    Count,
    Positive,
    Rate,
    Share,
    Source,
    cache_errors,
    cache_name,
    draw_documents,
    source_hashes,
    validation_documents,
)
from kpdemo.training.examples import trained_parameters, validation_metrics
from kpdemo.training.fine_tuning import freeze_embeddings, set_dropout
from kpdemo.training.loop import LoopConfig, Metrics, Progress, run_identity, train
from kpdemo.training.processes import join_processes
from kpdemo.training.terms import bare
from kpdemo.training.validation import learn_selection
from kpdemo.types import Document, Keyphrase, Prediction

CANDIDATES_VERSION = 4


@dataclass(frozen=True)
class ProposedDocument:
    """Attributes:
    positive: (P,) bool, which of the candidates are gold.
    repeat: how often the document occurs in one epoch.
    """

    document: Document
    candidates: Sequence[AbsentCandidate]
    positive: NDArray[np.bool_]
    repeat: int = 1


def proposed_documents(
    documents: Sequence[Document], proposer: Proposer, cache: Path, *, identity: str
) -> list[ProposedDocument]:
    """The candidates of each document; an interrupted search resumes where it stopped.

    Args:
        identity: all that decides what is proposed, except the documents.

    Raises:
        TrainingError: another training searches for the same, or what is in the cache cannot be read.
    """
    texts = hashlib.sha256("\x00".join(document.text for document in documents).encode()).hexdigest()
    path = cache / f"candidates-{cache_name([CANDIDATES_VERSION, identity, texts])}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    busy = TrainingError(
        f"Another training run is writing {path}, candidates that this one needs too: start when it has "
        "them, or give another `cache`."
    )
    with (
        path.open("a+b", buffering=0) as file,
        lock_file(file, busy),
    ):  # each line is there before the lock goes
        known = _read(file, path, most=len(documents))
        waiting = documents[len(known) :]
        bar = tqdm(total=len(documents), initial=len(known), desc="candidates", unit="doc")
        for candidates in proposer.propose(waiting):
            file.write(f"{json.dumps([astuple(candidate) for candidate in candidates])}\n".encode())
            known.append(candidates)
            bar.update()
    return [
        ProposedDocument(document, candidates, gold_absent(document, candidates))
        for document, candidates in zip(documents, known, strict=True)
    ]


def gold_absent(document: Document, candidates: Sequence[AbsentCandidate]) -> NDArray[np.bool_]:
    """(P,) true where a candidate is one of the document's keyphrases."""
    gold = {term_key(bare(keyphrase)) for keyphrase in document.keyphrases}
    return np.array([term_key(candidate.text) in gold for candidate in candidates], dtype=bool)


def _read(file: BinaryIO, path: Path, *, most: int) -> list[list[AbsentCandidate]]:
    """What earlier runs wrote; a last line that a crash cut off is removed."""
    file.seek(0)
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    file.truncate(len(whole))
    with cache_errors(path):
        lines = whole.splitlines()
        if len(lines) > most:
            raise ValueError(f"{len(lines)} lines for {most} documents")
        return [
            [
                AbsentCandidate(text, generated, retrieved, tuple(evidence), reason)
                for text, generated, retrieved, evidence, reason in parse_json(line)
            ]
            for line in lines
        ]


@dataclass(frozen=True)
class CandidateReader:
    """Documents and their candidates as tensors.

    Attributes:
        padding: the pad token id.
        length: tokens of a document that are read.
        bank: knows how frequent a candidate is; None without one.
    """

    tokenizer: Tokenizer
    padding: int
    length: int
    bank: PhraseBank | None

    def tokens(self, document: Document) -> list[int]:
        return document_tokens(document, self.tokenizer, self.length)

    def batch(self, items: Sequence[ProposedDocument]) -> CandidateBatch:
        input_ids, mask = pad_rows([self.tokens(item.document) for item in items], self.padding)
        texts = [candidate.text for item in items for candidate in item.candidates]
        phrase_ids, phrase_mask = pad_rows(
            [phrase_tokens(text, self.tokenizer) for text in texts], self.padding
        )
        counts = torch.tensor([len(item.candidates) for item in items])
        return CandidateBatch(
            input_ids=input_ids,
            attention_mask=mask,
            phrase_ids=phrase_ids,
            phrase_mask=phrase_mask,
            document=torch.repeat_interleave(torch.arange(len(items)), counts),
            features=torch.from_numpy(np.concatenate([self.features(item) for item in items])),
            positive=torch.from_numpy(np.concatenate([item.positive for item in items])),
        )

    def features(self, item: ProposedDocument) -> NDArray[np.float32]:
        """(P, F) of the document's candidates."""
        kind_of = PhraseKinds(item.document)
        kinds = [kind_of(candidate.text) for candidate in item.candidates]
        return candidate_features(item.candidates, kinds, self.bank)


class RerankerPart:
    """The reranker as the training loop sees it."""

    selected = "F1@M"

    def __init__(
        self,
        module: RerankerModel,
        documents: Sequence[ProposedDocument],
        reader: CandidateReader,
        validation: RerankerValidation,
        config: RerankerTraining,
    ) -> None:
        """Documents without a gold or without a wrong candidate teach nothing and are left out.

        Raises:
            ConfigError: no document is left.
        """
        self.module = module
        self._reader, self._validation, self._config = reader, validation, config
        self._documents = [item for item in documents if item.positive.any() and not item.positive.all()]
        if not self._documents:
            named = ", ".join(f"`{name}`" for name in ("bank", "generator") if getattr(config, name))
            raise ConfigError(
                f"No training document has a gold candidate beside wrong ones: check the sources and {named}."
            )
        self.lengths = [len(reader.tokens(item.document)) for item in self._documents]
        self.repeats = [item.repeat for item in self._documents]

    def __len__(self) -> int:
        return len(self._documents)

    def parameter_groups(self) -> list[dict[str, Any]]:
        dual = self.module.dual
        towers = [tower for tower in (dual.encoder, dual.phrase_encoder) if tower is not None]
        pretrained = [weight for tower in towers for weight in tower.parameters()]
        return trained_parameters(self.module, pretrained, self._config)

    def __getitem__(self, number: int) -> ProposedDocument:
        return self._documents[number]

    def collate(self, items: Sequence[ProposedDocument]) -> CandidateBatch:
        return self._reader.batch(items)

    def loss(self, batch: CandidateBatch) -> Tensor:
        """Equation 3 over the candidates of each document."""
        return contrastive_loss(
            self.module(batch),
            batch.positive,
            batch.document,
            documents=len(batch.input_ids),
            temperature=self.module.dual.config.temperature,
        )

    def evaluate(self) -> Metrics:
        return self._validation.select(self.module)[1]


class RerankerValidation:
    """Documents with gold and their candidates, proposed once and ranked often."""

    def __init__(
        self, documents: Sequence[ProposedDocument], reader: CandidateReader, counting: Counting
    ) -> None:
        """Raises:
        TrainingError: no document has a gold keyphrase among its candidates.
        """
        refuse_without_gold(item.positive for item in documents)
        self._documents, self._reader, self._counting = documents, reader, counting

    def select(self, module: RerankerModel) -> tuple[Selection, Metrics]:
        """What turns scores into answers for the present weights, and the figures that gives."""
        scores, minimum = self._scores(module), module.config.minimum
        pairs = [(own, item.positive) for own, item in zip(scores, self._documents, strict=True)]
        selection = learn_selection(pairs, self._counting, minimum)
        predictions = [
            _prediction(item, own.tolist(), selection.count(own.tolist(), minimum))
            for own, item in zip(scores, self._documents, strict=True)
        ]
        figures = evaluate([item.document for item in self._documents], predictions).absent.skip_empty
        return selection, validation_metrics(figures, "R@50")

    @torch.no_grad()
    def _scores(self, module: RerankerModel) -> list[NDArray[np.float32]]:
        """(P,) for each document; empty where there is no candidate."""
        device = module.dual.document_projection.weight.device
        scores = []
        for item in self._documents:
            if len(item.candidates):
                scores.append(module(self._reader.batch([item]).to(device)).float().cpu().numpy())
            else:
                scores.append(np.zeros(0, dtype=np.float32))
        return scores


def _prediction(item: ProposedDocument, scores: Sequence[float], own: int) -> Prediction:
    ranked = [item.candidates[number].text for number in best_first(scores)]
    keyphrases = tuple(Keyphrase(text, 0.0) for text in ranked[:own])
    return Prediction((), keyphrases, absent_candidates=tuple(ranked))


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
    validated = validation_documents([config.validation], config.data)
    identity = str((_sources(config), config.search, config.retrieved))
    with join_processes().first_alone():
        once = proposed_documents([one for one, _ in drawn], proposer, config.cache, identity=identity)
        validation = proposed_documents(validated, proposer, config.cache, identity=identity)
    trained_on = [replace(item, repeat=repeat) for item, (_, repeat) in zip(once, drawn, strict=True)]
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
