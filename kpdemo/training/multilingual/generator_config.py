"""The settings of a training of RAMKG's generator, whatever it learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from kpdemo.errors import ConfigError
from kpdemo.simckp.quantized import Storage
from kpdemo.training.bounds import Count, Positive, Rate, Share


@dataclass(frozen=True)
class ScratchConfig:
    """The paper's baseline "Transformer": an encoder and a decoder of equal size, as in BART.

    Attributes:
        vocabulary: subwords of a unigram vocabulary learnt from the training documents.
        width, layers, heads: D, and layers of the encoder and of the decoder.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    vocabulary: Annotated[int, Field(ge=200)] = 16_000
    width: Annotated[int, Field(ge=8)] = 256
    layers: Positive = 3
    heads: Positive = 4

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ConfigError(f"A width of {self.width} cannot be shared by {self.heads} heads: change one.")


@dataclass(frozen=True, kw_only=True)
class WriterTraining:
    """What a generator is and how it learns, whatever it learns from.

    Attributes:
        generated: validation documents that keyphrases are written for at each evaluation, spread evenly.
        selected: the figure that the best weights have: "F1@M" as in the paper's code (pooled), or
            "log-likelihood", which is quicker to measure with `generated = 0`.
        backbone: any encoder-decoder of the Hub, or a folder.
        scratch: sizes of a Transformer with a vocabulary of its own, in place of a backbone.
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
    scratch: ScratchConfig | None = None
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
