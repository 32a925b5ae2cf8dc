"""What a folder says that it holds, before anything heavy opens it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_CONFIG = "config.json"


def stored_config(folder: Path) -> dict[str, Any]:
    """The configuration in a folder: in Transformers' form it has a `model_type`, in ours a `kind`.

    It is empty where it cannot be read, which whoever opens the folder explains.
    """
    try:
        stored = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}
