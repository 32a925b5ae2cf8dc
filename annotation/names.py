"""Names of accounts and projects: which can be used, which are the same, and what files are called."""

from __future__ import annotations

import re
import unicodedata

from annotation.errors import SettingsError

LONGEST_NAME = 80
LONGEST_KEY = 240
"""A few characters grow when they are written out; the database has room for this many."""

_JOINERS = "\u200c\u200d"
"""Persian and emoji need them inside a word; all other invisible characters only deceive."""

_FORBIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")
_LONGEST_IN_FILE_NAMES = 60
"""Characters, of four bytes at most: a file system takes names of 255 bytes."""


def can_be_name(text: str) -> bool:
    """Whether an account or project can have a name written so: none holds a tab or a NUL."""
    return not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def name_key(name: str) -> str:
    """What two spellings of one name share: Ana, ANA and full-width Ａｎａ are one account."""
    seen = "".join(character for character in name.strip() if unicodedata.category(character) != "Cf")
    folded = unicodedata.normalize("NFKC", seen).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def composed(name: str, what: str) -> str:
    """The name in NFC, without space around it, single spaces within.

    Raises:
        SettingsError: it holds a character that nobody would see; `what` begins the sentence.
    """
    kept = unicodedata.normalize("NFC", name.strip())
    for character in kept:
        if unicodedata.category(character) in _FORBIDDEN and character not in _JOINERS:
            code = f"U+{ord(character):04X}"
            raise SettingsError(f"{what} holds the invisible character {code}: leave it out.")
    return " ".join(kept.split())


def check_name(name: str) -> str:
    """The name as it is kept: composed, without space around it, single spaces within.

    Raises:
        SettingsError: it cannot be used.
    """
    kept = composed(name, "The name")
    if not any(unicodedata.category(character)[0] in "LNPS" for character in kept):
        raise SettingsError("The name is empty: give at least one letter.")
    if len(kept) > LONGEST_NAME:
        raise SettingsError(f"The name has {len(kept)} characters: give at most {LONGEST_NAME}.")
    if len(name_key(kept)) > LONGEST_KEY:
        raise SettingsError("The name is too long when its ligatures are written out: shorten it.")
    return kept


def plain_name(project: str) -> str:
    """The name of a project as files are called.

    >>> [plain_name(name) for name in ("Lexical levels (v1.2)", "../", "語" * 80)] == [
    ...     "Lexical-levels-v1.2", "project", "語" * 60]
    True
    """
    kept = _NOT_IN_FILE_NAMES.sub("-", project).strip("-.")
    return kept[:_LONGEST_IN_FILE_NAMES].rstrip("-.") or "project"
