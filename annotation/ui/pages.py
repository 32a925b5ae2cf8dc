"""The pages of annotation, each at its path, with the header that leads from one to the other."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import gradio as gr

from annotation.latex import LatexTable
from annotation.services.bundle import Services
from annotation.ui.adjudicate import AdjudicateHandlers, build_adjudicate_page
from annotation.ui.agreement import AgreementHandlers, build_agreement_page
from annotation.ui.export import ExportHandlers
from annotation.ui.filling import Filling
from annotation.ui.header import HeaderHandlers, build_header
from annotation.ui.home import HomeHandlers, build_home_page
from annotation.ui.importing import KEPT_MINUTES, LARGEST_FILE, ImportHandlers
from annotation.ui.items import ItemsHandlers
from annotation.ui.leaderboard import LeaderboardHandlers, build_leaderboard_page
from annotation.ui.leaderboard_form import SystemFormHandlers, build_system_form
from annotation.ui.members import MembersHandlers
from annotation.ui.pair_changes import PairChangeHandlers
from annotation.ui.pair_list import PairListHandlers
from annotation.ui.predictions import PredictionsHandlers, build_predictions_page
from annotation.ui.project import ProjectHandlers, build_project_page
from annotation.ui.quality import QualityHandlers
from annotation.ui.rate import RateHandlers, build_rate_page
from annotation.ui.remarks import RemarksHandlers
from annotation.ui.review import ReviewHandlers, build_review_page
from annotation.ui.senses import SensesHandlers, build_senses_page
from annotation.ui.set_aside import SetAsideHandlers
from annotation.ui.users import UsersHandlers, build_users_page
from annotation.ui.write import WriteHandlers, build_write_page
from annotation.ui.writing_report import ReportHandlers

ASSETS = Path(__file__).parent.parent / "assets"
STYLES = tuple(
    ASSETS / f"{name}.css" for name in ("annotation", "rate", "write", "senses", "adjudicate", "figures")
)
"""In this order: a later one may overrule an earlier one."""
SCRIPTS = tuple(
    ASSETS / f"{name}.js"
    for name in (
        *("annotation", "parts", "choice", "kept_form", "consent"),
        *("rate_store", "rate_form", "rate_training", "rate_consent", "rate_sender"),
        *("rate_keys", "rate_tabs", "rate_session", "rate_view", "rate"),
        *("write_copies", "write_view", "write_consent", "write"),
        *("adjudicate", "senses", "export"),
    )
)
"""In this order: each takes what those before it have put into `window`."""
MAX_FILE_SIZE = LARGEST_FILE
MINUTE = 60


def build_annotation_pages(services: Services, latex: LatexTable) -> gr.Blocks:
    """All pages of annotation as one application; `latex` writes their tables for papers."""
    pages: gr.Blocks = gr.Blocks(
        title="Annotate", analytics_enabled=False, delete_cache=(MINUTE, KEPT_MINUTES * MINUTE)
    )
    with pages:
        build_header(HeaderHandlers(services.overview, ""), pages)
        _build_home(services, pages)
    for path, name, build in (
        ("write", "Write", _build_write),
        ("review", "Review", _build_review),
        ("rate", "Rate", _build_rate),
        ("agreement", "Agreement", partial(_build_agreement, latex=latex)),
        ("adjudicate", "Adjudicate", _build_adjudicate),
        ("leaderboard", "Leaderboard", partial(_build_leaderboard, latex=latex)),
        ("predictions", "Predictions", _build_predictions),
        ("senses", "Senses", _build_senses),
        ("users", "Accounts", _build_users),
    ):
        with pages.route(name, f"/{path}", show_in_navbar=False):
            build_header(HeaderHandlers(services.overview, path), pages)
            build(services, pages)
    with pages.route("Project", "/project", show_in_navbar=False):
        header = build_header(HeaderHandlers(services.overview, "project"), pages)
        _build_project(services, header, pages)
    return pages


def _build_home(services: Services, page: gr.Blocks) -> None:
    handlers = HomeHandlers(services.accounts, services.overview, services.projects, services.ratings)
    build_home_page(handlers, page)


def _build_rate(services: Services, page: gr.Blocks) -> None:
    build_rate_page(RateHandlers(services.accounts, services.projects), page)


def _build_write(services: Services, page: gr.Blocks) -> None:
    build_write_page(WriteHandlers(services.accounts, services.projects), page)


def _build_review(services: Services, page: gr.Blocks) -> None:
    build_review_page(
        ReviewHandlers(services.accounts, services.editing),
        ReportHandlers(services.accounts, services.writing_reports, services.editing),
        ItemsHandlers(services.accounts, services.projects, services.items, services.item_withdrawal),
        page,
    )


def _build_agreement(services: Services, page: gr.Blocks, *, latex: LatexTable) -> None:
    build_agreement_page(AgreementHandlers(services.accounts, services.agreement, latex), page)


def _build_adjudicate(services: Services, page: gr.Blocks) -> None:
    handlers = AdjudicateHandlers(services.accounts, services.projects, services.adjudication, services.gold)
    build_adjudicate_page(handlers, page)


def _build_leaderboard(services: Services, page: gr.Blocks, *, latex: LatexTable) -> None:
    handlers = LeaderboardHandlers(services.accounts, services.projects, services.systems, latex)
    shown = build_leaderboard_page(handlers, page)
    form = SystemFormHandlers(services.accounts, services.systems, services.dictionary)
    build_system_form(form, handlers, shown, page)


def _build_predictions(services: Services, page: gr.Blocks) -> None:
    handlers = PredictionsHandlers(
        services.accounts, services.projects, services.judgements, services.sending
    )
    build_predictions_page(handlers, page)


def _build_senses(services: Services, page: gr.Blocks) -> None:
    build_senses_page(
        SensesHandlers(
            services.accounts, services.projects, services.senses, services.dictionary, services.writing
        ),
        page,
    )


def _build_project(services: Services, header: Filling, page: gr.Blocks) -> None:
    build_project_page(
        ProjectHandlers(
            services.accounts, services.projects, services.events, services.stuck, services.consents
        ),
        ImportHandlers(services.accounts, services.projects, services.importing, services.dictionary),
        MembersHandlers(
            services.accounts,
            services.invitations,
            services.projects,
            services.quality,
            services.consents,
        ),
        QualityHandlers(
            services.accounts,
            services.projects,
            services.quality,
            services.known_pairs,
            services.dictionary,
            services.work,
        ),
        ExportHandlers(services.accounts, services.gold),
        RemarksHandlers(services.accounts, services.projects, services.remarks),
        PairListHandlers(
            services.accounts,
            services.pair_list,
            PairChangeHandlers(
                services.accounts, services.projects, services.pair_withdrawal, services.pair_removal
            ),
        ),
        SetAsideHandlers(services.accounts, services.projects, services.set_aside),
        header,
        page,
    )


def _build_users(services: Services, page: gr.Blocks) -> None:
    users = UsersHandlers(services.accounts, services.invitations, services.projects, services.events)
    build_users_page(users, page)
