"""`python -m kpdemo train`: a model or a part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kpdemo.cli.options import PROGRAM, parse_setting

EXAMPLES = f"""
Examples:

\b
  {PROGRAM} train all --config configs/default.toml
  {PROGRAM} train extractor --config configs/own.toml --set loop.seed=7 --output runs/seed7
"""


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(train)


def train(
    part: Annotated[
        str,
        typer.Argument(
            metavar="PART",
            help="tagger, frequency, extractor, ensemble, labeller, generator, one2seq, bank, profiles, "
            "candidate-ranker or reranker; model to combine trained parts; all for the parts that [model] "
            "names and then their model; for other languages vocabulary, retriever, multilingual, "
            "ramkg-generator or ramkg-rounds.",
        ),
    ],
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Settings in TOML; configs/default.toml if not given.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where to write the result, instead of where FILE says."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting that replaces the one in FILE; may be repeated. With all it applies to every "
            "part that has it.",
        ),
    ] = None,
) -> None:
    """Train a model or a part of it, or continue a training run that was stopped."""
    settings = dict(parse_setting(text) for text in overrides or ())
    from kpdemo.config import DEFAULT_CONFIG
    from kpdemo.training import run

    run(
        part,
        DEFAULT_CONFIG if config is None else Path(config),
        output=None if output is None else Path(output),
        overrides=settings,
    )
