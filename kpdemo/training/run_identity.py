"""The identity of a training run: a training with the same one resumes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kpdemo.training.loop_config import LoopConfig

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
