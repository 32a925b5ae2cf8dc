"""Training of SimCKP's contrastive extractor."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from kpdemo.candidates.chunks import Candidate, mine_candidates, present_keyphrase
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import ConfigError
from kpdemo.evaluation.protocol import evaluate
from kpdemo.selection import keep
from kpdemo.simckp.backbone import check_reading, load_backbone
from kpdemo.simckp.checkpoint import load_weights
from kpdemo.simckp.counting import Counting, learn_expected_f1
from kpdemo.simckp.examples import Example, build_example
from kpdemo.simckp.folders import content_hash
from kpdemo.simckp.losses import binary_loss, contrastive_loss, in_batch_loss
from kpdemo.simckp.model import Batch, ContrastiveExtractor, ExtractorConfig, pool
from kpdemo.simckp.predictor import Second, Selection, score_examples
from kpdemo.simckp.quantized import Storage
from kpdemo.simckp.threshold import learn_calibration, learn_threshold
from kpdemo.training.batching import length_bucketed
from kpdemo.training.bounds import Positive, Rate, Share
from kpdemo.training.example_cache import ExampleCache, cached_examples
from kpdemo.training.interpolation import copied_weights, interpolate
from kpdemo.training.labelling import ExampleSettings, gold_candidates
from kpdemo.training.loop import LoopConfig, Metrics, Progress, train
from kpdemo.training.sources import Source, read_source, source_hashes
from kpdemo.types import Document, Prediction

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ExtractorTraining:
    """Attributes:
    data: the folder that the paths of the sources start from.
    pool: documents drawn from the sources.
    start: a checkpoint folder whose weights training begins with; the backbone's and fresh heads without.
    shares: after training, weights between those of `start` (0) and the trained ones (1) are tried, and those
        with the best validation F1@M are kept; none leaves the trained ones.
    validation: chooses the weights, the threshold and the calibration.
    learning_rate, head_learning_rate: of the encoder; of the projections and the prior.
    freeze_embeddings: leave the word embeddings as they were pretrained.
    top_layers: train so many layers of the encoder, counted from its end, and leave the others as they are;
        None for all.
    dropout: everywhere in the backbone, or "pretrained" for what its configuration says; 0 suits a run
        that sees each document about once.
    device: "auto", "cpu" or "cuda".
    attention: Transformers' name of the kernel; "eager" trains twice as fast as "sdpa" on a CPU.
    style: how the training documents were annotated; told in the model card.
    counting: what decides how many keyphrases a document gets: "threshold" is SimCKP's own rule.
    storage: of the weights in the checkpoint, "fp16" or "int8".
    objective: "binary" tells gold from the rest phrase by phrase, without comparing them (Table 4).
    negatives: what a gold keyphrase is told from: "hard" are the other candidates of its document, "random"
        random runs of its words, "in-batch" the other documents of the batch (Table 5).

    Raises:
        ConfigError: "in-batch" goes with another objective or head than the paper's, or there are shares
            without a start.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    validation: Source
    loop: LoopConfig
    name: str = "extractor"
    style: str = "author keywords"
    data: Path = Path("data")
    output: Path = Path("runs/extractor")
    cache: Path = Path("runs/cache")
    backbone: str = "all-MiniLM-L6-v2"
    start: Path | None = None
    shares: tuple[Share, ...] = ()
    pool: Positive = 1_000_000
    model: ExtractorConfig = field(default_factory=ExtractorConfig)
    learning_rate: Rate = 1e-4
    head_learning_rate: Rate = 5e-4
    weight_decay: Share = 0.01
    freeze_embeddings: bool = True
    top_layers: int | None = None
    dropout: Share | Literal["pretrained"] = 0.0
    attention: str = "eager"
    device: str = "auto"
    counting: Counting = "expected F1"
    storage: Storage = "fp16"
    objective: Literal["contrastive", "binary"] = "contrastive"
    negatives: Literal["hard", "random", "in-batch"] = "hard"

    def __post_init__(self) -> None:
        compared = self.objective == "contrastive" and self.model.head == "similarity"
        if self.negatives == "in-batch" and not compared:
            raise ConfigError(
                'negatives = "in-batch" compares vectors of documents: set objective = "contrastive" and '
                f'model.head = "similarity", not "{self.objective}" and "{self.model.head}".'
            )
        if self.shares and not self.start:
            raise ConfigError("shares mix the weights of `start` with the trained ones: name its folder.")


@dataclass(frozen=True)
class TrainedExtractor:
    """What a run leaves behind, ready to be stored."""

    module: ContrastiveExtractor
    tokenizer: Any
    selection: Selection
    progress: Progress
    documents: int
    validation: Metrics
    share: float = 1.0
    """Of the trained weights, the rest being the start's."""


def train_extractor(config: ExtractorTraining, *, device: torch.device) -> TrainedExtractor:
    """Train or resume as the configuration says; the best weights by validation F1@M.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    torch.manual_seed(config.loop.seed)  # before the heads are made
    encoder, tokenizer = load_backbone(config.backbone, attention=config.attention)
    check_reading(encoder, config.model.window, "model.window")
    set_dropout(encoder, config.dropout)
    examples = training_examples(config)
    module = ContrastiveExtractor(encoder, config.model)
    if config.start:
        load_weights(config.start, module)
    validation = ValidationSet(
        read_source(config.validation, config.data),
        tokenizer.backend_tokenizer,
        config.model,
        config.counting,
        padding=tokenizer.pad_token_id,
    )
    part = ExtractorPart(module, config, examples, validation, padding=tokenizer.pad_token_id)
    documents = int(examples.extractable.sum())
    logger.info("%d training examples, %d validation documents", documents, len(validation.documents))
    start = copied_weights(module) if config.shares else {}
    progress = train(part, config.loop, config.output, device, identity=run_identity(config))
    share = 1.0
    if config.shares:
        share = interpolate(module, start, config.shares, lambda: part.evaluate()[part.selected])
    selection, metrics = validation.select(module)
    return TrainedExtractor(module, tokenizer, selection, progress, documents, metrics, share)


def training_examples(config: ExtractorTraining) -> ExampleCache:
    """The cached examples of the configuration's sources, made first when they are missing."""
    settings = ExampleSettings(
        config.backbone,
        config.model.window,
        config.model.overlap,
        1,  # window of each document: a cached example has one
        config.model.candidates,
        random_negatives=config.negatives == "random",
    )
    return cached_examples(
        config.train, config.data, settings, config.cache, documents=config.pool, seed=config.loop.seed
    )


def chosen_weights(examples: ExampleCache, chosen: NDArray[np.bool_], need: str) -> NDArray[np.int32]:
    """How often each example stands in an epoch of those `chosen`, (N,) bool.

    Raises:
        ConfigError: there are none; the sentence says that no document has `need`.
    """
    if not chosen.any():
        raise ConfigError(f"No training document has {need}: check the sources.")
    return np.where(chosen, examples.weights, 0)


def trained_parameters(
    module: nn.Module, pretrained: Iterable[nn.Parameter], config: ExtractorTraining
) -> list[dict[str, Any]]:
    """All parameters that are not frozen: those of the backbone with its own learning rate, and the heads."""
    known = {id(parameter) for parameter in pretrained}
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups = [
        ([parameter for parameter in parameters if id(parameter) in known], config.learning_rate),
        ([parameter for parameter in parameters if id(parameter) not in known], config.head_learning_rate),
    ]
    return [
        {"params": group, "lr": rate, "weight_decay": config.weight_decay} for group, rate in groups if group
    ]


def set_dropout(model: Any, share: float | Literal["pretrained"]) -> None:
    """On a model that is built already: in its modules, and in what its attention reads at each call."""
    if share == "pretrained":
        return
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, share)
        if isinstance(getattr(module, "layerdrop", None), float):
            module.layerdrop = 0.0  # which leaves out whole layers


def freeze(encoder: Any, config: ExtractorTraining) -> None:
    """Leave as they are the word embeddings and the layers that the configuration does not train.

    Raises:
        ConfigError: the encoder has fewer layers than are to be trained.
    """
    if config.freeze_embeddings:
        encoder.get_input_embeddings().requires_grad_(False)
    if config.top_layers is not None:
        freeze_below(encoder, config.top_layers)


def freeze_below(encoder: nn.Module, layers: int) -> None:
    """Train only the last `layers` layers of an encoder of Transformers.

    Raises:
        ConfigError: it has fewer.
    """
    stacks = [module for module in encoder.modules() if isinstance(module, nn.ModuleList)]
    stack = max(stacks, key=len, default=nn.ModuleList())
    if not 0 <= layers <= len(stack):
        raise ConfigError(f"The encoder has {len(stack)} layers, of which {layers} cannot be trained.")
    encoder.requires_grad_(False)
    for layer in list(stack)[len(stack) - layers :]:
        layer.requires_grad_(True)


class ExamplePart:
    """What the training of extractor and generator have in common: batches of cached examples."""

    def __init__(
        self, config: ExtractorTraining, examples: ExampleCache, weights: NDArray[np.int32], padding: int
    ) -> None:
        """Args:
        weights: (N,) how often each example stands in an epoch.
        padding: the tokenizer's id for it.
        """
        self._config = config
        self._examples = examples
        self._weights = weights
        self._padding = padding

    def batches(self, epoch: int) -> list[list[int]]:
        loop = self._config.loop
        return length_bucketed(
            self._examples.lengths, self._weights, batch_size=loop.batch_size, seed=loop.seed, epoch=epoch
        )

    def __getitem__(self, index: int) -> int:
        return index  # a batch is cut from the cache in one go: a GPU waits for one put together by items

    def documents(self, numbers: Sequence[int]) -> Batch:
        """The examples of these numbers as the extractor reads them."""
        return self._examples.batch(numbers, padding=self._padding)


class ExtractorPart(ExamplePart):
    """The extractor as the training loop sees it."""

    selected = "F1@M"

    def __init__(
        self,
        module: ContrastiveExtractor,
        config: ExtractorTraining,
        examples: ExampleCache,
        validation: ValidationSet,
        *,
        padding: int,
    ) -> None:
        weights = chosen_weights(examples, examples.extractable, "a present keyphrase")
        super().__init__(config, examples, weights, padding)
        self.module = module
        self._validation = validation
        freeze(module.encoder, config)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return trained_parameters(self.module, self.module.encoder.parameters(), self._config)

    def collate(self, items: Sequence[int]) -> Batch:
        return self.documents(items)

    def loss(self, batch: Batch) -> Tensor:
        module, temperature = self.module, self.module.config.temperature
        if self._config.negatives == "in-batch":
            documents, phrases = module.represent(pool(module.encode, batch, len(batch.input_ids)))
            return in_batch_loss(
                documents, phrases, batch.positive, batch.phrase_document, temperature=temperature
            )
        if self._config.objective == "binary":
            return binary_loss(module(batch), batch.positive, temperature=temperature)
        return contrastive_loss(
            module(batch),
            batch.positive,
            batch.phrase_document,
            documents=batch.documents,
            temperature=temperature,
        )

    def evaluate(self) -> Metrics:
        return self._validation.select(self.module)[1]


class ValidationSet:
    """Documents with gold, read once and scored often."""

    def __init__(
        self,
        documents: Iterable[Document],
        tokenizer: Tokenizer,
        config: ExtractorConfig,
        counting: Counting = "expected F1",
        *,
        padding: int,
    ) -> None:
        """Args:
        padding: the tokenizer's id for it.
        """
        tagger = load_tagger()
        self.documents: list[Document] = list(documents)
        self._padding = padding
        self._minimum = config.minimum
        self._counting = counting
        self._candidates: list[list[Candidate]] = []
        self._examples: list[Example] = []
        self._positive: list[NDArray[np.bool_]] = []
        for document in self.documents:
            mined = mine_candidates(document, tagger, config.candidates)
            self._candidates.append(mined)
            self._examples.append(
                build_example(document, mined, tokenizer, window=config.window, overlap=config.overlap)
            )
            self._positive.append(gold_candidates(document, mined))

    def select(self, module: ContrastiveExtractor, second: Second | None = None) -> tuple[Selection, Metrics]:
        """The threshold, calibration and counting that fit the present weights, and their figures.

        Where the number of keyphrases is learnt, F1@M by the paper's one threshold is told too.
        """
        scores = score_examples(module, self._examples, padding=self._padding, second=second)
        pairs = list(zip(scores, self._positive, strict=True))
        threshold = learn_threshold(pairs)
        calibration = learn_calibration(np.concatenate(scores), np.concatenate(self._positive))
        by_threshold = Selection(threshold, calibration)
        figures = self._figures(scores, by_threshold)
        if self._counting == "threshold":
            return by_threshold, figures | {"threshold": threshold}
        counting = learn_expected_f1(pairs, calibration, minimum=self._minimum)
        selection = Selection(threshold, calibration, counting)
        papers = {"threshold": threshold, "F1@M by threshold": figures["F1@M"]}
        return selection, self._figures(scores, selection) | papers

    def _figures(self, scores: Sequence[NDArray[np.float32]], selection: Selection) -> Metrics:
        predictions = [self._predict(index, score, selection) for index, score in enumerate(scores)]
        figures = evaluate(self.documents, predictions).present.skip_empty
        metrics = {
            "F1@5": figures.f1_5,
            "F1@M": figures.f1_m,
            "P@M": figures.precision_m,
            "R@M": figures.recall_m,
        }
        return {name: value or 0.0 for name, value in metrics.items()}

    def _predict(self, index: int, scores: NDArray[np.float32], selection: Selection) -> Prediction:
        document, mined, values = self.documents[index], self._candidates[index], scores.tolist()
        own = selection.count(values, self._minimum)
        return Prediction(
            tuple(
                present_keyphrase(document, mined[number], values[number])
                for number in keep(values, top_k=None, threshold=None, own=own)
            )
        )


def run_identity(config: ExtractorTraining) -> str:
    """All of a configuration that decides the outcome besides the loop's own settings.

    Start and data count by their content: a checkpoint that is trained anew keeps its folder.

    Raises:
        ModelLoadError: the start is missing or damaged.
        ConfigError: a file of data is missing.
    """
    elsewhere = ("loop", "output", "cache", "data", "device", "counting", "storage", "shares")
    fixed = vars(config) | {
        "start": content_hash(config.start) if config.start else None,
        "sources": source_hashes([*config.train, config.validation], config.data),
    }
    return str(sorted((name, value) for name, value in fixed.items() if name not in elsewhere))
