"""The Files page: many documents in, read in turns, their predictions out as JSON Lines and CSV."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from kpdemo.batch import BatchSummary, predict_file
from kpdemo.errors import InputError, KpdemoError, StoppedError
from kpdemo.file_process import ReadFile, needs_process
from kpdemo.io.documents import BatchInput, count_documents, read_file
from kpdemo.io.files import DOCUMENT_SUFFIXES, is_whole
from kpdemo.io.predictions import table_text, write_predictions_table
from kpdemo.io.tables import LineError, escape_formula, line_unit
from kpdemo.locale import _, mark, ngettext
from kpdemo.routing import foreign_notes
from kpdemo.text import phrase_key
from kpdemo.types import Keyphrase, PredictionOptions, Predictor, languages_of
from kpdemo.ui.html import (
    documents_text,
    escape,
    filler_note,
    filler_word,
    group_digits,
    lines_and_files_text,
)
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.requests import read_options
from kpdemo.ui.results import chip_html, keeper, passage_list_html
from kpdemo.ui.widgets import (
    CHOOSE_AGAIN,
    FILES_QUEUE,
    QUIETLY,
    Stops,
    empty_html,
    forget_script,
    keep_reason,
    note_html,
    option_fields,
    page_of,
    refusal_html,
    section_heading,
    shown_to_user,
    stop_button,
)
from kpdemo.worker import Stop

MOST_FILES = 20

KEPT_MINUTES = 10
"""Uploads and predictions are deleted at this age."""

DELETED_SECONDS = (60, KEPT_MINUTES * 60)
"""For Gradio: how often it looks, and the age at which it deletes."""

PDF_ADVICE = mark("a PDF of it")


@dataclass(frozen=True, slots=True)
class Uploads:
    """Copies of the files that can be read, and a sentence on each of the others.

    `renamed` tells whether a copy has another name than its file, since an earlier one has that.
    """

    files: Sequence[Path]
    refused: Sequence[str] = ()
    renamed: bool = False


class OwnNames:
    """Gives everything a name of its own: where an earlier one has it, a number follows.

    >>> names = OwnNames()
    >>> [names.of("note"), names.of("note"), names.of("note", ".txt"), names.of("note")]
    ['note', 'note-2', 'note.txt', 'note-3']
    """

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()

    def of(self, name: str, suffix: str = "") -> str:
        """The name with its suffix, and the number, if any, between them."""
        whole = own = f"{name}{suffix}"
        while own in self._uses:
            self._uses[whole] += 1
            own = f"{name}-{self._uses[whole]}{suffix}"
        self._uses[own] += 1
        return own


def readable_copies(paths: Sequence[str] | None, folder: Path) -> Uploads:
    """Copies of the documents of readers, each under a name of its own; the others are reported apart.

    Raises:
        InputError: there is no file, or there are too many.
    """
    names = OwnNames()
    files: list[Path] = []
    refused: list[str] = []
    renamed = False
    for number, path in enumerate(_chosen_files(paths)):
        try:
            check_kind(path)
            name = names.of(path.stem, path.suffix)
            files.append(_own_copy(path, folder / str(number) / name))
            renamed = renamed or name != path.name
        except InputError as error:
            refused.append(str(error))
    return Uploads(files, refused, renamed)


def unreadable(paths: Sequence[str] | None) -> list[str]:
    """A sentence on each file of a kind that is no document here.

    Raises:
        InputError: there is no file, or there are too many.
    """
    refused = []
    for path in _chosen_files(paths):
        try:
            check_kind(path)
        except InputError as error:
            refused.append(str(error))
    return refused


def checked_files(paths: Sequence[str] | None, *, suffixes: Sequence[str], advice: str) -> list[Path]:
    """The files, all of which have one of the suffixes.

    Raises:
        InputError: one has none of them, there is no file, or there are too many.
    """
    files = _chosen_files(paths)
    for path in files:
        check_kind(path, suffixes=suffixes, advice=advice)
    return files


def check_kind(path: Path, *, suffixes: Sequence[str] = DOCUMENT_SUFFIXES, advice: str = PDF_ADVICE) -> None:
    """Refuse a file of another kind, and compressed ones: a small one may hold gigabytes.

    Raises:
        InputError: the file has none of the suffixes.
    """
    if path.suffix.lower() not in suffixes:
        kinds = ", ".join(suffixes)
        raise InputError(
            _(
                "{file} cannot be read here: use one of {kinds}, such as {advice}.",
                file=path.name,
                kinds=kinds,
                advice=_(advice),
            )
        )


def own_copies(files: Sequence[Path], folder: Path) -> list[Path]:
    """The uploads where nobody deletes them while they are read, each in a folder with its own name.

    Raises:
        InputError: one has been deleted before.
    """
    return [_own_copy(path, folder / str(number) / path.name) for number, path in enumerate(files)]


def _chosen_files(paths: Sequence[str] | None) -> list[Path]:
    files = [Path(path) for path in paths or []]
    if not files:
        raise InputError(_("No file is chosen: choose one or drop it on the box."))
    if len(files) > MOST_FILES:
        raise InputError(
            _("There are {number} files: give at most {most} at a time.", number=len(files), most=MOST_FILES)
        )
    return files


def _own_copy(path: Path, copy: Path) -> Path:
    copy.parent.mkdir()
    try:
        shutil.copyfile(path, copy)
    except FileNotFoundError:
        raise InputError(
            _(
                "{file} is gone: uploads are deleted after {minutes} minutes, so choose it again.",
                file=path.name,
                minutes=KEPT_MINUTES,
            )
        ) from None
    return copy


OWN_RULE = PredictionOptions()
SHOWN_ROWS = 500
SHOWN_PROBLEMS = 20
BATCH_SIZE = 16
PLACES = {
    "line": mark("{file}, line {number}"),
    "row": mark("{file}, row {number}"),
    "record": mark("{file}, record {number}"),
}


@dataclass(slots=True)
class SharedKeyphrases:
    """How many documents have each keyphrase, whatever the endings of its words."""

    documents: Counter[str] = field(default_factory=Counter)
    names: dict[str, Counter[str]] = field(default_factory=dict)
    """By the key of a keyphrase, how often it is written in which way."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Count the keyphrases of a document, each once."""
        language = row.get("language", "")
        texts = {phrase_key(one["text"], language): one["text"] for one in (*row["absent"], *row["present"])}
        self.documents.update(texts.keys())
        for key, text in texts.items():
            self.names.setdefault(key, Counter())[text] += 1

    def most_common(self) -> list[tuple[str, int]]:
        """Keyphrases of two documents or more, with the number of these, those of most documents first."""
        common = ((key, count) for key, count in self.documents.most_common() if count > 1)
        return [(self.names[key].most_common(1)[0][0], count) for key, count in common]


@dataclass(slots=True)
class FileReport:
    """What happened to the files so far, for the page."""

    summary: BatchSummary = field(default_factory=BatchSummary)
    rows: list[dict[str, Any]] = field(default_factory=list)
    shared: SharedKeyphrases = field(default_factory=SharedKeyphrases)
    problems: list[str] = field(default_factory=list)
    failed_files: int = 0
    """How many of the failures were whole files; the rest were lines of a file."""
    total: int = 0
    """Documents of all files, those that could not be used included."""
    stopped: bool = False
    """Before all documents were read."""
    renamed: bool = False
    """Whether a document has another id, or a file another name, than it came with."""
    warnings: list[str] = field(default_factory=list)
    """Sentences on what the readers of files assumed or left out."""
    unnamed: str = ""
    """The sentence on the first document that has no id."""
    foreign: list[str] = field(default_factory=list)
    """Sentences on the documents in languages that the model was not made for."""


@contextmanager
def in_turn_of_files(shelf: ModelShelf, stop: Stop, progress: gr.Progress) -> Iterator[None]:
    """Read files when those of others have been read.

    Raises:
        StoppedError: by `stop`, while others' were.
    """
    if shelf.turn_of_files.locked():
        progress((0, 1), desc=_("Other files are read first"))
    with stop.turn(shelf.turn_of_files):
        yield


def predict_uploads(
    predictor: Predictor,
    uploads: Uploads,
    output: Path,
    progress: gr.Progress,
    read: ReadFile = read_file,
    options: PredictionOptions = OWN_RULE,
) -> FileReport:
    """Predict all documents of the files into `output`, a line each, and of several with its file.

    The same stands next to it as a table in CSV.

    What had been predicted before predictor or `read` were stopped stays. An id that a document of an
    earlier file has gets a number, so that each stands there once.
    """
    refused, ids = len(uploads.refused), OwnNames()
    report = FileReport(
        BatchSummary(failed=refused),
        problems=list(uploads.refused),
        failed_files=refused,
        total=refused + sum(1 if needs_process(path) else count_documents(path) for path in uploads.files),
        renamed=uploads.renamed,
    )
    several = refused + len(uploads.files) > 1
    with output.open("w", encoding="utf-8") as stream:
        for path in uploads.files:
            if report.stopped:
                break
            for row in _predict_upload(predictor, path, report, progress, read, options):
                named = row | {"id": ids.of(row["id"])}
                report.renamed |= named["id"] != row["id"]
                for warning in row.get("warnings", []):
                    shown = warning.replace(str(path), path.name)
                    if shown not in report.warnings and len(report.warnings) < SHOWN_PROBLEMS:
                        report.warnings.append(shown)
                line = {**({"file": path.name} if several else {}), **named}
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
                report.shared.add(row)
                if len(report.rows) < SHOWN_ROWS:
                    report.rows.append({"file": path.name, **named})
    places = ("file", "id") if several else ("id",)
    write_predictions_table(output, output.with_suffix(".csv"), places=places)
    if foreign := report.summary.foreign:
        languages = languages_of(predictor)
        report.foreign = foreign_notes(foreign, predictor.name, languages)
    return report


def _predict_upload(
    predictor: Predictor,
    path: Path,
    report: FileReport,
    progress: gr.Progress,
    read: ReadFile,
    options: PredictionOptions,
) -> Iterator[dict[str, Any]]:
    before, counts, is_unreadable = report.summary, BatchSummary(), False

    def problem(error: LineError) -> None:
        nonlocal counts
        counts = replace(counts, failed=counts.failed + 1)  # a stop may come before its batch is counted
        _add_problem(report, path, error.message)

    def advance(now: BatchSummary) -> None:
        nonlocal counts
        counts = now
        unit = _("documents") if report.total > 1 else _("document")
        progress((before.seen + now.seen, max(report.total, 1)), desc=_("Reading"), unit=unit)

    def tell_unnamed(file: str, line: int) -> None:
        shown = file.replace(str(path), path.name)
        report.unnamed = report.unnamed or _(
            "{place}: no “id”, so this document and all others without one are named by line; if another "
            "column or field has the ids, call it “id”.",
            place=_(PLACES[line_unit(file)], file=shown, number=line),
        )

    advance(counts)
    lines = io.BytesIO()
    try:
        source: BatchInput = path
        if needs_process(path):
            source = read(path)
            report.total += max(len(source.found), 1) - 1
        counts = predict_file(
            predictor,
            source,
            lines,
            batch_size=BATCH_SIZE,
            top_k=options.top_k,
            threshold=options.threshold,
            language=options.language,
            nested=options.nested,
            further=options,
            progress=advance,
            on_error=problem,
            on_unnamed=tell_unnamed,
        )
    except InputError as error:
        _add_problem(report, path, str(error))
        counts, is_unreadable = replace(counts, failed=counts.failed + 1), True
    except StoppedError:
        report.stopped = True
    report.summary = BatchSummary(
        before.done + counts.done,
        failed=before.failed + counts.failed,
        foreign=Counter(before.foreign) + Counter(counts.foreign),
    )
    report.failed_files += counts.failed if is_whole(path.name) else is_unreadable
    for line in lines.getvalue().splitlines():
        yield json.loads(line)


def _add_problem(report: FileReport, path: Path, message: str) -> None:
    if len(report.problems) < SHOWN_PROBLEMS:
        named = message.replace(str(path), path.name)
        report.problems.append(named if path.name in named else f"{path.name}: {named}")


EMPTY = mark("No keyphrases yet. Choose files, then press Find keyphrases.")
OLD = mark("Options have changed since: press Find keyphrases.")
STOPPED_EARLY = mark("Stopped before any document was read: press Find keyphrases to start again.")

RENAMED = mark(
    "Some files have the same name, or some documents the same id: the later ones end in -2, -3 and so on, "
    "here and in the download."
)

ARRIVE = "async (...options) => (await kpdemo).files.arrive(...options)"
OUTDATE = "async (...options) => (await kpdemo).files.outdate(...options)"
SHOWN_ABSENT = 5
DELETED = mark("Uploads and predictions are deleted after {minutes} minutes.")
HELP = mark(
    "A text, Markdown, PDF, Word (DOCX), OpenDocument (ODT), RTF, HTML, EPUB or LaTeX file is one document. "
    "JSON Lines, CSV, TSV and XLSX have one document per line, with {title} and {abstract} (or {text}), and "
    "{id} if there are ids. BibTeX, RIS and the XML of PubMed or JATS have records with abstracts. A "
    "ZIP file may hold any of these."
)
OUTPUT_NAME = "predictions.jsonl"


@dataclass(frozen=True)
class FilesHandlers:
    shelf: ModelShelf
    stops: Stops = field(default_factory=Stops)

    def predict_files(
        self,
        paths: list[str] | None,
        model: str,
        count: str = "",
        threshold: str = "",
        language: str = "",
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
        *further: Any,
    ) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """A table of the first predictions, and all of them in two files."""
        with (
            shown_to_user(KpdemoError),
            self.stops.begun(page_of(request), _(STOPPED_EARLY)) as stop,
            TemporaryDirectory(prefix="kpdemo-") as folder,
        ):
            options = read_options(count, threshold, language, *further)
            uploads = readable_copies(paths, Path(folder))
            output = Path(folder) / OUTPUT_NAME
            with in_turn_of_files(self.shelf, stop, progress):
                reader = self.shelf.open(model, stop)
                read = partial(self.shelf.files.read, stop=stop)
                report = predict_uploads(reader, uploads, output, progress, read, options)
            if not report.summary.done:
                if report.stopped:
                    raise StoppedError(_(STOPPED_EARLY))
                raise InputError(nothing_read(report.problems, report.summary.failed))
            given = [
                gr.update(value=str(path), interactive=True) for path in (output, output.with_suffix(".csv"))
            ]
            yield report_html(report), given[0], given[1]  # Gradio copies them, before the folder goes

    def check_files(self, paths: list[str] | None) -> str | dict[str, Any]:
        """Which of the chosen files cannot be read; if all can, the page stays as it is."""
        try:
            refused = unreadable(paths) if paths else []
        except InputError as error:
            return refusal_html(str(error))
        if paths and refused:
            others = [_("The other files can be predicted.")] if len(refused) < len(paths) else []
            return refusal_html(" ".join([*refused, *others]))
        unchanged: dict[str, Any] = gr.skip()
        return unchanged


def nothing_read(problems: Sequence[str], failed: int) -> str:
    """Why there is no document that could be used."""
    if not problems:
        return _("There is no document in the files.")
    if failed < 2:
        return problems[0]
    others = _("{number} more could not be used either.", number=group_digits(failed - 1))
    return f"{problems[0]} {others}"


def report_html(report: FileReport) -> str:
    """How many documents were read, the first predictions, and what could not be used."""
    done, failed = report.summary.done, report.summary.failed
    parts = [f'<p id="files-summary">{_("{documents} predicted.", documents=documents_text(done))}</p>']
    if report.stopped:
        parts.insert(0, note_html(_stopped_text(report), role="alert"))
    if failed:
        parts.append(_problems_html(report.problems, failed, report.failed_files))
    if done > len(report.rows):
        shown = _("The first {number} are shown; the download has all of them.", number=len(report.rows))
        parts.append(f'<p class="small">{shown}</p>')
    if report.renamed:
        parts.append(f'<p class="small" id="files-renamed">{_(RENAMED)}</p>')
    notes = [report.unnamed] if report.unnamed else []
    parts += [note_html(note, role="status") for note in [*notes, *report.warnings, *report.foreign]]
    parts += [_shared_html(report.shared, done), _filter_html(report.rows), _table_html(report.rows)]
    return "".join(parts)


SHOWN_SHARED = 20


def _shared_html(shared: SharedKeyphrases, done: int) -> str:
    """What several documents have in common; pressing one shows its documents only, by files.js."""
    common = shared.most_common()
    if not common:
        return "" if done < 2 else f'<p class="small">{_("No two documents have a keyphrase in common.")}</p>'
    items = [
        f'<li><button type="button" class="keep" data-filter="{escape(phrase)}" dir="auto">{escape(phrase)}'
        f'</button><span class="bar" aria-hidden="true"><span style="width:{round(100 * count / done)}%">'
        f"</span></span>{documents_text(count)}</li>"
        for phrase, count in common[:MOST_SHARED]
    ]
    rest = items[SHOWN_SHARED:]
    told = _("{number} more", number=len(rest))
    more = f"<details><summary>{told}</summary><ol>{''.join(rest)}</ol></details>" if rest else ""
    table = table_text(("keyphrase", "documents"), [(escape_formula(text), count) for text, count in common])
    keep = keeper(
        "files-shared-csv", _("Download counts (CSV)"), table, "keyphrases-in-common.csv", "text/csv"
    )
    return (
        f'<section id="files-shared"><h3>{_("In common")}</h3><ol>{"".join(items[:SHOWN_SHARED])}</ol>{more}'
        f'<p class="actions">{keep}</p></section>'
    )


MOST_SHARED = 200


def _filter_html(rows: Sequence[dict[str, Any]]) -> str:
    if len(rows) < 2:
        return ""
    return (
        f'<p id="files-filter"><label>{_("Only documents with the keyphrase")} '
        '<input type="search" dir="auto" autocomplete="off"></label> '
        '<output class="small" aria-live="polite"></output></p>'
    )


def _stopped_text(report: FileReport) -> str:
    done, left = report.summary.done, report.total - report.summary.seen
    predicted = ngettext(
        "Stopped: {count} of {documents} is predicted, and it is in the download;",
        "Stopped: {count} of {documents} are predicted, and they are in the download;",
        done,
        count=group_digits(done),
        documents=documents_text(report.total),
    )
    unread = ngettext("{count} was not read.", "{count} were not read.", left, count=group_digits(left))
    return f"{predicted} {unread}"


def _table_html(rows: Sequence[dict[str, Any]]) -> str:
    several = len({row["file"] for row in rows}) > 1
    names = (*((_("File"),) if several else ()), _("Document"), _("Keyphrases"))
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    lines = []
    shown: list[Keyphrase] = []
    for row in rows:
        present, absent = _keyphrases(row["present"]), _keyphrases(row["absent"])
        shown += [*present, *absent[:SHOWN_ABSENT]]
        phrases = _phrases_html(present, absent) + passage_list_html(row.get("passages", []))
        file = f'<td dir="auto">{escape(row["file"])}</td>' if several else ""
        document = f'<th scope="row" dir="auto">{escape(row["id"])}</th>'
        held = escape("\n".join(one.text.lower() for one in (*present, *absent)))
        lines.append(f'<tr data-keyphrases="{held}">{file}{document}<td dir="auto">{phrases}</td></tr>')
    return (
        '<table class="keyphrases" id="files-table"><caption>'
        f"{_('Keyphrases, best first')}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>{filler_note(shown)}"
    )


def build_files_tab(handlers: FilesHandlers) -> gr.File:
    """Upload, choose a model, predict, look at the first rows, download; returns the uploads."""
    section_heading(_("Keyphrases of whole files"), "files-heading")
    gr.HTML(
        f"<p>{_(HELP, **{name: f'<code>{name}</code>' for name in ('title', 'abstract', 'text', 'id')})}</p>",
        elem_id="files-help",
    )
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=5, min_width=320):
            upload = gr.File(
                label=_("Files"),
                file_count="multiple",
                height=200,
                elem_id="files-upload",
            )
            run = gr.Button(_("Find keyphrases"), variant="primary", elem_id="files-run")
            with gr.Accordion(_("Options"), open=False, elem_id="files-options"):
                options = option_fields("files")
                model = gr.Dropdown(
                    handlers.shelf.choices,
                    value=handlers.shelf.default,
                    label=_("Model"),
                    elem_id="files-model",
                )
            with gr.Row(elem_id="files-downloads"):
                downloads = [
                    gr.DownloadButton(_(label), interactive=False, elem_id=elem_id)
                    for label, elem_id in (
                        (mark("Download predictions"), "files-download"),
                        (mark("Download CSV"), "files-csv"),
                    )
                ]
            gr.HTML(
                f'<p class="small">{_(DELETED, minutes=KEPT_MINUTES)}</p>',
                elem_id="files-kept",
            )
        with gr.Column(scale=6, min_width=320):
            gr.HTML(note_html(_(OLD), role="status"), elem_id="files-old")
            stop_button(handlers.stops, "files")
            result = gr.HTML(empty_html(_(EMPTY)), elem_id="files-result")
    read = [model, *options.all]
    asked = run.click(
        handlers.predict_files,
        [upload, *read],
        [result, *downloads],
        api_name="predict_files",
        **FILES_QUEUE,
        show_progress_on=result,
        trigger_mode="always_last",  # a click for other files counts while these are read
    )
    keep_reason(asked, result, CHOOSE_AGAIN)
    asked.success(None, read, js=ARRIVE, api_name="note_options_of_files", show_progress="hidden")
    changes = [field.change for field in read]
    gr.on(changes, None, read, js=OUTDATE, api_name="outdate_files", show_progress="hidden")
    # An answer to other files than those shown would mislead. By the browser itself: the server might answer
    # this after the prediction, and take that away.
    forget = forget_script(EMPTY, downloads=len(downloads))
    forgotten = upload.change(None, None, [result, *downloads], js=forget, api_name="forget_files")
    forgotten.then(handlers.check_files, upload, result, api_name="check_files", **QUIETLY)
    return upload


def _problems_html(problems: Sequence[str], failed: int, files: int) -> str:
    items = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    more = (
        f"<p>{_('And {number} more.', number=failed - len(problems))}</p>" if failed > len(problems) else ""
    )
    told = lines_and_files_text(failed - files, files)
    return (
        '<div class="note" role="alert" id="files-problems">'
        f"<p>{_('{what} could not be used:', what=told)}</p><ul>{items}</ul>{more}</div>"
    )


def _keyphrases(items: Sequence[dict[str, Any]]) -> list[Keyphrase]:
    return [Keyphrase(one["text"], one["score"], filler=one.get("filler", False)) for one in items]


def _phrases_html(present: Sequence[Keyphrase], absent: Sequence[Keyphrase]) -> str:
    """The present ones in a line, and the absent ones as chips under it."""
    line = " · ".join(_phrase_html(one, escape(one.text)) for one in present) or "–"
    chips = "".join(_phrase_html(one, chip_html(one.text)) for one in absent[:SHOWN_ABSENT])
    if not chips:
        return line
    more = len(absent) - SHOWN_ABSENT
    rest = f"<span>{_('and {number} more', number=more)}</span>" if more > 0 else ""
    return f'{line}<div class="chips"><span>{_("Not in the text")}</span>{chips}{rest}</div>'


def _phrase_html(keyphrase: Keyphrase, shown: str) -> str:
    if not keyphrase.filler:
        return shown
    return f'<span class="filler"><span class="phrase">{shown}</span> {filler_word(keyphrase)}</span>'
