"""The tab of a project for the quality of its raters: training, hidden check pairs, and how each one does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from annotation.errors import ImportFileError, SettingsError
from annotation.exchange import read_known_pairs
from annotation.files.formats import open_source
from annotation.senses.dictionary import Dictionary
from annotation.senses.pair_senses import known_with_senses
from annotation.services.access.accounts import AccountService
from annotation.services.known_pairs import KnownLine, KnownPairService
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityOverview, QualityService
from annotation.services.work import WorkService
from annotation.setting_changes import seen_settings
from annotation.types import ReadKnownPair, Role
from annotation.ui.answer import answer_place, answered
from annotation.ui.asking import TOLD, admitted, asked_by
from annotation.ui.filling import Filling
from annotation.ui.importing import checked_upload, import_event, refused
from annotation.ui.kept_form import Keeping, build_kept_form
from annotation.ui.number_fields import decimal_of, decimal_text
from annotation.ui.quality_fields import (
    KINDS,
    KnownFields,
    Upload,
    check_fields,
    known_fields,
    quality_values,
    read_quality_form,
    training_fields,
    upload_box,
)
from annotation.ui.quality_html import (
    NO_KNOWN,
    checks_html,
    known_html,
    known_label,
    standings_html,
    summary_html,
    training_html,
    work_html,
)
from annotation.ui.settings_form import saved_html
from annotation.ui.wording import counted
from kpdemo.ui.widgets import (
    QUIETLY,
    done_html,
    empty_html,
    escape,
    keep_reason,
    section_heading,
    unseen_box,
)

SHOWN_PARTS = 10
TRAINING_SAYS = (
    "Raters grade these pairs first, on the same page, and see after each one what was expected and why. "
    "The actual grading starts when enough of their grades are close; otherwise they try again. Raters who "
    "have passed are not asked again. Training never counts for agreement, gold or exports."
)
CHECKS_SAY = (
    "Pairs with a known grade, mixed in with the others: raters cannot tell them apart, and get each of them "
    "at most once. They never count for agreement, gold, exports or the progress of the "
    "project; only administrators see the share of accepted grades, below."
)


@dataclass(frozen=True)
class QualityHandlers:
    accounts: AccountService
    projects: ProjectService
    quality: QualityService
    known_pairs: KnownPairService
    dictionary: Dictionary
    work: WorkService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The settings."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            settings = self.quality.settings(project_id)
        return seen_settings(settings), *quality_values(settings)

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """How many pairs there are, and the raters; what is typed into the settings stays."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            return self._shown(self.quality.overview(project_id), project_id)

    def save(self, request: gr.Request, seen: str, *values: object) -> tuple[Any, ...]:
        """Change what the fields say; what somebody else changed meanwhile comes into them."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            mine = read_quality_form(*values)
            kept = self.quality.change(project_id, mine, seen=seen, by=user)
            shown = self._shown(self.quality.overview(project_id), project_id)
        fields = [gr.skip() for _ in values] if kept == mine else quality_values(kept)
        said = saved_html("Saved.", is_alone=kept == mine)
        return said, seen_settings(kept), *fields, *shown

    def import_training(self, request: gr.Request, upload: str | None) -> tuple[Any, ...]:
        """Training pairs from a file, all of them or none."""
        return self._import(request, upload, "training")

    def import_checks(self, request: gr.Request, upload: str | None) -> tuple[Any, ...]:
        """Check pairs from a file, all of them or none."""
        return self._import(request, upload, "checks")

    def clear_training(self, request: gr.Request) -> tuple[Any, ...]:
        """Use the training pairs no longer."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            retired = self.known_pairs.retire_training(project_id, by=user)
            said = (
                f"{counted(retired, 'training pair')} no longer used; what raters did with them is kept."
                if retired
                else "There are no training pairs to stop using."
            )
            return done_html(said), *self._shown(self.quality.overview(project_id), project_id)

    def excuse(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """Let a rater work without training."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if not name:
                raise SettingsError("No rater is chosen: choose who may work without training.")
            self.quality.excuse(project_id, name, by=user)
            said = done_html(f"{name} may work without training.")
            return said, *self._shown(self.quality.overview(project_id), project_id)

    def show_known(self, request: gr.Request, chosen: str | None) -> tuple[str, Any]:
        """The texts of a pair, and the grade that is known of it."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            line = self._line(project_id, chosen)
        return known_html(line), decimal_text(line.grade)

    def set_known(self, request: gr.Request, chosen: str | None, grade: object) -> tuple[Any, ...]:
        """Correct the known grade of a pair."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            line = self._line(project_id, chosen)
            number = decimal_of(grade, "known grade")
            before = self.known_pairs.set_grade(project_id, line.kind, line.id, number, by=user)
            said = done_html(f"The known grade of {line.external_id} is {number}; it was {before}.")
            return said, *self._shown(self.quality.overview(project_id), project_id)

    def _line(self, project_id: int, chosen: str | None) -> KnownLine:
        lines = {_token(line): line for line in self.known_pairs.known(project_id)}
        if chosen not in lines:
            raise SettingsError("No pair is chosen: choose one from the list.")
        return lines[chosen]

    def _shown(self, overview: QualityOverview, project_id: int) -> tuple[Any, ...]:
        names = [standing.user.name for standing in overview.standings if not standing.is_former]
        known = [(known_label(line), _token(line)) for line in self.known_pairs.known(project_id)]
        return (
            training_html(overview),
            gr.Button(visible=overview.training_pairs > 0),
            checks_html(overview),
            "" if known else empty_html(NO_KNOWN),
            gr.Column(visible=bool(known)),
            gr.Dropdown(choices=known),  # the one that is chosen stays
            standings_html(overview),
            gr.Row(visible=bool(names)),
            gr.Dropdown(choices=names, value=None),
            work_html(self.work.work(project_id), self.projects.get(project_id).name),
        )

    def _import(self, request: gr.Request, upload: str | None, kind: str) -> tuple[Any, ...]:
        try:
            project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            path = checked_upload(upload)
            read = _read(path, self.projects.get(project_id).settings.only_type)
            pairs = list(known_with_senses(read, self.dictionary.open_or_none))
            bring = {"training": self.known_pairs.import_training, "checks": self.known_pairs.import_checks}
            summary = bring[kind](project_id, pairs, by=user, files=[path.name])
        except TOLD as error:
            return *refused(error, upload), *(gr.skip() for _ in range(SHOWN_PARTS))
        path.unlink(missing_ok=True)
        shown = self._shown(self.quality.overview(project_id), project_id)
        return summary_html(summary, KINDS[kind]), gr.File(value=None), *shown


def build_quality_section(handlers: QualityHandlers) -> tuple[Filling, Filling, tuple[Any, ...]]:
    """How the settings are filled and how the rest is, and the events that change what the project has."""
    kept = build_kept_form("quality")
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            section_heading("Training", "quality-training-heading")
            gr.HTML(f"<p>{escape(TRAINING_SAYS)}</p>", elem_id="quality-training-says")
            training = gr.HTML("", elem_id="quality-training", js_on_load=None)
            pass_mark, training_distance = training_fields()
            trained = upload_box("training")
            clear = gr.Button(
                "Stop using these pairs", size="sm", visible=False, elem_id="quality-training-clear"
            )
        with gr.Column(scale=5, min_width=320):
            section_heading("Check pairs", "quality-checks-heading")
            gr.HTML(f"<p>{escape(CHECKS_SAY)}</p>", elem_id="quality-checks-says")
            checks = gr.HTML("", elem_id="quality-checks", js_on_load=None)
            check_every, check_distance = check_fields()
            checked = upload_box("checks")
    said = answer_place("quality-said")
    save = gr.Button("Save these settings", variant="primary", elem_id="quality-save")
    known = known_fields()
    section_heading("Raters", "quality-raters-heading")
    raters = gr.HTML("", elem_id="quality-raters", js_on_load=None)
    with gr.Row(visible=False, elem_classes="form-row") as excusing_row:
        chosen = gr.Dropdown([], label="Rater", allow_custom_value=True, elem_id="quality-rater", scale=3)
        excuse = gr.Button("Excuse from training", elem_id="quality-excuse", scale=1, min_width=160)
    section_heading("Who worked how much", "quality-work-heading")
    work = gr.HTML("", elem_id="quality-work-part", js_on_load=None)
    seen = unseen_box("quality-seen")
    fields = [seen, pass_mark, training_distance, check_every, check_distance]
    listed = [raters, excusing_row, chosen, work]
    shown = [training, clear, checks, known.none, known.form, known.pair, *listed]
    saving = answered(
        save.click, handlers.save, fields, [said, *fields, *shown], js=kept.sends, api_name="save_quality"
    )
    done = [said, *shown]
    clearing = answered(clear.click, handlers.clear_training, None, done, api_name="clear_training")
    excusing = answered(excuse.click, handlers.excuse, chosen, done, api_name="excuse_rater")
    imports = (
        _on_import(trained, handlers.import_training, "import_training_pairs", shown),
        _on_import(checked, handlers.import_checks, "import_check_pairs", shown),
    )
    correcting = _on_correction(known, handlers, shown)
    keeping = Keeping(kept, fields[1:], [saving], began=seen)
    settings = Filling(handlers.open, fields, "open_quality", keeping=keeping)
    filling = Filling(handlers.show, shown, "show_quality")
    return settings, filling, (saving, *imports, clearing, excusing, correcting)


def _on_import(box: Upload, handler: Callable[..., Any], name: str, shown: list[Any]) -> Any:
    event = import_event(box.run, handler, [box.file], [box.result, box.file, *shown], name)
    keep_reason(event, box.result)
    return event


def _on_correction(known: KnownFields, handlers: QualityHandlers, shown: list[Any]) -> Any:
    kept = known.kept
    choosing = known.pair.change(  # also when its pair has gone
        handlers.show_known,
        known.pair,
        [known.texts, known.grade],
        js=kept.pauses,
        api_name="show_known_pair",
        **QUIETLY,
    )
    kept.resume_after(choosing)
    event = answered(
        known.run.click,
        handlers.set_known,
        [known.pair, known.grade],
        [known.said, *shown],
        js=kept.sends,
        api_name="set_known_grade",
    )
    kept.keep([known.grade], known.pair, is_of_began=True, shown=[choosing], saved=[event])
    return event


def _read(path: Path, only_type: str | None) -> list[ReadKnownPair]:
    with open_source(path, name=path.name) as source:
        pairs = list(read_known_pairs(source, only_type=only_type))
    if not pairs:
        raise ImportFileError(f"{path.name} has no pairs: write a header and a row for each pair.")
    return pairs


def _token(line: KnownLine) -> str:
    return f"{line.kind}:{line.id}"
