"""The writing page. Python writes its form once; the script fills it in from the JSON interface."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from annotation.authoring import LONGEST_WRITTEN, REQUESTED
from annotation.comparison import ComparisonType, comparison_type
from annotation.errors import AnnotationError
from annotation.scale import scale_points
from annotation.services.accounts import AccountService
from annotation.services.projects import ProjectService
from annotation.services.writing import SENT_BACK_TIME
from annotation.types import Project, Role, User
from annotation.ui.rate import build_form, storage_name
from annotation.ui.widgets import require_member
from annotation.ui.wording import blank_html, consent_html, scale_html
from kpdemo.ui.html import escape, markdown_html
from kpdemo.ui.widgets import empty_html


@dataclass(frozen=True)
class WriteHandlers:
    accounts: AccountService
    projects: ProjectService

    def open(self, request: gr.Request) -> str:
        """The form for the project that the address names, or a sentence with the next step."""
        try:
            project_id, user = require_member(request, self.accounts, Role.WRITER)
            project = self.projects.get(project_id)
        except AnnotationError as error:
            return f'{empty_html(str(error))}<p><a href="/annotate/">My projects</a></p>'
        return form_html(project, user)


def build_write_page(handlers: WriteHandlers, page: gr.Blocks) -> None:
    build_form(handlers.open, page, "write-page", "open_writing")


def form_html(project: Project, user: User) -> str:
    """The whole form, empty; nothing in it depends on an item."""
    types = [comparison_type(type) for type in project.settings.types]
    return (
        f'<div id="write-form" class="rate write" data-project="{project.id}" data-user="{user.id}"'
        f' data-storage="{storage_name(project, user)}" data-longest="{LONGEST_WRITTEN}">'
        f"{_BAR}"
        f'<div id="write-notices"></div>{consent_html("write")}'
        '<div id="write-message" class="empty" role="status" tabindex="-1">Loading your item.</div>'
        f'<div id="write-work" hidden>{_request_html(types, project)}{_BACK}{_ITEMS}{_ACTIONS}</div>'
        f"{_guidelines_html(project)}{_RECENT}{blank_html('write')}"
        '<p id="write-live" class="rate-unseen" aria-live="polite"></p></div>'
    )


_BAR = """
<div class="rate-bar">
<p id="write-type"></p>
<p id="write-counts" class="rate-done"></p>
<p id="write-saved" role="status"></p>
</div>
"""


def _request_html(types: list[ComparisonType], project: Project) -> str:
    points = "".join(
        f'<div data-type="{escape(kind.name)}" data-grade="{point.value}" hidden>'
        f'<span class="write-grade">{point.value}</span><div><p dir="auto"><b>{escape(point.name)}</b></p>'
        f'<p dir="auto">{escape(point.description)}</p></div></div>'
        for kind in types
        for point in scale_points(project.settings.scale_words, kind.name)
        if point.value in REQUESTED
    )
    examples = "".join(
        f'<p data-type="{escape(kind.name)}" data-grade="{example.grade}" dir="auto" hidden>'
        f"For <q>{escape(example.left)}</q> a text of grade {example.grade} is "
        f"<q>{escape(example.right)}</q>.</p>"
        for kind in types
        for example in kind.examples
        if example.grade in REQUESTED
    )
    return (
        '<section id="write-request" aria-labelledby="write-asked"><h2 id="write-asked"></h2>'
        f'<div id="write-points">{points}</div>'
        f'<p id="write-senses" hidden><a href="/annotate/senses?project={project.id}">'
        "Choose a sense of WordNet for this word</a></p>"
        f'<details id="write-examples" open><summary>An example</summary>{examples}</details></section>'
    )


_BACK = f"""
<div id="write-back" class="note" hidden><p></p>
<p class="small">It stays yours for {SENT_BACK_TIME.days} days after your last change;
then it may be given to others.</p></div>
"""
_ITEMS = """
<div class="rate-items">
<section class="rate-item"><h2 id="write-larger"></h2>
<div id="write-left" class="rate-text" dir="auto" lang="" tabindex="0" role="group"
 aria-labelledby="write-larger"></div></section>
<section class="rate-item"><h2 id="write-smaller"></h2>
<div id="write-field"></div>
<p id="write-size"><span></span> <span></span></p>
<div id="write-check" role="status"></div></section>
</div>
"""

_ACTIONS = """
<div class="write-actions">
<button type="button" class="keep" data-write="blank">I do not understand it</button>
<p id="write-balance"></p>
<button type="button" id="write-submit" class="rate-primary" data-write="submit"
 aria-keyshortcuts="Control+Enter"><span>Submit and next</span>
 <kbd aria-hidden="true">Ctrl+Enter</kbd></button>
</div>
"""

_RECENT = """
<details id="write-recent"><summary>What I wrote</summary><ol></ol></details>
"""


def _guidelines_html(project: Project) -> str:
    settings = project.settings
    written = markdown_html(settings.guidelines) if settings.guidelines.strip() else ""
    scale = scale_html(settings.scale_words, settings.types)
    return (
        '<details id="write-guidelines"><summary>Guidelines and the whole scale</summary>'
        f'<div class="rate-guidelines">{written}{scale}</div></details>'
    )
