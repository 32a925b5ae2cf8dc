"""The settings of the training of a cross-lingual retriever."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from kpdemo.errors import ConfigError
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.training.bounds import AboveZero, Count, Rate
from kpdemo.training.loop_config import LoopConfig
from kpdemo.training.multilingual.parallel import ParallelSource
from kpdemo.training.sources import Source, refuse_repeats

SUBWORDS = "subwords"
"""The backbone that is not a pretrained encoder: bags of subwords, with a vocabulary of their own."""


@dataclass(frozen=True)
class SubwordSettings:
    """Attributes:
    vocabulary, width: V and D.
    texts, translations: what else the vocabulary is learnt from than the pairs; both sides of the latter.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    vocabulary: Annotated[int, Field(ge=100)] = 32_000
    width: Annotated[int, Field(ge=8)] = 256
    texts: tuple[Source, ...] = ()
    translations: tuple[ParallelSource, ...] = ()

    def __post_init__(self) -> None:
        refuse_repeats(self.texts, "A vocabulary is learnt from")


@dataclass(frozen=True)
class RetrieverTraining:
    """Attributes:
    data: the folder that the paths of the sources start from.
    train: pairs to learn from.
    validation: pairs that recall is measured on, each query among the passages of all.
    backbone: "subwords", or a pretrained encoder by name or folder.
    encoder: pooling, length and prefixes; also whether vectors have length 1, as RAMKG's have not. Its
        `model` is not used. Of "subwords" it has the length alone.
    temperature: what dot products are divided by; 1 is RAMKG's own, too weak for vectors of length 1.
    negatives: passages that each query is contrasted with, in addition to those of its batch.
    both_ways: also find the query by its passage.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[ParallelSource, ...]
    validation: tuple[ParallelSource, ...]
    loop: LoopConfig
    name: str = "retriever"
    data: Path = Path("data")
    output: Path = Path("runs/retriever")
    backbone: str = SUBWORDS
    subwords: SubwordSettings = field(default_factory=SubwordSettings)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    temperature: AboveZero = 0.05
    negatives: Count = 1
    both_ways: bool = True
    learning_rate: Rate = 3e-3
    weight_decay: float = 0.0
    attention: str = "eager"
    device: str = "auto"

    def __post_init__(self) -> None:
        check_trainable(self.encoder, self.backbone)


def check_trainable(encoder: EncoderConfig, backbone: str) -> None:
    """Raises:
    ConfigError: a setting would be left out of the training.
    """
    if encoder.model != EncoderConfig().model:
        raise ConfigError(
            f"A retriever is trained from its `backbone`: name {encoder.model!r} there and leave out "
            "`encoder.model`."
        )
    if backbone == SUBWORDS and replace(encoder, length=EncoderConfig().length) != EncoderConfig():
        raise ConfigError(
            f"A retriever of {SUBWORDS} has a pooling of its own and reads no prefixes: set only the length "
            "of its encoder, such as encoder = { length = 512 }."
        )
    if encoder.pooling == "pooler":
        raise ConfigError("A retriever cannot be trained with the pooling 'pooler': choose mean or first.")
