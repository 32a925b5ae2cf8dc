"""The leaderboard of a project: systems on a gold set, how good they are, which is better than which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.events import Dependency

from annotation.errors import AccessError, AnnotationError, SignedOutError
from annotation.latex import LatexTable
from annotation.services.access.accounts import AccountService
from annotation.services.board_files import board_as_latex
from annotation.services.projects import ProjectService
from annotation.services.system_rows import Gold
from annotation.services.systems import Board, SystemService
from annotation.ui.asking import asked_by_leader
from annotation.ui.choice import on_choice
from annotation.ui.leaderboard_tables import (
    board_chart,
    difference_of,
    difference_table,
    genres_table,
    gold_html,
    gold_label,
    method_html,
    pearson_table,
    ranks_table,
    spearman_table,
    wide_intervals_html,
)
from annotation.ui.tables import file_name, latex_button, table_html
from annotation.web.leaderboard import board_address
from kpdemo.ui.charts import chart_buttons, show_chart
from kpdemo.ui.widgets import (
    QUIETLY,
    empty_html,
    escape,
    keep_reason,
    section_heading,
    shown_to_user,
    unseen_box,
)

NOBODY = "No system has been measured yet. A system's scores are compared with the gold grades of the pairs."
FOR_ADMINISTRATORS = "An administrator of the project can add one."
FOR_LEADERS = "The leaderboard is for administrators and adjudicators of the project: ask your administrator."
CHART = "Pearson correlation of each system by genre, stacked, the best system first"
PAGE = "leaderboard"
NO_GENRES = "The pairs have no genres. Import pairs with a field genre to compare systems by genre."
TEXTS = ("status", "pearson", "spearman", "ranks", "genres", "save", "chart-save", "method")
"""The parts of the page that are HTML, as `leaderboard-NAME-part`."""
_PLACES = 6 + len(TEXTS)
"""Outputs of `show`: two columns, the gold set, the chart, two systems, and the texts."""


ZONE = "() => Intl.DateTimeFormat().resolvedOptions().timeZone"
IN_ZONE = "(gold) => [gold, Intl.DateTimeFormat().resolvedOptions().timeZone]"
"""The choices of a list are no HTML, where the page's script writes times as the reader's clock does."""


@dataclass(frozen=True)
class LeaderboardHandlers:
    accounts: AccountService
    projects: ProjectService
    systems: SystemService
    latex: LatexTable

    def open(self, request: gr.Request, zone: str | None = "") -> tuple[Any, ...]:
        """The first gold set, or a sentence for users who may not see the page."""
        try:
            return ("", *self._shown(request, None, zone))
        except AccessError as error:
            reason = str(error) if isinstance(error, SignedOutError) else FOR_LEADERS
        except AnnotationError as error:
            reason = str(error)
        return (empty_html(reason), *(gr.skip() for _ in range(_PLACES)))

    def show(self, gold_id: int | None, request: gr.Request, zone: str | None = "") -> tuple[Any, ...]:
        """The systems on a gold set, or on the first. The list of gold sets has times of the `zone`."""
        with shown_to_user(AnnotationError):
            return self._shown(request, gold_id, zone)

    def compare(self, gold_id: int | None, first: str | None, second: str | None, request: gr.Request) -> Any:
        """How the two systems differ; nothing new while only one is chosen."""
        with shown_to_user(AnnotationError):
            project_id, *_ = asked_by_leader(request, self.accounts)
            if gold_id is None or not first or not second:
                return gr.skip()
            if first == second:
                return empty_html("These are the same system: choose another one to compare it with.")
            found = difference_of(self.systems.board(project_id, gold_id), first, second)
            if found is None:
                return empty_html("One of the two has been removed: choose again.")
            return table_html(difference_table(found), self.projects.get(project_id).name, page=PAGE)

    def _shown(self, request: gr.Request, gold_id: int | None, zone: str | None) -> tuple[Any, ...]:
        project_id, _, leads = asked_by_leader(request, self.accounts)
        golds = self.systems.golds(project_id)
        if not golds:
            said = NOBODY if leads else f"{NOBODY} {FOR_ADMINISTRATORS}"
            texts = [empty_html(said), *("" for _ in TEXTS[1:])]
            nobody = gr.Dropdown(choices=[], value=None)
            hidden = gr.Dropdown(choices=[], value=None, visible=False)
            return (
                gr.Column(visible=True),
                gr.Column(visible=False),
                hidden,
                show_chart(None),
                *((nobody, nobody, *texts)),
            )
        chosen = next((gold.id for gold in golds if gold.id == gold_id), golds[0].id)
        board = self.systems.board(project_id, chosen)
        names = [board.report.systems[place].name for place in board.report.best_first()]
        choices = [(gold_label(gold, zone), gold.id) for gold in golds]
        chart = board_chart(board)
        return (
            gr.Column(visible=True),
            gr.Column(visible=True),
            gr.Dropdown(choices=choices, value=chosen, visible=True),
            show_chart(chart),
            gr.Dropdown(choices=names, value=names[0]),
            gr.Dropdown(choices=names, value=names[min(1, len(names) - 1)]),
            *self._texts(project_id, board, has_chart=chart is not None),
        )

    def _texts(self, project_id: int, board: Board, *, has_chart: bool) -> list[str]:
        """What stands in the page's HTML, in the order of `TEXTS`."""
        project = self.projects.get(project_id).name
        own = self.systems.own_gold(project_id)
        genres, ranks = genres_table(board), ranks_table(board)
        return [
            gold_html(board.gold, own.sha256, len(own.pairs)) + wide_intervals_html(board.report),
            table_html(pearson_table(board), project, page=PAGE),
            table_html(spearman_table(board), project, page=PAGE),
            table_html(ranks, project, page=PAGE) if ranks else "",
            table_html(genres, project, page=PAGE) if genres else empty_html(NO_GENRES),
            save_html(project_id, board.gold.id, self._latex_button(project, board, own)),
            chart_buttons("leaderboard-chart", CHART, file_name(project, "leaderboard-genres"))
            if has_chart
            else "",
            method_html(board),
        ]

    def _latex_button(self, project: str, board: Board, own: Gold) -> str:
        made_by = f"The page Leaderboard of kpdemo, project {project}"
        table = board_as_latex(board, own, self.latex, made_by=made_by)
        return latex_button(table, "the ranking", file_name(project, PAGE))


@dataclass(frozen=True)
class LeaderboardPage:
    """The parts of the page that the form for administrators fills again."""

    gold: gr.Dropdown
    zone: gr.Textbox
    """Where the reader's clock is, filled by `IN_ZONE`."""
    shown: list[Any]
    """The outputs of `LeaderboardHandlers.show`."""
    choosing: Dependency
    """The event of showing them for a gold set that is chosen."""


def build_leaderboard_page(handlers: LeaderboardHandlers, page: gr.Blocks) -> LeaderboardPage:
    closed = gr.HTML(empty_html("Opening the leaderboard."), elem_id="leaderboard-closed")
    parts: dict[str, gr.HTML] = {}

    def text(name: str) -> None:
        parts[name] = gr.HTML("", elem_id=f"leaderboard-{name}-part", js_on_load=None)

    with gr.Column(visible=False, elem_id="leaderboard-page") as body:
        gold = gr.Dropdown([], label="Gold set", visible=False, elem_id="leaderboard-gold")
        zone = unseen_box("leaderboard-zone")
        text("status")
        with gr.Column(visible=False) as board:
            section_heading("Which system is best?", "leaderboard-best")
            text("pearson")
            text("spearman")
            text("ranks")
            text("save")
            section_heading("On which genres?", "leaderboard-where")
            chart = gr.Plot(visible=False, show_label=False, container=False, elem_id="leaderboard-chart")
            text("chart-save")
            text("genres")
            section_heading("Is one better than the other?", "leaderboard-compare")
            with gr.Row(elem_classes="form-row"):
                first = gr.Dropdown([], label="First system", elem_id="leaderboard-first", min_width=200)
                second = gr.Dropdown([], label="Second system", elem_id="leaderboard-second", min_width=200)
            difference = gr.HTML("", elem_id="leaderboard-difference-part", js_on_load=None)
            text("method")
    shown = [body, board, gold, chart, first, second, *(parts[name] for name in TEXTS)]
    opened = page.load(handlers.open, zone, [closed, *shown], api_name="open_leaderboard", js=ZONE, **QUIETLY)
    keep_reason(opened, closed)
    choosing = on_choice(
        gold,
        handlers.show,
        shown,
        beside=[zone],
        js=IN_ZONE,
        api_name="show_leaderboard",
        concurrency_id="leaderboard",
        concurrency_limit=2,
        show_progress="minimal",
    )
    gr.on(  # one event: what the two lists ask for comes in their order
        [first.change, second.change],
        handlers.compare,
        [gold, first, second],
        difference,
        api_name="compare_systems",
        trigger_mode="always_last",
        **QUIETLY,
    )
    return LeaderboardPage(gold, zone, shown, choosing)


def save_html(project_id: int, gold_id: int, beside: str) -> str:
    """Links that download everything, and what stands beside them."""
    links = "".join(
        f'<a class="keep" id="leaderboard-{ending}" download '
        f'href="{escape(board_address(project_id, gold_id, ending))}">All figures as {ending.upper()}</a>'
        for ending in ("csv", "json")
    )
    return f'<p class="actions">{links}{beside}</p>'
