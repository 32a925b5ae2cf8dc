"""Predicted keyphrases that are graded: the pool of several models, and in which order raters meet it.

A pool tells nothing of its models: its order is that of a hash, and a phrase that several models predict
stands in it once, in the spelling that most of them use.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from annotation.translation import mark

TYPE = "document2keyphrase"
TITLE_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class PredictedPhrase:
    """A phrase as a model gave it."""

    text: str
    score: float
    """0 to 1, higher is better."""
    is_present: bool
    key: str
    """What makes it the same as another, see `annotation.predictions`."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one model predicted for one document; it may be nothing."""

    model: str
    phrases: tuple[PredictedPhrase, ...]

    def rank(self) -> tuple[PredictedPhrase, ...]:
        """Best first, each phrase once: by score, at the same score the present ones, then as listed."""
        best: dict[str, PredictedPhrase] = {}
        for phrase in sorted(self.phrases, key=lambda phrase: (-phrase.score, not phrase.is_present)):
            best.setdefault(phrase.key, phrase)
        return tuple(best.values())


@dataclass(frozen=True, slots=True)
class PredictedDocument:
    """A document with the runs of one model or several."""

    id: str
    """Empty for a text that was pasted: then it is named after its content."""
    title: str
    body: str
    language: str
    runs: tuple[Run, ...]

    @property
    def text(self) -> str:
        """Title, blank line, body: the larger item of its pairs."""
        return f"{self.title}{TITLE_BREAK}{self.body}" if self.title else self.body

    @property
    def fingerprint(self) -> str:
        """The same for documents that read the same, as the fingerprint of a pair."""
        return sha256(" ".join(unicodedata.normalize("NFC", self.text).split()).encode()).hexdigest()

    @property
    def name(self) -> str:
        return self.id or f"document-{self.fingerprint[:8]}"


@dataclass(frozen=True, slots=True)
class PooledPhrase:
    """A phrase that at least one model predicted for a document."""

    key: str
    text: str
    is_present: bool


def pool(document: PredictedDocument) -> tuple[PooledPhrase, ...]:
    """The phrases of all runs, each once, in an order that tells nothing of models, ranks or scores."""
    spellings: dict[str, Counter[str]] = {}
    present: set[str] = set()
    for run in document.runs:
        for phrase in run.rank():
            spellings.setdefault(phrase.key, Counter())[phrase.text] += 1
            if phrase.is_present:
                present.add(phrase.key)
    order = sorted(spellings, key=lambda key: sha256(f"{document.fingerprint}:{key}".encode()).digest())
    return tuple(PooledPhrase(key, _spelling(spellings[key]), key in present) for key in order)


def pair_name(document: str, key: str) -> str:
    """The id of the pair of a document and a phrase; it tells nothing but which document it is of."""
    return f"{document}-{sha256(key.encode()).hexdigest()[:10]}"


def uncertainty(scores: Sequence[float], models: int) -> float:
    """How little the models' scores decide, 0 (all certain) to 1 (even).

    With p the mean of the scores, where a model that did not give the phrase scored it 0, 1 - |2p - 1|.

    Args:
        scores: of the models that gave the phrase, 0 to 1.
        models: how many read the document.
    """
    mean = min(1.0, max(0.0, sum(scores) / models)) if models else 0.0
    return 1 - abs(2 * mean - 1)


def _spelling(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda text: (-spellings[text], text))


class QueueOrder(StrEnum):
    PROJECT = "project"
    """As set for the project: random, or as imported."""
    UNCERTAIN = "uncertain"
    """First what the models' scores decide least."""
    MIXED = "mixed"
    """In turns the most uncertain one and the next of the project's order."""
    DOCUMENT = "document"
    """All of a document one after the other, at the document's place in the project's order."""


ORDER_NAMES = {
    QueueOrder.DOCUMENT: mark("Document by document"),
    QueueOrder.PROJECT: mark("As set for the project"),
    QueueOrder.UNCERTAIN: mark("Most uncertain first"),
    QueueOrder.MIXED: mark("Mixed: an uncertain pair and the project's next, in turn"),
}
"""As pages offer them."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A pair that may change places with others."""

    pair_id: int
    position: int
    """Now."""
    own: int
    """Its position in the project's order."""
    uncertainty: float
    """0 to 1."""
    document: int
    """Where its document stands in the project's order; of a pair without one, its own position."""


def positions_by_document(pairs: Sequence[Moving]) -> dict[int, int]:
    """The position of each pair: those of a document follow each other from the document's place on.

    A pair whose place is taken by a document before it moves up, no further than needed. No position is
    above the highest of the pairs' own, so that what is imported later in the order of import comes last;
    only in a random order may the end of a document reach above it, where positions are far apart.
    """
    positions: dict[int, int] = {}
    free = 0
    for pair in sorted(pairs, key=lambda pair: (pair.document, pair.own, pair.pair_id)):
        positions[pair.pair_id] = max(free, pair.document)
        free = positions[pair.pair_id] + 1
    return positions


def new_positions(pairs: Sequence[Moving], order: QueueOrder) -> dict[int, int]:
    """The position of each pair: the pairs take the places that they have together in another order.

    So no pair of theirs meets a place of others', and these stay where they are.

    Args:
        order: any but the one by document, of which `positions_by_document` has the positions.
    """
    own = sorted(pairs, key=lambda pair: (pair.own, pair.pair_id))
    certain_last = sorted(own, key=lambda pair: -pair.uncertainty)  # stable: equal ones in the own order
    if order is QueueOrder.PROJECT:
        chosen = own
    elif order is QueueOrder.UNCERTAIN:
        chosen = certain_last
    else:
        chosen = _in_turns(certain_last, own)
    places = sorted(pair.position for pair in pairs)
    return {pair.pair_id: place for pair, place in zip(chosen, places, strict=True)}


def _in_turns(first: Sequence[Moving], second: Sequence[Moving]) -> list[Moving]:
    """The next of each list that the other has not had yet, in turns."""
    chosen: dict[int, Moving] = {}
    sources = (iter(first), iter(second))
    while len(chosen) < len(first):
        source = sources[len(chosen) % 2]
        pair = next(pair for pair in source if pair.pair_id not in chosen)
        chosen[pair.pair_id] = pair
    return list(chosen.values())
