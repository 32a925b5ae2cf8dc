"""`python -m kpdemo readme`: the page of a checkpoint for the Hugging Face Hub."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from kpdemo.cli.options import PROGRAM
from kpdemo.command import CallError
from kpdemo.identity import RAMKG_KIND

_WRITING = frozenset({RAMKG_KIND, "one2seq"})
"""Kinds whose present keyphrases are written too; the others mark them."""


def hub_page(name: str, card: str, *, kind: str, licence: str, languages: Collection[str]) -> str:
    """Markdown that begins with YAML, as the Hub wants its README.md.

    Args:
        name: "owner/name".
        card: of the checkpoint.
        kind: what its configuration calls itself.
        licence: as the Hub writes it, such as "apache-2.0".
        languages: codes of those it was made for; empty where that is not known.
    """
    family = kind.partition("-")[0]
    tags = ["keyphrase-extraction", *([family] if family in ("simckp", "ramkg") else [])]
    told = [
        f"license: '{licence}'",
        *(["language:", *(f"- '{language}'" for language in sorted(languages))] if languages else []),
        "library_name: kpdemo",
        f"pipeline_tag: {'text-generation' if kind in _WRITING else 'token-classification'}",
        *("tags:", *(f"- {tag}" for tag in tags)),
    ]
    head = "\n".join(told)
    return f"""---
{head}
---

{card.strip()}

## Open it

With kpdemo installed, on the command line or from Python; it is downloaded when it is first used:

```bash
python -m kpdemo predict paper.txt --model {name}
```

```python
import kpdemo

predictor = kpdemo.load_predictor("{name}")
[prediction] = predictor.predict(["Graph kernels compare molecules by their common substructures."])
```
"""


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
    from kpdemo.identity import PAGE
    from kpdemo.io.files import replace_file
    from kpdemo.predictors import load_predictor

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
    from kpdemo.identity import stored_config
    from kpdemo.simckp.checkpoint import BASE
    from kpdemo.simckp.hub.own import KINDS

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
