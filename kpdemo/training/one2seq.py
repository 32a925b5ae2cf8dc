"""Training of a model that writes all keyphrases, as in SimCKP's ablation (Choi et al. 2023, Table 4)."""

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
from kpdemo.places import PhrasePlaces
from kpdemo.simckp.decoding import SimckpGenerator
from kpdemo.simckp.generation.generator import ExtractorGenerator
from kpdemo.simckp.generation.one2seq import One2SeqPredictor
from kpdemo.simckp.generation.targets import pad_targets
from kpdemo.training.example_cache import ExampleCache
from kpdemo.training.example_parts import ExamplePart, training_examples
from kpdemo.training.extractor_config import extractor_identity
from kpdemo.training.freezing import freeze_embeddings
from kpdemo.training.generation import GenerationValidation
from kpdemo.training.generator import (
    GeneratorBatch,
    GeneratorTraining,
    build_generator,
    generator_parameters,
    written_loss,
)
from kpdemo.training.labelling import LabelledExample, absent_keyphrases
from kpdemo.training.loop import train
from kpdemo.training.part import Metrics
from kpdemo.training.present_validation import present_figures
from kpdemo.training.progress import Progress
from kpdemo.training.sources import validation_documents
from kpdemo.types import Document

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class One2SeqTraining(GeneratorTraining):
    """As `GeneratorTraining`; what it says of extraction and over-generation means nothing here."""

    name: str = "one2seq"
    output: Path = Path("runs/one2seq")

    def __post_init__(self) -> None:
        if self.start or self.freeze_encoder or self.negatives != "hard" or self.released_filters:
            raise ConfigError(
                "A model that writes all keyphrases has no start, freeze_encoder, negatives or "
                "released_filters: leave those settings out of [one2seq]."
            )
        super().__post_init__()


@dataclass(frozen=True)
class TrainedOne2Seq:
    """The result of a run, ready to be stored."""

    module: ExtractorGenerator
    tokenizer: Any
    progress: Progress
    documents: int
    validation: Metrics


def train_one2seq(config: One2SeqTraining, *, device: torch.device) -> TrainedOne2Seq:
    """Train or resume as the configuration says; the best weights by the likelihood of the validation gold.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    torch.manual_seed(config.loop.seed)  # before the decoder is made
    examples = training_examples(config)
    targets = [written_phrases(examples[number]) for number in range(len(examples))]
    module, tokenizer = build_generator(config, np.concatenate([ids for row in targets for ids in row]))
    documents = validation_documents(config.validation, config.data)
    reader = SimckpGenerator(config.name, module, tokenizer.backend_tokenizer, tokenizer.pad_token_id)
    validation = GenerationValidation(reader, documents, config.search, 0, written=gold_phrases)
    part = One2SeqPart(module, config, examples, validation, padding=tokenizer.pad_token_id)
    logger.info("%d training examples, %d validation documents", len(examples), len(documents))
    progress = train(part, config.loop, config.output, device, identity=extractor_identity(config))
    known = present_figures(One2SeqPredictor(reader), documents) | validation.evaluate()
    return TrainedOne2Seq(module, tokenizer, progress, len(examples), known)


def written_phrases(item: LabelledExample) -> list[NDArray[np.int64]]:
    """The token ids of each keyphrase: present ones by their places in the text, then the absent ones.

    Meng et al. 2021 find this order the best of those they compare.
    """
    [window] = item.example.windows
    places = [_first_run(tokens) for _, phrase, tokens in item.example.rows if item.positive[phrase]]
    present = [window[first:end] for first, end in sorted(places)]
    return present + list(item.absent)


def _first_run(places: NDArray[np.int64]) -> tuple[int, int]:
    """Where the first occurrence begins and ends, given the ascending places of all of them."""
    gaps = np.flatnonzero(np.diff(places) > 1)
    return int(places[0]), int(places[gaps[0] if len(gaps) else -1]) + 1


class One2SeqPart(ExamplePart):
    """The model as the training loop sees it."""

    selected = "log-likelihood"

    def __init__(
        self,
        module: ExtractorGenerator,
        config: One2SeqTraining,
        examples: ExampleCache,
        validation: GenerationValidation,
        *,
        padding: int,
    ) -> None:
        super().__init__(config, examples, examples.repeats, padding)
        self.module = module
        self._validation = validation
        self._vocabulary = module.decoder.vocabulary
        if config.freeze_embeddings:
            freeze_embeddings(module.extractor.encoder)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return generator_parameters(self.module, self._config)

    def collate(self, items: Sequence[int]) -> GeneratorBatch:
        longest = self.module.decoder.longest
        phrases = [written_phrases(self._examples[item]) for item in items]
        targets = [self._vocabulary.encode(row, longest=longest) for row in phrases]
        return GeneratorBatch(self.batch_of(items), pad_targets(targets))

    def loss(self, batch: GeneratorBatch) -> Tensor:
        """L_MLE alone."""
        documents = batch.documents
        memory = self.module.read(documents.input_ids, documents.attention_mask)
        return written_loss(self.module.decoder, memory, batch.targets)

    def evaluate(self) -> Metrics:
        return self._validation.evaluate()


def gold_phrases(document: Document) -> Sequence[str]:
    """The keyphrases in the order of `written_phrases`, each once."""
    places = PhrasePlaces(document)
    found = [(places.of(phrase), phrase) for phrase in document.keyphrases]
    present = {spans[0]: phrase for spans, phrase in reversed(found) if spans}
    return [phrase for _, phrase in sorted(present.items())] + absent_keyphrases(document)
