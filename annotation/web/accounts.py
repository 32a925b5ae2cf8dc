"""Signing in, as it is added to a web application."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware

from annotation.services.access.invitations import InvitationService
from annotation.services.access.sign_ins import SignInService
from annotation.web.account import AccountPages
from annotation.web.guard import Guard, GuardMiddleware
from annotation.web.invitation import InvitationPages
from annotation.web.responder import Responder
from annotation.web.sign_in import SignInPages


def add_account_pages(server: FastAPI, sign_ins: SignInService, invitations: InvitationService) -> Guard:
    """Add /sign-in, /sign-out, /set-up, /invitation and /account, and guard what is under /annotate.

    Returns:
        Who tells the pages and routes under /annotate who is signed in.
    """
    responder, router = Responder(sign_ins), APIRouter(include_in_schema=False)
    SignInPages(responder, sign_ins, invitations).add_to(router)
    InvitationPages(responder, invitations).add_to(router)
    AccountPages(responder, sign_ins).add_to(router)
    server.include_router(router)
    guard = Guard(sign_ins)
    # Innermost, so that its answers too get the headers that the others add.
    server.user_middleware.append(Middleware(GuardMiddleware, guard=guard))
    return guard
