"""What annotation adds to the web application: its routes, who may come in, and what is said at the start."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request, Response
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse

from annotation.errors import NotFoundError
from annotation.services.bundle import SPACE_DISK, DamagedError, Services, UnreachableError
from annotation.translation import _
from annotation.web.api import API
from annotation.web.downloads import (
    Admission,
    build_board_downloads,
    build_downloads,
    build_judgement_downloads,
    build_worker_downloads,
)
from annotation.web.guard import NOTHING, Guard, MissingPageMiddleware
from annotation.web.programs import add_program_routes
from annotation.web.responder import failed_answer
from annotation.web.routes import (
    PairNames,
    build_adjudication_routes,
    build_consent_routes,
    build_rating_routes,
    build_writing_routes,
)
from annotation.web.sending import SendPages
from annotation.web.sign_in import USER_PATH as USER_PATH
from annotation.web.sign_in import add_account_pages, add_shared_link_pages
from kpdemo.translation import ENGLISH, set_language


def start_notes(services: Services, address: str, *, in_space: bool) -> list[str]:
    """What the person who starts the server should know, one sentence each."""
    notes = []
    database = services.database
    if in_space and database.is_sqlite and not Path(database.url.database or "").is_relative_to(SPACE_DISK):
        notes.append(
            "Accounts and ratings are lost when this Space restarts: add a disk to it, or name a PostgreSQL "
            "server in the variable KPDEMO_DATABASE_URL."
        )
    token = services.invitations.setup_token()
    if token is not None:
        notes.append(f"Nobody can sign in yet. Make the first account at {address}/set-up/{token}")
    return notes


ANNOTATION_PATHS = ("/annotate", "/account", "/invitation", "/join", "/set-up", "/sign-in", "/sign-out")
"""No other site may show these in a frame."""


def add_annotation_routes(server: FastAPI, services: Services) -> Guard:
    """Signing in, grading and downloads; to be called before any pages are mounted.

    Returns:
        Who knows who is signed in.
    """
    names = PairNames(services.keys.pairs)
    # First: routes are tried in order, and most requests are grades.
    server.include_router(build_rating_routes(services, names))
    guard = add_account_pages(server, services.sign_ins, services.invitations, services.tokens)
    add_shared_link_pages(server, services.sign_ins, services.crowds)
    server.user_middleware.append(Middleware(MissingPageMiddleware))  # within the guard and what adds headers
    add_program_routes(server, services, names)
    server.include_router(build_writing_routes(services.writing, services.consents))
    server.include_router(build_consent_routes(services.consents))
    server.include_router(build_adjudication_routes(services.accounts, services.adjudication))
    admission = Admission(services.accounts, services.projects)
    server.include_router(build_downloads(admission, services.gold))
    server.include_router(build_board_downloads(admission, services.systems))
    server.include_router(build_judgement_downloads(admission, services.judgements))
    server.include_router(build_worker_downloads(admission, services.crowds))
    server.include_router(
        SendPages(
            services.accounts, services.sign_ins, services.overview, services.sending, services.handovers
        ).router()
    )
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    server.add_route(f"{API}/{{rest:path}}", _refuse, methods, include_in_schema=False)
    server.add_route("/annotate/{page}/", _without_slash, include_in_schema=False)
    for failure in (UnreachableError, DamagedError):
        server.add_exception_handler(failure, _fail)
    return guard


async def _refuse(request: Request) -> Response:
    """What the scripts of the pages are told of an address that is none of ours."""
    set_language(request.headers.get("accept-language", ENGLISH))
    raise NotFoundError(_(NOTHING))


def _fail(request: Request, error: Exception) -> Response:
    assert isinstance(error, UnreachableError | DamagedError)
    return failed_answer(error, request)


def _without_slash(request: Request) -> Response:
    """Gradio would lead /annotate/rate/ to /rate, which is another page's address."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{request.url.path.rstrip('/')}{query}", status_code=308)
