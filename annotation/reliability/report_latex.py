"""The report on agreement as a table of a paper, in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation import __version__
from annotation.adjudication import rule_text
from annotation.latex import Cell, LatexTable
from annotation.reliability.bootstrap import Alpha
from annotation.reliability.few_pairs import few_pairs_text
from annotation.reliability.report import AgreementReport, Part

_HEADS = ("Pairs", "α", "95 %")


def agreement_to_latex(report: AgreementReport, table: LatexTable, *, made_by: str) -> str:
    """α with its interval, on all pairs with two grades and on the unadjudicated ones, by type and of all.

    `made_by` names what made it, the command or the page, in the comments.
    """
    rows = [*((part.name, part) for part in report.by_type if part.pairs), ("All", report.whole)]
    return table(
        ("", "Type"),
        [("All pairs", _HEADS), ("Unadjudicated", _HEADS)],
        [(name, [*_cells(part.all), *_cells(part.unadjudicated)]) for name, part in rows],
        comments=[
            f"{made_by}, version {__version__}, project {report.project}.",
            *_comments(report, rows),
        ],
    )


def _cells(alpha: Alpha) -> Sequence[Cell]:
    interval = None if alpha.low is None or alpha.high is None else (alpha.low, alpha.high)
    return alpha.pairs, alpha.value, interval


def _comments(report: AgreementReport, rows: Sequence[tuple[str, Part]]) -> Iterator[str]:
    yield (
        "Krippendorff's α, interval level; 95 % by the percentile bootstrap over pairs, "
        f"{report.resamples:,} resamples, seed {report.seed}."
    )
    yield (
        "Pairs: with two grades or more. Unadjudicated: neither flagged "
        f"({rule_text(report.threshold)}) nor decided."
    )
    *parts, whole = (part.compared(name) for name, part in rows)
    if said := few_pairs_text(whole, parts):
        yield said
    for name, part in rows:
        for among, alpha in (("all pairs", part.all), ("unadjudicated", part.unadjudicated)):
            if said := alpha.reason or alpha.remark:
                yield f"{'--: ' if alpha.low is None else ''}{name}, {among}: {said}"
