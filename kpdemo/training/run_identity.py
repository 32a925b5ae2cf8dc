"""The identity of a training run: one with the same identity resumes it, and may replace what it made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from kpdemo.simckp.folders import content_hash, write_config
from kpdemo.stored_config import TRAINING, stored_config
from kpdemo.sums import write_sums
from kpdemo.training.loop_config import LoopConfig
from kpdemo.training.sources import Source, source_hashes

_INDECISIVE = ("loop", "output", "cache", "data", "device", "name", "style", "storage", "vectors")
"""Settings that do not affect what is learnt, or enter otherwise: data by its content, the loop's settings in
`run_fingerprint`."""

_MAY_CHANGE = ("documents", "evaluate_every", "checkpoint_minutes", "patience", "workers", "log_every")
"""Settings of the loop that may change when a run is resumed."""


def run_identity(settings: Mapping[str, Any], *free: str, **content: object) -> str:
    """All that decides what is learnt, except the loop's own settings.

    Args:
        free: further settings that do not decide it.
        content: identifies data and models, such as by hashes; it replaces the setting of that name, if any.
    """
    told = {**settings, **content}
    return str(sorted((name, value) for name, value in told.items() if name not in (*_INDECISIVE, *free)))


def run_fingerprint(config: LoopConfig, precision: str, identity: str) -> str:
    """A hash of what must not change when a run is resumed.

    Args:
        identity: see `run_identity`.
    """
    settings = asdict(config) | {"precision": precision}
    fixed = {name: value for name, value in settings.items() if name not in _MAY_CHANGE}
    return hashlib.sha256(f"{sorted(fixed.items())} {identity}".encode()).hexdigest()


def note_training(folder: Path, settings: Any) -> None:
    """Note in a part's checkpoint which training made it: `train model` tells models of one name apart by it.

    A longer run of the same training is noted as the same.

    Args:
        settings: of the part.
    """
    told = repr(_decisive(settings, settings.data))
    write_config(folder, stored_config(folder) | {TRAINING: hashlib.sha256(told.encode()).hexdigest()})
    write_sums(folder)


def _decisive(value: Any, data: Path) -> Any:
    """A setting with all settings in it that decide what is learnt; data and checkpoints by their content."""
    if isinstance(value, Source):
        return source_hashes([value], data)
    if isinstance(value, tuple):
        return [_decisive(one, data) for one in value]
    if isinstance(value, Path):
        return stored_config(value).get(TRAINING) or content_hash(value)
    if is_dataclass(value):
        free = {*_INDECISIVE, *_MAY_CHANGE} - {"loop"}
        told = [setting.name for setting in fields(value) if setting.name not in free]
        return [(name, _decisive(getattr(value, name), data)) for name in told]
    return value
