"""The text that raters and writers agree to before they work, and that they did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from annotation.translation import ngettext


@dataclass(frozen=True, slots=True)
class ConsentText:
    """What somebody is asked to agree to."""

    text: str
    """Markdown."""
    sha256: str
    is_changed: bool
    """They agreed to an earlier text of the project."""


@dataclass(frozen=True, slots=True)
class Consent:
    """That somebody agreed, here and signed in."""

    at: datetime
    sha256: str
    """Of the text."""
    is_current: bool
    """It is the project's text as it reads now."""


def text_hash(text: str) -> str | None:
    """SHA-256 of the text in UTF-8, 64 hexadecimal digits; None where there is nothing to agree to."""
    return sha256(text.encode()).hexdigest() if text else None


def describe_renewal(people: int) -> str:
    """How many have to agree to a changed text; nothing where nobody has to."""
    if not people:
        return ""
    return ngettext(
        "{count} rater or writer has to agree again before they go on; “My projects” tells them so.",
        "{count} raters and writers have to agree again before they go on; “My projects” tells them so.",
        people,
        count=f"{people:,}",
    )
