"""Side notes and their lengths: comments on a pair, notes on a skipped one, whom a link is meant for."""

from __future__ import annotations

from annotation.characters import UNSTORABLE
from annotation.errors import NoteError

LONGEST_COMMENT = 4_000
LONGEST_NOTE = 2_000
LONGEST_NOTE_OF_LINK = 120
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def kept_text(text: str, what: str, longest: int) -> str:
    """The text as it is kept: without space around it, and with a sign for what no database takes.

    Args:
        what: the word for it in the message: "comment".

    Raises:
        NoteError: it is too long.
    """
    kept = clean_text(text).strip()
    if len(kept) > longest:
        raise NoteError(f"The {what} has {len(kept):,} characters: give at most {longest:,}.")
    return kept


def clean_text(text: str) -> str:
    """The text with a sign for what no database takes."""
    return UNSTORABLE.sub(_REPLACEMENT, text)
