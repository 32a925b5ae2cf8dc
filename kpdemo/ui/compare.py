"""Several models on the same text, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import gradio as gr

from kpdemo.errors import InputError, KpdemoError
from kpdemo.predictors import ENGLISH_MODEL
from kpdemo.quick_start import import_nltk
from kpdemo.text import phrase_key
from kpdemo.types import Keyphrase, Prediction
from kpdemo.ui.figures import score_html
from kpdemo.ui.marks import escape
from kpdemo.ui.models import OF_ONE_MODEL, ModelShelf
from kpdemo.ui.questions import read_question
from kpdemo.ui.results import Answer, Question, note_of
from kpdemo.ui.widgets import (
    MODEL_QUEUE,
    QuestionFields,
    empty_html,
    keep_reason,
    note_html,
    section_heading,
    shown_to_user,
)

EMPTY = "Nothing compared yet. Tick models and press Compare: they read the text above, with its options."


@dataclass(frozen=True, slots=True)
class Column:
    """What one model said: an answer, or why there is none."""

    model: str
    answer: Answer | None = None
    problem: str = ""

    @property
    def prediction(self) -> Prediction:
        return self.answer.prediction if self.answer else Prediction(())


def columns_html(columns: Sequence[Column]) -> str:
    """One list a model; a phrase that several models give says how many do."""
    agreed = Counter(
        key
        for column in columns
        for key in {_key(item, column) for item in column.prediction.present + column.prediction.absent}
    )
    lists = "".join(_column_html(column, agreed, len(columns)) for column in columns)
    return f'<div class="compare-columns" id="compare-columns">{lists}</div>'


def _column_html(column: Column, agreed: Counter[str], models: int) -> str:
    if column.answer is None:
        content = note_html(column.problem)
        facts = ""
    else:
        present, absent = (
            "".join(_item_html(item, agreed[_key(item, column)], models) for item in side)
            for side in (column.prediction.present, column.prediction.absent)
        )
        content = f"<ol>{present}</ol>" if present else note_html("No present keyphrase was found.")
        content += f'<p class="small">Absent</p><ol>{absent}</ol>' if absent else ""
        note = note_of(column.answer)
        content = note_html(note) + content if note else content
        facts = f'<p class="small">{column.answer.seconds:.2f} s</p>'
    return f'<section class="compare-column"><h3>{escape(column.model)}</h3>{content}{facts}</section>'


def _key(keyphrase: Keyphrase, column: Column) -> str:
    return phrase_key(keyphrase.text, column.prediction.language)


def _item_html(keyphrase: Keyphrase, votes: int, models: int) -> str:
    shared = f'<span class="votes">{votes} of {models}</span>' if votes > 1 else ""
    kind = ' class="shared"' if votes > 1 else ""
    look = "phrase" if keyphrase.spans else "phrase chip"
    phrase = f'<span class="{look}" dir="auto">{escape(keyphrase.text)}</span>'
    return f"<li{kind}>{score_html(keyphrase.score)}<div>{phrase} {shared}</div></li>"


@dataclass(frozen=True)
class CompareHandlers:
    shelf: ModelShelf

    def compare(
        self,
        models: list[str],
        title: str,
        document: str,
        automatic: bool,
        count: float,
        threshold: str,
        language: str = "",
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> str:
        """The keyphrases of each model in a column, in the order the page lists them."""
        with shown_to_user(KpdemoError):
            if not models:
                raise InputError("No model is ticked: tick at least one.")
            question = read_question(title, document, models[0], automatic, count, threshold, language)
            columns = []
            for done, model in enumerate(name for name in self.shelf.models if name in models):
                progress((done, len(models)), desc=model, unit="models" if len(models) > 1 else "model")
                columns.append(self._column(replace(question, model=model)))
            import_nltk()  # not at the start: only comparing needs it
            return columns_html(columns)

    def _column(self, question: Question) -> Column:
        try:
            return Column(question.model, self.shelf.answer(question))
        except OF_ONE_MODEL as error:  # it does not hide what the others say
            return Column(question.model, problem=str(error))


def build_compare_section(handlers: CompareHandlers, fields: QuestionFields) -> None:
    """A heading, the models to tick, a button and their columns, under the page's own fields."""
    names = list(handlers.shelf.models)
    ticked = [name for name in names if name != ENGLISH_MODEL]  # on English it is the default one again
    section_heading("Compare", "compare-heading")
    with gr.Row(elem_id="compare-controls", elem_classes="controls"):
        models = gr.CheckboxGroup(names, value=ticked, label="Models", elem_id="compare-models", scale=4)
        run = gr.Button("Compare", elem_id="compare-run", scale=0, min_width=140)
    result = gr.HTML(empty_html(EMPTY), elem_id="compare-result")
    asked = run.click(
        handlers.compare,
        [models, *(field for field in fields.all if field is not fields.model)],
        result,
        api_name="compare",
        **MODEL_QUEUE,
        show_progress="minimal",
        trigger_mode="always_last",
    )
    keep_reason(asked, result)
