"""The Keyphrases tab: a text in, its keyphrases marked in it; examples, and how long a text is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio.to_thread
import gradio as gr
from gradio.events import Dependency

from kpdemo.errors import KpdemoError
from kpdemo.languages import NAMES
from kpdemo.types import TITLE_BREAK
from kpdemo.ui.html import NARROW_SPACE, escape, group_digits, markdown_html
from kpdemo.ui.models import LONG_TEXT, WARM_UP_PATIENCE, ModelShelf
from kpdemo.ui.page import ASSETS
from kpdemo.ui.requests import LARGEST_COUNT, LONGEST_TEXT, Rule, read_request
from kpdemo.ui.results import answer_html
from kpdemo.ui.widgets import (
    MODEL_QUEUE,
    QUIETLY,
    QuestionFields,
    empty_html,
    keep_reason,
    note_html,
    note_script,
    section_heading,
    show_share,
    shown_to_user,
)
from kpdemo.worker import ProgressListener, Stop, listen_with


@dataclass(frozen=True, slots=True)
class Example:
    """A text to try; `field` is the one word on its button."""

    field: str
    title: str
    text: str

    @property
    def script(self) -> str:
        """Fills the boxes in the browser, title and text at once; what was typed there can be restored."""
        texts = json.dumps([self.title, self.text])
        return f"async (...typed) => (await kpdemo).examples.show({texts}, ...typed)"


def load_examples() -> list[Example]:
    rows = json.loads((ASSETS / "examples.json").read_text(encoding="utf-8"))
    return [Example(row["field"], row["title"], row["text"]) for row in rows]


def build_examples(examples: Sequence[Example], title: gr.Textbox, document: gr.Textbox) -> list[Dependency]:
    """The events that have filled the boxes: with an example, and last with what was typed before."""
    with gr.Row(elem_id="predict-examples"):
        gr.HTML('<p class="row-label">Examples</p>', elem_id="predict-examples-label")
        buttons = [
            gr.Button(example.field, size="sm", min_width=80, elem_id=f"predict-example-{number}")
            for number, example in enumerate(examples, start=1)
        ]
        back = gr.Button(
            "Your text back", size="sm", min_width=80, visible=False, elem_id="predict-text-back"
        )
    boxes = [title, document]
    shown = [
        button.click(None, boxes, [*boxes, back], js=example.script, api_name=f"show_example_{number}")
        for number, (example, button) in enumerate(zip(examples, buttons, strict=True), start=1)
    ]
    restore = "async () => (await kpdemo).examples.restore()"
    return [*shown, back.click(None, None, [*boxes, back], js=restore, api_name="show_typed_text")]


TOO_LONG = (
    f"The text has LENGTH and this page reads at most {group_digits(LONGEST_TEXT)}: remove MORE of them, or "
    "use "
    "the command line (python -m kpdemo predict), which has no limit."
)

MINUTE = 100_000
"""Characters that two cores with other work read in a minute."""

# Characters of the text that is read, as Python counts them, in the browser, so that typing sends nothing.
_COUNT = f"""
  const heading = [...(title ?? "").trim()].length;
  const count = (heading && heading + {len(TITLE_BREAK)}) + [...(text ?? "")].length;
  const minutes = Math.round(count / {MINUTE});
  const time = minutes > 1 ? `${{minutes}} minutes` : "a minute";
  const grouped = (number) => String(number).replace(/\\B(?=(\\d{{3}})+$)/g, "{NARROW_SPACE}");"""

COUNT_CHARACTERS = f"""(title, text) => {{{_COUNT}
  const told = `${{grouped(count)}} ${{count === 1 ? "character" : "characters"}}`;
  if (count > {LONGEST_TEXT}) return {json.dumps(note_html(TOO_LONG, role="status"))}
    .replace("LENGTH", told).replace("MORE", grouped(count - {LONGEST_TEXT}));
  const patience = count < {LONG_TEXT} ? "" : `This may take ${{time}}. `;
  return `<p class="count">${{patience}}${{told}}${{heading ? ", the title included" : ""}}</p>`;
}}"""

READING = "Reading LENGTH characters: this may take TIME, or longer if the server is busy."

# Shown while the result is pending; see style.css.
TELL_LENGTH = f"""(title, text) => {{{_COUNT}
  if (count < {LONG_TEXT} || count > {LONGEST_TEXT}) return "";
  return {json.dumps(note_html(READING, role="status"))}
    .replace("LENGTH", grouped(count)).replace("TIME", time);
}}"""


LANGUAGES = [("Detect", ""), *((name, code) for code, name in NAMES.items())]

RULES = [
    ("The model's own rule", Rule.OWN.value),
    ("A number", Rule.COUNT.value),
    ("All that reach a threshold", Rule.THRESHOLD.value),
]

THRESHOLD = "0.1"
"""To begin with: the best phrases of an abstract score .2 to .3 with the default model."""

# Of number and threshold only the one that holds is to be seen.
SHOW_RULE = f"""(rule) => [{json.dumps(Rule.COUNT)}, {json.dumps(Rule.THRESHOLD)}].map(
  (name) => ({{ __type__: "update", visible: rule === name }}))"""

EMPTY = "No keyphrases yet. Paste a text or choose an example, then press Predict."

STOPPED = "Stopped before the text was read. Press Predict to start again."

# On a phone the result is below the fields. Gradio's own scroll_to_output stops half-way when an answer
# comes fast.
COME_TO_RESULT = """() => {
  const top = document.querySelector("#predict-text")?.getBoundingClientRect().top ?? 0;
  if (top < 0 || top > innerHeight / 2) document.querySelector("#predict-heading").scrollIntoView();
}"""


@dataclass(frozen=True)
class PredictHandlers:
    shelf: ModelShelf

    def predict(
        self,
        title: str,
        document: str,
        model: str,
        rule: str,
        count: float,
        threshold: str,
        language: str = "",
        *,
        stop: Stop | None = None,
        heard: ProgressListener | None = None,
    ) -> str:
        """The text with its present keyphrases marked, their table, and ways to keep them."""
        with shown_to_user(KpdemoError), listen_with(heard):
            question = read_request(title, document, model, rule, count, threshold, language)
            answer = answer_html(self.shelf.answer(question, stop))
            reader = self.shelf.reader_of(question)
            return answer if reader == question.model else answer + self._reader_html(reader)

    async def predict_until_stopped(
        self,
        title: str,
        document: str,
        model: str,
        rule: str,
        count: float,
        threshold: str,
        language: str = "",
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> str:
        """As `predict`; when Gradio cancels the event, the model stops too."""
        stop = Stop()
        fields = (title, document, model, rule, count, threshold, language)
        try:
            heard = partial(show_share, progress)
            work = partial(self.predict, *fields, stop=stop, heard=heard)
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            stop.ask()  # the thread that was left alone would work on for nobody

    def describe_model(self, model: str) -> tuple[str, dict[str, object]]:
        """The card of a model, and whose it is."""
        with shown_to_user(KpdemoError):
            return markdown_html(self.shelf.card(model)), gr.update(label=_about(model))

    def _reader_html(self, model: str) -> str:
        """The card of a model that answered in place of the chosen one, folded."""
        card = markdown_html(self.shelf.card(model))
        return (
            f'<details id="predict-reader"><summary>{escape(_about(model))}</summary>'
            f'<div class="card">{card}</div></details>'
        )

    def explain_problem(self) -> str:
        """A box that says why the default model cannot be used; empty when it can."""
        problem = self.shelf.problem(patience=WARM_UP_PATIENCE)
        if not problem:
            return ""
        return note_html(f"{problem} Meanwhile, choose another model under Model.", role="alert")


@dataclass(frozen=True, slots=True)
class ResultPlaces:
    """Where the answer goes, and what is said while a long text is read."""

    reading: gr.HTML
    result: gr.HTML


def build_predict_tab(
    handlers: PredictHandlers, examples: Sequence[Example], page: gr.Blocks
) -> QuestionFields:
    """The fields on the left, the result on the right; returns the fields."""
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            title, document = _text_fields()
            run = gr.Button("Predict", variant="primary", elem_id="predict-run")
            shown_examples = build_examples(examples, title, document)
            fields = _option_fields(handlers, title, document)
        with gr.Column(scale=7, min_width=320):
            section_heading("Keyphrases", "predict-heading")
            problem = gr.HTML("", elem_id="predict-problem")
            with gr.Row(elem_id="predict-wait"):
                reading = gr.HTML("", elem_id="predict-reading")
                stop = gr.Button("Stop", scale=0, min_width=80, elem_id="predict-stop")
            result = gr.HTML(empty_html(EMPTY), elem_id="predict-result")
    places = ResultPlaces(reading, result)
    asked: list[dict[str, Any]] = [_on_predict(run.click, handlers, fields, places, api_name="predict")]
    for number, shown in enumerate(shown_examples, start=1):
        asked.append(_on_predict(shown.then, handlers, fields, places, api_name=f"predict_example_{number}"))
    stop.click(None, cancels=asked)
    stop.click(None, result, result, js=note_script(STOPPED), api_name="tell_stop", show_progress="hidden")
    fields.rule.change(
        None, fields.rule, [fields.count, fields.threshold], js=SHOW_RULE, api_name="choose_rule"
    )
    page.load(handlers.explain_problem, outputs=problem, api_name="explain_problem", **QUIETLY)
    return fields


def _on_predict(
    event: Callable[..., Any],
    handlers: PredictHandlers,
    fields: QuestionFields,
    places: ResultPlaces,
    *,
    api_name: str,
) -> Dependency:
    event(None, fields.texts, places.reading, js=TELL_LENGTH, api_name=f"tell_length_of_{api_name}")
    answered: Dependency = event(
        handlers.predict_until_stopped,
        fields.all,
        places.result,
        api_name=api_name,
        **MODEL_QUEUE,
        show_progress="minimal",
        trigger_mode="always_last",
    )
    keep_reason(answered, places.result)
    answered.success(None, js=COME_TO_RESULT, api_name=f"come_to_result_of_{api_name}")
    return answered


def _text_fields() -> tuple[gr.Textbox, gr.Textbox]:
    title = gr.Textbox(label="Title (optional)", lines=1, max_lines=3, elem_id="predict-title")
    document = gr.Textbox(
        label="Document",
        placeholder="Paste an abstract or a whole text.",
        lines=7,
        max_lines=14,
        elem_id="predict-document",
    )
    length = gr.HTML('<p class="count">0 characters</p>', elem_id="predict-length")
    changes = [title.change, document.change]
    gr.on(changes, None, [title, document], length, js=COUNT_CHARACTERS, api_name="count_characters")
    return title, document


def _option_fields(handlers: PredictHandlers, title: gr.Textbox, document: gr.Textbox) -> QuestionFields:
    with gr.Group():
        model = _model_field(handlers)
        rule = gr.Radio(RULES, value=Rule.OWN.value, label="How many keyphrases", elem_id="predict-rule")
        count = gr.Number(  # without limits of its own: Gradio would change the number in silence
            10, label=f"Number, 1 to {LARGEST_COUNT}", visible=False, elem_id="predict-count"
        )
        threshold = gr.Textbox(
            THRESHOLD,
            label="Threshold, 0 to 1",
            placeholder=f"such as {THRESHOLD}",
            max_lines=1,
            visible=False,
            elem_id="predict-threshold",
        )
        language = gr.Dropdown(
            LANGUAGES, value="", label="Language of the document", elem_id="predict-language"
        )
    return QuestionFields(title, document, model, rule, count, threshold, language)


def _model_field(handlers: PredictHandlers) -> gr.Dropdown:
    """The models, each with its line, and the card of the chosen one folded under them."""
    shelf = handlers.shelf
    model = gr.Dropdown(shelf.choices, value=shelf.default, label="Model", elem_id="predict-model")
    with gr.Accordion(_about(shelf.default), open=False, elem_id="predict-about") as about:
        card, _ = handlers.describe_model(shelf.default)
        shown = gr.HTML(card, elem_id="predict-card", elem_classes="card")
    asked = [model.change, about.expand]  # the card of a model of the Hub comes with its first prediction
    gr.on(asked, handlers.describe_model, model, [shown, about], api_name="describe_model", **QUIETLY)
    return model


def _about(model: str) -> str:
    return f"About the model {model}"
