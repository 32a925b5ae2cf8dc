"""The command that scores systems: python -m annotation score --gold FILE --system FILE or a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from annotation.files.gold_pairs import changed_gold, count_undecided, read_gold, read_ungraded
from annotation.reliability.bootstrap import DEFAULT_RESAMPLES, DEFAULT_SEED
from annotation.reliability.report_json import bound_json
from annotation.senses.dictionary import Dictionary
from annotation.senses.network import WORD_TO_SENSE
from annotation.systems.baselines import BASELINES, EMBEDDING, Similarities, UnknownWords
from annotation.systems.people import people_of
from annotation.systems.report import score_systems
from annotation.systems.report_json import report_to_json
from annotation.systems.report_latex import report_to_latex
from annotation.systems.scored import (
    BuiltInSystem,
    ScoreFile,
    build_system,
    check_apart,
    left_out_text,
    needs_senses,
    open_senses,
)
from annotation.terminal import show_json, show_line, show_note
from db.command import CallError

_RUN_HERE = (*BASELINES, EMBEDDING)
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
    known = dict(BASELINES)
    handed: HandedIn = context.obj
    if handed.embedding is not None:
        known[EMBEDDING] = handed.embedding
    requests = _requests(system, known, training_scores or [], unknown_words, calibrates=bool(calibrate_on))
    pairs = read_gold(gold)
    training = read_gold(calibrate_on) if calibrate_on else []
    files = [*gold, *(calibrate_on or ())]
    changed = _note_changed(files)
    check_apart(pairs, training)
    is_optional = wordnet is None and any(pair.type != WORD_TO_SENSE for pair in pairs)
    senses, reason = (
        open_senses(Dictionary(wordnet).open, is_optional=is_optional)
        if needs_senses(requests, pairs)
        else (None, "")
    )
    ungraded = read_ungraded(files)
    systems = [build_system(request, pairs, training, senses, reason, ungraded) for request in requests]
    for one in systems:
        if one.left_out:
            show_note(f"{one.name}: {left_out_text(one.left_out)}")
    report = score_systems(pairs, systems, resamples=resamples, seed=seed)
    if as_latex:
        show_line(report_to_latex(report, handed.latex))
        return
    people = people_of(pairs, count_undecided(gold), resamples=resamples, seed=seed)
    if as_json:
        left_out = {one.name: one.left_out for one in systems}
        bounds = {bound.type: bound_json(bound, people.raters) for bound in people.bounds}
        of_people = {"upper_bound": bounds, "not_adjudicated": people.undecided}
        told = {**of_people, "changed_gold": changed, "left_out": left_out}
        show_json({**report_to_json(report), **told})
    else:
        show_report(report, people, pairs)


def _note_changed(gold: Sequence[Path]) -> list[str]:
    """Tell which gold files are not as they were exported."""
    changed = [str(file) for file in changed_gold(gold)]
    if changed:
        show_note(
            f"{', '.join(changed)}: changed after the export (manifest.json has another SHA-256), so no "
            "single ratings are read there; where that is not meant, export the gold set again."
        )
    return changed


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
