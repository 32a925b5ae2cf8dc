"""Withdrawing pairs, restoring and removing them, under the list of all pairs on a project's page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.comparison import comparison_type
from annotation.errors import PairError
from annotation.notes import LONGEST_NOTE
from annotation.services.access.accounts import AccountService
from annotation.services.pair_removal import PairRemovalService
from annotation.services.pair_withdrawal import PairWithdrawalService
from annotation.services.projects import ProjectService
from annotation.types import Role
from annotation.ui.answer import answer_place, answered
from annotation.ui.asking import admitted, ids_in
from annotation.ui.filling import Filling
from annotation.ui.kept_form import Keeping, build_kept_form
from annotation.ui.wording import counted
from kpdemo.ui.widgets import done_html

ANY_TYPE = "any type"
EXPLAINED_HTML = (
    '<p class="small">A withdrawn pair is not given to raters and counts nowhere; its grades, decisions '
    "and comments are kept, and restoring it brings them back. Pairs that nobody was given or graded, such "
    "as those of a wrong import, can be removed for good. Either all named pairs are changed or none.</p>"
)


@dataclass(frozen=True)
class PairChangeHandlers:
    accounts: AccountService
    projects: ProjectService
    withdrawal: PairWithdrawalService
    removal: PairRemovalService

    def types(self, request: gr.Request) -> gr.Dropdown:
        """The choice among the types of the project."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            types = self.projects.get(project_id).settings.types
        return gr.Dropdown(choices=[(ANY_TYPE, ""), *((comparison_type(name).label, name) for name in types)])

    def withdraw(self, request: gr.Request, ids: str | None, type: str | None, reason: str | None) -> Any:
        """Take the named pairs out of the study, and empty the fields."""
        return self._changed(request, ids, type, reason, self.withdrawal.withdraw, "withdrawn")

    def restore(self, request: gr.Request, ids: str | None, type: str | None, reason: str | None) -> Any:
        """Put the named pairs back, and empty the fields."""
        return self._changed(request, ids, type, reason, self.withdrawal.restore, "restored")

    def remove(self, request: gr.Request, ids: str | None, type: str | None) -> tuple[str, str]:
        """Delete the named pairs, and empty the field."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            count = self.removal.remove(project_id, named(ids), type=type or None, by=user)
        return done_html(f"{counted(count, 'pair')} removed."), ""

    def _changed(
        self,
        request: gr.Request,
        ids: str | None,
        type: str | None,
        reason: str | None,
        change: Callable[..., int],
        done: str,
    ) -> tuple[str, str, str]:
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            count = change(project_id, named(ids), type=type or None, reason=reason or "", by=user)
        return done_html(f"{counted(count, 'pair')} {done}."), "", ""


def build_pair_changes(handlers: PairChangeHandlers) -> tuple[Filling, tuple[Any, ...]]:
    """How the choice of a type is filled, and the events that change which pairs there are or count."""
    with gr.Accordion("Withdraw or remove pairs", open=False, elem_id="pair-changes") as part:
        gr.HTML(EXPLAINED_HTML, elem_id="pair-changes-explained")
        kept = build_kept_form("pair-changes")
        ids = gr.Textbox(label="Ids, one per line", lines=3, max_lines=12, elem_id="pair-ids")
        with gr.Row(elem_classes="form-row"):
            type = gr.Dropdown(
                [(ANY_TYPE, "")],
                value="",
                label="Comparison type",
                info="Where several have the id",
                elem_id="pair-ids-type",
            )
            reason = gr.Textbox(
                label="Reason (optional)",
                info="Kept under Events",
                max_lines=1,
                max_length=LONGEST_NOTE,
                elem_id="pair-reason",
            )
        with gr.Row(elem_classes="form-row"):
            withdraw = gr.Button("Withdraw", elem_id="pair-withdraw", min_width=96)
            restore = gr.Button("Restore", elem_id="pair-restore", min_width=96)
            remove = gr.Button("Remove", elem_id="pair-remove", min_width=96)
        said = answer_place("pair-changed")
    asked: list[Any] = [ids, type, reason]
    changed = (
        answered(withdraw.click, handlers.withdraw, asked, [said, ids, reason], api_name="withdraw_pairs"),
        answered(restore.click, handlers.restore, asked, [said, ids, reason], api_name="restore_pairs"),
        answered(remove.click, handlers.remove, [ids, type], [said, ids], api_name="remove_pairs"),
    )
    keeping = Keeping(kept, asked, changed, around=[(part, {"open": True})])
    return Filling(handlers.types, type, "show_pair_types", keeping=keeping), changed


def named(text: str | None) -> list[str]:
    """The ids, one per line.

    Raises:
        PairError: there is none.
    """
    ids = ids_in(text)
    if not ids:
        raise PairError("No pair is named: write ids from the list, one per line.")
    return ids
