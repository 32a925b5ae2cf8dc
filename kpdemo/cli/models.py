"""`python -m kpdemo models`: what --model takes."""

from __future__ import annotations

from typing import Annotated

import typer

from kpdemo.cli.options import print_json


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command()(models)


def models(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the names and descriptions as JSON.")
    ] = False,
) -> None:
    """List the models and baselines that --model takes, and known models of the Hugging Face Hub.

    --model also takes checkpoint folders and other models of the Hub.
    """
    from kpdemo.predictors import available_models, hub_models

    if as_json:
        print_json(available_models() | hub_models())
    else:
        from kpdemo.cli.tables import show_models

        show_models(available_models(), hub_models())
