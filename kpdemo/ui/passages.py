"""What retrieval added to a prediction: passages, and keyphrases with and without them. No Gradio here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kpdemo.languages.names import NAMES
from kpdemo.passages import Used, help_note, unrelated_note, used_keyphrases
from kpdemo.scores import short_score
from kpdemo.text import phrase_key
from kpdemo.types import Prediction, RetrievalPrediction, RetrievedPassage
from kpdemo.ui.figures import counted, score_html
from kpdemo.ui.marks import escape

SHOWN = 5
"""More passages are folded."""

_NOT_IN_OTHER = "only here"
_TOO_FAR = "Too far from this text to help: its score {score} is below {near:g}."
_LEGEND = "“used” marks a keyphrase that is in the result or led to one that is."
_OWN = """Use passages on the same subjects as your texts. Each line of <code>passages.jsonl</code> is
<code>&#123;"id": "1", "title": "…", "text": "…", "keyphrases": ["…"]&#125;</code>. Then run:"""
_BUILD = """python -m kpdemo index build --input passages.jsonl --output my.index --model multilingual
python app.py --index my.index"""


def passages_html(found: RetrievalPrediction) -> str:
    """The passages with their keyphrases, those marked that reached the output, and what they changed."""
    return (
        '<section class="retrieval" aria-labelledby="predict-passages-heading">'
        '<h3 id="predict-passages-heading">Retrieved passages</h3>'
        f"{_list(found)}{_comparison(found)}{_own_passages()}</section>"
    )


def _list(found: RetrievalPrediction) -> str:
    note = help_note(found)
    if not found.passages:
        return f'<p class="note" id="predict-passages">{note}</p>'
    items = [
        f"<li>{_passage(passage, used, found)}</li>"
        for passage, used in zip(found.passages, used_keyphrases(found), strict=True)
    ]
    if note:  # nothing that helped: a line to open, not a screenful
        nearest = "The nearest passage" if len(items) == 1 else f"The nearest {len(items)} passages"
        html = _numbered(items[:SHOWN]) + _folded(f"{len(items) - SHOWN} more", items[SHOWN:], SHOWN + 1)
        folded = f"<details><summary>{nearest}</summary>{html}</details>"
        return f'<p class="note" id="predict-passages-note">{note}</p>{folded}'
    related = sum(map(found.related, found.passages))  # the first ones: they are in the order of their scores
    shown = min(related, SHOWN)
    told = unrelated_note(found)
    return (
        (_numbered(items[:shown]) if shown else "")
        + _folded(f"{related - shown} more", items[shown:related], shown + 1)
        + (f'<p class="note" id="predict-passages-unrelated">{told}</p>' if told else "")
        + _folded(_unrelated_summary(items[related:]), items[related:], related + 1)
        + f'<p class="small">{_LEGEND}</p>'
    )


def _unrelated_summary(items: Sequence[str]) -> str:
    subjects = "another subject" if len(items) == 1 else "other subjects"
    return f"{counted(len(items), 'passage')} that may be on {subjects}"


def _numbered(items: Sequence[str], first: int = 1) -> str:
    place = ' id="predict-passages"' if first == 1 else f' start="{first}"'
    return f'<ol class="passages"{place}>{"".join(items)}</ol>'


def _folded(summary: str, items: Sequence[str], first: int) -> str:
    return f"<details><summary>{summary}</summary>{_numbered(items, first)}</details>" if items else ""


def _passage(passage: RetrievedPassage, used: Used, found: RetrievalPrediction) -> str:
    lang = f' lang="{passage.language}"' if passage.language in NAMES else ""
    chips = "".join(_chip(phrase, used.get(phrase, ())) for phrase in passage.keyphrases)
    text = (
        f'<details><summary>Text</summary><p dir="auto">{escape(passage.text)}</p></details>'
        if passage.text
        else ""
    )
    name = passage.title or passage.id
    return (
        f'<div class="passage"{lang}><div class="passage-head"><strong dir="auto">{escape(name)}</strong>'
        f'{score_html(passage.score)}</div>{_far(passage, found)}<div class="chips">{chips}</div>{text}</div>'
    )


def _far(passage: RetrievedPassage, found: RetrievalPrediction) -> str:
    """That the passage did not help; in three decimals, because two may look like the least score."""
    if found.near is None or found.helps(passage):
        return ""
    reason = _TOO_FAR.format(score=short_score(passage.score, 3), near=found.near)
    return f'<p class="passage-far" lang="en">{reason}</p>'


def _chip(phrase: str, led_to: Collection[str]) -> str:
    if not led_to:
        return f'<span class="chip retrieved" dir="auto">{escape(phrase)}</span>'
    names = escape(" · ".join(led_to))
    return (
        f'<span class="chip retrieved used" title="{names}"><bdi>{escape(phrase)}</bdi> '
        '<span class="used-word">used</span></span>'
    )


def passage_list_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """Passages as `kpdemo.passages.passage_rows` gives them, in short and folded; empty for none."""
    if not rows:
        return ""
    items = "".join(f"<li>{_short(row)}</li>" for row in rows)
    near = sum(row["helps"] for row in rows)
    told = "" if near == len(rows) else f", {near or 'none'} near enough to help"
    return (
        f'<details class="passages-found"><summary>{counted(len(rows), "passage")}{told}</summary>'
        f'<ol class="passages">{items}</ol></details>'
    )


def _short(row: Mapping[str, Any]) -> str:
    used = set(row["used"])
    chips = "".join(_chip(phrase, [phrase] if phrase in used else ()) for phrase in row["keyphrases"])
    far = ""
    if not row["helps"]:
        far = '<p class="passage-far">Too far from this text to help.</p>'
    elif not row["related"]:
        far = '<p class="passage-far">May be on another subject.</p>'
    return (
        f'<div class="passage-head"><strong dir="auto">{escape(row["title"] or row["id"])}</strong>'
        f'{score_html(row["score"])}</div>{far}<div class="chips">{chips}</div>'
    )


def _comparison(found: RetrievalPrediction) -> str:
    """Both lists side by side; a keyphrase that the other lacks says so."""
    if help_note(found):
        return ""
    both = (found.prediction, found.without)
    columns = zip(("With the passages", "Without them"), both, reversed(both), strict=True)
    return (
        '<h3 id="predict-comparison-heading">What the passages changed</h3>'
        '<div class="compare-columns" id="predict-comparison">'
        + "".join(_column(title, shown, other) for title, shown, other in columns)
        + "</div>"
    )


def _column(title: str, shown: Prediction, other: Prediction) -> str:
    known = {phrase_key(item.text, other.language) for item in other.present + other.absent}
    lang = f' lang="{shown.language}"' if shown.language in NAMES else ""
    items = ""
    for item in shown.present + shown.absent:
        shared = phrase_key(item.text, shown.language) in known
        look = "phrase" if item.present else "phrase chip"
        alone = "" if shared else f'<span class="votes">{_NOT_IN_OTHER}</span>'
        phrase = f'<span class="{look}" dir="auto"{lang}>{escape(item.text)}</span>'
        items += f"<li>{score_html(item.score)} {phrase}{alone}</li>"
    content = f"<ol>{items}</ol>" if items else '<p class="small">No keyphrase.</p>'
    return f'<section class="compare-column"><h4>{title}</h4>{content}</section>'


def _own_passages() -> str:
    return (
        '<details id="predict-own-passages"><summary>Use passages of your own</summary>'
        f'<p class="small">{_OWN}</p><div class="code"><pre tabindex="0" role="region" '
        f'aria-label="Commands that build an index"><code>{escape(_BUILD)}</code></pre></div></details>'
    )
