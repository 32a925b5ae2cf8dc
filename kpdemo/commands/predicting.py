"""What `python -m kpdemo predict` does: one document for the reader, or a file of many to a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

from kpdemo.commands.options import (
    INTERRUPTED,
    PROGRAM,
    STDIN,
    STDOUT,
    CallError,
    Device,
    already_there,
    check_file,
    check_index,
    counted,
    open_predictor,
    print_json,
    progress_line,
    quick_count,
    say,
    unnamed_reporter,
)
from kpdemo.commands.second_outputs import check_second_output
from kpdemo.identity import index_identity, model_identity
from kpdemo.keyphrase_tables import write_predictions_table
from kpdemo.lines import with_title_line
from kpdemo.reading.file_kinds import (
    COMPRESSIONS,
    DOCUMENT_SUFFIXES,
    WHOLE_SUFFIXES,
    is_whole,
    names_other_kind,
)
from kpdemo.reading.files import read_text
from kpdemo.reading.whole_files import read_whole, text_document
from kpdemo.storage import replacing
from kpdemo.types import Document, Predictor, RetrievalPrediction, finds_absent, languages_of

if TYPE_CHECKING:
    from kpdemo.batch.predicting import BatchSummary

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
        nested: whether a present keyphrase may stand inside another.
        id_column: where many documents have their ids.
    """

    model: str
    device: Device
    index_folder: Path | None
    language: str
    top_k: int | None
    threshold: float | None
    nested: bool
    id_column: str


def predict_one(file: str | None, title: str, reading: Reading, *, as_json: bool) -> None:
    """Print the keyphrases of a file, or of standard input."""
    from kpdemo.forwarding import read_with_passages
    from kpdemo.text import check_readable

    document = replace(_read_one(file, title), language=reading.language)
    check_index(reading.model, reading.index_folder)
    predictor = _predictor_for(document, reading)
    check_readable(document)  # before a model is loaded for nothing
    device = predictor.device  # loads the model: its time is not the prediction's
    started = time.perf_counter()
    with _reading_line(len(document.text)):
        [found] = read_with_passages(predictor, [document], top_k=reading.top_k, threshold=reading.threshold)
    seconds = time.perf_counter() - started
    _say_what_to_know(found, predictor, has_index=reading.index_folder is not None)
    if as_json:
        from kpdemo.prediction_files import document_record

        origin = {"model": predictor.name, "device": device}
        retrieval = found if found.retrieves else None
        print_json(
            document_record(document, found.prediction, **origin, seconds=seconds, retrieval=retrieval)
        )
    else:
        _show(document, found, f"{predictor.name} on {device}, {seconds:.2f} s")


@contextmanager
def _reading_line(length: int) -> Iterator[None]:
    """Progress on standard error while a long text of that many characters is read."""
    from kpdemo.progress import READING, heard_by
    from kpdemo.terminal import ProgressLine

    if length < _LONG_TEXT:
        yield
        return
    with (
        ProgressLine(READING, length, "characters") as progress,
        heard_by(lambda share, _: progress.show(round(share * length))),
    ):
        yield


def predict_many(
    source: str, output: str, reading: Reading, batch_size: int | None, table: str | None
) -> None:
    """Write the keyphrases of each document of a file, or of standard input, to a file or standard output.

    Args:
        table: the file of a table with all that `output` holds then.
    """
    table_path = None if table is None else _check_table(table, source, output)
    if source != STDIN and not Path(source).is_dir():
        check_file(source, DOCUMENT_SUFFIXES)
    check_index(reading.model, reading.index_folder)
    predictor = open_predictor(reading.model, reading.device, reading.index_folder)
    summary = _predict_file(predictor, source, output, reading, batch_size)
    if table_path is not None:
        with replacing(table_path) as written:
            write_predictions_table(Path(output), written)
    failed = f", {summary.failed:,} could not be used" if summary.failed else ""
    say(f"{counted(summary.done, 'document')} predicted{already_there(summary.skipped)}{failed}.")
    if reading.index_folder is not None and (without := summary.done - summary.retrieved):
        languages = "its language" if without == 1 else "their languages"
        say(
            f"--index was not used for {counted(without, 'document')}: '{predictor.name}' reads {languages} "
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


def _predictor_for(document: Document, reading: Reading) -> Predictor:
    """The model for one document: behind the default name, the one made for its language."""
    from kpdemo.languages.detection import identified
    from kpdemo.languages.routing import DEFAULT_MODEL, model_for
    from kpdemo.nesting import Unnested
    from kpdemo.predictors import shipped_models

    model = reading.model
    if model == DEFAULT_MODEL and (made_for := model_for(identified(document).language)) in shipped_models():
        model = made_for
    passages = None if model == DEFAULT_MODEL else reading.index_folder
    predictor = open_predictor(model, reading.device, passages)
    return predictor if reading.nested else Unnested(predictor)


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
        return with_title_line(text_document(text, title=title))
    if len(file.split()) >= _WORDS_OF_A_TEXT and not _is_there(file):
        raise CallError(
            f"{' '.join(file.split()[:_WORDS_OF_A_TEXT])}…: no such file; to predict a text, pass it on "
            f'standard input: echo "TEXT" | {PROGRAM} predict -'
        )
    many = f"`predict --input {file} --output predictions.jsonl`"
    if Path(file).is_dir():
        raise CallError(f"{file}: a folder, not a file; for all documents in it use {many}.")
    path = check_file(file, DOCUMENT_SUFFIXES)
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


def _say_what_to_know(found: RetrievalPrediction, predictor: Predictor, *, has_index: bool) -> None:
    from kpdemo.languages.names import language_name
    from kpdemo.languages.notes import prediction_note

    languages, can_find = languages_of(predictor), finds_absent(predictor)
    if note := prediction_note(found.prediction, predictor.name, languages, finds_absent=can_find):
        say(note)
    if has_index and not found.retrieves:
        language = language_name(found.prediction.language)
        say(f"This text is {language}, which '{predictor.name}' reads without passages: --index is not used.")


def _say_what_is_foreign(summary: BatchSummary, predictor: Predictor) -> None:
    from kpdemo.languages.notes import foreign_notes

    if summary.foreign:  # else the model may not be loaded
        for note in foreign_notes(summary.foreign, predictor.name, languages_of(predictor)):
            say(note)


def _show(document: Document, found: RetrievalPrediction, footer: str) -> None:
    from kpdemo.languages.names import language_name
    from kpdemo.terminal import show_prediction

    footer = f"{footer}, {language_name(found.prediction.language)}"
    show_prediction(document, found.prediction, footer, found if found.retrieves else None)


def _predict_file(
    predictor: Predictor, source: str, output: str, reading: Reading, batch_size: int | None
) -> BatchSummary:
    from kpdemo.batch.predicting import predict_file
    from kpdemo.batch.resuming import ResumeError

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
                nested=reading.nested,
                id_column=reading.id_column,
                progress=progress.show_summary,
                on_error=progress.show_problem,
                on_unnamed=unnamed_reporter(progress, reading.id_column),
            )
    except KeyboardInterrupt:
        resumable = source != STDIN and output != STDOUT
        say("Stopped; run the same command to continue." if resumable else "Stopped.")
        raise typer.Exit(INTERRUPTED) from None
    except ResumeError as error:
        raise CallError(str(error)) from None
