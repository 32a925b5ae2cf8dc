"""The command line: `python -m annotation user`, `project`, `import`, `agreement` and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from annotation.commands import (
    adjudicate,
    adjudications,
    agreement,
    events,
    gold,
    importing,
    items,
    leaderboard,
    pairs,
    predictions,
    project_members,
    projects,
    quality,
    raters,
    ratings,
    remarks,
    score,
    set_aside,
    users,
    writing,
)
from annotation.commands.options import HandedIn
from annotation.errors import AnnotationError
from annotation.latex import LatexTable
from annotation.predictions.phrases import PhraseRules
from annotation.systems.baselines import Similarities
from db import DatabaseError
from db.command import run_command

PROGRAM = "python -m annotation"
SUBJECTS = (
    users,
    set_aside,
    projects,
    project_members,
    events,
    importing,
    pairs,
    items,
    writing,
    quality,
    raters,
    agreement,
    remarks,
    adjudications,
    adjudicate,
    gold,
    ratings,
    score,
    leaderboard,
    predictions,
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
for subject in SUBJECTS:
    subject.register(app)


def main(
    arguments: Sequence[str] | None = None,
    *,
    phrases: PhraseRules,
    latex: LatexTable,
    embedding: Similarities | None = None,
    encoder: Callable[[str], Similarities] | None = None,
) -> int:
    """Run a command line, by default this process's own, and return its exit status.

    Args:
        arguments: the command line without the program.
        phrases: what tells predicted phrases apart.
        latex: writes the tables of `--latex`.
        embedding: what the system `embedding` asks; without it there is none.
        encoder: what `embedding:NAME` asks, by the name of the encoder; likewise.
    """
    handed = HandedIn(embedding, encoder, phrases, latex)
    failures = (AnnotationError, DatabaseError)
    return run_command(app, PROGRAM, arguments, failures, paths=PATH_OPTIONS, obj=handed)
