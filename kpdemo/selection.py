"""Which keyphrases an answer holds: scores, how many, without nested ones, and from what a model wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from itertools import combinations
from numbers import Integral, Real

from kpdemo.errors import InputError
from kpdemo.languages import SEGMENTED, segments
from kpdemo.markup import spans_as_given
from kpdemo.text import (
    LONGEST_KEYPHRASE,
    PhraseFinder,
    PhraseKinds,
    name_of_value,
    phrase_key,
)
from kpdemo.types import (
    SCORE_DIGITS,
    Document,
    Keyphrase,
    Kind,
    Origin,
    Prediction,
    PredictionOptions,
    Ranking,
    Style,
)
from kpdemo.variants import merge_variants, plain_stems, written_forms

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
    _check_number("number of keyphrases", top_k, least=1)
    _check_share("threshold", threshold)


def check_all(options: PredictionOptions) -> None:
    """Raises:
    InputError: a value is of another type than its field, or out of range.
    """
    check_options(options.top_k, options.threshold)
    _check_number("shortest number of words", options.shortest, least=1)
    _check_number("longest number of words", options.longest, least=1)
    if options.shortest and options.longest and options.shortest > options.longest:
        raise InputError(
            f"The shortest number of words is {options.shortest}, more than the longest, {options.longest}: "
            "exchange them."
        )
    _check_share("diversity", options.diversity)
    for name in ("exclude", "candidates", "seed_keywords"):
        phrases = getattr(options, name)
        if isinstance(phrases, str) or not all(isinstance(phrase, str) for phrase in phrases):
            raise InputError(f"{name} is {name_of_value(phrases)}: give a list of phrases.")
    if options.style is not None and options.style not in tuple(Style):
        raise InputError(f"The style is {options.style!r}: give one of {', '.join(Style)}.")


def _check_number(name: str, value: int | None, *, least: int) -> None:
    if value is None:
        return
    if not _is_a(Integral, value):
        raise InputError(f"The {name} must be a whole number, not {value!r}: give one such as 5.")
    if value < least:
        raise InputError(f"The {name} must be at least {least}, not {value}: give a larger one.")


def _check_share(name: str, value: float | None) -> None:
    if value is None:
        return
    if not _is_a(Real, value):
        raise InputError(f"The {name} must be a number, not {value!r}: give one from 0 to 1.")
    if not 0 <= value <= 1:
        raise InputError(f"The {name} must be between 0 and 1, not {value}: give one in that range.")


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


Similarities = Callable[[Sequence[tuple[str, str]]], list[float]]
"""How alike the two texts of each pair are, 0 to 1, as of `kpdemo.types.Comparing`."""


def can_choose(prediction: Prediction) -> bool:
    """Whether other options may choose other keyphrases from what the predictor ranked."""
    return prediction.ranked_present is not None and prediction.ranked_absent is not None


def choose(
    prediction: Prediction, options: PredictionOptions, similarities: Similarities | None = None
) -> Prediction:
    """The keyphrases that other options give, from what the prediction was chosen from: no model is asked.

    Without `Prediction.ranked_present` and `ranked_absent` it chooses among the keyphrases that were given.
    `seed_keywords`, `language` and `style` are for the model and change nothing here.

    Args:
        similarities: how alike two phrases are, for `diversity`: `load_predictor(…).similarities` gives what
            a prediction with this option does. Without it they are as alike as the stems they share.

    Raises:
        InputError: as `check_all`.

    >>> from kpdemo.types import Keyphrase, Prediction
    >>> found = [Keyphrase("graph kernels", 0.3, ((0, 13),)), Keyphrase("kernels", 0.2, ((6, 13),))]
    >>> [one.text for one in choose(Prediction(tuple(found)), PredictionOptions(nested=False)).present]
    ['graph kernels']
    """
    check_all(options)
    present = prediction.ranked_present or _given(prediction.present)
    absent = prediction.ranked_absent or _given(prediction.absent)
    language = prediction.language
    given = _chosen(absent, options, language, similarities, nested=True)
    unsure = replace(options, unsure=True)
    every = given if options.unsure else _chosen(absent, unsure, language, similarities, nested=True)
    return replace(
        prediction,
        present=_chosen(present, options, language, similarities, nested=options.nested),
        absent=given,
        doubtful=tuple(one for one in every if one not in given),
    )


RANKED = 200
"""Keyphrases of each kind that a prediction keeps to choose from again, if no more are asked for."""

TRUSTED = 0.11
"""The score from which on absent keyphrases are given, if a word of theirs is in the text: of those on 400 of
KP20k's validation documents one in five is a keyphrase of the author, of those on others one in six; see
docs/how_it_works.md."""

EVERYTHING = PredictionOptions(unsure=True)

NO_RANKING = Ranking((), 0, 0)
"""Of a model that finds keyphrases of one kind only."""


def ranked_prediction(
    document: Document,
    present: Ranking,
    absent: Ranking = NO_RANKING,
    *,
    top_k: int | None = None,
    threshold: float | None = None,
) -> Prediction:
    """What a model's rankings give by its own rule, a number or a threshold, with variants merged.

    Absent keyphrases are given whatever their floor: it holds where `choose` is asked.
    """
    present, absent = merge_variants(document, present, absent)
    prediction = Prediction(
        (),
        language=document.language,
        absent_candidates=tuple(one.text for one in absent.keyphrases),
        ranked_present=present,
        ranked_absent=absent,
    )
    return choose(prediction, replace(EVERYTHING, top_k=top_k, threshold=threshold))


def ranked_count(scores: Sequence[float], top_k: int | None, threshold: float | None) -> int:
    """How many of the best candidates a `Ranking` needs so that `choose` finds what is asked for in it."""
    reached = 0 if threshold is None else sum(reaches(score, threshold) for score in scores)
    return max(RANKED, 2 * (top_k or 0), reached)  # variants of some are merged


def _given(keyphrases: Sequence[Keyphrase]) -> Ranking:
    """Keyphrases as a ranking, for a predictor that does not tell its own."""
    return Ranking(tuple(keyphrases), len(keyphrases), sum(not one.filler for one in keyphrases))


def _chosen(
    ranking: Ranking,
    options: PredictionOptions,
    language: str,
    similarities: Similarities | None,
    *,
    nested: bool,
) -> tuple[Keyphrase, ...]:
    floor = options.threshold
    if floor is None:
        floor = 0.0 if options.unsure else ranking.floor
    wanted = _filter(ranking.keyphrases, options, language)
    doubtful = set() if options.unsure else {Kind.PRESENT}
    if floor and options.threshold is None:
        doubtful.add(Kind.UNSEEN)
    ranked = [one for one in wanted if reaches(one.score, floor) and one.kind not in doubtful]
    own = len(ranked) if options.threshold is not None else ranking.own
    count = own if options.top_k is None else options.top_k
    if not nested:
        ranked = _families(ranked, count, language)
    kept = _diverse(ranked, count, options.diversity, language, similarities)
    sure = {(one.text, one.spans) for one in ranking.keyphrases[: ranking.sure]}
    marks = options.top_k is None and options.threshold is None
    return tuple(
        replace(one, filler=True) if marks and (one.text, one.spans) not in sure else one for one in kept
    )


def _filter(
    keyphrases: Sequence[Keyphrase], options: PredictionOptions, language: str
) -> Iterator[Keyphrase]:
    """Those of the wanted length without an excluded phrase; of one's own candidates only, or first."""
    excluded = [f" {key} " for phrase in options.exclude if (key := _nesting_key(phrase, language))]
    own = {_nesting_key(phrase, language) for phrase in options.candidates}
    others = []
    for one in keyphrases:
        length = word_count(one.text, language)
        too_short = options.shortest is not None and length < options.shortest
        too_long = options.longest is not None and length > options.longest
        key = _nesting_key(one.text, language) if excluded or own else ""
        if too_short or too_long or any(phrase in f" {key} " for phrase in excluded):
            continue
        if not own or key in own:
            yield one
        else:
            others.append(one)
    if own and not options.only_candidates:
        yield from others


def word_count(phrase: str, language: str = "") -> int:
    """How many words a phrase has: between blanks, in languages without blanks as they are segmented.

    >>> word_count("long-term memory"), word_count("图神经网络", "zh") > 1
    (2, True)
    """
    if language in SEGMENTED:
        return sum(1 for _ in segments(phrase, language))
    return len(phrase.split())


def _families(ranked: Sequence[Keyphrase], count: int, language: str) -> list[Keyphrase]:
    """Those that nest in no better one, each with those that it stands for and that rank as high as the
    last of `count`."""
    heads: list[Keyphrase] = []
    keys: list[str] = []
    members: list[list[Keyphrase]] = []
    for one in ranked:
        key = _nesting_key(one.text, language)
        padded = f" {key} "
        around = (place for place, head in enumerate(keys) if f" {head} " in padded or padded in f" {head} ")
        place = next(around, None)
        if place is None:
            heads.append(one)
            keys.append(key)
            members.append([])
        elif len(heads) <= count:
            members[place].append(one)
    return [replace(head, family=tuple(own)) for head, own in zip(heads, members, strict=True)]


def _nesting_key(phrase: str, language: str) -> str:
    return " ".join(plain_stems(phrase, language))


LEAST_POOL = 50
"""Keyphrases that diverse ones are chosen from at least; four times as many as are asked for."""


def _diverse(
    ranked: Sequence[Keyphrase],
    count: int,
    diversity: float,
    language: str,
    similarities: Similarities | None,
) -> Sequence[Keyphrase]:
    """`count` of the best by maximal marginal relevance (Carbonell and Goldstein 1998), in their own order.

    Next comes the one with the highest (1 - diversity) · relevance - diversity · likeness: its relevance is
    its score relative to the best, its likeness that to the nearest of those chosen by `similarities`,
    without them the share of stems in common (Dice's coefficient).
    """
    if not diversity or len(ranked) <= 1:
        return ranked[:count]
    pool = ranked[: max(LEAST_POOL, 4 * count)]
    pairs = list(combinations(range(len(pool)), 2))
    if similarities is None:
        stems = [set(plain_stems(one.text, language)) for one in pool]
        alike = [2 * len(stems[a] & stems[b]) / max(len(stems[a]) + len(stems[b]), 1) for a, b in pairs]
    else:
        alike = similarities([(pool[a].text, pool[b].text) for a, b in pairs])
    likeness_of = dict(zip(pairs, alike, strict=True))
    best = max(one.score for one in pool) or 1.0
    likeness = dict.fromkeys(range(len(pool)), 0.0)  # of those left, to the nearest of those chosen
    chosen: list[int] = []
    while likeness and len(chosen) < count:
        number = max(
            likeness,
            key=lambda place: (1 - diversity) * pool[place].score / best - diversity * likeness[place],
        )
        del likeness[number]
        chosen.append(number)
        for place, nearest in likeness.items():
            likeness[place] = max(nearest, likeness_of[min(place, number), max(place, number)])
    return [pool[number] for number in sorted(chosen)]


def drop_nested(phrases: Iterable[str], language: str = "") -> Iterator[int]:
    """Which of the phrases to keep, by number, so that none is nested in another.

    Of two that nest, the one that comes first stays, whether it is the longer or the shorter. One is
    nested in another when its stems are, contiguously; punctuation marks do not count as words here, except
    those that tell C++ and C# from C.

    >>> list(drop_nested(["Graph kernels", "kernels", "support vectors", "fast graph kernel", "graphs"]))
    [0, 2]
    """
    return drop_nested_keys(" ".join(plain_stems(phrase, language)) for phrase in phrases)


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
    `PhraseFinder`, written as `WrittenForms` has them. Proposals longer than `LONGEST_KEYPHRASE` are left
    out.
    """
    places, kind = PhraseFinder(document), PhraseKinds(document)
    merged = [(proposal, places.of(proposal.text)) for proposal in _merge(proposals, document.language)]
    written = written_forms(document)
    present = [
        (proposal, Keyphrase(written.of(spans)[0], proposal.score, spans_as_given(document, spans)))
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
