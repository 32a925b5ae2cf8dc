"""What makes two trainings one run, so that the later goes on where the earlier stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kpdemo.training.loop_config import LoopConfig

_INDECISIVE = ("loop", "output", "cache", "data", "device", "name", "style", "storage", "vectors")
"""Settings that do not decide what is learnt, or do so by what is told apart: data by its content, the loop's
own in `run_fingerprint`."""

_MAY_CHANGE = ("documents", "evaluate_every", "checkpoint_minutes", "patience", "workers", "log_every")
"""Settings of the loop that a run which goes on may have anew."""


def run_identity(settings: Mapping[str, Any], *free: str, **content: object) -> str:
    """All that decides what is learnt, besides the loop's own settings.

    Args:
        free: further settings that do not decide it.
        content: what tells data and models from others in their place, such as hashes; in place of the
            setting of that name, where there is one.
    """
    told = {**settings, **content}
    return str(sorted((name, value) for name, value in told.items() if name not in (*_INDECISIVE, *free)))


def run_fingerprint(config: LoopConfig, precision: str, identity: str) -> str:
    """Of what may not change when a run goes on.

    Args:
        identity: see `run_identity`.
    """
    settings = asdict(config) | {"precision": precision}
    fixed = {name: value for name, value in settings.items() if name not in _MAY_CHANGE}
    return hashlib.sha256(f"{sorted(fixed.items())} {identity}".encode()).hexdigest()
