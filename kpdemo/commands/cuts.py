"""The option --at: at how many predictions to measure besides 5 and all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from kpdemo.commands.options import CallError
from kpdemo.errors import InputError
from kpdemo.evaluation.cuts import read_cuts
from kpdemo.evaluation.metrics import Cut, with_further

AtOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="K",
        help="Also report P, R and F1 of the first K predictions; O is the number of gold keyphrases. May "
        "be given several times, or as 10,15,O.",
    ),
]


def cuts_of_option(written: Iterable[str]) -> tuple[Cut, ...]:
    """Those that are always measured, and the ones of the option.

    Raises:
        CallError: one is none.
    """
    try:
        return with_further(cut for text in written for cut in read_cuts(text))
    except InputError as error:
        raise CallError(f"--at {error}") from None
