"""What a rater is given to grade: a project's order, a pair as its raters may see it, training pairs.

What a rater's page calls a pair: a name that does not tell when the pair was made, or after which other.
Ids count up. Hidden check pairs are imported together, so that their ids would stand in a block and give them
away. A name is the id, turned over by a key that only the server has: a Feistel network of four rounds, which
needs no table and always gives the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Protocol

from annotation.senses import PairSenses


def position_of(seed: int, type: str, external_id: str) -> int:
    """The place of a pair in a random order that the seed alone decides: 0 to 2**63 - 1.

    It depends on no other pair, so that a later import leaves the order of the earlier pairs as it was.
    """
    digest = sha256(f"{seed}:{type}:{external_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class Ordered(Protocol):
    """The order of a project, as its settings or its row have it."""

    @property
    def is_random(self) -> bool: ...

    @property
    def seed(self) -> int: ...


def position_in(project: Ordered, type: str, external_id: str, import_order: int) -> int:
    """Where a pair or larger item stands in the order of its project: random, or as it was imported."""
    return position_of(project.seed, type, external_id) if project.is_random else import_order


@dataclass(frozen=True, slots=True)
class PairForRater:
    """A pair and what this rater said of it. Genre, intended grade, source and id in the file stay hidden."""

    id: int
    type: str
    left: str
    right: str
    grade: Decimal | None = None
    comment: str = ""
    is_flagged: bool = False
    rated_at: datetime | None = None
    senses: PairSenses | None = None


@dataclass(frozen=True, slots=True)
class RaterProject:
    """What a rater needs to know of the project."""

    id: int
    name: str
    step: Decimal
    may_revise: bool


@dataclass(frozen=True, slots=True)
class Progress:
    rated: int
    total: int
    """As many as this rater can have graded in the end: graded, held and open to them, up to their share."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The pair to grade now and the ones after it."""

    project: RaterProject
    pairs: tuple[PairForRater, ...]
    is_waiting: bool
    """Nothing now, but others hold pairs that may come back."""
    progress: Progress
    is_share_graded: bool = False
    """Nothing more: they have graded as many pairs as the project gives a rater at most."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A grade that is committed, and the rater's queue after it."""

    at: datetime
    queue: Queue


_ROUNDS = 4
_HALF = 4
"""Bytes of each half; an id fits into one."""
_NAME = re.compile(r"[0-9a-f]{16}", re.ASCII)


class PairNames:
    """Names of pairs by a key, which is asked for when the first name is."""

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._ask = key

    @cached_property
    def _key(self) -> bytes:
        return self._ask()

    def name_of(self, pair_id: int) -> str:
        """The name of a pair: 16 hexadecimal digits."""
        left, right = bytes(_HALF), pair_id.to_bytes(_HALF, "big")
        for round in range(_ROUNDS):
            left, right = right, bytes(self._mixed(left, right, round))
        return (left + right).hex()

    def id_of(self, name: str) -> int | None:
        """The id behind a name; None when the name is none of ours."""
        if _NAME.fullmatch(name) is None:
            return None
        whole = bytes.fromhex(name)
        left, right = whole[:_HALF], whole[_HALF:]
        for round in reversed(range(_ROUNDS)):
            left, right = bytes(self._mixed(right, left, round)), left
        return None if any(left) else int.from_bytes(right, "big")

    def _mixed(self, one: bytes, other: bytes, round: int) -> Iterator[int]:
        digest = blake2b(bytes([round]) + other, key=self._key, digest_size=_HALF).digest()
        return (a ^ b for a, b in zip(one, digest, strict=True))


class TrainingPhase(StrEnum):
    OPEN = "open"
    """There are pairs to grade."""
    FAILED = "failed"
    """All are graded and too few were accepted: they may try again."""
    PASSED = "passed"


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """A rater's attempt at the training pairs."""

    attempt: int
    phase: TrainingPhase
    graded: int
    pairs: int
    accepted: int
    distance: Decimal
    """So far from the known grade, or nearer, is accepted."""
    pass_percent: int


@dataclass(frozen=True, slots=True)
class TrainingQueue:
    project: RaterProject
    progress: TrainingProgress
    pairs: tuple[PairForRater, ...]
    """The next one to grade; their ids are those of training pairs."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """How a training grade compares with the known one, and what comes next."""

    at: datetime
    grade: Decimal
    known: Decimal
    is_accepted: bool
    explanation: str
    queue: TrainingQueue
