"""The command that scores systems: python -m annotation score --gold FILE --system FILE or a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from annotation.baselines import BASELINES, EMBEDDING, Similarities, UnknownWords
from annotation.bootstrap import DEFAULT_RESAMPLES, DEFAULT_SEED
from annotation.commands.options import HandedIn, JsonOption, WordNetOption
from annotation.dictionary import Dictionary
from annotation.figures import figure_text
from annotation.gold_pairs import GoldPair, read_gold
from annotation.score_report import (
    Contrast,
    Difference,
    Part,
    ScoreReport,
    SystemReport,
    report_to_json,
    score_systems,
)
from annotation.scoring import NO_RESAMPLES, Estimate
from annotation.senses import WORD_TO_SENSE
from annotation.systems import (
    LEFT_OUT,
    BuiltInSystem,
    ScoreFile,
    build_system,
    check_apart,
    needs_senses,
    open_senses,
)
from annotation.terminal import show_json, show_line, show_table
from db.command import CallError

MOST_RESAMPLES = 100_000
_RUN_HERE = (*BASELINES, EMBEDDING)
_ALL_DIFFERENCES = 4
"""With more systems, only those next to each other in the ranking are compared on the screen."""
_FIGURES = ("Pairs", "Pearson", "95 %", "Spearman", "95 % ")
_CONTRASTS = ("Difference", "95 %", "p (bootstrap)", "Williams' t", "p (Williams)")
_EXAMPLES = """
Examples:

\b
  python -m annotation score --gold news-gold --system run.jsonl --system lcs
  python -m annotation score --gold phrase2word.test.input.tsv --system ours=phrase2word.output.tsv
  python -m annotation score --gold test.jsonl --system lcs --calibrate-on train.jsonl --json

\b
Gold: JSON Lines {id, type, left, right, gold, genre}, an export of ours, or the task's TYPE.input.tsv with
TYPE.gs.tsv. Scores: a score a line in the order of the gold grades, or of one type if the file's name begins
with it; JSON Lines, CSV or TSV with id, score and, if needed, type; or a folder of such files.
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("score", epilog=_EXAMPLES)(score)


def score(
    context: typer.Context,
    gold: Annotated[
        list[Path],
        typer.Option(metavar="FILE", exists=True, help="Gold grades: files or folders; repeatable."),
    ],
    system: Annotated[
        list[str],
        typer.Option(
            metavar="SYSTEM",
            help=f"[NAME=]FILE or folder of scores, or one of {', '.join(_RUN_HERE)}; repeatable.",
        ),
    ],
    calibrate_on: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", exists=True, help="Gold grades of other pairs, to fit each system's scores to."
        ),
    ] = None,
    training_scores: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            help="Scores of the pairs of --calibrate-on: one for each file of --system, in that order.",
        ),
    ] = None,
    wordnet: WordNetOption = None,
    unknown_words: Annotated[
        UnknownWords, typer.Option(help="What baselines give a word that WordNet does not have.")
    ] = UnknownWords.ZERO,
    resamples: Annotated[
        int, typer.Option(min=0, max=MOST_RESAMPLES, help="How often the bootstrap draws.")
    ] = DEFAULT_RESAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="What the draws start from.")] = DEFAULT_SEED,
    as_json: JsonOption = False,
) -> None:
    """Score systems on gold grades: Pearson's and Spearman's correlation by type and genre.

    As in SemEval-2014 Task 3: Pearson by type, systems ranked by its sum. Intervals are of 95 %. Several
    systems are compared with each other, by the paired bootstrap and by Williams' test.
    """
    known = dict(BASELINES)
    handed: HandedIn = context.obj
    if handed.embedding is not None:
        known[EMBEDDING] = handed.embedding
    requests = _requests(system, known, training_scores or [], unknown_words, calibrates=bool(calibrate_on))
    pairs = read_gold(gold)
    training = read_gold(calibrate_on) if calibrate_on else []
    check_apart(pairs, training)
    is_optional = wordnet is None and any(pair.type != WORD_TO_SENSE for pair in pairs)
    senses, reason = (
        open_senses(Dictionary(wordnet).open, is_optional=is_optional)
        if needs_senses(requests, pairs)
        else (None, "")
    )
    systems = [build_system(request, pairs, training, senses, reason) for request in requests]
    report = score_systems(pairs, systems, resamples=resamples, seed=seed)
    if as_json:
        show_json(report_to_json(report))
        return
    _show(report, pairs)


def _requests(
    systems: Sequence[str],
    run_here: Mapping[str, Similarities],
    training: Sequence[Path],
    unknown_words: UnknownWords,
    *,
    calibrates: bool,
) -> list[ScoreFile | BuiltInSystem]:
    requests: list[ScoreFile | BuiltInSystem] = []
    waiting = list(training)
    for text in systems:
        if text in run_here:
            requests.append(BuiltInSystem(text, run_here[text], unknown_words, knows_words=text == EMBEDDING))
            continue
        name, path = _named_path(text, run_here)
        requests.append(ScoreFile(name, path, waiting.pop(0) if waiting else None))
    names = [request.name for request in requests]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CallError(f"Two systems are called {twice}: leave one out, or name its file as in other=FILE.")
    if waiting or (training and not calibrates):
        raise CallError(
            f"{(waiting or training)[0]}: --training-scores are for --calibrate-on, one for each file of "
            "--system; leave it out."
        )
    return requests


def _named_path(text: str, baselines: Iterable[str]) -> tuple[str, Path]:
    """A name and a file that is there: of "ours=run.tsv", or of "run.tsv" alone."""
    path, name = Path(text), ""
    if not path.exists() and "=" in text:
        name, _, rest = text.partition("=")
        if not rest.strip():
            raise CallError(f"{text}: no file is named after the equals sign; give one.")
        path = Path(rest)
    if not path.exists():
        raise CallError(
            f"{text}: no such file or folder; name one, or a baseline ({', '.join(baselines)}) with --system."
        )
    plain = path.resolve().name if path.is_dir() else path.name.partition(".")[0]
    return name.strip() or plain or str(path), path


def _show(report: ScoreReport, pairs: Sequence[GoldPair]) -> None:
    if len(report.systems) > 1:
        _show_ranks(report)
    for system in report.systems:
        _show_system(system, report)
    for difference in _shown_differences(report):
        _show_difference(difference, report)
    genres = {pair.genre for pair in pairs if pair.genre is not None}
    show_line("")
    for remark in dict.fromkeys(system.remark for system in report.systems if system.remark):
        show_line(remark)
    show_line(
        f"{report.pairs:,} pairs, types: {len(report.types)}, genres: {len(genres)}; 95 % intervals by the "
        f"percentile bootstrap over pairs, {report.resamples:,} resamples, seed {report.seed}."
    )
    if report.differences:
        show_line("p is two-sided and not corrected for the number of comparisons.")


def _show_ranks(report: ScoreReport) -> None:
    ranks = report.ranks()
    order = sorted(
        range(len(report.systems)), key=lambda place: ranks["sum_pearson"][place] or len(report.systems) + 1
    )
    columns = (*report.types, "Sum", "Rank", "Spearman", "Rank ")
    rows = []
    for place in order:
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


def _named_parts(system: SystemReport) -> Iterator[tuple[str, Part]]:
    yield from system.types.items()
    for genre, part in system.genres.items():
        yield f"Genre {genre}", part.all
        if len(part.by_type) > 1:
            yield from ((f"Genre {genre}, {type}", of_type) for type, of_type in part.by_type.items())


def _genre_rows(system: SystemReport) -> Iterator[Sequence[str]]:
    """A row for each genre and, of a genre that several types have, one for each of them."""
    for genre, part in system.genres.items():
        yield f"genre {genre}", *_part_cells(part.all)
        if len(part.by_type) > 1:
            yield from ((f"  {type}", *_part_cells(of_type)) for type, of_type in part.by_type.items())


def _shown_differences(report: ScoreReport) -> Sequence[Difference]:
    if len(report.systems) <= _ALL_DIFFERENCES:
        return report.differences
    ranks = report.ranks()["sum_pearson"]
    order = sorted(range(len(ranks)), key=lambda place: (ranks[place] or len(ranks) + 1, place))
    names = [report.systems[place].name for place in order]
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


def _part_cells(part: Part) -> Sequence[str]:
    return f"{part.pairs:,}", *_estimate_cells(part.pearson), *_estimate_cells(part.spearman)


def _estimate_cells(found: Estimate) -> tuple[str, str]:
    return _value(found), _interval(found)


def _value(found: Estimate) -> str:
    return figure_text(found.value)


def _interval(found: Estimate, sign: str = "") -> str:
    if found.low is None or found.high is None:
        return "–"
    return f"{figure_text(found.low, sign=sign)} to {figure_text(found.high, sign=sign)}"


def _probability(p: float) -> str:
    return "< .001" if p < 0.001 else figure_text(p)
