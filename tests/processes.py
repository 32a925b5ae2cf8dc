"""Processes that a test looks after."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds until a test gives up what will not come: no machine is so busy that it comes later."""


def wait_for(condition: Callable[[], bool]) -> bool:
    """Whether it comes true, at last."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def exists(process: int) -> bool:
    """Also of a zombie."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
