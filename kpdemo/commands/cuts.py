"""The option --at: at how many predictions to measure besides 5 and all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

import typer

from kpdemo.commands.options import CallError
from kpdemo.evaluation.metrics import DEEP_CUT, Cut, with_further

AtOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="K",
        help="Also P, R and F1 of the first K predictions; O is as many as there are gold keyphrases. May be "
        "given several times, or as 10,15,O.",
    ),
]

_RANK = re.compile(r"[1-9][0-9]{0,5}")


def read_cuts(written: Iterable[str]) -> tuple[Cut, ...]:
    """Those that are always measured, and the ones of the option.

    Raises:
        CallError: one is none.
    """
    return with_further(_read(part.strip()) for text in written for part in text.split(","))


def _read(part: str) -> Cut:
    if part == str(DEEP_CUT):
        raise CallError(f"--at {part}: R@{part} is that of the candidates, and always given; leave it out.")
    if _RANK.fullmatch(part):
        return int(part)
    if part.upper() == "O":
        return "O"
    if part.upper() == "M":
        return "M"
    raise CallError(f"--at {part!r}: give a number from 1, such as 10, or O for as many as are gold.")
