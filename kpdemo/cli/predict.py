"""`python -m kpdemo predict`: one document for the reader, or a file of many to a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from kpdemo.cli.options import (
    PROGRAM,
    STDIN,
    STDOUT,
    Device,
    DeviceOption,
    Engine,
    GpusOption,
    IdColumnOption,
    LanguageOption,
    ModelOption,
    PredictBatchSizeOption,
    WorkersOption,
    already_there,
    check_index,
    check_input,
    check_second_output,
    only_input,
    open_predictor,
    print_json,
    progress_line,
    quick_count,
    read_language,
    say,
    unnamed_reporter,
)
from kpdemo.command import INTERRUPTED, CallError, check_file
from kpdemo.errors import InputError
from kpdemo.io.documents import ID_COLUMN, read_whole, text_document
from kpdemo.io.files import (
    COMPRESSIONS,
    DOCUMENT_SUFFIXES,
    WHOLE_SUFFIXES,
    is_whole,
    names_other_kind,
    read_text,
    replacing,
)
from kpdemo.io.predictions import write_predictions_table
from kpdemo.lines import with_title_line
from kpdemo.predictors import index_identity, model_identity
from kpdemo.routing import DEFAULT_MODEL
from kpdemo.selection import check_all
from kpdemo.text import number_of
from kpdemo.types import Document, PredictionOptions, Predictor, RetrievalPrediction, Style, languages_of

if TYPE_CHECKING:
    from kpdemo.batch import BatchSummary


_LONG_TEXT = 10_000
"""Characters that take some seconds; a shorter text is read before progress can be seen."""

_WORDS_OF_A_TEXT = 4
"""A name of no file that has this many words was meant as the text itself."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents are read, whether one or many.

    Attributes:
        index_folder: passages for a model that retrieves; None for its own.
        language: that all are in; empty for each its own, or the one detected.
        further: the other options.
        id_column: where many documents have their ids.
    """

    model: str
    device: Device
    index_folder: Path | None
    language: str
    top_k: int | None
    threshold: float | None
    further: PredictionOptions
    id_column: str

    @property
    def options(self) -> PredictionOptions:
        """All of them; the language is the document's."""
        return replace(self.further, top_k=self.top_k, threshold=self.threshold)


EngineOption = Annotated[
    Engine,
    typer.Option(
        help="Where many documents are predicted: in this process, or by Ray's workers, here or on the "
        "cluster of RAY_ADDRESS. With ray, --input is files or a folder of JSON Lines, Parquet or CSV, "
        "--output a folder, and both may be URLs such as s3://bucket/folder."
    ),
]


@dataclass(frozen=True, slots=True)
class Cluster:
    """How a cluster is used, see `kpdemo.cluster.predict_on_ray`."""

    workers: int | None
    gpus: float | None


def predict_files(files: Sequence[str], title: str, reading: Reading, *, as_json: bool) -> None:
    """Print the keyphrases of each file, or of standard input.

    A file of several that cannot be used is named, and the others are answered.
    """
    from kpdemo.terminal import show_line

    check_index(reading.model, reading.index_folder)
    passages = None if reading.model == DEFAULT_MODEL else reading.index_folder
    predictors: dict[str, Predictor] = {
        reading.model: open_predictor(reading.model, reading.device, passages)
    }
    if len(files) < 2:
        document = _read_one(next(iter(files), None), title)
        record = _predict_one(document, reading, predictors, as_json=as_json)
        if as_json:
            print_json(record)
        return
    if title or STDIN in files:
        raise CallError(f"{'--title' if title else STDIN} is for one document; here are {len(files)}.")
    failed = False
    for file in files:
        try:
            document = _read_file(file)
            if not as_json:
                show_line(f"{file}:")
            record = _predict_one(document, reading, predictors, as_json=as_json)
        except (CallError, InputError) as error:
            failed = True
            named = str(error) if file in str(error) else f"{file}: {error}"
            say(named)
            record = {"error": named}
        if as_json:
            print_json({"file": file, **record})
        elif "error" not in record:
            show_line("")
    if failed:
        raise typer.Exit(1)


def _predict_one(
    document: Document, reading: Reading, predictors: dict[str, Predictor], *, as_json: bool
) -> dict[str, Any]:
    """The record of a document, printed for people unless it is wanted `as_json`.

    Args:
        predictors: those opened by now, by name; one more is added where its like is missing.
    """
    from kpdemo.io.predictions import document_record
    from kpdemo.pipeline import read_with_passages
    from kpdemo.text import check_readable

    document = replace(document, language=reading.language)
    model = _model_for(document, reading)
    check_readable(document)  # before a model is loaded for nothing
    if model not in predictors:
        predictors[model] = open_predictor(model, reading.device, reading.index_folder)
    predictor = predictors[model]
    device = predictor.device  # loads the model: its time is not the prediction's
    started = time.perf_counter()
    with _reading_line(len(document.text)):
        [found] = read_with_passages(predictor, [document], reading.options)
    seconds = time.perf_counter() - started
    if reading.index_folder is not None and not found.retrieves:
        found = _without_index(found, predictor)
    for warning in (*document.warnings, *found.prediction.warnings):
        say(warning)
    if not as_json:
        _show(document, found, f"{predictor.name} on {device}, {seconds:.2f} s")
    origin = {"model": predictor.name, "device": device}
    retrieval = found if found.retrieves else None
    return document_record(document, found.prediction, **origin, seconds=seconds, retrieval=retrieval)


@contextmanager
def _reading_line(length: int) -> Iterator[None]:
    """Progress on standard error while a long text of that many characters is read."""
    from kpdemo.terminal import ProgressLine
    from kpdemo.worker import READING, listen_with

    if length < _LONG_TEXT:
        yield
        return
    with (
        ProgressLine(READING, length, "characters") as progress,
        listen_with(lambda share, _: progress.show(round(share * length))),
    ):
        yield


def predict_many(
    source: str,
    output: str,
    reading: Reading,
    batch_size: int | None,
    table: str | None,
    cluster: Cluster | None = None,
) -> None:
    """Write the keyphrases of each document of a file, or of standard input, to a file or standard output.

    Args:
        table: the file of a table with all that `output` holds then.
        cluster: where to compute; without it in this process.
    """
    table_path = None if table is None else _check_table(table, source, output)
    if cluster is None and source != STDIN and not Path(source).is_dir():
        check_input(source, DOCUMENT_SUFFIXES)
    check_index(reading.model, reading.index_folder)
    predictor = open_predictor(reading.model, reading.device, reading.index_folder)
    if cluster is None:
        summary = _predict_file(predictor, source, output, reading, batch_size)
    else:
        summary = _predict_on_ray(source, output, reading, batch_size, cluster)
    if table_path is not None:
        with replacing(table_path) as written:
            write_predictions_table(Path(output), written)
    failed = f", {summary.failed:,} could not be used" if summary.failed else ""
    say(f"{number_of(summary.done, 'document')} predicted{already_there(summary.skipped)}{failed}.")
    if reading.index_folder is not None and (without := summary.done - summary.retrieved):
        languages = "its language" if without == 1 else "their languages"
        say(
            f"--index was not used for {number_of(without, 'document')}: '{predictor.name}' reads "
            f"{languages} "
            "without passages."
        )
    _say_what_is_foreign(summary, predictor)
    if summary.failed:
        raise typer.Exit(1)


def _check_table(name: str, source: str, output: str) -> Path:
    if output == STDOUT or (Path(output).exists() and not Path(output).is_file()):
        raise CallError(f"--csv is made from the file of --output: name one instead of {output}.")
    path = check_second_output("--csv", name, [Path(source), Path(output)])
    if path.resolve().parent == Path(source).resolve():
        raise CallError(f"{name}: inside the input folder; name a file elsewhere.")
    if path.suffix.lower() in COMPRESSIONS or names_other_kind(path, (".csv",)):
        raise CallError(f"{name}: the table is plain CSV; name a file that ends in .csv.")
    return path


def _model_for(document: Document, reading: Reading) -> str:
    """The name of the model for one document: behind the default name, the one made for its language."""
    from kpdemo.languages import identify
    from kpdemo.predictors import shipped_models
    from kpdemo.routing import model_for

    if reading.model == DEFAULT_MODEL:
        made_for = model_for(identify(document).language, reading.further.style)
        if made_for in shipped_models():
            return made_for
    return reading.model


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
        text, warning = read_text(sys.stdin.buffer, name="standard input")
        warnings = (warning,) if warning else ()
        return with_title_line(replace(text_document(text, title=title), warnings=warnings))
    return _read_file(file, title)


def _read_file(file: str, title: str = "") -> Document:
    """The document of a file.

    Raises:
        CallError: there is no such file, or it is none of one document.
        InputError: it cannot be read.
    """
    if len(file.split()) >= _WORDS_OF_A_TEXT and not _is_there(file):
        raise CallError(
            f"{' '.join(file.split()[:_WORDS_OF_A_TEXT])}…: no such file; to predict a text, pass it on "
            f'standard input: echo "TEXT" | {PROGRAM} predict -'
        )
    many = f"`predict --input {file} --output predictions.jsonl`"
    if Path(file).is_dir():
        raise CallError(f"{file}: a folder, not a file; for all documents in it use {many}.")
    path = check_input(file, DOCUMENT_SUFFIXES)
    if not is_whole(file):
        raise CallError(
            f"{file}: a file with one document ends in {', '.join(WHOLE_SUFFIXES)}; for a file with many use "
            f"{many}."
        )
    return read_whole(path, title=title)


def _is_there(file: str) -> bool:
    try:
        return Path(file).exists()
    except OSError:  # too long for a name
        return False


def _without_index(found: RetrievalPrediction, predictor: Predictor) -> RetrievalPrediction:
    """With a warning that the passages of --index had no part in it."""
    from kpdemo.languages import language_name

    language = language_name(found.prediction.language)
    note = f"This text is {language}, which '{predictor.name}' reads without passages: --index is not used."
    return replace(found, prediction=replace(found.prediction, warnings=(*found.prediction.warnings, note)))


def _say_what_is_foreign(summary: BatchSummary, predictor: Predictor) -> None:
    from kpdemo.routing import foreign_notes

    if summary.foreign:  # else the model may not be loaded
        for note in foreign_notes(summary.foreign, predictor.name, languages_of(predictor)):
            say(note)


def _show(document: Document, found: RetrievalPrediction, footer: str) -> None:
    from kpdemo.cli.tables import show_prediction
    from kpdemo.languages import language_name

    footer = f"{footer}, {language_name(found.prediction.language)}"
    show_prediction(document, found.prediction, footer, found if found.retrieves else None)


def _predict_file(
    predictor: Predictor, source: str, output: str, reading: Reading, batch_size: int | None
) -> BatchSummary:
    from kpdemo.batch import ResumeError, predict_file

    input_stream: str | BinaryIO = sys.stdin.buffer if source == STDIN else source
    output_stream: str | BinaryIO = sys.stdout.buffer if output == STDOUT else output
    try:
        with progress_line("Predicting", None if source == STDIN else quick_count(Path(source))) as progress:
            return predict_file(
                predictor,
                input_stream,
                output_stream,
                batch_size=batch_size,
                top_k=reading.top_k,
                threshold=reading.threshold,
                identity=model_identity(reading.model) + index_identity(reading.model, reading.index_folder),
                language=reading.language,
                nested=reading.further.nested,
                further=reading.further,
                id_column=reading.id_column,
                progress=lambda summary: progress.show(summary.seen),
                on_error=lambda problem: progress.show_problem(problem.message),
                on_unnamed=unnamed_reporter(progress, reading.id_column),
            )
    except KeyboardInterrupt:
        resumable = source != STDIN and output != STDOUT
        say("Stopped; run the same command to continue." if resumable else "Stopped.")
        raise typer.Exit(INTERRUPTED) from None
    except ResumeError as error:
        raise CallError(str(error)) from None


def _predict_on_ray(
    source: str, output: str, reading: Reading, batch_size: int | None, cluster: Cluster
) -> BatchSummary:
    from kpdemo.batch import ResumeError
    from kpdemo.cluster import PROBLEMS, predict_on_ray

    try:
        with progress_line("Predicting", None) as progress:
            summary = predict_on_ray(
                source,
                output,
                model=reading.model,
                options=replace(reading.options, language=reading.language),
                index=None if reading.index_folder is None else str(reading.index_folder.resolve()),
                device=reading.device,
                id_column=reading.id_column,
                batch_size=batch_size,
                workers=cluster.workers,
                gpus=cluster.gpus,
                progress=lambda so_far: progress.show(so_far.seen),
            )
    except KeyboardInterrupt:
        say("Stopped; run the same command to continue.")
        raise typer.Exit(INTERRUPTED) from None
    except ResumeError as error:
        raise CallError(str(error)) from None
    if summary.failed:
        say(f"What could not be used is in {output}/{PROBLEMS}.")
    return summary


EXAMPLES = f"""
Examples:

\b
  {PROGRAM} predict paper.pdf
  {PROGRAM} predict one.pdf two.pdf --json
  {PROGRAM} predict abstract.txt --title "Learning to rank" --top-k 10 --no-nested
  echo "Neural networks learn word embeddings." | {PROGRAM} predict - --json
  {PROGRAM} predict abstract.txt --longest 3 --exclude paper --candidates thesaurus.txt --candidates-first
  {PROGRAM} predict article.txt --model yake --language French
  {PROGRAM} predict these.txt --language fr --index my.index --json
  {PROGRAM} predict --input docs.jsonl --output predictions.jsonl
  {PROGRAM} predict --input papers --output papers.jsonl --csv papers.csv
  {PROGRAM} predict --input abstracts.csv --id-column doi --output predictions.jsonl
  {PROGRAM} predict --engine ray --workers 8 --input s3://papers/2026 --output s3://papers/keyphrases
  zcat docs.jsonl.gz | {PROGRAM} predict --input - --output - > predictions.jsonl

\b
JSON of one document; of several files, a line for each, which begins with "file" and has "error" where it
could not be used:
  {{"language": "en", "present": [{{"text", "score", "spans": [[start, end], …]}}, …],
   "absent": [{{"text", "score", "kind", "source", "evidence", "reason"}}, …], "warnings": ["…", …],
   "model", "device", "seconds", "text", "text_offset"}}
Spans are character offsets in "text": the title of --title and two newlines, then the text given; what
follows a title begins at "text_offset". Without --title, a first line that is a title is read as one. "kind"
is reordered (all its words are in the text), mixed (some are) or unseen (none is); "source" is generated,
retrieved or both; "evidence" lists the phrases that support it, as the text or a retrieved passage writes
them. "variants" are other forms of a present keyphrase in the text, such as its acronym, and "family" those
that it stands for with --no-nested. "filler": true marks a keyphrase that falls short of the model's own
rule and only makes up its minimum number. "warnings" are sentences that a reader should know. Fields that
the model does not provide are left out; "doubtful" lists the absent keyphrases that --unsure gives. A model
that ranks more absent phrases than it returns adds "absent_candidates": ["…", …], from which R@50 is
computed. A model that retrieves adds "passages": [{{"id", "title", "keyphrases", "score", "related",
"helps", "used"}}, …], nearest first: "related" is false for a passage that may be on another subject,
"helps" is false for one too far from the text to be used, and "used" are those of its keyphrases that led
to a keyphrase of the result.

\b
A line of docs.jsonl:
  {{"id": "1", "title": "…", "abstract": "…", "language": "en"}}
"text" can be used instead of "abstract", and what --id-column names instead of "id". Without an id, a line is
named by its number; without a language, it is detected.

\b
The files of a folder or a zip file are read in the order of their names. The id of a file of one document is
its name without the suffix, or with it if two would have the same; a line without an id is named by its file
and number, such as "c.csv:2". What cannot be read is reported, and the rest is predicted.
\b
A line of predictions.jsonl:
  {{"id": "1", "language": "en", "present": [{{"text", "score", "spans"}}, …],
   "absent": [{{"text", "score", …}}, …], "model", "document_sha256"}}
Spans are character offsets in the title, two newlines and the abstract; without a title, in the abstract.
predictions.jsonl.settings.json, written next to it, records the model and the options: an unfinished file can
only be continued with the same ones, and not at all without this record. "document_sha256" shows if a text
was changed after it was predicted; such a document is refused.
predictions.jsonl.refused.jsonl, if there is one, lists the documents that the model refused, and why: they
are predicted once they have changed. So is a line that could not be read: fix or empty it and run the same
command again. If documents have no ids, do not delete the line, since those after it would get other numbers.
"""


FilesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE|-",
        help=f"Files of one document each ({', '.join(WHOLE_SUFFIXES)}), or - for standard input.",
    ),
]
TitleOption = Annotated[str, typer.Option(metavar="TEXT", help="The title of the one document.")]
InputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="FILE|FOLDER",
        help="Many documents: CSV, TSV or XLSX by its suffix (columns id, title, abstract), BibTeX, RIS, XML "
        "of PubMed or in JATS, or a zip file, else JSON Lines (- for standard input), compressed or not; "
        "or a folder, of which each file of documents is read, but no subfolder.",
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The predictions as JSON Lines, - for standard output; an unfinished file is continued.",
    ),
]
CsvOption = Annotated[
    str | None,
    typer.Option(
        "--csv",
        metavar="FILE",
        help="Also write the predictions of --output as a table, one keyphrase a row; an existing file is "
        "replaced.",
    ),
]
TopKOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="K", help="Exactly K present and K absent keyphrases, or all there are."),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, metavar="SCORE", help="All keyphrases with at least this score."),
]
NoNestedOption = Annotated[
    bool,
    typer.Option(
        "--no-nested",
        help="Give the best of nested present keyphrases one place, with the others as its family.",
    ),
]
ShortestOption = Annotated[
    int | None, typer.Option(min=1, metavar="WORDS", help="Leave out keyphrases of fewer words.")
]
LongestOption = Annotated[
    int | None, typer.Option(min=1, metavar="WORDS", help="Leave out keyphrases of more words.")
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PHRASE", help="Leave out keyphrases that contain this word or phrase; may be repeated."
    ),
]
CandidatesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Rank the phrases of this text file, one a line, such as a thesaurus, only."
    ),
]
CandidatesFirstOption = Annotated[
    bool, typer.Option("--candidates-first", help="Give those of --candidates first, then the others.")
]
SeedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--seed-keyword", metavar="WORD", help="Move up what is like this word or phrase; may be repeated."
    ),
]
StyleOption = Annotated[
    Style | None,
    typer.Option(help="English keyphrases like an author's, or like an indexer's: more, and longer ones."),
]
DiversityOption = Annotated[
    float,
    typer.Option(
        min=0.0, max=1.0, metavar="SHARE", help="How much keyphrases should differ from one another."
    ),
]
UnsureOption = Annotated[
    bool,
    typer.Option(
        "--unsure", help="Also give absent keyphrases that are wrong in more than four of five cases."
    ),
]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index", metavar="FOLDER", help="A passage index for a model that retrieves, instead of its own."
    ),
]
OneJsonOption = Annotated[bool, typer.Option("--json", help="Print the result of one document as JSON.")]


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(predict)


def predict(
    files: FilesArgument = None,
    title: TitleOption = "",
    sources: InputOption = None,
    output: OutputOption = None,
    id_column: IdColumnOption = ID_COLUMN,
    table: CsvOption = None,
    top_k: TopKOption = None,
    threshold: ThresholdOption = None,
    no_nested: NoNestedOption = False,
    shortest: ShortestOption = None,
    longest: LongestOption = None,
    exclude: ExcludeOption = None,
    candidates: CandidatesOption = None,
    candidates_first: CandidatesFirstOption = False,
    seed_keywords: SeedOption = None,
    style: StyleOption = None,
    diversity: DiversityOption = 0.0,
    unsure: UnsureOption = False,
    model: ModelOption = "default",
    language: LanguageOption = None,
    index_folder: IndexOption = None,
    device: DeviceOption = "auto",
    batch_size: PredictBatchSizeOption = None,
    engine: EngineOption = Engine.LOCAL,
    workers: WorkersOption = None,
    gpus: GpusOption = None,
    as_json: OneJsonOption = False,
) -> None:
    """Find the keyphrases of one document, or of a file or folder of many.

    By default the model returns as many keyphrases as maximise the expected F1, but at least the minimum of
    its rule: five for the default model. --threshold returns all with at least that score, --top-k K present
    and K absent ones, or all there are. Both together return at most K of those with at least that score.
    Absent keyphrases are only returned where about one in six or more is right; --unsure returns the others
    too, and so does a lower --threshold.
    """
    code = "" if language is None else read_language(language)
    further = PredictionOptions(
        nested=not no_nested,
        shortest=shortest,
        longest=longest,
        exclude=tuple(exclude or ()),
        candidates=() if candidates is None else _read_phrases(candidates),
        only_candidates=not candidates_first,
        seed_keywords=tuple(seed_keywords or ()),
        style=style,
        diversity=diversity,
        unsure=unsure,
    )
    check_all(further)
    reading = Reading(model, device, index_folder, code, top_k, threshold, further, id_column)
    source = only_input(sources)
    if source is None and output is None:
        if table is not None:
            raise CallError("--csv is for the documents of --input; for one document use --json.")
        predict_files(files or (), title, reading, as_json=as_json)
        return
    if files and source is None:
        raise CallError(
            f"--output is for the documents of --input; for one document use `predict {files[0]} --json > "
            f"{output}`."
        )
    if files or title:
        raise CallError("FILE and --title are for one document; leave them out with --input and --output.")
    if source is None or output is None:
        raise CallError("--input and --output go together; give both (- for standard input or output).")
    if as_json:
        raise CallError("--json is for one document; leave it out, since --output is JSON Lines already.")
    cluster = None
    if engine is Engine.RAY:
        if STDIN in (source, output) or table is not None:
            raise CallError("--engine ray reads files and writes a folder: leave out - and --csv.")
        cluster = Cluster(workers, gpus)
    elif workers is not None or gpus is not None:
        raise CallError("--workers and --gpus are for --engine ray; add it, or leave them out.")
    predict_many(source, output, reading, batch_size, table, cluster)


def _read_phrases(file: Path) -> tuple[str, ...]:
    with check_file(str(file)).open("rb") as stream:
        text, _ = read_text(stream, name=str(file))
    phrases = tuple(" ".join(line.split()) for line in text.splitlines() if line.strip())
    if not phrases:
        raise CallError(f"{file}: no phrases in the file; give one with a phrase on each line.")
    return phrases
