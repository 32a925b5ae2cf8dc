"""Setting a rater's grades aside and bringing them back, under the members of a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.errors import SettingsError
from annotation.notes import LONGEST_NOTE
from annotation.services.access.accounts import AccountService
from annotation.services.projects import ProjectService
from annotation.services.set_aside import BroughtBack, RaterGrades, SetAsideService
from annotation.types import Role
from annotation.ui.answer import answer_place, answered
from annotation.ui.asking import admitted
from annotation.ui.choice import on_choice
from annotation.ui.filling import Filling
from annotation.ui.kept_form import Keeping, build_kept_form
from annotation.ui.wording import counted, grouped
from kpdemo.ui.widgets import QUIETLY, done_html, escape

EXPLAINED_HTML = (
    '<p class="small">Grades that are set aside count nowhere, and other raters are given these pairs. The '
    "rater is paused and never gets them again. Grades can be brought back only for pairs that still need "
    "one. Agreement and gold sets say how many grades were set aside, when and why.</p>"
)


@dataclass(frozen=True)
class SetAsideHandlers:
    accounts: AccountService
    projects: ProjectService
    grades: SetAsideService

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """The raters to choose from, none of them chosen."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            return self._shown(project_id, None)

    def choose(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """What there is of the chosen rater, and what can be done with it; what was said of another goes."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            return "", *self._shown(project_id, name)[1:]

    def look_again(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """The same after a refusal, which stays: somebody else may have been quicker."""
        return self.choose(request, name)[1:]

    def set_aside(self, request: gr.Request, name: str | None, reason: str | None) -> tuple[Any, ...]:
        """Count the chosen rater's grades nowhere, and empty the reason."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            count = self.grades.set_aside(project_id, _chosen(name), reason or "", by=user)
            said = f"{counted(count, 'grade')} of {name} set aside: others are given these pairs."
            return done_html(said), *self._shown(project_id, name, is_done=True)

    def bring_back(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """Count grades of the chosen rater again, where there is room for them."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            done = self.grades.bring_back(project_id, _chosen(name), by=user)
            return done_html(brought_back_text(name or "", done)), *self._shown(project_id, name)

    def _shown(self, project_id: int, name: str | None, *, is_done: bool = False) -> tuple[Any, ...]:
        """The choice, what there is of the chosen rater, the reason, and the buttons.

        Args:
            is_done: the field of the reason is emptied.
        """
        raters = self.grades.raters(project_id)
        one = next((rater for rater in raters if rater.name == name), None)
        counts = self.projects.counts(project_id)
        can_go, can_return = bool(one and one.grades), bool(one and one.set_aside)
        return (
            gr.Dropdown(choices=[rater.name for rater in raters], value=one.name if one else None),
            grades_html(one, counts.pairs + counts.withdrawn) if one else "",
            gr.Textbox(interactive=can_go, value="") if is_done else gr.Textbox(interactive=can_go),
            gr.Button(interactive=can_go),
            gr.Button(interactive=can_return),
        )


def _chosen(name: str | None) -> str:
    if not name:
        raise SettingsError("No rater is chosen: choose whose grades are to be set aside or brought back.")
    return name


def grades_html(rater: RaterGrades, pairs: int) -> str:
    """What would be set aside or brought back."""
    said = f"{rater.name}: {counted(rater.grades, 'grade')} of {counted(pairs, 'pair')} of the project"
    if rater.set_aside:
        said += f", and {grouped(rater.set_aside)} set aside"
    return f'<p dir="auto">{escape(said)}.</p>'


def brought_back_text(name: str, done: BroughtBack) -> str:
    said = f"{counted(done.grades, 'grade')} of {name} brought back."
    paused = f"{name} stays paused." if done.is_paused else ""
    return " ".join(filter(None, (said, done.left_text, paused)))


def build_set_aside_section(handlers: SetAsideHandlers) -> tuple[Filling, tuple[Any, ...]]:
    """How it is filled, and the events that change which grades count, and who is paused."""
    with gr.Accordion("Set the grades of a rater aside", open=False, elem_id="set-aside") as part:
        gr.HTML(EXPLAINED_HTML, elem_id="set-aside-explained")
        kept = build_kept_form("set-aside")
        with gr.Row(elem_classes="form-row"):
            rater = gr.Dropdown(
                [], label="Rater", info="Who has graded", allow_custom_value=True, elem_id="set-aside-rater"
            )
            reason = gr.Textbox(
                label="Reason",
                info="Gold sets contain it: do not name anybody",
                max_lines=1,
                max_length=LONGEST_NOTE,
                interactive=False,
                elem_id="set-aside-reason",
            )
        there = gr.HTML("", elem_id="set-aside-grades", js_on_load=None)
        with gr.Row(elem_classes="form-row"):
            go = gr.Button(
                "Set these grades aside",
                variant="stop",
                interactive=False,
                elem_id="set-aside-run",
                min_width=96,
            )
            back = gr.Button(
                "Bring them back", interactive=False, elem_id="set-aside-bring-back", min_width=96
            )
        said = answer_place("set-aside-said")
    shown: list[Any] = [rater, there, reason, go, back]
    on_choice(rater, handlers.choose, [said, *shown[1:]], api_name="choose_graded", show_progress="hidden")
    changed = (
        answered(go.click, handlers.set_aside, [rater, reason], [said, *shown], api_name="set_grades_aside"),
        answered(back.click, handlers.bring_back, rater, [said, *shown], api_name="bring_grades_back"),
    )
    for event in changed:
        name = f"look_again_after_{event['api_name']}"
        event.failure(handlers.look_again, rater, shown[1:], api_name=name, **QUIETLY)
    keeping = Keeping(kept, [reason], changed[:1], around=[(part, {"open": True})])
    return Filling(handlers.show, shown, "show_graded", keeping=keeping), changed
