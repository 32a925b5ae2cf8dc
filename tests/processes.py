"""Processes that a test looks after."""

from __future__ import annotations

import os


def exists(process: int) -> bool:
    """Also of a zombie."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
