"""Training of SimCKP's extractor-generator (section 4.2), and of ONE2SEQ as in its ablation (Table 4)."""

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
from kpdemo.simckp.batches import Movable
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.checkpoint import load_weights
from kpdemo.simckp.decoder import (
    IGNORED,
    Decoder,
    DecoderConfig,
    KeyphraseDecoder,
    Memory,
    pad_targets,
    shift_right,
)
from kpdemo.simckp.encoder import (
    add_separator,
    check_reading,
    is_encoder_decoder,
    load_backbone,
    load_encoder_decoder,
)
from kpdemo.simckp.extractor import Batch, ContrastiveExtractor, Selection, encoder_of
from kpdemo.simckp.generator import ExtractorGenerator, One2SeqPredictor, SimckpGenerator
from kpdemo.simckp.losses import contrastive_loss, generation_loss
from kpdemo.simckp.pretrained_decoder import PretrainedDecoder
from kpdemo.text import PhraseFinder
from kpdemo.training.data import Count, Positive, validation_documents
from kpdemo.training.examples import (
    ExampleCache,
    ExamplePart,
    LabelledExample,
    absent_keyphrases,
    chosen_repeats,
    trained_parameters,
    training_examples,
)
from kpdemo.training.fine_tuning import ExtractorTraining, extractor_identity, freeze_embeddings, set_dropout
from kpdemo.training.loop import Metrics, Progress, train
from kpdemo.training.validation import GenerationValidation, ValidationSet, present_figures
from kpdemo.types import Document

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
    documents = validation_documents([config.validation], config.data)
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
            return generation_nll(self.module.decoder, memory, batch.targets)
        scores, memory = self.module(documents)
        extraction = contrastive_loss(
            scores,
            documents.positive,
            documents.phrase_document,
            documents=documents.documents,
            temperature=self.module.extractor.config.temperature,
        )
        generation = generation_nll(self.module.decoder, memory, batch.targets)
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


def generation_nll(decoder: Decoder, memory: Memory, targets: Tensor) -> Tensor:
    """L_MLE; only documents with a target are read by the decoder."""
    rows = targets[:, 0] != IGNORED
    rows[0] |= ~rows.any()  # at least one, whose loss is 0, so that there is a gradient
    wanted = targets[rows]
    inputs = shift_right(wanted, decoder.vocabulary.start)
    log_probabilities = decoder(inputs, memory.rows(rows))
    return generation_loss(log_probabilities, wanted, documents=len(targets))


def _repeats(examples: ExampleCache, config: GeneratorTraining) -> NDArray[np.int32]:
    """How often each example occurs in an epoch."""
    fitting = examples.lengths < config.model.window if config.released_filters else True
    absent = chosen_repeats(examples, examples.generatable & fitting, "an absent keyphrase")
    return absent if config.freeze_encoder or config.released_filters else examples.repeats


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
    targets = [target_phrases(examples[number]) for number in range(len(examples))]
    module, tokenizer = build_generator(config, np.concatenate([ids for row in targets for ids in row]))
    documents = validation_documents([config.validation], config.data)
    reader = SimckpGenerator(config.name, module, tokenizer.backend_tokenizer, tokenizer.pad_token_id)
    validation = GenerationValidation(reader, documents, config.search, 0, written=gold_phrases)
    part = One2SeqPart(module, config, examples, validation, padding=tokenizer.pad_token_id)
    logger.info("%d training examples, %d validation documents", len(examples), len(documents))
    progress = train(part, config.loop, config.output, device, identity=extractor_identity(config))
    known = present_figures(One2SeqPredictor(reader), documents) | validation.evaluate()
    return TrainedOne2Seq(module, tokenizer, progress, len(examples), known)


def target_phrases(item: LabelledExample) -> list[NDArray[np.int64]]:
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
        phrases = [target_phrases(self._examples[item]) for item in items]
        targets = [self._vocabulary.encode(row, longest=longest) for row in phrases]
        return GeneratorBatch(self.batch_of(items), pad_targets(targets))

    def loss(self, batch: GeneratorBatch) -> Tensor:
        """L_MLE alone."""
        documents = batch.documents
        memory = self.module.read(documents.input_ids, documents.attention_mask)
        return generation_nll(self.module.decoder, memory, batch.targets)

    def evaluate(self) -> Metrics:
        return self._validation.evaluate()


def gold_phrases(document: Document) -> Sequence[str]:
    """The keyphrases in the order of `written_phrases`, each once."""
    places = PhraseFinder(document)
    found = [(places.of(phrase), phrase) for phrase in document.keyphrases]
    present = {spans[0]: phrase for spans, phrase in reversed(found) if spans}
    return [phrase for _, phrase in sorted(present.items())] + absent_keyphrases(document)
