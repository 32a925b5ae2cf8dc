"""Passages whose vectors are known without a model."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import numpy as np

from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.types import Document

WIDTH = 24
CLUSTERS = 30


class SeededEncoder:
    """A passage's vector is drawn with its text, a number, as the seed: near one of a few centres."""

    def __init__(self, *, identity: str = "a" * 64, dies_at: int | None = None) -> None:
        self.config = EncoderConfig("seeded")
        self.identity = identity
        self.width = WIDTH
        self.device = "cpu"
        self.encoded = 0
        self._dies_at = dies_at

    def passages(self, documents: Sequence[Document]) -> np.ndarray:
        if self._dies_at is not None and self.encoded >= self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.encoded += len(documents)
        vectors = [self._vector(int(document.body)) for document in documents]
        return np.array(vectors, dtype=np.float32).reshape(-1, WIDTH)

    queries = passages

    def _vector(self, seed: int) -> np.ndarray:
        centre = np.random.default_rng(seed % CLUSTERS).normal(size=WIDTH)
        vector = centre + 0.7 * np.random.default_rng(1000 + seed).normal(size=WIDTH)
        return vector / np.linalg.norm(vector)


def passage(number: int, *keyphrases: str, language: str = "en") -> Document:
    return Document(str(number), f"Title {number}", f"p{number}", keyphrases, language)


def numbered(count: int, *, first: int = 0) -> list[tuple[int, Document]]:
    """`count` passages with the lines where they would stand."""
    return [(line, passage(first + line - 1, f"phrase {line}")) for line in range(1, count + 1)]
