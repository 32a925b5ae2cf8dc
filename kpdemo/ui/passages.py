"""What retrieval added to a prediction: passages, and keyphrases with and without them. No Gradio here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kpdemo.languages.names import ENGLISH, NAMES
from kpdemo.text import phrase_key
from kpdemo.types import Keyphrase, Prediction, RetrievalPrediction, RetrievedPassage
from kpdemo.ui.figures import score_html
from kpdemo.ui.marks import escape

SHOWN = 5
"""More passages are folded."""

_NOT_IN_OTHER = "only here"
_NONE = (
    "No passage was found, because the index has none: these keyphrases come from the text alone. "
    "Add passages to the index."
)
_NO_KEYPHRASES = (
    "None of these passages has keyphrases, so that they could not help: give them some "
    "(the field “keyphrases”) and build the index anew."
)
_OWN = """Passages of your own find what yours are about. A line of <code>passages.jsonl</code> is
<code>&#123;"id": "1", "title": "…", "text": "…", "keyphrases": ["…"]&#125;</code>; then:"""
_BUILD = """python -m kpdemo index build --input passages.jsonl --output my.index --model multilingual
python app.py --index my.index"""


def passages_html(found: RetrievalPrediction) -> str:
    """The passages with their keyphrases, those marked that reached the output, and what they changed."""
    return (
        '<section class="retrieval" aria-labelledby="predict-passages-heading">'
        '<h3 id="predict-passages-heading">Passages that are near to this text</h3>'
        f"{_list(found)}{_comparison(found)}{_own_passages()}</section>"
    )


def reached(passages: Sequence[RetrievedPassage], prediction: Prediction) -> Mapping[str, tuple[str, ...]]:
    """The passages' keyphrases that reached the output, each with the keyphrases it led to.

    Those are the ones that name it in their evidence, and those that are the same words.
    """
    found: dict[str, tuple[str, ...]] = {}
    keyphrases = prediction.present + prediction.absent
    for passage in passages:
        for phrase in passage.keyphrases:
            key = phrase_key(phrase, passage.language or ENGLISH)
            led_to = tuple(item.text for item in keyphrases if _stems_from(item, key, prediction.language))
            if led_to:
                found[phrase] = led_to
    return found


def _stems_from(keyphrase: Keyphrase, key: str, language: str) -> bool:
    told = {phrase_key(phrase, ENGLISH) for phrase in keyphrase.evidence}
    return key in told or phrase_key(keyphrase.text, language) == key


def _list(found: RetrievalPrediction) -> str:
    if not found.passages:
        return f'<p class="note" id="predict-passages">{_NONE}</p>'
    used = reached(found.passages, found.prediction)
    first, rest = found.passages[:SHOWN], found.passages[SHOWN:]
    items = f'<ol class="passages" id="predict-passages">{_items(first, used)}</ol>'
    if rest:
        items += (
            f"<details><summary>{len(rest)} more</summary>"
            f'<ol class="passages" start="{SHOWN + 1}">{_items(rest, used)}</ol></details>'
        )
    if not any(passage.keyphrases for passage in found.passages):
        return f'{items}<p class="note">{_NO_KEYPHRASES}</p>'
    legend = "“used” marks a keyphrase that led to one of the result, or is one of them."
    return f'{items}<p class="small">{legend}</p>'


def _items(passages: Sequence[RetrievedPassage], used: Mapping[str, tuple[str, ...]]) -> str:
    return "".join(f"<li>{_passage(passage, used)}</li>" for passage in passages)


def _passage(passage: RetrievedPassage, used: Mapping[str, tuple[str, ...]]) -> str:
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
        f'{score_html(passage.score)}</div><div class="chips">{chips}</div>{text}</div>'
    )


def _chip(phrase: str, led_to: Collection[str]) -> str:
    if not led_to:
        return f'<span class="chip retrieved" dir="auto">{escape(phrase)}</span>'
    names = escape(" · ".join(led_to))
    return (
        f'<span class="chip retrieved used" title="{names}"><bdi>{escape(phrase)}</bdi> '
        '<span class="used-word">used</span></span>'
    )


def _comparison(found: RetrievalPrediction) -> str:
    """Both lists side by side; a keyphrase that the other lacks says so."""
    if not found.passages:
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
