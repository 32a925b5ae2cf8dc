"""The options of a project's settings, as `project create` and `project change` take them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from annotation.commands.options import decimal_option
from annotation.commands.project_views import Order
from annotation.projects import DEFAULTS
from db.command import CallError

_LARGEST_FILE = 1_000_000

TypesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TYPE,…",
        help=f"All comparison types of the project; for a new one by default {', '.join(DEFAULTS.types)}.",
    ),
]
RatersOption = Annotated[
    int | None, typer.Option(metavar="K", help="How many raters grade each pair, 1 to 20.")
]
_NEVER = Decimal("Infinity")
"""The threshold that `none` stands for: no two ratings differ so much."""


def threshold_option(text: str) -> Decimal:
    """The number of grades, or what stands for "none", in capitals or not.

    Raises:
        BadParameter: it is neither.
    """
    if str(text).strip().lower() == "none":  # a default comes as a number
        return _NEVER
    try:
        return decimal_option(text)
    except typer.BadParameter:
        raise typer.BadParameter(f"{text!r} is neither a number, such as 1, nor none") from None


ThresholdOption = Annotated[
    Decimal | None,
    typer.Option(
        metavar="GRADES",
        parser=threshold_option,
        help="Flag pairs with two ratings that differ by this much or more, 0.25 to 4; “none” for no "
        "adjudication.",
    ),
]
StepOption = Annotated[
    Decimal | None,
    typer.Option(metavar="GRADES", parser=decimal_option, help="Step between grades: 0.25, 0.5 or 1."),
]
GuidelinesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Markdown file shown to raters; an empty file for none."),
]
SeedOption = Annotated[int | None, typer.Option(metavar="N", help="Seed of the random order.")]
OrderOption = Annotated[Order | None, typer.Option(help="Order in which raters get the pairs.")]
ReviseOption = Annotated[
    bool | None, typer.Option("--revise/--no-revise", help="Whether raters may change their grades.")
]
LeaseOption = Annotated[
    int | None, typer.Option(metavar="MINUTES", help="Minutes until an abandoned pair goes to others.")
]
MostOption = Annotated[
    int | None, typer.Option(metavar="N", help="The most pairs that a rater is given; 0 for no limit.")
]
ConsentOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Markdown file that raters and writers must agree to before they work; an empty file for none.",
    ),
]
ScaleOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File with your own words for the five points: lines such as “0 Unrelated: Another topic.”, "
        "after a line [TYPE] for that type only; an empty file for those of SemEval-2014 Task 3.",
    ),
]


def named_settings(
    *,
    types: list[str] | None,
    raters: int | None,
    threshold: Decimal | None,
    step: Decimal | None,
    guidelines: Path | None,
    seed: int | None,
    order: Order | None,
    revise: bool | None,
    lease: int | None,
    most_per_rater: int | None,
    consent: Path | None,
    scale: Path | None,
) -> dict[str, Any]:
    """What the options say, by the fields of `ProjectSettings`; an option that is None says nothing.

    Raises:
        CallError: a file cannot be read.
    """
    said: dict[str, Any] = {
        "types": None if types is None else _names(types),
        "guidelines": None if guidelines is None else _read(guidelines),
        "raters_per_pair": raters,
        "threshold": threshold,
        "step": step,
        "is_random": None if order is None else order is Order.RANDOM,
        "seed": seed,
        "may_revise": revise,
        "lease_minutes": lease,
        "consent": None if consent is None else _read(consent),
        "scale_words": None if scale is None else _read(scale),
    }
    named = {name: value for name, value in said.items() if value is not None}
    if most_per_rater is not None:
        named["most_per_rater"] = most_per_rater or None
    if threshold == _NEVER:
        named["threshold"] = None
    return named


def _names(texts: list[str]) -> tuple[str, ...]:
    return tuple(part for text in texts for part in text.split(",") if part.strip())


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise CallError(f"{path}: has more than {_LARGEST_FILE:,} bytes; shorten the text.")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise CallError(f"{path}: cannot be read ({error.strerror}); check the name.") from None
    except UnicodeDecodeError as error:
        raise CallError(f"{path}: byte {error.start + 1} is not UTF-8; save the text as UTF-8.") from None
