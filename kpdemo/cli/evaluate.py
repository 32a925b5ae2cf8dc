"""`python -m kpdemo evaluate`: a model, or predictions of one, against gold keyphrases."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from kpdemo.cli.options import (
    PROGRAM,
    DeviceOption,
    IdColumnOption,
    LanguageOption,
    PredictBatchSizeOption,
    Problems,
    check_input,
    check_second_output,
    dataset_names,
    exit_with,
    open_predictor,
    print_json,
    progress_line,
    read_language,
    say,
    unnamed_reporter,
)
from kpdemo.command import CallError
from kpdemo.errors import InputError
from kpdemo.evaluation.metrics import Convention, Cut, read_cuts, with_further
from kpdemo.io.documents import ID_COLUMN, read_gold
from kpdemo.io.files import LINE_SUFFIXES, replacing
from kpdemo.io.tables import LineError
from kpdemo.predictors import model_identity
from kpdemo.types import Document, Prediction, Predictor

if TYPE_CHECKING:
    from kpdemo.evaluation.metrics import Cut
    from kpdemo.evaluation.report import Report
    from kpdemo.evaluation.runs import Run
    from kpdemo.terminal import ProgressLine


AtOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="K",
        help="Also report P, R and F1 of the first K predictions; O is the number of gold keyphrases. May "
        "be given several times, or as 10,15,O.",
    ),
]


def cuts_of_option(written: Iterable[str]) -> tuple[Cut, ...]:
    """Those that are always measured, and the ones of the option.

    Raises:
        CallError: one is none.
    """
    try:
        return with_further(cut for text in written for cut in read_cuts(text))
    except InputError as error:
        raise CallError(f"--at {error}") from None


ReleasedRuleOption = Annotated[
    bool,
    typer.Option(
        "--released-rule",
        help="Compare English phrases by the rule of SimCKP's released code, which tells CO₂ from CO2, ’ "
        "from ', and naïve from naive.",
    ),
]
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
    from kpdemo.cli.tables import show_report, show_runs
    from kpdemo.evaluation.report import report_to_json, report_to_markdown
    from kpdemo.evaluation.runs import runs_to_json, runs_to_latex, runs_to_markdown

    alone = runs[0].report if len(runs) == 1 else None
    if form.json:
        print_json(report_to_json(alone) if alone else runs_to_json(runs))
    elif form.markdown:
        sys.stdout.write(report_to_markdown(alone) if alone else runs_to_markdown(runs))
    elif form.latex:
        made_by = f"python -m kpdemo evaluate --latex --convention {form.convention}"
        made_by += " --released-rule" if runs[0].report.released else ""
        sys.stdout.write(f"{runs_to_latex(runs, form.convention, made_by=made_by)}\n")
    elif alone:
        show_report(alone)
    else:
        show_runs(runs)


EXAMPLES = f"""
Examples:

\b
  {PROGRAM} evaluate --gold inspec.test.jsonl --model default
  {PROGRAM} evaluate --gold inspec.test.jsonl --gold semeval2010.test.jsonl --model tfidf --json
  {PROGRAM} evaluate --gold docs.jsonl --predictions predictions.jsonl --markdown
  {PROGRAM} evaluate --gold docs.jsonl --predictions simckp.jsonl --predictions yake.jsonl
  {PROGRAM} evaluate --gold inspec.test.jsonl --predictions predictions.jsonl --latex > figures.tex
  {PROGRAM} evaluate --gold docs.jsonl --predictions predictions.jsonl --at 10,O --details details.jsonl

\b
JSON of one file, or of a model:
  {{"datasets": {{NAME: {{"documents", "present", "absent", "pooled", …}}}}, "model", "device", "seconds", …}}
JSON of several files, each in the form above:
  {{"runs": [{{"predictions": FILE, "datasets", "model", …}}, …]}}
  and, in each data set of all files but the first, "difference" from the first, with 95 % interval and p
A line of --details, for each document and each file, or model:
  {{"dataset", "predictions", "model", "id", "title", "language", "gold": {{"present", "absent"}},
  "predicted": {{"present": [{{"text", "rank", "score", "correct"}}, …], "absent"}}, "missed", …}}
"""


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(evaluate)


def evaluate(
    gold: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Documents with their gold keyphrases (in CSV separated by semicolons); may be given "
            "several times.",
        ),
    ],
    prediction_files: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions",
            metavar="FILE",
            help="What `predict --output` wrote for these documents, or lines of id and keyphrases; may be "
            "given several times, to compare models.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Predict with this model now, instead of --predictions."),
    ] = None,
    id_column: IdColumnOption = ID_COLUMN,
    language: LanguageOption = None,
    device: DeviceOption = "auto",
    batch_size: PredictBatchSizeOption = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N documents of each file.")
    ] = None,
    at: AtOption = None,
    released_rule: ReleasedRuleOption = False,
    details_file: Annotated[
        str | None,
        typer.Option(
            "--details",
            metavar="FILE",
            help="Also write what was right, wrong and missed in each document, as JSON Lines; an existing "
            "file is replaced.",
        ),
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    as_latex: LatexOption = False,
    convention: ConventionOption = None,
) -> None:
    """Measure keyphrases against gold: F1@5, F1@M, R@50, and F1 at what --at says.

    Each document is evaluated with the words and stems of its language; each language also has figures of its
    own. A model reads each document in its own language, as `predict` does; for the figures, a document in
    Latin letters that names none gets the language of most such documents in its file.
    """
    predictions = prediction_files or []
    if bool(predictions) == (model is not None):
        raise CallError("Evaluate either --predictions FILE or --model NAME; give one of them.")
    form = read_form(json=as_json, markdown=as_markdown, latex=as_latex, convention=convention)
    names = dataset_names(gold)
    code = "" if language is None else read_language(language)
    cuts = cuts_of_option(at or ())
    files = [check_input(file, LINE_SUFFIXES) for file in predictions]
    read = [*map(Path, names), *files]
    details_path = None if details_file is None else check_second_output("--details", details_file, read)
    from kpdemo.evaluation.measuring import not_in_text_message, without_gold_message
    from kpdemo.evaluation.report import trust_note
    from kpdemo.evaluation.runs import Run

    predictor = None if model is None else open_predictor(model, device)
    with progress_line("Evaluating") as progress, _details_stream(details_path) as stream:
        problems, on_unnamed = Problems(progress), unnamed_reporter(progress, id_column)
        datasets = {
            name: read_gold(
                path,
                limit=limit,
                on_error=problems,
                language=code,
                id_column=id_column,
                on_unnamed=on_unnamed,
            )
            for path, name in names.items()
        }
        if predictor is not None:
            report = _evaluate_model(
                datasets, predictor, batch_size, progress, problems, stream, cuts, released_rule
            )
            runs = [Run("", replace(report, identity=model_identity(str(model))))]
        else:
            runs = _evaluate_files(datasets, files, progress, problems, limit, stream, cuts, released_rule)
    for name, ids in runs[0].report.without_gold.items():
        say(without_gold_message(name, ids, len(datasets[name])))
    for run in runs:
        for name, figures in run.report.datasets.items():
            about = f"{run.file}, {name}" if len(runs) > 1 else name
            if said := not_in_text_message(about, figures):
                say(said)
            if said := trust_note(figures):
                say(f"{about}: {said}")
    print_runs(runs, form)
    exit_with(problems)


@contextmanager
def _details_stream(path: Path | None) -> Iterator[BinaryIO | None]:
    if path is None:
        yield None
        return
    with replacing(path) as written, written.open("wb") as stream:
        yield stream


def _evaluate_model(
    datasets: dict[str, list[Document]],
    predictor: Predictor,
    batch_size: int | None,
    progress: ProgressLine,
    problems: Problems,
    stream: BinaryIO | None,
    cuts: Sequence[Cut],
    released: bool,
) -> Report:
    from kpdemo.batch import ask_each, batch_size_for
    from kpdemo.evaluation.measuring import Details, document_scores, predict_everything, without_gold
    from kpdemo.evaluation.protocol import summarise_languages
    from kpdemo.evaluation.report import Report

    def predict(part: Sequence[Document]) -> list[Prediction]:
        return [one.prediction for one in predict_everything(predictor, part)]

    started = time.perf_counter()
    size = batch_size or batch_size_for(predictor)
    figures = {}
    done = 0
    progress.set_total(sum(len(documents) for documents in datasets.values()))
    for name, documents in datasets.items():
        predictions = []
        for first in range(0, len(documents), size):
            batch = documents[first : first + size]
            for document, outcome in zip(batch, ask_each(batch, predict), strict=True):
                if isinstance(outcome, InputError):
                    problems(LineError(0, f'{name}, document "{document.id}": {outcome}'))
                predictions.append(Prediction(()) if isinstance(outcome, InputError) else outcome)
            done += len(batch)
            progress.show(done)
        on_compared = None if stream is None else partial(Details(stream).add, name, predictor.name)
        scores = document_scores(
            documents, predictions, on_compared=on_compared, cuts=cuts, released=released
        )
        figures[name] = summarise_languages(scores)
    seconds = round(time.perf_counter() - started, 3)
    return Report(
        figures,
        model=predictor.name,
        device=predictor.device,
        seconds=seconds,
        without_gold=without_gold(datasets),
        released=released,
    )


def _evaluate_files(
    datasets: dict[str, list[Document]],
    files: Sequence[Path],
    progress: ProgressLine,
    problems: Problems,
    limit: int | None,
    stream: BinaryIO | None,
    cuts: Sequence[Cut],
    released: bool,
) -> list[Run]:
    from kpdemo.evaluation.measuring import Details, measure_file, missing_message
    from kpdemo.evaluation.runs import Run, compare_runs

    whole = limit is None and not problems.count
    names = _file_names(files)
    progress.turn_to("Evaluating", sum(map(len, datasets.values())) * len(files), "predictions")
    count = partial(_count, progress, itertools.count())
    runs = []
    for path, name in zip(files, names, strict=True):

        def report_missing(dataset: str, ids: Sequence[str], of: str = name) -> None:
            problem = missing_message(dataset, ids)
            problems(LineError(0, problem if len(files) == 1 else f"{of}: {problem}"))

        report = measure_file(
            datasets,
            path,
            on_missing=report_missing,
            on_error=problems,
            whole=whole,
            before_each=count,
            details=None if stream is None else Details(stream, name),
            cuts=cuts,
            released=released,
        )
        runs.append(Run(name, report))
    if len(runs) > 1:
        progress.turn_to("Comparing", (len(runs) - 1) * len(datasets), "comparisons")
    return compare_runs(runs, partial(_count, progress, itertools.count()))


def _count(progress: ProgressLine, done: Iterator[int]) -> None:
    progress.show(next(done))


def _file_names(files: Sequence[Path]) -> list[str]:
    """Their own names, as the page has them; with their folders where these are the same."""
    own = [path.name for path in files]
    return own if len(set(own)) == len(own) else [str(path) for path in files]
