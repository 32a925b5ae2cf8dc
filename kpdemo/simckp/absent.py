"""Candidates for absent keyphrases: what was generated and what was retrieved, brought together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kpdemo.simckp.bank import RetrievedTerm
from kpdemo.simckp.decoding import GeneratedPhrase
from kpdemo.simckp.terms import TermIndex, straight, term_key
from kpdemo.text import StemmedText
from kpdemo.types import Document, Origin

_HYPHEN = re.compile(r"(?<=\w)[-‐‑](?=\w)")
_ARTICLE = re.compile(r"the\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AbsentCandidate:
    """A phrase that was proposed, before it is reranked.

    Attributes:
        generated: the generator's log-probability; None when it did not propose the phrase.
        retrieved: the bank's score; None when it did not propose the phrase.
        evidence: the terms that speak for it as the document writes them, best first.
    """

    text: str
    generated: float | None = None
    retrieved: float | None = None
    evidence: tuple[str, ...] = ()

    @property
    def source(self) -> Origin:
        if self.generated is None:
            return Origin.RETRIEVED
        return Origin.GENERATED if self.retrieved is None else Origin.BOTH


def merge_candidates(
    document: Document, generated: Iterable[GeneratedPhrase], retrieved: Iterable[RetrievedTerm]
) -> list[AbsentCandidate]:
    """All phrases that either source proposes and that the text does not contain, each once.

    Phrases are the same when their `term_key` is: of several the first spelling is kept, and the best
    score of each source. A text holds a phrase in the sense of `StemmedText` or of `term_key`: neither
    "long-term" nor "long term" is called absent from a text with the other, nor "the elderly" from one with
    "elderly", nor "arthritis, rheumatoid" from one with "rheumatoid arthritis".

    Returns:
        Retrieved ones first, each source in its own order.
    """
    merged: dict[str, AbsentCandidate] = {}
    proposals = [AbsentCandidate(r.text, None, r.score, r.evidence) for r in retrieved]
    proposals += [AbsentCandidate(g.text, g.log_probability) for g in generated]
    for proposal in proposals:
        key = term_key(proposal.text)
        if key:
            merged[key] = _both(merged[key], proposal) if key in merged else proposal
    return _absent(document, merged)


def spelt_as(document: Document, phrases: Iterable[str]) -> list[str]:
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
    )


def _higher(first: float | None, second: float | None) -> float | None:
    known = [score for score in (first, second) if score is not None]
    return max(known, default=None)


def _absent(document: Document, merged: dict[str, AbsentCandidate]) -> list[AbsentCandidate]:
    text = StemmedText(document)
    keys = {key: set(map(term_key, _sought(candidate.text))) for key, candidate in merged.items()}
    asked = list(set().union(*keys.values()))
    held = {asked[number] for number in TermIndex(asked).read(document).numbers} if asked else set()
    left = [candidate for key, candidate in merged.items() if keys[key].isdisjoint(held)]
    spelt = spelt_as(document, (candidate.text for candidate in left))
    return [
        replace(candidate, text=phrase)
        for candidate, phrase in zip(left, spelt, strict=True)
        if not any(map(text.contains, _sought(phrase)))
    ]
