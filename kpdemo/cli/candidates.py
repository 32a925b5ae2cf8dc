"""`python -m kpdemo candidates`: how many gold keyphrases a model can find at all."""

from __future__ import annotations

from typing import Annotated

import typer

from kpdemo.cli.options import PROGRAM, Problems, dataset_names, exit_with, print_json, progress_line
from kpdemo.io.documents import read_gold

EXAMPLES = f"""
Examples:

\b
  {PROGRAM} candidates --gold inspec.test.jsonl
"""


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(candidates)


def candidates(
    gold: Annotated[
        list[str],
        typer.Option(
            metavar="FILE", help="Documents with their gold keyphrases; may be given several times."
        ),
    ],
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N documents of each file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure how many gold present keyphrases are among the candidates."""
    from kpdemo.candidates.mining import coverage_to_json, measure_coverage, mine_candidates
    from kpdemo.candidates.tagger import load_tagger
    from kpdemo.cli.tables import show_coverage

    tagger = load_tagger()
    with progress_line("Reading") as progress:
        problems = Problems(progress)
        figures = {
            name: measure_coverage(
                read_gold(path, limit=limit, on_error=problems),
                lambda document: mine_candidates(document, tagger),
            )
            for path, name in dataset_names(gold).items()
        }
    if as_json:
        print_json({name: coverage_to_json(coverage) for name, coverage in figures.items()})
    else:
        show_coverage(figures)
    exit_with(problems)
