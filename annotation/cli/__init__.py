"""The command line: `python -m annotation user`, `project`, `import`, `agreement` and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from annotation.cli import (
    adjudication,
    agreement,
    crowds,
    gold,
    leaderboard,
    pairs,
    predictions,
    projects,
    raters,
    scoring,
    users,
    writing,
)
from annotation.cli.options import Dependencies
from annotation.systems import Similarities
from db import DatabaseError
from db.errors import EXPLANATIONS, UrlError
from kpdemo.command import add_start, run_command
from kpdemo.errors import KpdemoError

PROGRAM = "python -m annotation"
REGISTRATIONS = (  # the order of --help
    users.register_users,
    users.register_exclusion,
    projects.register_projects,
    projects.register_members,
    users.register_events,
    crowds.register_crowds,
    pairs.register_import,
    pairs.register_pairs,
    writing.register_items,
    writing.register_writing,
    raters.register_quality,
    raters.register_raters,
    agreement.register_agreement,
    raters.register_remarks,
    adjudication.register_adjudications,
    adjudication.register_adjudicate,
    gold.register_export,
    gold.register_ratings,
    scoring.register_score,
    leaderboard.register_leaderboard,
    predictions.register_predictions,
)
PATH_OPTIONS = frozenset(
    {
        *("--calibrate-on", "--consent", "--documents", "--gold", "--guidelines", "--output"),
        *("--predictions", "--qrels", "--runs", "--scale", "--system", "--training-scores", "--wordnet"),
    }
)

app = typer.Typer(
    help="Grade pairs of texts: accounts, projects, agreement, adjudication and gold sets.",
    epilog=f"`{PROGRAM} COMMAND --help` shows what a command takes, with examples.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
add_start(app)
for register in REGISTRATIONS:
    register(app)


def main(
    arguments: Sequence[str] | None = None,
    *,
    embedding: Similarities | None = None,
    encoder: Callable[[str], Similarities] | None = None,
) -> int:
    """Run a command line, by default this process's own, and return its exit status.

    Args:
        arguments: the command line without the program.
        embedding: what the system `embedding` asks; without it there is none.
        encoder: what `embedding:NAME` asks, by the name of the encoder; likewise.
    """
    handed = Dependencies(embedding, encoder)
    return run_command(
        app,
        PROGRAM,
        arguments,
        wrong=(UrlError,),
        failures=(KpdemoError, DatabaseError),
        explain=EXPLANATIONS,
        paths=PATH_OPTIONS,
        obj=handed,
    )
