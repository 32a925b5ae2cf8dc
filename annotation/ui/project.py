"""The page of a project for its administrators: pairs, members, settings, gold, what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.changes import print_settings
from annotation.comparison import comparison_type
from annotation.consent import describe_renewal
from annotation.errors import AnnotationError, ExportError
from annotation.gold import ExportOptions, Format, RaterColumns, Unfinished
from annotation.projects import ProjectCounts, flagged_text
from annotation.scale import earlier_words_text
from annotation.services.accounts import AccountService
from annotation.services.audit import EventService
from annotation.services.consents import ConsentService
from annotation.services.gold import ExportRecord, GoldCounts, GoldService
from annotation.services.pairs import PairService, StuckPair, StuckPairs
from annotation.services.projects import ProjectService
from annotation.types import Role
from annotation.ui.accounts import (
    ExclusionHandlers,
    MembersHandlers,
    build_exclusion_section,
    build_members_section,
    events_html,
)
from annotation.ui.figures import listing_html
from annotation.ui.pairs import (
    ImportHandlers,
    PairListHandlers,
    RemarksHandlers,
    build_import_section,
    build_pair_list,
    build_remarks_section,
)
from annotation.ui.projects import read_settings_form, saved_html, settings_fields, settings_values
from annotation.ui.quality import QualityHandlers, build_quality_section
from annotation.ui.widgets import (
    Filling,
    KeptForm,
    admit_member,
    answer_event,
    answer_place,
    build_kept_form,
    require_member,
)
from annotation.ui.wording import all_withdrawn_text, progress_html, regroup_numbers, time_html
from annotation.web.downloads import gold_address, read_options
from kpdemo.ui.html import count_noun, escape, group_digits
from kpdemo.ui.widgets import GO_ON, QUIETLY, empty_html, keep_reason, note_html, section_heading, unseen_box

NO_PAIRS = "No pairs yet. Import a file of pairs, then invite raters."


def counts_html(counts: ProjectCounts) -> str:
    """How far the project is, for each type and genre."""
    if not counts.pairs:
        return empty_html(all_withdrawn_text(counts.withdrawn) if counts.withdrawn else NO_PAIRS)
    done = f"{group_digits(counts.finished)} of {count_noun(counts.pairs, 'pair')} fully graded"
    said = f"{count_noun(counts.ratings, 'grade')} · {group_digits(counts.flagged)} flagged"
    said += f", {group_digits(counts.to_adjudicate)} to adjudicate" if counts.flagged else ""
    said += f" · {count_noun(counts.withdrawn, 'pair')} withdrawn" if counts.withdrawn else ""
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(comparison_type(group.type).label)}</th>'
        f'<td dir="auto">{escape(group.genre or "–")}</td>'
        + "".join(
            f'<td class="number">{group_digits(figure)}</td>'
            for figure in (group.pairs, group.finished, group.ratings, group.flagged)
        )
        + "</tr>"
        for group in counts.groups
    )
    heads = ("Type", "Genre", "Pairs", "Fully graded", "Grades", "Flagged")
    return (
        f"<p>{progress_html(counts.finished, counts.pairs, done)}</p><p>{escape(said)}</p>"
        f"{listing_html(heads, rows, numbers=range(2, len(heads)), label='Pairs by type')}"
    )


MOST_SHOWN = 20


def stuck_html(stuck: StuckPairs, project_id: int) -> str:
    """How many there are or will be, what to do, and the first of them; nothing where there are none."""
    return _stuck_html(stuck, project_id) + _short_html(stuck, project_id)


def _short_html(stuck: StuckPairs, project_id: int) -> str:
    if not stuck.short_text:
        return ""
    there = f"/annotate/project?project={project_id}"
    links = escape(f" {regroup_numbers(stuck.links_text)}") if stuck.open_links and not stuck.total else ""
    either = "" if stuck.paused else "or "
    return (
        f'<p class="note" role="status" id="project-short">{escape(regroup_numbers(stuck.short_text))}: '
        f'<a href="{there}&amp;tab=settings">raise the limit</a>, '
        f'{either}<a href="{there}&amp;tab=members">invite another rater</a>{stuck.paused_text}.{links}</p>'
    )


def _stuck_html(stuck: StuckPairs, project_id: int) -> str:
    if not stuck.total:
        return ""
    links = escape(f" {regroup_numbers(stuck.links_text)}") if stuck.open_links else ""
    there = f"/annotate/project?project={project_id}"
    if not stuck.raters:
        lack = "lacks" if stuck.total == 1 else "lack"
        said = f"{count_noun(stuck.total, 'pair')} {lack} grades, and no rater can be given pairs."
        invite = f'<a href="{there}&amp;tab=members">Invite raters, or grade them yourself</a>'
        return f'<p class="note" role="status" id="project-stuck">{escape(said)} {invite}.{links}</p>'
    verbs = ("lacks", "it") if stuck.total == 1 else ("lack", "them")
    said = f"{count_noun(stuck.total, 'pair')} {verbs[0]} grades, and too few raters are left for {verbs[1]}"
    raised = f': <a href="{there}&amp;tab=settings">raise the limit</a>'
    limit = f"{escape(regroup_numbers(stuck.limit_text))}{raised}. Or " if stuck.by_limit else ""
    invite = "invite another rater" if stuck.by_limit else "Invite another rater"
    lower = f' Or <a href="{there}&amp;tab=settings">lower the number of raters per pair</a>.'
    broken = escape(f" {regroup_numbers(stuck.broken_text)} under All pairs.") if stuck.broken else ""
    items = "".join(f'<li dir="auto">{escape(stuck_text(pair))}</li>' for pair in stuck.items[:MOST_SHOWN])
    rest = stuck.total - min(stuck.total, MOST_SHOWN)
    more = f'<p class="small">And {group_digits(rest)} more.</p>' if rest else ""
    return (
        f'<div class="note" role="status" id="project-stuck"><p>{escape(said)}. '
        f'{limit}<a href="{there}&amp;tab=members">{invite}</a>{stuck.paused_text}.'
        f"{lower if stuck.fewer_would_do else ''}{broken}{links}</p>"
        f"<details><summary>Which pairs</summary><ul>{items}</ul>{more}</details></div>"
    )


def stuck_text(pair: StuckPair) -> str:
    """p-17, Sentence to phrase: 1 grade, 1 more needed, 0 raters left, 2 skips, 1 as broken"""
    broken = f", {pair.broken} as broken" if pair.broken else ""
    return (
        f"{pair.external_id}, {comparison_type(pair.type).label}: {count_noun(pair.grades, 'grade')}, "
        f"{pair.missing} more needed, {count_noun(pair.raters_left, 'rater')} left, "
        f"{count_noun(pair.skips, 'skip')}{broken}"
    )


FORMATS = [
    ("JSON Lines", Format.JSONL.value),
    ("CSV, for spreadsheets", Format.CSV.value),
    ("Parquet", Format.PARQUET.value),
    ("SemEval-2014 Task 3: input and gold files", Format.SEMEVAL.value),
]
UNFINISHED = [
    ("Export only when there are none", Unfinished.REFUSE.value),
    ("Leave them out", Unfinished.LEAVE_OUT.value),
    ("List them in a separate file", Unfinished.LIST.value),
]
RATERS = [
    ("Without individual grades", RaterColumns.NONE.value),
    ("With grades of “rater 1” and so on", RaterColumns.ANONYMOUS.value),
    ("With grades and account names", RaterColumns.NAMED.value),
]
NOTHING_TO_EXPORT = "No pairs yet. Import a file of pairs; the gold set grows with their grades."


@dataclass(frozen=True)
class ExportHandlers:
    accounts: AccountService
    gold: GoldService

    def show(
        self,
        format: str | None,
        unfinished: str | None,
        raters: str | None,
        comments: bool | None,
        request: gr.Request,
    ) -> tuple[str, str]:
        """What would be written, with the link that writes it, and the exports before."""
        try:
            project_id, _ = require_member(request, self.accounts, Role.ADMINISTRATOR)
            options = read_options(format or "", unfinished or "", raters or "", "yes" if comments else "")
            earlier = exports_html(self.gold.exports(project_id))
            counts = self.gold.counts(project_id)
            if not counts.pairs:
                said = all_withdrawn_text(counts.withdrawn) if counts.withdrawn else NOTHING_TO_EXPORT
                return empty_html(said), earlier
            try:
                self.gold.check(project_id, options)
            except ExportError as error:
                return export_counts_html(counts) + closed_html(str(error)), earlier
        except AnnotationError as error:
            return note_html(str(error), role="alert"), ""
        return export_counts_html(counts) + link_html(project_id, options, counts), earlier


def build_export_section(handlers: ExportHandlers) -> Filling:
    default = ExportOptions()
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            section_heading("Export the gold set", "export-heading")
            format = gr.Radio(FORMATS, value=default.format.value, label="Format", elem_id="export-format")
            unfinished = gr.Radio(
                UNFINISHED,
                value=default.unfinished.value,
                label="Pairs without a gold grade",
                elem_id="export-unfinished",
            )
            raters = gr.Radio(RATERS, value=default.raters.value, label="Raters", elem_id="export-raters")
            comments = gr.Checkbox(
                default.comments, label="Include raters' comments", elem_id="export-comments"
            )
        with gr.Column(scale=6, min_width=320):
            section_heading("What is written", "export-result-heading")
            result = gr.HTML("", elem_id="export-result", js_on_load=None)
            section_heading("Earlier exports", "export-earlier-heading")
            earlier = gr.HTML("", elem_id="export-earlier", js_on_load=None)
            again = gr.Button("Refresh", elem_id="export-again", size="sm")
    fields: list[Any] = [format, unfinished, raters, comments]
    filling = Filling(handlers.show, [result, earlier], "show_export", fields)
    for number, field in enumerate(fields, 1):
        filling.when(field.change, name=f"show_export_{number}")
    filling.when(again.click, name="show_export_again")
    return filling


def export_counts_html(counts: GoldCounts) -> str:
    """How many pairs have a gold grade, and what the others lack."""
    rows: tuple[tuple[str, int, str], ...] = (
        ("With a gold grade", counts.with_gold, "adjudicated, or the mean of grades that are close enough"),
        ("Too few grades", counts.too_few_ratings, "fewer than the project asks for"),
        ("Not adjudicated", counts.not_adjudicated, "flagged, without a decision"),
    )
    if counts.reopened:
        meaning = "of those with a gold grade: graded after the decision, which counts until changed"
        rows = (*rows, ("Open again", counts.reopened, meaning))
    if counts.problems:
        meaning = "of those with a gold grade: see Comments and skips; withdraw those that should not count"
        rows = (*rows, ("Marked as a problem", counts.problems, meaning))
    body = "".join(
        f'<tr><th scope="row">{name}</th><td '
        f'class="number">{group_digits(number)}</td><td>{meaning}</td></tr>'
        for name, number, meaning in rows
    )
    return listing_html((), body, caption=count_noun(counts.pairs, "pair"), label="Pairs of the gold set")


def link_html(project_id: int, options: ExportOptions, counts: GoldCounts) -> str:
    """The link that downloads the gold set, and what is in it."""
    missing = counts.pairs - counts.with_gold
    rest = ""
    if missing:
        listed = options.unfinished is Unfinished.LIST
        rest = f", {count_noun(missing, 'other')} {'in a separate file' if listed else 'left out'}"
    without = (
        " This layout holds no genres, no raters' grades and no comments."
        if options.format is Format.SEMEVAL
        else ""
    )
    address = escape(gold_address(project_id, options))
    return (
        f'<p><a id="export-download" href="{address}" download>Export gold</a></p>'
        '<p id="export-told" class="small" role="status"></p>'
        f'<p class="small">A ZIP archive: {count_noun(counts.with_gold, "pair")} with a gold grade{rest}, a '
        "manifest with the protocol, counts, α and the SHA-256 of each file, and README.md, a dataset card "
        f"for publishing it.{without}</p>"
    )


def closed_html(reason: str) -> str:
    """The button while these options cannot be exported, and why."""
    return (
        '<p><button type="button" id="export-closed" disabled aria-describedby="export-reason">Export gold'
        f'</button></p><div id="export-reason">{note_html(regroup_numbers(reason))}</div>'
    )


def exports_html(records: list[ExportRecord]) -> str:
    """The exports before, the last first."""
    if not records:
        return empty_html("Nothing has been exported yet.")
    body = "".join(
        f"<tr><td>{time_html(record.at)}</td><td>{record.options.format}</td>"
        f'<td class="number">{group_digits(record.pairs)}</td>'
        f"<td><bdi>{escape(record.by or 'command line')}</bdi></td>"
        f'<td><code title="{record.manifest_sha256}">{record.manifest_sha256[:12]}</code></td></tr>'
        for record in records
    )
    return listing_html(("When", "Format", "Pairs", "By", "Manifest"), body, numbers=(2,), label="Exports")


TABS = ("pairs", "members", "quality", "settings", "gold", "events")
SAVED = "Saved. Raters see the changes when they open their page again."


@dataclass(frozen=True)
class ProjectHandlers:
    accounts: AccountService
    projects: ProjectService
    events: EventService
    pairs: PairService
    consents: ConsentService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The tab that the address names, and the settings; for others than administrators nothing."""
        try:
            project_id, _ = require_member(request, self.accounts, Role.ADMINISTRATOR)
            project = self.projects.get(project_id)
        except AnnotationError as error:  # `explain` shows it on the page, where it stays
            raise gr.Error(escape(str(error)), visible=False, print_exception=False) from error
        asked = request.query_params.get("tab", "")
        tabs = gr.Tabs(visible=True, selected=asked if asked in TABS else TABS[0])
        return "", tabs, print_settings(project.settings), *settings_values(project.settings)

    def explain(self, request: gr.Request) -> str:
        """Why the page stays closed."""
        try:
            require_member(request, self.accounts, Role.ADMINISTRATOR)
        except AnnotationError as error:
            return empty_html(str(error))
        return ""

    def show_counts(self, request: gr.Request) -> tuple[str, str]:
        """How far the pairs are, and what was done."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            counts = self.projects.counts(project_id, viewer=user.id)
            events = self.events.recent(project_id, viewer=user.id)
            stuck = self.pairs.stuck(project_id)
        return counts_html(counts) + stuck_html(stuck, project_id), events_html(events)

    def save(self, request: gr.Request, seen: str, *values: object) -> tuple[Any, ...]:
        """Change what the form says; what somebody else changed meanwhile comes into it."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            mine = read_settings_form(values)
            before = self.projects.get(project_id).settings
            counts = self.projects.counts(project_id, viewer=user.id)
            kept = self.projects.update(project_id, mine, seen=seen, by=user).settings
            anew = self.consents.count_to_renew(project_id) if kept.consent != before.consent else 0
            follows = [describe_renewal(anew)]
            counts_now = self.projects.counts(project_id, viewer=user.id)
            if kept.threshold != before.threshold:
                follows.append(regroup_numbers(flagged_text(counts, counts_now)))
            if kept.scale_words != before.scale_words:
                follows.append(earlier_words_text(counts_now.ratings))
        shown = settings_values(kept)
        is_mine = shown == settings_values(mine)
        fields = [gr.skip() for _ in shown] if is_mine else shown  # somebody may be typing
        said = saved_html(SAVED, is_alone=is_mine)
        said += "".join(note_html(text, role="status") for text in follows if text)
        return said, print_settings(kept), *fields

    def delete(self, request: gr.Request, typed: str | None) -> str:
        """Delete the project whose name was typed; where to go then."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
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
    set_aside: ExclusionHandlers,
    header: Filling,
    page: gr.Blocks,
) -> None:
    closed = gr.HTML(empty_html("Opening the project."), elem_id="project-closed")
    with gr.Tabs(visible=False, elem_id="project-tabs", overflow_behavior="wrap") as tabs:
        with gr.Tab("Pairs", id="pairs"):
            pairs_tab = _build_pairs_tab(imports, pairs, remarks)
        with gr.Tab("Members", id="members"):
            filling_members, members_changed = build_members_section(members)
            filling_graded, grades_changed = build_exclusion_section(set_aside)
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
    saving = answer_event(
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
