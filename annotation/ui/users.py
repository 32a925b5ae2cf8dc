"""The administrator's page of accounts: listing, adding, inviting and disabling them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, SettingsError
from annotation.services.accounts import LASTS, Account, AccountService, InvitationService, renamed_text
from annotation.services.audit import EventService
from annotation.services.projects import ProjectService
from annotation.types import Role, User
from annotation.ui.members import (
    LinksHandlers,
    build_links_section,
    invitation_address,
    link_html,
    note_field,
    shown_links,
)
from annotation.ui.project import events_html
from annotation.ui.tables import listing_html
from annotation.ui.widgets import answer_event, answer_place, on_choice
from annotation.ui.wording import ROLE_CHOICES, parse_role, roles_text, time_html
from kpdemo.ui.html import escape
from kpdemo.ui.widgets import QUIETLY, done_html, empty_html, keep_reason, section_heading, shown_to_user

LINK_HINT = f"A link lets one person in, within {LASTS.days} days. It cannot be looked up later."
_LINK_PLACES = 3
"""The list of open links, the choice of one, and its button."""
_PLACES = 9 + _LINK_PLACES
"""What `open` fills: those, the accounts, the choice of one, five buttons, that of a project, events."""
_SENT = (
    f"Send this link to that person only. It works once, within {LASTS.days} days, and is not shown again."
)


@dataclass(frozen=True)
class UsersHandlers:
    accounts: AccountService
    invitations: InvitationService
    projects: ProjectService
    events: EventService

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """The accounts, and the projects to invite to; a sentence for users who may not see the page."""
        try:
            self._administrator(request)
        except AnnotationError as error:
            return empty_html(str(error)), gr.Row(visible=False), *(gr.skip() for _ in range(_PLACES))
        projects = [(project.name, project.id) for project in self.projects.list()]
        project = gr.Dropdown(choices=projects, value=None)
        return "", gr.Row(visible=True), *self._shown(None), project, self.show_events(request)

    def show_events(self, request: gr.Request) -> str:
        """What was done with accounts and whole projects."""
        with shown_to_user(AnnotationError):
            self._administrator(request)
            return events_html(self.events.of_server())

    def choose(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """What can be done with the account that is chosen."""
        with shown_to_user(AnnotationError):
            self._administrator(request)
            return _buttons(self.accounts.user(name) if name else None)

    def add(self, request: gr.Request, name: str, is_administrator: bool) -> tuple[Any, ...]:
        """A new account, and the link with which its owner chooses a password."""
        with shown_to_user(AnnotationError):
            by = self._administrator(request)
            user = self.accounts.add_user(name or "", is_administrator=bool(is_administrator), by=by)
            token = self.invitations.invite(user.name, by=by)
            said = f"{user.name} is added, and chooses a password with this link. {_SENT}"
            link = link_html(invitation_address(request, token), said)
            return link, gr.Textbox(value=""), gr.Checkbox(value=False), *self._shown(user.name)

    def invite_to_project(
        self, request: gr.Request, project_id: int | None, role: str, note: str | None = ""
    ) -> tuple[Any, ...]:
        """A link for somebody who makes an account, or joins with the one they have."""
        with shown_to_user(AnnotationError):
            by = self._administrator(request)
            if not project_id:
                raise SettingsError("No project is chosen: choose one, or make one first.")
            chosen = parse_role(role)
            token = self.invitations.invite(project_id=int(project_id), role=chosen, note=note or "", by=by)
            number = self.invitations.invitation(token).number
            said = (
                f"The first to use this link, number {number}, gets the role {chosen.value} in the "
                f"project. {_SENT}"
            )
            link = link_html(invitation_address(request, token), said)
            return link, gr.Textbox(value=""), *shown_links(self.invitations, None)

    def renew(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """A link with which the owner of an account chooses another password."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._chosen(name)
            token = self.invitations.invite(user.name, by=by)
            said = f"{user.name} chooses a new password with this link; until then the old one stays. {_SENT}"
            if not user.has_password:
                said = f"{user.name} chooses a password with this link. {_SENT}"
            return link_html(invitation_address(request, token), said), *self._shown(user.name)

    def rename(self, request: gr.Request, name: str | None, new_name: str | None) -> tuple[Any, ...]:
        """Give an account another name, and empty the field."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._chosen(name)
            renamed = self.accounts.rename(user.name, new_name or "", by=by)
            return done_html(renamed_text(user.name, renamed.name)), "", *self._shown(renamed.name)

    def disable(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """Disable an account."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._another(request, name)
            self.accounts.disable(user.name, by=by)
            said = f"{user.name} is disabled and signed out; grades are kept."
            return done_html(said), *self._shown(user.name)

    def enable(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """Let a disabled account in again."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._chosen(name)
            self.accounts.enable(user.name, by=by)
            return done_html(f"{user.name} can sign in again."), *self._shown(user.name)

    def promote(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """Make somebody administrator of the server."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._chosen(name)
            self.accounts.set_administrator(user.name, True, by=by)
            said = f"{user.name} is an administrator of the server now."
            return done_html(said), *self._shown(user.name)

    def demote(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """Make an administrator an ordinary user."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._another(request, name)
            self.accounts.set_administrator(user.name, False, by=by)
            said = f"{user.name} is no longer an administrator of the server; roles in projects stay."
            return done_html(said), *self._shown(user.name)

    def _administrator(self, request: gr.Request) -> User:
        return self.accounts.require(request.username, None)

    def _chosen(self, name: str | None) -> User:
        if not name:
            raise SettingsError("No account is chosen: choose one.")
        return self.accounts.user(name)

    def _another(self, request: gr.Request, name: str | None) -> User:
        """The chosen account, if it is not one's own: nobody locks themselves out by mistake."""
        user = self._chosen(name)
        if user.name == request.username:
            raise SettingsError(f"{user.name} is your own account: ask another administrator.")
        return user

    def _shown(self, chosen: str | None) -> tuple[Any, ...]:
        accounts = self.accounts.accounts()
        names = [account.user.name for account in accounts]
        user = next((account.user for account in accounts if account.user.name == chosen), None)
        choice = gr.Dropdown(choices=names, value=chosen)
        return accounts_html(accounts), choice, *_buttons(user), *shown_links(self.invitations, None)


def build_users_page(handlers: UsersHandlers, page: gr.Blocks) -> None:
    """Everything on accounts: those that are there on the left, new ones and open links on the right."""
    closed = gr.HTML(empty_html("Opening the accounts."), elem_id="users-closed")
    with gr.Row(visible=False, elem_classes="columns", elem_id="users-page") as body:
        with gr.Column(scale=6, min_width=320):
            section_heading("All accounts", "users-heading")
            listing = gr.HTML("", elem_id="users-list", js_on_load=None)
            section_heading("Change an account", "users-change-heading")
            chosen = gr.Dropdown([], label="Account", elem_id="users-chosen")
            with gr.Row(elem_id="users-actions"):
                renew = _button("Make a password link", "users-renew")
                disable, enable = _button("Disable", "users-disable"), _button("Enable", "users-enable")
                promote = _button("Make administrator", "users-promote")
                demote = _button("Make ordinary user", "users-demote")
            with gr.Row(elem_classes="form-row"):
                new_name = gr.Textbox(label="New name", max_lines=1, elem_id="users-new-name", scale=3)
                rename = gr.Button("Rename", elem_id="users-rename", scale=1, min_width=120)
            changed = answer_place("users-changed")
            section_heading("What was done", "users-events-heading")
            events = gr.HTML("", elem_id="users-events", js_on_load=None)
        with gr.Column(scale=5, min_width=320):
            section_heading("Add an account", "users-add-heading")
            name = gr.Textbox(label="Name", max_lines=1, elem_id="users-name")
            is_administrator = gr.Checkbox(label="Administrator of the server", elem_id="users-administrator")
            add = gr.Button("Add and make a link", variant="primary", elem_id="users-add")
            gr.HTML(f'<p class="small">{LINK_HINT}</p>', elem_id="users-hint")
            added = answer_place("users-added")
            section_heading("Invite to a project", "users-invite-heading")
            with gr.Row(elem_classes="form-row"):
                project = gr.Dropdown([], label="Project", elem_id="users-project", scale=3)
                role = gr.Dropdown(
                    ROLE_CHOICES, value=Role.RATER.value, label="Role", elem_id="users-role", scale=2
                )
            note = note_field("users")
            invite = gr.Button("Make a link", elem_id="users-invite")
            invited = answer_place("users-invited")
            links = build_links_section(
                LinksHandlers(handlers.accounts, handlers.invitations, in_project=False), "users"
            ).places
    buttons = [renew, disable, enable, promote, demote]
    shown = [listing, chosen, *buttons, *links]
    opened = [closed, body, *shown, project, events]
    keep_reason(page.load(handlers.open, outputs=opened, api_name="open_users", **QUIETLY), closed)
    on_choice(chosen, handlers.choose, buttons, api_name="choose_user", show_progress="hidden")
    done = []
    new = [added, name, is_administrator, *shown]
    for listen, way in ((add.click, ""), (name.submit, "_by_enter")):
        done.append(
            answer_event(listen, handlers.add, [name, is_administrator], new, api_name=f"add_user{way}")
        )
    inviting = answer_event(
        invite.click,
        handlers.invite_to_project,
        [project, role, note],
        [invited, note, *links],
        api_name="invite_to_project",
    )
    renaming = answer_event(
        rename.click,
        handlers.rename,
        [chosen, new_name],
        [changed, new_name, *shown],
        api_name="rename_user",
    )
    done += [inviting, renaming]
    for button, handler in zip(buttons, _changes(handlers), strict=True):
        api_name = f"{handler.__name__}_user"
        done.append(answer_event(button.click, handler, chosen, [changed, *shown], api_name=api_name))
    for number, event in enumerate(done, start=1):
        event.success(
            handlers.show_events, outputs=events, api_name=f"show_server_events_{number}", **QUIETLY
        )


def accounts_html(accounts: Sequence[Account]) -> str:
    """A table of accounts: whether they sign in, and what they may do where."""
    rows = "".join(_row_html(account) for account in accounts)
    return listing_html(("Account", "State", "Projects", "Since"), rows, label="Accounts")


def _row_html(account: Account) -> str:
    by_project: dict[str, list[Role]] = {}
    for project, role in account.roles:
        by_project.setdefault(project, []).append(role)
    roles = "<br>".join(
        f"<bdi>{escape(project)}</bdi>: {escape(roles_text(held))}" for project, held in by_project.items()
    )
    return (
        f'<tr><th scope="row" dir="auto">{escape(account.user.name)}</th><td>{escape(account.state)}</td>'
        f"<td>{roles or '–'}</td><td>{time_html(account.created_at)}</td></tr>"
    )


def _button(text: str, elem_id: str) -> gr.Button:
    return gr.Button(text, interactive=False, size="md", min_width=120, elem_id=elem_id)


def _buttons(user: User | None) -> tuple[gr.Button, ...]:
    """Renew, disable, enable, promote, demote: those that make sense for this account can be pressed.

    All stay where they are: under a second click must not lie another button.
    """
    there, out = user is not None, user is not None and user.is_disabled
    rules = user is not None and user.is_administrator
    sense = (there and not out, there and not out, out, there and not rules, rules)
    return tuple(gr.Button(interactive=makes) for makes in sense)


def _changes(handlers: UsersHandlers) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    return (handlers.renew, handlers.disable, handlers.enable, handlers.promote, handlers.demote)
