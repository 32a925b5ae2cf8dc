"""Training of SimCKP's extractor-generator (section 4.2), or of a decoder on an extractor that stays."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from kpdemo.errors import ConfigError
from kpdemo.simckp.backbone import (
    add_separator,
    check_reading,
    is_encoder_decoder,
    load_backbone,
    load_encoder_decoder,
)
from kpdemo.simckp.checkpoint import load_weights
from kpdemo.simckp.decoding import SimckpGenerator
from kpdemo.simckp.generation.beam_search import SearchConfig
from kpdemo.simckp.generation.decoder import DecoderConfig, KeyphraseDecoder
from kpdemo.simckp.generation.generator import ExtractorGenerator
from kpdemo.simckp.generation.memory import Decoder, Memory
from kpdemo.simckp.generation.pretrained_decoder import PretrainedDecoder
from kpdemo.simckp.generation.targets import IGNORED, pad_targets, shifted
from kpdemo.simckp.losses import contrastive_loss, generation_loss
from kpdemo.simckp.model import Batch, ContrastiveExtractor, encoder_of
from kpdemo.simckp.movable import Movable
from kpdemo.simckp.predictor import Selection
from kpdemo.training.bounds import Count, Positive
from kpdemo.training.example_cache import ExampleCache
from kpdemo.training.example_parts import (
    ExamplePart,
    chosen_repeats,
    trained_parameters,
    training_examples,
)
from kpdemo.training.extractor_config import ExtractorTraining, extractor_identity
from kpdemo.training.freezing import freeze_embeddings, set_dropout
from kpdemo.training.generation import GenerationValidation
from kpdemo.training.labelling import absent_keyphrases
from kpdemo.training.loop import train
from kpdemo.training.part import Metrics
from kpdemo.training.present_validation import ValidationSet
from kpdemo.training.progress import Progress
from kpdemo.training.sources import validation_documents

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class GeneratorTraining(ExtractorTraining):
    """All that `ExtractorTraining` has, and:

    Attributes:
        decoder: sizes of the decoder that an encoder-only backbone is given; one with a decoder keeps it.
        fewest: a token must occur so often in the training targets for that decoder to write it.
        separator: put between two keyphrases, where the backbone brings its own decoder.
        contrastive_weight: λ of Equation 5.
        freeze_encoder: train the decoder alone, on the extractor of `start`.
        released_filters: use only what the released code uses: in training documents with an absent keyphrase
            that fit into one window and batches with a present one, in validation documents with an absent
            keyphrase; long ones stay there, read in windows.
        search: how candidates are over-generated.
        over_generated: validation documents on which R@50 is measured at each evaluation.
    """

    name: str = "generator"
    output: Path = Path("runs/generator")
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    fewest: Positive = 1
    separator: str = "<sep>"
    contrastive_weight: Annotated[float, Field(ge=0)] = 0.3
    freeze_encoder: bool = False
    released_filters: bool = False
    search: SearchConfig = field(default_factory=SearchConfig)
    over_generated: Count = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective != "contrastive" or self.negatives == "in-batch":
            raise ConfigError(
                'The generator is trained with objective = "contrastive" and negatives = "hard" or "random": '
                "leave the others to `train extractor`."
            )
        if self.top_layers is not None or self.shares:
            raise ConfigError("top_layers and shares are for the extractor alone: leave them out here.")
        if self.freeze_encoder and not self.start:
            raise ConfigError("freeze_encoder needs a trained extractor: name its folder as `start`.")


@dataclass(frozen=True)
class TrainedGenerator:
    """The result of a run, ready to be stored."""

    module: ExtractorGenerator
    tokenizer: Any
    selection: Selection
    progress: Progress
    documents: int
    validation: Metrics


@dataclass(frozen=True)
class GeneratorBatch(Movable):
    """Attributes:
    documents: as the extractor reads them, one window each.
    targets: (B, L) target ids of their absent keyphrases, `IGNORED` after the end and where there are none.
    """

    documents: Batch
    targets: Tensor


def train_generator(config: GeneratorTraining, *, device: torch.device) -> TrainedGenerator:
    """Train or resume as the configuration says.

    The weights kept are the best by validation F1@M of the present keyphrases, as in the released code; of a
    decoder alone, by the likelihood of the absent ones.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    torch.manual_seed(config.loop.seed)  # before heads and decoder are made
    examples = training_examples(config)
    module, tokenizer = build_generator(config, examples.absent_tokens)
    documents = validation_documents(config.validation, config.data)
    if config.released_filters:
        documents = [document for document in documents if absent_keyphrases(document)]
    fast, padding = tokenizer.backend_tokenizer, tokenizer.pad_token_id
    present = ValidationSet(documents, fast, config.model, config.counting, padding=padding)
    reader = SimckpGenerator(config.name, module, fast, padding)
    absent = GenerationValidation(reader, documents, config.search, config.over_generated)
    if config.freeze_encoder and not absent:
        raise ConfigError(
            f"No document of {config.validation.path} has an absent keyphrase; with `freeze_encoder` these "
            "choose the weights: give other validation documents."
        )
    part = GeneratorPart(module, config, examples, present, absent, padding=padding)
    logger.info("%d training examples, %d validation documents", part.size, len(documents))
    progress = train(part, config.loop, config.output, device, identity=extractor_identity(config))
    selection, figures = present.select(module.extractor)
    return TrainedGenerator(module, tokenizer, selection, progress, part.size, figures | absent.evaluate())


def build_generator(
    config: GeneratorTraining, written: NDArray[np.integer[Any]]
) -> tuple[ExtractorGenerator, Any]:
    """The module as training begins, and its tokenizer.

    Args:
        written: the token ids of all targets, from which our own decoder takes its vocabulary.
    """
    pretrained = is_encoder_decoder(config.backbone)
    load = load_encoder_decoder if pretrained else load_backbone
    model, tokenizer = load(config.backbone, attention=config.attention)
    set_dropout(model, config.dropout)
    encoder: Any = encoder_of(model)
    check_reading(encoder, config.model.window, "model.window")
    extractor = ContrastiveExtractor(encoder, config.model)
    if config.start:
        load_weights(config.start, extractor)
    decoder: Decoder
    if pretrained:
        decoder = PretrainedDecoder(model, add_separator(model, tokenizer, config.separator))
    else:
        tokens, counts = np.unique(written, return_counts=True)
        kept = torch.from_numpy(tokens[counts >= config.fewest].astype(np.int64))
        decoder = KeyphraseDecoder(config.decoder, encoder.config.hidden_size, kept)
    return ExtractorGenerator(extractor, decoder), tokenizer


class GeneratorPart(ExamplePart):
    """Extractor and generator as the training loop sees them."""

    _config: GeneratorTraining

    def __init__(
        self,
        module: ExtractorGenerator,
        config: GeneratorTraining,
        examples: ExampleCache,
        present: ValidationSet,
        absent: GenerationValidation,
        *,
        padding: int,
    ) -> None:
        super().__init__(config, examples, _repeats(examples, config), padding)
        self.module = module
        self.selected = "log-likelihood" if config.freeze_encoder else "F1@M"
        self._present, self._absent = present, absent
        self._vocabulary = module.decoder.vocabulary
        if config.freeze_encoder:
            module.extractor.requires_grad_(False)
        elif config.freeze_embeddings:
            freeze_embeddings(module.extractor.encoder)

    @property
    def size(self) -> int:
        """Documents that are trained on."""
        return int(np.count_nonzero(self.repeats))

    def parameter_groups(self) -> list[dict[str, Any]]:
        return generator_parameters(self.module, self._config)

    def collate(self, items: Sequence[int]) -> GeneratorBatch:
        longest = self.module.decoder.longest
        targets = [self._vocabulary.encode(self._examples.absent(item), longest=longest) for item in items]
        return GeneratorBatch(self.batch_of(items), pad_targets(targets))

    def loss(self, batch: GeneratorBatch) -> Tensor | None:
        """L_MLE + λ · L_CL (SimCKP, Equation 5), each averaged over the documents of the batch."""
        documents = batch.documents
        if self._config.freeze_encoder:
            memory = self.module.read(documents.input_ids, documents.attention_mask)
            return written_loss(self.module.decoder, memory, batch.targets)
        scores, memory = self.module(documents)
        extraction = contrastive_loss(
            scores,
            documents.positive,
            documents.phrase_document,
            documents=documents.documents,
            temperature=self.module.extractor.config.temperature,
        )
        generation = written_loss(self.module.decoder, memory, batch.targets)
        loss = generation + self._config.contrastive_weight * extraction
        skipped = self._config.released_filters and not bool(documents.positive.any())
        return None if skipped else loss

    def evaluate(self) -> Metrics:
        if self._config.freeze_encoder:
            return self._absent.evaluate()
        return self._present.select(self.module.extractor)[1] | self._absent.evaluate()


def generator_parameters(module: ExtractorGenerator, config: ExtractorTraining) -> list[dict[str, Any]]:
    """As `trained_parameters`; a decoder that came with the encoder is part of the backbone."""
    pretrained = list(module.extractor.encoder.parameters())
    if isinstance(module.decoder, PretrainedDecoder):
        pretrained += module.decoder.parameters()
    return trained_parameters(module, pretrained, config)


def written_loss(decoder: Decoder, memory: Memory, targets: Tensor) -> Tensor:
    """L_MLE; only documents with a target are read by the decoder."""
    rows = targets[:, 0] != IGNORED
    rows[0] |= ~rows.any()  # at least one, whose loss is 0, so that there is a gradient
    wanted = targets[rows]
    inputs = shifted(wanted, decoder.vocabulary.start)
    log_probabilities = decoder(inputs, memory.rows(rows))
    return generation_loss(log_probabilities, wanted, documents=len(targets))


def _repeats(examples: ExampleCache, config: GeneratorTraining) -> NDArray[np.int32]:
    """How often each example occurs in an epoch."""
    fitting = examples.lengths < config.model.window if config.released_filters else True
    absent = chosen_repeats(examples, examples.generatable & fitting, "an absent keyphrase")
    return absent if config.freeze_encoder or config.released_filters else examples.repeats
