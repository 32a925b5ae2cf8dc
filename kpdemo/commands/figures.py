"""The forms that `evaluate` prints its figures in, and the options that choose one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kpdemo.commands.options import CallError, print_json
from kpdemo.evaluation.metrics import Convention

if TYPE_CHECKING:
    from kpdemo.evaluation.runs import Run

JsonOption = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")]
LatexOption = Annotated[
    bool,
    typer.Option(
        "--latex", help="Print LaTeX tables for a paper, one for present and one for absent keyphrases."
    ),
]
ConventionOption = Annotated[
    Convention | None,
    typer.Option(
        "--convention",
        help="With --latex: whether documents without gold are skipped (if not given) or counted.",
    ),
]


@dataclass(frozen=True, slots=True)
class Form:
    """How figures are printed: in one of these ways, or else as tables on the terminal."""

    json: bool
    markdown: bool
    latex: bool
    convention: Convention
    """Of the LaTeX tables; the others have both."""


def read_form(*, json: bool, markdown: bool, latex: bool, convention: Convention | None) -> Form:
    """The form that the options choose.

    Raises:
        CallError: they choose several, or a convention where there are both.
    """
    asked = {"--json": json, "--markdown": markdown, "--latex": latex}
    given = [option for option, is_given in asked.items() if is_given]
    if len(given) > 1:
        named = f"{', '.join(given[:-1])} and {given[-1]}"
        raise CallError(f"{named} cannot be combined; give one of them.")
    if convention and not latex:
        raise CallError(
            f"--convention {convention} is for --latex, since all other output has both; leave it out."
        )
    return Form(json, markdown, latex, convention or "skip_empty")


def print_runs(runs: Sequence[Run], form: Form) -> None:
    """Several beside one another; one alone as it always was: scripts read it."""
    from kpdemo.commands.run_tables import show_report, show_runs
    from kpdemo.evaluation.report import report_to_json, report_to_markdown
    from kpdemo.evaluation.report_latex import runs_to_latex
    from kpdemo.evaluation.runs import runs_to_json, runs_to_markdown

    alone = runs[0].report if len(runs) == 1 else None
    if form.json:
        print_json(report_to_json(alone) if alone else runs_to_json(runs))
    elif form.markdown:
        sys.stdout.write(report_to_markdown(alone) if alone else runs_to_markdown(runs))
    elif form.latex:
        made_by = f"python -m kpdemo evaluate --latex --convention {form.convention}"
        sys.stdout.write(f"{runs_to_latex(runs, form.convention, made_by=made_by)}\n")
    elif alone:
        show_report(alone)
    else:
        show_runs(runs)
