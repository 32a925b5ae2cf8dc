"""Links that let somebody in, as a page shows them: once, with a button to copy."""

from __future__ import annotations

import gradio as gr

from kpdemo.ui.widgets import escape


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
