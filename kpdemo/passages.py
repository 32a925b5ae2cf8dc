"""What the passages of an index gave to a prediction: which helped, which of their keyphrases were used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kpdemo.languages import ENGLISH
from kpdemo.locale import _, mark
from kpdemo.selection import short_score
from kpdemo.text import phrase_key
from kpdemo.translation import write_number
from kpdemo.types import SCORE_DIGITS, Prediction, RetrievalPrediction, RetrievedPassage

_NONE = mark(
    "No passage was found, because the index is empty: these keyphrases come from the text alone. Add "
    "passages to the index."
)
_NO_KEYPHRASES = mark(
    "None of these passages has keyphrases, so they could not help: add some (the field “keyphrases”) and "
    "rebuild the index."
)
_NONE_NEAR = mark(
    "No passage with keyphrases is near enough to help (a score of {near} or more): these keyphrases come "
    "from the text alone. An index of your own field finds nearer passages."
)

_UNRELATED = mark(
    "In an index of this size, passages with a score of up to {chance} are mostly on other subjects than "
    "the text"
)
_READ_ALL_THE_SAME = mark("; their keyphrases are used all the same, and may mislead.")

Used = Mapping[str, tuple[str, ...]]
"""Keyphrases of a passage, each with the keyphrases of the result that it led to."""


def used_keyphrases(found: RetrievalPrediction) -> list[Used]:
    """Of each passage the keyphrases that reached the result; none of one that did not help.

    Those are the ones that a keyphrase names in its evidence, and those that are the same words.
    """
    led_to = _named_by(found.prediction)
    return [_used(passage, led_to) if found.helps(passage) else {} for passage in found.passages]


def help_note(found: RetrievalPrediction) -> str:
    """Why no passage helped, in a sentence or two; empty when one did."""
    if not found.passages:
        return _(_NONE)
    if not any(passage.keyphrases for passage in found.passages):
        return _(_NO_KEYPHRASES)
    if not any(passage.keyphrases and found.helps(passage) for passage in found.passages):
        return _(_NONE_NEAR, near=write_number(f"{found.near:g}"))
    return ""


def unrelated_note(found: RetrievalPrediction) -> str:
    """As `chance_note`, of passages that a model read."""
    scores = (passage.score for passage in found.passages)
    return chance_note(found.chance, scores, end=_(_READ_ALL_THE_SAME))


def chance_note(chance: float | None, scores: Iterable[float], *, end: str = ".") -> str:
    """Which scores passages on other subjects have too, in a sentence; empty when all these are higher.

    Args:
        chance: see `RetrievalPrediction`.
    """
    if chance is None or all(score > chance for score in scores):
        return ""
    return f"{_(_UNRELATED, chance=write_number(short_score(chance)))}{end}"


def passage_rows(found: RetrievalPrediction) -> list[dict[str, Any]]:
    """The passages as plain values for JSON and tables, without their texts."""
    return [
        {
            "id": passage.id,
            "title": passage.title,
            "keyphrases": list(passage.keyphrases),
            "score": round(passage.score, SCORE_DIGITS),
            "related": found.related(passage),
            "helps": found.helps(passage),
            "used": list(used),
        }
        for passage, used in zip(found.passages, used_keyphrases(found), strict=True)
    ]


def _named_by(prediction: Prediction) -> dict[tuple[str, bool], list[str]]:
    """The keyphrases of the result by the stems that they name, in English, and by their own (True)."""
    named: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for item in prediction.present + prediction.absent:
        for phrase in item.evidence:
            named[phrase_key(phrase, ENGLISH), False].append(item.text)
        named[phrase_key(item.text, prediction.language), True].append(item.text)
    return named


def _used(passage: RetrievedPassage, led_to: Mapping[tuple[str, bool], list[str]]) -> Used:
    found = {}
    for phrase in passage.keyphrases:
        key = phrase_key(phrase, passage.language or ENGLISH)
        texts = dict.fromkeys([*led_to.get((key, False), ()), *led_to.get((key, True), ())])
        if texts:
            found[phrase] = tuple(texts)
    return found
