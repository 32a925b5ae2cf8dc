"""Absent keyphrases: chips, each with its score, kind, source and evidence. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from kpdemo.types import Keyphrase, Kind, Origin
from kpdemo.ui.figures import FILLER, filler_word, score_html
from kpdemo.ui.marks import escape

Word = TypeVar("Word", bound=StrEnum)

SHOWN = 10
"""More of them are folded."""

KINDS: Mapping[Kind, str] = {
    Kind.REORDERED: "all its words are in the text, but not side by side in this order",
    Kind.MIXED: "some of its words are in the text",
    Kind.UNSEEN: "none of its words is in the text",
}
SOURCES: Mapping[Origin, str] = {
    Origin.GENERATED: "the model wrote it, word by word",
    Origin.RETRIEVED: "the model found it among the keyphrases of other documents",
    Origin.BOTH: "the model wrote it, and found it among the keyphrases of other documents too",
}


def absent_html(keyphrases: Sequence[Keyphrase]) -> str:
    """A list of at least one, the first ones open, with the meaning of the words it uses."""
    first, rest = keyphrases[:SHOWN], keyphrases[SHOWN:]
    more = (
        f"<details><summary>{len(rest)} more</summary>"
        f'<ol class="absent" start="{SHOWN + 1}">{_items(rest)}</ol></details>'
        if rest
        else ""
    )
    return (
        '<section aria-labelledby="predict-absent-heading">'
        '<h3 id="predict-absent-heading">Absent keyphrases, best first</h3>'
        f'<ol class="absent" id="predict-absent">{_items(first)}</ol>{more}{_legend(keyphrases)}</section>'
    )


def nothing_absent_html(
    *, possible: bool, foreign: str = "", threshold: float | None = None, scored_less: bool = False
) -> str:
    """A sentence in place of the list: there is none, or never will be.

    Args:
        foreign: the name of the text's language where the model was made for others.
        threshold: that none reaches, where one above 0 was asked for.
        scored_less: the model tells of candidates that did not.
    """
    reason = "No absent keyphrase was found."
    if not possible:
        reason = "Absent keyphrases: this model gives present ones only."
    elif foreign:
        reason = f"Absent keyphrases: this model gives none for {escape(foreign)} texts."
    elif threshold:
        told = ": all candidates scored less" if scored_less else ""
        reason = f"No absent keyphrase reaches the threshold {threshold:g}{told}."
    return f'<p class="small" id="predict-absent">{reason}</p>'


def chip_html(text: str) -> str:
    return f'<span class="chip" dir="auto">{escape(text)}</span>'


def _items(keyphrases: Sequence[Keyphrase]) -> str:
    return "".join(
        f"<li{' class=filler' * keyphrase.filler}>{_item(keyphrase)}</li>" for keyphrase in keyphrases
    )


def _item(keyphrase: Keyphrase) -> str:
    told = [
        f'<span title="{escape(meaning)}">{word}</span>'
        for word, meaning in (*_used(KINDS, [keyphrase.kind]), *_used(SOURCES, [keyphrase.source]))
    ]
    words = " · ".join(filter(None, [*told, filler_word(keyphrase)]))
    facts = f"{score_html(keyphrase.score)}<span>{words}</span>{_why(keyphrase)}"
    return f'{chip_html(keyphrase.text)}<div class="chip-facts">{facts}</div>'


def _why(keyphrase: Keyphrase) -> str:
    if not keyphrase.evidence:
        return ""
    phrases = " · ".join(f"<bdi>{escape(phrase)}</bdi>" for phrase in keyphrase.evidence)
    return (
        f'<details><summary aria-label="Why “{escape(keyphrase.text)}”">Why</summary>'
        f"<p>Evidence: {phrases}</p></details>"
    )


def _legend(keyphrases: Sequence[Keyphrase]) -> str:
    used = [
        *_used(KINDS, [keyphrase.kind for keyphrase in keyphrases]),
        *_used(SOURCES, [keyphrase.source for keyphrase in keyphrases]),
        *([("filler", FILLER)] if any(keyphrase.filler for keyphrase in keyphrases) else []),
    ]
    if not used:
        return ""
    rows = "".join(f"<dt>{word}</dt><dd>{escape(meaning)}</dd>" for word, meaning in used)
    return f'<details class="legend"><summary>What the words mean</summary><dl>{rows}</dl></details>'


def _used(meanings: Mapping[Word, str], words: Sequence[Word | None]) -> list[tuple[str, str]]:
    return [(word.value, meaning) for word, meaning in meanings.items() if word in words]
