"""Numbers as the pages show them. No Gradio here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from kpdemo.scores import page_score
from kpdemo.types import Keyphrase

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"


def grouped(number: int) -> str:
    """12345 as "12 345", with narrow spaces."""
    return f"{number:,}".replace(",", NARROW_SPACE)


def counted(number: int, singular: str, plural: str = "") -> str:
    """1 pair, 2 pairs, 12 345 pairs."""
    return f"{grouped(number)} {singular if number == 1 else plural or f'{singular}s'}"


def listed(names: Sequence[str]) -> str:
    """One, "one and two", or "one, two and three"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def score_html(score: float) -> str:
    """A short bar and two decimals, more of a small one, see `kpdemo.scores`."""
    width = round(100 * min(max(score, 0.0), 1.0))
    bar = f'<span class="bar" aria-hidden="true"><span style="width:{width}%"></span></span>'
    return f'<span class="score">{bar}{page_score(score)}</span>'


FILLER = "does not meet the model's own rule, and only makes up the model's minimum or the number asked for"


def filler_note(keyphrases: Iterable[Keyphrase]) -> str:
    """What a filler is, where there is one."""
    if not any(keyphrase.filler for keyphrase in keyphrases):
        return ""
    return f'<p class="small">A filler {html.escape(FILLER)}.</p>'


def filler_word(keyphrase: Keyphrase) -> str:
    """The word that marks a filler, with its meaning; empty for any other keyphrase."""
    return (
        f'<span class="filler-word" title="{html.escape(FILLER)}">filler</span>' if keyphrase.filler else ""
    )
