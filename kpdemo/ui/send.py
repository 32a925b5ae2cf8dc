"""Sending predicted keyphrases on to be graded: what several models say of a text or of files, in one bundle.

The page knows nothing of projects: it hands the bundle to a function and shows the address that comes back,
where the project is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from kpdemo.batch import ask_each
from kpdemo.errors import InputError, KpdemoError
from kpdemo.file_process import FileProcesses, ReadFile, needs_process
from kpdemo.io.documents import LocatedDocument, read_located
from kpdemo.io.files import is_whole
from kpdemo.io.predictions import bundle_of, count_phrases
from kpdemo.io.tables import LineError
from kpdemo.lines import with_title_line
from kpdemo.locale import _, mark, ngettext
from kpdemo.routing import refusal_of
from kpdemo.types import Document, Prediction, Predictor
from kpdemo.ui.compare import announce_each, build_model_choice, chosen_models, follow_model
from kpdemo.ui.files import BATCH_SIZE, OwnNames, in_turn_of_files, nothing_read, readable_copies
from kpdemo.ui.html import documents_text, escape, group_digits, join_names, lines_and_files_text
from kpdemo.ui.models import OF_ONE_MODEL, ModelShelf
from kpdemo.ui.requests import read_request
from kpdemo.ui.widgets import (
    CHOOSE_AGAIN,
    FILES_QUEUE,
    MODEL_QUEUE,
    QuestionFields,
    Stops,
    empty_html,
    forget_with,
    keep_reason,
    page_of,
    section_heading,
    shown_to_user,
    stop_button,
)
from kpdemo.worker import Stop

MOST_DOCUMENTS = 1_000
TOLD_LINES = 5
"""Further lines that cannot be read are only counted."""


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """A document under an id that no other one of the files has, and where and as what it was given."""

    document: Document
    given: LocatedDocument


@dataclass(slots=True)
class Problems:
    """Why not everything can be sent."""

    told: list[str] = field(default_factory=list)
    """A sentence for each model that cannot be asked."""
    files: list[str] = field(default_factory=list)
    """A sentence for each file that cannot be read."""
    lines: int = 0
    """How many lines of the files are no documents."""
    first_lines: list[str] = field(default_factory=list)
    refusals: dict[str, None] = field(default_factory=dict)
    """Sentences on documents that a model refuses."""
    unread: Counter[str] = field(default_factory=Counter)
    """How many lines and files hold a document that no model has read."""

    @property
    def all(self) -> list[str]:
        """Every sentence, the lines of files first."""
        rest = self.lines - len(self.first_lines)
        more = (
            [
                ngettext(
                    "{count} more line could not be read either.",
                    "{count} more lines could not be read either.",
                    rest,
                    count=group_digits(rest),
                )
            ]
            if rest
            else []
        )
        refused = list(self.refusals)
        if (others := len(refused) - TOLD_LINES) > 0:
            refused[TOLD_LINES:] = [_("And {number} more like these.", number=group_digits(others))]
        return [*self.first_lines, *more, *refused, *self.files, *self.told]

    @property
    def count(self) -> int:
        return self.lines + len(self.refusals) + len(self.files) + len(self.told)

    @property
    def without(self) -> str:
        """What is not sent, such as "2 lines and 1 file"; empty where all is."""
        counts = {"line": self.lines + self.unread["line"], "file": len(self.files) + self.unread["file"]}
        return lines_and_files_text(counts["line"], counts["file"])

    def add_line(self, problem: str) -> None:
        self.lines += 1
        if self.lines <= TOLD_LINES:
            self.first_lines.append(problem)

    def count_unread(self, documents: Iterable[LocatedDocument]) -> None:
        self.unread.update("file" if is_whole(one.file) else "line" for one in documents)


def read_documents_to_send(
    files: Sequence[Path], problems: Problems, stop: Stop, processes: FileProcesses
) -> list[OwnDocument]:
    """All documents of the files that can be read; why the others cannot joins `problems`.

    Raises:
        InputError: there are too many for the page.
        StoppedError: by `stop`.
    """
    documents = []
    for document in _documents(files, problems, partial(processes.read, stop=stop)):
        stop.check()
        documents.append(document)
    if len(documents) > MOST_DOCUMENTS:
        raise InputError(
            _(
                "The files hold {number} documents and this page sends at most {most}: use the command line "
                "(python -m annotation send).",
                number=group_digits(len(documents)),
                most=group_digits(MOST_DOCUMENTS),
            )
        )
    return documents


def predict_in_batches(
    predictor: Predictor, documents: Sequence[OwnDocument], before_each: Callable[[int], None]
) -> Iterator[tuple[int, Prediction | InputError]]:
    """The place of each document with its prediction, or why there is none.

    `before_each` is called with how many are done before each batch.
    """
    for start in range(0, len(documents), BATCH_SIZE):
        before_each(start)
        batch = [one.document for one in documents[start : start + BATCH_SIZE]]
        yield from enumerate(ask_each(batch, predictor.predict), start)


def _documents(files: Sequence[Path], problems: Problems, read: ReadFile) -> Iterator[OwnDocument]:
    ids = OwnNames()
    for path in files:
        try:
            for given in _located(path, problems, read):
                document, number = given.document, given.line
                if problem := given.unknown_language():
                    problems.add_line(problem)
                    continue
                named = document.id and document.id != str(number)  # else the reader's number stands for it
                id = ids.of(document.id if named else f"{path.stem}-{number}")
                yield OwnDocument(replace(document, id=id, keyphrases=()), given)
        except InputError as error:
            problems.files.append(_named(str(error), path))


def _located(path: Path, problems: Problems, read: ReadFile) -> Iterator[LocatedDocument]:
    """The documents of a file, by the name that it was chosen by; problems with others join `problems`."""
    source = read(path) if needs_process(path) else path
    for one in read_located(source, on_error=partial(_add_line, problems, path)):
        yield replace(one, file=_named(one.file, path))


def _add_line(problems: Problems, path: Path, error: LineError) -> None:
    problems.add_line(_named(error.message, path))


def _named(message: str, path: Path) -> str:
    """The message with the name that the file was chosen by."""
    return message.replace(str(path), path.name)


HandOver = Callable[[Mapping[str, Any], str], str]
"""Keeps a bundle of `kpdemo.io.predictions` from a network address; returns where, or refuses in a ValueError
of one sentence."""

EMPTY = mark(
    "Nothing sent yet. Tick models and press the button: raters then grade what any of them predicts."
)
NOT_READ = mark("Not everything could be read:")
STOPPED = mark("Stopped: nothing was sent. Press the button to start again.")


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
        document: str,
        count: str = "",
        threshold: str = "",
        language: str = "",
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
        *further: Any,
    ) -> str:
        """Predict the text of the page with each model, and hand it all over."""
        with shown_to_user(KpdemoError), self.stops.begun(page_of(request), _(STOPPED)) as stop:
            chosen = chosen_models(self.shelf, models)
            question = read_request(document, chosen[0], count, threshold, language, *further)
            found: dict[str, Prediction] = {}
            problems = Problems()
            for model in announce_each(progress, chosen):
                try:
                    found[model] = self.shelf.answer(replace(question, model=model), stop).prediction
                except OF_ONE_MODEL as error:
                    problems.told.append(refusal_of(model, str(error)))
            return self._handed(
                [(with_title_line(question.document), found)] if found else [], problems, request, stop
            )

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
            self.file_stops.begun(page_of(request), _(STOPPED)) as stop,
            TemporaryDirectory(prefix="kpdemo-") as folder,
        ):
            chosen = chosen_models(self.shelf, models)
            uploads = readable_copies(paths, Path(folder))
            problems = Problems(files=list(uploads.refused))
            with in_turn_of_files(self.shelf, stop, progress):
                documents = read_documents_to_send(uploads.files, problems, stop, self.shelf.files)
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
                predictor = self.shelf.open(model, stop)
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
            raise InputError(_("No keyphrase was found: there is nothing to send."))
        stop.check()  # from here on it is sent
        with shown_to_user(ValueError):
            address = self.hand_over(bundle, _address(request))
        asked = {model for _, runs in documents for model in runs}
        count = group_digits(phrases)
        what = _(
            "{keyphrases} of {documents}, by {models}",
            keyphrases=ngettext("{count} keyphrase", "{count} keyphrases", phrases, count=count),
            documents=documents_text(len(documents)),
            models=join_names([model for model in self.shelf.models if model in asked]),
        )
        return ready_html(address, what, problems, new_tab=self.new_tab)


def _address(request: gr.Request | None) -> str:
    client = None if request is None else request.client
    return "" if client is None else str(client.host)


def ready_html(address: str, what: str, problems: Problems, *, new_tab: bool = False) -> str:
    """What is ready, the link to where the project is chosen, and what could not be read or predicted."""
    target = ' target="_blank" rel="noopener"' if new_tab else ""
    if problems.without:
        told = _(
            "{what}, ready, without {without} that could not be read.", what=what, without=problems.without
        )
    else:
        told = _("{what}, ready.", what=what)
    ready = (
        f'<div class="note done" role="status"><p>{escape(told)} '
        f'<a href="{escape(address)}"{target}>{_("Choose the project")}</a></p></div>'
    )
    if not problems.all:
        return ready
    failed = "".join(f"<li>{escape(problem)}</li>" for problem in problems.all)
    return f'{ready}<div class="note" role="alert"><p>{_(NOT_READ)}</p><ul>{failed}</ul></div>'


def build_send_section(handlers: SendHandlers | None, fields: QuestionFields) -> None:
    """Under the page's own fields: the models whose keyphrases are pooled, and a button."""
    if handlers is None:
        return
    section_heading(_("Send to a project"), "send-heading")
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
    forget_with([fields.document], asked, result, EMPTY)


def build_send_files_section(handlers: SendHandlers | None, upload: gr.File) -> None:
    """Under the files: the same for all of their documents."""
    if handlers is None:
        return
    section_heading(_("Send to a project"), "files-send-heading")
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
            models = build_model_choice(handlers.shelf, [handlers.shelf.default], prefix)
        run = gr.Button(_("Send to a project"), elem_id=f"{prefix}-run", scale=0, min_width=220)
    stop_button(stops, prefix)
    return models, run, gr.HTML(empty_html(_(EMPTY)), elem_id=f"{prefix}-result")


def _show_done(progress: gr.Progress, model: str, documents: int, done: int) -> None:
    progress((done, documents), desc=model, unit=_("documents") if documents > 1 else _("document"))
