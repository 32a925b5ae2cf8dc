"""The Semantic space page: how a model sees a text, the document among its phrases in the plane."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gradio as gr

from kpdemo.errors import InputError, KpdemoError, LanguageError
from kpdemo.evaluation.projection import Method, project
from kpdemo.languages.detection import identified
from kpdemo.languages.names import language_name
from kpdemo.languages.routing import ROUTES
from kpdemo.latin import mapless
from kpdemo.progress import heard_by
from kpdemo.text import shortened
from kpdemo.types import VectorSpace
from kpdemo.ui.charts import chart_buttons, show_chart
from kpdemo.ui.figures import grouped
from kpdemo.ui.marks import escape
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.questions import read_question
from kpdemo.ui.results import Question
from kpdemo.ui.space_map import document_cosines, map_chart, map_table_html, most_telling
from kpdemo.ui.stop import Stop, Stops
from kpdemo.ui.widgets import (
    MODEL_QUEUE,
    QuestionFields,
    empty_html,
    keep_reason,
    page_of,
    section_heading,
    show_share,
    shown_to_user,
    stop_button,
)

EMPTY = (
    "No map yet. Enter a text on the Keyphrases page, then press Draw here: the map uses that text and "
    "its options."
)
SPACES = ("extractor", "reranker", "bank")
"""The spaces that have a place on the page, by their names."""

METHODS = [("PCA, at once", Method.PCA.value), ("t‑SNE, some seconds", Method.TSNE.value)]
MEANINGS = {
    "extractor": "Here the model compares the document with the phrases that occur in it. Absent keyphrases "
    "are not part of this space.",
    "reranker": "Here the model compares the document with phrases, whether or not they occur in it.",
    "bank": "Here the model compares the document with the terms of its bank; present keyphrases are added "
    "for orientation.",
}
READINGS = {
    Method.PCA: "PCA shows the two directions in which the vectors differ most. Points far apart "
    "here are far apart in the space; points close together may differ in directions that are not shown.",
    Method.TSNE: "t‑SNE keeps neighbours together. The axes, the sizes of groups and the distances between "
    "groups mean nothing.",
}
NAMES = (
    "The document and the best keyphrases are named where there is room; hover over any other point, or tap "
    "it, to see what it is."
)
TOO_FEW = "There are too few points for t‑SNE, so they are laid out by PCA."
STOPPED = "Stopped before the map was drawn: press Draw to start again."
SHOWN_TITLE = 80


@dataclass(frozen=True)
class SpaceHandlers:
    shelf: ModelShelf
    stops: Stops = field(default_factory=Stops)

    def draw(
        self,
        title: str,
        document: str,
        model: str,
        rule: str,
        count: float,
        threshold: str,
        language: str,
        method: str,
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> tuple[Any, ...]:
        """What was drawn; then for each of `SPACES` its place, what it is, its chart, buttons and table."""
        with shown_to_user(KpdemoError), self.stops.begun(page_of(request), STOPPED) as stop:
            question = read_question(title, document, model, rule, count, threshold, language)
            started = time.perf_counter()
            with heard_by(partial(show_share, progress)):
                spaces = self._spaces(question, stop)
            parts: list[Any] = []
            told: set[str] = set()
            for name in SPACES:
                stop.check()
                parts += _parts(name, spaces.get(name), Method(method), told)
            return _facts_html(question, time.perf_counter() - started), *parts

    def _spaces(self, question: Question, stop: Stop) -> dict[str, VectorSpace]:
        """By their names; at least one.

        Raises:
            InputError: there is none, or the document cannot be read.
        """
        try:
            spaces = {space.name: space for space in self.shelf.spaces(question, stop)}
        except LanguageError as error:
            raise InputError(mapless(str(error))) from error
        if not spaces:
            raise InputError(self._nothing_drawn(question))
        return spaces

    def _nothing_drawn(self, question: Question) -> str:
        """Why, in one sentence; to choose another model does not help where this one reads the language."""
        reader, language = self.shelf.reader_of(question), identified(question.document).language
        if ROUTES.get(language) == reader:
            return (
                f"{language_name(language)} texts are read by the model {reader}, which does not compare "
                "vectors, so there is no map of them."
            )
        return (
            f"The model “{reader}” does not compare vectors, so there is nothing to draw: choose another one "
            "on the Keyphrases page."
        )


def build_space_tab(handlers: SpaceHandlers, fields: QuestionFields) -> None:
    """The layout to choose and a button, and under them a place for each space."""
    section_heading("Semantic space", "space-heading")
    with gr.Row(elem_id="space-controls", elem_classes="controls"):
        method = gr.Radio(METHODS, value=Method.PCA.value, label="Layout", elem_id="space-method", scale=4)
        run = gr.Button("Draw", variant="primary", elem_id="space-run", scale=0, min_width=140)
    stop_button(handlers.stops, "space")
    facts = gr.HTML(empty_html(EMPTY), elem_id="space-facts")
    parts = [part for name in SPACES for part in _build_place(name)]
    asked = run.click(
        handlers.draw,
        [*fields.all, method],
        [facts, *parts],
        api_name="draw_space",
        **MODEL_QUEUE,
        show_progress_on=facts,
        trigger_mode="always_last",
    )
    keep_reason(asked, facts)


def _build_place(name: str) -> tuple[gr.Column, gr.HTML, gr.Plot, gr.HTML, gr.HTML]:
    """The chart of a space with its table beside it, out of sight until there is something to draw."""
    with gr.Column(visible=False, elem_id=f"space-{name}") as place:
        about = gr.HTML("", elem_id=f"space-{name}-about")
        with gr.Row(elem_classes="columns"):
            with gr.Column(scale=7, min_width=480):
                chart = gr.Plot(visible=False, show_label=False, container=False, elem_id=_chart_id(name))
                buttons = gr.HTML("", elem_id=f"space-{name}-save")
            with gr.Column(scale=4, min_width=340):
                table = gr.HTML("", elem_id=f"space-{name}-table")
    return place, about, chart, buttons, table


def _parts(name: str, space: VectorSpace | None, method: Method, told: set[str]) -> tuple[Any, ...]:
    """The place of a space filled, or put out of sight when the model has no such space.

    Args:
        told: what was said of the spaces before, which is not said again.
    """
    if space is None:
        return gr.Column(visible=False), "", show_chart(None), "", ""
    shown = most_telling(space)
    plane = project(shown.vectors, method)
    cosines = document_cosines(shown)
    sentences = [each for each in (MEANINGS[name], READINGS[plane.method], NAMES) if each not in told]
    told.update(sentences)
    if plane.method is not method:
        sentences.append(TOO_FEW)
    if len(shown.points) < len(space.points):
        whole, drawn = grouped(len(space.points) - 1), grouped(len(shown.points) - 1)
        sentences.append(f"The map shows the best {drawn} of {whole} phrases.")
    about = f'<h3>{name.capitalize()}</h3><p class="small">{escape(" ".join(sentences))}</p>'
    says = f"The document and its phrases in the space of the {name}"
    return (
        gr.Column(visible=True),
        about,
        show_chart(map_chart(shown, plane, cosines)),
        chart_buttons(_chart_id(name), says, f"{name}-space"),
        map_table_html(shown, cosines),
    )


def _chart_id(name: str) -> str:
    return f"space-{name}-chart"


def _facts_html(question: Question, seconds: float) -> str:
    first = " ".join((question.document.title or question.document.body).split())
    beginning = shortened(first, SHOWN_TITLE)
    return (
        f'<p><q dir="auto">{escape(beginning)}</q> <span class="small">model {escape(question.model)} · '
        f"{seconds:.2f} s</span></p>"
    )
