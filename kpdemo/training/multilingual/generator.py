"""Training of RAMKG's generator (Gao et al. 2022, section 4.2), with and without retrieved keyphrases.

Letters (generator): B documents, T tokens read, S tokens written, V vocabulary.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.evaluation.metrics import named_pooled, pooled_average, score_sets
from kpdemo.identity import content_identity
from kpdemo.io.files import parse_json, replace_file
from kpdemo.languages import identify
from kpdemo.ramkg.generator import Writer, build_writer, save_writer
from kpdemo.ramkg.passage_index import read_manifest
from kpdemo.ramkg.prompt import (
    MARKS,
    Ends,
    WriterSettings,
    added_languages,
    clean_phrases,
    form_of,
    join_phrases,
    own_languages,
)
from kpdemo.ramkg.rgit import Augmented
from kpdemo.simckp.batches import Movable, pad_rows
from kpdemo.simckp.decoder import IGNORED
from kpdemo.simckp.encoder import add_tokens, load_encoder_decoder, longest_reading
from kpdemo.simckp.storage import Storage
from kpdemo.training.data import (
    Count,
    Positive,
    Rate,
    Share,
    Source,
    cache_errors,
    draw,
    draw_documents,
    read_source_rows,
)
from kpdemo.training.fine_tuning import set_dropout
from kpdemo.training.loop import LoopConfig, Metrics, Progress, run_identity, train
from kpdemo.types import Document


@dataclass(frozen=True, kw_only=True)
class WriterTraining:
    """What a generator is and how it learns, whatever it learns from.

    Attributes:
        generated: validation documents that keyphrases are written for at each evaluation, spread evenly.
        selected: the figure that the best weights have: "F1@M" as in the paper's code (pooled), or
            "log-likelihood", which is quicker to measure with `generated = 0`.
        backbone: any encoder-decoder of the Hub, or a folder.
        languages: those a token is added for, where the backbone has none of its own; without any the model
            distinguishes none.
        passages: m, how many passages' keyphrases are read.
        window, longest: most tokens read and written.
        dropout: everywhere in the backbone, or "pretrained" for what its configuration says.
        attention: the attention implementation, by Transformers' name.
        storage: of the weights in the checkpoint.

    Raises:
        ConfigError: settings that exclude each other.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str = "ramkg-generator"
    style: str = ""
    backbone: str = "facebook/mbart-large-cc25"
    languages: tuple[str, ...] = ()
    passages: Positive = 1
    deduplicate: bool = True
    window: Annotated[int, Field(ge=64)] = 1024
    longest: Annotated[int, Field(ge=8)] = 128
    beams: Positive = 5
    learning_rate: Rate = 1e-4
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    dropout: Share | Literal["pretrained"] = "pretrained"
    attention: str = "sdpa"
    generated: Count = 200
    selected: Literal["F1@M", "log-likelihood"] = "F1@M"
    storage: Storage = "fp16"

    def __post_init__(self) -> None:
        if self.selected == "F1@M" and not self.generated:
            raise ConfigError('selected = "F1@M" needs documents to write for: set `generated` above 0.')


def training_inputs(config: RamkgTraining) -> tuple[list[Augmented], list[int]]:
    """The documents of all sources with their retrieved keyphrases, and how often each is repeated."""
    if config.retrieval == "file":
        rows = draw(
            config.train, lambda source: _from_file(source, config.data), config.pool, config.loop.seed
        )
        return [given for given, _ in rows], [repeat for _, repeat in rows]
    drawn = draw_documents(config.train, config.data, config.pool, config.loop.seed)
    documents = [identify(document) for document, _ in drawn]
    return _augment(documents, config, "train"), [repeat for _, repeat in drawn]


def validation_inputs(config: RamkgTraining) -> list[Augmented]:
    """Those of `config.validation`, likewise."""
    if config.retrieval == "file":
        return _from_file(config.validation, config.data)
    rows = read_source_rows(config.validation, config.data)
    return _augment([identify(document) for document, _ in rows], config, "validation")


def _from_file(source: Source, folder: Path) -> list[Augmented]:
    return [
        Augmented(identify(document), retrieved_of(row, document.id))
        for document, row in read_source_rows(source, folder)
    ]


def retrieved_of(row: Mapping[str, Any], name: str) -> tuple[tuple[str, ...], ...]:
    """The field `retrieved` of a row: a list of keyphrases for each passage, or one list for all; () without.

    Raises:
        ConfigError: it is something else.
    """
    value = row.get("retrieved") or []
    passages = [value] if value and all(isinstance(item, str) for item in value) else value
    if not isinstance(passages, list) or not all(
        isinstance(passage, list) and all(isinstance(phrase, str) for phrase in passage)
        for passage in passages
    ):
        raise ConfigError(
            f'The document {name!r} has a field "retrieved" that is not a list of lists of keyphrases: fix '
            "it."
        )
    return tuple(map(tuple, passages))


def _augment(documents: Sequence[Document], config: RamkgTraining, name: str) -> list[Augmented]:
    """With what the index finds, kept in the folder of the run."""
    if config.index is None:
        return [Augmented(document) for document in documents]
    from kpdemo.ramkg.generator import PassageSource

    path = config.output / f"retrieved-{name}.json"
    asked = _question_hash(documents, config.index, config.passages)
    with cache_errors(path):
        stored = parse_json(path.read_text(encoding="utf-8")) if path.is_file() else None
    if not isinstance(stored, dict) or stored.get("asked") != asked:
        source = PassageSource.open(config.index, device=config.device)
        found = source.hits(documents, config.passages)
        stored = {"asked": asked, "keyphrases": [[hit.passage.keyphrases for hit in hits] for hits in found]}
        replace_file(path, json.dumps(stored, ensure_ascii=False).encode())
    return [
        Augmented(document, tuple(map(tuple, passages)))
        for document, passages in zip(documents, stored["keyphrases"], strict=True)
    ]


def _question_hash(documents: Sequence[Document], index: Path, passages: int) -> str:
    """A hash of all that decides what the index finds: stored answers to another one are not used."""
    files = sorted(read_manifest(index).sha256.items())
    asked = [files, passages, [(document.text, document.language) for document in documents]]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


@dataclass(frozen=True)
class FoundBy:
    """The encoder that found the retrieved keyphrases: a hash of it, and its name; both empty if unknown."""

    identity: str = ""
    name: str = ""


def new_writer(
    config: WriterTraining, examples: Sequence[Augmented], found_by: FoundBy
) -> tuple[Writer, Any, Ends]:
    """The model as training begins, its tokenizer of Transformers, and its ends.

    Args:
        examples: of the training; the model is made for the languages of their documents.

    Raises:
        ModelLoadError: the backbone cannot be loaded, or does not say how its sequences begin and end.
    """
    model, tokenizer = load_encoder_decoder(config.backbone, attention=config.attention)
    set_dropout(model, config.dropout)
    form = form_of(model.config.model_type, tokenizer)
    languages = own_languages(tokenizer) if form != "plain" else added_languages(config.languages)
    special = tuple(tokenizer("")["input_ids"])
    add_tokens(model, tokenizer, [*MARKS, *languages.values()])
    settings = WriterSettings(
        form=form,
        languages=dict(languages),
        made_for=tuple(sorted({given.document.language for given in examples} - {""})),
        window=min(config.window, longest_reading(model.config, tokenizer)),
        longest=config.longest,
        beams=config.beams,
        deduplicate=config.deduplicate,
        passages=config.passages,
        retrieves=any(given.retrieved for given in examples),
        retriever=found_by.identity,
        retriever_name=found_by.name,
    )
    ends = Ends(special, *_ends(config.backbone, model, tokenizer))
    return build_writer(config.name, model, tokenizer.backend_tokenizer, settings, ends), tokenizer, ends


def _ends(name: str, model: Any, tokenizer: Any) -> tuple[int, int, int]:
    """The decoder's first token, the last one, and padding."""
    starts = (
        getattr(model.generation_config, "decoder_start_token_id", None),
        getattr(model.config, "decoder_start_token_id", None),
        model.generation_config.bos_token_id,
        tokenizer.eos_token_id,  # mBART begins with the language, whatever is said here
    )
    start = next((token for token in starts if token is not None), None)
    if start is None or tokenizer.eos_token_id is None or tokenizer.pad_token_id is None:
        raise ModelLoadError(
            f"The model {name!r} does not say how its sequences begin and end: set decoder_start_token_id, "
            "eos_token and pad_token in its configuration."
        )
    return int(start), int(tokenizer.eos_token_id), int(tokenizer.pad_token_id)


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
    writer, tokenizer, ends = new_writer(config, examples, found_by or FoundBy())
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
        input_ids, mask = pad_rows([item.source for item in items], vocabulary.padding)
        written, _ = pad_rows([item.target[:-1] for item in items], vocabulary.padding)
        labels, _ = pad_rows(
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
