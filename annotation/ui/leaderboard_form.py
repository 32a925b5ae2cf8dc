"""The part of the leaderboard that only administrators have: adding systems and removing them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, ScoreFileError
from annotation.senses.dictionary import Dictionary
from annotation.services.access.accounts import AccountService
from annotation.services.systems import UPLOADED, SystemService
from annotation.systems.baselines import EMBEDDING
from annotation.systems.scored import left_out_text, scores_text
from annotation.types import Role
from annotation.ui.asking import TOLD, Told, admitted, asked_by
from annotation.ui.importing import box_after, refused_html
from annotation.ui.leaderboard import IN_ZONE, LeaderboardHandlers, LeaderboardPage
from annotation.ui.leaderboard_tables import ORIGINS, gold_named
from annotation.ui.system_choice import FILES, GOLDS, OWN, SHOWN, SystemChoice, SystemReader, paths
from annotation.ui.tables import type_label
from annotation.ui.wording import regrouped
from kpdemo.ui.widgets import QUIETLY, done_html, section_heading, shown_to_user

FORMATS_HTML = (
    "<details><summary>File formats</summary><ul>"
    "<li><b>One score per line</b>, as in the task, in the order of the exported gold set; only those of one "
    "type if the name of the file begins with that type, as in <code>phrase2word.output.tsv</code>.</li>"
    "<li><b>JSON Lines</b> <code>{id, score}</code>, or CSV or TSV with these columns; with "
    "<code>type</code> where two types share an id.</li>"
    "<li>A system may leave out whole types. If a score is missing, not a number or one too many, the "
    "message names its line and nothing is added. Scores by id are left out for pairs that have no gold "
    "grade yet.</li>"
    "<li><b>Gold sets</b>: <code>gold.jsonl</code>, <code>.csv</code> or <code>.parquet</code> of an export, "
    "tables with <code>id, type, left, right, gold</code>, or the task's input and gs files together.</li>"
    "<li><b>Training grades</b> have the formats of gold sets, and the scores of their pairs those of other "
    "scores.</li>"
    "</ul></details>"
)
GOLD_CHOICES = [(label, kind) for kind, label in GOLDS.items()]
CALIBRATED = (
    "Fits the scores of each type to the grades of other pairs by isotonic regression. This puts them on the "
    "raters' scale and keeps their order, except for ties. A pair that is in both sets is refused."
)


@dataclass(frozen=True)
class SystemFormHandlers:
    accounts: AccountService
    systems: SystemService
    dictionary: Dictionary

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The form for administrators, for others nothing: the page itself says why it is closed."""
        try:
            project_id, _ = asked_by(request, self.accounts, Role.ADMINISTRATOR)
        except AnnotationError:
            return gr.skip(), gr.skip(), gr.skip()
        return gr.Column(visible=True), *self._listed(project_id, None)

    def list_systems(self, gold_id: int | None, request: gr.Request) -> tuple[gr.Dropdown, gr.Radio]:
        """The systems that can be removed, those on the gold set that is shown, and the gold sets to measure
        others on."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            return self._listed(project_id, gold_id)

    def choose(
        self, what: str | None, gold: str | None, calibrates: bool | None, request: gr.Request
    ) -> tuple[gr.File, ...]:
        """Only the boxes for files that are wanted."""
        with shown_to_user(AnnotationError):
            asked_by(request, self.accounts, Role.ADMINISTRATOR)
        is_uploaded, is_calibrated = what == UPLOADED, bool(calibrates)
        wanted = (is_uploaded, gold == FILES, is_calibrated, is_calibrated and is_uploaded)
        return tuple(gr.File(visible=is_wanted) for is_wanted in wanted)

    def add(
        self,
        request: gr.Request,
        name: str | None,
        what: str | None,
        uploads: Sequence[str] | None,
        gold: str | None,
        gold_uploads: Sequence[str] | None,
        gold_id: int | None,
        calibrates: bool | None = False,
        training_grades: Sequence[str] | None = None,
        training_scores: Sequence[str] | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> tuple[Any, ...]:
        """Measure a system and keep it, or a sentence on what is wrong; what was typed stays then."""
        choice = SystemChoice(
            (name or "").strip(),
            what or "",
            paths(uploads),
            gold or OWN,
            paths(gold_uploads),
            gold_id,
            bool(calibrates),
            paths(training_grades),
            paths(training_scores),
        )
        try:
            project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            progress(None, desc="Reading")
            reader = SystemReader(self.systems, self.dictionary)
            measured_on = reader.gold(project_id, choice)
            progress(None, desc="Scoring")
            system = reader.system(choice, measured_on)
            kept = self.systems.add(project_id, measured_on, system, origin=choice.what, by=user)
        except TOLD as error:
            named = next((box for box in choice.boxes if _names_one(error, box)), ())
            failed = refused_html(error, named, "added")
            return failed, gr.skip(), *map(box_after, choice.boxes), gr.skip()
        scores = scores_text(system, measured_on.pairs, type_label)
        left_out = f" {left_out_text(system.left_out)}" if system.left_out else ""
        on = next(gold for gold in self.systems.golds(project_id) if gold.id == kept)
        said = done_html(f"Added {system.name} on {gold_named(on)}: {regrouped(scores + left_out)}")
        return said, "", *(gr.File(value=None) for _ in choice.boxes), kept

    def remove(self, request: gr.Request, system_id: int | None) -> str:
        """Forget a system."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if system_id is None:
                raise ScoreFileError("No system is chosen: choose the one to remove.")
            self.systems.remove(project_id, system_id, by=user)
        return done_html("Removed.")

    def _listed(self, project_id: int, gold_id: int | None) -> tuple[gr.Dropdown, gr.Radio]:
        golds = self.systems.golds(project_id)
        if not golds:
            known = [(label, kind) for label, kind in GOLD_CHOICES if kind != SHOWN]
            return gr.Dropdown(choices=[], value=None), gr.Radio(choices=known, value=OWN)
        chosen = next((gold.id for gold in golds if gold.id == gold_id), golds[0].id)
        entries = self.systems.board(project_id, chosen).entries
        held = gr.Dropdown(choices=[(entry.name, entry.id) for entry in entries], value=None)
        return held, gr.Radio(choices=GOLD_CHOICES)


def _names_one(error: Told, files: Sequence[Path]) -> bool:
    return any(file.name in str(error) for file in files)


@dataclass(frozen=True, slots=True)
class _SystemFields:
    """What tells which system is added; the boxes for files in the order of `SystemFormHandlers.choose`."""

    name: gr.Textbox
    what: gr.Radio
    gold: gr.Radio
    calibrates: gr.Checkbox
    boxes: tuple[gr.File, gr.File, gr.File, gr.File]
    add: gr.Button


MEASURING = '<p class="note" role="status" id="system-measuring">Measuring the system…</p>'
_INTERACTIVE = "{{__type__: 'update', interactive: {}}}"
BEGIN = f"() => [{_INTERACTIVE.format('false')}, {_INTERACTIVE.format('false')}, {json.dumps(MEASURING)}]"
"""JavaScript: button and name rest, since what was asked and typed meanwhile would be lost."""
END = (
    f"shown => [{_INTERACTIVE.format('true')}, {_INTERACTIVE.format('true')}, "
    "shown.includes('system-measuring') ? '' : shown]"
)
"""JavaScript: they come back, whatever became of it."""


def build_system_form(
    handlers: SystemFormHandlers, board: LeaderboardHandlers, shown: LeaderboardPage, page: gr.Blocks
) -> None:
    with gr.Column(visible=False, elem_id="system-form") as form:
        section_heading("Add a system", "system-add")
        fields = _system_fields(has_embedding=handlers.systems.similarities is not None)
        result = gr.HTML("", elem_id="system-result", js_on_load=None)
        with gr.Accordion("Remove a system", open=False, elem_id="system-removal"):
            with gr.Row(elem_classes="form-row"):
                held = gr.Dropdown([], label="System", elem_id="system-held", scale=3)
                remove = gr.Button("Remove", variant="stop", elem_id="system-remove", scale=1, min_width=120)
            removed = gr.HTML("", elem_id="system-removed", js_on_load=None)
    added_gold = gr.State(None)
    page.load(handlers.open, outputs=[form, held, fields.gold], api_name="open_system_form", **QUIETLY)
    choices: list[Any] = [fields.what, fields.gold, fields.calibrates]
    for number, field in enumerate(choices, 1):
        field.change(handlers.choose, choices, [*fields.boxes], api_name=f"choose_files_{number}", **QUIETLY)
    files, gold_files, training, taught = fields.boxes
    resting = [fields.add, fields.name, result]
    begun = fields.add.click(None, None, resting, js=BEGIN, api_name="begin_system", show_progress="hidden")
    added = begun.then(
        handlers.add,
        [
            fields.name,
            fields.what,
            files,
            fields.gold,
            gold_files,
            shown.gold,
            fields.calibrates,
            training,
            taught,
        ],
        [result, fields.name, *fields.boxes, added_gold],
        api_name="add_system",
        concurrency_limit=1,
        concurrency_id="score",
        show_progress_on=result,
    )
    added.then(None, result, resting, js=END, api_name="end_system", show_progress="hidden")
    removing = remove.click(handlers.remove, held, removed, api_name="remove_system")
    after = (
        added.success(
            board.show, [added_gold, shown.zone], shown.shown, api_name="show_added", js=IN_ZONE, **QUIETLY
        ),
        removing.success(
            board.show, [shown.gold, shown.zone], shown.shown, api_name="show_left", js=IN_ZONE, **QUIETLY
        ),
    )
    for number, event in enumerate((*after, shown.choosing), 1):
        event.success(
            handlers.list_systems,
            shown.gold,
            [held, fields.gold],
            api_name=f"list_systems_{number}",
            trigger_mode="always_last",
            **QUIETLY,
        )


def _system_fields(*, has_embedding: bool) -> _SystemFields:
    origins = [(label, name) for name, label in ORIGINS.items() if has_embedding or name != EMBEDDING]
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            what = gr.Radio(origins, value=UPLOADED, label="System", elem_id="system-what")
            name = gr.Textbox(
                label="Name",
                info="If empty, the name of the file or of the system is used.",
                max_lines=1,
                elem_id="system-name",
            )
            files = _files("Its scores", "system-files", is_visible=True)
        with gr.Column(scale=6, min_width=320):
            gold = gr.Radio(GOLD_CHOICES, value=OWN, label="Measured on", elem_id="system-gold")
            gold_files = _files("Gold grades", "system-gold-files", is_visible=False)
            calibrates = gr.Checkbox(
                label="Calibrate its scores on training grades",
                info=CALIBRATED,
                elem_id="system-calibrates",
            )
            training = _files("Training grades", "system-training", is_visible=False)
            taught = _files("Its scores of the training pairs", "system-training-scores", is_visible=False)
            gr.HTML(FORMATS_HTML, elem_id="system-formats")
            add = gr.Button("Add system", variant="primary", elem_id="system-add-run")
    return _SystemFields(name, what, gold, calibrates, (files, gold_files, training, taught), add)


def _files(label: str, elem_id: str, *, is_visible: bool) -> gr.File:
    return gr.File(
        label=label,
        file_count="multiple",
        type="filepath",
        height=140,
        visible=is_visible,
        elem_id=elem_id,
    )
