"""What `configs/experiments.toml` says in its section [experiments]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from kpdemo.errors import ConfigError
from kpdemo.training.sources import Source

DEFAULT_CONFIG = Path(__file__).parents[2] / "configs" / "experiments.toml"

Table = Literal["ablation", "negatives", "ngrams"]

DOMAINS = ("in-domain", "out-of-domain")
"""What the paper calls the documents it measures variants on."""


@dataclass(frozen=True)
class Variant:
    """Attributes:
    part: which section of the configuration it is trained by, as `train PART` does.
    tables: where it is shown.
    set: settings of that section that differ, such as {"model.head": "classifier"}.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    tables: tuple[Table, ...]
    part: Literal["extractor", "labeller", "one2seq"] = "extractor"
    set: Mapping[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(frozen=True)
class ExperimentsConfig:
    """Attributes:
    measured: documents to measure on, by the names `DOMAINS`; those that validation holds are left out.
    runs: a folder for the training of each variant.
    seeds: every variant is trained with each.
    lengths: most words of a candidate, for Figure 3.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    variants: tuple[Variant, ...]
    measured: Mapping[str, Source]
    runs: Path = Path("runs/variants")
    seeds: tuple[int, ...] = (42,)
    lengths: tuple[int, ...] = (1, 2, 3, 4, 5, 6)

    def __post_init__(self) -> None:
        if self.measured.keys() != set(DOMAINS):
            raise ConfigError(
                f"`measured` has the names {', '.join(self.measured) or 'none'}: give it "
                f"{' and '.join(DOMAINS)}, which the page of results shows."
            )

    def of(self, table: Table) -> list[Variant]:
        """The variants that a table shows."""
        return [variant for variant in self.variants if table in variant.tables]


def as_toml(value: Any) -> str:
    """A single value as `kpdemo.config.load_section` takes it in its overrides."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
