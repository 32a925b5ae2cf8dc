"""Accounts, members of a project, the links that invite, and what was done; excluding a rater's grades."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from annotation.changes import detail_words, earlier_texts
from annotation.consent import Consent
from annotation.errors import AnnotationError, SettingsError
from annotation.projects import Member
from annotation.services.accounts import LASTS, Account, AccountService, InvitationService, renamed_text
from annotation.services.audit import Event, EventService
from annotation.services.consents import ConsentService
from annotation.services.excluded_ratings import ExclusionService, RaterGrades, Restoration
from annotation.services.projects import ProjectService
from annotation.services.quality import QualityService
from annotation.services.users import OpenInvitation
from annotation.translation import _, mark, ngettext
from annotation.types import Role, User
from annotation.ui.figures import listing_html
from annotation.ui.widgets import (
    Filling,
    Keeping,
    Parts,
    admit_member,
    answer_event,
    answer_place,
    build_kept_form,
    on_choice,
    project_of_page,
    require_member,
)
from annotation.ui.wording import (
    ROLE_ORDER,
    grades_text,
    pairs_text,
    parse_role,
    regroup_numbers,
    role_choices,
    roles_text,
    time_html,
)
from annotation.wording import LONGEST_NOTE
from kpdemo.ui.html import escape, group_digits
from kpdemo.ui.widgets import QUIETLY, done_html, empty_html, keep_reason, section_heading, shown_to_user

NO_OPEN_LINKS = mark("No links are open. A link is listed here until it is used, expires or is revoked.")


@dataclass(frozen=True)
class LinksHandlers:
    accounts: AccountService
    invitations: InvitationService
    in_project: bool
    """For the administrators of the project that the address names, or of the server, who see all links."""

    def choose_link(self, request: gr.Request, link: int | None) -> gr.Button:
        """Whether there is a link to revoke."""
        with shown_to_user(AnnotationError):
            self._admit(request)
            return gr.Button(interactive=link is not None)

    def revoke_link(self, request: gr.Request, link: int | None) -> tuple[Any, ...]:
        """Let nobody in by an open link any more."""
        with shown_to_user(AnnotationError):
            project_id, by = self._admit(request)
            if link is None:
                raise SettingsError(_("No link is chosen: choose one."))
            self.invitations.revoke(int(link), project_id, by=by)
            said = done_html(_("The link is revoked: it can no longer be used."))
            return said, *fill_links(self.invitations, project_id).values()

    def _admit(self, request: gr.Request) -> tuple[int | None, User]:
        project_id = project_of_page(request) if self.in_project else None
        return project_id, self.accounts.require(request.username, project_id, Role.ADMINISTRATOR)


@dataclass(frozen=True)
class LinksSection:
    parts: Parts
    """What `fill_links` fills: the list, the choice of one, and its button."""
    revoking: Any
    """The event of revoking a link."""


def choice_button(text: str, elem_id: str) -> gr.Button:
    """Does something with what is chosen from a list; at first nothing is."""
    return gr.Button(text, interactive=False, size="md", min_width=120, elem_id=elem_id)


def build_links_section(handlers: LinksHandlers, prefix: str) -> LinksSection:
    """The open links, the choice of one, and the button that revokes it.

    Args:
        prefix: of the page, for the ids of its parts and the names of its events.
    """
    section_heading(_("Open links"), f"{prefix}-links-heading")
    listing = gr.HTML("", elem_id=f"{prefix}-links", elem_classes="open-links", js_on_load=None)
    with gr.Row(elem_classes="form-row"):
        link = gr.Dropdown([], label=_("Link"), elem_id=f"{prefix}-open-link", scale=3)
        revoke = gr.Button(_("Revoke"), interactive=False, elem_id=f"{prefix}-revoke", scale=1, min_width=120)
    revoked = answer_place(f"{prefix}-revoked")
    parts = Parts(links=listing, link=link, revoke=revoke)
    on_choice(link, handlers.choose_link, revoke, api_name=f"choose_link_of_{prefix}", show_progress="hidden")
    revoking = answer_event(
        revoke.click,
        handlers.revoke_link,
        link,
        [revoked, *parts.outputs],
        api_name=f"revoke_link_of_{prefix}",
    )
    return LinksSection(parts, revoking)


def fill_links(invitations: InvitationService, project_id: int | None) -> dict[str, Any]:
    """What the section shows: of one project, or of the whole server."""
    links = invitations.open_invitations(project_id)
    choices = [
        (_("{whom}: {gift}", whom=link_for(link), gift=numbered_gift(link)), link.id) for link in links
    ]
    return {
        "links": open_links_html(links),
        "link": gr.Dropdown(choices=choices, value=None),
        "revoke": gr.Button(interactive=False),
    }


def note_field(prefix: str) -> gr.Textbox:
    """For whom a link is meant; the list of open links tells it."""
    return gr.Textbox(label=_("For whom (optional)"), max_lines=1, elem_id=f"{prefix}-link-note")


def invitation_address(request: gr.Request, token: str) -> str:
    """The whole address of a link, on the host by which this reader came."""
    return page_address(request, f"/invitation/{token}")


def page_address(request: gr.Request, path: str) -> str:
    """The whole address of a path, on the host by which this reader came."""
    origin = str(request.headers.get("origin") or request.base_url)
    return f"{origin.rstrip('/')}{path}"


def link_html(address: str, sentence: str) -> str:
    """What the link is for, the link, and a button that copies it."""
    return (
        f'<div class="note" role="status"><p>{escape(sentence)}</p>'
        f'<p class="link-row"><code>{escape(address)}</code>'
        f'<button type="button" class="keep" data-copy data-content="{escape(address)}">{_("Copy")}</button>'
        "</p></div>"
    )


def open_links_html(links: Sequence[OpenInvitation]) -> str:
    """Whom each open link is for, what it gives, since when and until when."""
    if not links:
        return empty_html(_(NO_OPEN_LINKS))
    rows = "".join(map(_link_row, links))
    heads = (_("For"), _("Made"), _("By"), _("Valid until"))
    return listing_html(heads, rows, label=_("Open links"))


def link_for(link: OpenInvitation) -> str:
    """Who may use it, or is meant to where anybody may."""
    if link.is_set_up:
        return _("the person who sets up the server")
    if link.user_name:
        return link.user_name
    if link.note:
        return _("{note} (or the first person to open it)", note=link.note)
    return _("the first person to open it")


def link_gives(link: OpenInvitation) -> str:
    """What it gives them."""
    if link.is_set_up:
        return _("administrator of the server")
    if link.role is None:
        return _("a password")
    return _("{role} in {project}", role=_(link.role.value), project=link.project)


def numbered_gift(link: OpenInvitation) -> str:
    """What it gives, and the number that tells it from others."""
    return _("{gift}, number {number}", gift=link_gives(link), number=link.id)


def _link_row(link: OpenInvitation) -> str:
    return (
        f'<tr><th scope="row" dir="auto">{escape(link_for(link))}<small>{escape(numbered_gift(link))}</small>'
        f"</th><td>{time_html(link.created_at)}</td>"
        f'<td dir="auto">{escape(link.created_by or _("command line"))}</td>'
        f"<td>{time_html(link.expires_at)}</td></tr>"
    )


NOBODY = mark("No members yet. Add an account, or invite somebody by a link.")
JOIN_HINT = mark(
    "Makes you a rater of the project. Skip pairs whose grades you have seen. Raters should not adjudicate "
    "pairs they may still grade, so Adjudicate and Agreement do not show you those."
)


def joined_html(project_id: int) -> str:
    """That the user is a rater now, and where to grade."""
    return (
        f'<p class="note done" role="status">{_("You are a rater of this project now.")} '
        f'<a href="/annotate/rate?project={project_id}">{_("Grade pairs")}</a></p>'
    )


def members_html(
    members: Sequence[Member],
    paused: Collection[int] = (),
    consents: Mapping[int, Consent] | None = None,
    *,
    is_asked: bool = False,
) -> str:
    """Who is in the project, with what they may do, whether they can sign in, and when they agreed.

    Args:
        paused: the ids of the raters who are paused.
        consents: by the id of who agreed; None where there never was a text to agree to.
        is_asked: whether there is one now.
    """
    if not members:
        return empty_html(_(NOBODY))
    heads = (_("Account"), _("Role"), _("Signs in"), *(() if consents is None else (_("Agreed"),)))
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(member.user.name)}</th>'
        f"<td>{escape(_roles(member, is_paused=member.user.id in paused))}</td>"
        f"<td>{escape(_state(member))}</td>"
        f"{'' if consents is None else _when(member, consents.get(member.user.id), is_asked=is_asked)}</tr>"
        for member in members
    )
    return listing_html(heads, rows, label=_("Members"))


def _roles(member: Member, *, is_paused: bool) -> str:
    roles = roles_text(member.roles)
    return _("{roles} (paused)", roles=roles) if is_paused and Role.RATER in member.roles else roles


def _when(member: Member, consent: Consent | None, *, is_asked: bool) -> str:
    """A cell that says when; those are asked who rate or write."""
    if consent is None:
        lacks = is_asked and member.roles & {Role.RATER, Role.WRITER}
        return f"<td>{_('not yet') if lacks else '–'}</td>"
    when = time_html(consent.at)
    is_earlier = is_asked and not consent.is_current
    return f"<td>{_('{time}, to an earlier text', time=when) if is_earlier else when}</td>"


def _state(member: Member) -> str:
    if member.user.is_disabled:
        return _("disabled")
    return _("yes") if member.user.has_password else _("not yet: no password")


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
            return self._fill(*require_member(request, self.accounts, Role.ADMINISTRATOR))

    def add(self, request: gr.Request, name: str | None, role: str) -> tuple[Any, ...]:
        """Give an account that exists a role."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if not name:
                raise SettingsError(_("No account is chosen: choose one, or invite somebody by a link."))
            member = self.projects.add_member(project_id, name, parse_role(role), by=user)
            said = _("{name} is {roles} now.", name=member.user.name, roles=roles_text(member.roles))
            return done_html(said), *self._fill(project_id, user)

    def invite(self, request: gr.Request, role: str, note: str | None = "") -> tuple[Any, ...]:
        """A link that makes an account, or takes one that exists, into the project."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            chosen = parse_role(role)
            token = self.invitations.invite(project_id=project_id, role=chosen, note=note or "", by=user)
            said = _(
                "Send this link, number {number}, to one person. The first person to use it, within {days} "
                "days, gets the role {role}. It is not shown again.",
                number=self.invitations.invitation(token).number,
                days=LASTS.days,
                role=_(chosen.value),
            )
            link = link_html(invitation_address(request, token), said)
            return link, gr.Textbox(value=""), *fill_links(self.invitations, project_id).values()

    def remove(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Take a role away; what its user graded stays."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            role, _separator, name = (chosen or "").partition(_SEPARATOR)
            if not name:
                raise SettingsError(_("No member is chosen: choose one and the role to remove."))
            self.projects.remove_member(project_id, name, parse_role(role), by=user)
            said = _("{name} is no longer {role}; grades and decisions are kept.", name=name, role=_(role))
            return done_html(said), *self._fill(project_id, user)

    def pause(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Keep a rater from going on; what they graded stays, what they hold goes to others."""
        with shown_to_user(AnnotationError):
            project_id, user, name = self._chosen_rater(request, chosen)
            self.quality.pause(project_id, name, by=user)
            said = _("{name} is paused: grades are kept, and open pairs go to others.", name=name)
            return done_html(said), *self._fill(project_id, user, chosen)

    def resume(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """Let a paused rater go on."""
        with shown_to_user(AnnotationError):
            project_id, user, name = self._chosen_rater(request, chosen)
            self.quality.resume(project_id, name, by=user)
            said = _("{name} can go on grading.", name=name)
            return done_html(said), *self._fill(project_id, user, chosen)

    def choose(self, request: gr.Request, chosen: str | None) -> tuple[Any, ...]:
        """What can be done with the role that is chosen; what was said of another one goes."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            members, paused = self.projects.members(project_id), self.quality.paused_raters(project_id)
            return "", *_member_buttons(chosen, members, paused)

    def join(self, request: gr.Request) -> tuple[Any, ...]:
        """Make the user who asks a rater of the project, too."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            self.projects.add_member(project_id, user.name, Role.RATER, by=user)
            return joined_html(project_id), *self._fill(project_id, user)

    def _chosen_rater(self, request: gr.Request, chosen: str | None) -> tuple[int, User, str]:
        project_id, user = require_member(request, self.accounts, Role.ADMINISTRATOR)
        role, _separator, name = (chosen or "").partition(_SEPARATOR)
        if not name:
            raise SettingsError(_("No member is chosen: choose the rater to pause or resume."))
        if parse_role(role) is not Role.RATER:
            raise SettingsError(
                _("{name} is chosen as {role}: choose a rater to pause or resume.", name=name, role=_(role))
            )
        return project_id, user, name

    def _fill(self, project_id: int, user: User, chosen: str | None = None) -> tuple[Any, ...]:
        members, paused = self.projects.members(project_id), self.quality.paused_raters(project_id)
        accounts = [
            (user.name if user.has_password else _("{name} – no password yet", name=user.name), user.name)
            for user in self.accounts.users_to_add(project_id)
        ]
        held = [
            (f"{member.user.name} – {_(role.value)}", f"{role.value}{_SEPARATOR}{member.user.name}")
            for member in members
            for role in ROLE_ORDER
            if role in member.roles
        ]
        consents, text = self.consents.consents(project_id), self.projects.get(project_id).settings.consent
        return (
            members_html(members, paused, consents, is_asked=bool(text)),
            gr.Dropdown(choices=accounts, value=None),
            gr.Dropdown(choices=held, value=chosen),
            *_member_buttons(chosen, members, paused),
            gr.Column(visible=not _has(members, user.name, Role.RATER)),
            *fill_links(self.invitations, project_id).values(),
        )


def build_members_section(handlers: MembersHandlers) -> tuple[Filling, tuple[Any, ...], Parts]:
    """How it is filled, the events that change who is a member or may become one, and the list of links."""
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=6, min_width=320):
            listed = _build_list()
        with gr.Column(scale=5, min_width=320):
            invitation = _build_invitation()
            links = build_links_section(
                LinksHandlers(handlers.accounts, handlers.invitations, in_project=True), "members"
            )
            added = _build_addition()
    shown = [listed.members, added.account, listed.held, *listed.buttons, added.joining, *links.parts.outputs]
    inviting = answer_event(
        invitation.run.click,
        handlers.invite,
        [invitation.role, invitation.note],
        [invitation.link, invitation.note, *links.parts.outputs],
        api_name="invite_member",
    )
    said, held = listed.said, listed.held
    on_choice(
        held, handlers.choose, [said, *listed.buttons], api_name="choose_member", show_progress="hidden"
    )
    done = [added.said, *shown]
    adding = answer_event(
        added.run.click, handlers.add, [added.account, added.role], done, api_name="add_member"
    )
    joining = answer_event(added.join.click, handlers.join, None, done, api_name="join_as_rater")
    remove, pause, resume = listed.buttons
    changes = (
        answer_event(remove.click, handlers.remove, held, [said, *shown], api_name="remove_member"),
        answer_event(pause.click, handlers.pause, held, [said, *shown], api_name="pause_rater"),
        answer_event(resume.click, handlers.resume, held, [said, *shown], api_name="resume_rater"),
    )
    filling = Filling(handlers.show, shown, "show_members")
    return filling, (adding, joining, *changes, inviting, links.revoking), links.parts


@dataclass(frozen=True)
class _MemberList:
    said: gr.HTML
    members: gr.HTML
    held: gr.Dropdown
    buttons: tuple[gr.Button, ...]
    """Remove, pause, resume, as `_member_buttons` lets them be pressed."""


def _build_list() -> _MemberList:
    section_heading(_("Members"), "members-heading")
    said = answer_place("members-said")
    members = gr.HTML("", elem_id="members-list", js_on_load=None)
    held = gr.Dropdown([], label=_("Member"), allow_custom_value=True, elem_id="members-held")
    with gr.Row(elem_id="members-actions"):
        remove = choice_button(_("Remove this role"), "members-remove")
        pause = choice_button(_("Pause this rater"), "members-pause")
        resume = choice_button(_("Resume this rater"), "members-resume")
    return _MemberList(said, members, held, (remove, pause, resume))


def _member_buttons(
    chosen: str | None, members: Sequence[Member], paused: Collection[int]
) -> tuple[gr.Button, ...]:
    """Remove, pause, resume: those that make sense for this role can be pressed; all stay where they are."""
    role, _separator, name = (chosen or "").partition(_SEPARATOR)
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
    section_heading(_("Invite by a link"), "members-invite-heading")
    with gr.Row(elem_classes="form-row"):
        role = gr.Dropdown(
            role_choices(), value=Role.RATER.value, label=_("Role"), elem_id="members-invited-role"
        )
        note = note_field("members")
    invite = gr.Button(_("Make a link"), variant="primary", elem_id="members-invite")
    hint = _("A link lets one person in, within {days} days.", days=LASTS.days)
    gr.HTML(f'<p class="small">{hint}</p>', elem_id="members-link-hint")
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
    section_heading(_("Add an account"), "members-add-heading")
    with gr.Row(elem_classes="form-row"):
        account = gr.Dropdown(
            [], label=_("Account"), allow_custom_value=True, elem_id="members-account", scale=1
        )
        role = gr.Dropdown(
            role_choices(), value=Role.RATER.value, label=_("Role"), elem_id="members-role", scale=1
        )
        add = gr.Button(_("Add"), elem_id="members-add", scale=0, min_width=128)
    with gr.Column(visible=False, elem_id="members-joining") as joining:
        join = gr.Button(_("Grade it myself"), elem_id="members-join")
        gr.HTML(f'<p class="small">{_(JOIN_HINT)}</p>', elem_id="members-join-hint")
    said = answer_place("members-added")
    return _Addition(account, role, add, joining, join, said)


EXPLAINED = mark(
    "Grades that are set aside count nowhere, and other raters are given these pairs. The rater is paused "
    "and never gets them again. Grades can be brought back only for pairs that still need one. Agreement and "
    "gold sets say how many grades were set aside, when and why."
)


@dataclass(frozen=True)
class ExclusionHandlers:
    accounts: AccountService
    projects: ProjectService
    grades: ExclusionService

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """The raters to choose from, none of them chosen."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            return self._fill(project_id, None)

    def choose(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """What there is of the chosen rater, and what can be done with it; what was said of another goes."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            return "", *self._fill(project_id, name)[1:]

    def look_again(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """The same after a refusal, which stays: somebody else may have been quicker."""
        return self.choose(request, name)[1:]

    def exclude(self, request: gr.Request, name: str | None, reason: str | None) -> tuple[Any, ...]:
        """Count the chosen rater's grades nowhere, and empty the reason."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            count = self.grades.exclude(project_id, _chosen(name), reason or "", by=user)
            said = ngettext(
                "{count} grade of {name} set aside: others are given this pair.",
                "{count} grades of {name} set aside: others are given these pairs.",
                count,
                count=group_digits(count),
                name=name,
            )
            return done_html(said), *self._fill(project_id, name, is_done=True)

    def restore(self, request: gr.Request, name: str | None) -> tuple[Any, ...]:
        """Count grades of the chosen rater again, where there is room for them."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            done = self.grades.restore(project_id, _chosen(name), by=user)
            return done_html(describe_restoration(name or "", done)), *self._fill(project_id, name)

    def _fill(self, project_id: int, name: str | None, *, is_done: bool = False) -> tuple[Any, ...]:
        """The choice, what there is of the chosen rater, the reason, and the buttons.

        Args:
            is_done: the field of the reason is emptied.
        """
        raters = self.grades.raters(project_id)
        one = next((rater for rater in raters if rater.name == name), None)
        counts = self.projects.counts(project_id)
        can_go, can_return = bool(one and one.grades), bool(one and one.set_aside)
        return (
            gr.Dropdown(choices=[rater.name for rater in raters], value=one.name if one else None),
            grades_html(one, counts.pairs + counts.withdrawn) if one else "",
            gr.Textbox(interactive=can_go, value="") if is_done else gr.Textbox(interactive=can_go),
            gr.Button(interactive=can_go),
            gr.Button(interactive=can_return),
        )


def _chosen(name: str | None) -> str:
    if not name:
        raise SettingsError(_("No rater is chosen: choose whose grades are to be set aside or brought back."))
    return name


def grades_html(rater: RaterGrades, pairs: int) -> str:
    """What would be set aside or brought back."""
    counts = {"name": rater.name, "grades": grades_text(rater.grades), "pairs": pairs_text(pairs)}
    said = _("{name}: {grades} of {pairs} of the project.", **counts)
    if rater.set_aside:
        excluded = group_digits(rater.set_aside)
        said = _(
            "{name}: {grades} of {pairs} of the project, and {excluded} set aside.",
            **counts,
            excluded=excluded,
        )
    return f'<p dir="auto">{escape(said)}</p>'


def describe_restoration(name: str, done: Restoration) -> str:
    said = ngettext(
        "{count} grade of {name} brought back.",
        "{count} grades of {name} brought back.",
        done.grades,
        count=group_digits(done.grades),
        name=name,
    )
    paused = _("{name} stays paused.", name=name) if done.is_paused else ""
    return " ".join(filter(None, (said, regroup_numbers(done.left_text), paused)))


def build_exclusion_section(handlers: ExclusionHandlers) -> tuple[Filling, tuple[Any, ...]]:
    """How it is filled, and the events that change which grades count, and who is paused."""
    with gr.Accordion(_("Set the grades of a rater aside"), open=False, elem_id="set-aside") as part:
        gr.HTML(f'<p class="small">{_(EXPLAINED)}</p>', elem_id="set-aside-explained")
        kept = build_kept_form("set-aside")
        with gr.Row(elem_classes="form-row"):
            rater = gr.Dropdown(
                [],
                label=_("Rater"),
                info=_("Who has graded"),
                allow_custom_value=True,
                elem_id="set-aside-rater",
            )
            reason = gr.Textbox(
                label=_("Reason"),
                info=_("Gold sets contain it: do not name anybody"),
                max_lines=1,
                max_length=LONGEST_NOTE,
                interactive=False,
                elem_id="set-aside-reason",
            )
        there = gr.HTML("", elem_id="set-aside-grades", js_on_load=None)
        with gr.Row(elem_classes="form-row"):
            go = gr.Button(
                _("Set these grades aside"),
                variant="stop",
                interactive=False,
                elem_id="set-aside-run",
                min_width=96,
            )
            back = gr.Button(
                _("Bring them back"), interactive=False, elem_id="set-aside-bring-back", min_width=96
            )
        said = answer_place("set-aside-said")
    shown: list[Any] = [rater, there, reason, go, back]
    on_choice(rater, handlers.choose, [said, *shown[1:]], api_name="choose_graded", show_progress="hidden")
    changed = (
        answer_event(
            go.click, handlers.exclude, [rater, reason], [said, *shown], api_name="set_grades_aside"
        ),
        answer_event(back.click, handlers.restore, rater, [said, *shown], api_name="bring_grades_back"),
    )
    for event in changed:
        name = f"look_again_after_{event['api_name']}"
        event.failure(handlers.look_again, rater, shown[1:], api_name=name, **QUIETLY)
    keeping = Keeping(kept, [reason], changed[:1], around=[(part, {"open": True})])
    return Filling(handlers.show, shown, "show_graded", keeping=keeping), changed


NO_EVENTS = mark("Nothing has been done yet.")
LONGEST_SHOWN = 10_000
"""Characters of a text that was replaced."""
LONG_TEXT = mark(
    "The text before: python -m annotation events PROJECT --json, and the manifest of gold sets."
)


def events_html(events: Sequence[Event]) -> str:
    """What was done, the last thing first."""
    if not events:
        return empty_html(_(NO_EVENTS))
    rows = "".join(
        f"<tr><td>{time_html(event.at)}</td>"
        f'<td dir="auto">{escape(event.user or _("command line"))}</td><td>{escape(_(event.action))}</td>'
        f'<td dir="auto">{_detail_html(event)}</td></tr>'
        for event in events
    )
    return listing_html((_("When"), _("Who"), _("What"), _("Details")), rows, label=_("Events"))


def _detail_html(event: Event) -> str:
    """In words; texts that were replaced can be read where they are not too long for a table."""
    words = escape(detail_words(event.detail, group_digits))
    return words + "".join(_earlier_html(*earlier) for earlier in earlier_texts(event.detail).items())


def _earlier_html(name: str, text: str) -> str:
    if len(text) > LONGEST_SHOWN:
        return f"<br>{_(LONG_TEXT)}"
    return (
        f"<details><summary>{escape(_('{text} before', text=name[:1].upper() + name[1:]))}</summary>"
        f'<p class="earlier-text" dir="auto">{escape(text)}</p></details>'
    )


LINK_HINT = mark("A link lets one person in, within {days} days. It cannot be looked up later.")


@dataclass(frozen=True)
class UsersHandlers:
    """Each answer is of the parts of the page by name, see `build_users_page`."""

    accounts: AccountService
    invitations: InvitationService
    projects: ProjectService
    events: EventService

    def open(self, request: gr.Request) -> dict[str, Any]:
        """The accounts, and the projects to invite to; a sentence for users who may not see the page."""
        try:
            self._administrator(request)
        except AnnotationError as error:
            return {"closed": empty_html(str(error)), "body": gr.Row(visible=False)}
        projects = [(project.name, project.id) for project in self.projects.list()]
        return {
            "closed": "",
            "body": gr.Row(visible=True),
            **self._fill(None),
            "project": gr.Dropdown(choices=projects, value=None),
            "events": self.show_events(request),
        }

    def show_events(self, request: gr.Request) -> str:
        """What was done with accounts and whole projects."""
        with shown_to_user(AnnotationError):
            self._administrator(request)
            return events_html(self.events.of_server())

    def choose(self, request: gr.Request, name: str | None) -> dict[str, Any]:
        """What can be done with the account that is chosen."""
        with shown_to_user(AnnotationError):
            self._administrator(request)
            return _user_buttons(self.accounts.user(name) if name else None)

    def add(self, request: gr.Request, name: str, is_administrator: bool) -> dict[str, Any]:
        """A new account, and the link with which its owner chooses a password."""
        with shown_to_user(AnnotationError):
            by = self._administrator(request)
            user = self.accounts.add_user(name or "", is_administrator=bool(is_administrator), by=by)
            token = self.invitations.invite(user.name, by=by)
            said = _("{name} is added, and chooses a password with this link.", name=user.name)
            link = link_html(invitation_address(request, token), f"{said} {_send_text()}")
            return {"added": link, "name": "", "is_administrator": False, **self._fill(user.name)}

    def invite_to_project(
        self, request: gr.Request, project_id: int | None, role: str, note: str | None = ""
    ) -> dict[str, Any]:
        """A link for somebody who makes an account, or joins with the one they have."""
        with shown_to_user(AnnotationError):
            by = self._administrator(request)
            if not project_id:
                raise SettingsError(_("No project is chosen: choose one, or make one first."))
            chosen = parse_role(role)
            token = self.invitations.invite(project_id=int(project_id), role=chosen, note=note or "", by=by)
            said = _(
                "The first to use this link, number {number}, gets the role {role} in the project.",
                number=self.invitations.invitation(token).number,
                role=_(chosen.value),
            )
            link = link_html(invitation_address(request, token), f"{said} {_send_text()}")
            return {"invited": link, "note": "", **fill_links(self.invitations, None)}

    def renew(self, request: gr.Request, name: str | None) -> dict[str, Any]:
        """A link with which the owner of an account chooses another password."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._chosen(name)
            token = self.invitations.invite(user.name, by=by)
            said = (
                _(
                    "{name} chooses a new password with this link; until then the old one stays.",
                    name=user.name,
                )
                if user.has_password
                else _("{name} chooses a password with this link.", name=user.name)
            )
            link = link_html(invitation_address(request, token), f"{said} {_send_text()}")
            return {"changed": link, **self._fill(user.name)}

    def rename(self, request: gr.Request, name: str | None, new_name: str | None) -> dict[str, Any]:
        """Give an account another name, and empty the field."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._chosen(name)
            renamed = self.accounts.rename(user.name, new_name or "", by=by)
            return {**self._answer(renamed.name, renamed_text(user.name, renamed.name)), "new_name": ""}

    def disable(self, request: gr.Request, name: str | None) -> dict[str, Any]:
        """Disable an account."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._another(request, name)
            self.accounts.disable(user.name, by=by)
            said = _("{name} is disabled and signed out; grades are kept.", name=user.name)
            return self._answer(user.name, said)

    def enable(self, request: gr.Request, name: str | None) -> dict[str, Any]:
        """Let a disabled account in again."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._chosen(name)
            self.accounts.enable(user.name, by=by)
            return self._answer(user.name, _("{name} can sign in again.", name=user.name))

    def promote(self, request: gr.Request, name: str | None) -> dict[str, Any]:
        """Make somebody administrator of the server."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._chosen(name)
            self.accounts.set_administrator(user.name, True, by=by)
            said = _("{name} is an administrator of the server now.", name=user.name)
            return self._answer(user.name, said)

    def demote(self, request: gr.Request, name: str | None) -> dict[str, Any]:
        """Make an administrator an ordinary user."""
        with shown_to_user(AnnotationError):
            by, user = self._administrator(request), self._another(request, name)
            self.accounts.set_administrator(user.name, False, by=by)
            said = _(
                "{name} is no longer an administrator of the server; roles in projects stay.", name=user.name
            )
            return self._answer(user.name, said)

    def _administrator(self, request: gr.Request) -> User:
        return self.accounts.require(request.username, None)

    def _chosen(self, name: str | None) -> User:
        if not name:
            raise SettingsError(_("No account is chosen: choose one."))
        return self.accounts.user(name)

    def _another(self, request: gr.Request, name: str | None) -> User:
        """The chosen account, if it is not one's own: nobody locks themselves out by mistake."""
        user = self._chosen(name)
        if user.name == request.username:
            raise SettingsError(_("{name} is your own account: ask another administrator.", name=user.name))
        return user

    def _answer(self, name: str, said: str) -> dict[str, Any]:
        return {"changed": done_html(said), **self._fill(name)}

    def _fill(self, chosen: str | None) -> dict[str, Any]:
        accounts = self.accounts.accounts()
        names = [account.user.name for account in accounts]
        user = next((account.user for account in accounts if account.user.name == chosen), None)
        return {
            "accounts": accounts_html(accounts),
            "chosen": gr.Dropdown(choices=names, value=chosen),
            **_user_buttons(user),
            **fill_links(self.invitations, None),
        }


def _send_text() -> str:
    """What to do with a link for one person."""
    return _(
        "Send this link to that person only. It works once, within {days} days, and is not shown again.",
        days=LASTS.days,
    )


def build_users_page(handlers: UsersHandlers, page: gr.Blocks) -> None:
    """Everything on accounts: those that are there on the left, new ones and open links on the right."""
    parts = Parts(closed=gr.HTML(empty_html(_("Opening the accounts.")), elem_id="users-closed"))
    with gr.Row(visible=False, elem_classes="columns", elem_id="users-page") as parts["body"]:
        with gr.Column(scale=6, min_width=320):
            section_heading(_("All accounts"), "users-heading")
            parts["accounts"] = gr.HTML("", elem_id="users-list", js_on_load=None)
            section_heading(_("Change an account"), "users-change-heading")
            parts["chosen"] = chosen = gr.Dropdown([], label=_("Account"), elem_id="users-chosen")
            with gr.Row(elem_id="users-actions"):
                for name, label in CHANGES.items():
                    parts[name] = choice_button(_(label), f"users-{name}")
            with gr.Row(elem_classes="form-row"):
                parts["new_name"] = gr.Textbox(
                    label=_("New name"), max_lines=1, elem_id="users-new-name", scale=1
                )
                rename = gr.Button(_("Rename"), elem_id="users-rename", scale=0, min_width=144)
            parts["changed"] = answer_place("users-changed")
            section_heading(_("What was done"), "users-events-heading")
            parts["events"] = gr.HTML("", elem_id="users-events", js_on_load=None)
        with gr.Column(scale=5, min_width=320):
            section_heading(_("Add an account"), "users-add-heading")
            parts["name"] = gr.Textbox(label=_("Name"), max_lines=1, elem_id="users-name")
            parts["is_administrator"] = gr.Checkbox(
                label=_("Administrator of the server"), elem_id="users-administrator"
            )
            add = gr.Button(_("Add and make a link"), variant="primary", elem_id="users-add")
            hint = _(LINK_HINT, days=LASTS.days)
            gr.HTML(f'<p class="small">{hint}</p>', elem_id="users-hint")
            parts["added"] = answer_place("users-added")
            section_heading(_("Invite to a project"), "users-invite-heading")
            with gr.Row(elem_classes="form-row"):
                parts["project"] = gr.Dropdown([], label=_("Project"), elem_id="users-project", scale=3)
                role = gr.Dropdown(
                    role_choices(), value=Role.RATER.value, label=_("Role"), elem_id="users-role", scale=2
                )
            parts["note"] = note_field("users")
            invite = gr.Button(_("Make a link"), elem_id="users-invite")
            parts["invited"] = answer_place("users-invited")
            links = LinksHandlers(handlers.accounts, handlers.invitations, in_project=False)
            parts |= build_links_section(links, "users").parts

    def on(
        listen: Callable[..., Any], handler: Callable[..., Any], inputs: list[Any], said: str, api_name: str
    ) -> Any:
        filled = parts.fill(handler)
        return answer_event(listen, filled, inputs, parts.outputs, place=parts[said], api_name=api_name)

    opened = page.load(parts.fill(handlers.open), outputs=parts.outputs, api_name="open_users", **QUIETLY)
    keep_reason(opened, parts["closed"])
    buttons = Parts({name: parts[name] for name in CHANGES})
    on_choice(
        chosen,
        buttons.fill(handlers.choose),
        buttons.outputs,
        api_name="choose_user",
        show_progress="hidden",
    )
    new = [parts["name"], parts["is_administrator"]]
    invited = [parts["project"], role, parts["note"]]
    done = [
        on(add.click, handlers.add, new, "added", "add_user"),
        on(parts["name"].submit, handlers.add, new, "added", "add_user_by_enter"),
        on(invite.click, handlers.invite_to_project, invited, "invited", "invite_to_project"),
        on(rename.click, handlers.rename, [chosen, parts["new_name"]], "changed", "rename_user"),
    ]
    for name in CHANGES:
        done.append(on(parts[name].click, getattr(handlers, name), [chosen], "changed", f"{name}_user"))
    for number, event in enumerate(done, start=1):
        name = f"show_server_events_{number}"
        event.success(handlers.show_events, outputs=parts["events"], api_name=name, **QUIETLY)


def accounts_html(accounts: Sequence[Account]) -> str:
    """A table of accounts: whether they sign in, and what they may do where."""
    rows = "".join(map(_account_row, accounts))
    heads = (_("Account"), _("State"), _("Projects"), _("Since"))
    return listing_html(heads, rows, label=_("Accounts"))


def _account_row(account: Account) -> str:
    by_project: dict[str, list[Role]] = {}
    for project, role in account.roles:
        by_project.setdefault(project, []).append(role)
    roles = "<br>".join(
        f"<bdi>{escape(project)}</bdi>: {escape(roles_text(held))}" for project, held in by_project.items()
    )
    return (
        f'<tr><th scope="row" dir="auto">{escape(account.user.name)}</th>'
        f"<td>{escape(_account_state(account.user))}</td>"
        f"<td>{roles or '–'}</td><td>{time_html(account.created_at)}</td></tr>"
    )


def _account_state(user: User) -> str:
    if user.is_disabled:
        return _("disabled")
    words = [_("administrator of the server")] if user.is_administrator else []
    if not user.has_password:
        words.append(_("no password yet"))
    return ", ".join(words) or _("user")


CHANGES = {
    "renew": mark("Make a password link"),
    "disable": mark("Disable"),
    "enable": mark("Enable"),
    "promote": mark("Make administrator"),
    "demote": mark("Make ordinary user"),
}
"""What can be done with an account: the handler, and its button."""


def _user_buttons(user: User | None) -> dict[str, gr.Button]:
    """Those that make sense for this account can be pressed.

    All stay where they are: under a second click must not lie another button.
    """
    there, out = user is not None, user is not None and user.is_disabled
    rules = user is not None and user.is_administrator
    sense = (there and not out, there and not out, out, there and not rules, rules)
    return {name: gr.Button(interactive=makes) for name, makes in zip(CHANGES, sense, strict=True)}
