"""The settings for training SimCKP's contrastive extractor, and the identity of such a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from kpdemo.errors import ConfigError
from kpdemo.simckp.counting import Counting
from kpdemo.simckp.folders import content_hash
from kpdemo.simckp.model import ExtractorConfig
from kpdemo.simckp.quantized import Storage
from kpdemo.training.bounds import Positive, Rate, Share
from kpdemo.training.loop_config import LoopConfig
from kpdemo.training.run_identity import run_identity
from kpdemo.training.sources import Source, source_hashes


@dataclass(frozen=True)
class ExtractorTraining:
    """Attributes:
    data: the folder that the paths of the sources start from.
    pool: documents drawn from the sources.
    start: a checkpoint folder whose weights training begins with; the backbone's and fresh heads without.
    shares: after training, weights between those of `start` (0) and the trained ones (1) are tried, and those
        with the best validation F1@M are kept; none leaves the trained ones.
    validation: chooses the weights, the threshold and the calibration.
    learning_rate, head_learning_rate: of the encoder; of the projections and the prior.
    freeze_embeddings: leave the word embeddings as they were pretrained.
    top_layers: train this many layers of the encoder, counted from its end, and leave the others as they are;
        None for all.
    dropout: everywhere in the backbone, or "pretrained" for what its configuration says; 0 suits a run
        that sees each document about once.
    device: "auto", "cpu" or "cuda".
    attention: the attention implementation, by Transformers' name; on a CPU "eager" trains twice as fast as
        "sdpa".
    style: how the training documents were annotated, such as "author keywords"; given in the model card.
    counting: what decides how many keyphrases a document gets: "threshold" is SimCKP's own rule.
    storage: of the weights in the checkpoint, "fp16" or "int8".
    objective: "binary" classifies each phrase on its own, without comparing phrases (Table 4).
    negatives: what a gold keyphrase is contrasted with: "hard" are the other candidates of its document,
        "random" random runs of its words, "in-batch" the other documents of the batch (Table 5).

    Raises:
        ConfigError: "in-batch" goes with another objective or head than the paper's, or there are shares
            without a start.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    validation: Source
    loop: LoopConfig
    name: str = "extractor"
    style: str = ""
    data: Path = Path("data")
    output: Path = Path("runs/extractor")
    cache: Path = Path("runs/cache")
    backbone: str = "all-MiniLM-L6-v2"
    start: Path | None = None
    shares: tuple[Share, ...] = ()
    pool: Positive = 1_000_000
    model: ExtractorConfig = field(default_factory=ExtractorConfig)
    learning_rate: Rate = 1e-4
    head_learning_rate: Rate = 5e-4
    weight_decay: Share = 0.01
    freeze_embeddings: bool = True
    top_layers: int | None = None
    dropout: Share | Literal["pretrained"] = 0.0
    attention: str = "eager"
    device: str = "auto"
    counting: Counting = "expected F1"
    storage: Storage = "fp16"
    objective: Literal["contrastive", "binary"] = "contrastive"
    negatives: Literal["hard", "random", "in-batch"] = "hard"

    def __post_init__(self) -> None:
        compared = self.objective == "contrastive" and self.model.head == "similarity"
        if self.negatives == "in-batch" and not compared:
            raise ConfigError(
                'negatives = "in-batch" compares vectors of documents: set objective = "contrastive" and '
                f'model.head = "similarity", not "{self.objective}" and "{self.model.head}".'
            )
        if self.shares and not self.start:
            raise ConfigError("shares mix the weights of `start` with the trained ones: name its folder.")


def extractor_identity(config: ExtractorTraining) -> str:
    """The `run_identity` of an extractor, or of what is trained like one.

    Start and data enter by their content: a checkpoint that is trained again keeps its folder.

    Raises:
        ModelLoadError: the start is missing or damaged.
        ConfigError: a file of data is missing.
    """
    return run_identity(
        vars(config),
        *("counting", "shares", "search", "over_generated"),  # which measure, or choose among trained weights
        start=content_hash(config.start) if config.start else None,
        sources=source_hashes([*config.train, config.validation], config.data),
    )
