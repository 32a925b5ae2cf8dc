"""Training of the sequence labeller, a baseline of SimCKP's ablation (Choi et al. 2023, Table 4)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.errors import ConfigError
from kpdemo.simckp.batches import Movable, pad_rows
from kpdemo.simckp.encoder import check_reading, load_backbone
from kpdemo.simckp.labeller import BEGIN, INSIDE, OUTSIDE, LabellerConfig, SequenceLabeller, as_predictor
from kpdemo.training.data import Positive, validation_documents
from kpdemo.training.examples import (
    ExampleCache,
    ExamplePart,
    LabelledExample,
    chosen_repeats,
    trained_parameters,
    training_examples,
)
from kpdemo.training.fine_tuning import ExtractorTraining, extractor_identity, freeze, set_dropout
from kpdemo.training.loop import Metrics, Progress, train
from kpdemo.training.validation import present_figures
from kpdemo.types import Document

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LabellerTraining(ExtractorTraining):
    """As `ExtractorTraining`, whose head and way of choosing mean nothing here, and:

    Attributes:
        lstm: width of each direction of the BiLSTM.
    """

    name: str = "labeller"
    output: Path = Path("runs/labeller")
    lstm: Positive = 128

    def __post_init__(self) -> None:
        if self.start or self.shares or (self.objective, self.negatives) != ("contrastive", "hard"):
            raise ConfigError(
                "A labeller has no start, shares, objective or negatives: leave those settings out."
            )


@dataclass(frozen=True)
class TrainedLabeller:
    """The result of a run, ready to be stored."""

    module: SequenceLabeller
    tokenizer: Any
    progress: Progress
    documents: int
    validation: Metrics


@dataclass(frozen=True)
class LabelBatch(Movable):
    """Token ids, their mask and their tags, (B, T) long each."""

    input_ids: Tensor
    attention_mask: Tensor
    tags: Tensor


def train_labeller(config: LabellerTraining, *, device: torch.device) -> TrainedLabeller:
    """Train or resume as the configuration says; the best weights by validation F1@M.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    torch.manual_seed(config.loop.seed)  # before the layers on the encoder are made
    encoder, tokenizer = load_backbone(config.backbone, attention=config.attention)
    check_reading(encoder, config.model.window, "model.window")
    set_dropout(encoder, config.dropout)
    examples = training_examples(config)
    module = SequenceLabeller(encoder, LabellerConfig(config.lstm, config.model.window, config.model.overlap))
    validation = validation_documents([config.validation], config.data)
    part = LabellerPart(module, config, examples, validation, tokenizer)
    documents = int(examples.extractable.sum())
    logger.info("%d training examples, %d validation documents", documents, len(validation))
    progress = train(part, config.loop, config.output, device, identity=extractor_identity(config))
    return TrainedLabeller(module, tokenizer, progress, documents, part.evaluate())


class LabellerPart(ExamplePart):
    """The labeller as the training loop sees it."""

    selected = "F1@M"

    def __init__(
        self,
        module: SequenceLabeller,
        config: LabellerTraining,
        examples: ExampleCache,
        validation: Sequence[Document],
        tokenizer: Any,
    ) -> None:
        repeats = chosen_repeats(examples, examples.extractable, "a present keyphrase")
        super().__init__(config, examples, repeats, tokenizer.pad_token_id)
        self.module = module
        self._validation = validation
        self._predictor = as_predictor(config.name, module, tokenizer)
        freeze(module.encoder, config)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return trained_parameters(self.module, self.module.encoder.parameters(), self._config)

    def collate(self, items: Sequence[int]) -> LabelBatch:
        examples = [self._examples[item] for item in items]
        input_ids, mask = pad_rows([item.example.windows[0] for item in examples], self._padding)
        tags, _ = pad_rows([bio_tags(item) for item in examples], OUTSIDE)
        return LabelBatch(input_ids, mask, tags)

    def loss(self, batch: LabelBatch) -> Tensor:
        return self.module.loss(batch.input_ids, batch.attention_mask, batch.tags)

    def evaluate(self) -> Metrics:
        self.module.eval()
        return present_figures(self._predictor, self._validation)


def bio_tags(item: LabelledExample) -> NDArray[np.int64]:
    """(T,) the tag of each token of the first window: the gold of the item, at every place.

    Where keyphrases overlap the longer one is tagged, which is all that a row of tags can say.
    """
    rows = [tokens for window, phrase, tokens in item.example.rows if window == 0 and item.positive[phrase]]
    runs = [run for tokens in rows for run in np.split(tokens, np.flatnonzero(np.diff(tokens) > 1) + 1)]
    tags = np.full(len(item.example.windows[0]), OUTSIDE, dtype=np.int64)
    for run in sorted(runs, key=len, reverse=True):
        if (tags[run] == OUTSIDE).all():
            tags[run] = INSIDE
            tags[run[0]] = BEGIN
    return tags
