"""Training of SimCKP's contrastive extractor."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kpdemo.simckp.backbone import check_reading, load_backbone
from kpdemo.simckp.checkpoint import load_weights
from kpdemo.simckp.losses import binary_loss, contrastive_loss, in_batch_loss
from kpdemo.simckp.model import Batch, ContrastiveExtractor, pool
from kpdemo.simckp.predictor import Selection
from kpdemo.training.example_cache import ExampleCache
from kpdemo.training.example_parts import ExamplePart, chosen_repeats, trained_parameters, training_examples
from kpdemo.training.extractor_config import ExtractorTraining, extractor_identity
from kpdemo.training.freezing import freeze, set_dropout
from kpdemo.training.interpolation import copied_weights, interpolate
from kpdemo.training.loop import train
from kpdemo.training.part import Metrics
from kpdemo.training.present_validation import ValidationSet
from kpdemo.training.progress import Progress
from kpdemo.training.sources import validation_documents

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainedExtractor:
    """The result of a run, ready to be stored."""

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
        validation_documents(config.validation, config.data),
        tokenizer.backend_tokenizer,
        config.model,
        config.counting,
        padding=tokenizer.pad_token_id,
    )
    part = ExtractorPart(module, config, examples, validation, padding=tokenizer.pad_token_id)
    documents = int(examples.extractable.sum())
    logger.info("%d training examples, %d validation documents", documents, len(validation.documents))
    start = copied_weights(module) if config.shares else {}
    progress = train(part, config.loop, config.output, device, identity=extractor_identity(config))
    share = 1.0
    if config.shares:
        share = interpolate(module, start, config.shares, lambda: part.evaluate()[part.selected])
    selection, metrics = validation.select(module)
    return TrainedExtractor(module, tokenizer, selection, progress, documents, metrics, share)


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
        repeats = chosen_repeats(examples, examples.extractable, "a present keyphrase")
        super().__init__(config, examples, repeats, padding)
        self.module = module
        self._validation = validation
        freeze(module.encoder, config)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return trained_parameters(self.module, self.module.encoder.parameters(), self._config)

    def collate(self, items: Sequence[int]) -> Batch:
        return self.batch_of(items)

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
