"""Who works in a project: the list, adding an account, links that invite, taking a role away."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, SettingsError
from annotation.projects import Member
from annotation.services.access.accounts import AccountService
from annotation.services.access.invitations import LASTS, InvitationService
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.types import Role, User
from annotation.ui.asking import asked_by
from annotation.ui.links import (
    LinksHandlers,
    build_links_section,
    invitation_address,
    link_html,
    shown_links,
)
from annotation.ui.tables import listing_html
from annotation.ui.wording import ROLE_CHOICES, ROLE_ORDER, role_named, roles_text
from kpdemo.ui.widgets import (
    QUIETLY,
    done_html,
    empty_html,
    escape,
    keep_reason,
    section_heading,
    shown_to_user,
)

NOBODY = "No members yet. Add an account, or invite somebody by a link."
_SEPARATOR = ":"


@dataclass(frozen=True)
class MembersHandlers:
    accounts: AccountService
    invitations: InvitationService
    projects: ProjectService
    quality: QualityService

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """The members; the accounts that can be added; the roles that can be taken away; the open links."""
        with shown_to_user(AnnotationError):
            project_id, _ = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            return self._shown(project_id)

    def add(self, request: gr.Request, name: str | None, role: str) -> tuple[Any, ...]:
        """Give an account that exists a role."""
        with shown_to_user(AnnotationError):
            project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            if not name:
                raise SettingsError("No account is chosen: choose one, or invite somebody by a link.")
            member = self.projects.add_member(project_id, name, role_named(role), by=user)
            said = f"{member.user.name} is {roles_text(member.roles)} now."
            return done_html(said), *self._shown(project_id)

    def invite(self, request: gr.Request, role: str) -> tuple[Any, ...]:
        """A link that makes an account, or takes one that exists, into the project."""
        with shown_to_user(AnnotationError):
            project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            chosen = role_named(role)
            token = self.invitations.invite(project_id=project_id, role=chosen, by=user)
            article = "an" if chosen.value[0] in "ae" else "a"
            number = self.invitations.invitation(token).number
            said = (
                f"Send this link, number {number}, to one person. Whoever makes an account with it first, "
                f"within {LASTS.days} days, becomes {article} {chosen.value}. It is shown only now."
            )
            link = link_html(invitation_address(request, token), said)
            return link, *shown_links(self.invitations, project_id)

    def remove(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Take a role away; what its user graded stays."""
        with shown_to_user(AnnotationError):
            project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            role, _, name = (chosen or "").partition(_SEPARATOR)
            if not name:
                raise SettingsError("No member is chosen: choose one and the role to remove.")
            self.projects.remove_member(project_id, name, role_named(role), by=user)
            said = f"{name} is no longer {role}; grades and decisions are kept."
            return done_html(said), *self._shown(project_id)

    def pause(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Keep a rater from going on; what they graded stays, what they hold goes to others."""
        with shown_to_user(AnnotationError):
            project_id, user, name = self._chosen_rater(request, chosen)
            self.quality.pause(project_id, name, by=user)
            said = f"{name} is paused: grades are kept, and open pairs go to others."
            return done_html(said), *self._shown(project_id)

    def resume(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Let a paused rater go on."""
        with shown_to_user(AnnotationError):
            project_id, user, name = self._chosen_rater(request, chosen)
            self.quality.resume(project_id, name, by=user)
            return done_html(f"{name} can go on grading."), *self._shown(project_id)

    def _chosen_rater(self, request: gr.Request, chosen: str | None) -> tuple[int, User, str]:
        project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR)
        name = (chosen or "").partition(_SEPARATOR)[2]
        if not name:
            raise SettingsError("No member is chosen: choose the rater to pause or resume.")
        return project_id, user, name

    def _shown(self, project_id: int) -> tuple[Any, ...]:
        members = self.projects.members(project_id)
        accounts = [user.name for user in self.accounts.users() if user.has_password and not user.is_disabled]
        held = [
            (f"{member.user.name} – {role.value}", f"{role.value}{_SEPARATOR}{member.user.name}")
            for member in members
            for role in ROLE_ORDER
            if role in member.roles
        ]
        return (
            members_html(members, self.quality.paused(project_id)),
            gr.Dropdown(choices=accounts, value=None),
            gr.Dropdown(choices=held, value=None),
            *shown_links(self.invitations, project_id),
        )


@dataclass(frozen=True)
class MembersSection:
    """The section, for the page around it."""

    show_after: Callable[..., None]
    """Fills the section whenever one of the events given has succeeded."""
    changed: tuple[Any, ...]
    """The events that change who is a member, or may become one."""


def build_members_section(handlers: MembersHandlers) -> MembersSection:
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=6, min_width=320):
            listed = _build_list()
        with gr.Column(scale=5, min_width=320):
            invitation = _build_invitation()
            links = build_links_section(
                LinksHandlers(handlers.accounts, handlers.invitations, in_project=True), "members"
            )
            added = _build_addition()
    shown = [listed.members, added.account, listed.held, *links.places]

    def show_after(*events: Any) -> None:
        for event in events:
            event.success(handlers.show, outputs=shown, api_name="show_members", **QUIETLY)

    inviting = invitation.run.click(
        handlers.invite, invitation.role, [invitation.link, *links.places], api_name="invite_member"
    )
    keep_reason(inviting, invitation.link)
    said, held = listed.said, listed.held
    adding = added.run.click(
        handlers.add, [added.account, added.role], [added.said, *shown], api_name="add_member"
    )
    keep_reason(adding, added.said)
    changes = (
        listed.remove.click(handlers.remove, held, [said, *shown], api_name="remove_member"),
        listed.pause.click(handlers.pause, held, [said, *shown], api_name="pause_rater"),
        listed.resume.click(handlers.resume, held, [said, *shown], api_name="resume_rater"),
    )
    for event in changes:
        keep_reason(event, said)
    return MembersSection(show_after, (adding, *changes, inviting, links.revoking))


@dataclass(frozen=True)
class _MemberList:
    said: gr.HTML
    members: gr.HTML
    held: gr.Dropdown
    remove: gr.Button
    pause: gr.Button
    resume: gr.Button


def _build_list() -> _MemberList:
    section_heading("Members", "members-heading")
    said = gr.HTML("", elem_id="members-said")
    members = gr.HTML("", elem_id="members-list", js_on_load=None)
    with gr.Row(elem_classes="form-row"):
        held = gr.Dropdown([], label="Member", allow_custom_value=True, elem_id="members-held", scale=3)
        remove = gr.Button("Remove this role", elem_id="members-remove", scale=1, min_width=140)
    with gr.Row(elem_classes="form-row"):
        pause = gr.Button("Pause this rater", size="sm", elem_id="members-pause", min_width=140)
        resume = gr.Button("Resume this rater", size="sm", elem_id="members-resume", min_width=140)
    return _MemberList(said, members, held, remove, pause, resume)


@dataclass(frozen=True)
class _Invitation:
    role: gr.Dropdown
    run: gr.Button
    link: gr.HTML


def _build_invitation() -> _Invitation:
    section_heading("Invite by a link", "members-invite-heading")
    with gr.Row(elem_classes="form-row"):
        role = gr.Dropdown(
            ROLE_CHOICES, value=Role.RATER.value, label="Role", elem_id="members-invited-role", scale=3
        )
        invite = gr.Button("Make a link", variant="primary", elem_id="members-invite", scale=1, min_width=120)
    gr.HTML(
        f'<p class="small">A link lets one person in, within {LASTS.days} days.</p>',
        elem_id="members-link-hint",
    )
    return _Invitation(role, invite, gr.HTML("", elem_id="members-link", js_on_load=None))


@dataclass(frozen=True)
class _Addition:
    account: gr.Dropdown
    role: gr.Dropdown
    run: gr.Button
    said: gr.HTML


def _build_addition() -> _Addition:
    section_heading("Add an account", "members-add-heading")
    with gr.Row(elem_classes="form-row"):
        account = gr.Dropdown(
            [], label="Account", allow_custom_value=True, elem_id="members-account", scale=3
        )
        role = gr.Dropdown(
            ROLE_CHOICES, value=Role.RATER.value, label="Role", elem_id="members-role", scale=2
        )
        add = gr.Button("Add", elem_id="members-add", scale=1, min_width=80)
    return _Addition(account, role, add, gr.HTML("", elem_id="members-added", js_on_load=None))


def members_html(members: Sequence[Member], paused: Collection[int] = ()) -> str:
    """Who is in the project, with what they may do, and whether they can sign in.

    Args:
        paused: the ids of the raters who are paused.
    """
    if not members:
        return empty_html(NOBODY)
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(member.user.name)}</th>'
        f"<td>{escape(roles_text(member.roles))}"
        f"{' (paused)' if Role.RATER in member.roles and member.user.id in paused else ''}</td>"
        f"<td>{escape(_state(member))}</td></tr>"
        for member in members
    )
    return listing_html(("Account", "Role", "Signs in"), rows, label="Members")


def _state(member: Member) -> str:
    if member.user.is_disabled:
        return "disabled"
    return "yes" if member.user.has_password else "not yet: no password"
