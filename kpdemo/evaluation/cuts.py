"""The cut-offs to measure at in addition to 5 and M, as users write them: "10, 15, O"."""

from __future__ import annotations

import re

from kpdemo.errors import InputError
from kpdemo.evaluation.metrics import DEEP_CUT, Cut
from kpdemo.text import shortened

_RANK = re.compile(r"[1-9][0-9]{0,5}")
_LONGEST_SHOWN = 40


def read_cuts(text: str) -> list[Cut]:
    """The cut-offs of a list with commas.

    Raises:
        InputError: an item is not a cut-off.
    """
    return [_read(part.strip()) for part in text.split(",")]


def _read(part: str) -> Cut:
    if part == str(DEEP_CUT):
        raise InputError(f"{part}: R@{part} is computed on the candidates and always reported; leave it out.")
    if _RANK.fullmatch(part):
        return int(part)
    if part.upper() == "O":
        return "O"
    if part.upper() == "M":
        return "M"
    shown = shortened(part, _LONGEST_SHOWN)
    raise InputError(
        f"{shown!r}: give a number from 1 to 999999, such as 10, or O for the number of gold keyphrases."
    )
