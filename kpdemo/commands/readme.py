"""`python -m kpdemo readme`: the page of a checkpoint for the Hugging Face Hub."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from kpdemo.commands.options import PROGRAM, CallError

EXAMPLES = f"""
Examples:

\b
  {PROGRAM} readme runs/model me/keyphrases --licence cc-by-4.0
"""

_LICENCE = re.compile(r"[a-z0-9][a-z0-9.-]*")


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(readme)


def readme(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A checkpoint that `train` wrote.")],
    name: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="Its name on the Hub.")],
    licence: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="Its licence as a Hub identifier, such as apache-2.0 or cc-by-4.0; that of the training "
            "data may decide it.",
        ),
    ],
) -> None:
    """Write README.md, the page of a model on the Hugging Face Hub, into its folder.

    The model is opened first. Prints the command that uploads it.
    """
    from kpdemo.cards import model_card
    from kpdemo.commands.hub_page import hub_page
    from kpdemo.predictors import load_predictor
    from kpdemo.storage import replace_file
    from kpdemo.sums import PAGE

    _check_name(name)
    if not _LICENCE.fullmatch(licence):
        raise CallError(
            f"--licence {licence!r} is not a licence identifier of the Hub: give one such as apache-2.0."
        )
    kind, page = _checked_kind(Path(folder)), Path(folder) / PAGE
    model = Path(folder).resolve()  # and no model that ships under the name of a folder
    if page.exists():
        raise CallError(f"{page} already exists: delete it to write a new one.")
    languages = load_predictor(model, device="cpu").languages  # opens it: what is damaged is told
    text = hub_page(name, model_card(model), kind=kind, licence=licence, languages=languages)
    replace_file(page, text.encode())
    print(f"hf upload {name} {shlex.quote(folder)}")


def _check_name(name: str) -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # of a package inside

    from kpdemo.predictors import is_hub_name

    if not is_hub_name(name):
        raise CallError(f"{name!r} is not a valid Hub name: give OWNER/NAME.")
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise CallError(
            f"{name!r} is not a valid Hub name, since names may not contain `--` or `..`, end in `.git`, `-` "
            "or `.`, or have more than 96 characters: give another."
        ) from error


def _checked_kind(folder: Path) -> str:
    from kpdemo.simckp.folders import BASE
    from kpdemo.simckp.hub.own import KINDS
    from kpdemo.stored_config import stored_config

    described = stored_config(folder)
    kind = str(described.get("kind"))
    if kind not in KINDS or "model_type" in described:
        raise CallError(f"{folder} is not a model that `train` wrote: give the folder that --model takes.")
    if BASE in described:
        raise CallError(
            f"{folder} stores only its differences from another model: assemble it again without `base` in "
            "[model]."
        )
    return kind
