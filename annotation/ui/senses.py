"""The sense chooser: a word, the sense it is meant in, and a sense nearby to compare it with.

Python writes each part; the script gathers what is typed and chosen, and sends it through the line that tells
what became of it. Nothing is kept on the server until a pair is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import uuid4

import gradio as gr

from annotation.authoring import Task
from annotation.errors import AccessError, AnnotationError, GradeError, WordNetError
from annotation.scale import Point
from annotation.sense_pairs import (
    LONGEST_DEFINITION,
    LONGEST_WORD,
    Dictionary,
    LookUp,
    SenseChoice,
    SenseError,
    describe_sense,
    look_up,
    neighbourhood_around,
    unknown_sense,
)
from annotation.senses import (
    GAP,
    PARTS_OF_SPEECH,
    RADII,
    WORD_TO_SENSE,
    Node,
    PairSenses,
    Sense,
    SenseStep,
    item_views,
    layout_nodes,
    nodes_with_names,
    word_label,
)
from annotation.services.accounts import AccountService
from annotation.services.projects import ProjectService
from annotation.services.senses import SenseService
from annotation.services.writing import WritingService
from annotation.translation import _, ngettext
from annotation.types import Project, Role, User
from annotation.ui.widgets import Answer, Parts, ScriptEvent, answer_problems, event_script, require_member
from annotation.ui.wording import blank_html, meaning_html, translate_points
from annotation.web.routes import LONGEST_SECONDS
from annotation.wording import quote_value, whole_in
from kpdemo.ui.html import escape, group_digits, inline_html
from kpdemo.ui.widgets import QUIETLY, empty_html

if TYPE_CHECKING:
    from annotation.wordnet import WordNet


OWN = "own"
"""Stands for a meaning that WordNet does not have."""


def points_of(project: Project) -> tuple[Point, ...]:
    return translate_points(project.settings, WORD_TO_SENSE)


def task_html(project: Project, undescribed: int = 0) -> str:
    """The fields for a word, its own meaning, and the grade that the pair is to deserve."""
    parts = "".join(f'<option value="{key}">{_(name)}</option>' for key, name in PARTS_OF_SPEECH.items())
    grades = "".join(
        f'<option value="{point.value}">{point.value} {escape(point.name)}</option>'
        for point in reversed(points_of(project))
    )
    return f"""
<form id="senses-form" class="senses" autocomplete="off">
{_undescribed_html(undescribed)}
<h2>{_("Word")}</h2>
<div class="senses-row">
<label>{_("Word")} <input type="text" id="senses-word" dir="auto" maxlength="{LONGEST_WORD}"></label>
<label>{_("Part of speech")} <select id="senses-part">
<option value="">{_("any")}</option>{parts}</select></label>
<button type="submit" class="keep">{_("Look up")}</button>
</div>
<label>{_("Grade that the pair should deserve")}
 <select id="senses-grade"><option value="">{_("choose")}</option>{grades}</select></label>
</form>
"""


def writer_task_html(project: Project, task: Task) -> str:
    """The word that a writer was given, and the grade that is requested; nothing of it can be changed."""
    [point] = [point for point in points_of(project) if point.value == task.grade]
    returned = _("An editor sent it back: {note}", note=task.note)
    note = f'<p class="note" dir="auto">{escape(returned)}</p>' if task.note else ""
    name = f"<b>{point.value} <bdi>{escape(point.name)}</bdi></b>"
    return f"""
<div id="senses-form" class="senses" data-writing="{task.id}">
<h2>{_("Word")}</h2>
<p class="senses-chosen" dir="auto">{escape(word_label(task.left))}</p>{note}
<p>{_("Choose a sense that deserves the grade {grade}:", grade=name)}
 <bdi>{escape(point.description)}</bdi></p>
<input type="hidden" id="senses-word" value="{escape(task.left)}">
<p><button type="button" class="keep" data-senses="leave">{_("I do not understand it")}</button></p>
{blank_html("senses")}</div>
"""


def nothing_html(project: Project, task: Task | None) -> str:
    """For a writer without a word: where to go on."""
    if task is None:
        return empty_html(_("There is no word for you at the moment. Check again later."))
    return (
        f"{empty_html(_('Your next item is not a word.'))}"
        f'<p><a href="/annotate/write?project={project.id}">{_("Go on under Write")}</a></p>'
    )


def _undescribed_html(count: int) -> str:
    if not count:
        return ""
    said = ngettext(
        "{count} pair has a sense key and no definitions yet.",
        "{count} pairs have a sense key and no definitions yet.",
        count,
        count=group_digits(count),
    )
    return (
        f'<p class="note">{escape(said)} <button type="button" class="keep" data-senses="describe">'
        f"{_('Add them from WordNet')}</button></p>"
    )


def without_wordnet_html(problem: str) -> str:
    """How to get WordNet; everything else works without it."""
    then = _(
        "Then open this page again. Until then senses can be imported as keys or as definitions in words, "
        "and everything else works."
    )
    return f'<p class="empty">{inline_html(problem)}</p><p>{then}</p>'


def meanings_html(found: LookUp) -> str:
    """The word's senses to choose from, and the fields for a meaning that is none of them."""
    word = f"<bdi>{escape(found.word)}</bdi>"
    options = "".join(_meaning_html("senses-meaning", sense) for sense in found.senses)
    why = (
        _("WordNet has no such meaning; say it in your own words.")
        if found.senses
        else _("WordNet has no such word; say it in your own words.")
    )
    own = (
        '<label class="senses-option"><input type="radio" name="senses-meaning"'
        f' value="{OWN}"{"" if found.senses else " checked"}>'
        f"<span><b>{_('Another meaning')}</b> {why}</span></label>"
    )
    lacks = _("WordNet does not have “{word}”.", word=word)
    said = "" if found.senses else f'<p class="small">{lacks}</p>'
    question = _("What does “{word}” mean here?", word=word)
    return (
        f'<form id="senses-meanings-form" class="senses" data-drawn="{uuid4().hex}">{said}'
        f"<fieldset><legend>{question}</legend>{options}{own}</fieldset>"
        f'<div id="senses-own"{" hidden" if found.senses else ""}>{_own_fields()}</div></form>'
    )


def _own_fields() -> str:
    return f"""
<label for="senses-definition">{_("Its meaning, in your words")}</label>
<textarea id="senses-definition" rows="3" dir="auto" maxlength="{LONGEST_DEFINITION}"></textarea>
<div class="senses-row">
<label>{_("A word that comes closest")} <input type="text" id="senses-closest-word" dir="auto"
 maxlength="{LONGEST_WORD}"></label>
<button type="submit" class="keep">{_("Look up the closest")}</button>
</div>
"""


def closest_html(found: LookUp) -> str:
    """The senses of the word that comes closest."""
    if not found.senses:
        return empty_html(_("WordNet does not have “{word}”. Try a more common word.", word=found.word))
    options = "".join(_meaning_html("senses-closest", sense) for sense in found.senses)
    question = _("Which sense of “{word}” comes closest?", word=f"<bdi>{escape(found.word)}</bdi>")
    return (
        f'<div class="senses" data-drawn="{uuid4().hex}"><fieldset>'
        f"<legend>{question}</legend>{options}</fieldset></div>"
    )


def _meaning_html(name: str, sense: Sense) -> str:
    return (
        f'<label class="senses-option"><input type="radio" name="{name}" value="{escape(sense.keys[0])}">'
        f"<span><b>{escape(sense.label)}</b> {escape(sense.definition)}</span></label>"
    )


def choice_html(sense: Sense, texts: PairSenses) -> str:
    """The sense to compare with, as raters will see it, and the button that makes the pair."""
    _word, shown = item_views(WORD_TO_SENSE, "", "", texts)
    return (
        f'<section class="senses senses-choice" data-key="{escape(sense.keys[0])}" data-drawn="{uuid4().hex}"'
        ' aria-labelledby="senses-choice-name">'
        f'<h2 id="senses-choice-name" tabindex="-1">{_("Compare with")}</h2>'
        f'<p class="senses-chosen">{escape(shown.text)}</p>'
        '<div class="senses-texts" tabindex="0" role="group" aria-labelledby="senses-choice-name">'
        f"{meaning_html(shown)}</div>"
        f'<div class="senses-row">{_words_html(sense)}'
        '<button type="button" class="rate-primary" data-senses="make">'
        f"{_('Make the pair')}</button></div></section>"
    )


def _words_html(sense: Sense) -> str:
    """The words that the sense may be called by; its key names one of them."""
    if len(sense.words) == 1:
        return ""
    options = "".join(
        f'<option value="{escape(key)}">{escape(word)}</option>'
        for key, word in zip(sense.keys, sense.words, strict=True)
    )
    return f'<label>{_("Called by the word")} <select id="senses-key">{options}</select></label>'


def answer_html(text: str, kind: str = "note") -> str:
    """The outcome of the last request; an empty one says nothing."""
    role = "alert" if kind == "problem" else "status"
    ground = "note" if text else "senses-said"
    return (
        f'<p id="senses-said" role="{role}" data-kind="{kind}" data-answer="{uuid4().hex}" class="{ground}">'
        f"{escape(text)}</p>"
    )


EMPTY = {"meanings": "", "closest": "", "around": "", "choice": ""}
"""The page before a word was looked up."""
MOST_LISTED = 100
"""At each distance; the filter finds the others."""
LONGEST_NAME = 18
MARGIN = 90.0


def around_html(key: str, start: Sense, steps: Sequence[SenseStep], wanted: str, wordnet: WordNet) -> str:
    """The graph, the filter and the list.

    Args:
        key: of the sense in the middle, as it was asked for: the page shows no list of another one.
        start: this sense.
        steps: its neighbourhood.
        wanted: what the words or definitions of listed senses contain; empty lists all.
        wordnet: gives each synset its words.
    """
    nodes = layout_nodes(steps)
    found = [(step, wordnet.synset(step.synset)) for step in steps]
    words = " ".join(wanted.split()).casefold()
    if words:
        found = [each for each in found if words in f"{each[1].label} {each[1].definition}".casefold()]
    lists = "".join(
        _distance_html(distance, list(group), wordnet)
        for distance, group in groupby(found, key=lambda each: each[0].distance)
    )
    if not found:
        lists = empty_html(_("No sense nearby matches. Shorten the filter, or clear it."))
    heading = _("Within three steps of “{word}”", word=escape(start.words[0]))
    count = ngettext(
        "{count} sense. Choose one that makes a pair of that grade.",
        "{count} senses. Choose one that makes a pair of that grade.",
        len(steps),
        count=group_digits(len(steps)),
    )
    return (
        f'<div class="senses" data-drawn="{uuid4().hex}" data-meaning="{escape(key)}">'
        f'<h2>{heading}</h2><p class="small">{count}</p>'
        f"{_graph_html(nodes, len(steps), wordnet)}"
        f'<form id="senses-filter-form" class="senses-row"><label>{_("Only senses with")}'
        f' <input type="text" id="senses-filter" dir="auto" value="{escape(wanted)}" maxlength="100"></label>'
        f'<button type="submit" class="keep">{_("Filter")}</button></form>'
        f'<div class="senses-lists" tabindex="0" role="group" aria-label="{_("Senses nearby")}">'
        f"{lists}</div></div>"
    )


def _distance_html(distance: int, found: list[tuple[SenseStep, Sense]], wordnet: WordNet) -> str:
    options = "".join(_option_html(step, sense, wordnet) for step, sense in found[:MOST_LISTED])
    rest = len(found) - MOST_LISTED
    others = _("And {more} more: the filter finds them.", more=group_digits(rest))
    more = f'<p class="small">{others}</p>' if rest > 0 else ""
    steps = ngettext("{count} step away", "{count} steps away", distance)
    name = f"{steps} ({group_digits(len(found))})" if distance else _("The meaning itself")
    return f'<fieldset class="senses-ring"><legend>{name}</legend>{options}{more}</fieldset>'


def _option_html(step: SenseStep, sense: Sense, wordnet: WordNet) -> str:
    way = ""
    if step.via is not None and step.relation is not None:
        relation = _("{name}: {value}", name=_(step.relation.value), value=wordnet.synset(step.via).words[0])
        way = f"<i>{escape(relation)}</i> "
    return (
        '<label class="senses-option"><input type="radio" name="senses-near"'
        f' value="{escape(sense.keys[0])}">'
        f"<span><b>{escape(sense.label)}</b> {way}{escape(sense.definition)}</span></label>"
    )


def _graph_html(nodes: Sequence[Node], total: int, wordnet: WordNet) -> str:
    """Circles and lines; the names of the inner ones, the others when they are pointed at."""
    rings = "".join(f'<circle class="senses-orbit" r="{radius:.0f}"/>' for radius in RADII[1:])
    lines = "".join(
        f'<line x1="{node.before[0]:.1f}" y1="{node.before[1]:.1f}" x2="{node.x:.1f}" y2="{node.y:.1f}"/>'
        for node in nodes
        if node.before is not None
    )
    senses = {node: wordnet.synset(node.step.synset) for node in nodes}
    named = nodes_with_names({node: _short_name(sense) for node, sense in senses.items()})
    # The inner ones last: what still meets one of their names lies under it.
    dots = "".join(_dot_html(node, senses[node], node in named) for node in reversed(nodes))
    reach = RADII[-1] + MARGIN
    says = _("Graph of {shown} of {total} senses; the list has all of them", shown=len(nodes), total=total)
    return (
        f'<details class="senses-graph" open><summary>{_("Graph")}</summary>'
        f'<svg role="img" aria-label="{says}"'
        f' viewBox="{-reach:.0f} {-RADII[-1] - 20:.0f} {2 * reach:.0f} {2 * RADII[-1] + 40:.0f}">'
        f"{rings}{lines}{dots}</svg></details>"
    )


def _short_name(sense: Sense) -> str:
    name = sense.words[0]
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _dot_html(node: Node, sense: Sense, is_named: bool) -> str:
    distance = node.step.distance
    if distance == 0:
        place = 'y="-16" text-anchor="middle"'
    else:
        place = f'x="{GAP if node.x >= 0 else -GAP}" y="4" text-anchor="{"start" if node.x >= 0 else "end"}"'
    text = f"<text {place}>{escape(_short_name(sense))}</text>" if is_named else ""
    return (
        f'<g class="senses-dot" data-distance="{distance}" data-key="{escape(sense.keys[0])}"'
        f' transform="translate({node.x:.1f} {node.y:.1f})">'
        f"<title>{escape(sense.label)}: {escape(sense.definition)}</title>"
        f'<circle r="{9 - 2 * distance}"/>{text}</g>'
    )


MOST_CHARACTERS = 4_000
"""Of any field; more is cut off before it is looked at."""
EVENTS = ("look_up", "closest", "around", "show", "make", "leave", "describe")


@dataclass(frozen=True)
class SensesHandlers:
    """Each answer is of the parts of the page by name, see `build_senses_page`."""

    accounts: AccountService
    projects: ProjectService
    senses: SenseService
    dictionary: Dictionary
    writing: WritingService

    def open(self, request: gr.Request) -> Answer:
        """The empty form; or why there is none, and what to do."""
        try:
            user, project, roles = self._admit(request)
            self.dictionary.open()
            return self._begin(user, project, roles, "")
        except WordNetError as error:
            return {"task": without_wordnet_html(str(error))}
        except AnnotationError as error:
            return {"task": empty_html(str(error))}

    @answer_problems(answer_html)
    def look_up(self, event: gr.EventData, request: gr.Request) -> Answer:
        """The senses of the word."""
        self._admit(request)
        asked = _Request(event)
        found = look_up(asked.text("word"), asked.text("part"), self.dictionary.open())
        return {**EMPTY, "meanings": meanings_html(found), "said": answer_html("")}

    @answer_problems(answer_html)
    def closest(self, event: gr.EventData, request: gr.Request) -> Answer:
        """The senses of another word, for one that WordNet lacks."""
        self._admit(request)
        found = look_up(_Request(event).text("closest"), "", self.dictionary.open())
        return {"closest": closest_html(found), "around": "", "choice": "", "said": answer_html("")}

    @answer_problems(answer_html)
    def around(self, event: gr.EventData, request: gr.Request) -> Answer:
        """What lies around the word's meaning."""
        self._admit(request)
        asked = _Request(event)
        wordnet = self.dictionary.open()
        key = asked.text("meaning")
        start, steps = neighbourhood_around(key, wordnet)
        listed = around_html(key, start, steps, asked.text("filter"), wordnet)
        return {"around": listed, "choice": "", "said": answer_html("")}

    @answer_problems(answer_html)
    def show(self, event: gr.EventData, request: gr.Request) -> Answer:
        """The sense to compare with, its parents and siblings."""
        self._admit(request)
        wordnet, key = self.dictionary.open(), _Request(event).text("key")
        sense, texts = wordnet.sense(key), describe_sense(key, wordnet)
        if sense is None or texts is None:
            raise unknown_sense(key)
        return {"choice": choice_html(sense, texts), "said": answer_html("")}

    @answer_problems(answer_html)
    def make(self, event: gr.EventData, request: gr.Request) -> Answer:
        """Make the pair; the word and its meaning stay for the next one."""
        user, project, roles = self._admit(request)
        asked = _Request(event)
        if asked.text("writing"):
            self.senses.submit(asked.writing(), user.id, asked.choice(), asked.seconds())
            return self._begin(user, project, roles, _("Sent to the editors."))
        self.accounts.require(user.name, project.id, Role.ADMINISTRATOR)
        pair = self.senses.add_pair(project.id, asked.choice(), asked.grade(), by=user)
        made = _("Made pair {id}: {left} and {right}.", id=pair.id, left=pair.left, right=pair.right)
        said = answer_html(made, "saved")
        return {"choice": "", "said": said}

    @answer_problems(answer_html)
    def leave(self, event: gr.EventData, request: gr.Request) -> Answer:
        """Give a word that the writer does not understand to somebody else."""
        user, project, roles = self._admit(request)
        asked = _Request(event)
        self.writing.leave_blank(asked.writing(), user.id, asked.text("note"))
        return self._begin(user, project, roles, _("Given to another writer."))

    @answer_problems(answer_html)
    def describe(self, event: gr.EventData, request: gr.Request) -> Answer:
        """Add definitions to pairs that were imported without WordNet."""
        user, project, _roles = self._admit(request)
        self.accounts.require(user.name, project.id, Role.ADMINISTRATOR)
        done, missing = self.senses.describe(project.id, by=user)
        told = [
            ngettext(
                "{count} pair has definitions now.",
                "{count} pairs have definitions now.",
                done,
                count=group_digits(done),
            )
        ]
        if missing:
            told.append(_("WordNet does not have the senses of {count}.", count=group_digits(missing)))
        said = answer_html(" ".join(told), "saved")
        return {**EMPTY, "task": task_html(project, self.senses.count_undescribed(project.id)), "said": said}

    def _begin(self, user: User, project: Project, roles: frozenset[Role], done: str) -> Answer:
        """The form for a writer's next word; without one, for any word of an administrator's."""
        begun = {**EMPTY, "said": answer_html(done, "saved" if done else "note")}
        desk = self.writing.desk(project.id, user.id) if Role.WRITER in roles else None
        task = None if desk is None else desk.task
        if task is not None and task.type == WORD_TO_SENSE:
            found = look_up(task.left, "", self.dictionary.open())
            return {**begun, "task": writer_task_html(project, task), "meanings": meanings_html(found)}
        if user.is_administrator or Role.ADMINISTRATOR in roles:
            return {**begun, "task": task_html(project, self.senses.count_undescribed(project.id))}
        return {**begun, "task": nothing_html(project, task)}

    def _admit(self, request: gr.Request) -> tuple[User, Project, frozenset[Role]]:
        project_id, user = require_member(request, self.accounts, Role.ADMINISTRATOR, Role.WRITER)
        project = self.projects.get(project_id)
        if WORD_TO_SENSE not in project.settings.types:
            raise AccessError(
                _(
                    "The project {project} has no type word to sense: add it in the project's settings.",
                    project=repr(project.name),
                )
            )
        return user, project, self.accounts.roles(user.name, project.id)


def build_senses_page(handlers: SensesHandlers, page: gr.Blocks) -> None:
    """The form on the left; on the right the neighbourhood and what is chosen from it."""
    with gr.Row(elem_id="senses-page", elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            parts = Parts(task=_part("senses-task", empty_html(_("Opening WordNet."))))
            parts |= {"meanings": _part("senses-meanings"), "closest": _part("senses-closest")}
        with gr.Column(scale=7, min_width=320):
            parts["said"] = said = gr.HTML(
                answer_html(""),
                elem_id="senses-answer",
                apply_default_css=False,
                js_on_load=event_script("senses", EVENTS),
            )
            parts |= {"around": _part("senses-around"), "choice": _part("senses-choice")}
    page.load(parts.fill(handlers.open), outputs=parts.outputs, api_name="open_senses", **QUIETLY)
    for name, event, handler in (
        ("look_up_word", said.look_up, handlers.look_up),
        ("look_up_closest", said.closest, handlers.closest),
        ("show_around", said.around, handlers.around),
        ("show_sense", said.show, handlers.show),
        ("make_pair", said.make, handlers.make),
        ("leave_word", said.leave, handlers.leave),
        ("describe_senses", said.describe, handlers.describe),
    ):
        event(parts.fill(handler), outputs=parts.outputs, api_name=name, **QUIETLY, trigger_mode="multiple")


def _part(name: str, value: str = "") -> gr.HTML:
    return gr.HTML(value, elem_id=name, apply_default_css=False, js_on_load=None)


class _Request(ScriptEvent):
    """What the script sent: a word, one of its senses, and what to make of it."""

    def __init__(self, event: gr.EventData) -> None:
        super().__init__(event, MOST_CHARACTERS)

    def choice(self) -> SenseChoice:
        return SenseChoice(
            word=self.text("word"),
            part_of_speech=self.text("part"),
            meaning=self.text("meaning"),
            definition=self.text("definition"),
            is_own=self.value("own") is True,
            key=self.text("key"),
        )

    def writing(self) -> int:
        text = self.text("writing")
        number = whole_in(text)
        if number is None:
            raise SenseError(
                _("{value} is not an item of yours: open the page again.", value=quote_value(text))
            )
        return number

    def seconds(self) -> float | None:
        """How long the writer was at it; None where nothing sensible is said."""
        value = self.value("seconds")
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            return None
        return min(float(value), float(LONGEST_SECONDS))

    def grade(self) -> Decimal:
        try:
            return Decimal(self.text("grade"))
        except InvalidOperation:
            raise GradeError(_("No grade is chosen: choose the one that the pair should get.")) from None
