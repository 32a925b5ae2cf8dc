"""Tokenizers that read texts up to a length, of which each thread that shares one may ask for another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from tokenizers import Tokenizer

TURN = Lock()
"""Held by who sets up a tokenizer until it has read: a tokenizer has one length for all threads."""

if hasattr(os, "register_at_fork"):  # else a process forked during a turn would wait for its end for ever
    os.register_at_fork(before=TURN.acquire, after_in_parent=TURN.release, after_in_child=TURN.release)


@contextmanager
def truncating(tokenizer: Tokenizer, length: int, overlap: int = 0) -> Iterator[None]:
    """Within it, the tokenizer cuts texts into windows of `length` tokens, and pads none.

    Args:
        overlap: tokens that a window shares with the next.
    """
    with TURN:
        tokenizer.no_padding()
        tokenizer.enable_truncation(length, stride=overlap)
        yield
