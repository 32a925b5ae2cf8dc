"""The report on systems as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from annotation.figures import figure_text, number_of, range_text
from annotation.reliability.bootstrap import NO_RESAMPLES
from annotation.reliability.upper_bound import mean_of_text
from annotation.scoring import FEWEST_PAIRS, Estimate
from annotation.senses.network import WORD_TO_SENSE
from annotation.systems.people import People
from annotation.systems.report import Contrast, Correlations, Difference, ScoreReport, SystemReport
from annotation.systems.scored import LEFT_OUT
from annotation.systems.wide_intervals import wide_intervals_text
from annotation.terminal import show_line, show_table

_ALL_DIFFERENCES = 4
"""With more systems, only those next to each other in the ranking are compared on the screen."""
_FIGURES = ("Pairs", "Pearson", "95 %", "Spearman", "95 % ")
_CONTRASTS = ("Difference", "95 %", "p (bootstrap)", "Williams' t", "p (Williams)")


def show_report(report: ScoreReport, people: People) -> None:
    """Print how sure ranks are, ranks, systems, differences, what people reach, and how all was measured."""
    if uncertain := wide_intervals_text(report):
        show_line(f"{uncertain}\n")
    if len(report.systems) > 1:
        _show_ranks(report)
    for system in report.systems:
        _show_system(system, report)
    for difference in _shown_differences(report):
        _show_difference(difference, report)
    _show_people(people)
    genres = len(report.systems[0].genres)
    show_line("")
    if small := "; ".join(_small_genres(report.systems[0])):  # the same of each system
        show_line(f"Genres with too few pairs, since a correlation takes {FEWEST_PAIRS} or more: {small}.")
    for remark in dict.fromkeys(system.remark for system in report.systems if system.remark):
        show_line(remark)
    show_line(
        f"{number_of(report.pairs, 'pair')}, types: {len(report.types)}, genres: {genres}; "
        "95 % intervals by the percentile bootstrap over pairs, "
        f"{report.resamples:,} resamples, seed {report.seed}."
    )
    if report.differences:
        show_line("p is two-sided and not corrected for the number of comparisons.")


def _show_ranks(report: ScoreReport) -> None:
    ranks = report.ranks()
    columns = (*report.types, "Sum", "Rank", "Spearman", "Rank ")
    rows = []
    for place in report.best_first():
        system = report.systems[place]
        rows.append(
            (
                system.name,
                *(_ranked(system.types[type].pearson, ranks[type][place]) for type in report.types),
                _value(system.sum_pearson),
                ranks["sum_pearson"][place] or "–",
                _value(system.sum_spearman),
                ranks["sum_spearman"][place] or "–",
            )
        )
    show_table(("System", *columns), rows, title="Pearson (rank); ranked by its sum", right=columns)


def _ranked(value: Estimate, rank: int | None) -> str:
    return _value(value) if rank is None else f"{_value(value)} ({rank})"


def _show_system(system: SystemReport, report: ScoreReport) -> None:
    if len(report.systems) > 1:
        show_line("")
    sums = ("sum", "", *_estimate_cells(system.sum_pearson), *_estimate_cells(system.sum_spearman))
    rows = [
        *((type, *_part_cells(part)) for type, part in system.types.items()),
        *([sums] if len(system.types) > 1 else []),
        *_genre_rows(system),
    ]
    show_table(("", *_FIGURES), rows, title=system.name, right=_FIGURES)
    for name, part in _named_parts(system):
        reason = part.pearson.reason or part.pearson.interval_reason or part.spearman.interval_reason
        is_remarked = name == WORD_TO_SENSE and LEFT_OUT in system.remark
        if reason and reason != NO_RESAMPLES and not is_remarked:
            show_line(f"{name}: {reason}")


def _named_parts(system: SystemReport) -> Iterator[tuple[str, Correlations]]:
    yield from system.types.items()
    for _, named, part in _genre_parts(system):
        if not _is_small(part):
            yield f"Genre {named}", part


def _genre_rows(system: SystemReport) -> Iterator[Sequence[str]]:
    for type, named, part in _genre_parts(system):
        if not _is_small(part):
            yield f"  {type}" if type else f"genre {named}", *_part_cells(part)


def _genre_parts(system: SystemReport) -> Iterator[tuple[str, str, Correlations]]:
    """Type, name and figures of each genre; where it has several types, of each of them after all."""
    for genre, part in system.genres.items():
        yield "", genre, part.all
        if len(part.by_type) > 1:
            yield from ((type, f"{genre}, {type}", of_type) for type, of_type in part.by_type.items())


def _is_small(part: Correlations) -> bool:
    return part.pairs < FEWEST_PAIRS


def _small_genres(system: SystemReport) -> Iterator[str]:
    """Genres, or types of a genre, that have no row as they have too few pairs, with how many."""
    for genre, part in system.genres.items():
        if _is_small(part.all):
            yield f"{genre} ({part.all.pairs})"
            continue
        for type, of_type in part.by_type.items():
            if _is_small(of_type):
                yield f"{genre}, {type} ({of_type.pairs})"


def _shown_differences(report: ScoreReport) -> Sequence[Difference]:
    if len(report.systems) <= _ALL_DIFFERENCES:
        return report.differences
    names = [report.systems[place].name for place in report.best_first()]
    neighbours = {frozenset(pair) for pair in pairwise(names)}
    return [one for one in report.differences if frozenset((one.first, one.second)) in neighbours]


def _show_difference(difference: Difference, report: ScoreReport) -> None:
    parts = [(type, part) for type, part in difference.types.items() if part.difference.value is not None]
    if len(report.types) > 1 and difference.sum_pearson.difference.value is not None:
        parts.append(("sum", difference.sum_pearson))
    if not parts:
        return
    show_line("")
    title = f"{difference.first} – {difference.second}, Pearson"
    show_table(
        ("", *_CONTRASTS),
        [(name, *_contrast_cells(part)) for name, part in parts],
        title=title,
        right=_CONTRASTS,
    )


def _show_people(people: People) -> None:
    if not people.bounds:
        return
    rows = []
    for bound in people.bounds:
        figures = (*_estimate_cells(bound.pearson), *_estimate_cells(bound.spearman))
        rows.append((bound.type, f"{bound.pairs:,}", *figures, mean_of_text(bound.counted)))
    show_line("")
    show_table(
        ("", *_FIGURES, ""), rows, title="People: each rater against the mean of the others", right=_FIGURES
    )
    if people.undecided:
        are, them = ("is", "it") if people.undecided == 1 else ("are", "them")
        show_line(
            f"{number_of(people.undecided, 'flagged pair')} without a decision {are} not in the gold set: "
            f"people would do worse on {them}."
        )


def _contrast_cells(contrast: Contrast) -> Sequence[str]:
    value, interval = contrast.difference.value, _interval(contrast.difference, sign="+")
    test = contrast.williams
    return (
        figure_text(value, sign="+"),
        interval,
        "–" if contrast.p is None else _probability(contrast.p),
        figure_text(None if test is None else test.t, 2),
        "–" if test is None else _probability(test.p),
    )


def _part_cells(part: Correlations) -> Sequence[str]:
    return f"{part.pairs:,}", *_estimate_cells(part.pearson), *_estimate_cells(part.spearman)


def _estimate_cells(found: Estimate) -> tuple[str, str]:
    return _value(found), _interval(found)


def _value(found: Estimate) -> str:
    return figure_text(found.value)


def _interval(found: Estimate, sign: str = "") -> str:
    return range_text(found.low, found.high, sign=sign)


def _probability(p: float) -> str:
    return "< .001" if p < 0.001 else figure_text(p)
