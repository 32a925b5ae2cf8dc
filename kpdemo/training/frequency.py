"""Counting of the document frequencies that the TF-IDF baseline is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kpdemo.candidates.chunks import HYPHENS
from kpdemo.candidates.tagger import tokenize
from kpdemo.errors import TrainingError
from kpdemo.evaluation.baselines import FREQUENCY_ASSET, DocumentFrequency
from kpdemo.io.files import check_place, json_gz, replace_file
from kpdemo.text import stem
from kpdemo.training.data import Source, refuse_repeats
from kpdemo.types import Document

LONGEST_NGRAM = 3
MINIMUM = 20
COMMON = 0.6  # a word in so large a share of the documents may not begin or end a longer term


@dataclass(frozen=True)
class FrequencyConfig:
    """Where the document frequencies of the TF-IDF baseline are counted."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    data: Path = Path("data")
    output: Path = FREQUENCY_ASSET

    def __post_init__(self) -> None:
        refuse_repeats(self.train, "The document frequency counts")


def build_document_frequency(documents: Iterable[Document]) -> DocumentFrequency:
    """Count in how many documents each term of at most three words occurs, level by level.

    A longer term is counted only when both its shorter halves are kept, so that memory stays in
    proportion to what is kept.

    Raises:
        TrainingError: there are no documents, or no term is in `MINIMUM` of them.
    """
    texts = [_phrases(document) for document in documents]
    if not texts:
        raise TrainingError("There are no documents to count: give a file with some.")
    kept: dict[str, int] = {}
    common: set[str] = set()

    def wanted(words: Sequence[str]) -> bool:
        if len(words) == 1:
            return True
        return (
            words[0] not in common
            and words[-1] not in common
            and _is_known(words[:-1], kept, common)
            and _is_known(words[1:], kept, common)
        )

    for length in range(1, LONGEST_NGRAM + 1):
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update({" ".join(words) for words in _windows(text, length) if wanted(words)})
        kept.update({term: count for term, count in counts.items() if count >= MINIMUM})
        if length == 1:
            common = {term for term, count in kept.items() if count > COMMON * len(texts)}
    if not kept:
        raise TrainingError(f"No term is in {MINIMUM} of the {len(texts)} documents: give more documents.")
    return DocumentFrequency(len(texts), MINIMUM, dict(sorted(kept.items())))


def _is_known(words: Sequence[str], kept: dict[str, int], common: set[str]) -> bool:
    # "quality of" is never kept, for "of" may not end a term, yet "quality of service" is one
    if words[0] in common or words[-1] in common:
        return all(word in kept for word in words)
    return " ".join(words) in kept


def _phrases(document: Document) -> list[list[str]]:
    """Runs of stems between punctuation marks, hyphens left out."""
    runs: list[list[str]] = [[]]
    for part in (document.title, document.body):
        for token in tokenize(part):
            if any(map(str.isalnum, token.text)):
                runs[-1].append(stem(token.text))
            elif token.text not in HYPHENS:
                runs.append([])
        runs.append([])
    return [run for run in runs if run]


def _windows(text: Sequence[Sequence[str]], length: int) -> Iterator[Sequence[str]]:
    for run in text:
        for first in range(len(run) - length + 1):
            yield run[first : first + length]


def train_frequency(documents: Iterable[Document], output: Path) -> DocumentFrequency:
    """Count the terms of `documents` and write the table to `output`.

    Raises:
        OSError: it cannot be written; where that can be seen, before the first document is read.
    """
    check_place(output)
    frequency = build_document_frequency(documents)
    stored = {"documents": frequency.documents, "minimum": frequency.minimum, "terms": frequency.terms}
    replace_file(output, json_gz(stored))
    return frequency
