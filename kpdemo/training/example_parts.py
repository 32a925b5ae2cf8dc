"""What the trainings of extractor, generator and labeller share: batches, parameter groups, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from kpdemo.errors import ConfigError
from kpdemo.evaluation.metrics import MacroFigures, named_metrics
from kpdemo.simckp.model import Batch
from kpdemo.training.example_cache import ExampleCache, cached_examples
from kpdemo.training.extractor_config import ExtractorTraining
from kpdemo.training.labelling import ExampleSettings
from kpdemo.training.part import Metrics

if TYPE_CHECKING:
    from kpdemo.training.reranker import RerankerTraining


def training_examples(config: ExtractorTraining) -> ExampleCache:
    """The cached examples of the configuration's sources, made first when they are missing."""
    settings = ExampleSettings(
        config.backbone,
        config.model.window,
        config.model.overlap,
        config.model.candidates,
        random_negatives=config.negatives == "random",
    )
    return cached_examples(
        config.train, config.data, settings, config.cache, documents=config.pool, seed=config.loop.seed
    )


def chosen_repeats(examples: ExampleCache, chosen: NDArray[np.bool_], need: str) -> NDArray[np.int32]:
    """How often each example occurs in an epoch of those `chosen`, (N,) bool.

    Raises:
        ConfigError: there are none; the sentence says that no document has `need`.
    """
    if not chosen.any():
        raise ConfigError(f"No training document has {need}: check the sources.")
    return np.where(chosen, examples.repeats, 0)


def validation_metrics(figures: MacroFigures, *more: str) -> Metrics:
    """What an evaluation reports, 0 where no document has gold of the kind.

    Args:
        more: names of `named_metrics` besides F1@5, F1@M, P@M and R@M.
    """
    named = named_metrics(figures)
    return {name: named[name] or 0.0 for name in ("F1@5", "F1@M", "P@M", "R@M", *more)}


def trained_parameters(
    module: nn.Module, pretrained: Iterable[nn.Parameter], config: ExtractorTraining | RerankerTraining
) -> list[dict[str, Any]]:
    """The parameters that are not frozen: backbone and heads, each with its own learning rate."""
    known = {id(parameter) for parameter in pretrained}
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups = [
        ([parameter for parameter in parameters if id(parameter) in known], config.learning_rate),
        ([parameter for parameter in parameters if id(parameter) not in known], config.head_learning_rate),
    ]
    return [
        {"params": group, "lr": rate, "weight_decay": config.weight_decay} for group, rate in groups if group
    ]


class ExamplePart:
    """What the training of extractor and generator have in common: batches of cached examples."""

    def __init__(
        self, config: ExtractorTraining, examples: ExampleCache, repeats: NDArray[np.int32], padding: int
    ) -> None:
        """Args:
        repeats: (N,) how often each example occurs in an epoch.
        padding: the pad token id.
        """
        self._config = config
        self._examples = examples
        self.lengths, self.repeats = examples.lengths, repeats
        self._padding = padding

    def __getitem__(self, index: int) -> int:
        return index  # a batch is cut from the cache in one go: collating items would keep a GPU waiting

    def batch_of(self, numbers: Sequence[int]) -> Batch:
        """The examples of these numbers as the extractor reads them."""
        return self._examples.batch(numbers, padding=self._padding)
