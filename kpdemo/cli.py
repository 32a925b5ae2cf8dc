"""The command line: `python -m kpdemo predict`, `evaluate`, `candidates`, `train`, `models`, `index`,
`experiments`.

Exit status 0: done. 1: the work failed. 2: the call was wrong. 130: stopped with Ctrl+C. What went
wrong is one sentence on standard error; results go to standard output and nothing else does.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from kpdemo.commands import experiments, index
from kpdemo.commands.options import (
    INTERRUPTED,
    PROGRAM,
    STDIN,
    STDOUT,
    CallError,
    Device,
    DeviceOption,
    PredictBatchSizeOption,
    Problems,
    check_file,
    counted,
    print_json,
    progress_line,
    quick_count,
    say,
)
from kpdemo.documents import (
    COMPRESSIONS,
    DOCUMENT_SUFFIXES,
    LINE_SUFFIXES,
    TABLE_SUFFIXES,
    WHOLE_SUFFIXES,
    LineError,
    document_suffix,
    read_numbered,
    read_text,
    read_whole,
)
from kpdemo.errors import ConfigError, InputError, KpdemoError, ModelLoadError
from kpdemo.lines import with_title_line
from kpdemo.types import Document, Prediction, Predictor, languages_of

if TYPE_CHECKING:
    from kpdemo.evaluation.protocol import DatasetFigures
    from kpdemo.evaluation.report import Report
    from kpdemo.terminal import ProgressLine


_PREDICT_EXAMPLES = f"""
Examples:

\b
  {PROGRAM} predict paper.pdf
  {PROGRAM} predict abstract.txt --title "Learning to rank" --top-k 10
  echo "Neural networks learn word embeddings." | {PROGRAM} predict - --json
  {PROGRAM} predict article.txt --model yake --language French
  {PROGRAM} predict these.txt --language fr --index my.index --json
  {PROGRAM} predict --input docs.jsonl --output predictions.jsonl
  zcat docs.jsonl.gz | {PROGRAM} predict --input - --output - > predictions.jsonl

\b
JSON of one document:
  {{"language": "en", "present": [{{"text", "score", "spans": [[start, end], …]}}, …],
   "absent": [{{"text", "score", "kind", "source", "evidence"}}, …],
   "model", "device", "seconds", "text", "text_offset"}}
Spans count characters of "text": the text given, under the title of --title and two newlines; what
follows a title begins at "text_offset". A first line that is a title is one without --title.
"kind" is reordered (all its words are in the text), mixed (some are) or unseen (none is), "source" is
generated, retrieved or both, "evidence" are phrases that speak for it, as the text or a retrieved passage
writes them. What the model does not tell is left out, and a model that ranks more absent phrases than it
gives adds "absent_candidates": ["…", …], from which R@50 is counted. A model that retrieves adds "passages":
[{{"id", "title", "keyphrases", "score", "helps", "used"}}, …], nearest first: "helps" is false for one that
is too far from the text, and "used" are the keyphrases that led to one of the result.

\b
A line of docs.jsonl:
  {{"id": "1", "title": "…", "abstract": "…", "language": "en"}}
"text" may stand for "abstract", and a missing id is the line's number. Without a language it is detected.


A line of predictions.jsonl:
  {{"id": "1", "language": "en", "present": [{{"text", "score", "spans"}}, …],
   "absent": [{{"text", "score", …}}, …]}}
predictions.jsonl.settings.json, written beside it, keeps the model and the options, so that a file begun is
continued with the same ones only; without it what is there cannot be continued.
predictions.jsonl.refused.jsonl, if there is one, has the documents that the model refused, and why: they are
asked for again when they were changed.
"""
_EVALUATE_EXAMPLES = f"""
Examples:

\b
  {PROGRAM} evaluate --gold inspec.test.jsonl --model default
  {PROGRAM} evaluate --gold inspec.test.jsonl --gold semeval2010.test.jsonl --model tfidf --json
  {PROGRAM} evaluate --gold docs.jsonl --predictions predictions.jsonl --markdown
"""
_CANDIDATES_EXAMPLES = f"""
Examples:

\b
  {PROGRAM} candidates --gold inspec.test.jsonl
"""
_TRAIN_EXAMPLES = f"""
Examples:

\b
  {PROGRAM} train all --config configs/default.toml
  {PROGRAM} train extractor --config configs/default.toml --set loop.seed=7 --output runs/seed7
"""

app = typer.Typer(
    help="Find the keyphrases of documents: those that stand in the text, and those that do not.",
    epilog=f"`{PROGRAM} COMMAND --help` shows what a command takes, with examples.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
index.register(app)
experiments.register(app)


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How a file of documents is predicted; see `kpdemo.batch.predict_file`."""

    batch_size: int | None
    top_k: int | None
    threshold: float | None
    identity: str
    language: str


ModelOption = Annotated[
    str,
    typer.Option(metavar="NAME", help="A name of `models`, a checkpoint folder, or OWNER/NAME on the Hub."),
]


LanguageOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What the documents are written in, such as French or fr, whatever they say; "
        "otherwise their own, or what is detected.",
    ),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default this process's own, and return its exit status."""
    _speak_utf8()
    try:
        status = app(
            args=None if arguments is None else list(arguments), prog_name=PROGRAM, standalone_mode=False
        )
        sys.stdout.flush()
    except typer.TyperException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", PROGRAM)
        return _fail(f"{error.format_message().rstrip('.')}; see `{command} --help`.", error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _fail("Stopped.", INTERRUPTED)
    except (CallError, ConfigError) as error:
        return _fail(str(error), 2)
    except KpdemoError as error:
        return _fail(str(error), 1)
    except OSError as error:
        if error.filename is not None:
            reason = error.strerror or type(error).__name__
            return _fail(f"{error.filename}: cannot be used ({reason}); mend that and try again.", 1)
        # Without a name it is an open stream, and the readers name theirs: what remains is the output.
        # What is still in its buffer would fail a second time at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # as in `predict … | head`: the reader had enough
            return 1
        return _fail(f"The output cannot be written ({error.strerror or error}); mend that and try again.", 1)
    return status if isinstance(status, int) else 0


@app.command(epilog=_PREDICT_EXAMPLES)
def predict(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE|-", help="One document: .txt, .md or .pdf, or - for standard input."),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="The title of the one document.")] = "",
    source: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="FILE", help="Many documents: JSON Lines (or - for standard input), CSV, TSV."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The predictions, - for standard output; a file begun earlier is continued.",
        ),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Exactly so many of each kind, or all there are."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, metavar="SCORE", help="All with at least this score."),
    ] = None,
    model: ModelOption = "default",
    language: LanguageOption = None,
    index_folder: Annotated[
        Path | None,
        typer.Option(
            "--index", metavar="FOLDER", help="Passages for a model that retrieves, instead of its own."
        ),
    ] = None,
    device: DeviceOption = Device.AUTO,
    batch_size: PredictBatchSizeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the one document's result as JSON.")] = False,
) -> None:
    """Find the keyphrases of one document, or of a file of many.

    The model's own rule gives so many keyphrases that the F1 to be expected is highest, and at least
    five. --threshold gives all with at least that score, --top-k exactly so many, or all there are. Both
    together give at most K of those with at least that score.
    """
    code = "" if language is None else read_language(language)
    if source is None and output is None:
        document = replace(_read_one(file, title), language=code)
        _check_index(model, index_folder)
        reader = _reader(model, document, device, index_folder)
        has_index = index_folder is not None
        _predict_one(document, reader, top_k, threshold, as_json=as_json, has_index=has_index)
        return
    if file is not None or title:
        raise CallError("FILE and --title are for one document; leave them out with --input and --output.")
    if source is None or output is None:
        raise CallError("--input and --output go together; give both, - stands for standard input or output.")
    if source != STDIN:
        check_file(source, DOCUMENT_SUFFIXES)
    _check_index(model, index_folder)
    predictor = open_predictor(model, device, index_folder)
    identity = model_identity(model) + index_identity(model, index_folder)
    options = BatchOptions(batch_size, top_k, threshold, identity, code)
    _predict_many(predictor, source, output, options, has_index=index_folder is not None)


@app.command(epilog=_EVALUATE_EXAMPLES)
def evaluate(
    gold: Annotated[
        list[str],
        typer.Option(metavar="FILE", help="Documents with their keyphrases; may be given several times."),
    ],
    predictions: Annotated[
        str | None, typer.Option(metavar="FILE", help="What `predict --output` wrote for these documents.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Predict with this model now, instead of --predictions."),
    ] = None,
    language: LanguageOption = None,
    device: DeviceOption = Device.AUTO,
    batch_size: PredictBatchSizeOption = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N documents of each file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
) -> None:
    """Measure keyphrases against gold: F1@5, F1@M, R@50.

    Each document by the words and stems of its language, and the documents of each language apart too. A
    model reads each document in its own language, as `predict` does; measured, a document in Latin letters
    that names none has the language of most of them in its file.
    """
    if (predictions is None) == (model is None):
        raise CallError("Evaluate either --predictions FILE or --model NAME; give one of them.")
    if as_json and as_markdown:
        raise CallError("--json and --markdown exclude each other; give one of them.")
    names = _dataset_names(gold)
    code = "" if language is None else read_language(language)
    if predictions is not None:
        check_file(predictions, LINE_SUFFIXES)
    predictor = None if model is None else open_predictor(model, device)
    with progress_line("Evaluating") as progress:
        problems = Problems(progress)
        datasets = {name: _read_gold(path, limit, problems, code) for path, name in names.items()}
        if predictor is not None:
            report = _evaluate_model(datasets, predictor, batch_size, progress, problems)
        else:
            report = _evaluate_file(datasets, Path(str(predictions)), problems, partly=limit is not None)
    _print_report(report, as_json=as_json, as_markdown=as_markdown)
    if problems.count:
        raise typer.Exit(1)


@app.command(epilog=_CANDIDATES_EXAMPLES)
def candidates(
    gold: Annotated[
        list[str],
        typer.Option(metavar="FILE", help="Documents with their keyphrases; may be given several times."),
    ],
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N documents of each file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure how many gold present keyphrases are among the candidates."""
    from kpdemo.candidates.chunks import mine_candidates
    from kpdemo.candidates.tagger import load_tagger
    from kpdemo.evaluation.coverage import coverage_to_json, measure_coverage
    from kpdemo.terminal import show_coverage

    tagger = load_tagger()
    with progress_line("Reading") as progress:
        problems = Problems(progress)
        figures = {
            name: measure_coverage(
                _read_gold(path, limit, problems), lambda document: mine_candidates(document, tagger)
            )
            for path, name in _dataset_names(gold).items()
        }
    if as_json:
        print_json({name: coverage_to_json(coverage) for name, coverage in figures.items()})
    else:
        show_coverage(figures)
    if problems.count:
        raise typer.Exit(1)


@app.command(epilog=_TRAIN_EXAMPLES)
def train(
    part: Annotated[
        str,
        typer.Argument(
            metavar="PART",
            help="tagger, frequency, extractor, labeller, generator, one2seq, bank or reranker; model to put "
            "trained parts together; all for the parts that [model] names and the model of them; for other "
            "languages retriever, multilingual, ramkg-generator or kea.",
        ),
    ],
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Settings in TOML; left out, configs/default.toml.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where the result goes, instead of where FILE says.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting that replaces the one in FILE; may be repeated. With all it is for every part "
            "that has it.",
        ),
    ] = None,
) -> None:
    """Train a model or a part of it, or go on after a stop."""
    settings = dict(parse_setting(text) for text in overrides or ())
    from kpdemo.config import DEFAULT_CONFIG
    from kpdemo.training import run

    run(
        part,
        DEFAULT_CONFIG if config is None else Path(config),
        output=None if output is None else Path(output),
        overrides=settings,
    )


@app.command()
def models(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the names and descriptions as JSON.")
    ] = False,
) -> None:
    """List the models and baselines that --model takes, and those of the Hugging Face Hub that are known.

    A checkpoint folder and other models of the Hub may be given too.
    """
    from kpdemo.predictors import available_models, hub_models

    known = available_models() | hub_models()
    if as_json:
        print_json(known)
    else:
        from kpdemo.terminal import show_models

        show_models(known)


def open_predictor(model: str, device: Device, index_folder: Path | None = None) -> Predictor:
    """The model of that name or folder; its weights load with the first prediction."""
    from kpdemo.predictors import available_models, load_predictor
    from kpdemo.quick_start import import_nltk

    import_nltk()
    try:
        return load_predictor(model, device=device.value, index=index_folder)
    except ModelLoadError as error:
        if model in available_models() or Path(model).exists():
            raise
        raise CallError(str(error)) from None


def read_language(written: str) -> str:
    """The code of the language that an option names."""
    from kpdemo.languages.names import known_language

    try:
        return known_language(written)
    except InputError as error:
        raise CallError(f"--language {error}") from None


def model_identity(model: str) -> str:
    """What tells the weights of a checkpoint from others of its name; empty for what has no weights.

    Its card is prose and may be written anew: the hash is that of all other files.
    """
    from kpdemo.languages.routing import DEFAULT_MODEL
    from kpdemo.predictors import BASELINES, DEFAULT_FOLDER, MULTILINGUAL_FOLDER, model_folder
    from kpdemo.sums import SUMS, read_sums

    if model in BASELINES and model != "embedding":
        return ""
    folder = DEFAULT_FOLDER if model == "embedding" else model_folder(model)
    if not (folder / SUMS).is_file():
        return ""
    parts = sorted(folder.rglob(SUMS))  # those of bank and reranker too
    if model == DEFAULT_MODEL:
        parts += sorted(MULTILINGUAL_FOLDER.rglob(SUMS))  # which it leaves other languages to
    digest = hashlib.sha256()
    for part in parts:
        for name, sha256 in sorted(read_sums(part.parent).items()):
            if not name.endswith(".md"):
                digest.update(f"{sha256}  {name}\n".encode())
    return digest.hexdigest()


def index_identity(model: str, index_folder: Path | None) -> str:
    """What tells the passages that a model retrieves from others; empty for one that retrieves none.

    Raises:
        PassageIndexError: there is no index in the folder, or it is damaged.
    """
    from kpdemo.predictors import PASSAGES_INDEX, takes_index

    if not takes_index(model) or not (index_folder or PASSAGES_INDEX).is_dir():
        return ""
    from kpdemo.ramkg.manifest import read_manifest

    manifest = read_manifest(index_folder or PASSAGES_INDEX)
    return hashlib.sha256(repr(sorted(manifest.sha256.items())).encode()).hexdigest()


def _check_index(model: str, index_folder: Path | None) -> None:
    """Raises:
    CallError: the model reads no passages.
    PassageIndexError: there is no index in the folder, or it is damaged.
    """
    if index_folder is None:
        return
    from kpdemo.predictors import takes_index
    from kpdemo.ramkg.manifest import read_manifest

    if not takes_index(model):
        raise CallError(f"The model {model!r} reads no passages: leave --index out, or give another --model.")
    read_manifest(index_folder)


def _reader(model: str, document: Document, device: Device, index_folder: Path | None) -> Predictor:
    """The model for one document: behind the default name, the one made for its language."""
    from kpdemo.languages import identified
    from kpdemo.languages.routing import DEFAULT_MODEL, model_for
    from kpdemo.predictors import shipped_models

    if model == DEFAULT_MODEL and model_for(identified(document).language) in shipped_models():
        model = model_for(identified(document).language)
    passages = None if model == DEFAULT_MODEL else index_folder
    return open_predictor(model, device, passages)


def _speak_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _fail(message: str, status: int) -> int:
    print(" ".join(message.split()), file=sys.stderr)
    return status


def _read_one(file: str | None, title: str) -> Document:
    try:
        title.encode()
    except UnicodeEncodeError:
        raise CallError("The title is not UTF-8 text; type it again.") from None
    if file is None and sys.stdin.isatty():
        raise CallError(
            f"No document: name a FILE, or - to type or pipe one; see `{PROGRAM} predict --help`."
        )
    if file is None or file == STDIN:
        document = Document(read_text(sys.stdin.buffer, name="standard input"), title=title)
        return with_title_line(document)
    path = check_file(file, DOCUMENT_SUFFIXES)
    if document_suffix(path) not in WHOLE_SUFFIXES:
        raise CallError(
            f"{file}: a file of many documents; use `predict --input {file} --output predictions.jsonl`."
        )
    return read_whole(path, title=title)


def _predict_one(
    document: Document,
    predictor: Predictor,
    top_k: int | None,
    threshold: float | None,
    *,
    as_json: bool,
    has_index: bool,
) -> None:
    from kpdemo.languages.names import language_name
    from kpdemo.languages.notes import language_note
    from kpdemo.prediction_files import document_record
    from kpdemo.routed import read_with_passages
    from kpdemo.text import check_readable

    check_readable(document, any_script=True)  # before a model is loaded for nothing
    device = predictor.device  # loads the model: its time is not the prediction's
    started = time.perf_counter()
    [found] = read_with_passages(predictor, [document], top_k=top_k, threshold=threshold)
    seconds = time.perf_counter() - started
    prediction, retrieval = found.prediction, found if found.retrieves else None
    if note := language_note(prediction.language, predictor.name, languages_of(predictor)):
        say(note)
    if has_index and retrieval is None:
        language = language_name(prediction.language)
        say(f"This text is {language}, which '{predictor.name}' reads without passages: --index is not used.")
    if as_json:
        origin = {"model": predictor.name, "device": device}
        print_json(document_record(document, prediction, **origin, seconds=seconds, retrieval=retrieval))
        return
    from kpdemo.terminal import show_prediction

    footer = f"{predictor.name} on {device}, {seconds:.2f} s, {language_name(prediction.language)}"
    show_prediction(document, prediction, footer, retrieval)


def _predict_many(
    predictor: Predictor, source: str, output: str, options: BatchOptions, *, has_index: bool
) -> None:
    from kpdemo.batch import predict_file
    from kpdemo.resuming import ResumeError

    input_stream: str | BinaryIO = sys.stdin.buffer if source == STDIN else source
    output_stream: str | BinaryIO = sys.stdout.buffer if output == STDOUT else output
    try:
        with progress_line("Predicting", None if source == STDIN else quick_count(Path(source))) as progress:
            summary = predict_file(
                predictor,
                input_stream,
                output_stream,
                **asdict(options),
                progress=progress.show_summary,
                on_error=progress.show_problem,
            )
    except KeyboardInterrupt:
        resumable = source != STDIN and output != STDOUT
        _fail("Stopped; run the same command to go on." if resumable else "Stopped.", INTERRUPTED)
        raise typer.Exit(INTERRUPTED) from None
    except ResumeError as error:
        raise CallError(str(error)) from None
    already = f", {summary.skipped:,} were there already" if summary.skipped else ""
    failed = f", {summary.failed:,} could not be used" if summary.failed else ""
    documents = "document" if summary.done == 1 else "documents"
    print(f"{summary.done:,} {documents} predicted{already}{failed}.", file=sys.stderr)
    if has_index and (without := summary.done - summary.retrieved):
        languages = "its language" if without == 1 else "their languages"
        say(
            f"--index was not used for {counted(without, 'document')}: '{predictor.name}' reads {languages} "
            "without passages."
        )
    if summary.failed:
        raise typer.Exit(1)


def _dataset_names(paths: Sequence[str]) -> dict[str, str]:
    names = {path: dataset_name(check_file(path, (*LINE_SUFFIXES, *TABLE_SUFFIXES))) for path in paths}
    repeated = next((name for name in names.values() if list(names.values()).count(name) > 1), None)
    if repeated is not None or len(names) < len(paths):
        raise CallError(
            f"Two --gold files are called {repeated or 'the same'}; give each once, under its own name."
        )
    return names


def dataset_name(path: Path) -> str:
    """The name of a gold file without what says how it is written: a/inspec.test.jsonl.gz is inspec.test."""
    name = path.name
    for endings in (COMPRESSIONS, DOCUMENT_SUFFIXES):
        ending = next((ending for ending in endings if name.lower().endswith(ending)), "")
        name = name[: len(name) - len(ending)]
    return name


def _read_gold(path: str, limit: int | None, problems: Problems, language: str = "") -> list[Document]:
    """The documents, all in `language` where one is given."""
    documents = [document for _, document in islice(read_numbered(path, on_error=problems), limit)]
    if not any(document.keyphrases for document in documents):
        raise InputError(f'{path}: no document has gold "keyphrases"; give a file that has them.')
    return [replace(document, language=language) for document in documents] if language else documents


def _measure(
    documents: Sequence[Document], predictions: Mapping[str, Prediction] | Sequence[Prediction]
) -> DatasetFigures:
    from kpdemo.evaluation.protocol import evaluate
    from kpdemo.languages.datasets import identified_together

    return evaluate(identified_together(documents), predictions)


def _evaluate_model(
    datasets: dict[str, list[Document]],
    predictor: Predictor,
    batch_size: int | None,
    progress: ProgressLine,
    problems: Problems,
) -> Report:
    from kpdemo.batch import batch_size_for, predict_each
    from kpdemo.evaluation.report import Report

    started = time.perf_counter()
    size = batch_size or batch_size_for(predictor)
    figures = {}
    done = 0
    progress.set_total(sum(len(documents) for documents in datasets.values()))
    for name, documents in datasets.items():
        predictions = []
        for first in range(0, len(documents), size):
            batch = documents[first : first + size]
            for document, outcome in zip(batch, predict_each(predictor, batch), strict=True):
                if isinstance(outcome, InputError):
                    problems(LineError(0, f'{name}, document "{document.id}": {outcome}'))
                predictions.append(Prediction(()) if isinstance(outcome, InputError) else outcome)
            done += len(batch)
            progress.show(done)
        figures[name] = _measure(documents, predictions)
    seconds = round(time.perf_counter() - started, 3)
    return Report(figures, model=predictor.name, device=predictor.device, seconds=seconds)


def _evaluate_file(
    datasets: dict[str, list[Document]], path: Path, problems: Problems, *, partly: bool
) -> Report:
    from kpdemo.evaluation.report import Report
    from kpdemo.prediction_files import read_predictions
    from kpdemo.resuming import recorded_model

    whole = not partly and not problems.count
    predictions = read_predictions(path, on_error=problems)
    home: dict[str, str] = {}
    for name, documents in datasets.items():
        for document in documents:
            if home.setdefault(document.id, name) != name:
                raise InputError(
                    f'The id "{document.id}" is in {home[document.id]} and {name}; evaluate one at a time.'
                )
    stray = next((id for id in predictions if id not in home), None)
    if stray is not None and whole:
        raise InputError(f'{path}: "{stray}" is no id of a gold document; give the gold that belongs to it.')
    figures = {}
    for name, documents in datasets.items():
        for document in documents:
            if document.id not in predictions:
                problems(LineError(0, f'{name}, document "{document.id}": no prediction; counted as empty.'))
        found = {document.id: predictions.get(document.id, Prediction(())) for document in documents}
        figures[name] = _measure(documents, found)
    return Report(figures, model=recorded_model(path))


def _print_report(report: Report, *, as_json: bool, as_markdown: bool) -> None:
    from kpdemo.evaluation.report import report_to_json, report_to_markdown

    if as_json:
        print_json(report_to_json(report))
    elif as_markdown:
        sys.stdout.write(report_to_markdown(report))
    else:
        from kpdemo.terminal import show_figures

        show_figures(report_to_json(report))


def parse_setting(text: str) -> tuple[str, str]:
    """Key and value of an option --set."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise CallError(f"--set {text}: not KEY=VALUE; write it as in --set loop.seed=7.")
    return key.strip(), value
