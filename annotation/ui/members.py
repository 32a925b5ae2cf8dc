"""Who works in a project: the list, adding an account, links that invite, taking a role away."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.errors import AnnotationError, SettingsError
from annotation.projects import Member
from annotation.services.access.accounts import AccountService
from annotation.services.access.invitations import LASTS, InvitationService
from annotation.services.consents import ConsentService
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.types import Role, User
from annotation.ui.answer import answer_place, answered
from annotation.ui.asking import admitted, asked_by
from annotation.ui.choice import on_choice
from annotation.ui.filling import Filling
from annotation.ui.links import (
    LinksHandlers,
    build_links_section,
    invitation_address,
    link_html,
    note_field,
    shown_links,
)
from annotation.ui.members_html import JOIN_HINT, joined_html, members_html
from annotation.ui.wording import ROLE_CHOICES, ROLE_ORDER, role_named, roles_text
from kpdemo.ui.widgets import (
    done_html,
    section_heading,
    shown_to_user,
)

_SEPARATOR = ":"


@dataclass(frozen=True)
class MembersHandlers:
    accounts: AccountService
    invitations: InvitationService
    projects: ProjectService
    quality: QualityService
    consents: ConsentService

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """The members, the accounts that can be added, the roles to take away, and the open links."""
        with shown_to_user(AnnotationError):
            return self._shown(*asked_by(request, self.accounts, Role.ADMINISTRATOR))

    def add(self, request: gr.Request, name: str | None, role: str) -> tuple[Any, ...]:
        """Give an account that exists a role."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if not name:
                raise SettingsError("No account is chosen: choose one, or invite somebody by a link.")
            member = self.projects.add_member(project_id, name, role_named(role), by=user)
            said = f"{member.user.name} is {roles_text(member.roles)} now."
            return done_html(said), *self._shown(project_id, user)

    def invite(self, request: gr.Request, role: str, note: str | None = "") -> tuple[Any, ...]:
        """A link that makes an account, or takes one that exists, into the project."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            chosen = role_named(role)
            token = self.invitations.invite(project_id=project_id, role=chosen, note=note or "", by=user)
            article = "an" if chosen.value[0] in "ae" else "a"
            number = self.invitations.invitation(token).number
            said = (
                f"Send this link, number {number}, to one person. The first person to use it, "
                f"within {LASTS.days} days, becomes {article} {chosen.value}. It is not shown again."
            )
            link = link_html(invitation_address(request, token), said)
            return link, gr.Textbox(value=""), *shown_links(self.invitations, project_id)

    def remove(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Take a role away; what its user graded stays."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            role, _, name = (chosen or "").partition(_SEPARATOR)
            if not name:
                raise SettingsError("No member is chosen: choose one and the role to remove.")
            self.projects.remove_member(project_id, name, role_named(role), by=user)
            said = f"{name} is no longer {role}; grades and decisions are kept."
            return done_html(said), *self._shown(project_id, user)

    def pause(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Keep a rater from going on; what they graded stays, what they hold goes to others."""
        with shown_to_user(AnnotationError):
            project_id, user, name = self._chosen_rater(request, chosen)
            self.quality.pause(project_id, name, by=user)
            said = f"{name} is paused: grades are kept, and open pairs go to others."
            return done_html(said), *self._shown(project_id, user, chosen)

    def resume(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Let a paused rater go on."""
        with shown_to_user(AnnotationError):
            project_id, user, name = self._chosen_rater(request, chosen)
            self.quality.resume(project_id, name, by=user)
            return done_html(f"{name} can go on grading."), *self._shown(project_id, user, chosen)

    def choose(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """What can be done with the role that is chosen; what was said of another one goes."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            members, paused = self.projects.members(project_id), self.quality.paused(project_id)
            return "", *_buttons(chosen, members, paused)

    def join(self, request: gr.Request) -> tuple[Any, ...]:
        """Make the user who asks a rater of the project, too."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            self.projects.add_member(project_id, user.name, Role.RATER, by=user)
            return joined_html(project_id), *self._shown(project_id, user)

    def _chosen_rater(self, request: gr.Request, chosen: str | None) -> tuple[int, User, str]:
        project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR)
        role, _, name = (chosen or "").partition(_SEPARATOR)
        if not name:
            raise SettingsError("No member is chosen: choose the rater to pause or resume.")
        if role != Role.RATER:
            raise SettingsError(f"{name} is chosen as {role}: choose a rater to pause or resume.")
        return project_id, user, name

    def _shown(self, project_id: int, user: User, chosen: str | None = None) -> tuple[Any, ...]:
        members, paused = self.projects.members(project_id), self.quality.paused(project_id)
        accounts = [
            (user.name if user.has_password else f"{user.name} – no password yet", user.name)
            for user in self.accounts.users()
            if not user.is_disabled
        ]
        held = [
            (f"{member.user.name} – {role.value}", f"{role.value}{_SEPARATOR}{member.user.name}")
            for member in members
            for role in ROLE_ORDER
            if role in member.roles
        ]
        consents, text = self.consents.given(project_id), self.projects.get(project_id).settings.consent
        return (
            members_html(members, paused, consents, is_asked=bool(text)),
            gr.Dropdown(choices=accounts, value=None),
            gr.Dropdown(choices=held, value=chosen),
            *_buttons(chosen, members, paused),
            gr.Column(visible=not _has(members, user.name, Role.RATER)),
            *shown_links(self.invitations, project_id),
        )


def build_members_section(handlers: MembersHandlers) -> tuple[Filling, tuple[Any, ...]]:
    """How it is filled, and the events that change who is a member, or may become one."""
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=6, min_width=320):
            listed = _build_list()
        with gr.Column(scale=5, min_width=320):
            invitation = _build_invitation()
            links = build_links_section(
                LinksHandlers(handlers.accounts, handlers.invitations, in_project=True), "members"
            )
            added = _build_addition()
    shown = [listed.members, added.account, listed.held, *listed.buttons, added.joining, *links.places]
    inviting = answered(
        invitation.run.click,
        handlers.invite,
        [invitation.role, invitation.note],
        [invitation.link, invitation.note, *links.places],
        api_name="invite_member",
    )
    said, held = listed.said, listed.held
    on_choice(
        held, handlers.choose, [said, *listed.buttons], api_name="choose_member", show_progress="hidden"
    )
    done = [added.said, *shown]
    adding = answered(added.run.click, handlers.add, [added.account, added.role], done, api_name="add_member")
    joining = answered(added.join.click, handlers.join, None, done, api_name="join_as_rater")
    remove, pause, resume = listed.buttons
    changes = (
        answered(remove.click, handlers.remove, held, [said, *shown], api_name="remove_member"),
        answered(pause.click, handlers.pause, held, [said, *shown], api_name="pause_rater"),
        answered(resume.click, handlers.resume, held, [said, *shown], api_name="resume_rater"),
    )
    filling = Filling(handlers.show, shown, "show_members")
    return filling, (adding, joining, *changes, inviting, links.revoking)


@dataclass(frozen=True)
class _MemberList:
    said: gr.HTML
    members: gr.HTML
    held: gr.Dropdown
    buttons: tuple[gr.Button, ...]
    """Remove, pause, resume, as `_buttons` lets them be pressed."""


def _build_list() -> _MemberList:
    section_heading("Members", "members-heading")
    said = answer_place("members-said")
    members = gr.HTML("", elem_id="members-list", js_on_load=None)
    held = gr.Dropdown([], label="Member", allow_custom_value=True, elem_id="members-held")
    with gr.Row(elem_id="members-actions"):
        remove = _button("Remove this role", "members-remove")
        pause = _button("Pause this rater", "members-pause")
        resume = _button("Resume this rater", "members-resume")
    return _MemberList(said, members, held, (remove, pause, resume))


def _button(text: str, elem_id: str) -> gr.Button:
    return gr.Button(text, interactive=False, size="md", elem_id=elem_id)


def _buttons(chosen: str | None, members: Sequence[Member], paused: Collection[int]) -> tuple[gr.Button, ...]:
    """Remove, pause, resume: those that make sense for this role can be pressed; all stay where they are."""
    role, _, name = (chosen or "").partition(_SEPARATOR)
    there = role in set(Role) and _has(members, name, Role(role))
    rates = there and role == Role.RATER
    is_paused = rates and any(member.user.id in paused for member in members if member.user.name == name)
    return tuple(gr.Button(interactive=makes) for makes in (there, rates and not is_paused, is_paused))


def _has(members: Sequence[Member], name: str, role: Role) -> bool:
    return any(member.user.name == name and role in member.roles for member in members)


@dataclass(frozen=True)
class _Invitation:
    role: gr.Dropdown
    note: gr.Textbox
    run: gr.Button
    link: gr.HTML


def _build_invitation() -> _Invitation:
    section_heading("Invite by a link", "members-invite-heading")
    with gr.Row(elem_classes="form-row"):
        role = gr.Dropdown(ROLE_CHOICES, value=Role.RATER.value, label="Role", elem_id="members-invited-role")
        note = note_field("members")
    invite = gr.Button("Make a link", variant="primary", elem_id="members-invite")
    gr.HTML(
        f'<p class="small">A link lets one person in, within {LASTS.days} days.</p>',
        elem_id="members-link-hint",
    )
    return _Invitation(role, note, invite, answer_place("members-link"))


@dataclass(frozen=True)
class _Addition:
    account: gr.Dropdown
    role: gr.Dropdown
    run: gr.Button
    joining: gr.Column
    """Of the button `join`, for users who are not raters yet."""
    join: gr.Button
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
    with gr.Column(visible=False, elem_id="members-joining") as joining:
        join = gr.Button("Grade it myself", elem_id="members-join")
        gr.HTML(f'<p class="small">{JOIN_HINT}</p>', elem_id="members-join-hint")
    said = answer_place("members-added")
    return _Addition(account, role, add, joining, join, said)
