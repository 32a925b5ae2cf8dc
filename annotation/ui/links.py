"""Links that let somebody in: shown once, with a button to copy; then whom they are for, to be revoked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, SettingsError
from annotation.services.access.accounts import AccountService
from annotation.services.access.invitations import InvitationService
from annotation.services.access.open_invitations import OpenInvitation
from annotation.types import Role, User
from annotation.ui.answer import answer_place, answered
from annotation.ui.asking import asked_project
from annotation.ui.choice import on_choice
from annotation.ui.tables import listing_html
from annotation.ui.wording import time_html
from kpdemo.ui.widgets import done_html, empty_html, escape, section_heading, shown_to_user

NO_OPEN_LINKS = "No links are open. A link is listed here until it is used, expires or is revoked."


@dataclass(frozen=True)
class LinksHandlers:
    accounts: AccountService
    invitations: InvitationService
    in_project: bool
    """For the administrators of the project that the address names, or of the server, who see all links."""

    def choose_link(self, request: gr.Request, link: int | None) -> gr.Button:
        """Whether there is a link to revoke."""
        with shown_to_user(AnnotationError):
            self._asked(request)
            return gr.Button(interactive=link is not None)

    def revoke_link(self, request: gr.Request, link: int | None) -> tuple[Any, ...]:
        """Let nobody in by an open link any more."""
        with shown_to_user(AnnotationError):
            project_id, by = self._asked(request)
            if link is None:
                raise SettingsError("No link is chosen: choose one.")
            self.invitations.revoke(int(link), project_id, by=by)
            said = done_html("The link is revoked: it can no longer be used.")
            return said, *shown_links(self.invitations, project_id)

    def _asked(self, request: gr.Request) -> tuple[int | None, User]:
        project_id = asked_project(request) if self.in_project else None
        return project_id, self.accounts.require(request.username, project_id, Role.ADMINISTRATOR)


@dataclass(frozen=True)
class LinksSection:
    places: tuple[Any, ...]
    """What `shown_links` fills: the list, the choice of one, and its button."""
    revoking: Any
    """The event of revoking a link."""


def build_links_section(handlers: LinksHandlers, prefix: str) -> LinksSection:
    """The open links, the choice of one, and the button that revokes it.

    Args:
        prefix: of the page, for the ids of its parts and the names of its events.
    """
    section_heading("Open links", f"{prefix}-links-heading")
    listing = gr.HTML("", elem_id=f"{prefix}-links", elem_classes="open-links", js_on_load=None)
    with gr.Row(elem_classes="form-row"):
        link = gr.Dropdown([], label="Link", elem_id=f"{prefix}-open-link", scale=3)
        revoke = gr.Button("Revoke", interactive=False, elem_id=f"{prefix}-revoke", scale=1, min_width=120)
    revoked = answer_place(f"{prefix}-revoked")
    places = (listing, link, revoke)
    on_choice(link, handlers.choose_link, revoke, api_name=f"choose_link_of_{prefix}", show_progress="hidden")
    revoking = answered(
        revoke.click, handlers.revoke_link, link, [revoked, *places], api_name=f"revoke_link_of_{prefix}"
    )
    return LinksSection(places, revoking)


def shown_links(invitations: InvitationService, project_id: int | None) -> tuple[str, gr.Dropdown, gr.Button]:
    """What the section shows: of one project, or of the whole server."""
    links = invitations.open_invitations(project_id)
    choices = [(f"{link_for(link)}: {link_gives(link)}, number {link.id}", link.id) for link in links]
    choice = gr.Dropdown(choices=choices, value=None)
    return open_links_html(links), choice, gr.Button(interactive=False)


def note_field(prefix: str) -> gr.Textbox:
    """For whom a link is meant; the list of open links tells it."""
    return gr.Textbox(label="For whom (optional)", max_lines=1, elem_id=f"{prefix}-link-note")


def invitation_address(request: gr.Request, token: str) -> str:
    """The whole address of a link, on the host by which this reader came."""
    origin = str(request.headers.get("origin") or request.base_url)
    return f"{origin.rstrip('/')}/invitation/{token}"


def link_html(address: str, sentence: str) -> str:
    """What the link is for, the link, and a button that copies it."""
    return (
        f'<div class="note" role="status"><p>{escape(sentence)}</p>'
        f'<p class="link-row"><code>{escape(address)}</code>'
        f'<button type="button" class="keep" data-copy data-content="{escape(address)}">Copy</button>'
        "</p></div>"
    )


def open_links_html(links: Sequence[OpenInvitation]) -> str:
    """Whom each open link is for, what it gives, since when and until when."""
    if not links:
        return empty_html(NO_OPEN_LINKS)
    rows = "".join(_row_html(link) for link in links)
    return listing_html(("For", "Made", "By", "Valid until"), rows, label="Open links")


def link_for(link: OpenInvitation) -> str:
    """Who may use it, or is meant to where anybody may."""
    if link.is_set_up:
        return "the person who sets up the server"
    anybody = f"{link.note} (or the first person to open it)" if link.note else "the first person to open it"
    return link.user_name or anybody


def link_gives(link: OpenInvitation) -> str:
    """What it gives them."""
    if link.is_set_up:
        return "administrator of the server"
    return "a password" if link.role is None else f"{link.role.value} in {link.project}"


def _row_html(link: OpenInvitation) -> str:
    gives = f"{link_gives(link)}, number {link.id}"
    return (
        f'<tr><th scope="row" dir="auto">{escape(link_for(link))}<small>{escape(gives)}</small>'
        f"</th><td>{time_html(link.created_at)}</td>"
        f'<td dir="auto">{escape(link.created_by or "command line")}</td>'
        f"<td>{time_html(link.expires_at)}</td></tr>"
    )
