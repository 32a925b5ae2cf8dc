"""How many processor cores there are to use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Those that this process may run on, at least 1: a batch system may have given it a few of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
