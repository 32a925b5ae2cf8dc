"""Larger items on the page for editors: importing a file, the list, and how large items may be."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.authoring import ItemSummary
from annotation.changes import print_settings, renew_prints
from annotation.comparison import Bounds, PairBounds, check_range, comparison_type, guidance, size_of
from annotation.errors import SettingsError, WritingError
from annotation.exchange import open_file, read_larger_items
from annotation.services.accounts import AccountService
from annotation.services.editing import EDITORS
from annotation.services.larger_items import LISTED, ItemLine, ItemService
from annotation.services.projects import ProjectService
from annotation.services.writing import TypeTerms, WritingTerms, type_terms
from annotation.ui.pairs import (
    FROM_FILE,
    KEPT_MINUTES,
    checked_upload,
    import_event,
    import_result_html,
    refusal,
)
from annotation.ui.settings_form import saved_html
from annotation.ui.tables import listing_html
from annotation.ui.widgets import (
    PAGE_ERRORS,
    Filling,
    Keeping,
    admit_member,
    answer_event,
    answer_place,
    build_kept_form,
    ids_in,
    on_choice,
    require_member,
)
from annotation.wording import beginning
from kpdemo.ui.html import count_noun, escape, group_digits
from kpdemo.ui.widgets import QUIETLY, done_html, empty_html, section_heading, unseen_box

NO_ITEMS = "No larger items yet. Import a file, then invite writers on the project's page."
_SHOWN = 90


def items_html(lines: list[ItemLine], count: int) -> str:
    """The first items, and how far each is."""
    if not lines:
        return empty_html(NO_ITEMS)
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(line.id)}</th>'
        f'<td dir="auto">{escape(comparison_type(line.type).label)}</td>'
        f'<td dir="auto">{escape(line.genre or "–")}</td>'
        f'<td dir="auto">{escape(beginning(line.text, _SHOWN))}</td>'
        "<td "
        f'class="number">{group_digits(size_of(line.text).words)}</td><td>{escape(_state(line))}</td></tr>'
        for line in lines
    )
    heads = ("Id", "Type", "Genre", "Text", "Words", "State")
    more = f", the first {LISTED} below" if count > len(lines) else ""
    listing = listing_html(heads, rows, numbers=(4,), label="Larger items")
    return f"<p>{escape(count_noun(count, 'larger item'))}{more}</p>{listing}"


def bounds_html(plan: WritingTerms, types: tuple[str, ...]) -> str:
    """The bounds of every type."""
    lines = "".join(
        f"<li><bdi>{escape(comparison_type(type).label)}</bdi>: {escape(guidance(plan.of(type).larger))}; "
        f"{escape(guidance(plan.of(type).smaller))}</li>"
        for type in types
    )
    return f'<ul class="small">{lines}</ul>'


def summary_html(summary: ItemSummary) -> str:
    """What was imported, and what was there already."""
    said = f"Imported {count_noun(summary.items, 'larger item')}."
    return import_result_html(said, summary.duplicates, has_new=summary.items > 0, noun="item")


def _state(line: ItemLine) -> str:
    """How far it is. Nothing shows that its grade is 0: a person who knows that must not grade its pair."""
    said = {"reserved": "unwritten", "paired": "accepted"}.get(line.state, line.state.replace("_", " "))
    return f"{said}, left blank {line.blanks} ×" if line.blanks else said


FORMATS_HTML = (
    '<p class="small">TSV, CSV or JSON Lines with <code>id, type, text</code> and, if you wish, '
    f"<code>genre, source</code>. An upload is deleted after {KEPT_MINUTES} minutes.</p>"
)
WITHDRAWING_HTML = (
    '<p class="small">A withdrawn item is no longer given to writers. Drafts are kept, and a writer at '
    "work on it is told. Items that are already pairs stay.</p>"
)
ANY_TYPE = "any type"
RANGES = (
    ("larger-words", "Words of the larger item"),
    ("larger-sentences", "Sentences of the larger item"),
    ("smaller-words", "Words of the smaller item"),
    ("smaller-sentences", "Sentences of the smaller item"),
)


@dataclass(frozen=True)
class ItemsHandlers:
    accounts: AccountService
    projects: ProjectService
    items: ItemService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The bounds of the first type."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, _):
            types = self.projects.get(project_id).settings.types
            plan = self.items.plan(project_id)
        terms = plan.of_type(types[0])
        of_type = gr.Dropdown(choices=_named(types), value=types[0])
        return of_type, plan.has_zeros, *_ranges(terms), _of_type(types[0], print_settings(terms))

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """The lists of items, types and bounds; what is chosen and typed stays."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, _):
            types = self.projects.get(project_id).settings.types
            lines, count = self.items.items(project_id), self.items.count(project_id)
            plan = self.items.plan(project_id)
        named = _named(types)
        return (
            items_html(lines, count),
            gr.Dropdown(choices=[(FROM_FILE, ""), *named]),
            gr.Dropdown(choices=[(ANY_TYPE, ""), *named]),
            gr.Dropdown(choices=named),
            bounds_html(plan, types),
        )

    def import_file(self, request: gr.Request, upload: str | None, type: str | None) -> tuple[str, Any]:
        """All rows of the file, or how many cannot be used and why."""
        try:
            project_id, user = require_member(request, self.accounts, *EDITORS)
            path = checked_upload(upload)
            with open_file(path, name=path.name) as source:
                only = self.projects.get(project_id).settings.only_type
                found = list(read_larger_items(source, type=type or only))
            summary = self.items.import_items(project_id, found, by=user, files=[path.name])
        except PAGE_ERRORS as error:
            return refusal(error, upload)
        path.unlink(missing_ok=True)
        return summary_html(summary), gr.File(value=None)

    def withdraw(self, request: gr.Request, ids: str, type: str | None) -> str:
        """Give items to nobody any more."""
        return self._changed(request, ids, type, self.items.withdraw, "withdrawn")

    def restore(self, request: gr.Request, ids: str, type: str | None) -> str:
        """Give withdrawn items to writers again."""
        return self._changed(request, ids, type, self.items.restore, "with the writers again")

    def _changed(
        self, request: gr.Request, text: str, type: str | None, change: Callable[..., int], done: str
    ) -> str:
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            ids = ids_in(text)
            if not ids:
                raise WritingError("No item is named: write ids from the list, one per line.")
            changed = change(project_id, ids, type=type or None, by=user)
        return done_html(f"{count_noun(changed, 'larger item')} {done}.")

    def show_bounds(self, request: gr.Request, type: str, seen: str) -> tuple[str, ...]:
        """The bounds of another type."""
        with admit_member(request, self.accounts, *EDITORS) as (project_id, _):
            terms = self.items.plan(project_id).of_type(type)
            return *_ranges(terms), _of_type(type, renew_prints(seen, terms, but=("has_zeros",)))

    def save_bounds(
        self, request: gr.Request, type: str, seen: str, has_zeros: bool, *texts: str
    ) -> tuple[Any, ...]:
        """Set the bounds of the type, and whether items are reserved for grade 0.

        What somebody else changed meanwhile comes into the fields.
        """
        with admit_member(request, self.accounts, *EDITORS) as (project_id, user):
            if not type:
                raise SettingsError("No comparison type is chosen: choose the one whose bounds to set.")
            ranges = [check_range(text or "", label) for text, (_, label) in zip(texts, RANGES, strict=True)]
            bounds = PairBounds(Bounds(ranges[0], ranges[1]), Bounds(ranges[2], ranges[3]))
            plan = self.items.change_plan(
                project_id, type=type, bounds=bounds, has_zeros=bool(has_zeros), seen=seen, by=user
            )
            types = self.projects.get(project_id).settings.types
        kept = plan.of_type(type)
        is_alone = kept == type_terms(bounds, bool(has_zeros))
        fields = [gr.skip() for _ in (has_zeros, *texts)] if is_alone else [kept.has_zeros, *_ranges(kept)]
        said = saved_html("Saved. Items and texts that are already there stay.", is_alone=is_alone)
        return said, bounds_html(plan, types), *fields, _of_type(type, print_settings(kept))


def build_items_section(handlers: ItemsHandlers) -> tuple[Filling, Filling]:
    """How the fields of the bounds are filled, and how the lists are."""
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=6, min_width=320):
            section_heading("Larger items", "items-heading")
            listed = gr.HTML("", elem_id="items-list", js_on_load=None)
        with gr.Column(scale=5, min_width=320):
            type, imported = _build_import(handlers)
            among, named = _build_withdrawal(handlers)
            settings, of_type, bounds = _build_bounds(handlers)
    shown = [listed, type, among, of_type, bounds]
    filling = Filling(handlers.show, shown, "show_items", keeping=named)
    for event in (imported, *named.saved):
        filling.after(event, name=f"show_after_{event['api_name']}")
    return settings, filling


def _build_import(handlers: ItemsHandlers) -> tuple[gr.Dropdown, Any]:
    """The choice of a type, and the event of an import."""
    section_heading("Import", "items-import-heading")
    upload = gr.File(
        label="A file of larger items",
        type="filepath",
        height=140,
        elem_id="items-file",
    )
    gr.HTML(FORMATS_HTML, elem_id="items-formats")
    with gr.Row(elem_classes="form-row"):
        type = gr.Dropdown(
            [(FROM_FILE, "")], value="", label="Comparison type", elem_id="items-type", scale=3
        )
        run = gr.Button("Import", variant="primary", elem_id="items-import", scale=1, min_width=120)
    result = gr.HTML("", elem_id="items-result")
    imported = import_event(run, handlers.import_file, [upload, type], [result, upload], "import_items")
    return type, imported


def _build_withdrawal(handlers: ItemsHandlers) -> tuple[gr.Dropdown, Keeping]:
    """The choice of a type, and what is kept until items are withdrawn or given out again."""
    with gr.Accordion("Withdraw items", open=False, elem_id="items-withdrawal") as part:
        gr.HTML(WITHDRAWING_HTML, elem_id="items-withdrawing")
        kept = build_kept_form("items-named")
        ids = gr.Textbox(label="Ids, one per line", lines=3, max_lines=12, elem_id="items-ids")
        among = gr.Dropdown([(ANY_TYPE, "")], value="", label="Comparison type", elem_id="items-ids-type")
        with gr.Row(elem_classes="form-row"):
            withdraw = gr.Button("Withdraw", elem_id="items-withdraw", min_width=120)
            restore = gr.Button("Give out again", elem_id="items-restore", min_width=120)
        changed = answer_place("items-changed")
    asked: list[Any] = [ids, among]
    events = [
        answer_event(withdraw.click, handlers.withdraw, asked, changed, api_name="withdraw_items"),
        answer_event(restore.click, handlers.restore, asked, changed, api_name="restore_items"),
    ]
    return among, Keeping(kept, asked, events, around=[(part, {"open": True})])


def _build_bounds(handlers: ItemsHandlers) -> tuple[Filling, gr.Dropdown, gr.HTML]:
    """How the fields are filled; the choice of a type, and the list."""
    with gr.Accordion("How large items may be", open=False, elem_id="items-bounds") as part:
        bounds = gr.HTML("", elem_id="items-bounds-list", js_on_load=None)
        of_type = gr.Dropdown([], label="Comparison type", elem_id="items-bounds-type")
        kept = build_kept_form("items-bounds")
        fields = [gr.Textbox(label=label, elem_id=f"items-{name}") for name, label in RANGES]
        zeros = gr.Checkbox(
            label="Set a share of the items aside for pairs of grade 0", elem_id="items-zeros"
        )
        save = gr.Button("Save the bounds", elem_id="items-save")
        saved = answer_place("items-saved")
    seen = unseen_box("items-seen")
    chosen = on_choice(
        of_type,
        handlers.show_bounds,
        [*fields, seen],
        beside=[seen],
        js=kept.pauses,
        api_name="show_bounds",
        **QUIETLY,
    )
    kept.resume_after(chosen)
    saving = answer_event(
        save.click,
        handlers.save_bounds,
        [of_type, seen, zeros, *fields],
        [saved, bounds, zeros, *fields, seen],
        api_name="save_bounds",
    )
    around = [(part, {"open": True})]
    kept_fields = [zeros, *fields]
    keeping = Keeping(kept, kept_fields, [saving], around, began=seen, is_of_began=True, shown=[chosen])
    filling = Filling(handlers.open, [of_type, *kept_fields, seen], "open_bounds", keeping=keeping)
    return filling, of_type, bounds


def _named(types: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(comparison_type(name).label, name) for name in types]


def _of_type(type: str, seen: str) -> str:
    """What the form began with, told apart from that of another type with the same bounds."""
    return json.dumps({**json.loads(seen), "type": type})


def _ranges(terms: TypeTerms) -> tuple[str, ...]:
    pairs = (terms.larger_words, terms.larger_sentences, terms.smaller_words, terms.smaller_sentences)
    return tuple(f"{low}-{high}" for low, high in pairs)
