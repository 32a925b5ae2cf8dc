"""How figures, roles and moments are written on the pages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from annotation.types import Role
from kpdemo.ui.widgets import counted as counted
from kpdemo.ui.widgets import escape
from kpdemo.ui.widgets import grouped as grouped

ROLE_ORDER = (Role.ADMINISTRATOR, Role.ADJUDICATOR, Role.EDITOR, Role.WRITER, Role.RATER)


def figure(number: float, decimals: int = 3, *, sign: str = "") -> str:
    """0.899, or −0.120 with a minus as long as a plus; "+" as `sign` writes that one too."""
    return f"{number:{sign}.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def roles_text(roles: Iterable[Role]) -> str:
    """The highest first: administrator, rater."""
    held = set(roles)
    return ", ".join(role.value for role in ROLE_ORDER if role in held)


def time_html(moment: datetime) -> str:
    """A moment; the page's script writes it as the reader's clock shows it."""
    return f'<time datetime="{moment.isoformat()}">{moment:%Y-%m-%d %H:%M} UTC</time>'


def progress_html(done: int, total: int, text: str) -> str:
    """A bar with what it says beside it."""
    share = 100 * done / total if total else 0.0
    return (
        f'<span class="progress"><span class="progress-bar" aria-hidden="true">'
        f'<span style="width:{share:.1f}%"></span></span>{escape(text)}</span>'
    )
