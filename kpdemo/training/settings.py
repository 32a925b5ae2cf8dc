"""The settings of the parts that a model is made of, and which of them one call changes for several parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kpdemo.config import load_section
from kpdemo.errors import ConfigError
from kpdemo.training.recipes import RECIPES

CHECKPOINT = "checkpoint"
"""Folder of the result in the folder of a run."""

_CHECKPOINTS = ("first", "second", "start", "bank", "generator")
"""Settings that name the folder of another model or part."""


def settings_of(part: str) -> type[Any]:
    """What the section of a part of a model is read as."""
    if part == "tagger":
        from kpdemo.training.tagger import TaggerConfig

        return TaggerConfig
    if part == "frequency":
        from kpdemo.training.frequency import FrequencyConfig

        return FrequencyConfig
    return RECIPES[part]().settings


def shared_overrides(
    path: Path, parts: Sequence[str], overrides: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """The overrides that each part takes: those whose setting it has. All sections are read and checked.

    Raises:
        ConfigError: no part has the setting, it would put all results into one folder, or a section is wrong.
    """
    if "output" in overrides:
        raise ConfigError(
            "Each part of a model has its own folder, so `output` cannot be set for all: give --output for "
            "the model, or change the configuration."
        )
    kinds = {part: settings_of(part) for part in parts}
    taken = {
        part: {
            key: value for key, value in overrides.items() if key.split(".")[0] in kind.__dataclass_fields__
        }
        for part, kind in kinds.items()
    }
    stray = next((key for key in overrides if not any(key in own for own in taken.values())), None)
    if stray is not None:
        raise ConfigError(
            f"None of the parts {', '.join(parts)} has a setting {stray!r}: check its spelling."
        )
    for part, kind in kinds.items():
        load_section(path, part, kind, taken[part])
    return taken


def check_needed(path: Path, overrides: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse parts that build on a checkpoint or an encoder which is not there.

    A checkpoint may come from a part before; an encoder that the Hub has is not fetched.

    Args:
        overrides: of each part, in the order in which they are trained.

    Raises:
        ConfigError: a checkpoint is missing.
        ModelLoadError: an encoder is.
    """
    from kpdemo.simckp.backbone import check_backbone

    made: set[Path] = set()
    encoders: list[str] = []
    for part, own in overrides.items():
        config = load_section(path, part, settings_of(part), own)
        for name in _CHECKPOINTS:
            needed = getattr(config, name, None)
            if isinstance(needed, Path) and needed not in made and not needed.is_dir():
                raise ConfigError(
                    f"The part {part} needs the checkpoint {needed}, which no part before it makes: "
                    f"train it first, or change `{name}` of [{part}]."
                )
        made.add(config.output / CHECKPOINT)
        if not getattr(config, "share_encoder", False):  # then it is the bank's
            encoders.append(getattr(config, "backbone", ""))
    for encoder in filter(None, dict.fromkeys(encoders)):
        check_backbone(encoder)
