"""All of SimCKP: present keyphrases are extracted, absent ones proposed and ranked.

The folder of a model is that of its extractor, or of its extractor-generator, and may hold two folders more:
`bank`, a phrase bank, and `reranker`. One that changes the model of another folder has that one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kpdemo.candidates.coordination import SharedHead
from kpdemo.errors import ModelLoadError
from kpdemo.identity import kind_of
from kpdemo.routing import latin_documents
from kpdemo.selection import check_options, ranked_prediction
from kpdemo.simckp import generator as generator_checkpoint
from kpdemo.simckp import labeller
from kpdemo.simckp.batches import compute_both
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.bert import pack_words
from kpdemo.simckp.candidate_ranker import CandidateRanker
from kpdemo.simckp.checkpoint import base_of, load_candidate_ranker, load_checkpoint
from kpdemo.simckp.dual_encoder import PairEncoder
from kpdemo.simckp.extractor import Selection, SimckpPredictor
from kpdemo.simckp.generator import (
    GeneratedPhrase,
    One2SeqPredictor,
    SimckpGenerator,
    load_generator,
    load_one2seq,
    over_generate,
)
from kpdemo.simckp.hub.tagger import HubTagger
from kpdemo.simckp.labeller import load_labeller
from kpdemo.simckp.pair_checkpoint import TermRetriever, load_bank, load_reranker
from kpdemo.simckp.phrase_bank import RetrievedTerm
from kpdemo.simckp.read_ahead import LEAST, DocumentReader, ReadAhead, ReadDocument, processes_for
from kpdemo.simckp.reranker import (
    RETRIEVED_TERMS,
    AbsentCandidate,
    Reranker,
    merge_candidates,
    rank_candidates,
)
from kpdemo.simckp.terms import TermIndex, TextTerms
from kpdemo.text import PhraseKinds
from kpdemo.types import Document, PointKind, Prediction, Ranking, VectorPoint, VectorSpace

LEAST_ABSENT = 5
"""Absent keyphrases that are given at least, as by the paper's rule (SimCKP, section 5.3), as far as so many
reach the bank's floor."""

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
        shared: Sequence[Sequence[SharedHead]] | None = None,
    ) -> Iterator[list[AbsentCandidate]]:
        """The candidates of each document, in order; documents are read as the answers are taken.

        Args:
            vectors: (B, D) of the documents by the bank's encoder, when they are known already.
            texts: the bank's terms in each document, when they are known already.
            shared: phrases of each document's coordinations, proposed beside terms of the bank.
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
            more = [()] * len(batch) if shared is None else shared[own]
            for document, phrases, terms, others in zip(batch, generated, retrieved, more, strict=True):
                yield merge_candidates(document, phrases, terms, others if terms else ())
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
    document: Document, candidates: Sequence[AbsentCandidate], selection: Selection | None, floor: float
) -> Ranking:
    """By the score of their only source: the bank's, which `selection` calibrates, or a log-probability.

    Those of the text's coordinations come behind the `BEFORE_COORDINATIONS` best of it.

    Args:
        floor: the least probability of one that is given.
    """
    kind_of = PhraseKinds(document)
    scores = _scores(candidates)
    shown = selection.calibration.probabilities(np.array(scores)) if selection else np.exp(scores)
    kinds = [kind_of(candidate.text) for candidate in candidates]
    return rank_candidates(candidates, scores, shown.tolist(), kinds, selection, LEAST_ABSENT, floor)


BEFORE_COORDINATIONS = 20
"""Terms that come first: authors seldom choose a phrase of a coordination, indexers more often than the best
term; see docs/deviations.md."""


def _scores(candidates: Sequence[AbsentCandidate]) -> list[float]:
    own = [one.generated if one.retrieved is None else one.retrieved for one in candidates]
    known = sorted((score for score in own if score is not None), reverse=True)
    behind = known[BEFORE_COORDINATIONS - 1] if len(known) >= BEFORE_COORDINATIONS else -np.inf
    return [behind if score is None else score for score in own]


BANK, RERANKER = "bank", "reranker"

PART = 128
"""Documents that go through the networks together."""
AT_ONCE = 4
"""Most short documents that are extracted from and proposed for at the same time, see `compute_both`: more
keep all threads busy, and of a long one the encoder of the bank reads only the beginning."""


@dataclass(frozen=True)
class SystemPredictor:
    """A `Predictor` of present and absent keyphrases.

    Texts in languages that its bank has no terms of get present ones only: it would give English ones for
    words that merely look English.

    Attributes:
        reranker: may be None when there is one source of candidates, whose own score ranks them then.
        ranker: puts the best present candidates in order; None where the extractor's scores do. Needs a bank.
        processes: read the documents of long calls ahead of the networks; 0 for none.
    """

    extractor: SimckpPredictor
    proposer: Proposer
    reranker: Reranker | None = None
    ranker: CandidateRanker | None = None
    processes: int = 0

    finds_absent: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return self.extractor.name

    @property
    def languages(self) -> frozenset[str]:
        return self.extractor.languages

    @property
    def device(self) -> str:
        return self.extractor.device

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`; a score is the estimated share of such candidates that are gold."""
        check_options(top_k, threshold)
        return self._predict(latin_documents(documents), top_k, threshold)

    def _predict(
        self, documents: Sequence[Document], top_k: int | None, threshold: float | None
    ) -> list[Prediction]:
        ahead = self._ahead if len(documents) >= LEAST else None
        read = ahead.read(documents) if ahead else map(self.reader.read_one, documents)
        return [
            answer
            for first in range(0, len(documents), PART)
            for answer in self._answer(
                documents[first : first + PART], list(islice(read, PART)), top_k, threshold
            )
        ]

    def _answer(
        self,
        documents: Sequence[Document],
        read: Sequence[ReadDocument],
        top_k: int | None,
        threshold: float | None,
    ) -> list[Prediction]:
        extract, propose = partial(self._extract, read), partial(self._propose, documents, read)
        short = len(read) <= AT_ONCE and all(len(one.example.windows) == 1 for one in read)
        at_once = short and self.device == "cpu"
        scored, (vectors, rankings) = compute_both(extract, propose) if at_once else (extract(), propose())
        scored = self._rescore(documents, read, scored, vectors)
        answers = []
        for document, one, scores, ranking in zip(documents, read, scored, rankings, strict=True):
            present = self._chooser.ranking(
                document, one.candidates, scores, top_k=top_k, threshold=threshold
            )
            answers.append(ranked_prediction(document, present, ranking, top_k=top_k, threshold=threshold))
        return answers

    def _extract(self, read: Sequence[ReadDocument]) -> list[NDArray[np.float32]]:
        """(P,) what the extractor makes of each document's candidates."""
        mined = [(one.candidates, one.example) for one in read]
        return [scores for _, scores in self.extractor.score_mined(mined)]

    def _propose(
        self, documents: Sequence[Document], read: Sequence[ReadDocument]
    ) -> tuple[NDArray[np.float32] | None, list[Ranking]]:
        """As `_vectors` and `_rank`."""
        vectors = self._vectors(read)
        return vectors, self._rank(documents, read, vectors)

    def _rescore(
        self,
        documents: Sequence[Document],
        read: Sequence[ReadDocument],
        scored: list[NDArray[np.float32]],
        vectors: NDArray[np.float32] | None,
    ) -> list[NDArray[np.float32]]:
        """(P,) the raw scores of each document's candidates, by which `_chooser` chooses."""
        retriever = self.proposer.retriever
        if self.ranker is None or retriever is None or vectors is None:
            return scored
        return [
            self.ranker.rescore(document, one, scores, vector, retriever.bank)
            for document, one, scores, vector in zip(documents, read, scored, vectors, strict=True)
        ]

    @cached_property
    def _chooser(self) -> SimckpPredictor:
        """The extractor, choosing as suits the scores that `_rescore` gives."""
        return replace(self.extractor, selection=self.ranker.selection) if self.ranker else self.extractor

    @cached_property
    def reader(self) -> DocumentReader:
        """Reads documents for the networks, here or in other processes."""
        extractor, retriever = self.extractor, self.proposer.retriever
        config = extractor.module.config
        return DocumentReader(
            extractor.tagger,
            extractor.tokenizer,
            config.candidates,
            config.window,
            config.overlap,
            retriever.encoder.tokenizer if retriever else None,
            retriever.encoder.length if retriever else 0,
            retriever.bank.terms if retriever else TermIndex(()),
        )

    @cached_property
    def _ahead(self) -> ReadAhead | None:
        return ReadAhead(self.reader, self.processes) if self.processes else None

    def rank(self, documents: Sequence[Document]) -> list[Ranking]:
        """All absent candidates of each document, best first; none of one in a language that is not read.

        Documents are read, and refused, as `predict` does.
        """
        read = latin_documents(documents)
        ready = list(map(self.reader.read_one, read))
        return self._rank(read, ready, self._vectors(ready))

    def _vectors(self, read: Sequence[ReadDocument]) -> NDArray[np.float32] | None:
        """(B, D) of documents by the bank's encoder; None without a bank."""
        retriever = self.proposer.retriever
        return retriever.encoder.read_documents([one.tokens for one in read]) if retriever else None

    def _rank(
        self,
        documents: Sequence[Document],
        read: Sequence[ReadDocument],
        vectors: NDArray[np.float32] | None,
    ) -> list[Ranking]:
        own = [number for number, document in enumerate(documents) if self._reads(document)]
        rankings = [Ranking((), 0, 0)] * len(documents)
        found = self._rank_own(
            [documents[number] for number in own],
            [read[number] for number in own],
            None if vectors is None else vectors[own],
        )
        for number, ranking in zip(own, found, strict=True):
            rankings[number] = ranking
        return rankings

    def _reads(self, document: Document) -> bool:
        """Whether there are absent keyphrases in its language: a bank has terms of some, a generator writes
        in those of the extractor."""
        retriever = self.proposer.retriever
        known = retriever.bank.spoken if retriever else self.languages
        return not document.language or document.language in known

    def _rank_own(
        self,
        documents: Sequence[Document],
        read: Sequence[ReadDocument],
        vectors: NDArray[np.float32] | None,
    ) -> list[Ranking]:
        if not documents:
            return []
        retriever = self.proposer.retriever
        # A reranker has not learnt to rank phrases of coordinations.
        shared = None if self.reranker else [one.shared for one in read]
        candidates = list(self.proposer.propose(documents, vectors, [one.terms for one in read], shared))
        if self.reranker is not None:
            shares = retriever is not None and self.reranker.encoder is retriever.encoder
            return self.reranker.rank(
                documents,
                candidates,
                bank=retriever.bank if retriever else None,
                vectors=vectors if shares else None,
            )
        selection, floor = (retriever.selection, retriever.floor) if retriever else (None, 0.0)
        return [
            rank_as_proposed(document, row, selection, floor)
            for document, row in zip(documents, candidates, strict=True)
        ]

    def sources(self) -> dict[str, SystemPredictor]:
        """The system if it reranks, and each source of absent candidates alone, without a reranker."""
        parts = {"reranked": self} if self.reranker else {}
        if self.proposer.generator:
            alone = replace(self.proposer, retriever=None)
            parts["generated"] = replace(self, proposer=alone, reranker=None, ranker=None)
        if self.proposer.retriever:
            parts["retrieved"] = replace(self, proposer=replace(self.proposer, generator=None), reranker=None)
        return parts

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`; the extractor's space, and that of reranker or bank for absent ones."""
        check_options(top_k, threshold)
        documents = latin_documents([document])
        [read] = ready = list(map(self.reader.read_one, documents))
        [scores] = self._rescore(documents, ready, self._extract(ready), self._vectors(ready))
        spaces = self._chooser.spaces(
            documents[0], read.candidates, read.example, scores, top_k=top_k, threshold=threshold
        )
        retriever = self.proposer.retriever
        if self.reranker is not None:
            spaces.append(self._pair_space("reranker", self.reranker.encoder, document, top_k, threshold))
        elif retriever is not None:
            spaces.append(self._pair_space("bank", retriever.encoder, document, top_k, threshold))
        return spaces

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """See `kpdemo.types.Comparing`; by the encoder of the bank, or else of the reranker."""
        part = self.proposer.retriever or self.reranker
        if part is None:
            raise ModelLoadError(
                f"The model {self.name!r} has no encoder of pairs: choose the default model."
            )
        return part.encoder.similarities(pairs)

    def _pair_space(
        self, name: str, encoder: PairEncoder, document: Document, top_k: int | None, threshold: float | None
    ) -> VectorSpace:
        """The document, its keyphrases, and the absent candidates that were not chosen."""
        [read] = latin_documents([document])
        [prediction] = self._predict([read], top_k, threshold)
        assert prediction.ranked_absent is not None
        points = [
            VectorPoint(read.title or read.body, PointKind.DOCUMENT),
            *(VectorPoint(one.text, PointKind.PRESENT, one.score) for one in prediction.present),
            *(VectorPoint(one.text, PointKind.ABSENT, one.score) for one in prediction.absent),
            *(
                VectorPoint(one.text, PointKind.CANDIDATE, one.score)
                for one in prediction.ranked_absent.keyphrases[len(prediction.absent) :]
            ),
        ]
        phrases = encoder.phrases([point.text for point in points[1:]])
        return VectorSpace(name, tuple(points), np.vstack([encoder.documents([read]), phrases]))


def load_system(
    folder: Path, *, device: str = "auto"
) -> SimckpPredictor | SystemPredictor | HubTagger | One2SeqPredictor:
    """Open the folder of a model with all that is in it; without bank and generator the extractor alone.

    A folder may also hold a sequence labeller, which has no absent keyphrases, or a decoder that writes all.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, the device is not there, or there is no reranker for
            candidates from two sources.
    """
    kind = kind_of(folder)
    if kind == labeller.KIND:
        return load_labeller(folder, device=device)
    if kind == generator_checkpoint.ONE2SEQ:
        return load_one2seq(folder, device=device)
    generator = None
    if kind == generator_checkpoint.KIND:
        extractor, generator = load_generator(folder, device=device)
    else:
        extractor = load_checkpoint(folder, device=device)
    bank, ranks = part_folder(folder, BANK), part_folder(folder, RERANKER)
    retriever = load_bank(bank, device=device) if bank else None
    if generator is None:  # which writes with the word embeddings
        second = [extractor.second.module] if extractor.second else []
        pack_words(extractor.module, *second, *([retriever.encoder.module] if retriever else []))
    if retriever is None and generator is None:
        return extractor
    reranker = load_reranker(ranks, device=device, retriever=retriever) if ranks else None
    if reranker is None and retriever is not None and generator is not None:
        raise ModelLoadError(
            f"{folder} has a bank and a generator, but no reranker to compare their phrases: "
            f"add one as {folder / RERANKER}, see `python -m kpdemo train reranker`."
        )
    proposer = Proposer(retriever, generator)
    if reranker is not None:
        proposer = replace(proposer, search=reranker.search, retrieved=reranker.retrieved)
    # A bank with a ranker knows what is typical of its terms; beside another the extractor's order stays.
    ranker = load_candidate_ranker(folder) if retriever and retriever.bank.ranker else None
    return SystemPredictor(extractor, proposer, reranker, ranker, processes_for(extractor.device))


def part_folder(folder: Path, name: str) -> Path | None:
    """Where a part of the model is: in its own folder, or in that of the model which it changes."""
    places = [folder, base_of(folder)]
    return next((place / name for place in places if place and (place / name).is_dir()), None)
