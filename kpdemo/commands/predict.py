"""`python -m kpdemo predict`: the keyphrases of one document, or of a file of many."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from kpdemo.commands.options import (
    INTERRUPTED,
    PROGRAM,
    STDIN,
    STDOUT,
    CallError,
    Device,
    DeviceOption,
    LanguageOption,
    ModelOption,
    PredictBatchSizeOption,
    check_file,
    counted,
    only_one,
    open_predictor,
    print_json,
    progress_line,
    quick_count,
    read_language,
    say,
)
from kpdemo.documents import (
    DOCUMENT_SUFFIXES,
    WHOLE_SUFFIXES,
    is_whole,
    plain_document,
    read_text,
    read_whole,
)
from kpdemo.identity import index_identity, model_identity
from kpdemo.lines import with_title_line
from kpdemo.types import Document, Predictor, finds_absent, languages_of

EXAMPLES = f"""
Examples:

\b
  {PROGRAM} predict paper.pdf
  {PROGRAM} predict abstract.txt --title "Learning to rank" --top-k 10 --no-nested
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
writes them. "filler": true marks one that falls short of the model's own rule, and is given only to make up
its least number. What the model does not tell is left out, and a model that ranks more absent phrases than
it gives adds "absent_candidates": ["…", …], from which R@50 is counted. A model that retrieves adds
"passages": [{{"id", "title", "keyphrases", "score", "related", "helps", "used"}}, …], nearest first:
"related" is false for one that may be on another subject, "helps" for one that is too far from the text for
the model, and "used" are the keyphrases that led to one of the result.

\b
A line of docs.jsonl:
  {{"id": "1", "title": "…", "abstract": "…", "language": "en"}}
"text" may stand for "abstract", and a missing id is the line's number. Without a language it is detected.


A line of predictions.jsonl:
  {{"id": "1", "language": "en", "present": [{{"text", "score", "spans"}}, …],
   "absent": [{{"text", "score", …}}, …], "document_sha256"}}
predictions.jsonl.settings.json, written beside it, keeps the model and the options, so that a file begun is
continued with the same ones only; without it what is there cannot be continued. By "document_sha256" a
document whose text was changed after it was predicted is noticed, and refused.
predictions.jsonl.refused.jsonl, if there is one, has the documents that the model refused, and why: they are
asked for again when they were changed. So is a line that could not be read: mend it and run the same command
again; where documents have no id, do not delete it, since those after it would get other numbers.
"""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How a file of documents is predicted; see `kpdemo.batch.predict_file`."""

    batch_size: int | None
    top_k: int | None
    threshold: float | None
    identity: str
    language: str
    nested: bool


def register(app: typer.Typer) -> None:
    """Give `app` the command."""
    app.command(epilog=EXAMPLES)(predict)


def predict(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE|-", help="One document: .txt, .md or .pdf, or - for standard input."),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="The title of the one document.")] = "",
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="Many documents: CSV or TSV by its suffix, otherwise JSON Lines (- for standard input).",
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
    no_nested: Annotated[
        bool,
        typer.Option(
            "--no-nested",
            help="Of keyphrases of the text that stand inside one another only the best, and the next ones "
            "in place of the others.",
        ),
    ] = False,
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
    source = only_one(sources, "--input")
    if source is None and output is None:
        document = replace(_read_one(file, title), language=code)
        _check_index(model, index_folder)
        reader = _reader(model, document, device, index_folder)
        if no_nested:
            from kpdemo.nesting import Unnested

            reader = Unnested(reader)
        has_index = index_folder is not None
        _predict_one(document, reader, top_k, threshold, as_json=as_json, has_index=has_index)
        return
    if file is not None or title:
        raise CallError("FILE and --title are for one document; leave them out with --input and --output.")
    if source is None or output is None:
        raise CallError("--input and --output go together; give both, - stands for standard input or output.")
    if as_json:
        raise CallError("--json is for one document; leave it out, since --output is JSON Lines already.")
    if source != STDIN:
        check_file(source, DOCUMENT_SUFFIXES)
    _check_index(model, index_folder)
    predictor = open_predictor(model, device, index_folder)
    identity = model_identity(model) + index_identity(model, index_folder)
    options = BatchOptions(batch_size, top_k, threshold, identity, code, not no_nested)
    _predict_many(predictor, source, output, options, has_index=index_folder is not None)


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
        text = read_text(sys.stdin.buffer, name="standard input")
        return with_title_line(plain_document(text, title=title))
    path = check_file(file, DOCUMENT_SUFFIXES)
    if not is_whole(file):
        raise CallError(
            f"{file}: a file of one document ends in {', '.join(WHOLE_SUFFIXES)}; for one of many use "
            f"`predict --input {file} --output predictions.jsonl`."
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
    from kpdemo.languages.notes import prediction_note
    from kpdemo.prediction_files import document_record
    from kpdemo.routed import read_with_passages
    from kpdemo.text import check_readable

    check_readable(document, any_script=True)  # before a model is loaded for nothing
    device = predictor.device  # loads the model: its time is not the prediction's
    started = time.perf_counter()
    [found] = read_with_passages(predictor, [document], top_k=top_k, threshold=threshold)
    seconds = time.perf_counter() - started
    prediction, retrieval = found.prediction, found if found.retrieves else None
    languages, can_find = languages_of(predictor), finds_absent(predictor)
    if note := prediction_note(prediction, predictor.name, languages, finds_absent=can_find):
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
        say("Stopped; run the same command to go on." if resumable else "Stopped.")
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
