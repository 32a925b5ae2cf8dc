"""The head of every page of annotation: where one is, where one may go, and who is signed in."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from annotation.errors import NotFoundError
from annotation.predictions.pool import TYPE as TYPE_OF_KEYPHRASES
from annotation.senses.network import WORD_TO_SENSE
from annotation.services.overview import OverviewService, Place
from annotation.types import Role
from annotation.ui.asking import project_in
from annotation.ui.filling import Filling
from kpdemo.ui.widgets import THEME_BUTTON, PageLink, escape, links_html

HOME = "/annotate/"
OF_TYPES = {"senses": WORD_TO_SENSE, "predictions": TYPE_OF_KEYPHRASES}
"""Paths of pages that only projects with a comparison type need; predictions that are sent bring theirs."""
LEADERS = frozenset({Role.ADMINISTRATOR, Role.ADJUDICATOR})

PROJECT_PAGES: tuple[tuple[str, str, frozenset[Role]], ...] = (
    ("write", "Write", frozenset({Role.WRITER})),
    ("review", "Review", frozenset({Role.EDITOR, Role.ADMINISTRATOR})),
    ("rate", "Rate", frozenset({Role.RATER})),
    ("agreement", "Agreement", LEADERS),
    ("adjudicate", "Adjudicate", LEADERS),
    ("leaderboard", "Leaderboard", LEADERS),
    ("predictions", "Predictions", frozenset({Role.ADMINISTRATOR})),
    ("senses", "Word senses", frozenset({Role.ADMINISTRATOR, Role.WRITER})),
    ("project", "Project", frozenset({Role.ADMINISTRATOR})),
)
"""Path, name, and whose roles lead there."""

TITLES = {"": "My projects", "users": "Accounts"}
"""Of the pages that belong to no project."""


@dataclass(frozen=True)
class HeaderHandlers:
    overview: OverviewService
    page: str
    """The path under /annotate/ of the page that has this header."""

    def show(self, request: gr.Request) -> str:
        """The header as this user may see it."""
        project_id = None if self.page in TITLES else project_in(request)
        try:
            place = self.overview.place(request.username or "", project_id)
        except NotFoundError:
            return empty_header_html()
        return header_html(place, self.page, project_id)


def build_header(handlers: HeaderHandlers, pages: gr.Blocks) -> Filling:
    """The header of the page that is being built."""
    header = gr.HTML(empty_header_html(), elem_id="page-header", apply_default_css=False, js_on_load=None)
    name = handlers.page or "projects"
    filling = Filling(handlers.show, header, f"show_header_of_{name}")
    filling.when(pages.load)
    return filling


def empty_header_html() -> str:
    """The header before it is known who is signed in: of the same height, so that nothing jumps."""
    place = '<div class="site-place"><p class="h1">&nbsp;</p></div>'
    return f'<header class="site">{_site_html("")}{place}</header>'


def header_html(place: Place, page: str, project_id: int | None) -> str:
    is_known = place.project is not None and project_id is not None
    title = place.project if place.project is not None else TITLES.get(page, "No project")
    links = _links(place, project_id, page) if is_known and project_id else []
    leads_somewhere = any(not link.current for link in links)
    tabs = f'<nav class="site-tabs" aria-label="Project">{links_html(links)}</nav>' if leads_somewhere else ""
    name = next((label for path, label, _ in PROJECT_PAGES if path == page), "")
    whole = f"{title} · {name}" if is_known and name else title
    return (
        f'<header class="site" data-title="{escape(whole)}" data-user="{place.user.id}">'
        f"{_site_html(_user_html(place, page))}"
        f'<div class="site-place"><h1><bdi>{escape(title)}</bdi></h1>{tabs}</div></header>'
    )


def _links(place: Place, project_id: int, page: str) -> list[PageLink]:
    """The pages of the project that its user may open; of those for a comparison type what it needs."""
    return [
        PageLink(label, f"{HOME}{path}?project={project_id}", current=path == page)
        for path, label, allowed in PROJECT_PAGES
        if allowed & place.roles and (path == page or OF_TYPES.get(path) in (None, *place.types))
    ]


def _site_html(user: str) -> str:
    site = links_html([PageLink("Keyphrases", "/"), PageLink("Annotate", HOME)])
    return (
        f'<div class="site-bar"><nav class="site-name" aria-label="Site">{site}</nav>'
        f'<div class="site-user">{user}</div>{THEME_BUTTON}</div>'
    )


def _user_html(place: Place, page: str) -> str:
    links = [PageLink("My projects", HOME, current=page == "")]
    if place.user.is_administrator:
        links.append(PageLink("Accounts", f"{HOME}users", current=page == "users"))
    return (
        f'<nav class="site-links" aria-label="Annotate">{links_html(links)}</nav>'
        f'<a id="page-user" href="/account" title="My account"><bdi>{escape(place.user.name)}</bdi></a>'
        '<form method="post" action="/sign-out"><button type="submit" class="keep">Sign out</button></form>'
    )
