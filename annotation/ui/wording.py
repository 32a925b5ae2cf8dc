"""How figures, roles and moments are written on the pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from annotation.assignment import Progress
from annotation.errors import SettingsError
from annotation.figures import figure_text
from annotation.types import Role
from kpdemo.ui.widgets import counted as counted
from kpdemo.ui.widgets import escape
from kpdemo.ui.widgets import grouped as grouped

ROLE_ORDER = (Role.ADMINISTRATOR, Role.ADJUDICATOR, Role.EDITOR, Role.WRITER, Role.RATER)
ROLE_CHOICES = [(role.value, role.value) for role in reversed(ROLE_ORDER)]
_QUOTED_OR_GROUPED = re.compile(r"'[^']*'|“[^”]*”|(?<![\d,.])\d{1,3}(?:,\d{3})+(?!\d|[,.]\d)")


def figure(number: float, decimals: int = 3, *, sign: str = "") -> str:
    """0.899, or −0.120 with a minus as long as a plus, never −0.000; "+" as `sign` writes that one too."""
    return figure_text(number, decimals, sign=sign).replace("-", "\N{MINUS SIGN}")


def regrouped(sentence: str) -> str:
    """A sentence of the command line too, its numbers grouped as those of pages; what it quotes stays.

    >>> regrouped("1,183 of 2,000 pairs have no gold grade yet, the first is 'p-1,000'")
    "1\u202f183 of 2\u202f000 pairs have no gold grade yet, the first is 'p-1,000'"
    """
    return _QUOTED_OR_GROUPED.sub(_regrouped, sentence)


def _regrouped(found: re.Match[str]) -> str:
    return found[0] if found[0][0] in "'“" else grouped(int(found[0].replace(",", "")))


def all_withdrawn_text(withdrawn: int) -> str:
    """Of a project that has no other pairs."""
    what = "Its only pair is" if withdrawn == 1 else f"All {grouped(withdrawn)} pairs are"
    return f"{what} withdrawn: restore what should count under All pairs on the project's page."


def roles_text(roles: Iterable[Role]) -> str:
    """The highest first: administrator, rater."""
    held = set(roles)
    return ", ".join(role.value for role in ROLE_ORDER if role in held)


def role_named(text: str) -> Role:
    """The role that a form sent.

    Raises:
        SettingsError: there is none of that name.
    """
    try:
        return Role(text)
    except ValueError:
        raise SettingsError(f"There is no role {text!r}: choose one of {roles_text(Role)}.") from None


def time_html(moment: datetime) -> str:
    """A moment; the page's script writes it as the reader's clock shows it."""
    return f'<time datetime="{moment.isoformat()}">{moment:%Y-%m-%d %H:%M} UTC</time>'


def time_in(moment: datetime, zone: str | None) -> str:
    """A moment where no HTML can stand, by the clocks of a time zone such as Europe/Paris; else in UTC.

    >>> noon = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
    >>> [time_in(noon, zone) for zone in ("Asia/Seoul", "", "../nowhere")]
    ['2026-03-01 21:00', '2026-03-01 12:00 UTC', '2026-03-01 12:00 UTC']
    """
    try:
        return f"{moment.astimezone(ZoneInfo(zone or '')):%Y-%m-%d %H:%M}"
    except (KeyError, ValueError, OSError):
        return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def graded_text(progress: Progress) -> str:
    """What a rater has done, and how much they can still have: fewer as the others grade."""
    done = f"You graded {counted(progress.rated, 'pair')}"
    left = progress.total - progress.rated
    return f"{done}, up to {grouped(left)} left" if left > 0 else done


def held_back_text(pairs: int) -> str:
    """That some pairs are hidden from adjudicators and administrators who also grade."""
    are, they, them = ("is", "it is", "it") if pairs == 1 else ("are", "they are", "them")
    return (
        f"{counted(pairs, 'pair')} {are} held back because you may still grade {them}: {they} shown once you "
        f"can no longer be given {them}."
    )


def progress_html(done: int, total: int, text: str) -> str:
    """A bar with what it says beside it."""
    share = 100 * done / total if total else 0.0
    return (
        f'<span class="progress"><span class="progress-bar" aria-hidden="true">'
        f'<span style="width:{share:.1f}%"></span></span>{escape(text)}</span>'
    )
