"""What annotation adds to the web application: its routes, and who may come in."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse

from annotation.pair_names import PairNames
from annotation.services.bundle import DamagedError, Services, UnreachableError
from annotation.web.account import USER_PATH as USER_PATH
from annotation.web.accounts import add_account_pages
from annotation.web.adjudication import build_adjudication_routes
from annotation.web.admission import Admission
from annotation.web.consents import build_consent_routes
from annotation.web.downloads import build_downloads
from annotation.web.failed import failed_answer
from annotation.web.guard import Guard
from annotation.web.judgement_downloads import build_judgement_downloads
from annotation.web.leaderboard import build_board_downloads
from annotation.web.missing import MissingPageMiddleware
from annotation.web.rating import build_rating_routes
from annotation.web.sending import SendPages
from annotation.web.writing import build_writing_routes

ANNOTATION_PATHS = ("/annotate", "/account", "/invitation", "/set-up", "/sign-in", "/sign-out")
"""No other site may show these in a frame."""


def add_annotation_routes(server: FastAPI, services: Services) -> Guard:
    """Signing in, grading and downloads; to be called before any pages are mounted.

    Returns:
        Who knows who is signed in.
    """
    guard = add_account_pages(server, services.sign_ins, services.invitations)
    server.user_middleware.append(Middleware(MissingPageMiddleware))  # within the guard and what adds headers
    server.include_router(
        build_rating_routes(
            services.assignment,
            services.ratings,
            services.training,
            services.consents,
            PairNames(services.keys.pairs),
            guard.user_of,
        )
    )
    server.include_router(build_writing_routes(services.writing, services.consents, guard.user_of))
    server.include_router(build_consent_routes(services.consents, guard.user_of))
    server.include_router(build_adjudication_routes(services.accounts, services.adjudication, guard.user_of))
    admission = Admission(services.accounts, services.projects, guard.user_of)
    server.include_router(build_downloads(admission, services.gold))
    server.include_router(build_board_downloads(admission, services.systems))
    server.include_router(build_judgement_downloads(admission, services.judgements))
    server.include_router(
        SendPages(
            services.accounts, services.sign_ins, services.overview, services.sending, services.handovers
        ).router()
    )
    server.add_route("/annotate/{page}/", _without_slash, include_in_schema=False)
    for failure in (UnreachableError, DamagedError):
        server.add_exception_handler(failure, _fail)
    return guard


def _fail(request: Request, error: Exception) -> Response:
    assert isinstance(error, UnreachableError | DamagedError)
    return failed_answer(error, request)


def _without_slash(request: Request) -> Response:
    """Gradio would lead /annotate/rate/ to /rate, which is another page's address."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{request.url.path.rstrip('/')}{query}", status_code=308)
