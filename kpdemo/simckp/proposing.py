"""Candidates for absent keyphrases from a phrase bank, a generator, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kpdemo.prmu import PhraseKinds
from kpdemo.simckp.absent import AbsentCandidate, merge_candidates
from kpdemo.simckp.bank import RetrievedTerm
from kpdemo.simckp.decoding import GeneratedPhrase, SimckpGenerator, over_generate
from kpdemo.simckp.generation.beam_search import SearchConfig
from kpdemo.simckp.pair_checkpoint import TermRetriever
from kpdemo.simckp.predictor import Selection
from kpdemo.simckp.reranker import RETRIEVED_TERMS, Ranking
from kpdemo.simckp.terms import TextTerms
from kpdemo.types import Document

LEAST_ABSENT = 5
"""Absent keyphrases that are given at least, as by the paper's rule (SimCKP, section 5.3)."""

BATCH = 8
"""Documents that are written for together."""
SEARCHED = 128
"""Documents that terms are looked up for together where nothing is written: one product of matrices."""


@dataclass(frozen=True)
class Proposer:
    """Attributes:
    retriever, generator: None to go without.
    search: None for the generator's own.
    retrieved: how many terms of the bank are proposed.
    """

    retriever: TermRetriever | None
    generator: SimckpGenerator | None
    search: SearchConfig | None = None
    retrieved: int = RETRIEVED_TERMS

    def propose(
        self,
        documents: Iterable[Document],
        vectors: NDArray[np.float32] | None = None,
        texts: Sequence[TextTerms] | None = None,
    ) -> Iterator[list[AbsentCandidate]]:
        """The candidates of each document, in order; documents are read as the answers are taken.

        Args:
            vectors: (B, D) of the documents by the bank's encoder, when they are known already.
            texts: the bank's terms in each document, when they are known already.
        """
        waiting = iter(documents)
        first = 0
        together = SEARCHED if self.generator is None else BATCH
        while batch := list(islice(waiting, together)):
            generated = self.generated(batch)
            own = slice(first, first + len(batch))
            retrieved = self.retrieved_terms(
                batch, None if vectors is None else vectors[own], None if texts is None else texts[own]
            )
            for document, phrases, terms in zip(batch, generated, retrieved, strict=True):
                yield merge_candidates(document, phrases, terms)
            first += len(batch)

    def generated(self, documents: list[Document]) -> list[list[GeneratedPhrase]]:
        """Over-generated phrases of each document; none without a generator."""
        if self.generator is None:
            return [[] for _ in documents]
        return list(over_generate(self.generator, documents, search=self.search, batch_size=BATCH))

    def retrieved_terms(
        self,
        documents: list[Document],
        vectors: NDArray[np.float32] | None = None,
        texts: Sequence[TextTerms] | None = None,
    ) -> list[list[RetrievedTerm]]:
        """The bank's best terms for each document; none without a bank.

        Args:
            vectors, texts: see `propose`.
        """
        if self.retriever is None:
            return [[] for _ in documents]
        bank = self.retriever.bank
        queries = self.retriever.encoder.documents(documents) if vectors is None else vectors
        read = [bank.terms.read(document) for document in documents] if texts is None else texts
        return bank.search(queries, self.retrieved, read)


def rank_as_proposed(
    document: Document, candidates: Sequence[AbsentCandidate], selection: Selection | None
) -> Ranking:
    """By the score of their only source: the bank's, which `selection` calibrates, or a log-probability."""
    kind_of = PhraseKinds(document)
    scores = [_score(candidate) for candidate in candidates]
    shown = selection.calibration.probabilities(np.array(scores)) if selection else np.exp(scores)
    kinds = [kind_of(candidate.text) for candidate in candidates]
    return Ranking.of(candidates, scores, shown.tolist(), kinds, selection, LEAST_ABSENT)


def _score(candidate: AbsentCandidate) -> float:
    score = candidate.generated if candidate.retrieved is None else candidate.retrieved
    assert score is not None  # a candidate has a source
    return score
