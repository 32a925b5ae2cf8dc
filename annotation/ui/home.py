"""The first page of annotation: my projects, how far they are and what to do next; making a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.assignment import Progress
from annotation.comparison import COMPARISON_TYPES
from annotation.errors import AnnotationError
from annotation.services.accounts import AccountService
from annotation.services.projects import OverviewService, ProjectLine, ProjectService
from annotation.services.ratings import RatingService
from annotation.types import Role, User
from annotation.ui.settings_form import read_settings_form, settings_fields
from annotation.ui.widgets import build_kept_form
from annotation.ui.wording import all_withdrawn_text, graded_text, progress_html, roles_text
from kpdemo.ui.html import count_noun, escape, group_digits
from kpdemo.ui.widgets import (
    GO_ON,
    QUIETLY,
    PageLink,
    empty_html,
    keep_reason,
    links_html,
    shown_to_user,
    unseen_box,
)

NOTHING_YET = "You are not in any project yet. Ask the administrator of a project to add you."
NO_MORE = (
    "You are in no project now; what you graded or wrote is kept. Ask the administrator of a project to add "
    "you again."
)
NO_PROJECTS = "No projects yet. Make one below, then import pairs and invite raters."
PAUSED = "Paused: your administrator can tell you when you can go on"
CHANGED_TEXT = "The text that you agreed to has changed: please agree again"
NEW_TYPE = "type"
"""Of the address: the comparison type of a project that is to be made."""

FORGET_REFUSAL = "() => ''"
"""What was wrong with the form may be mended now: the next press tells."""


@dataclass(frozen=True)
class HomeHandlers:
    accounts: AccountService
    overview: OverviewService
    projects: ProjectService
    ratings: RatingService

    def show(self, request: gr.Request) -> tuple[str, gr.Accordion, Any]:
        """My projects; the form for a new one, with the type that the address names.

        The form is for administrators of the server.
        """
        with shown_to_user(AnnotationError):
            user = self.accounts.user(request.username or "")
            lines = self.overview.projects(user)
            cards = [project_html(line, user, self._progress(line, user)) for line in lines]
        asked = str(request.query_params.get(NEW_TYPE, ""))
        types = [asked] if asked in COMPARISON_TYPES else gr.skip()
        form = gr.Accordion(visible=user.is_administrator, open=not lines or asked in COMPARISON_TYPES)
        if not cards:
            return empty_html(self._without_projects(user)), form, types
        return f'<ul class="projects">{"".join(cards)}</ul>', form, types

    def _without_projects(self, user: User) -> str:
        if user.is_administrator:
            return NO_PROJECTS
        return NO_MORE if self.overview.has_worked(user) else NOTHING_YET

    def create(self, request: gr.Request, *values: object) -> str:
        """Make a project of the form; where its page is."""
        with shown_to_user(AnnotationError):
            user = self.accounts.require(request.username, None)
            project = self.projects.create(read_settings_form(values), created_by=user)
        return f"/annotate/project?project={project.id}"

    def _progress(self, line: ProjectLine, user: User) -> Progress | None:
        if Role.RATER not in line.roles or not line.pairs:
            return None
        return self.ratings.progress(line.id, user.id)


def build_home_page(handlers: HomeHandlers, page: gr.Blocks) -> None:
    cards = gr.HTML(
        empty_html("Opening your projects."),
        elem_id="home-projects",
        apply_default_css=False,
        js_on_load=None,
    )
    with gr.Accordion("New project", open=False, visible=False, elem_id="home-new") as form:
        kept = build_kept_form("new")
        fields = settings_fields("new")
        make = gr.Button("Create project", variant="primary", elem_id="home-create")
        refused = gr.HTML("", elem_id="home-refused", js_on_load=None)
    made = unseen_box("home-made")
    opened = page.load(
        handlers.show, outputs=[cards, form, fields.types], api_name="show_projects", **QUIETLY
    )
    keep_reason(opened, cards)
    making = make.click(handlers.create, fields.components, made, api_name="create_project")
    making.success(None, made, js=GO_ON, api_name="go_to_new_project")
    keep_reason(making, refused)
    is_open = [(form, {"open": True})]
    kept.keep(fields.components, around=is_open, asked=fields.types, shown=[opened], saved=[making])
    edits = [field.input for field in fields.components]
    gr.on(edits, None, outputs=refused, js=FORGET_REFUSAL, api_name="forget_refused_project", **QUIETLY)


def next_steps(line: ProjectLine, user: User, progress: Progress | None) -> list[PageLink]:
    """What there is to do for this user, the most pressing first; what leads nowhere is left out."""
    leads = user.is_administrator or Role.ADMINISTRATOR in line.roles
    settles = leads or Role.ADJUDICATOR in line.roles
    there = f"project={line.id}"
    steps = []
    if leads and not line.pairs and not line.unwritten:
        text = "Restore or import pairs" if line.withdrawn else "Import pairs"
        steps.append(PageLink(text, f"/annotate/project?{there}"))
    if leads and not line.raters and not line.is_graded:
        steps.append(PageLink("Invite raters", f"/annotate/project?{there}&tab=members"))
    if page := _page_of_the_text(line):
        steps.append(PageLink("Agree to the changed text", f"/annotate/{page}?{there}"))
    if Role.WRITER in line.roles and line.unwritten:
        steps.append(PageLink("Write", f"/annotate/write?{there}"))
    if (leads or Role.EDITOR in line.roles) and line.to_review:
        steps.append(PageLink(f"Review {count_noun(line.to_review, 'text')}", f"/annotate/review?{there}"))
    is_done = line.is_paused or (progress is not None and progress.rated >= progress.total)
    if progress is not None and not is_done:
        steps.append(PageLink("Grade pairs", f"/annotate/rate?{there}"))
    if settles and line.to_adjudicate:
        text = f"Adjudicate {count_noun(line.to_adjudicate, 'pair')}"
        steps.append(PageLink(text, f"/annotate/adjudicate?{there}"))
    if leads and line.is_graded and not line.to_adjudicate:
        steps.append(PageLink("Export gold", f"/annotate/project?{there}&tab=gold"))
    if settles and line.finished:
        steps.append(PageLink("See agreement", f"/annotate/agreement?{there}"))
    if progress is not None and is_done and progress.rated:
        steps.append(PageLink("See my answers", f"/annotate/rate?{there}"))
    return steps


def _page_of_the_text(line: ProjectLine) -> str:
    """Where the user agrees again; none if they need not, or are given no work that asks for it."""
    if line.must_agree_anew and Role.RATER in line.roles and not line.is_paused:
        return "rate"
    return "write" if line.must_agree_anew and Role.WRITER in line.roles else ""


def project_html(line: ProjectLine, user: User, progress: Progress | None) -> str:
    leads = user.is_administrator or line.roles & {Role.ADMINISTRATOR, Role.ADJUDICATOR}
    steps = next_steps(line, user, progress)
    facts = []
    if progress is not None:
        facts.append(progress_html(progress.rated, progress.total, graded_text(progress)))
    if line.is_paused:
        facts.append(PAUSED)
    if _page_of_the_text(line):
        facts.append(CHANGED_TEXT)
    if leads and line.pairs:
        text = f"{group_digits(line.finished)} of {count_noun(line.pairs, 'pair')} fully graded"
        facts.append(progress_html(line.finished, line.pairs, text))
        if line.to_adjudicate:
            facts.append(escape(f"{group_digits(line.to_adjudicate)} to adjudicate"))
    unwritten = line.unwritten if leads or line.roles & {Role.WRITER, Role.EDITOR} else 0
    if unwritten:
        facts.append(escape(f"Up to {count_noun(unwritten, 'larger item')} to write for"))
    if not line.pairs and not unwritten:
        facts.append(_without_pairs(line, leads=bool(leads)))
    name = escape(line.name)
    title = f'<a href="{escape(_title_address(line, user))}"><bdi>{name}</bdi></a>'
    of_server = "administrator of the server" if user.is_administrator else ""
    own = line.roles - {Role.ADMINISTRATOR} if of_server else line.roles  # one is enough
    mine = ", ".join(filter(None, (of_server, roles_text(own))))
    return (
        f'<li class="project"><div class="project-about"><h2>{title}</h2>'
        f'<p class="small">{escape(mine)}</p></div>'
        f'<ul class="project-facts">{"".join(f"<li>{fact}</li>" for fact in facts)}</ul>'
        f'<p class="project-steps">{_steps_html(steps, _waiting_text(line, user))}</p></li>'
    )


def _without_pairs(line: ProjectLine, *, leads: bool) -> str:
    if not line.withdrawn:
        return "No pairs yet"
    return escape(all_withdrawn_text(line.withdrawn)) if leads else "No pairs at the moment"


def _steps_html(steps: Sequence[PageLink], waiting: str) -> str:
    return links_html(steps) if steps else f'<span class="small">{escape(waiting)}</span>'


def _waiting_text(line: ProjectLine, user: User) -> str:
    """Where this user has nothing to do: whom the project waits for, as its leaders may know."""
    leads = user.is_administrator or Role.ADMINISTRATOR in line.roles
    if (leads or Role.ADJUDICATOR in line.roles) and line.pairs > line.finished and line.raters:
        return f"Waiting for {count_noun(line.raters, 'rater')} to grade"
    if leads and line.unwritten:
        return "Waiting for writers to write"
    return "Nothing for you to do at the moment"


def _title_address(line: ProjectLine, user: User) -> str:
    """The page of the project that shows most to this user."""
    if user.is_administrator or Role.ADMINISTRATOR in line.roles:
        page = "project"
    else:
        pages = ((Role.RATER, "rate"), (Role.ADJUDICATOR, "adjudicate"), (Role.EDITOR, "review"))
        page = next((page for role, page in pages if role in line.roles), "write")
    return f"/annotate/{page}?project={line.id}"
