"""`python -m annotation score`: systems, or baselines, scored against a gold set."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from annotation.agreement import DEFAULT_RESAMPLES, DEFAULT_SEED, NO_RESAMPLES
from annotation.cli.options import (
    Dependencies,
    JsonOption,
    LatexOption,
    ResamplesOption,
    SeedOption,
    WordNetOption,
    refuse_two_forms,
)
from annotation.files.scores import (
    GoldPair,
    Key,
    count_undecided,
    gold_digest,
    read_gold_with_changes,
    read_ungraded,
)
from annotation.reliability.report import bound_json
from annotation.reliability.system_rater import SystemRater, rater_json, system_raters
from annotation.reliability.upper_bound import mean_of_text
from annotation.scale import CLSS, Scale
from annotation.scoring import FEWEST_PAIRS, Estimate
from annotation.sense_pairs import Dictionary
from annotation.senses import WORD_TO_SENSE
from annotation.system_report import (
    Contrast,
    Correlations,
    Difference,
    People,
    ScoreReport,
    System,
    SystemReport,
    people_of,
    score_systems,
    scores_to_json,
    scores_to_latex,
    wide_intervals_text,
)
from annotation.systems import (
    BASELINES,
    EMBEDDING,
    LEFT_OUT,
    BuiltInSystem,
    ScoreFile,
    Similarities,
    UnknownWords,
    build_system,
    check_apart,
    left_out_text,
    needs_senses,
    open_senses,
)
from annotation.wording import figure_text, range_text
from kpdemo.command import CallError
from kpdemo.terminal import show_json, show_line, show_note, show_table
from kpdemo.text import number_of

Request: TypeAlias = ScoreFile | BuiltInSystem
GOLD_HELP = "Gold grades: files or folders; repeatable."
SystemOption = Annotated[
    list[str],
    typer.Option(
        metavar="SYSTEM",
        help=f"[NAME=]FILE or folder of scores, or one of {', '.join((*BASELINES, EMBEDDING))} and "
        f"{EMBEDDING}:MODEL (of the Hub, or a folder); repeatable.",
    ),
]
CalibrateOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", exists=True, help="Gold grades of other pairs, to calibrate each system's scores on."
    ),
]
TrainingScoresOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        help="Scores of the pairs of --calibrate-on: one for each file of --system, in that order.",
    ),
]


def parse_systems(
    context: typer.Context,
    systems: Sequence[str],
    training: Sequence[Path],
    *,
    calibrates: bool,
    unknown_words: UnknownWords = UnknownWords.MEAN,
    scale: Scale = CLSS,
) -> list[Request]:
    """The systems that --system names.

    Args:
        training: the files of --training-scores.
        calibrates: whether there is --calibrate-on.
        scale: of the scores of systems that run here.

    Raises:
        CallError: a file is not there, two systems have one name, or `training` fits no file.
    """
    handed: Dependencies = context.obj
    requests: list[Request] = []
    waiting = list(training)
    for text in systems:
        name, what = _parse_system(text, handed)
        if isinstance(what, Path):
            requests.append(ScoreFile(name, what, waiting.pop(0) if waiting else None))
        else:
            requests.append(BuiltInSystem(name, *what, unknown_words, scale))
    names = [request.name for request in requests]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CallError(f"Two systems are called {twice}: leave one out, or name its file as in other=FILE.")
    if waiting or (training and not calibrates):
        raise CallError(
            f"{(waiting or training)[0]}: --training-scores are for --calibrate-on, one for each file of "
            "--system; leave it out."
        )
    return requests


@dataclass(frozen=True, slots=True)
class AskedSenses:
    """Where WordNet is, and whether the call asks for it: then senses are not left out without it."""

    folder: Path | None
    is_asked_for: bool


def senses_of(context: typer.Context, wordnet: Path | None) -> AskedSenses:
    """What --wordnet says; a folder that the environment names, as for all calls, may have none."""
    source = context.get_parameter_source("wordnet")
    return AskedSenses(wordnet, source is not None and source.name == "COMMANDLINE")


def score_requests(
    requests: Sequence[Request],
    pairs: Sequence[GoldPair],
    training: Sequence[GoldPair],
    ungraded: Collection[Key],
    asked: AskedSenses,
) -> list[System]:
    """The systems with their scores of the gold pairs.

    Args:
        training: what the scores are calibrated on, if anything.
        ungraded: pairs without a gold grade.
        asked: where WordNet is.

    Raises:
        ScoreFileError: a pair is in both sets, or scores or training pairs cannot be used.
        WordNetError: WordNet was asked for or is needed for all pairs, and is not there.
    """
    check_apart(pairs, training)
    senses, reason = None, ""
    if needs_senses(requests, pairs):
        is_optional = not asked.is_asked_for and any(pair.type != WORD_TO_SENSE for pair in pairs)
        senses, reason = open_senses(Dictionary(asked.folder).open, is_optional=is_optional)
    return [build_system(request, pairs, training, senses, reason, ungraded) for request in requests]


def show_remarks(changed: Sequence[str], systems: Sequence[System]) -> list[str]:
    """Sentences on gold files that are not as they were exported and on scores that are left out.

    They are told on standard error.
    """
    remarks = [f"{one.name}: {left_out_text(one.left_out)}" for one in systems if one.left_out]
    if changed:
        named = ", ".join(changed)
        remarks.insert(
            0,
            f"{named}: changed after the export (manifest.json has another SHA-256), so its single ratings "
            "are not used; if the change was not intended, export the gold set again.",
        )
    for remark in remarks:
        show_note(remark)
    return remarks


RunHere: TypeAlias = tuple[str, Similarities]
"""What a system that runs here is called, and what it asks."""


def _parse_system(text: str, handed: Dependencies) -> tuple[str, RunHere | Path]:
    """A name, and a system that runs here or a file that is there: of "ours=run.tsv", "run.tsv" or "lcs"."""
    path, name, rest = Path(text), "", text
    if not path.exists() and "=" in text and _run_here(text, handed) is None:
        name, _, rest = text.partition("=")
        if not rest.strip():
            raise CallError(f"{text}: no file is named after the equals sign; give one.")
        path = Path(rest)
    if built_in := _run_here(rest, handed):
        plain = rest.rpartition(":")[2].strip().rstrip("/").rpartition("/")[2]  # of the encoder
        return name.strip() or plain, built_in
    if not path.exists():
        here = [*BASELINES, *([EMBEDDING] if handed.embedding else [])]
        here += [f"{EMBEDDING}:MODEL"] if handed.encoder else []
        raise CallError(
            f"{text!r}: no such file or folder; name one, or a baseline ({', '.join(here)}) with --system."
        )
    plain = path.resolve().name if path.is_dir() else path.name.partition(".")[0]
    return name.strip() or plain or str(path), path


def _run_here(text: str, handed: Dependencies) -> RunHere | None:
    if text in BASELINES:
        return text, BASELINES[text]
    if text == EMBEDDING and handed.embedding is not None:
        return EMBEDDING, handed.embedding
    kind, _, model = text.partition(":")
    if kind == EMBEDDING and model.strip() and handed.encoder is not None and not Path(text).exists():
        return EMBEDDING, handed.encoder(model.strip())
    return None


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
    for difference in _differences_to_show(report):
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
                *(
                    _value(system.types[type].pearson)
                    + ("" if ranks[type][place] is None else f" ({ranks[type][place]})")
                    for type in report.types
                ),
                _value(system.sum_pearson),
                ranks["sum_pearson"][place] or "–",
                _value(system.sum_spearman),
                ranks["sum_spearman"][place] or "–",
            )
        )
    show_table(("System", *columns), rows, title="Pearson (rank); ranked by its sum", right=columns)


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
    genres = [(f"Genre {name}", part) for _, name, part in _genre_parts(system) if not _is_small(part)]
    for name, part in (*system.types.items(), *genres):
        reason = part.pearson.reason or part.pearson.interval_reason or part.spearman.interval_reason
        left_out = LEFT_OUT.format(type=name, reason="")
        is_remarked = name == WORD_TO_SENSE and left_out in system.remark
        if reason and reason != NO_RESAMPLES and not is_remarked:
            show_line(f"{name}: {reason}")


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


def _differences_to_show(report: ScoreReport) -> Sequence[Difference]:
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


_RATER_FIGURES = ("Pairs", "α of people", "α with it", "Bias", "Distance", "Pearson", "Spearman")


def _show_raters(raters: Sequence[SystemRater]) -> None:
    """Each system as one more rater, by type."""
    if not raters:
        return
    rows = [
        (
            one.system,
            one.type,
            f"{one.pairs:,}",
            figure_text(one.people.value),
            figure_text(one.together.value),
            figure_text(one.bias, 2, sign="+"),
            figure_text(one.distance, 2),
            figure_text(one.pearson),
            figure_text(one.spearman),
        )
        for one in raters
    ]
    show_line("")
    title = "As raters: beside the people, and against the mean of their grades"
    show_table(("System", "", *_RATER_FIGURES), rows, title=title, right=_RATER_FIGURES)
    for one in raters:
        if one.reason:
            show_line(f"{one.system}, {one.type}: {one.reason}")


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


_EXAMPLES = """
Examples:

\b
  python -m annotation score --gold news-gold --system run.jsonl --system lcs
  python -m annotation score --gold phrase2word.test.input.tsv --system ours=phrase2word.output.tsv
  python -m annotation score --gold test.jsonl --system lcs --calibrate-on train.jsonl --json
  python -m annotation score --gold news-gold --system run.jsonl --system lcs --latex > scores.tex

\b
Gold: JSON Lines {id, type, left, right, gold, genre}, an export of ours, or the task's TYPE.input.tsv with
TYPE.gs.tsv. Scores: a score a line in the order of the gold grades, or of one type if the file's name begins
with it; JSON Lines, CSV, TSV or XLSX with id, score and, if needed, type; or a folder of such files.
"""


def register_score(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("score", epilog=_EXAMPLES)(score)


def score(
    context: typer.Context,
    gold: Annotated[list[Path], typer.Option(metavar="FILE", exists=True, help=GOLD_HELP)],
    system: SystemOption,
    calibrate_on: CalibrateOption = None,
    training_scores: TrainingScoresOption = None,
    wordnet: WordNetOption = None,
    unknown_words: Annotated[
        UnknownWords, typer.Option(help="What baselines score for a word that WordNet does not have.")
    ] = UnknownWords.MEAN,
    resamples: ResamplesOption = DEFAULT_RESAMPLES,
    seed: SeedOption = DEFAULT_SEED,
    as_raters: Annotated[
        bool,
        typer.Option(
            "--as-raters",
            help="Compare the systems, such as language models that grade, with the raters too.",
        ),
    ] = False,
    as_json: JsonOption = False,
    as_latex: LatexOption = False,
) -> None:
    """Score systems on gold grades: Pearson's and Spearman's correlation by type and genre.

    As in SemEval-2014 Task 3: Pearson by type, systems ranked by its sum. Intervals are of 95 %. Several
    systems are compared with each other, by the paired bootstrap and by Williams' test.
    """
    refuse_two_forms(as_json=as_json, as_latex=as_latex)
    requests = parse_systems(
        context, system, training_scores or [], calibrates=bool(calibrate_on), unknown_words=unknown_words
    )
    pairs, changed_gold = read_gold_with_changes(gold)
    training, changed_training = read_gold_with_changes(calibrate_on) if calibrate_on else ([], [])
    ungraded = read_ungraded([*gold, *(calibrate_on or ())])
    systems = score_requests(requests, pairs, training, ungraded, senses_of(context, wordnet))
    changed = [str(file) for file in (*changed_gold, *changed_training)]
    remarks = show_remarks(changed, systems)
    report = score_systems(pairs, systems, resamples=resamples, seed=seed)
    if as_latex:
        named = f"gold from {', '.join(map(str, gold))}, SHA-256 of its pairs {gold_digest(pairs)}"
        made_by = f"python -m annotation score --latex, {named}"
        show_line(scores_to_latex(report, made_by=made_by, remarks=remarks))
        return
    people = people_of(pairs, count_undecided(gold), resamples=resamples, seed=seed)
    raters = []
    if as_raters:
        if not people.raters:
            raise CallError(
                "--as-raters needs single ratings: give a gold set of ours that was exported with them."
            )
        scored = [(system.name, system.scores) for system in systems]
        raters = system_raters(pairs, scored, resamples=resamples, seed=seed)
    if as_json:
        left_out = {one.name: one.left_out for one in systems}
        bounds = {bound.type: bound_json(bound, people.raters) for bound in people.bounds}
        of_people = {"upper_bound": bounds, "not_adjudicated": people.undecided}
        told = {**of_people, "changed_gold": changed, "left_out": left_out}
        told |= {"as_raters": list(map(rater_json, raters))} if as_raters else {}
        show_json({**scores_to_json(report), **told})
    else:
        show_report(report, people)
        _show_raters(raters)
