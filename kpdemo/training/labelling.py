"""How a document becomes an example with its gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from kpdemo.candidates.chunks import (
    Candidate,
    CandidateConfig,
    candidate_key,
    mine_candidates,
    random_candidates,
)
from kpdemo.candidates.tagger import load_tagger
from kpdemo.simckp.examples import Example, build_example
from kpdemo.text import StemmedText, phrase_key
from kpdemo.types import Document

RANDOM_SEED = 1
"""Of random negatives: they are drawn once, for the cache."""


@dataclass(frozen=True)
class ExampleSettings:
    """All that decides how a document becomes an example; part of the cache's name.

    Attributes:
        tokenizer: the backbone's name or folder; the cache's name has its content.
        random_negatives: in place of the candidates that are not gold, as many random runs of words.
    """

    tokenizer: str
    window: int
    overlap: int
    candidates: CandidateConfig
    random_negatives: bool = False


@dataclass(frozen=True)
class LabelledExample:
    """An example with its gold.

    Attributes:
        positive: (P,) bool, which of its candidates are gold.
        absent: the token ids of each keyphrase that the document does not hold, in the authors' order.
    """

    example: Example
    positive: NDArray[np.bool_]
    absent: tuple[NDArray[np.int64], ...] = ()

    @property
    def tokens(self) -> int:
        return sum(len(window) for window in self.example.windows)


def label_document(document: Document, settings: ExampleSettings, tokenizer: Tokenizer) -> LabelledExample:
    """Mine, align and label one document; candidates beyond its first window are left out."""
    candidates = mine_candidates(document, load_tagger(), settings.candidates)
    if settings.random_negatives:
        candidates = _with_random_negatives(document, candidates, settings.candidates)
    example = build_example(
        document,
        candidates,
        tokenizer,
        window=settings.window,
        overlap=settings.overlap,
        most_windows=1,  # a cached example has one
    )
    seen, numbers = np.unique(example.rows.candidates, return_inverse=True)
    return LabelledExample(
        Example(example.windows, replace(example.rows, candidates=numbers), example.features[seen]),
        gold_candidates(document, candidates)[seen],
        tuple(bare_phrase_tokens(phrase, tokenizer) for phrase in absent_keyphrases(document)),
    )


def _with_random_negatives(
    document: Document, candidates: Sequence[Candidate], config: CandidateConfig
) -> list[Candidate]:
    """The candidates that are gold, and a random run of words for each of the others."""
    is_gold = gold_candidates(document, candidates)
    gold = [candidate for candidate, right in zip(candidates, is_gold, strict=True) if right]
    keys = {candidate_key(keyphrase, document.language) for keyphrase in document.keyphrases}
    others = len(candidates) - len(gold)
    return gold + random_candidates(document, others, config, without=keys, seed=RANDOM_SEED)


def gold_candidates(document: Document, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
    """(P,) true where a candidate is one of the document's keyphrases."""
    gold = {candidate_key(keyphrase, document.language) for keyphrase in document.keyphrases}
    return np.array([candidate.key in gold for candidate in candidates], dtype=bool)


def absent_keyphrases(document: Document) -> list[str]:
    """The document's keyphrases that do not occur in its text, each once, in order."""
    text = StemmedText(document)
    found: dict[str, str] = {}
    for phrase in document.keyphrases:
        if any(map(str.isalnum, phrase)) and not text.contains(phrase):
            found.setdefault(phrase_key(phrase), phrase)
    return list(found.values())


def bare_phrase_tokens(phrase: str, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """The token ids of a phrase on its own, without special tokens."""
    return np.asarray(tokenizer.encode(phrase, add_special_tokens=False).ids, dtype=np.int64)
