"""Many people at once: links for a list of names, one link for a class or crowd, and who did how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import gradio as gr

from annotation.changes import print_settings
from annotation.crowds import NAMES, CrowdSettings, WorkerLine, check_crowd_settings, read_names
from annotation.errors import AnnotationError, SettingsError
from annotation.services.accounts import LASTS, AccountService, InvitationService
from annotation.services.crowds import CrowdService, SharedLinkLine
from annotation.services.projects import ProjectService
from annotation.translation import _, mark, ngettext
from annotation.types import Role
from annotation.ui.accounts import choice_button, fill_links, invitation_address, link_html, page_address
from annotation.ui.figures import csv_button, file_name, listing_html
from annotation.ui.widgets import (
    Filling,
    Keeping,
    Parts,
    admit_member,
    answer_event,
    answer_place,
    build_kept_form,
    on_choice,
    saved_html,
    whole_field,
    whole_of,
)
from annotation.ui.wording import parse_role, role_choices, time_html
from annotation.web.downloads import workers_address
from annotation.wording import quote_value
from kpdemo.io.tables import spreadsheet_csv
from kpdemo.translation import write_number
from kpdemo.ui.html import escape, group_digits
from kpdemo.ui.widgets import done_html, empty_html, section_heading, shown_to_user, unseen_box

PLACES = 30
DAYS = 14
END_FORMAT = "%Y-%m-%d %H:%M"
PROLIFIC = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
"""What Prolific fills in."""
MANY_SAY = mark(
    "Makes a personal link for each, which can be used once within {days} days. Nothing is sent: save the "
    "table and send the links. If one of the names cannot be used, no links are made."
)
SHARED_SAY = mark(
    "Everybody who opens a shared link becomes a rater of this project, and nothing else, until its places "
    "are taken or it ends. People choose a name; workers of Prolific or MTurk are known by the id in the "
    "address, so that the same worker comes back to the same account."
)
END_SAYS = mark(
    "Shown once the share is graded; the other code is for those who do not pass the training or find no "
    "pairs left. {id} in a code becomes letters of each worker's own, {code} in the address the code."
)
NO_LINKS = mark("No shared links yet.")
NOBODY_CAME = mark("Nobody has come by a shared link yet.")


@dataclass(frozen=True)
class CrowdHandlers:
    accounts: AccountService
    invitations: InvitationService
    projects: ProjectService
    crowds: CrowdService

    def show(self, request: gr.Request) -> tuple[Any, ...]:
        """The shared links, the choice of one, and who did how much."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            return self._fill(project_id)

    def open(self, request: gr.Request) -> tuple[Any, ...]:
        """What is told at the end, and a usual end for a link."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            told = self.crowds.settings(project_id)
            usual = f"{datetime.now(UTC) + timedelta(days=DAYS):{END_FORMAT}}"
            return usual, print_settings(told), *astuple(told)

    def invite_many(self, request: gr.Request, text: str | None, role: str) -> tuple[Any, ...]:
        """A personal link for each name, or none where one cannot be used."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            names, chosen = read_names(text or ""), parse_role(role)
            tokens = self.invitations.invite_many(project_id, chosen, names, by=user)
            links = [
                (name, invitation_address(request, token)) for name, token in zip(names, tokens, strict=True)
            ]
            project = self.projects.get(project_id).name
            return (
                many_links_html(links, project),
                gr.Textbox(value=""),
                *fill_links(self.invitations, project_id).values(),
            )

    def share(self, request: gr.Request, most: object, end: str | None, note: str | None) -> tuple[Any, ...]:
        """A link by which many come in."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            places = whole_of(most, mark("number of people"))
            token = self.crowds.make_link(project_id, places, read_end(end), note=note or "", by=user)
            address = page_address(request, f"/join/{token}")
            said = ngettext(
                "The first person who uses this link becomes a rater. It is not shown again.",
                "The first {count} people who use this link become raters. It is not shown again.",
                places,
                count=group_digits(places),
            )
            shown = link_html(address, said) + link_html(
                f"{address}{PROLIFIC}", _("The same link for Prolific:")
            )
            return shown, gr.Textbox(value=""), *self._fill(project_id)

    def choose(self, request: gr.Request, link: int | None) -> gr.Button:
        """Whether there is a link to revoke."""
        with shown_to_user(AnnotationError), admit_member(request, self.accounts, Role.ADMINISTRATOR):
            return gr.Button(interactive=link is not None)

    def revoke(self, request: gr.Request, link: int | None) -> tuple[Any, ...]:
        """Let nobody in by a shared link any more."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            if link is None:
                raise SettingsError(_("No shared link is chosen: choose one."))
            self.crowds.revoke_link(project_id, int(link), by=user)
            said = _("The shared link is revoked: nobody comes in by it any more. Who came stays a rater.")
            return done_html(said), *self._fill(project_id)

    def save(self, request: gr.Request, seen: str, *values: str | None) -> tuple[Any, ...]:
        """Change what is told at the end; what somebody else changed meanwhile comes into the fields."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            mine = check_crowd_settings(CrowdSettings(*(value or "" for value in values)))
            kept = self.crowds.change(project_id, mine, seen=seen, by=user)
        fields = [gr.skip() for _value in values] if kept == mine else astuple(kept)
        said = _("Saved. Who is done sees it when they open their page again.")
        return saved_html(said, is_alone=kept == mine), print_settings(kept), *fields

    def _fill(self, project_id: int) -> tuple[Any, ...]:
        links = self.crowds.links(project_id)
        lines = self.crowds.workers(project_id)
        choices = [(_link_label(link), link.number) for link in links if link.state != "revoked"]
        return (
            shared_links_html(links),
            gr.Row(visible=bool(choices)),
            gr.Dropdown(choices=choices, value=None),
            gr.Button(interactive=False),
            workers_html(lines, project_id),
        )


def read_end(text: str | None) -> datetime:
    """The moment that a person typed, in UTC.

    Raises:
        SettingsError: it is none.

    >>> read_end("2026-12-31 18:00").isoformat()
    '2026-12-31T18:00:00+00:00'
    """
    try:
        at = datetime.fromisoformat((text or "").strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):  # the first day of year 1 begins before it somewhere
        raise SettingsError(
            _(
                "The end is a date and time such as 2026-12-31 18:00, not {value}.",
                value=quote_value(text or ""),
            )
        ) from None


def many_links_html(links: Sequence[tuple[str, str]], project: str) -> str:
    """The links in a table, with a button that saves it: they are not shown again."""
    content = spreadsheet_csv([("name", "link"), *links])
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(name)}</th><td><code>{escape(address)}</code></td></tr>'
        for name, address in links
    )
    said = ngettext(
        "{count} link made. It is not shown again: save the table now.",
        "{count} links made. They are not shown again: save the table now.",
        len(links),
        count=group_digits(len(links)),
    )
    button = csv_button(f"{file_name(project, 'links')}.csv", content, _("the links"))
    table = listing_html((_("For"), _("Link")), rows, label=_("Personal links"))
    return f'<div class="note" role="status"><p>{escape(said)} {button}</p>{table}</div>'


def _link_label(link: SharedLinkLine) -> str:
    told = {"number": link.number, "came": link.came, "most": link.most}
    if not link.note:
        return _("number {number}: {came} of {most} came", **told)
    return _("{note}, number {number}: {came} of {most} came", note=link.note, **told)


def shared_links_html(links: Sequence[SharedLinkLine]) -> str:
    """How many came by each, and until when it is open."""
    if not links:
        return empty_html(_(NO_LINKS))
    heads = (_("For"), _("Came"), _("State"), _("Ends"))
    return listing_html(heads, "".join(map(_link_html, links)), numbers=(1,), label=_("Shared links"))


def _link_html(link: SharedLinkLine) -> str:
    by = link.created_by or _("command line")
    return (
        f'<tr><th scope="row" dir="auto">{escape(link.note or _("no note"))}'
        f"<small>{escape(_('number {number}, by {name}', number=link.number, name=by))}</small></th>"
        f'<td class="number">{share_of_text(link.came, link.most)}</td>'
        f"<td>{escape(_(link.state))}</td><td>{time_html(link.expires_at)}</td></tr>"
    )


def workers_html(lines: Sequence[WorkerLine], project_id: int) -> str:
    """Who did how much, to approve payments by."""
    if not lines:
        return empty_html(_(NOBODY_CAME))
    rows = "".join(map(_worker_html, lines))
    heads = (
        *(_("Worker"), _("Started"), _("Finished"), _("Pairs"), _("Minutes"), _("Checks passed")),
        *(_("State"), _("Code")),
    )
    address = escape(workers_address(project_id))
    table = listing_html(heads, rows, numbers=(3, 4, 5), label=_("Who did how much"))
    return f'{table}<p><a href="{address}" download>{_("Save this table as CSV")}</a></p>'


def _worker_html(line: WorkerLine) -> str:
    source = _(NAMES[line.source])
    account = f"{source}, {line.account}" if line.worker else source
    return (
        f'<tr><th scope="row" dir="auto">{escape(line.worker or line.account)}'
        f"<small>{escape(account)}</small></th><td>{time_html(line.started_at)}</td>"
        f"<td>{time_html(line.ended_at) if line.ended_at else '–'}</td>"
        f'<td class="number">{group_digits(line.pairs)}</td>'
        f'<td class="number">{write_number(f"{line.minutes:.1f}")}</td>'
        f'<td class="number">{share_of_text(line.checks_passed, line.checks)}</td>'
        f"<td>{escape(_(line.state))}</td>"
        f"<td><code>{escape(line.code or '–')}</code></td></tr>"
    )


def share_of_text(part: int, whole: int) -> str:
    """2 of 3."""
    return _("{done} of {all}", done=group_digits(part), all=group_digits(whole))


@dataclass(frozen=True)
class CrowdSection:
    settings: Filling
    """Of the fields that a person types into."""
    shown: Filling
    changed: tuple[Any, ...]
    """The events that add links, which the section of members lists."""


def build_crowd_section(handlers: CrowdHandlers, links: Parts) -> CrowdSection:
    """To be made below the members.

    Args:
        links: the list of personal links, which `invite_many` fills too.
    """
    with gr.Accordion(_("Invite many at once"), open=False, elem_id="members-many"):
        says = _(MANY_SAY, days=LASTS.days)
        gr.HTML(f'<p class="small">{escape(says)}</p>', elem_id="many-says")
        names = gr.Textbox(
            label=_("Names or addresses"),
            info=_("One a line, or with commas or semicolons between"),
            lines=5,
            max_lines=16,
            elem_id="many-names",
        )
        with gr.Row(elem_classes="form-row"):
            role = gr.Dropdown(role_choices(), value=Role.RATER.value, label=_("Role"), elem_id="many-role")
            invite = gr.Button(_("Make the links"), elem_id="many-invite", min_width=120)
        made = answer_place("many-made")
    with gr.Accordion(_("A shared link, for a class or a crowd"), open=False, elem_id="crowd") as part:
        gr.HTML(f'<p class="small">{escape(_(SHARED_SAY))}</p>', elem_id="crowd-says")
        with gr.Row(elem_classes="form-row"):
            most = whole_field(PLACES, label=_("People"), info=_("At most"), elem_id="crowd-most")
            end = gr.Textbox(label=_("Ends"), info=_("Date and time, UTC"), max_lines=1, elem_id="crowd-end")
            note = gr.Textbox(
                label=_("For whom (optional)"), info=_("Only you see it"), max_lines=1, elem_id="crowd-note"
            )
            share = gr.Button(
                _("Make a shared link"), variant="primary", elem_id="crowd-share", min_width=140
            )
        shared = answer_place("crowd-shared")
        listing = gr.HTML("", elem_id="crowd-links", elem_classes="open-links", js_on_load=None)
        with gr.Row(visible=False, elem_classes="form-row") as revoking:
            link = gr.Dropdown([], label=_("Shared link"), elem_id="crowd-link", scale=3)
            revoke = choice_button(_("Revoke"), "crowd-revoke")
        section_heading(_("At the end"), "crowd-end-heading")
        gr.HTML(f'<p class="small">{escape(_(END_SAYS))}</p>', elem_id="crowd-end-says")
        kept = build_kept_form("crowd")
        with gr.Row(elem_classes="form-row"):
            code = gr.Textbox(label=_("Completion code"), max_lines=1, elem_id="crowd-code")
            other = gr.Textbox(label=_("Code for others"), max_lines=1, elem_id="crowd-other-code")
        with gr.Row(elem_classes="form-row"):
            back = gr.Textbox(label=_("Return address"), max_lines=1, elem_id="crowd-return", scale=2)
            contact = gr.Textbox(label=_("Whom to ask"), max_lines=1, elem_id="crowd-contact")
            save = gr.Button(_("Save"), elem_id="crowd-save", min_width=96)
        seen = unseen_box("crowd-seen")
        saved = answer_place("crowd-saved")
        section_heading(_("Who did how much"), "crowd-workers-heading")
        workers = gr.HTML("", elem_id="crowd-workers", elem_classes="open-links", js_on_load=None)
        again = gr.Button(_("Refresh"), size="sm", elem_id="crowd-again")
    shown = [listing, revoking, link, revoke, workers]
    told = [code, other, back, contact]
    inviting = answer_event(
        invite.click,
        handlers.invite_many,
        [names, role],
        [made, names, *links.outputs],
        api_name="invite_many",
    )
    answer_event(
        share.click, handlers.share, [most, end, note], [shared, note, *shown], api_name="make_shared_link"
    )
    on_choice(link, handlers.choose, revoke, api_name="choose_shared_link", show_progress="hidden")
    answer_event(revoke.click, handlers.revoke, link, [shared, *shown], api_name="revoke_shared_link")
    end_form = [seen, *told]
    saving = answer_event(
        save.click, handlers.save, end_form, [saved, *end_form], js=kept.sends, api_name="save_end"
    )
    filling = Filling(handlers.show, shown, "show_crowd")
    filling.when(again.click, name="show_crowd_again")
    keeping = Keeping(kept, told, [saving], around=[(part, {"open": True})], began=seen)
    settings = Filling(handlers.open, [end, *end_form], "open_crowd", keeping=keeping)
    return CrowdSection(settings, filling, (inviting,))
