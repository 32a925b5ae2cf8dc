"""Training of RAMKG's generator (Gao et al. 2022, section 4.2), with and without retrieved keyphrases.

Letters: B documents, T tokens read, S tokens written, V vocabulary.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from kpdemo.errors import ConfigError
from kpdemo.evaluation.metrics import named_pooled, pooled_average, score_sets
from kpdemo.identity import content_identity
from kpdemo.ramkg.frames import Ends
from kpdemo.ramkg.generator_checkpoint import save_writer
from kpdemo.ramkg.iterate import Augmented
from kpdemo.ramkg.manifest import read_manifest
from kpdemo.ramkg.prompt import clean_phrases, join_phrases
from kpdemo.ramkg.writer import Writer
from kpdemo.simckp.generation.targets import IGNORED
from kpdemo.simckp.movable import Movable
from kpdemo.simckp.quantized import Storage
from kpdemo.simckp.reading import padded
from kpdemo.training.bounds import Positive
from kpdemo.training.loop import train
from kpdemo.training.loop_config import LoopConfig
from kpdemo.training.multilingual.generator_config import WriterTraining
from kpdemo.training.multilingual.generator_inputs import training_inputs, validation_inputs
from kpdemo.training.multilingual.generator_model import FoundBy, new_writer
from kpdemo.training.part import Metrics
from kpdemo.training.progress import Progress
from kpdemo.training.run_identity import run_identity
from kpdemo.training.sources import Source

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RamkgTraining(WriterTraining):
    """Attributes:
    data: the folder that the paths of the sources start from.
    pool: documents drawn from the sources.
    retrieval: "none" trains the base model; "file" takes what the rows say in their field `retrieved`, a list
        of the keyphrases of each passage, best first; "index" finds them in `index`.
    index: folder of a passage index, opened with its own encoder.
    validation: chooses the weights; its documents may have the languages of training only.

    Raises:
        ConfigError: settings that exclude each other.
    """

    train: tuple[Source, ...]
    validation: Source
    loop: LoopConfig
    data: Path = Path("data")
    output: Path = Path("runs/ramkg-generator")
    pool: Positive = 1_000_000
    retrieval: Literal["none", "file", "index"] = "none"
    index: Path | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.retrieval == "index") != (self.index is not None):
            raise ConfigError('retrieval = "index" and an `index` go together: set both or neither.')


@dataclass(frozen=True)
class TrainedWriter:
    """The result of a run, ready to be stored.

    Attributes:
        tokenizer: of Transformers.
    """

    writer: Writer
    tokenizer: Any
    ends: Ends
    progress: Progress
    documents: int
    validation: Metrics

    def save(self, folder: Path, card: str, storage: Storage) -> None:
        """Write the checkpoint."""
        save_writer(folder, self.writer, self.tokenizer, self.ends, card=card, storage=storage)


@dataclass(frozen=True)
class TextPair:
    """(T,) ids of what is read; (S,) of what is written, begin and end included.

    Attributes:
        known: how many of the first ids of `target` are given to the decoder and not learnt.
    """

    source: list[int]
    target: list[int]
    known: int


@dataclass(frozen=True)
class TextPairBatch(Movable):
    """Attributes:
    input_ids, mask: (B, T)
    written: (B, S - 1) what the decoder reads.
    labels: (B, S - 1) what follows each of it, `IGNORED` where nothing is learnt.
    """

    input_ids: Tensor
    mask: Tensor
    written: Tensor
    labels: Tensor


def train_ramkg(config: RamkgTraining, *, device: torch.device) -> TrainedWriter:
    """Train or resume as the configuration says.

    Raises:
        ConfigError, InputError, LanguageError, ModelLoadError, PassageIndexError, TrainingError: in one
            sentence, before or during training.
    """
    examples, repeats = training_inputs(config)
    manifest = None if config.index is None else read_manifest(config.index)
    return train_writer(
        examples,
        validation_inputs(config),
        config,
        config.loop,
        into=config.output,
        device=device,
        repeats=repeats,
        found_by=FoundBy(manifest.identity, manifest.encoder.model) if manifest else FoundBy(),
    )


def train_writer(
    examples: Sequence[Augmented],
    validation: Sequence[Augmented],
    config: WriterTraining,
    loop: LoopConfig,
    *,
    into: Path,
    device: torch.device,
    repeats: Sequence[int] | None = None,
    found_by: FoundBy | None = None,
) -> TrainedWriter:
    """As `train_ramkg`, on documents that are read already.

    Args:
        into: the folder of the run.
        repeats: how often each example occurs in an epoch; once without it.
        found_by: the encoder that a passage index must have to be predicted with; any without it.
    """
    if not examples:
        raise ConfigError("No training document has a keyphrase: check the sources.")
    if not validation:
        raise ConfigError("No validation document has a keyphrase: check `validation` in the configuration.")
    torch.manual_seed(loop.seed)
    writer, tokenizer, ends = new_writer(config, examples, into, found_by or FoundBy())
    repeats = repeats or [1] * len(examples)
    part = WriterPart(writer, config, loop, examples, validation, repeats)
    logger.info("%d training examples, %d validation documents", len(examples), len(validation))
    content = content_identity(examples, repeats, validation)
    identity = run_identity(vars(config), "attention", documents=content)
    progress = train(part, loop, into, device, identity=identity)
    writer.model.eval()
    return TrainedWriter(writer, tokenizer, ends, progress, len(examples), part.evaluate())


class WriterPart:
    """The generator as the training loop sees it."""

    def __init__(
        self,
        writer: Writer,
        config: WriterTraining,
        loop: LoopConfig,
        examples: Sequence[Augmented],
        validation: Sequence[Augmented],
        repeats: Sequence[int],
    ) -> None:
        self.module = writer.model
        self.selected: str = config.selected
        self._writer, self._config, self._loop = writer, config, loop
        self._pairs = [text_pair(writer, given) for given in examples]
        self.lengths, self.repeats = [len(pair.source) for pair in self._pairs], repeats
        self._validation = [text_pair(writer, given) for given in validation]
        step = max(len(validation) // max(config.generated, 1), 1)
        self._generated = list(validation[::step][: config.generated])

    def parameter_groups(self) -> list[dict[str, Any]]:
        parameters = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        config = self._config
        return [{"params": parameters, "lr": config.learning_rate, "weight_decay": config.weight_decay}]

    def __getitem__(self, index: int) -> TextPair:
        return self._pairs[index]

    def collate(self, items: Sequence[TextPair]) -> TextPairBatch:
        vocabulary = self._writer.vocabulary
        input_ids, mask = padded([item.source for item in items], vocabulary.padding)
        written, _ = padded([item.target[:-1] for item in items], vocabulary.padding)
        labels, _ = padded(
            [[IGNORED] * (item.known - 1) + item.target[item.known :] for item in items], IGNORED
        )
        return TextPairBatch(input_ids, mask, written, labels)

    def loss(self, batch: TextPairBatch) -> Tensor:
        """The negative log-likelihood of a token, in nats, averaged over those of the batch."""
        return self._losses(batch).sum() / (batch.labels != IGNORED).sum()

    def evaluate(self) -> Metrics:
        """The mean log-likelihood of a gold token, and pooled P, R and F1@M where documents are generated."""
        return {"log-likelihood": self._log_likelihood()} | (self._scores() if self._generated else {})

    def _losses(self, batch: TextPairBatch) -> Tensor:
        """(B · (S - 1),) of each token; 0 for those that are not learnt."""
        logits = self.module(
            input_ids=batch.input_ids,
            attention_mask=batch.mask,
            decoder_input_ids=batch.written,
            use_cache=False,
        ).logits  # (B, S - 1, V)
        return functional.cross_entropy(
            logits.float().flatten(0, 1), batch.labels.flatten(), ignore_index=IGNORED, reduction="none"
        )

    @torch.no_grad()
    def _log_likelihood(self) -> float:
        size = self._loop.batch_size
        total, tokens = 0.0, 0
        pairs = sorted(self._validation, key=lambda pair: len(pair.source))
        for first in range(0, len(pairs), size):
            batch = self.collate(pairs[first : first + size]).to(self._writer.device)
            total += float(self._losses(batch).sum())
            tokens += int((batch.labels != IGNORED).sum())
        return -total / max(tokens, 1)

    def _scores(self) -> Metrics:
        written = self._writer.keyphrases(self._generated)
        figures = pooled_average(
            score_sets(given.document.keyphrases, phrases)
            for given, phrases in zip(self._generated, written, strict=True)
        )
        named = named_pooled(figures)
        return {name: named[name] or 0.0 for name in ("F1@M", "P@M", "R@M")}


def text_pair(writer: Writer, given: Augmented) -> TextPair:
    """The ids of a training example; keyphrases that do not fit are left out from the end.

    Raises:
        LanguageError: the model has no token for the document's language.
    """
    document = given.document
    source = writer.source(given)
    frame = writer.vocabulary.frame(document.language)
    start = list(frame.start) if frame else []
    phrases = map(writer.encode, clean_phrases(document.keyphrases, document.language))
    room = writer.settings.longest - 1
    target = join_phrases(phrases, writer.vocabulary.marks.separator, room=room)
    return TextPair(source, [*start, *target, writer.vocabulary.end], len(start))
