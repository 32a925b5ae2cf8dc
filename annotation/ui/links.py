"""Links that let somebody in: shown once, with a button to copy; then only whom they are for."""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr

from annotation.services.open_invitations import OpenInvitation
from annotation.ui.wording import time_html
from kpdemo.ui.widgets import empty_html, escape

NO_OPEN_LINKS = "No links are open. A link is listed here until it is used, ends or is revoked."


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
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("For", "Made", "By", "Valid until"))
    rows = "".join(_row_html(link) for link in links)
    return (
        f'<div class="scrolling"><table class="listing"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def link_for(link: OpenInvitation) -> str:
    """Who may use it."""
    return "whoever sets up the server" if link.is_set_up else link.user_name or "whoever opens it first"


def link_gives(link: OpenInvitation) -> str:
    """What it gives them."""
    if link.is_set_up:
        return "administrator of the server"
    return "a password" if link.role is None else f"{link.role.value} in {link.project}"


def _row_html(link: OpenInvitation) -> str:
    return (
        f'<tr><th scope="row" dir="auto">{escape(link_for(link))}<small>{escape(link_gives(link))}</small>'
        f"</th><td>{time_html(link.created_at)}</td>"
        f'<td dir="auto">{escape(link.created_by or "command line")}</td>'
        f"<td>{time_html(link.expires_at)}</td></tr>"
    )
