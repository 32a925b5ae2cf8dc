"""The command that scores systems: python -m annotation score --gold FILE --system FILE or a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from annotation.commands.options import (
    HandedIn,
    JsonOption,
    LatexOption,
    ResamplesOption,
    SeedOption,
    WordNetOption,
    refuse_two_forms,
)
from annotation.commands.score_tables import show_report
from annotation.commands.system_options import (
    GOLD_HELP,
    CalibrateOption,
    SystemOption,
    TrainingScoresOption,
    named_systems,
    scored,
    senses_of,
    show_remarks,
)
from annotation.files.gold_pairs import (
    count_undecided,
    gold_digest,
    read_gold_and_changed,
    read_ungraded,
)
from annotation.reliability.bootstrap import DEFAULT_RESAMPLES, DEFAULT_SEED
from annotation.reliability.report_json import bound_json
from annotation.systems.baselines import UnknownWords
from annotation.systems.people import people_of
from annotation.systems.report import score_systems
from annotation.systems.report_json import scores_to_json
from annotation.systems.report_latex import scores_to_latex
from annotation.terminal import show_json, show_line

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
with it; JSON Lines, CSV or TSV with id, score and, if needed, type; or a folder of such files.
"""


def register(app: typer.Typer) -> None:
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
    ] = UnknownWords.ZERO,
    resamples: ResamplesOption = DEFAULT_RESAMPLES,
    seed: SeedOption = DEFAULT_SEED,
    as_json: JsonOption = False,
    as_latex: LatexOption = False,
) -> None:
    """Score systems on gold grades: Pearson's and Spearman's correlation by type and genre.

    As in SemEval-2014 Task 3: Pearson by type, systems ranked by its sum. Intervals are of 95 %. Several
    systems are compared with each other, by the paired bootstrap and by Williams' test.
    """
    refuse_two_forms(as_json=as_json, as_latex=as_latex)
    handed: HandedIn = context.obj
    requests = named_systems(
        context, system, training_scores or [], calibrates=bool(calibrate_on), unknown_words=unknown_words
    )
    pairs, changed_gold = read_gold_and_changed(gold)
    training, changed_training = read_gold_and_changed(calibrate_on) if calibrate_on else ([], [])
    ungraded = read_ungraded([*gold, *(calibrate_on or ())])
    systems = scored(requests, pairs, training, ungraded, senses_of(context, wordnet))
    changed = [str(file) for file in (*changed_gold, *changed_training)]
    remarks = show_remarks(changed, systems)
    report = score_systems(pairs, systems, resamples=resamples, seed=seed)
    if as_latex:
        named = f"gold from {', '.join(map(str, gold))}, SHA-256 of its pairs {gold_digest(pairs)}"
        made_by = f"python -m annotation score --latex, {named}"
        show_line(scores_to_latex(report, handed.latex, made_by=made_by, remarks=remarks))
        return
    people = people_of(pairs, count_undecided(gold), resamples=resamples, seed=seed)
    if as_json:
        left_out = {one.name: one.left_out for one in systems}
        bounds = {bound.type: bound_json(bound, people.raters) for bound in people.bounds}
        of_people = {"upper_bound": bounds, "not_adjudicated": people.undecided}
        told = {**of_people, "changed_gold": changed, "left_out": left_out}
        show_json({**scores_to_json(report), **told})
    else:
        show_report(report, people)
