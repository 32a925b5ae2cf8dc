"""Forked processes that go on with a model which was loaded before."""

from __future__ import annotations

import os
import sys
from functools import cache

_THREADS = {"torch": "set_num_threads", "faiss": "omp_set_num_threads"}
"""What says with how many threads a library computes."""


@cache
def keep_forks_going() -> None:
    """Let processes that are forked from now on compute with one thread, as PyTorch's data loaders do.

    The libraries' other threads are not in a forked process: it would wait for them for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_use_one_thread)


def _use_one_thread() -> None:
    for library, setter in _THREADS.items():
        if library in sys.modules:
            getattr(sys.modules[library], setter)(1)
