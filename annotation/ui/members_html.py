"""What the section on members says: who is in the project, and how to grade there oneself. No Gradio."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from annotation.consent import Consent
from annotation.projects import Member
from annotation.types import Role
from annotation.ui.tables import listing_html
from annotation.ui.wording import roles_text, time_html
from kpdemo.ui.widgets import empty_html, escape

NOBODY = "No members yet. Add an account, or invite somebody by a link."
JOIN_HINT = (
    "Makes you a rater of the project. Skip pairs whose grades you have seen. Raters should not adjudicate "
    "pairs they may still grade, so Adjudicate and Agreement do not show you those."
)


def joined_html(project_id: int) -> str:
    """That the user is a rater now, and where to grade."""
    return (
        '<p class="note done" role="status">You are a rater of this project now. '
        f'<a href="/annotate/rate?project={project_id}">Grade pairs</a></p>'
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
        return empty_html(NOBODY)
    heads = ("Account", "Role", "Signs in", *(() if consents is None else ("Agreed",)))
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(member.user.name)}</th>'
        f"<td>{escape(roles_text(member.roles))}"
        f"{' (paused)' if Role.RATER in member.roles and member.user.id in paused else ''}</td>"
        f"<td>{escape(_state(member))}</td>"
        f"{'' if consents is None else _agreed(member, consents.get(member.user.id), is_asked=is_asked)}</tr>"
        for member in members
    )
    return listing_html(heads, rows, label="Members")


def _agreed(member: Member, consent: Consent | None, *, is_asked: bool) -> str:
    """A cell that says when; those are asked who rate or write."""
    if consent is None:
        lacks = is_asked and member.roles & {Role.RATER, Role.WRITER}
        return f"<td>{'not yet' if lacks else '–'}</td>"
    is_earlier = is_asked and not consent.is_current
    return f"<td>{time_html(consent.at)}{', to an earlier text' if is_earlier else ''}</td>"


def _state(member: Member) -> str:
    if member.user.is_disabled:
        return "disabled"
    return "yes" if member.user.has_password else "not yet: no password"
