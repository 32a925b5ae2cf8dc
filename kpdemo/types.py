"""The values that travel between the parts of kpdemo; standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Span = tuple[int, int]
"""Character offsets, start inclusive and end exclusive, into `Document.text`."""

TITLE_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class Document:
    """A text to read, with its title apart when it has one.

    `keyphrases` are the gold keyphrases, when known.
    """

    body: str
    title: str = ""
    id: str = ""
    keyphrases: tuple[str, ...] = ()
    language: str = "en"

    @property
    def text(self) -> str:
        """Title, blank line, body: what every span counts from. Without a title, the body as it is."""
        return f"{self.title}{TITLE_BREAK}{self.body}" if self.title else self.body

    @property
    def body_start(self) -> int:
        """Where the body begins in `text`."""
        return len(self.title) + len(TITLE_BREAK) if self.title else 0


@dataclass(frozen=True, slots=True)
class Keyphrase:
    """A predicted keyphrase; `score` is between 0 and 1, higher is better.

    `spans` are all its occurrences in the document's text, in order; an absent keyphrase has none.
    """

    text: str
    score: float
    spans: tuple[Span, ...] = ()

    @property
    def present(self) -> bool:
        return bool(self.spans)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The keyphrases of one document, each list sorted by score, best first."""

    present: tuple[Keyphrase, ...]
    absent: tuple[Keyphrase, ...] = ()
    language: str = "en"


class Predictor(Protocol):
    """Anything that finds keyphrases: the trained model, a baseline, a fake in a test."""

    @property
    def name(self) -> str: ...

    @property
    def device(self) -> str:
        """ "cpu" or "cuda"; where the next prediction runs."""

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """Find the keyphrases of each document, in the order given.

        Args:
            documents: plain strings are documents without a title.
            top_k: exactly so many of each kind, or all there are when fewer.
            threshold: all that score at least so much, in the units of `Keyphrase.score`; with
                `top_k` at most so many of them. With neither, the predictor's own rule decides.

        Raises:
            InputError: a document is empty or in a script that is not read, or an option is out of range.
        """
