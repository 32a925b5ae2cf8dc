"""The section of a project's page that lists its pairs, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.comparison import comparison_type
from annotation.senses.view import shown_items
from annotation.services.access.accounts import AccountService
from annotation.services.pair_list import PAGE_LENGTH, PairLine, PairListService, PairPage, PairState
from annotation.types import Role
from annotation.ui.asking import admitted
from annotation.ui.filling import Filling
from annotation.ui.pair_changes import PairChangeHandlers, build_pair_changes
from annotation.ui.sense_html import cell_html
from annotation.ui.tables import listing_html
from annotation.ui.wording import counted, grouped
from kpdemo.ui.widgets import (
    empty_html,
    escape,
    section_heading,
)

EVERY_STATE = "every state"
CHOICES = [(EVERY_STATE, ""), *((state.value, state.value) for state in PairState)]
NO_PAIRS = "No pairs yet. They are listed here once a file is imported or a text is accepted."
NONE_FOUND = "No pair matches. Search for a part of an id or a text, or choose another state."
LONGEST_SEARCH = 200


@dataclass(frozen=True)
class PairListHandlers:
    accounts: AccountService
    listing: PairListService
    changes: PairChangeHandlers

    def first(self, search: str | None, state: str | None, request: gr.Request) -> tuple[Any, ...]:
        """The first page of what is asked for."""
        return self._show(request, search, state, 0)

    def earlier(
        self, search: str | None, state: str | None, page: int, request: gr.Request
    ) -> tuple[Any, ...]:
        """The page before."""
        return self._show(request, search, state, page - 1)

    def later(self, search: str | None, state: str | None, page: int, request: gr.Request) -> tuple[Any, ...]:
        """The next page."""
        return self._show(request, search, state, page + 1)

    def _show(self, request: gr.Request, search: str | None, state: str | None, page: int) -> tuple[Any, ...]:
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            asked = (search or "")[:LONGEST_SEARCH]
            wanted = PairState(state) if state in set(PairState) else None
            page, found = self._page(project_id, user.id, asked, wanted, max(0, page))
        is_more = (page + 1) * PAGE_LENGTH < found.total
        html = pairs_html(found, project_id, page, is_all=not asked.strip() and wanted is None)
        return html, page, gr.Button(interactive=page > 0), gr.Button(interactive=is_more)

    def _page(
        self, project_id: int, viewer: int, search: str, state: PairState | None, page: int
    ) -> tuple[int, PairPage]:
        """The page, or the last that there is: search and pairs may have changed since the last turn."""
        offset = page * PAGE_LENGTH
        found = self.listing.pairs(project_id, search=search, state=state, offset=offset, viewer=viewer)
        last = max(0, found.total - 1) // PAGE_LENGTH
        return (page, found) if page <= last else self._page(project_id, viewer, search, state, last)


def build_pair_list(handlers: PairListHandlers) -> tuple[Filling, Filling, tuple[Any, ...]]:
    """How the list and the form under it are filled, and the events that change which pairs there are."""
    section_heading("All pairs", "pair-list-heading")
    with gr.Row(elem_classes="form-row"):
        search = gr.Textbox(
            label="Search", info="A part of an id or a text, then Enter", max_lines=1, elem_id="pair-search"
        )
        state = gr.Dropdown(CHOICES, value="", label="State", info="How far they are", elem_id="pair-state")
    listed = gr.HTML("", elem_id="pair-list", js_on_load=None)
    with gr.Row(elem_classes="form-row", elem_id="pair-pages"):
        earlier = gr.Button(
            "Previous page", interactive=False, size="sm", elem_id="pair-earlier", min_width=96
        )
        later = gr.Button("Next page", interactive=False, size="sm", elem_id="pair-later", min_width=96)
    types, changed = build_pair_changes(handlers.changes)
    page = gr.State(0)
    asked: list[Any] = [search, state]
    shown = [listed, page, earlier, later]
    search.submit(handlers.first, asked, shown, api_name="search_pairs", show_progress="hidden")
    state.change(  # nothing else sets it
        handlers.first, asked, shown, api_name="choose_pairs", show_progress="hidden"
    )
    for button, turn in ((earlier, handlers.earlier), (later, handlers.later)):
        button.click(turn, [*asked, page], shown, api_name=f"{turn.__name__}_pairs", show_progress="hidden")
    return Filling(handlers.first, shown, "show_pairs", asked), types, changed


def pairs_html(page: PairPage, project_id: int, number: int, *, is_all: bool) -> str:
    """How many there are, and the table of this page."""
    if not page.items:
        return empty_html(NO_PAIRS if is_all else NONE_FOUND)
    first = number * PAGE_LENGTH + 1
    last = first + len(page.items) - 1
    said = counted(page.total, "pair")
    if page.withdrawn:
        said += f", {grouped(page.withdrawn)} withdrawn"
    if page.total > len(page.items):
        said += f", {grouped(first)} to {grouped(last)} below"
    heads = ("Pair", "Left item", "Right item", "Grades", "State")
    rows = "".join(_row_html(line, page.raters_per_pair, project_id) for line in page.items)
    return f"<p>{escape(said)}</p>{listing_html(heads, rows, label='All pairs')}"


def _row_html(line: PairLine, raters_per_pair: int, project_id: int) -> str:
    address = f"/annotate/adjudicate?project={project_id}&pair={line.id}"
    kind = comparison_type(line.type).label + (f", {line.genre}" if line.genre else "")
    items = shown_items(line.type, line.left, line.right, line.senses)
    return (
        f'<tr><th scope="row" dir="auto"><a href="{escape(address)}">{escape(line.external_id)}</a>'
        f"<small>{escape(kind)}</small></th>"
        f"{''.join(map(cell_html, items))}"
        f"<td>{line.grades} of {raters_per_pair}</td><td>{line.state.value}</td></tr>"
    )
