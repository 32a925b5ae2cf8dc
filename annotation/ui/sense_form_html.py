"""The form of the sense chooser as HTML: the word, what it means, and the sense it is compared with."""

from __future__ import annotations

from uuid import uuid4

from annotation.authoring import Task
from annotation.scale_words import scale_points
from annotation.senses.choice import LONGEST_DEFINITION, LONGEST_WORD, Looked
from annotation.senses.network import PARTS_OF_SPEECH, WORD_TO_SENSE, PairSenses, Sense, word_label
from annotation.senses.view import shown_items
from annotation.types import Project
from annotation.ui.blank_html import blank_html
from annotation.ui.sense_html import meaning_html
from annotation.ui.wording import counted
from kpdemo.ui.widgets import empty_html, escape

OWN = "own"
"""Stands for a meaning that WordNet does not have."""


def task_html(project: Project, undescribed: int = 0) -> str:
    """The fields for a word, its own meaning, and the grade that the pair is to deserve."""
    parts = "".join(f'<option value="{key}">{name}</option>' for key, name in PARTS_OF_SPEECH.items())
    grades = "".join(
        f'<option value="{point.value}">{point.value} {escape(point.name)}</option>'
        for point in reversed(scale_points(project.settings.scale_words, WORD_TO_SENSE))
    )
    return f"""
<form id="senses-form" class="senses" autocomplete="off">
{_undescribed_html(undescribed)}
<h2>Word</h2>
<div class="senses-row">
<label>Word <input type="text" id="senses-word" dir="auto" maxlength="{LONGEST_WORD}"></label>
<label>Part of speech <select id="senses-part"><option value="">any</option>{parts}</select></label>
<button type="submit" class="keep">Look up</button>
</div>
<label>Grade that the pair should deserve
 <select id="senses-grade"><option value="">choose</option>{grades}</select></label>
</form>
"""


def writer_task_html(project: Project, task: Task) -> str:
    """The word that a writer was given, and the grade that is requested; nothing of it can be changed."""
    point = scale_points(project.settings.scale_words, WORD_TO_SENSE)[task.grade]
    note = f'<p class="note" dir="auto">An editor sent it back: {escape(task.note)}</p>' if task.note else ""
    return f"""
<div id="senses-form" class="senses" data-writing="{task.id}">
<h2>Word</h2>
<p class="senses-chosen" dir="auto">{escape(word_label(task.left))}</p>{note}
<p>Choose a sense that deserves the grade <b>{point.value} <bdi>{escape(point.name)}</bdi></b>:
 <bdi>{escape(point.description)}</bdi></p>
<input type="hidden" id="senses-word" value="{escape(task.left)}">
<p><button type="button" class="keep" data-senses="leave">I do not understand it</button></p>
{blank_html("senses")}</div>
"""


def nothing_html(project: Project, task: Task | None) -> str:
    """For a writer without a word: where to go on."""
    if task is None:
        return empty_html("There is no word for you at the moment. Check again later.")
    return (
        f"{empty_html('Your next item is not a word.')}"
        f'<p><a href="/annotate/write?project={project.id}">Go on under Write</a></p>'
    )


def _undescribed_html(count: int) -> str:
    if not count:
        return ""
    said = f"{counted(count, 'pair has', 'pairs have')} a sense key and no definitions yet."
    return (
        f'<p class="note">{escape(said)} <button type="button" class="keep" data-senses="describe">'
        "Add them from WordNet</button></p>"
    )


def without_wordnet_html(problem: str) -> str:
    """How to get WordNet; everything else works without it."""
    return (
        f"{empty_html(problem)}<p>Then open this page again. Until then senses can be imported as keys or as "
        "definitions in words, and everything else works.</p>"
    )


def meanings_html(found: Looked) -> str:
    """The word's senses to choose from, and the fields for a meaning that is none of them."""
    word = escape(found.word)
    options = "".join(_meaning_html("senses-meaning", sense) for sense in found.senses)
    name = "no such meaning" if found.senses else "no such word"
    own = (
        '<label class="senses-option"><input type="radio" name="senses-meaning"'
        f' value="{OWN}"{"" if found.senses else " checked"}><span><b>Another meaning</b> '
        f"WordNet has {name}; say it in your own words.</span></label>"
    )
    said = "" if found.senses else f'<p class="small">WordNet does not have “<bdi>{word}</bdi>”.</p>'
    return (
        f'<form id="senses-meanings-form" class="senses" data-drawn="{uuid4().hex}">{said}'
        f"<fieldset><legend>What does “<bdi>{word}</bdi>” mean here?</legend>{options}{own}</fieldset>"
        f'<div id="senses-own"{" hidden" if found.senses else ""}>{_OWN_FIELDS}</div></form>'
    )


_OWN_FIELDS = f"""
<label for="senses-definition">Its meaning, in your words</label>
<textarea id="senses-definition" rows="3" dir="auto" maxlength="{LONGEST_DEFINITION}"></textarea>
<div class="senses-row">
<label>A word that comes closest <input type="text" id="senses-closest-word" dir="auto"
 maxlength="{LONGEST_WORD}"></label>
<button type="submit" class="keep">Look up the closest</button>
</div>
"""


def closest_html(found: Looked) -> str:
    """The senses of the word that comes closest."""
    word = escape(found.word)
    if not found.senses:
        return empty_html(f"WordNet does not have “{found.word}”. Try a more common word.")
    options = "".join(_meaning_html("senses-closest", sense) for sense in found.senses)
    return (
        f'<div class="senses" data-drawn="{uuid4().hex}"><fieldset>'
        f"<legend>Which sense of “<bdi>{word}</bdi>” comes closest?</legend>{options}</fieldset></div>"
    )


def _meaning_html(name: str, sense: Sense) -> str:
    return (
        f'<label class="senses-option"><input type="radio" name="{name}" value="{escape(sense.keys[0])}">'
        f"<span><b>{escape(sense.label)}</b> {escape(sense.definition)}</span></label>"
    )


def choice_html(sense: Sense, texts: PairSenses) -> str:
    """The sense to compare with, as raters will see it, and the button that makes the pair."""
    _, shown = shown_items(WORD_TO_SENSE, "", "", texts)
    return (
        f'<section class="senses senses-choice" data-key="{escape(sense.keys[0])}" data-drawn="{uuid4().hex}"'
        ' aria-labelledby="senses-choice-name"><h2 id="senses-choice-name" tabindex="-1">Compare with</h2>'
        f'<p class="senses-chosen">{escape(shown.text)}</p>'
        '<div class="senses-texts" tabindex="0" role="group" aria-labelledby="senses-choice-name">'
        f"{meaning_html(shown)}</div>"
        f'<div class="senses-row">{_words_html(sense)}'
        '<button type="button" class="rate-primary" data-senses="make">Make the pair</button></div></section>'
    )


def _words_html(sense: Sense) -> str:
    """The words that the sense may be called by; its key names one of them."""
    if len(sense.words) == 1:
        return ""
    options = "".join(
        f'<option value="{escape(key)}">{escape(word)}</option>'
        for key, word in zip(sense.keys, sense.words, strict=True)
    )
    return f'<label>Called by the word <select id="senses-key">{options}</select></label>'


def answer_html(text: str, kind: str = "note") -> str:
    """The outcome of the last request; an empty one says nothing."""
    role = "alert" if kind == "problem" else "status"
    ground = "note" if text else "senses-said"
    return (
        f'<p id="senses-said" role="{role}" data-kind="{kind}" data-answer="{uuid4().hex}" class="{ground}">'
        f"{escape(text)}</p>"
    )
