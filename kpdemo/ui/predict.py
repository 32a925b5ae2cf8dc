"""The Keyphrases tab: a text in, its keyphrases out, marked in it; examples, options, how long a text is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

import anyio.to_thread
import gradio as gr
from gradio.events import Dependency

from kpdemo.cards import card_summary
from kpdemo.errors import KpdemoError
from kpdemo.locale import _, mark, ngettext
from kpdemo.types import TITLE_BREAK
from kpdemo.ui.html import NARROW_SPACE, escape, group_digits, inline_html
from kpdemo.ui.models import CARDS_AT, LONG_TEXT, WARM_UP_PATIENCE, ModelShelf
from kpdemo.ui.page import ASSETS
from kpdemo.ui.requests import LONGEST_TEXT, read_request
from kpdemo.ui.results import answer_html, text_html
from kpdemo.ui.widgets import (
    MODEL_QUEUE,
    QUIETLY,
    QuestionFields,
    counting_script,
    empty_html,
    keep_reason,
    note_html,
    note_script,
    option_fields,
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
        """Fills the box in the browser; what was typed there can be restored."""
        whole = json.dumps(f"{self.title}{TITLE_BREAK}{self.text}")
        return f"async (typed) => (await kpdemo).examples.show({whole}, typed)"


def load_examples() -> list[Example]:
    rows = json.loads((ASSETS / "examples.json").read_text(encoding="utf-8"))
    return [Example(row["field"], row["title"], row["text"]) for row in rows]


def build_examples(examples: Sequence[Example], document: gr.Textbox) -> list[Dependency]:
    """The events that have filled the box: with an example, and last with what was typed before."""
    with gr.Row(elem_id="predict-examples"):
        gr.HTML(f'<p class="row-label">{_("Examples")}</p>', elem_id="predict-examples-label")
        buttons = [
            gr.Button(
                _(example.field).capitalize(),  # names of languages are small in most
                size="sm",
                min_width=40,
                elem_id=f"predict-example-{number}",
            )
            for number, example in enumerate(examples, start=1)
        ]
        back = gr.Button(
            _("Your text back"), size="sm", min_width=80, visible=False, elem_id="predict-text-back"
        )
    shown = [
        button.click(None, document, [document, back], js=example.script, api_name=f"show_example_{number}")
        for number, (example, button) in enumerate(zip(examples, buttons, strict=True), start=1)
    ]
    restore = "async () => (await kpdemo).examples.restore()"
    return [*shown, back.click(None, None, [document, back], js=restore, api_name="show_typed_text")]


TOO_LONG = mark(
    "The text has {length} and this page reads at most {most}: remove {more} of them, or use the command "
    "line (python -m kpdemo predict), which has no limit."
)

MINUTE = 100_000
"""Characters that two cores with other work read in a minute."""

READING = mark("Reading {length} characters: this may take {time}, or longer if the server is busy.")

# Characters of the text that is read, as Python counts them, in the browser, so that typing sends nothing.
_COUNT = """
  const count = [...(text ?? "")].length;
  const minutes = Math.round(count / MINUTE);
  const time = minutes > 1 ? MINUTES.replace("{minutes}", minutes) : A_MINUTE;
  const grouped = (number) => String(number).replace(/\\B(?=(\\d{3})+$)/g, "SPACE");"""


def _count_script() -> str:
    texts = {"A_MINUTE": _("a minute"), "MINUTES": _("{minutes} minutes", minutes="{minutes}")}
    script = _COUNT
    for name, text in texts.items():
        script = script.replace(name, json.dumps(text))
    return script.replace("MINUTE", str(MINUTE)).replace("SPACE", NARROW_SPACE)


def length_script() -> str:
    """JavaScript: how long the text is; what to do where that is too long."""
    counted = counting_script("{count} character", "{count} characters")
    too_long = _(TOO_LONG, length="LENGTH", most=group_digits(LONGEST_TEXT), more="MORE")
    patience = json.dumps(_("This may take {time}.", time="TIME"))
    return f"""(text) => {{{_count_script()}
  const told = {counted}(count, grouped(count));
  if (count > {LONGEST_TEXT}) return {json.dumps(note_html(too_long, role="status"))}
    .replace("LENGTH", told).replace("MORE", grouped(count - {LONGEST_TEXT}));
  const patience = count < {LONG_TEXT} ? "" : `${{{patience}.replace("TIME", time)}} `;
  return `<p class="count">${{patience}}${{told}}</p>`;
}}"""


def reading_script() -> str:
    """JavaScript: what is shown while the result is pending; see style.css."""
    reading = _(READING, length="LENGTH", time="TIME")
    return f"""(text) => {{{_count_script()}
  if (count < {LONG_TEXT} || count > {LONGEST_TEXT}) return "";
  return {json.dumps(note_html(reading, role="status"))}
    .replace("LENGTH", grouped(count)).replace("TIME", time);
}}"""


EMPTY = mark("No keyphrases yet. Paste a text or choose an example, then press Find keyphrases.")

STOPPED = mark("Stopped before the text was read. Press Find keyphrases to start again.")

OLD = mark("Text or options have changed since: press Find keyphrases.")

# On a phone the result is below the fields. Gradio's own scroll_to_output stops half-way when an answer
# comes fast.
ARRIVE = "async (...shown) => (await kpdemo).answer.arrive(...shown)"
OUTDATE = "async () => (await kpdemo).answer.outdate()"
APPLY = "async (...options) => (await kpdemo).answer.apply(READING, ...options)"


@dataclass(frozen=True)
class PredictHandlers:
    shelf: ModelShelf

    def predict(
        self,
        document: str,
        model: str,
        count: str = "",
        threshold: str = "",
        language: str = "",
        *further: Any,
        stop: Stop | None = None,
        heard: ProgressListener | None = None,
    ) -> tuple[str, str]:
        """The keyphrases with ways to keep them, and the text with the keyphrases marked.

        Args:
            further: the other options, as of `read_options`.
        """
        with shown_to_user(KpdemoError), listen_with(heard):
            question = read_request(document, model, count, threshold, language, *further)
            answer = self.shelf.answer(question, stop)
            return answer_html(answer), text_html(answer)

    async def predict_until_stopped(
        self,
        document: str,
        model: str,
        count: str = "",
        threshold: str = "",
        language: str = "",
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
        *further: Any,
    ) -> tuple[str, str]:
        """As `predict`; when Gradio cancels the event, the model stops too."""
        stop = Stop()
        fields = (document, model, count, threshold, language, *further)
        try:
            heard = partial(show_share, progress)
            work = partial(self.predict, *fields, stop=stop, heard=heard)
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            stop.ask()  # the thread that was left alone would work on for nobody

    def describe_model(self, model: str) -> str:
        """What a model is, in three sentences and a link to its card."""
        with shown_to_user(KpdemoError):
            return about_html(model, self.shelf.card(model))

    def explain_problem(self) -> str:
        """A box that says why the default model cannot be used; empty when it can."""
        problem = self.shelf.problem(patience=WARM_UP_PATIENCE)
        if not problem:
            return ""
        told = _("Meanwhile, choose another model under Options.")
        return note_html(f"{problem} {told}", role="alert")


@dataclass(frozen=True, slots=True)
class ResultPlaces:
    """Where the answer goes, and what is said while a long text is read."""

    reading: gr.HTML
    result: gr.HTML
    marked: gr.HTML


def build_predict_tab(
    handlers: PredictHandlers, examples: Sequence[Example], page: gr.Blocks
) -> QuestionFields:
    """The text and its options on the left, the answer on the right, the marked text under both."""
    with gr.Row(elem_id="predict-page"):
        with gr.Column(elem_id="predict-form"):
            document = _text_field()
            shown_examples = build_examples(examples, document)
            run = gr.Button(_("Find keyphrases"), variant="primary", elem_id="predict-run")
        with gr.Column(elem_id="predict-more"):
            fields = _option_fields(handlers, document)
        with gr.Column(elem_id="predict-answer"):
            section_heading(_("Keyphrases"), "predict-heading")
            problem = gr.HTML("", elem_id="predict-problem")
            with gr.Row(elem_id="predict-wait"):
                reading = gr.HTML("", elem_id="predict-reading")
                stop = gr.Button(_("Stop"), scale=0, min_width=80, elem_id="predict-stop")
            gr.HTML(note_html(_(OLD), role="status"), elem_id="predict-old")
            result = gr.HTML(empty_html(_(EMPTY)), elem_id="predict-result")
        with gr.Column(elem_id="predict-below"):
            marked = gr.HTML("", elem_id="predict-marked")
    places = ResultPlaces(reading, result, marked)
    asked: list[dict[str, Any]] = [_on_predict(run.click, handlers, fields, places, api_name="predict")]
    for number, shown in enumerate(shown_examples, start=1):
        asked.append(_on_predict(shown.then, handlers, fields, places, api_name=f"predict_example_{number}"))
    stop.click(None, cancels=asked)
    stop.click(None, result, result, js=note_script(STOPPED), api_name="tell_stop", show_progress="hidden")
    document.change(None, js=OUTDATE, api_name="outdate_answer", show_progress="hidden")
    options = [field for field in fields.all if field is not document]
    of_reading = [options.index(field) for field in (fields.model, *fields.options.of_reading)]
    apply = APPLY.replace("READING", json.dumps(of_reading))
    changes = [field.change for field in options]
    gr.on(changes, None, options, js=apply, api_name="apply_options", show_progress="hidden")
    kept = [*options, result, marked]
    restore = f"async () => (await kpdemo).answer.restore({len(kept)})"
    page.load(None, None, kept, js=restore, api_name="restore_answer", **QUIETLY)
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
    event(None, fields.document, places.reading, js=reading_script(), api_name=f"tell_length_of_{api_name}")
    answered: Dependency = event(
        handlers.predict_until_stopped,
        fields.all,
        [places.result, places.marked],
        api_name=api_name,
        **MODEL_QUEUE,
        show_progress="minimal",
        show_progress_on=places.result,
        trigger_mode="always_last",
    )
    keep_reason(answered, places.result)
    shown = [*fields.all, places.result, places.marked]
    answered.success(None, shown, js=ARRIVE, api_name=f"keep_answer_of_{api_name}", show_progress="hidden")
    return answered


def _text_field() -> gr.Textbox:
    document = gr.Textbox(
        label=_("Document"),
        placeholder=_("Paste a text, its title on the first line."),
        lines=9,
        max_lines=9,
        elem_id="predict-document",
    )
    nothing = ngettext("{count} character", "{count} characters", 0)
    length = gr.HTML(f'<p class="count">{nothing}</p>', elem_id="predict-length")
    document.change(None, document, length, js=length_script(), api_name="count_characters")
    return document


def _option_fields(handlers: PredictHandlers, document: gr.Textbox) -> QuestionFields:
    with gr.Accordion(_("Options"), open=False, elem_id="predict-options"):
        options = option_fields("predict")
        model = _model_field(handlers)
    return QuestionFields(document, model, options)


def _model_field(handlers: PredictHandlers) -> gr.Dropdown:
    """The models, each with its line, and a few sentences on the chosen one."""
    shelf = handlers.shelf
    model = gr.Dropdown(shelf.choices, value=shelf.default, label=_("Model"), elem_id="predict-model")
    about = gr.HTML(handlers.describe_model(shelf.default), elem_id="predict-about")
    model.change(handlers.describe_model, model, about, api_name="describe_model", **QUIETLY)
    return model


def about_html(model: str, card: str) -> str:
    """A few sentences of a model's card, and a link to all of it."""
    about = escape(_("About the model {model}", model=model))
    link = f'<a href="{CARDS_AT}{quote(model, safe="/")}" target="_blank">{about}</a>'
    return f'<p class="small">{inline_html(card_summary(card))} {link}</p>'
