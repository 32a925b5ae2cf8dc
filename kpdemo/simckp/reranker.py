"""Ranking of absent candidates (SimCKP, section 4.3): the dual encoder's cosine, and what else is known.

Letters (reranker): B documents, P candidates, T tokens, F features, D width of the vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kpdemo.candidates.coordination import SharedHead
from kpdemo.errors import ConfigError
from kpdemo.selection import TRUSTED, best_first
from kpdemo.simckp.batches import Movable
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.dual_encoder import DualEncoder, PairEncoder
from kpdemo.simckp.extractor import Selection, feature_network
from kpdemo.simckp.generator import GeneratedPhrase
from kpdemo.simckp.phrase_bank import PhraseBank, RetrievedTerm
from kpdemo.simckp.terms import TermIndex, solid_spellings, straight, term_key
from kpdemo.text import PhraseKinds, StemmedText
from kpdemo.types import Document, Keyphrase, Kind, Origin, Ranking

_HYPHEN = re.compile(r"(?<=\w)[-‐‑](?=\w)")
_ARTICLE = re.compile(r"the\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AbsentCandidate:
    """A phrase that was proposed, before it is reranked.

    Attributes:
        generated: the generator's log-probability; None when it did not propose the phrase.
        retrieved: the bank's score; None when it did not propose the phrase. One with neither is of the text
            itself, see `kpdemo.candidates.coordination`.
        evidence: the terms that speak for it as the document writes them, best first.
        reason: why they do, in a sentence.
    """

    text: str
    generated: float | None = None
    retrieved: float | None = None
    evidence: tuple[str, ...] = ()
    reason: str = ""

    @property
    def source(self) -> Origin:
        if self.generated is None:
            return Origin.COORDINATION if self.retrieved is None else Origin.RETRIEVED
        return Origin.GENERATED if self.retrieved is None else Origin.BOTH


def merge_candidates(
    document: Document,
    generated: Iterable[GeneratedPhrase],
    retrieved: Iterable[RetrievedTerm],
    shared: Iterable[SharedHead] = (),
) -> list[AbsentCandidate]:
    """All phrases that any source proposes and that the text does not contain, each once.

    Phrases are the same when their `term_key` or solid spelling is: of several the first one is kept, and the
    best score of each source. A text holds a phrase in the sense of `StemmedText` or of `TermIndex`: neither
    "long-term" nor "longterm" is called absent from a text with "long term", nor "the elderly" from one with
    "elderly", nor "arthritis, rheumatoid" from one with "rheumatoid arthritis".

    Returns:
        Retrieved ones first, each source in its own order.
    """
    merged: dict[str, AbsentCandidate] = {}
    keys: dict[str, str] = {}
    proposals = [AbsentCandidate(r.text, None, r.score, r.evidence, r.reason) for r in retrieved]
    proposals += [AbsentCandidate(g.text, g.log_probability) for g in generated]
    proposals += [AbsentCandidate(s.text, reason=f"The text has “{s.whole}”.") for s in shared]
    for proposal in proposals:
        if key := term_key(proposal.text, document.language):
            key = keys.setdefault(solid_spellings([proposal.text])[0], key)
            merged[key] = _both(merged[key], proposal) if key in merged else proposal
    return _absent(document, merged)


def spell_like(document: Document, phrases: Iterable[str]) -> list[str]:
    """The phrases, with spaces for hyphens if the text uses none: some collections strip them."""
    hyphens = _HYPHEN.search(document.text) is not None
    return [phrase if hyphens else _HYPHEN.sub(" ", phrase) for phrase in phrases]


def _sought(phrase: str) -> set[str]:
    """The forms in which a text may contain a phrase: without a leading article, and in natural order."""
    article = _ARTICLE.match(phrase)
    bare = phrase[article.end() :] if article else phrase
    return {bare, straight(bare)}


def _both(first: AbsentCandidate, second: AbsentCandidate) -> AbsentCandidate:
    return replace(
        first,
        generated=_higher(first.generated, second.generated),
        retrieved=_higher(first.retrieved, second.retrieved),
        evidence=first.evidence or second.evidence,
        reason=first.reason or second.reason,
    )


def _higher(first: float | None, second: float | None) -> float | None:
    known = [score for score in (first, second) if score is not None]
    return max(known, default=None)


def _absent(document: Document, merged: dict[str, AbsentCandidate]) -> list[AbsentCandidate]:
    text = StemmedText(document)
    forms = [(key, form) for key, candidate in merged.items() for form in _sought(candidate.text)]
    index = TermIndex([term_key(form, document.language) for _, form in forms], [form for _, form in forms])
    held = {forms[number][0] for number in index.read(document).numbers}
    left = [candidate for key, candidate in merged.items() if key not in held]
    spelt = spell_like(document, (candidate.text for candidate in left))
    return [
        replace(candidate, text=phrase)
        for candidate, phrase in zip(left, spelt, strict=True)
        if not any(map(text.contains, _sought(phrase)))
    ]


FEATURES = (
    "log-probability",
    "generated",
    "bank score",
    "retrieved",
    "log frequency",
    "reordered",
    "mixed",
    "unseen",
    "words",
)
COMBINATION_WIDTH = 16
RETRIEVED_TERMS = 50
"""Terms of a bank that are proposed where nothing else is said."""

_KINDS = (Kind.REORDERED, Kind.MIXED, Kind.UNSEEN)


@dataclass(frozen=True)
class RerankerConfig:
    """Attributes:
    combine: add a learnt term of the candidate's features to the cosine; the paper has none.
    minimum: keyphrases given when fewer are above the threshold (section 5.3).
    """

    combine: bool = True
    minimum: int = 5

    def __post_init__(self) -> None:
        if self.minimum < 0:
            raise ConfigError(f"The minimum of keyphrases must be 0 or more, not {self.minimum}.")


@dataclass(frozen=True)
class CandidateBatch(Movable):
    """The candidates of some documents, flattened.

    Attributes:
        input_ids, attention_mask: (B, T) long, of the documents.
        phrase_ids, phrase_mask: (P, T) long, of the candidates.
        document: (P,) long, ascending: the document of each candidate.
        features: (P, F) float, see `FEATURES`.
        positive: (P,) bool, true for gold.
    """

    input_ids: Tensor
    attention_mask: Tensor
    phrase_ids: Tensor
    phrase_mask: Tensor
    document: Tensor
    features: Tensor
    positive: Tensor


class RerankerModel(nn.Module):
    """Scores each candidate against its document."""

    def __init__(self, dual: DualEncoder, config: RerankerConfig) -> None:
        super().__init__()
        self.config = config
        self.dual = dual
        self.combination = feature_network(len(FEATURES), COMBINATION_WIDTH) if config.combine else None

    def forward(self, batch: CandidateBatch) -> Tensor:
        """(P,) the score of each candidate."""
        documents = self.dual.documents(batch.input_ids, batch.attention_mask)
        phrases = self.dual.phrases(batch.phrase_ids, batch.phrase_mask)
        return self.score(documents[batch.document], phrases, batch.features)

    def score(self, documents: Tensor, phrases: Tensor, features: Tensor) -> Tensor:
        """(P,) from the vectors of each candidate and of its document, (P, D), and its features (P, F)."""
        cosine = (documents * phrases).sum(-1)
        return cosine if self.combination is None else cosine + self.combination(features).squeeze(-1)


def candidate_features(
    candidates: Sequence[AbsentCandidate], kinds: Sequence[Kind], bank: PhraseBank | None
) -> NDArray[np.float32]:
    """(P, F) the `FEATURES` of each candidate, each scaled to about 1.

    Args:
        bank: knows how frequent a candidate is; without one all count as unknown.
    """
    rows = [
        [
            (candidate.generated or 0.0) / 10,
            float(candidate.generated is not None),
            candidate.retrieved or 0.0,
            float(candidate.retrieved is not None),
            (bank.frequency_of(candidate.text) if bank else 0.0) / 10,
            *(float(kind is known) for known in _KINDS),
            len(candidate.text.split()) / 5,
        ]
        for candidate, kind in zip(candidates, kinds, strict=True)
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(FEATURES))


def rank_candidates(
    candidates: Sequence[AbsentCandidate],
    scores: Sequence[float],
    shown: Sequence[float],
    kinds: Sequence[Kind],
    selection: Selection | None,
    least: int,
    floor: float = 0.0,
) -> Ranking:
    """Absent candidates, best first.

    Args:
        scores, shown: (P,) what the candidates are ranked by, and what their keyphrases have.
        selection: gives the numbers; without it these are `least`.
        floor: only those count as the model's own whose `shown` reaches it.
    """
    keyphrases = tuple(
        Keyphrase(
            candidates[number].text,
            shown[number],
            source=candidates[number].source,
            kind=kinds[number],
            evidence=candidates[number].evidence,
            reason=candidates[number].reason,
        )
        for number in best_first(scores)
    )
    reached = sum(score >= floor for score in shown)
    own = min(selection.count(scores, least) if selection else least, reached)
    sure = min(selection.count(scores, 0), own) if selection else own
    return Ranking(keyphrases, own, sure, TRUSTED if selection else 0.0)


@dataclass(frozen=True)
class Reranker:
    """A trained reranker, ready to rank.

    Attributes:
        search, retrieved: of the candidates that it learnt to rank, as of a `Proposer`.
    """

    encoder: PairEncoder
    model: RerankerModel
    selection: Selection
    search: SearchConfig | None = None
    retrieved: int = RETRIEVED_TERMS

    def rank(
        self,
        documents: Sequence[Document],
        candidates: Sequence[Sequence[AbsentCandidate]],
        *,
        bank: PhraseBank | None = None,
        vectors: NDArray[np.float32] | None = None,
    ) -> list[Ranking]:
        """Rank each document's candidates; a score is the estimated share of such candidates that are gold.

        Args:
            bank: knows how frequent a candidate is.
            vectors: (B, D) of the documents by `encoder`, when they are known already.
        """
        anchors = self.encoder.documents(documents) if vectors is None else vectors
        phrases = self.encoder.phrases([candidate.text for row in candidates for candidate in row])
        parts = np.split(phrases, np.cumsum([len(row) for row in candidates])[:-1]) if candidates else []
        return [
            self._rank(document, row, anchor, part, bank)
            for document, row, anchor, part in zip(documents, candidates, anchors, parts, strict=True)
        ]

    def _rank(
        self,
        document: Document,
        candidates: Sequence[AbsentCandidate],
        anchor: NDArray[np.float32],
        phrases: NDArray[np.float32],
        bank: PhraseBank | None,
    ) -> Ranking:
        kind_of = PhraseKinds(document)
        kinds = [kind_of(candidate.text) for candidate in candidates]
        features = candidate_features(candidates, kinds, bank)
        with torch.inference_mode():
            inputs = (torch.from_numpy(part).to(self.encoder.device) for part in (anchor, phrases, features))
            scores = self.model.score(*inputs).float().tolist()
        shown = [self.selection.calibration.probability(score) for score in scores]
        return rank_candidates(candidates, scores, shown, kinds, self.selection, self.model.config.minimum)
