"""What a folder says that it holds, before anything heavy opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kpdemo.json_text import parse_json
from kpdemo.sums import SUMS

CONFIG = "config.json"
TRAINING = "training"
"""In the configuration of a part that was trained: a hash of its settings and data."""


def stored_config(folder: Path) -> dict[str, Any]:
    """The configuration in a folder: in Transformers' form it has a `model_type`, in ours a `kind`.

    It is empty if it cannot be read; opening the folder then says why.
    """
    try:
        stored = parse_json((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def kind_of(folder: Path) -> str:
    """What the folder says it holds, if it is of ours; empty for another, and as of `stored_config`."""
    return str(stored_config(folder).get("kind", ""))


def is_own(folder: Path) -> bool:
    """Whether a folder claims to be what `train` wrote, and not what Transformers saved."""
    described = stored_config(folder)
    return "model_type" not in described and ("kind" in described or (folder / SUMS).is_file())
