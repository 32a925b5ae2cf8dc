"""Fine-tuning of a pretrained encoder: settings, what is frozen, weights between start and end.

On the line between the two there are often weights that are better than both, on documents like those of
training and on others (WiSE-FT; Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", Equation
1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from kpdemo.errors import ConfigError
from kpdemo.languages import ENGLISH, check_codes
from kpdemo.simckp.calibration import Counting
from kpdemo.simckp.checkpoint import content_hash
from kpdemo.simckp.extractor import ExtractorConfig
from kpdemo.simckp.storage import Storage
from kpdemo.training.data import Positive, Rate, Share, Source, source_hashes
from kpdemo.training.loop import LoopConfig, run_identity


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
    more_validation: further sources that choose, such as those of other languages.
    languages: ISO 639-1 codes of the training documents.
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
    more_validation: tuple[Source, ...] = ()
    languages: tuple[str, ...] = (ENGLISH,)
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

    @property
    def choosing(self) -> tuple[Source, ...]:
        """All sources whose documents choose the weights."""
        return self.validation, *self.more_validation

    def __post_init__(self) -> None:
        check_codes(self.languages)
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
        *(
            "counting",
            "shares",
            "search",
            "over_generated",
            "languages",
        ),  # which measure, or choose among trained weights
        start=content_hash(config.start) if config.start else None,
        sources=source_hashes([*config.train, *config.choosing], config.data),
    )


def set_dropout(model: Any, share: float | Literal["pretrained"]) -> None:
    """Set the dropout of a built model: in its modules, and in what its attention reads at each call."""
    if share == "pretrained":
        return
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, share)
        if isinstance(getattr(module, "layerdrop", None), float):
            module.layerdrop = 0.0  # which leaves out whole layers


def freeze_embeddings(encoder: Any) -> None:
    """Keep the word embeddings as they are."""
    encoder.get_input_embeddings().requires_grad_(False)


def freeze(encoder: Any, config: ExtractorTraining) -> None:
    """Freeze the word embeddings and the layers that the configuration does not train.

    Raises:
        ConfigError: the encoder has fewer layers than are to be trained.
    """
    if config.freeze_embeddings:
        freeze_embeddings(encoder)
    if config.top_layers is not None:
        freeze_below(encoder, config.top_layers)


def freeze_below(encoder: nn.Module, layers: int) -> None:
    """Train only the last `layers` layers of an encoder of Transformers.

    Raises:
        ConfigError: it has fewer.
    """
    stacks = [module for module in encoder.modules() if isinstance(module, nn.ModuleList)]
    stack = max(stacks, key=len, default=nn.ModuleList())
    if not 0 <= layers <= len(stack):
        raise ConfigError(
            f"The encoder has {len(stack)} layers, of which {layers} cannot be trained: give `top_layers` "
            f"from 0 to {len(stack)}."
        )
    encoder.requires_grad_(False)
    for layer in list(stack)[len(stack) - layers :]:
        layer.requires_grad_(True)


Weights = Mapping[str, Tensor]


def copied_weights(module: nn.Module) -> dict[str, Tensor]:
    """The weights of a module as they are now, on the CPU."""
    return {name: value.detach().to("cpu", copy=True) for name, value in module.state_dict().items()}


def interpolate(
    module: nn.Module, start: Weights, shares: Sequence[float], judge: Callable[[], float]
) -> float:
    """Set the weights of `module` to (1 - share) · start + share · its own, for the best of the shares.

    Args:
        shares: from 0, the start's, to 1, its own; of several that are equally good the first is taken.
        judge: how good the weights are that the module has at the moment; more is better.

    Returns:
        The share.
    """
    trained = copied_weights(module)
    judged = {}
    for share in shares:
        module.load_state_dict(_between(start, trained, share))
        judged[share] = judge()
    best = max(judged, key=judged.__getitem__)
    module.load_state_dict(_between(start, trained, best))
    return best


def _between(start: Weights, trained: Weights, share: float) -> dict[str, Tensor]:
    return {
        name: start[name].lerp(value, share) if value.is_floating_point() else value
        for name, value in trained.items()
    }
