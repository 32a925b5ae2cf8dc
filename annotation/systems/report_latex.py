"""The report on systems as a table of a paper, in LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from annotation import __version__
from annotation.latex import Cell, LatexTable
from annotation.systems.report import ScoreReport, SystemReport
from annotation.systems.wide_intervals import wide_intervals_text


def scores_to_latex(
    report: ScoreReport, table: LatexTable, *, made_by: str, remarks: Iterable[str] = ()
) -> str:
    """Pearson by type, its sum and rank, and the sum and rank of Spearman; the best system first.

    `made_by` names what made it, the command or the page, in the comments; `remarks` stand there too.
    """
    ranks = report.ranks()
    by_pearson, by_spearman = ranks["sum_pearson"], ranks["sum_spearman"]

    def cells(place: int) -> list[Cell]:
        system = report.systems[place]
        pearson = [*(system.types[type].pearson.value for type in report.types), system.sum_pearson.value]
        return [*pearson, by_pearson[place], system.sum_spearman.value, by_spearman[place]]

    return table(
        ("", "System"),
        [("Pearson", (*report.types, "Sum", "Rank")), ("Spearman", ("Sum", "Rank"))],
        [(report.systems[place].name, cells(place)) for place in report.best_first()],
        comments=[f"{made_by}, version {__version__}.", *_comments(report), *remarks],
    )


def _comments(report: ScoreReport) -> Iterator[str]:
    yield "Correlations with the gold grades; systems rank by the sum over types, as in SemEval-2014 Task 3."
    first = report.systems[0]
    yield f"Pairs: {', '.join(f'{type} {first.types[type].pairs:,}' for type in report.types)}."
    yield from dict.fromkeys(system.remark for system in report.systems if system.remark)
    if uncertain := wide_intervals_text(report):
        yield uncertain
    undefined = [said for system in report.systems for said in _undefined(system)]
    yield from undefined
    if undefined:
        yield "A type without a figure adds nothing to the sums."


def _undefined(system: SystemReport) -> Iterator[str]:
    for type, part in system.types.items():
        if part.pearson.reason:
            yield f"--: {system.name}, {type}: {part.pearson.reason}"
