"""The sense chooser: a word, the sense it is meant in, and a sense nearby to compare it with.

Python writes each part; the script gathers what is typed and chosen, and sends it through the line that tells
what became of it. Nothing is kept on the server until a pair is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import gradio as gr

from annotation.characters import shown
from annotation.errors import AccessError, AnnotationError, GradeError, WordNetError
from annotation.numbers import whole_in
from annotation.senses.choice import SenseChoice, SenseError, around, look_up
from annotation.senses.dictionary import Dictionary
from annotation.senses.network import WORD_TO_SENSE
from annotation.senses.pair_senses import described
from annotation.services.access.accounts import AccountService
from annotation.services.projects import ProjectService
from annotation.services.senses import SenseService
from annotation.services.writing.writers import WritingService
from annotation.types import Project, Role, User
from annotation.ui.asking import TOLD, Told, asked_by, reason_of
from annotation.ui.sense_form_html import (
    answer_html,
    choice_html,
    closest_html,
    meanings_html,
    nothing_html,
    task_html,
    without_wordnet_html,
    writer_task_html,
)
from annotation.ui.sense_list_html import around_html
from annotation.ui.sent import Sent, bridge
from annotation.ui.wording import counted, grouped
from annotation.web.json_routes import LONGEST_SECONDS
from kpdemo.ui.widgets import QUIETLY, empty_html

MOST_CHARACTERS = 4_000
"""Of any field; more is cut off before it is looked at."""
EVENTS = ("look_up", "closest", "around", "show", "make", "leave", "describe")

Shown = tuple[Any, Any, Any, Any, Any, str]
"""The task, the word's meanings, closest senses, the neighbourhood, the sense chosen, and the answer."""


@dataclass(frozen=True)
class SensesHandlers:
    accounts: AccountService
    projects: ProjectService
    senses: SenseService
    dictionary: Dictionary
    writing: WritingService

    def open(self, request: gr.Request) -> Shown:
        """The empty form; or why there is none, and what to do."""
        try:
            user, project, roles = self._admitted(request)
            self.dictionary.open()
            return self._begun(user, project, roles, answer_html(""))
        except WordNetError as error:
            return (without_wordnet_html(str(error)), "", "", "", "", answer_html(""))
        except AnnotationError as error:
            return (empty_html(str(error)), "", "", "", "", answer_html(""))

    def look_up(self, event: gr.EventData, request: gr.Request) -> Shown:
        """The senses of the word."""
        try:
            self._admitted(request)
            asked = _Asked(event)
            found = look_up(asked.text("word"), asked.text("part"), self.dictionary.open())
        except TOLD as error:
            return _problem(error)
        return gr.skip(), meanings_html(found), "", "", "", answer_html("")

    def closest(self, event: gr.EventData, request: gr.Request) -> Shown:
        """The senses of another word, for one that WordNet lacks."""
        try:
            self._admitted(request)
            found = look_up(_Asked(event).text("closest"), "", self.dictionary.open())
        except TOLD as error:
            return _problem(error)
        return gr.skip(), gr.skip(), closest_html(found), "", "", answer_html("")

    def around(self, event: gr.EventData, request: gr.Request) -> Shown:
        """What lies around the word's meaning."""
        try:
            self._admitted(request)
            asked = _Asked(event)
            wordnet = self.dictionary.open()
            key = asked.text("meaning")
            start, steps = around(key, wordnet)
            listed = around_html(key, start, steps, asked.text("filter"), wordnet)
        except TOLD as error:
            return _problem(error)
        return gr.skip(), gr.skip(), gr.skip(), listed, "", answer_html("")

    def show(self, event: gr.EventData, request: gr.Request) -> Shown:
        """The sense to compare with, its parents and siblings."""
        try:
            self._admitted(request)
            wordnet, key = self.dictionary.open(), _Asked(event).text("key")
            sense, texts = wordnet.sense(key), described(key, wordnet)
            if sense is None or texts is None:
                raise SenseError(f"WordNet has no sense {shown(key)}: choose one from the list.")
        except TOLD as error:
            return _problem(error)
        return gr.skip(), gr.skip(), gr.skip(), gr.skip(), choice_html(sense, texts), answer_html("")

    def make(self, event: gr.EventData, request: gr.Request) -> Shown:
        """Make the pair; the word and its meaning stay for the next one."""
        try:
            user, project, roles = self._admitted(request)
            asked = _Asked(event)
            if asked.text("writing"):
                self.senses.submit(asked.writing(), user.id, asked.choice(), asked.seconds())
                return self._begun(user, project, roles, answer_html("Sent to the editors.", "saved"))
            self.accounts.require(user.name, project.id, Role.ADMINISTRATOR)
            pair = self.senses.add_pair(project.id, asked.choice(), asked.grade(), by=user)
        except TOLD as error:
            return _problem(error)
        said = answer_html(f"Made pair {pair.id}: {pair.left} and {pair.right}.", "saved")
        return gr.skip(), gr.skip(), gr.skip(), gr.skip(), "", said

    def leave(self, event: gr.EventData, request: gr.Request) -> Shown:
        """Give a word that the writer does not understand to somebody else."""
        try:
            user, project, roles = self._admitted(request)
            asked = _Asked(event)
            self.writing.leave_blank(asked.writing(), user.id, asked.text("note"))
            return self._begun(user, project, roles, answer_html("Given to another writer.", "saved"))
        except TOLD as error:
            return _problem(error)

    def describe(self, event: gr.EventData, request: gr.Request) -> Shown:
        """Add definitions to pairs that were imported without WordNet."""
        try:
            user, project, _ = self._admitted(request)
            self.accounts.require(user.name, project.id, Role.ADMINISTRATOR)
            done, missing = self.senses.describe(project.id, by=user)
        except TOLD as error:
            return _problem(error)
        rest = f" WordNet does not have the senses of {grouped(missing)}." if missing else ""
        have = counted(done, "pair has", "pairs have")
        said = answer_html(f"{have} definitions now.{rest}", "saved")
        return task_html(project, self.senses.undescribed(project.id)), "", "", "", "", said

    def _begun(self, user: User, project: Project, roles: frozenset[Role], said: str) -> Shown:
        """The form for a writer's next word; without one, for any word of an administrator's."""
        desk = self.writing.desk(project.id, user.id) if Role.WRITER in roles else None
        task = None if desk is None else desk.task
        if task is not None and task.type == WORD_TO_SENSE:
            found = look_up(task.left, "", self.dictionary.open())
            return writer_task_html(project, task), meanings_html(found), "", "", "", said
        if user.is_administrator or Role.ADMINISTRATOR in roles:
            return task_html(project, self.senses.undescribed(project.id)), "", "", "", "", said
        return nothing_html(project, task), "", "", "", "", said

    def _admitted(self, request: gr.Request) -> tuple[User, Project, frozenset[Role]]:
        project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR, Role.WRITER)
        project = self.projects.get(project_id)
        if WORD_TO_SENSE not in project.settings.types:
            raise AccessError(
                f"The project {project.name!r} has no type word to sense: add it in the project's settings."
            )
        return user, project, self.accounts.roles(user.name, project.id)


def build_senses_page(handlers: SensesHandlers, page: gr.Blocks) -> None:
    """The form on the left; on the right the neighbourhood and what is chosen from it."""
    with gr.Row(elem_id="senses-page", elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            task = _part("senses-task", empty_html("Opening WordNet."))
            meanings, closest = _part("senses-meanings"), _part("senses-closest")
        with gr.Column(scale=7, min_width=320):
            said = gr.HTML(
                answer_html(""),
                elem_id="senses-answer",
                apply_default_css=False,
                js_on_load=bridge("senses", EVENTS),
            )
            listed, choice = _part("senses-around"), _part("senses-choice")
    outputs = [task, meanings, closest, listed, choice, said]
    page.load(handlers.open, outputs=outputs, api_name="open_senses", **QUIETLY)
    for name, event, handler in (
        ("look_up_word", said.look_up, handlers.look_up),
        ("look_up_closest", said.closest, handlers.closest),
        ("show_around", said.around, handlers.around),
        ("show_sense", said.show, handlers.show),
        ("make_pair", said.make, handlers.make),
        ("leave_word", said.leave, handlers.leave),
        ("describe_senses", said.describe, handlers.describe),
    ):
        event(handler, outputs=outputs, api_name=name, **QUIETLY, trigger_mode="multiple")


def _part(name: str, value: str = "") -> gr.HTML:
    return gr.HTML(value, elem_id=name, apply_default_css=False, js_on_load=None)


class _Asked(Sent):
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
            raise SenseError(f"{shown(text)} is not an item of yours: open the page again.")
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
            raise GradeError("No grade is chosen: choose the one that the pair should get.") from None


def _problem(error: Told) -> Shown:
    """Only the answer changes: what was chosen and typed stays."""
    return gr.skip(), gr.skip(), gr.skip(), gr.skip(), gr.skip(), answer_html(reason_of(error), "problem")
