"""Two trained extractors as one: their scores are averaged, and threshold and calibration learnt again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from kpdemo.identity import CARD
from kpdemo.simckp.calibration import Counting
from kpdemo.simckp.checkpoint import build_extractor, open_both
from kpdemo.simckp.encoder import check_reading
from kpdemo.simckp.extractor import ExtractorConfig, Second, Selection
from kpdemo.simckp.storage import unpack_differences
from kpdemo.training.cards import figures_section, lower_headings, selection_section
from kpdemo.training.data import Positive, Source, validation_documents
from kpdemo.training.loop import Metrics
from kpdemo.training.validation import ValidationSet


@dataclass(frozen=True)
class EnsembleTraining:
    """Attributes:
    first, second: checkpoints of extractors on one backbone, as `train extractor` leaves them.
    share: of the second in the score of the two.
    window: tokens of one reading; the first extractor's own where there is none.
    validation: chooses the threshold, the number of keyphrases and the calibration.
    data: the folder that its path starts from.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    first: Path
    second: Path
    validation: Source
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    window: Positive | None = None
    name: str = "ensemble"
    data: Path = Path("data")
    output: Path = Path("runs/ensemble")
    device: str = "auto"
    counting: Counting = "expected F1"


@dataclass(frozen=True)
class TrainedEnsemble:
    """What `save_ensemble` stores.

    Attributes:
        cards: of the two extractors.
    """

    differences: Mapping[str, Tensor]
    config: ExtractorConfig
    selection: Selection
    validation: Metrics
    cards: Sequence[str]


def train_ensemble(config: EnsembleTraining, *, device: torch.device) -> TrainedEnsemble:
    """Learn what to keep by the scores of both, as these are after the second's storage in four bits.

    Raises:
        ConfigError, InputError, ModelLoadError: in one sentence.
    """
    stored, differences = open_both(config.first, config.second)
    first = build_extractor(stored.config, stored.weights)
    second = build_extractor(stored.config, unpack_differences(differences, stored.weights))
    if config.window:
        first.config = replace(first.config, window=config.window)
    check_reading(first.encoder, first.config.window, "window")
    validation = ValidationSet(
        validation_documents([config.validation], config.data),
        stored.tokenizer,
        first.config,
        config.counting,
        padding=stored.padding,
    )
    both = first.to(device).eval(), Second(second.to(device).eval(), config.share)
    selection, metrics = validation.select(*both)
    cards = [(folder / CARD).read_text(encoding="utf-8") for folder in (config.first, config.second)]
    return TrainedEnsemble(differences, first.config, selection, metrics, cards)


def ensemble_card(config: EnsembleTraining, trained: TrainedEnsemble) -> str:
    """Markdown: how the two go together, and then the card of each."""
    first, second = map(lower_headings, trained.cards)
    share, window, overlap = config.share, trained.config.window, trained.config.overlap
    return f"""# {config.name}: two extractors of present keyphrases, averaged

By `python -m kpdemo train ensemble`: {1 - share:g} of a candidate's score is the first extractor's,
{share:g} the second's. Of the second only the differences from the first are stored, in four bits a weight.
Both read windows of {window} tokens that overlap by {overlap}.

{figures_section([config.validation], trained.validation)}

{selection_section(trained.config, trained.selection, trained.validation)}

{first}
{second}"""
