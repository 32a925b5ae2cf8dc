"""What text from outside may hold, and how much of it a message shows."""

from __future__ import annotations

import re
from decimal import Decimal

HALF = re.compile("[\ud800-\udfff]")
"""Half a character: JSON can write one, UTF-8 cannot."""
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""What no database takes."""
MOST_SHOWN = 60
BEGINNING_LENGTH = 80
"""Characters of a text that stand for it in a list."""
LONG_BEGINNING = 160
"""The same where the list has a row's width for them."""


def can_be_stored(text: str) -> bool:
    """Whether a database takes the text; one that it does not take is nowhere in it."""
    return UNSTORABLE.search(text) is None


def shown(value: object) -> str:
    """A value that is wrong, short enough for a sentence."""
    return shortened(str(value) if isinstance(value, Decimal) else repr(value))


def shortened(text: str, length: int = MOST_SHOWN) -> str:
    return text if len(text) <= length else f"{text[:length].rstrip()}…"


def beginning(text: str, length: int = BEGINNING_LENGTH) -> str:
    """The first words of a text on one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length and len(text) < read_length(length) else f"{line[:length].rstrip()}…"


def read_length(length: int) -> int:
    """How much of a text `beginning` looks at: white space may take most of it."""
    return 4 * length + 1
