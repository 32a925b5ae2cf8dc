"""Which keyphrases an answer holds: scores, how many, without nested ones, and from what a model wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from numbers import Integral, Real

from kpdemo.errors import InputError
from kpdemo.markup import spans_as_given
from kpdemo.text import (
    LONGEST_KEYPHRASE,
    PhraseFinder,
    PhraseKinds,
    phrase_key,
    stem,
    words,
)
from kpdemo.types import (
    Document,
    Keyphrase,
    Origin,
    Prediction,
    Span,
)

SCORE_DIGITS = 6
"""Decimals in JSON and CSV."""

SHORT_DIGITS = 2


def reaches(score: float, threshold: float) -> bool:
    """Whether a score is at least the threshold, as it is or as rounded in JSON."""
    return max(score, round(score, SCORE_DIGITS)) >= threshold


def short_score(score: float, digits: int = SHORT_DIGITS) -> str:
    """A score for display, rounded down: what is shown as 0.30 reaches a threshold of 0.3.

    >>> short_score(0.2995), short_score(0.29), short_score(0.3), short_score(-0.0021)
    ('0.29', '0.29', '0.30', '-0.01')
    """
    told = Decimal(f"{score:.{SCORE_DIGITS}f}").quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR)
    return str(abs(told) if told.is_zero() else told)


def page_score(score: float) -> str:
    """As `short_score`, with so many decimals more that what is above 0 is not shown as nothing.

    >>> page_score(0.0049), page_score(0.2995), page_score(0.00003), page_score(0.0)
    ('0.004', '0.29', '0.00003', '0.00')
    """
    shown = (short_score(score, digits) for digits in range(SHORT_DIGITS, SCORE_DIGITS + 1))
    return next((told for told in shown if float(told)), short_score(score))


def check_options(top_k: int | None, threshold: float | None) -> None:
    """Raises:
    InputError: `top_k` is not a whole number or below 1, or `threshold` not a number or outside 0 to 1.
    """
    if top_k is not None and not _is_a(Integral, top_k):
        raise InputError(
            f"The number of keyphrases must be a whole number, not {top_k!r}: give one such as 5."
        )
    if threshold is not None and not _is_a(Real, threshold):
        raise InputError(f"The threshold must be a number, not {threshold!r}: give one from 0 to 1.")
    if top_k is not None and top_k < 1:
        raise InputError(f"The number of keyphrases must be at least 1, not {top_k}: give a larger one.")
    if threshold is not None and not 0 <= threshold <= 1:
        raise InputError(f"The threshold must be between 0 and 1, not {threshold}: give one in that range.")


def _is_a(kind: type, given: object) -> bool:
    """NumPy's numbers count too; True does not, although Python treats it as 1."""
    return isinstance(given, kind) and not isinstance(given, bool)


def best_first(scores: Sequence[float]) -> list[int]:
    """The indices of all scores, the highest first; of equal ones the earlier."""
    return sorted(range(len(scores)), key=lambda index: -scores[index])


def keep(scores: Sequence[float], *, top_k: int | None, threshold: float | None, own: int) -> list[int]:
    """Which candidates to give, as indices, best first; of equal scores the earlier one.

    Args:
        top_k: at most this many; with nothing else exactly this many, or all there are.
        threshold: only those that score at least so much, as `kpdemo.selection` compares them.
        own: how many the predictor's own rule gives, which holds when neither is asked for.
    """
    order = best_first(scores)
    if top_k is None and threshold is None:
        return order[:own]
    kept = [index for index in order if threshold is None or reaches(scores[index], threshold)]
    return kept[:top_k]


def mark_fillers(
    kept: Sequence[Keyphrase], sure: int, *, top_k: int | None, threshold: float | None
) -> tuple[Keyphrase, ...]:
    """What `keep` gave, best first, with its fillers marked; none if a number was asked for.

    Args:
        sure: how many the predictor's own rule gives without a minimum.
    """
    if top_k is not None or threshold is not None:
        return tuple(kept)
    return (*kept[:sure], *(replace(keyphrase, filler=True) for keyphrase in kept[sure:]))


def drop_nested(phrases: Iterable[str], language: str = "") -> Iterator[int]:
    """Which of the phrases to keep, by number, so that none is nested in another.

    Of two that nest, the one that comes first stays, whether it is the longer or the shorter. One is
    nested in another when its stems are, contiguously; punctuation marks do not count as words here, except
    those that tell C++ and C# from C.

    >>> list(drop_nested(["Graph kernels", "kernels", "support vectors", "fast graph kernel", "graphs"]))
    [0, 2]
    """
    return drop_nested_keys(" ".join(_stems(phrase, language)) for phrase in phrases)


def _stems(phrase: str, language: str) -> list[str]:
    stems: list[str] = []
    for word in words(phrase, language):
        if any(map(str.isalnum, word)):
            stems.append(stem(word, language))
        elif word in ("+", "#") and stems:
            stems[-1] += word
    return stems


def drop_nested_keys(keys: Iterable[str]) -> Iterator[int]:
    """The same of phrases that are given by their stems, with a blank between two."""
    kept: set[str] = set()
    inside: set[str] = set()  # every piece of those kept: a thousand of them are looked through at once
    for number, key in enumerate(keys):
        pieces = _pieces(key.split(" "))
        if key not in inside and kept.isdisjoint(pieces):
            kept.add(key)
            inside |= pieces
            yield number


def _pieces(stems: Sequence[str]) -> set[str]:
    ends = range(1, len(stems) + 1)
    return {" ".join(stems[start:end]) for end in ends for start in range(end)}


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
    places, kind = PhraseFinder(document), PhraseKinds(document)
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
