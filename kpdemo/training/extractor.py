"""Training of SimCKP's contrastive extractor, also held to shorter candidates (SimCKP, Figure 3)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kpdemo.candidates.chunks import Candidate
from kpdemo.candidates.mining import mine_candidates
from kpdemo.errors import ConfigError
from kpdemo.simckp.calibration import Counting
from kpdemo.simckp.checkpoint import load_weights
from kpdemo.simckp.encoder import check_reading, load_backbone
from kpdemo.simckp.extractor import Batch, ContrastiveExtractor, Selection, SimckpPredictor, pool
from kpdemo.simckp.losses import binary_loss, contrastive_loss, in_batch_loss
from kpdemo.training.data import validation_documents
from kpdemo.training.examples import (
    ExampleCache,
    ExamplePart,
    chosen_repeats,
    gold_candidates,
    trained_parameters,
    training_examples,
)
from kpdemo.training.fine_tuning import (
    ExtractorTraining,
    copied_weights,
    extractor_identity,
    freeze,
    interpolate,
    set_dropout,
)
from kpdemo.training.loop import Metrics, Progress, train
from kpdemo.training.validation import ValidationSet, learn_selection
from kpdemo.types import Document, Prediction

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
        validation_documents(config.choosing, config.data),
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


Scored = tuple[list[Candidate], NDArray[np.float32]]
"""The candidates of a document and their raw scores, (P,)."""


@dataclass(frozen=True)
class ScoredDocuments:
    """Documents read once: a candidate's score does not depend on which others there are.

    Attributes:
        scores: for each document, the raw score of each candidate by its key.
    """

    predictor: SimckpPredictor
    documents: Sequence[Document]
    scores: Sequence[dict[str, float]]

    @classmethod
    def of(cls, predictor: SimckpPredictor, documents: Sequence[Document]) -> ScoredDocuments:
        scored = predictor.score(documents)
        tables = [
            dict(zip((candidate.key for candidate in candidates), scores.tolist(), strict=True))
            for candidates, scores in scored
        ]
        return cls(predictor, documents, tables)

    def up_to(self, longest: int) -> list[Scored]:
        """The candidates of at most that many words.

        Raises:
            ConfigError: the extractor's own are not as long.
        """
        own = self.predictor.module.config.candidates
        if longest > own.longest:
            raise ConfigError(
                f"The model's candidates have at most {own.longest} words, not {longest}: lower `lengths`."
            )
        config = replace(own, longest=longest)
        found = []
        for document, table in zip(self.documents, self.scores, strict=True):
            candidates = mine_candidates(document, self.predictor.tagger, config)
            scores = np.array([table[candidate.key] for candidate in candidates], dtype=np.float32)
            found.append((candidates, scores))
        return found


def predict_up_to(longest: int, chosen_on: ScoredDocuments, asked: ScoredDocuments) -> list[Prediction]:
    """The keyphrases of at most that many words of `asked`, by a threshold learnt on `chosen_on`."""
    learnt = [
        (scores, gold_candidates(document, candidates))
        for document, (candidates, scores) in zip(chosen_on.documents, chosen_on.up_to(longest), strict=True)
    ]
    counting: Counting = "expected F1" if asked.predictor.selection.counting else "threshold"
    selection = learn_selection(learnt, counting, asked.predictor.module.config.minimum)
    predictor = replace(asked.predictor, selection=selection)
    return [
        predictor.choose(document, candidates, scores)
        for document, (candidates, scores) in zip(asked.documents, asked.up_to(longest), strict=True)
    ]
