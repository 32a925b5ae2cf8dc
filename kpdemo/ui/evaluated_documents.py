"""Single documents of an evaluation: the lowest of a file, or those where a further file differs most."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpdemo.evaluation.details import Details
from kpdemo.evaluation.metrics import CUT, KindScores, harmonic_mean
from kpdemo.evaluation.protocol import ComparedDocument
from kpdemo.evaluation.report import decimals
from kpdemo.evaluation.runs import Run, run_names
from kpdemo.text import shortened
from kpdemo.ui.marks import escape

MOST_ROWS = 20
MOST_BYTES = 100 * 2**20
"""Of the details of all files; a page that anyone may use does not fill the disk."""

LONGEST_TITLE = 120
ABOUT = (
    "Only documents with present gold keyphrases are listed. Right and wrong refer to the first five "
    "predicted present keyphrases, which F1@5 counts; a right one after these counts as missed, and its rank "
    "is given."
)
Row = Mapping[str, Any]
"""A line of the details."""


@dataclass(frozen=True, slots=True)
class PageDetails(Details):
    """Details up to `MOST_BYTES`, more or less a line."""

    @property
    def is_full(self) -> bool:
        return self.stream.tell() > MOST_BYTES

    def add(self, dataset: str, model: str | None, compared: ComparedDocument) -> None:
        """As `Details.add`, or nothing."""
        if not self.is_full:
            Details.add(self, dataset, model, compared)


def documents_html(runs: Sequence[Run], dataset: str, details: Path) -> str:
    """A folded table for one file, or for each further one; none where no document has present gold.

    `details` has a line for each document of the first run, then of the next, and so on.
    """
    scores = [[_f1(one.present) for one in run.report.datasets[dataset].scores] for run in runs]
    number = len(scores[0])
    chosen = [_furthest(scores[0], other) for other in scores[1:]] or [_lowest(scores[0])]
    if not any(f1 is not None for f1 in scores[0]):
        return ""
    wanted = {place for places in chosen for place in places}
    wanted |= {run * number + place for run, places in enumerate(chosen, start=1) for place in places}
    lines = _read(details, wanted)
    names = run_names(runs)
    if len(runs) == 1:
        body = [_row_html(lines[place], f1_of(lines[place]), [lines[place]]) for place in chosen[0]]
        heads = ["F1@5", "Present keyphrases"]
        return _folded("Documents with the lowest F1@5", heads, body)
    parts = []
    for run, places in enumerate(chosen, start=1):
        body = []
        for place in places:
            both = lines[place], lines[run * number + place]
            apart = both[1]["present"]["F1@5"] - both[0]["present"]["F1@5"]
            body.append(_row_html(both[0], f"{apart:+.3f}", both, each_with_f1=True))
        title = f"Documents where {names[run]} differs most from {names[0]}"
        parts.append(_folded(title, ["Difference", names[0], names[run]], body))
    return "".join(parts)


def f1_of(line: Row) -> str:
    return decimals(line["present"]["F1@5"])


def _f1(scores: KindScores) -> float | None:
    return harmonic_mean(*scores.at[CUT]) if scores.has_gold else None


def _lowest(scores: Sequence[float | None]) -> list[int]:
    known = [(f1, place) for place, f1 in enumerate(scores) if f1 is not None]
    return [place for _, place in sorted(known)[:MOST_ROWS]]


def _furthest(first: Sequence[float | None], other: Sequence[float | None]) -> list[int]:
    apart = [
        (-abs(theirs - ours), place)
        for place, (ours, theirs) in enumerate(zip(first, other, strict=True))
        if ours is not None and theirs is not None and ours != theirs
    ]
    return [place for _, place in sorted(apart)[:MOST_ROWS]]


def _read(details: Path, wanted: Iterable[int]) -> dict[int, Row]:
    numbers = set(wanted)
    with details.open(encoding="utf-8") as stream:
        return {number: json.loads(line) for number, line in enumerate(stream) if number in numbers}


def _folded(title: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    if not rows:
        return f'<p class="small">{escape(title)}: none differs in F1@5.</p>'
    cells = "".join(
        f'<th scope="col"{_number(place)}>{escape(head)}</th>' for place, head in enumerate(heads)
    )
    return (
        f"<details><summary>{escape(title)}</summary>"
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{escape(title)}">'
        f'<table class="keyphrases"><thead><tr><th scope="col">Document</th>{cells}</tr></thead>'
        f'<tbody>{"".join(rows)}</tbody></table></div><p class="small">{ABOUT}</p></details>'
    )


def _number(place: int) -> str:
    return "" if place else ' class="number"'


def _row_html(named: Row, figure: str, lines: Sequence[Row], *, each_with_f1: bool = False) -> str:
    title = shortened(named["title"], LONGEST_TITLE)
    name = "<br>".join([*([escape(title)] if title else []), f"<small>{escape(named['id'])}</small>"])
    cells = "".join(
        f"<td>{_line_html('F1@5', [f1_of(line)]) if each_with_f1 else ''}{_phrases_html(line)}</td>"
        for line in lines
    )
    return f'<tr><th scope="row" dir="auto">{name}</th><td class="number">{figure}</td>{cells}</tr>'


def _phrases_html(line: Row) -> str:
    """What is right, marked as on the page of keyphrases, what is wrong and what was missed."""
    first = [one for one in line["predicted"]["present"] if one["rank"] <= CUT]
    later = [one for one in line["predicted"]["present"] if one["rank"] > CUT and one["correct"]]
    right = [f'<mark class="kp kp-1">{_phrase(one["text"])}</mark>' for one in first if one["correct"]]
    wrong = [_phrase(one["text"]) for one in first if not one["correct"]]
    missed = [_phrase(text) for text in line["missed"]["present"]]
    missed += [f"{_phrase(one['text'])} (rank {one['rank']})" for one in later]
    named = {"Right": right, "Wrong": wrong, "Missed": missed}
    return "".join(_line_html(name, phrases) for name, phrases in named.items() if phrases)


def _phrase(text: str) -> str:
    return f"<bdi>{escape(text)}</bdi>"


def _line_html(name: str, parts: Sequence[str]) -> str:
    return f"<div><small>{name}</small> {' · '.join(parts)}</div>"
