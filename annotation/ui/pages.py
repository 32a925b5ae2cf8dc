"""The pages of annotation, each at its path, under a header that leads from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import gradio as gr
from anyio import to_thread

from annotation.errors import NotFoundError
from annotation.predictions import TYPE as TYPE_OF_KEYPHRASES
from annotation.senses import WORD_TO_SENSE
from annotation.services.bundle import Services
from annotation.services.projects import OverviewService, PageContext
from annotation.translation import _, mark
from annotation.types import Role
from annotation.ui.accounts import ExclusionHandlers, MembersHandlers, UsersHandlers, build_users_page
from annotation.ui.adjudicate import AdjudicateHandlers, build_adjudicate_page
from annotation.ui.agreement import AgreementHandlers, build_agreement_page
from annotation.ui.crowds import CrowdHandlers
from annotation.ui.leaderboard import (
    LeaderboardHandlers,
    SystemFormHandlers,
    build_leaderboard_page,
    build_system_form,
)
from annotation.ui.pairs import (
    KEPT_MINUTES,
    LARGEST_FILE,
    ImportHandlers,
    PairChangeHandlers,
    PairListHandlers,
    RemarksHandlers,
)
from annotation.ui.predictions import PredictionsHandlers, build_predictions_page
from annotation.ui.projects import (
    ExportHandlers,
    HomeHandlers,
    ProjectHandlers,
    build_home_page,
    build_project_page,
)
from annotation.ui.quality import QualityHandlers
from annotation.ui.rate import RateHandlers, build_rate_page
from annotation.ui.senses import SensesHandlers, build_senses_page
from annotation.ui.widgets import Filling, project_in
from annotation.ui.writing import (
    ItemsHandlers,
    ReportHandlers,
    ReviewHandlers,
    WriteHandlers,
    build_review_page,
    build_write_page,
)
from annotation.web.guard import SPEAKING
from kpdemo.translation import ENGLISH, language_of, use_language
from kpdemo.ui.html import escape
from kpdemo.ui.page import Pages
from kpdemo.ui.page import say_to_scripts as say_to_all_scripts
from kpdemo.ui.widgets import PageLink, language_menu, links_html, theme_button

HOME = "/annotate/"
OF_TYPES = {"senses": WORD_TO_SENSE, "predictions": TYPE_OF_KEYPHRASES}
"""Paths of pages that only projects with a comparison type need; predictions that are sent bring theirs."""
GOLD = "project&tab=gold"
"""The tab of a page that has a place of its own in the menu."""
HELP = {
    "": "annotation",
    "users": "annotation",
    "project": "annotation_lead",
    "agreement": "annotation_agreement",
    "adjudicate": "annotation_gold",
    GOLD: "annotation_gold",
    "rate": "annotation_rater",
    "write": "annotation_texts",
    "review": "annotation_texts",
    "leaderboard": "scoring",
    "predictions": "annotation_texts",
    "senses": "annotation_texts",
}
"""By the path of a page, the page of the documentation that is about it."""
NO_PROJECT = mark("No project")
LEADERS = frozenset({Role.ADMINISTRATOR, Role.ADJUDICATOR})

PROJECT_PAGES: tuple[tuple[str, str, frozenset[Role]], ...] = (
    ("project", mark("Project"), frozenset({Role.ADMINISTRATOR})),
    ("agreement", mark("Agreement"), LEADERS),
    ("adjudicate", mark("Adjudicate"), LEADERS),
    (GOLD, mark("Gold"), frozenset({Role.ADMINISTRATOR})),
    ("rate", mark("Rate"), frozenset({Role.RATER})),
    ("write", mark("Write"), frozenset({Role.WRITER})),
    ("review", mark("Review"), frozenset({Role.EDITOR, Role.ADMINISTRATOR})),
    ("leaderboard", mark("Leaderboard"), LEADERS),
    ("predictions", mark("Predictions"), frozenset({Role.ADMINISTRATOR})),
    ("senses", mark("Word senses"), frozenset({Role.ADMINISTRATOR, Role.WRITER})),
)
"""Path, name, and whose roles lead there."""

TITLES = {"": mark("My projects"), "users": mark("Accounts")}
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
        is_gold = self.page == "project" and request.query_params.get("tab") == "gold"
        language = language_of(request.cookies, request.headers, place.language)
        with use_language(language if HOME + self.page in SPEAKING else ENGLISH):
            return header_html(place, GOLD if is_gold else self.page, project_id)


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
    return f'<header class="site">{_menu_button()}{_site_html("")}{place}</header>'


def _menu_button() -> str:
    """On a phone, where the bar above the title is folded."""
    return (
        '<button type="button" id="page-menu" class="keep" aria-expanded="false" aria-controls="page-bar">'
        f"{_('Menu')}</button>"
    )


def header_html(place: PageContext, page: str, project_id: int | None) -> str:
    is_known = place.project is not None and project_id is not None
    title = place.project if place.project is not None else _(TITLES.get(page, NO_PROJECT))
    links, more = _links(place, project_id, page) if is_known and project_id else ([], [])
    leads_somewhere = any(not link.current for link in links)
    folded = (
        f'<details class="menu"><summary>{_("More")}</summary><div>{links_html(more)}</div></details>'
        if more
        else ""
    )
    tabs = (
        f'<nav class="site-tabs" aria-label="{_("Project")}">{links_html(links)}{folded}</nav>'
        if leads_somewhere
        else ""
    )
    name = next((_(label) for path, label, _roles in PROJECT_PAGES if path == page), "")
    whole = f"{title} · {name}" if is_known and name else title
    path = page.partition("&")[0]
    menu = language_menu() if HOME + path in SPEAKING and path != "rate" else ""  # that has its own
    return (
        f'<header class="site" data-title="{escape(whole)}" data-user="{place.user.id}" data-page="{path}">'
        f"{_menu_button()}{_site_html(_user_html(place, page), menu)}"
        f'<div class="site-place"><h1><bdi>{escape(title)}</bdi></h1>{tabs}</div></header>'
    )


def _links(place: PageContext, project_id: int, page: str) -> tuple[list[PageLink], list[PageLink]]:
    """The pages of the project that its user may open, and those of them that it has not used yet.

    Of pages for a comparison type there is none in a project without it.
    """
    is_unused = {
        "review": not place.has_items and Role.EDITOR not in place.roles,
        "leaderboard": not place.has_systems,
        **{path: type not in place.used_types for path, type in OF_TYPES.items()},
    }
    links: tuple[list[PageLink], list[PageLink]] = [], []
    for path, label, allowed in PROJECT_PAGES:
        if allowed & place.roles and (path == page or OF_TYPES.get(path) in (None, *place.types)):
            address, _sign, tab = path.partition("&")
            whole = f"{HOME}{address}?project={project_id}{tab and f'&{tab}'}"
            is_folded = path != page and is_unused.get(path, False)
            links[is_folded].append(PageLink(_(label), whole, current=path == page))
    return links


def _site_html(user: str, menu: str = "") -> str:
    site = links_html([PageLink(_("Keyphrases"), "/"), PageLink(_("Annotate"), HOME)])
    return (
        f'<div class="site-bar" id="page-bar"><nav class="site-name" aria-label="{_("Site")}">{site}</nav>'
        f'<div class="site-user">{user}</div>{menu}{theme_button()}</div>'
    )


def _user_html(place: PageContext, page: str) -> str:
    links = [PageLink(_("My projects"), HOME, current=page == "")]
    if place.user.is_administrator:
        links.append(PageLink(_("Accounts"), f"{HOME}users", current=page == "users"))
    return (
        f'<nav class="site-links" aria-label="{_("Annotate")}">{links_html(links)}</nav>'
        f'<a id="page-user" href="/account" title="{_("My account")}">'
        f"<bdi>{escape(place.user.name)}</bdi></a>"
        f'<a id="page-help" href="/docs/{HELP[page]}.html" target="_blank">{_("Help")}</a>'
        '<form method="post" action="/sign-out"><button type="submit" class="keep">'
        f"{_('Sign out')}</button></form>"
    )


ASSETS = Path(__file__).parent.parent / "assets"
STYLES = tuple(
    ASSETS / f"{name}.css" for name in ("annotation", "rate", "write", "senses", "adjudicate", "figures")
)
"""In this order: a later one may overrule an earlier one."""
SCRIPTS = ASSETS / "scripts"
"""The ES modules of the pages of annotation, which import some of the public page."""
MAX_FILE_SIZE = LARGEST_FILE
MINUTE = 60


SAID_BY_SCRIPTS = (
    mark("Sign in in a new tab"),
    mark(
        "Your session ended, and nothing was done. {sign_in}, then come back and press again, or choose the "
        "file again: what you typed is still here."
    ),
    mark("Your session ended. {sign_in}, then come back: what you typed is still here."),
    mark(
        "Somebody else is signed in now, and nothing was done: copy what you typed, then open the page again."
    ),
    *(mark("today"), mark("Annotate")),
    *(mark("No grade chosen yet"), mark("Choose a grade first."), mark("Choose a cause first.")),
    *(mark("between {low} and {high}"), mark("Now {open} open, {decided} decided.")),
    *(mark("Writing the archive …"), mark("The server answered {status}: try again.")),
    mark("The server did not answer: check the connection and try again."),
    mark(
        "The server did not answer, so this may not have been saved: check the connection and try again. "
        "What you chose and wrote is kept."
    ),
    mark(
        "The server did not answer: check the connection and try again. What you chose and wrote is still "
        "here."
    ),
)
"""By page.js and those of single pages; the rating form brings its own."""


def say_to_scripts() -> dict[str, str]:
    """What the scripts say in the language of the request, by the English text."""
    return {**say_to_all_scripts(), **{text: _(text) for text in SAID_BY_SCRIPTS}}


def new_pages(services: Services) -> Pages:
    kept = MINUTE, KEPT_MINUTES * MINUTE

    async def answers_in(request: gr.Request, page: str) -> str:
        if HOME + page not in SPEAKING:
            return ENGLISH
        asked = request.username or "", project_in(request)
        otherwise = await to_thread.run_sync(services.sign_ins.language_for, *asked)
        return language_of(request.cookies, request.headers, otherwise)

    return Pages(
        title=_("Annotate"),
        answers_in=answers_in,
        say=say_to_scripts,
        analytics_enabled=False,
        delete_cache=kept,
    )


def build_translated_pages(services: Services) -> Pages:
    """The pages that are in the reader's language alone, for their words."""
    return build_annotation_pages(services, lambda path: HOME + path in SPEAKING)


def build_annotation_pages(services: Services, wants: Callable[[str], bool] = lambda path: True) -> Pages:
    """All pages of annotation as one application, or those of them whose paths are wanted."""
    accounts, projects = services.accounts, services.projects
    dictionary = services.dictionary
    pages = new_pages(services)

    @contextmanager
    def page(path: str, name: str) -> Iterator[Filling]:
        with pages.route(name, f"/{path}", show_in_navbar=False):
            yield build_header(HeaderHandlers(services.overview, path), pages)

    with pages:
        build_header(HeaderHandlers(services.overview, ""), pages)
        home = HomeHandlers(accounts, services.overview, projects, services.ratings)
        build_home_page(home, pages)
    if wants("rate"):
        with page("rate", "Rate"):
            build_rate_page(RateHandlers(accounts, projects), pages)
    if wants("write"):
        with page("write", "Write"):
            build_write_page(WriteHandlers(accounts, projects), pages)
    if wants("review"):
        with page("review", "Review"):
            build_review_page(
                ReviewHandlers(accounts, services.editing),
                ReportHandlers(accounts, services.writing_reports, services.editing),
                ItemsHandlers(accounts, projects, services.items),
                pages,
            )
    if wants("agreement"):
        with page("agreement", "Agreement"):
            build_agreement_page(AgreementHandlers(accounts, services.agreement), pages)
    if wants("adjudicate"):
        with page("adjudicate", "Adjudicate"):
            adjudication = AdjudicateHandlers(accounts, projects, services.adjudication, services.gold)
            build_adjudicate_page(adjudication, pages)
    if wants("leaderboard"):
        with page("leaderboard", "Leaderboard"):
            board = LeaderboardHandlers(accounts, projects, services.systems)
            shown = build_leaderboard_page(board, pages)
            build_system_form(SystemFormHandlers(accounts, services.systems, dictionary), board, shown, pages)
    if wants("predictions"):
        with page("predictions", "Predictions"):
            predictions = PredictionsHandlers(accounts, projects, services.judgements, services.sending)
            build_predictions_page(predictions, pages)
    if wants("senses"):
        with page("senses", "Senses"):
            senses = SensesHandlers(accounts, projects, services.senses, dictionary, services.writing)
            build_senses_page(senses, pages)
    if wants("users"):
        with page("users", "Accounts"):
            build_users_page(UsersHandlers(accounts, services.invitations, projects, services.events), pages)
    if wants("project"):
        with page("project", "Project") as header:
            build_project_page(
                ProjectHandlers(accounts, projects, services.events, services.pairs, services.consents),
                ImportHandlers(accounts, projects, services.importing, dictionary),
                MembersHandlers(
                    accounts, services.invitations, projects, services.quality, services.consents
                ),
                QualityHandlers(
                    accounts, projects, services.quality, services.known_pairs, dictionary, services.work
                ),
                ExportHandlers(accounts, services.gold),
                RemarksHandlers(accounts, projects, services.remarks),
                PairListHandlers(
                    accounts, services.pairs, PairChangeHandlers(accounts, projects, services.pairs)
                ),
                ExclusionHandlers(accounts, projects, services.exclusion),
                CrowdHandlers(accounts, services.invitations, projects, services.crowds),
                header,
                pages,
            )
    return pages
