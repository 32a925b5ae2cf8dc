"""Tokenizers that read texts up to a length, of which each thread that shares one may ask for another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from tokenizers import Tokenizer

_TURN = Lock()

if hasattr(os, "register_at_fork"):  # else a process forked during a turn would wait for its end for ever
    os.register_at_fork(before=_TURN.acquire, after_in_parent=_TURN.release, after_in_child=_TURN.release)


@contextmanager
def truncating(tokenizer: Tokenizer, length: int, overlap: int = 0) -> Iterator[None]:
    """Within it, the tokenizer cuts texts into windows of `length` tokens, and pads none.

    A tokenizer has one length for all threads: whoever sets it must read before another one does.

    Args:
        overlap: tokens that a window shares with the next.
    """
    with _TURN:
        tokenizer.no_padding()
        tokenizer.enable_truncation(length, stride=overlap)
        yield
