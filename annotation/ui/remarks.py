"""The section of a project's page that shows what raters said of pairs beside their grades."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from annotation.comparison import comparison_type
from annotation.senses.view import shown_items
from annotation.services.access.accounts import AccountService
from annotation.services.projects import ProjectService
from annotation.services.remarks import Remark, RemarkKind, RemarkPage, RemarkService
from annotation.types import Role
from annotation.ui.asking import admitted
from annotation.ui.filling import Filling
from annotation.ui.rate import SKIP_REASONS
from annotation.ui.sense_html import cell_html
from annotation.ui.tables import Column, Table, listing_html, save_button
from annotation.ui.wording import counted, grouped, held_back_text, time_html
from kpdemo.ui.widgets import empty_html, escape, section_heading

NO_REMARKS = "No comments or skips yet."
KINDS = {RemarkKind.PROBLEM: "Problem", RemarkKind.COMMENT: "Comment", RemarkKind.SKIP: "Skipped"}
CAPTION = "Comments and skips"
CHECK = ", check pair"
WITHDRAWN = ", withdrawn"
HEADS = ("Pair", "Kind", "Rater", "Comment or reason", "Left item", "Right item", "When")
COLUMNS = tuple(
    Column(name, text=True)
    for name in (
        "Pair", "Type", "Kind", "Rater", "Reason", "Comment", "Left item", "Right item", "When",
        "Check pair", "Withdrawn",
    )
)  # fmt: skip


@dataclass(frozen=True)
class RemarksHandlers:
    accounts: AccountService
    projects: ProjectService
    remarks: RemarkService

    def show(self, request: gr.Request) -> str:
        """What was said in the project."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            name = self.projects.get(project_id).name
            return remarks_html(self.remarks.remarks(project_id, viewer=user.id), project_id, name)


def build_remarks_section(handlers: RemarksHandlers) -> Filling:
    section_heading(CAPTION, "remarks-heading")
    shown = gr.HTML("", elem_id="remarks-list", js_on_load=None)
    again = gr.Button("Refresh", elem_id="remarks-again", size="sm")
    again.click(handlers.show, outputs=shown, api_name="show_remarks_again", show_progress="hidden")
    return Filling(handlers.show, shown, "show_remarks")


def remarks_html(page: RemarkPage, project_id: int, project: str) -> str:
    """How much was said, the table, and a button that saves it."""
    left_out = f'<p class="small">{escape(held_back_text(page.held_back))}</p>' if page.held_back else ""
    if not page.total:
        return left_out or empty_html(NO_REMARKS)
    problems, comments, skips = (page.counts[kind] for kind in RemarkKind)
    said = (
        f"{counted(problems, 'problem')} · {counted(comments, 'other comment')} · {counted(skips, 'skip')}, "
        "problems first, then the newest"
    )
    rows = "".join(_row_html(remark, project_id) for remark in page.items)
    return (
        f"<p>{escape(said)}</p>{left_out}{listing_html(HEADS, rows, label=CAPTION)}"
        f'{_rest_html(page)}<p class="actions">{save_button(remarks_table(page), project)}</p>'
    )


def remarks_table(page: RemarkPage) -> Table:
    """The same for a file."""
    rows = tuple(
        (
            remark.external_id,
            remark.type,
            KINDS[remark.kind],
            remark.rater,
            _reason(remark),
            remark.text,
            remark.left,
            remark.right,
            remark.at.isoformat(),
            "yes" if remark.is_check else "",
            "yes" if remark.is_withdrawn else "",
        )
        for remark in page.items
    )
    return Table("remarks", CAPTION, COLUMNS, rows)


def _rest_html(page: RemarkPage) -> str:
    if page.total <= len(page.items):
        return ""
    return (
        f'<p class="small">The first {grouped(len(page.items))} of {grouped(page.total)} are here and in the '
        "CSV file; <code>python -m annotation remarks PROJECT</code> lists all.</p>"
    )


def _row_html(remark: Remark, project_id: int) -> str:
    named = escape(remark.external_id)
    if not remark.is_check:  # nobody adjudicates those
        address = f"/annotate/adjudicate?project={project_id}&pair={remark.pair_id}"
        named = f'<a href="{escape(address)}">{named}</a>'
    kind = f"{comparison_type(remark.type).label}{CHECK if remark.is_check else ''}"
    kind += WITHDRAWN if remark.is_withdrawn else ""
    items = shown_items(remark.type, remark.left, remark.right, remark.senses)
    reason = _reason(remark)
    said = "".join(f'<div dir="auto">{escape(part)}</div>' for part in (reason, remark.text) if part)
    return (
        f'<tr><th scope="row" dir="auto">{named}<small>{escape(kind)}</small></th>'
        f'<td>{KINDS[remark.kind]}</td><td dir="auto">{escape(remark.rater)}</td>'
        f'<td class="remark">{said or "–"}</td>'
        f"{''.join(map(cell_html, items))}<td>{time_html(remark.at)}</td></tr>"
    )


def _reason(remark: Remark) -> str:
    return SKIP_REASONS[remark.reason] if remark.reason else ""
