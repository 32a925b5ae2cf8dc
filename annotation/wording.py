"""How texts, names, notes and figures are checked, kept and written in sentences."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from decimal import Decimal

from annotation.errors import NoteError, SettingsError
from annotation.translation import _, mark
from kpdemo.text import shorten
from kpdemo.translation import write_number

HALF = re.compile("[\ud800-\udfff]")
"""Half a character: JSON can write one, UTF-8 cannot."""
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""What no database takes."""
MOST_SHOWN = 61
BEGINNING_LENGTH = 80
"""Characters of a text that stand for it in a list."""
LONG_BEGINNING = 160
"""The same where the list has a row's width for them."""


def can_be_stored(text: str) -> bool:
    """Whether a database takes the text; one that it does not take is nowhere in it."""
    return UNSTORABLE.search(text) is None


def quote_value(value: object) -> str:
    """A value that is wrong, short enough for a sentence."""
    return shorten(str(value) if isinstance(value, Decimal) else repr(value), MOST_SHOWN)


def beginning(text: str, length: int = BEGINNING_LENGTH) -> str:
    """The first words of a text on one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length and len(text) < read_length(length) else f"{line[:length].rstrip()}…"


def read_length(length: int) -> int:
    """How much of a text `beginning` looks at: white space may take most of it."""
    return 4 * length + 1


LONGEST_COMMENT = 4_000
LONGEST_NOTE = 2_000
LONGEST_NOTE_OF_LINK = 120
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def normalise_note(text: str, what: str, longest: int) -> str:
    """The text as it is kept: without space around it, and with a sign for what no database takes.

    Args:
        what: the word for it in the message: "comment".

    Raises:
        NoteError: it is too long.
    """
    kept = clean_text(text).strip()
    if len(kept) > longest:
        raise NoteError(
            _(
                "The {what} has {length} characters: give at most {most}.",
                what=_(what),
                length=f"{len(kept):,}",
                most=f"{longest:,}",
            )
        )
    return kept


def clean_text(text: str) -> str:
    """The text with a sign for what no database takes."""
    return UNSTORABLE.sub(_REPLACEMENT, text)


MONTHS = (
    *(mark("January"), mark("February"), mark("March"), mark("April"), mark("May"), mark("June")),
    *(mark("July"), mark("August"), mark("September"), mark("October"), mark("November"), mark("December")),
)


def write_day(moment: datetime) -> str:
    """A day as the language writes it, without the year: "3 December"."""
    return _("{day} {month}", day=moment.day, month=_(MONTHS[moment.month - 1]))


def write_date(moment: datetime) -> str:
    """The same with the year: "3 December 2026"."""
    month = _(MONTHS[moment.month - 1])
    return _("{day} {month} {year}", day=moment.day, month=month, year=moment.year)


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


def name_order(name: str) -> list[tuple[int, str]]:
    """Sorts Rater 10 after Rater 9."""
    pieces = re.split(r"(\d+)", name.casefold())
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in pieces]


def normalise_name(name: str, what: str) -> str:
    """The name in NFC, without space around it, single spaces within.

    Raises:
        SettingsError: it holds a character that nobody would see; `what` begins the sentence.
    """
    kept = unicodedata.normalize("NFC", name.strip())
    for character in kept:
        if unicodedata.category(character) in _FORBIDDEN and character not in _JOINERS:
            code = f"U+{ord(character):04X}"
            raise SettingsError(
                _("{what} holds the invisible character {code}: leave it out.", what=what, code=code)
            )
    return " ".join(kept.split())


def check_name(name: str) -> str:
    """The name as it is kept: composed, without space around it, single spaces within.

    Raises:
        SettingsError: it cannot be used.
    """
    kept = normalise_name(name, _("The name"))
    if not any(unicodedata.category(character)[0] in "LNPS" for character in kept):
        raise SettingsError(_("The name is empty: give at least one letter."))
    if len(kept) > LONGEST_NAME:
        raise SettingsError(
            _("The name has {length} characters: give at most {most}.", length=len(kept), most=LONGEST_NAME)
        )
    if len(name_key(kept)) > LONGEST_KEY:
        raise SettingsError(_("The name is too long when its ligatures are written out: shorten it."))
    return kept


def plain_name(project: str) -> str:
    """The name of a project as files are called.

    >>> [plain_name(name) for name in ("Lexical levels (v1.2)", "../", "語" * 80)] == [
    ...     "Lexical-levels-v1.2", "project", "語" * 60]
    True
    """
    kept = _NOT_IN_FILE_NAMES.sub("-", project).strip("-.")
    return kept[:_LONGEST_IN_FILE_NAMES].rstrip("-.") or "project"


LARGEST_WHOLE = 2**31 - 1
"""Ids are 32 bits wide in the database; nothing is counted further."""


def is_id(number: int) -> bool:
    """Whether a row can have it; the database refuses to look for others."""
    return 0 < number <= LARGEST_WHOLE


def whole_in(text: str) -> int | None:
    """The number that stands there in plain digits; None when there is none, or one above `LARGEST_WHOLE`.

    >>> [whole_in(text) for text in ("17", "²", "٣", "-1", "9" * 5000, "")]
    [17, None, None, None, None, None]
    """
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(LARGEST_WHOLE)):
        return None
    return int(text) if int(text) <= LARGEST_WHOLE else None


UNKNOWN = "–"


def figure_text(number: float | None, decimals: int = 3, *, sign: str = "") -> str:
    """The number with so many decimals, never -0.000; "+" as `sign` writes that one too.

    >>> [figure_text(number, 2) for number in (0.899, -0.12, -0.001, None)]
    ['0.90', '-0.12', '0.00', '–']
    >>> figure_text(-0.0004, sign="+")
    '+0.000'
    """
    return UNKNOWN if number is None else f"{number:{sign}z.{decimals}f}"


def range_text(low: float | None, high: float | None, *, sign: str = "") -> str:
    """An interval, such as 0.890 to 0.907.

    >>> range_text(0.89, 0.907), range_text(None, None)
    ('0.890 to 0.907', '–')
    """
    if low is None or high is None:
        return UNKNOWN
    return f"{figure_text(low, sign=sign)} to {figure_text(high, sign=sign)}"


def share_text(share: float, decimals: int = 0) -> str:
    """A share of 1 in percent: 100 % is all and 0 % none, whatever rounding would make of nearly so.

    >>> [share_text(share) for share in (0.0, 0.004, 0.5, 0.996, 1.0)]
    ['0 %', '1 %', '50 %', '99 %', '100 %']
    """
    percent = 100 * share
    if 0 < share < 1:
        smallest = 10.0**-decimals
        percent = min(max(percent, smallest), 100 - smallest)
    return f"{write_number(f'{percent:.{decimals}f}')} %"
