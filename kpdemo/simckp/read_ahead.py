"""Documents prepared for the networks, in this process or, for a GPU, ahead of time in other processes.

Preparing a text takes a CPU core longer than a GPU computes with it. No PyTorch here: without it the
processes start sooner and take less memory.
"""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any

from tokenizers import Tokenizer

from kpdemo.candidates.chunks import Candidate, CandidateConfig
from kpdemo.candidates.coordination import SharedHead, shared_heads
from kpdemo.candidates.mining import mine_candidates
from kpdemo.candidates.tagger import Tagger
from kpdemo.errors import ModelStoppedError
from kpdemo.simckp.examples import Example, build_example, document_tokens
from kpdemo.simckp.terms import TermIndex, TextTerms
from kpdemo.text import is_english
from kpdemo.types import Document, Span
from kpdemo.worker import ModelWorker, usable_cores

MOST_PROCESSES = 15
CHUNK = 16
"""Documents that a process reads at a time."""
LEAST = 4 * CHUNK
"""Documents from which on others read: to hand fewer over takes as long as to read them."""

_AHEAD = 4  # chunks for each process, that none waits for the networks

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """Attributes:
    example: of the extractor, with a row for each of `candidates`.
    tokens: of the bank's encoder; none without a bank.
    terms: of the bank, in the text.
    shared: phrases that the text says without their words standing together; none without a bank.
    """

    candidates: list[Candidate]
    example: Example
    tokens: list[int]
    terms: TextTerms
    shared: list[SharedHead] = field(default_factory=list)

    def __reduce__(self) -> tuple[Any, ...]:
        """The candidates without their class: hundreds of small objects take long to pickle."""
        phrases = [(candidate.key, candidate.spans) for candidate in self.candidates]
        return _restore, (phrases, self.example, self.tokens, self.terms, self.shared)


def _restore(
    phrases: Sequence[tuple[str, tuple[Span, ...]]],
    example: Example,
    tokens: list[int],
    terms: TextTerms,
    shared: list[SharedHead],
) -> ReadDocument:
    return ReadDocument([Candidate(key, spans) for key, spans in phrases], example, tokens, terms, shared)


@dataclass(frozen=True)
class DocumentReader:
    """All that a document is read with; other processes take it as a pickle.

    Attributes:
        window, overlap: of the extractor, in tokens.
        bank_tokenizer, bank_length: of the bank's encoder; None and 0 without a bank.
        terms: of the bank; none without one.
    """

    tagger: Tagger
    tokenizer: Tokenizer
    candidates: CandidateConfig
    window: int
    overlap: int
    bank_tokenizer: Tokenizer | None
    bank_length: int
    terms: TermIndex

    def read(self, documents: Sequence[Document]) -> list[ReadDocument]:
        return list(map(self.read_one, documents))

    def read_one(self, document: Document) -> ReadDocument:
        candidates = mine_candidates(document, self.tagger, self.candidates)
        example = build_example(
            document, candidates, self.tokenizer, window=self.window, overlap=self.overlap
        )
        bank = self.bank_tokenizer
        tokens = document_tokens(document, bank, self.bank_length) if bank else []
        shared = shared_heads(document, self.tagger) if bank and is_english(document.language) else []
        return ReadDocument(candidates, example, tokens, self.terms.read(document), shared)


class ReadAhead:
    """Processes with a `DocumentReader` each.

    They start with the first documents and end with the program, or when nothing refers to this object.
    """

    def __init__(self, reader: DocumentReader, processes: int) -> None:
        self._reader = reader
        self._ahead = _AHEAD * processes
        self._threads = ThreadPoolExecutor(processes)  # one waits for each process
        self._idle: SimpleQueue[ModelWorker] = SimpleQueue()
        for worker in (ModelWorker(partial(_return_reader, reader)) for _ in range(processes)):
            self._idle.put(worker)
            weakref.finalize(self, worker.close)

    def read(self, documents: Sequence[Document]) -> Iterator[ReadDocument]:
        """The documents in their order; those that follow are read meanwhile."""
        waiting: deque[Future[list[ReadDocument]]] = deque()
        try:
            for first in range(0, len(documents), CHUNK):
                waiting.append(self._threads.submit(self._ask, documents[first : first + CHUNK]))
                if len(waiting) > self._ahead:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def _ask(self, documents: Sequence[Document]) -> list[ReadDocument]:
        worker = self._idle.get()
        try:
            read: list[ReadDocument] = worker.call("reader", "read", list(documents))
        except ModelStoppedError as error:
            logger.warning("a process that reads documents ahead stopped (%s)", error)
            return self._reader.read(documents)
        finally:
            self._idle.put(worker)
        return read


def processes_for(device: str) -> int:
    """How many processes read ahead for networks on `device`: one a core that is left, for a GPU only."""
    others = usable_cores() - 1
    return min(others, MOST_PROCESSES) if device == "cuda" and others > 1 else 0


def _return_reader(reader: DocumentReader, _name: str) -> Any:
    """What a `ModelWorker` calls to load, where the reader came along."""
    return reader
