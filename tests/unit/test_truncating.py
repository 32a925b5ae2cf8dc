"""Threads that share a tokenizer."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace

import pytest

from kpdemo.simckp.examples import TURN, encode_windows, text_tokens


class WaitingTokenizer:
    """Its first text is read slowly enough for another thread to set another length meanwhile."""

    def __init__(self):
        self.length, self.reads, self.set_again = 0, Event(), Event()

    def no_padding(self):
        pass

    def enable_truncation(self, length, stride=0):
        if self.reads.is_set():
            self.set_again.set()
        self.length = length

    def encode(self, text):
        self.reads.set()
        self.set_again.wait(0.2)
        return SimpleNamespace(ids=text.split()[: self.length], overflowing=[])


def test_each_thread_gets_as_many_tokens_as_it_asked_for():
    tokenizer = WaitingTokenizer()
    with ThreadPoolExecutor() as threads:
        long = threads.submit(encode_windows, tokenizer, "a b c d", 4, 0)
        tokenizer.reads.wait()
        assert text_tokens("a b c d", tokenizer, 2) == ["a", "b"]
        [window] = long.result()
    assert window.ids == ["a", "b", "c", "d"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_forked_while_a_thread_reads_can_read_too():
    reads = Event()

    def read():
        with TURN:
            reads.set()
            time.sleep(0.1)

    with ThreadPoolExecutor() as threads:
        threads.submit(read)
        reads.wait()
        child = os.fork()
        if child == 0:
            os._exit(0 if TURN.acquire(timeout=2) else 1)
    assert os.waitpid(child, 0)[1] == 0
