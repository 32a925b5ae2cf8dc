"""The command line: `python -m kpdemo predict`, `evaluate`, `candidates`, `train`, `models`, `readme`,
`index`, `experiments`, each in a file of `kpdemo.cli`."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from kpdemo.cli import candidates, evaluate, experiments, index, models, predict, readme, train
from kpdemo.cli.options import PATH_OPTIONS, PROGRAM
from kpdemo.command import add_start, run_command
from kpdemo.errors import ConfigError, MissingIndexError

app = typer.Typer(
    help="Find the keyphrases of documents, both those that occur in the text and those that do not.",
    epilog=f"`{PROGRAM} COMMAND --help` shows what a command takes, with examples.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
add_start(app)
for part in (index, experiments, predict, evaluate, candidates, train, models, readme):
    part.register(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default this process's own, and return its exit status."""
    return run_command(app, PROGRAM, arguments, wrong=(ConfigError, MissingIndexError), paths=PATH_OPTIONS)
