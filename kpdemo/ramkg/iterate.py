"""Retriever-generator iterative training (RAMKG, section 4.3 and Algorithm 1): its arithmetic and its parts.

A retriever and a generator are trained in turns. The retriever finds English passages for documents whose
own passage nobody knows; where their keyphrases help the generator by more than τ, the first of them is taken
for a translation, and the next retriever learns from it. `kpdemo.ramkg.rgit` runs the rounds.

Anything with the methods of `Retriever` and `Generator` can be trained so: a model is a folder to them, and
a run can be stopped anywhere. As in the paper an F1 is that of one document, present and absent together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import Field

from kpdemo.evaluation.metrics import score_sets
from kpdemo.evaluation.report import markdown_table, percent
from kpdemo.evaluation.retrieval import CUT_OFFS, rank_of, recall_at
from kpdemo.types import Document

_ROUNDING = 1e-9  # 0.8 - 0.75 is more than 0.05 in floating point
Variant = Literal["union", "pretrain"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A document, and the id of the passage in the retriever's corpus that says the same."""

    document: Document
    passage: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage that was found, with its keyphrases and its score, higher is nearer."""

    id: str
    keyphrases: tuple[str, ...] = ()
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Augmented:
    """A document with the keyphrases and the scores of the passages found for it, the best passage first."""

    document: Document
    retrieved: tuple[tuple[str, ...], ...] = ()
    scores: tuple[float, ...] = ()


class Retriever(Protocol):
    """Finds passages of a corpus that it holds."""

    def train(self, pairs: Sequence[Pair], into: Path, *, start: Path | None) -> None:
        """Learn to find each document's passage, and leave the model in the folder `into`.

        Called again after an interruption, it resumes or starts over; the model must come out the same.

        Args:
            start: the model to begin with; None for the pretrained encoder.
        """

    def search(self, model: Path, documents: Sequence[Document], count: int) -> list[list[Retrieved]]:
        """The `count` best passages for each document by the model in a folder, best first."""


class Generator(Protocol):
    """Gives keyphrases to a document with or without retrieved ones."""

    def train(self, examples: Sequence[Augmented], into: Path, *, retriever: Path | None) -> None:
        """Learn to give each document its keyphrases, and leave the model in `into`; see `Retriever.train`.

        Args:
            retriever: the model that found the passages; None for the base model, whose examples have no
                retrieved keyphrases.
        """

    def predict(self, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        """The keyphrases of each document by the model in a folder."""


@dataclass(frozen=True)
class RgitConfig:
    """Attributes:
    rounds: T, the most rounds; the paper's are 6 for products and 3 for papers.
    tau: how much F1 with retrieved keyphrases must exceed F1 without, as a fraction of 1.
    passages: m, passages whose keyphrases the generator is given; the paper's are 5 and 1.
    variant: "union" trains a retriever on pseudo and parallel pairs together (Algorithm 1, line 8),
        "pretrain" first on pseudo pairs and then on parallel ones (the end of section 4.3, and the authors'
        code).
    recall_at: k of the recall that must rise.
    final_generator: whether a last generator is trained on all documents with the best retriever.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    rounds: Annotated[int, Field(ge=1)] = 3
    tau: Annotated[float, Field(ge=-1, le=1)] = 0.05
    passages: Annotated[int, Field(ge=1)] = 1
    variant: Variant = "pretrain"
    recall_at: Literal[1, 2, 5, 10, 20] = 5
    final_generator: bool = True


@dataclass(frozen=True)
class RgitData:
    """Attributes:
    parallel: documents whose passages are known.
    others: documents with keyphrases whose passages are unknown, or held back.
    validation: pairs on which recall is measured, of documents that are never trained on.
    truth: document id to passage id for as many of `others` as are known, to count how many pseudo pairs
        are right; never trained on.
    """

    parallel: Sequence[Pair]
    others: Sequence[Document]
    validation: Sequence[Pair]
    truth: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pseudo:
    """What a round says of its pseudo pairs.

    Attributes:
        pairs: document id and passage id, in the order of the documents.
        checked: of how many of them the true passage is known.
        right: of how many of these it is the one found.
        base_f1, f1: means over all documents with keyphrases, without and with retrieval.
    """

    pairs: tuple[tuple[str, str], ...]
    checked: int
    right: int
    base_f1: float
    f1: float

    @property
    def label_accuracy(self) -> float | None:
        """Of 1 (the paper's Table 5); None where no true passage is known."""
        return self.right / self.checked if self.checked else None


@dataclass(frozen=True, slots=True)
class Round:
    """Attributes:
    number: from 1.
    trained_on: pseudo pairs that its retriever learnt from.
    recall: of its retriever on the validation pairs, by k (Table 4).
    pseudo: None in a round that stopped the run before it was mined.
    """

    number: int
    trained_on: int
    recall: Mapping[int, float]
    pseudo: Pseudo | None = None


def document_f1(document: Document, keyphrases: Iterable[str]) -> float | None:
    """F1 from 0 to 1; None for a document without gold keyphrases."""
    scores = score_sets(document.keyphrases, keyphrases)
    return None if scores is None else scores.f1


def mine(
    documents: Sequence[Document],
    found: Sequence[Sequence[Retrieved]],
    base: Sequence[Sequence[str]],
    augmented: Sequence[Sequence[str]],
    *,
    tau: float,
    truth: Mapping[str, str],
) -> Pseudo:
    """Keep each document's first passage where retrieval beats the base by more than τ (lines 17 to 25).

    Args:
        found: passages of each document, best first.
        base, augmented: predicted keyphrases of each, without and with those of the passages.
        truth: document id to the id of its true passage.

    Raises:
        ValueError: the lists differ in length.
    """
    pairs, gains = [], []
    for document, passages, without, with_them in zip(documents, found, base, augmented, strict=True):
        old, new = document_f1(document, without), document_f1(document, with_them)
        if old is None or new is None:
            continue
        gains.append((old, new))
        if passages and new - old > tau + _ROUNDING:
            pairs.append((document.id, passages[0].id))
    known = [(passage, truth[document]) for document, passage in pairs if document in truth]
    return Pseudo(
        pairs=tuple(pairs),
        checked=len(known),
        right=sum(passage == true for passage, true in known),
        base_f1=sum(old for old, _ in gains) / max(len(gains), 1),
        f1=sum(new for _, new in gains) / max(len(gains), 1),
    )


def recall_of(pairs: Sequence[Pair], found: Sequence[Sequence[Retrieved]]) -> dict[int, float]:
    """Recall at each of `CUT_OFFS`: the share of documents whose passage is among the first k.

    Raises:
        ValueError: there is no pair, or the lists differ in length.
    """
    return recall_at(
        [
            rank_of(pair.passage, [passage.id for passage in passages])
            for pair, passages in zip(pairs, found, strict=True)
        ]
    )


def best_round(rounds: Sequence[Round], k: int) -> Round:
    """The round with the highest recall at k, the earliest of equals."""
    return max(rounds, key=lambda entry: (entry.recall[k], -entry.number))


def has_stopped_rising(rounds: Sequence[Round], k: int) -> bool:
    """Whether the last round's recall at k is no higher than that of an earlier one."""
    return len(rounds) > 1 and best_round(rounds, k) is not rounds[-1]


def recall_table(rounds: Sequence[Round]) -> str:
    """Table 4 in Markdown, a row for each round, in percent; the first is RAMKG's without iteration."""
    rows = [[f"Round {entry.number}", *(percent(entry.recall[k]) for k in CUT_OFFS)] for entry in rounds]
    return markdown_table(["Recall at", *map(str, CUT_OFFS)], rows)


def pseudo_table(rounds: Sequence[Round]) -> str:
    """Table 5 in Markdown: pseudo pairs and their label accuracy in each round that mined."""
    mined = [(entry.number, entry.pseudo) for entry in rounds if entry.pseudo is not None]
    rows = [
        ["Pseudo passages", *(f"{len(pseudo.pairs):,}" for _, pseudo in mined)],
        ["Label accuracy", *(percent(pseudo.label_accuracy) for _, pseudo in mined)],
    ]
    return markdown_table(["Iteration", *(str(number) for number, _ in mined)], rows)
