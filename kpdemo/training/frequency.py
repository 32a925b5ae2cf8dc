"""Settings of the document frequencies that the TF-IDF baseline is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kpdemo.evaluation.frequency import FREQUENCY_ASSET
from kpdemo.training.sources import Source, refuse_repeats


@dataclass(frozen=True)
class FrequencyConfig:
    """Where the document frequencies of the TF-IDF baseline are counted."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    data: Path = Path("data")
    output: Path = FREQUENCY_ASSET

    def __post_init__(self) -> None:
        refuse_repeats(self.train, "The document frequency counts")
