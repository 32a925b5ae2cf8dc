"""Importing pairs and ratings from an uploaded file into a project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.events import Dependency

from annotation.comparison import comparison_type
from annotation.errors import AnnotationError, ImportFileError
from annotation.exchange import read_items_or_errors
from annotation.files.formats import SUFFIXES, open_source
from annotation.files.wrong_lines import WrongLinesError
from annotation.import_notes import import_notes
from annotation.senses.dictionary import Dictionary
from annotation.senses.pair_senses import with_senses
from annotation.services.access.accounts import AccountService
from annotation.services.imports.importing import ImportService
from annotation.services.projects import ProjectService
from annotation.types import ImportSummary, Role
from annotation.ui.asking import TOLD, Told, admitted, asked_by, reason_of
from annotation.ui.filling import Filling
from annotation.ui.wording import counted
from kpdemo.ui.widgets import empty_html, escape, note_html, section_heading

LARGEST_FILE = "100mb"
KEPT_MINUTES = 10
"""An upload that is not imported is deleted when it is so old."""

FROM_FILE = "as given in the file"
NOTHING_YET = "Choose a file and press Import. Either all of its rows are imported or none."
STILL_CHOSEN = "The file is still chosen; to choose another one, remove it with × first."
ALL_STILL_CHOSEN = "The files are still chosen; remove the wrong one with × and add the right one."
NOTHING_NEW = "Nothing new was imported."
SHOWN_DUPLICATES = 20
REST = "() => [{ __type__: 'update', interactive: false }]"
WAKE = """async () => {
  await new Promise((done) => setTimeout(done, 600));
  return [{ __type__: 'update', interactive: true }];
}"""
_SUFFIXES = (*SUFFIXES, ".json")
FORMATS_HTML = (
    "<details><summary>File formats</summary><ul>"
    "<li><b>TSV, CSV</b>: a header with <code>id, type, left, right</code> and, if you wish, "
    "<code>genre, intended, source</code>; left is what the type names first, such as the paragraph in "
    "<code>paragraph2sentence</code>.</li>"
    "<li><b>JSON Lines</b>: one object per line with the same names; or <b>JSON</b>, one array of them.</li>"
    "<li><b>Ratings</b> that exist already: a field <code>ratings</code> with a list of grades, "
    "or rows of <code>id, rater, grade</code>.</li>"
    "<li><b>SemEval-2014 Task 3</b>: its input files as they are.</li></ul></details>"
)


@dataclass(frozen=True)
class ImportHandlers:
    accounts: AccountService
    projects: ProjectService
    importing: ImportService
    dictionary: Dictionary

    def show(self, request: gr.Request) -> gr.Dropdown:
        """The types that a file without a column for them may have."""
        with admitted(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _):
            types = self.projects.get(project_id).settings.types
        named = [(comparison_type(name).label, name) for name in types]
        return gr.Dropdown(choices=[(FROM_FILE, ""), *named])  # what is chosen stays

    def import_file(
        self,
        request: gr.Request,
        upload: str | None,
        type: str | None,
        merges_equal_texts: bool = False,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> tuple[str, Any]:
        """All rows of the file, or how many cannot be used and why."""
        try:
            project_id, user = asked_by(request, self.accounts, Role.ADMINISTRATOR)
            path = checked_upload(upload)
            progress(None, desc="Reading")
            with open_source(path, name=path.name) as source:
                # All of it before the transaction begins: nobody can save a grade while that lasts.
                only = self.projects.get(project_id).settings.only_type
                read = read_items_or_errors(source, type=type, only_type=only)
                items = list(with_senses(read, self.dictionary.open_or_none))
            summary = self.importing.import_pairs(
                project_id,
                items,
                merges_equal_texts=merges_equal_texts,
                by=user,
                progress=_shown_on(progress, len(items)),
                files=[path.name],
            )
        except TOLD as error:
            return refused(error, upload)
        path.unlink(missing_ok=True)
        told = [source.made_ids.sentence(path.name) if summary.pairs else "", *import_notes(summary)]
        notes = "".join(note_html(said) for said in told if said)
        return f"{summary_html(summary)}{notes}", gr.File(value=None)


def build_import_section(handlers: ImportHandlers) -> tuple[Filling, Any]:
    """How the choice of a type is filled, and the event of an import."""
    section_heading("Import", "import-heading")
    upload = gr.File(
        label="A file of pairs or ratings",
        type="filepath",
        height=140,
        elem_id="import-file",
    )
    gr.HTML(
        f'<p class="small">TSV, CSV or JSON Lines in UTF-8, at most {LARGEST_FILE[:-2]} MB. '
        f"An upload is deleted once it is imported, or after {KEPT_MINUTES} minutes.</p>{FORMATS_HTML}",
        elem_id="import-formats",
    )
    merges = gr.Checkbox(
        label="Merge pairs with the same texts",
        info="If not, the same texts under two ids are two pairs. Merged, they keep one grade of a rater.",
        elem_id="import-merge",
    )
    with gr.Row(elem_classes="form-row"):
        type = gr.Dropdown(
            [(FROM_FILE, "")],
            value="",
            label="Comparison type",
            allow_custom_value=True,
            elem_id="import-type",
            scale=3,
        )
        run = gr.Button("Import", variant="primary", elem_id="import-run", scale=1, min_width=120)
    result = gr.HTML(empty_html(NOTHING_YET), elem_id="import-result")
    inputs = [upload, type, merges]
    imported = import_event(run, handlers.import_file, inputs, [result, upload], "import_file")
    return Filling(handlers.show, type, "show_import_types"), imported


def import_event(
    run: gr.Button,
    handler: Callable[..., Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    name: str,
) -> Dependency:
    """An import when the button is pressed, which rests until a moment after the answer, the first output.

    The second click of a double one would find the box empty, or import the same file again.
    """
    begun = run.click(None, None, run, js=REST, api_name=f"begin_{name}", show_progress="hidden")
    event: Dependency = begun.then(
        handler,
        [*inputs],
        [*outputs],
        api_name=name,
        concurrency_limit=1,
        concurrency_id="import",
        show_progress_on=outputs[0],
    )
    event.then(None, None, run, js=WAKE, api_name=f"end_{name}", show_progress="hidden")
    return event


def refused(error: Told, upload: str | None) -> tuple[str, Any]:
    """Why nothing was imported, and the box."""
    files = [Path(upload)] if upload else []
    return refused_html(error, files, "imported"), box_after(files)


def refused_html(error: Told, files: Sequence[Path], done: str) -> str:
    """Why nothing was `done`, not to be taken for a success, and that the files of a box are still chosen."""
    there = [file for file in files if file.is_file()]
    kept = "" if not there else f" {STILL_CHOSEN if len(there) == 1 else ALL_STILL_CHOSEN}"
    if isinstance(error, WrongLinesError):
        summary, *reasons = error.lines
        listed = "".join(f"<li>{escape(reason)}</li>" for reason in reasons)
        return (
            f'<div class="note failed" role="alert"><p><b>Nothing was {done}.</b> {escape(summary)}</p>'
            f"<ul>{listed}</ul><p>{escape(kept.strip())}</p></div>"
        )
    # Whose connection is lost at the end may have lost only the answer.
    nothing = f"<b>Nothing was {done}.</b> " if isinstance(error, AnnotationError) else ""
    return f'<p class="note failed" role="alert">{nothing}{escape(reason_of(error) + kept)}</p>'


def box_after(files: Sequence[Path]) -> Any:
    """A box after a refusal: it keeps the files that are still there."""
    there = [str(file) for file in files if file.is_file()]
    return gr.skip() if len(there) == len(files) else gr.File(value=there or None)


def summary_html(summary: ImportSummary) -> str:
    """What was imported, and what was there already."""
    said = f"Imported {counted(summary.pairs, 'pair')} and {counted(summary.ratings, 'rating')}."
    return imported_html(said, summary.duplicates, has_new=bool(summary.pairs or summary.ratings))


def imported_html(said: str, duplicates: Sequence[str], *, has_new: bool, noun: str = "pair") -> str:
    """What an import says it did, and the ids of what was there already; no success where nothing was new."""
    kind = "note done" if has_new else "note"
    if not duplicates:
        return f'<p class="{kind}" role="status">{escape(said if has_new else NOTHING_NEW)}</p>'
    shown = "".join(f"<li>{escape(name)}</li>" for name in duplicates[:SHOWN_DUPLICATES])
    more = len(duplicates) - SHOWN_DUPLICATES
    rest = f"<p>And {counted(more, 'more', 'more')}.</p>" if more > 0 else ""
    count = counted(len(duplicates), f"{noun} was", f"{noun}s were")
    return (
        f'<div class="{kind}" role="status">'
        f"<p>{escape(said if has_new else NOTHING_NEW)} {escape(count)} already there and left out:</p>"
        f"<ul>{shown}</ul>{rest}</div>"
    )


def checked_upload(upload: str | None) -> Path:
    """The file that was chosen.

    Raises:
        ImportFileError: there is none, or none that can be read here.
    """
    if not upload:
        raise ImportFileError("No file is chosen: choose one or drop it on the box.")
    path = Path(upload)
    if path.suffix.lower() not in _SUFFIXES:  # nothing compressed: a small one may hold gigabytes
        raise ImportFileError(f"{path.name} cannot be read here: save it as one of {', '.join(_SUFFIXES)}.")
    if not path.is_file():
        raise ImportFileError(
            f"{path.name} is gone: uploads are deleted after {KEPT_MINUTES} minutes, so choose it again."
        )
    return path


def _shown_on(progress: gr.Progress, rows: int) -> Callable[[int], None]:
    def advance(done: int) -> None:
        progress((done, rows), desc="Importing", unit="rows")

    return advance
