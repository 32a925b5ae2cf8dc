"""Sending predicted keyphrases on to be graded: what several models say, in one bundle.

The page knows nothing of projects: it hands the bundle to a function and shows the address that comes back,
where the project is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from kpdemo.bundles import bundle_of, count_phrases
from kpdemo.errors import InputError, KpdemoError
from kpdemo.latin import refusal_of
from kpdemo.types import Document, Prediction
from kpdemo.ui.chosen import readable_copies
from kpdemo.ui.figures import counted, listed
from kpdemo.ui.files import nothing_read
from kpdemo.ui.marks import escape
from kpdemo.ui.models import OF_ONE_MODEL, ModelShelf
from kpdemo.ui.questions import read_question
from kpdemo.ui.send_documents import OwnDocument, Problems, few_documents, predict_in_batches
from kpdemo.ui.stop import Stop, Stops
from kpdemo.ui.ticked import chosen_models, follow_model, ticked_models, told_in
from kpdemo.ui.uploads import InTurns, in_turn_of_files
from kpdemo.ui.widgets import (
    CHOOSE_AGAIN,
    FILES_QUEUE,
    MODEL_QUEUE,
    QuestionFields,
    empty_html,
    forget_with,
    keep_reason,
    page_of,
    section_heading,
    shown_to_user,
    stop_button,
)

HandOver = Callable[[Mapping[str, Any], str], str]
"""Keeps a bundle of `kpdemo.bundles` from a network address; returns where, or refuses in a ValueError of one
sentence."""

EMPTY = "Nothing sent yet. Tick models and press the button: raters then grade what any of them predicts."
NOT_READ = "Not everything could be read:"
STOPPED = "Stopped: nothing was sent. Press the button to start again."


@dataclass(frozen=True)
class SendHandlers:
    shelf: ModelShelf
    hand_over: HandOver
    new_tab: bool = False
    stops: Stops = field(default_factory=Stops)
    file_stops: Stops = field(default_factory=Stops)

    def send(
        self,
        models: list[str],
        title: str,
        document: str,
        rule: str,
        count: float,
        threshold: str,
        language: str = "",
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> str:
        """Predict the text of the page with each model, and hand it all over."""
        with shown_to_user(KpdemoError), self.stops.begun(page_of(request), STOPPED) as stop:
            chosen = chosen_models(self.shelf, models)
            question = read_question(title, document, chosen[0], rule, count, threshold, language)
            found: dict[str, Prediction] = {}
            problems = Problems()
            for model in told_in(progress, chosen):
                try:
                    found[model] = self.shelf.answer(replace(question, model=model), stop).prediction
                except OF_ONE_MODEL as error:
                    problems.told.append(refusal_of(model, str(error)))
            return self._handed([(question.read, found)] if found else [], problems, request, stop)

    def send_files(
        self,
        paths: list[str] | None,
        models: list[str],
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> str:
        """Predict all documents of the files with each model, and hand it all over."""
        with (
            shown_to_user(KpdemoError),
            self.file_stops.begun(page_of(request), STOPPED) as stop,
            TemporaryDirectory(prefix="kpdemo-") as folder,
        ):
            chosen = chosen_models(self.shelf, models)
            uploads = readable_copies(paths, Path(folder))
            problems = Problems(files=list(uploads.refused))
            with in_turn_of_files(self.shelf, stop, progress):
                documents = few_documents(uploads.files, problems, stop, self.shelf.pdfs)
                found = self._found(chosen, documents, problems, stop, progress)
            problems.count_unread(one.given for place, one in enumerate(documents) if place not in found)
            read = [(documents[place].document, runs) for place, runs in sorted(found.items())]
            return self._handed(read, problems, request, stop)

    def _found(
        self,
        models: Sequence[str],
        documents: Sequence[OwnDocument],
        problems: Problems,
        stop: Stop,
        progress: gr.Progress,
    ) -> dict[int, dict[str, Prediction]]:
        """What each model says of each document, by its place; what it cannot read joins `problems`."""
        found: dict[int, dict[str, Prediction]] = {}
        for model in models if documents else ():
            own: dict[int, Prediction] = {}
            try:
                predictor = InTurns(self.shelf.open(model, stop))
                before_each = partial(_show_done, progress, model, len(documents))
                for place, outcome in predict_in_batches(predictor, documents, before_each):
                    if isinstance(outcome, InputError):
                        reason = refusal_of(model, str(outcome))
                        problems.refusals[documents[place].given.refusal(reason)] = None
                    else:
                        own[place] = outcome
            except OF_ONE_MODEL as error:
                problems.told.append(str(error))
                continue  # models are compared on all documents that both can read
            for place, prediction in own.items():
                found.setdefault(place, {})[model] = prediction
        return found

    def _handed(
        self,
        documents: Sequence[tuple[Document, Mapping[str, Prediction]]],
        problems: Problems,
        request: gr.Request | None,
        stop: Stop,
    ) -> str:
        if not documents:
            raise InputError(nothing_read(problems.all, problems.count))
        bundle = bundle_of(documents)
        phrases = count_phrases(bundle)
        if not phrases:
            raise InputError("No keyphrase was found: there is nothing to send.")
        stop.check()  # from here on it is sent
        with shown_to_user(ValueError):
            address = self.hand_over(bundle, _address(request))
        asked = {model for _, runs in documents for model in runs}
        what = (
            f"{counted(phrases, 'keyphrase')} of {counted(len(documents), 'document')}, "
            f"by {listed([model for model in self.shelf.models if model in asked])},"
        )
        return ready_html(address, what, problems, new_tab=self.new_tab)


def _address(request: gr.Request | None) -> str:
    client = None if request is None else request.client
    return "" if client is None else str(client.host)


def ready_html(address: str, what: str, problems: Problems, *, new_tab: bool = False) -> str:
    """What is ready, the link to where the project is chosen, and what could not be read or predicted."""
    target = ' target="_blank" rel="noopener"' if new_tab else ""
    without = f", without {problems.without} that could not be read" if problems.without else ""
    ready = (
        f'<div class="note done" role="status"><p>{escape(what)} ready{without}. '
        f'<a href="{escape(address)}"{target}>Choose the project</a></p></div>'
    )
    if not problems.all:
        return ready
    failed = "".join(f"<li>{escape(problem)}</li>" for problem in problems.all)
    return f'{ready}<div class="note" role="alert"><p>{NOT_READ}</p><ul>{failed}</ul></div>'


def build_send_section(handlers: SendHandlers | None, fields: QuestionFields) -> None:
    """Under the page's own fields: the models whose keyphrases are pooled, and a button."""
    if handlers is None:
        return
    section_heading("Send to a project", "send-heading")
    models, run, result = _controls(handlers, "send", handlers.stops)
    follow_model(models, fields.model, "send")
    asked = run.click(
        handlers.send,
        [models, *(field for field in fields.all if field is not fields.model)],
        result,
        api_name="send",
        **MODEL_QUEUE,
        show_progress="minimal",
        trigger_mode="once",
    )
    keep_reason(asked, result)
    forget_with(fields.texts, asked, result, EMPTY)


def build_send_files_section(handlers: SendHandlers | None, upload: gr.File) -> None:
    """Under the files: the same for all of their documents."""
    if handlers is None:
        return
    section_heading("Send to a project", "files-send-heading")
    models, run, result = _controls(handlers, "files-send", handlers.file_stops)
    asked = run.click(
        handlers.send_files,
        [upload, models],
        result,
        api_name="send_files",
        **FILES_QUEUE,
        show_progress_on=result,
        trigger_mode="once",
    )
    keep_reason(asked, result, CHOOSE_AGAIN)
    forget_with([upload], asked, result, EMPTY)


def _controls(
    handlers: SendHandlers, prefix: str, stops: Stops
) -> tuple[gr.CheckboxGroup, gr.Button, gr.HTML]:
    with gr.Row(elem_id=f"{prefix}-controls", elem_classes="controls"):
        with gr.Column(scale=4, min_width=240):
            models = ticked_models(handlers.shelf, [handlers.shelf.default], prefix)
        run = gr.Button("Send to a project", elem_id=f"{prefix}-run", scale=0, min_width=220)
    stop_button(stops, prefix)
    return models, run, gr.HTML(empty_html(EMPTY), elem_id=f"{prefix}-result")


def _show_done(progress: gr.Progress, model: str, documents: int, done: int) -> None:
    progress((done, documents), desc=model, unit="documents" if documents > 1 else "document")
