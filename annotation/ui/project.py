"""The page of a project for its administrators: pairs, members, settings, gold, what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.consent import anew_text
from annotation.errors import AnnotationError
from annotation.projects import flagged_text
from annotation.scale_words import earlier_words_text
from annotation.services.access.accounts import AccountService
from annotation.services.consents import ConsentService
from annotation.services.events import EventService
from annotation.services.projects import ProjectService
from annotation.services.rating.stuck import StuckService
from annotation.setting_changes import seen_settings
from annotation.types import Role
from annotation.ui.answer import answer_place, answered
from annotation.ui.asking import admitted, asked_by
from annotation.ui.export import ExportHandlers, build_export_section
from annotation.ui.filling import Filling
from annotation.ui.importing import ImportHandlers, build_import_section
from annotation.ui.kept_form import KeptForm, build_kept_form
from annotation.ui.members import MembersHandlers, build_members_section
from annotation.ui.pair_list import PairListHandlers, build_pair_list
from annotation.ui.project_html import counts_html, events_html
from annotation.ui.quality import QualityHandlers, build_quality_section
from annotation.ui.remarks import RemarksHandlers, build_remarks_section
from annotation.ui.set_aside import SetAsideHandlers, build_set_aside_section
from annotation.ui.settings_form import read_settings_form, saved_html, settings_fields, settings_values
from annotation.ui.stuck_html import stuck_html
from annotation.ui.wording import regrouped
from kpdemo.ui.widgets import (
    GO_ON,
    QUIETLY,
    empty_html,
    escape,
    keep_reason,
    note_html,
    section_heading,
    unseen_box,
)

TABS = ("pairs", "members", "quality", "settings", "gold", "events")
SAVED = "Saved. Raters see the changes when they open their page again."


@dataclass(frozen=True)
class ProjectHandlers:
    accounts: AccountService
    projects: ProjectService
    events: EventService
    stuck: StuckService
    consents: ConsentService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The tab that the address names, and the settings; for others than administrators nothing."""
        try:
            project_id, _ = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            project = self.projects.get(project_id)
        except AnnotationError as error:  # `explain` shows it on the page, where it stays
            raise gr.Error(escape(str(error)), visible=False, print_exception=False) from error
        asked = request.query_params.get("tab", "")
        tabs = gr.Tabs(visible=True, selected=asked if asked in TABS else TABS[0])
        return "", tabs, seen_settings(project.settings), *settings_values(project.settings)

    def explain(self, request: gr.Request) -> str:
        """Why the page stays closed."""
        try:
            asked_by(request, self.accounts, Role.ADMINISTRATOR)
        except AnnotationError as error:
            return empty_html(str(error))
        return ""

    def show_counts(self, request: gr.Request) -> tuple[str, str]:
        """How far the pairs are, and what was done."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            counts = self.projects.counts(project_id, viewer=user.id)
            events = self.events.recent(project_id, viewer=user.id)
            stuck = self.stuck.stuck(project_id)
        return counts_html(counts) + stuck_html(stuck, project_id), events_html(events)

    def save(self, request: gr.Request, seen: str, *values: object) -> tuple[Any, ...]:
        """Change what the form says; what somebody else changed meanwhile comes into it."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            mine = read_settings_form(values)
            before = self.projects.get(project_id).settings
            counts = self.projects.counts(project_id, viewer=user.id)
            kept = self.projects.update(project_id, mine, seen=seen, by=user).settings
            anew = self.consents.lacking_anew(project_id) if kept.consent != before.consent else 0
            follows = [anew_text(anew)]
            counts_now = self.projects.counts(project_id, viewer=user.id)
            if kept.threshold != before.threshold:
                follows.append(regrouped(flagged_text(counts, counts_now)))
            if kept.scale_words != before.scale_words:
                follows.append(earlier_words_text(counts_now.ratings))
        shown = settings_values(kept)
        is_mine = shown == settings_values(mine)
        fields = [gr.skip() for _ in shown] if is_mine else shown  # somebody may be typing
        said = saved_html(SAVED, is_alone=is_mine)
        said += "".join(note_html(text, role="status") for text in follows if text)
        return said, seen_settings(kept), *fields

    def delete(self, request: gr.Request, typed: str | None) -> str:
        """Delete the project whose name was typed; where to go then."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            self.projects.delete(project_id, typed or "", by=user)
        return "/annotate/"


def build_project_page(
    handlers: ProjectHandlers,
    imports: ImportHandlers,
    members: MembersHandlers,
    quality: QualityHandlers,
    exports: ExportHandlers,
    remarks: RemarksHandlers,
    pairs: PairListHandlers,
    set_aside: SetAsideHandlers,
    header: Filling,
    page: gr.Blocks,
) -> None:
    closed = gr.HTML(empty_html("Opening the project."), elem_id="project-closed")
    with gr.Tabs(visible=False, elem_id="project-tabs", overflow_behavior="wrap") as tabs:
        with gr.Tab("Pairs", id="pairs"):
            pairs_tab = _build_pairs_tab(imports, pairs, remarks)
        with gr.Tab("Members", id="members"):
            filling_members, members_changed = build_members_section(members)
            filling_graded, grades_changed = build_set_aside_section(set_aside)
        with gr.Tab("Quality", id="quality") as quality_tab:
            quality_settings, filling_quality, quality_changed = build_quality_section(quality)
        with gr.Tab("Settings", id="settings"):
            settings = _build_settings_tab(handlers)
        with gr.Tab("Gold", id="gold") as gold_tab:
            filling_gold = build_export_section(exports)
        with gr.Tab("Events", id="events") as events_tab:
            section_heading("What was done", "project-events-heading")
            events = gr.HTML("", elem_id="project-events", js_on_load=None)
    opened = page.load(
        handlers.open,
        outputs=[closed, tabs, *settings.shown],
        api_name="open_project",
        show_progress="hidden",
    )
    explained = opened.failure(handlers.explain, outputs=closed, api_name="explain_project", **QUIETLY)
    keep_reason(explained, closed)
    seen, *fields = settings.shown
    is_open = [(tabs, {"selected": "settings"})]
    kept_in = (("pairs", pairs_tab.named), ("members", filling_graded), ("quality", quality_settings))
    for tab, filling in kept_in:
        filling.keep_in(tabs, tab, *filling.after(opened))
    settings.kept.keep(fields, seen, around=is_open, shown=[opened], saved=[settings.saving])
    pairs_changed = (opened, settings.saving, *pairs_tab.changed)
    filling_members.after(opened, pairs_tab.imported, *grades_changed)
    filling_graded.after(pairs_tab.imported)
    pairs_tab.types.after(opened, settings.saving)
    pairs_tab.named.after(settings.saving)
    for listed in pairs_tab.lists:
        listed.after(*pairs_changed, *grades_changed)
    counted_anew = (*pairs_changed, *members_changed, *grades_changed, *quality_changed)
    _show_counts(handlers, [pairs_tab.counts, events], counted_anew, events_tab)
    header.after(settings.saving, *members_changed)  # it has the name and where the roles lead
    filling_gold.after(*pairs_changed)
    filling_gold.when(gold_tab.select, name="show_export_now")
    filling_quality.when(quality_tab.select)


@dataclass(frozen=True)
class _PairsTab:
    counts: gr.HTML
    types: Filling
    """Of the form of the import."""
    named: Filling
    """Of the form that changes named pairs."""
    lists: tuple[Filling, ...]
    imported: Any
    """The event of an import."""
    changed: tuple[Any, ...]
    """The events that change which pairs there are."""


def _build_pairs_tab(imports: ImportHandlers, pairs: PairListHandlers, remarks: RemarksHandlers) -> _PairsTab:
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=6, min_width=320):
            section_heading("Pairs", "project-pairs-heading")
            counts = gr.HTML("", elem_id="project-counts", js_on_load=None)
        with gr.Column(scale=5, min_width=320):
            types, imported = build_import_section(imports)
    listed, named, changed = build_pair_list(pairs)
    said = build_remarks_section(remarks)
    return _PairsTab(counts, types, named, (said, listed), imported, (imported, *changed))


@dataclass(frozen=True)
class _SettingsTab:
    shown: list[Any]
    """What `open` fills: the settings as they were read, and the fields."""
    saving: Any
    """The event of saving them."""
    kept: KeptForm


def _build_settings_tab(handlers: ProjectHandlers) -> _SettingsTab:
    kept = build_kept_form("project")
    fields = settings_fields("project")
    seen = unseen_box("project-seen")
    saved = answer_place("project-saved")
    save = gr.Button("Save settings", variant="primary", elem_id="project-save")
    _build_deletion(handlers)
    shown = [seen, *fields.components]
    saving = answered(
        save.click, handlers.save, shown, [saved, *shown], js=kept.sends, api_name="save_project"
    )
    return _SettingsTab(shown, saving, kept)


def _show_counts(handlers: ProjectHandlers, places: list[Any], after: Sequence[Any], tab: gr.Tab) -> None:
    """Count again after each of the events, and when the tab of events is chosen."""
    for number, event in enumerate(after, start=1):
        event.success(handlers.show_counts, outputs=places, api_name=f"show_counts_{number}", **QUIETLY)
    tab.select(handlers.show_counts, outputs=places, api_name="show_events", **QUIETLY)


def _build_deletion(handlers: ProjectHandlers) -> None:
    with gr.Accordion("Delete the project", open=False, elem_id="project-deletion"):
        gr.HTML(
            "<p>This deletes its pairs, grades and decisions for good. Export the gold set first. "
            "To confirm, type the name of the project.</p>",
            elem_id="project-deletion-warning",
        )
        with gr.Row(elem_classes="form-row"):
            typed = gr.Textbox(
                label="Name of the project", max_lines=1, elem_id="project-deletion-name", scale=3
            )
            delete = gr.Button(
                "Delete for good", variant="stop", elem_id="project-delete", scale=1, min_width=120
            )
        refused = gr.HTML("", elem_id="project-deletion-refused", js_on_load=None)
    gone = unseen_box("project-gone")
    deleting = delete.click(handlers.delete, typed, gone, api_name="delete_project")
    deleting.success(None, gone, js=GO_ON, api_name="leave_project")
    keep_reason(deleting, refused)
