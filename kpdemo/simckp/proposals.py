"""What a model wrote or marked, made into an answer: which phrases are present, where, and which to give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kpdemo.markup import spans_as_given
from kpdemo.places import PhrasePlaces
from kpdemo.prmu import PhraseKinds
from kpdemo.selection import keep
from kpdemo.text import LONGEST_KEYPHRASE, phrase_key
from kpdemo.types import Document, Keyphrase, Origin, Prediction, Span


@dataclass(frozen=True, slots=True)
class Proposal:
    """A phrase with its score from 0 to 1.

    Attributes:
        chosen: the model gives it when neither a number nor a threshold is asked for.
    """

    text: str
    score: float
    chosen: bool = True


def build_answer(
    document: Document, proposals: Iterable[Proposal], *, top_k: int | None, threshold: float | None
) -> Prediction:
    """Phrases with the same stems count as one, with the best of their scores and the first spelling.

    Stems are those of the document's language. Present are those that occur in the document by the rule of
    `PhrasePlaces`, spelt as there. Proposals longer than `LONGEST_KEYPHRASE` are left out.
    """
    places, kind = PhrasePlaces(document), PhraseKinds(document)
    merged = [(proposal, places.of(proposal.text)) for proposal in _merge(proposals, document.language)]
    present = [
        (proposal, Keyphrase(_surface(document, spans[0]), proposal.score, spans_as_given(document, spans)))
        for proposal, spans in merged
        if spans
    ]
    absent = [
        (
            proposal,
            Keyphrase(proposal.text, proposal.score, source=Origin.GENERATED, kind=kind(proposal.text)),
        )
        for proposal, spans in merged
        if not spans
    ]
    return Prediction(
        present=_keep(present, top_k, threshold),
        absent=_keep(absent, top_k, threshold),
        language=document.language,
        absent_candidates=tuple(k.text for _, k in sorted(absent, key=lambda pair: -pair[0].score)),
    )


def _merge(proposals: Iterable[Proposal], language: str) -> list[Proposal]:
    merged: dict[str, Proposal] = {}
    for proposal in proposals:
        key = phrase_key(proposal.text, language)
        if len(proposal.text) <= LONGEST_KEYPHRASE and any(map(str.isalnum, key)):
            known = merged.get(key, proposal)
            score, chosen = max(known.score, proposal.score), known.chosen or proposal.chosen
            merged[key] = replace(known, score=score, chosen=chosen)
    return list(merged.values())


def _keep(
    scored: list[tuple[Proposal, Keyphrase]], top_k: int | None, threshold: float | None
) -> tuple[Keyphrase, ...]:
    if top_k is None and threshold is None:
        scored = [pair for pair in scored if pair[0].chosen]
    scores = [keyphrase.score for _, keyphrase in scored]
    kept = keep(scores, top_k=top_k, threshold=threshold, own=len(scores))
    return tuple(scored[index][1] for index in kept)


def _surface(document: Document, span: Span) -> str:
    return " ".join(document.text[slice(*span)].split())
