"""The pairs on a project's page: importing, listing, withdrawing and removing them, and raters' remarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.events import Dependency

from annotation.columns import FirstLook
from annotation.errors import AnnotationError, ImportFileError, PairError
from annotation.exchange import (
    FILE_SUFFIXES,
    ReadingNotes,
    WrongLinesError,
    look_at,
    open_file,
    read_items_or_errors,
)
from annotation.scale import item_words
from annotation.sense_pairs import Dictionary, add_senses
from annotation.senses import item_views
from annotation.services.accounts import AccountService
from annotation.services.imports import ImportService
from annotation.services.pairs import PAGE_LENGTH, PairLine, PairPage, PairService, PairState
from annotation.services.projects import ProjectService
from annotation.services.ratings import Remark, RemarkKind, RemarkPage, RemarkService
from annotation.translation import _, mark, ngettext, tell
from annotation.types import ImportSummary, ProjectSettings, Role
from annotation.ui.figures import Column, Table, listing_html, save_button, template_button, type_label
from annotation.ui.rate import SKIP_REASONS
from annotation.ui.widgets import (
    PAGE_ERRORS,
    Filling,
    Keeping,
    PageError,
    admit_member,
    answer_event,
    answer_place,
    build_kept_form,
    file_box,
    ids_in,
    reason_of,
    require_member,
)
from annotation.ui.wording import cell_html, held_back_text, pairs_text, time_html
from annotation.wording import LONGEST_NOTE
from kpdemo.io.tables import spreadsheet_csv
from kpdemo.ui.html import escape, group_digits
from kpdemo.ui.widgets import done_html, empty_html, note_html, section_heading

LARGEST_FILE = "100mb"
KEPT_MINUTES = 10
"""An upload that is not imported is deleted when it is so old."""

FROM_FILE = mark("as given in the file")
NOTHING_YET = mark("Choose a file and press Import. Either all of its rows are imported or none.")
STILL_CHOSEN = mark("The file is still chosen; to choose another one, remove it with × first.")
ALL_STILL_CHOSEN = mark("The files are still chosen; remove the wrong one with × and add the right one.")
NOTHING_NEW = mark("Nothing new was imported.")
NOTHING_WAS = {"imported": mark("Nothing was imported."), "added": mark("Nothing was added.")}
SHOWN_DUPLICATES = 20
REST = "() => [{ __type__: 'update', interactive: false }]"
WAKE = """async () => {
  await new Promise((done) => setTimeout(done, 600));
  return [{ __type__: 'update', interactive: true }];
}"""
LOOK_BEGINS = """() => {
  window.importLooks = (window.importLooks ?? 0) + 1;
  return [{ __type__: 'update', interactive: false }];
}"""
LOOK_ENDS = """async () => {
  await new Promise((done) => setTimeout(done, 300));
  window.importLooks -= 1;
  return [{ __type__: 'update', interactive: window.importLooks === 0 }];
}"""
"""A file may be taken out and another put in while the first is still being looked at."""
ASSIGNED = {
    "left": mark("Left item"),
    "right": mark("Right item"),
    "id": mark("Id"),
    "type": mark("Type"),
    "genre": mark("Genre"),
    "intended": mark("Intended grade"),
    "rater": mark("Rater"),
    "grade": mark("Grade"),
}
"""Fields that a column can be assigned to, and what they are called."""
NO_COLUMN = "–"


@dataclass(frozen=True)
class ImportHandlers:
    accounts: AccountService
    projects: ProjectService
    importing: ImportService
    dictionary: Dictionary

    def show(self, request: gr.Request) -> tuple[gr.Dropdown, str]:
        """The types that a file without a column for them may have, and a template with a row for each."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            settings = self.projects.get(project_id).settings
        named = [(type_label(name), name) for name in settings.types]
        choice = gr.Dropdown(choices=[(_(FROM_FILE), ""), *named])  # what is chosen stays
        return choice, template_button("pairs-template.csv", template_csv(settings))

    def look(self, request: gr.Request, upload: str | None) -> tuple[Any, ...]:
        """What a file that was just chosen seems to be, its first rows, and which column is what."""
        hidden = (gr.Row(visible=False), *(gr.Dropdown([(NO_COLUMN, "")], value="") for _field in ASSIGNED))
        try:
            project_id, _user = require_member(request, self.accounts, Role.ADMINISTRATOR)
            if not upload:
                return ("", *hidden)
            only = self.projects.get(project_id).settings.only_type
            path = checked_upload(upload)
            with open_file(path, name=path.name, any_encoding=True) as source:
                look = look_at(source, type=only)
        except PAGE_ERRORS as error:
            return (refusal_html(error, [Path(upload)] if upload else [], "imported"), *hidden)
        shown = look_html(path.name, look)
        if look.columns is None:
            return (shown, *hidden)
        labels = [
            _("column {name}: {value}", name=name, value=look.rows[0][place]) if name.isdecimal() else name
            for place, name in enumerate(look.names)
        ]
        choices = [(NO_COLUMN, ""), *zip(labels, look.names, strict=True)]
        guessed = (gr.Dropdown(choices, value=look.columns.get(field, "")) for field in ASSIGNED)
        return (shown, gr.Row(visible=True), *guessed)

    def import_file(
        self,
        request: gr.Request,
        upload: str | None,
        type: str | None,
        merges_equal_texts: bool = False,
        *assigned: str | None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> tuple[str, Any]:
        """All rows of the file, or how many cannot be used and why."""
        try:
            project_id, user = require_member(request, self.accounts, Role.ADMINISTRATOR)
            path = checked_upload(upload)
            progress(None, desc=_("Reading"))
            notes = ReadingNotes()
            columns = dict(zip(ASSIGNED, (name or "" for name in assigned), strict=False))
            if not any(columns.values()):
                columns = {}
            with open_file(path, name=path.name, any_encoding=True) as source:
                # All of it before the transaction begins: nobody can save a grade while that lasts.
                settings = self.projects.get(project_id).settings
                read = read_items_or_errors(
                    source,
                    type=type,
                    only_type=settings.only_type,
                    columns=columns,
                    notes=notes,
                    scale=settings.scale,
                )
                items = list(add_senses(read, self.dictionary.open_or_none))
            summary = self.importing.import_pairs(
                project_id,
                items,
                merges_equal_texts=merges_equal_texts,
                by=user,
                progress=_report_rows(progress, len(items)),
                files=[path.name],
            )
        except PAGE_ERRORS as error:
            return refusal(error, upload)
        path.unlink(missing_ok=True)
        told = [*(notes.sentences(path.name) if summary.pairs else ()), *summary.notes]
        return f"{summary_html(summary)}{''.join(map(note_html, told))}", gr.File(value=None)


def build_import_section(handlers: ImportHandlers) -> tuple[Filling, Any]:
    """How the choice of a type is filled, and the event of an import."""
    section_heading(_("Import"), "import-heading")
    upload = file_box(_("A file of pairs or ratings"), "import-file")
    limits = _(
        "TSV, CSV, XLSX, ODS or JSON Lines, at most {size} MB. An upload is deleted once it is imported, or "
        "after {minutes} minutes.",
        size=LARGEST_FILE[:-2],
        minutes=KEPT_MINUTES,
    )
    gr.HTML(f'<p class="small">{limits}</p>{formats_html()}', elem_id="import-formats")
    template = gr.HTML("", elem_id="import-template")
    merges = gr.Checkbox(
        label=_("Merge pairs with the same texts"),
        info=_("If not, the same texts under two ids are two pairs. Merged, they keep one grade of a rater."),
        elem_id="import-merge",
    )
    look = gr.HTML("", elem_id="import-look")
    with gr.Row(visible=False, elem_id="import-columns") as columns:
        assigned = [
            gr.Dropdown(
                [(NO_COLUMN, "")], value="", label=_(label), elem_id=f"import-column-{field}", min_width=160
            )
            for field, label in ASSIGNED.items()
        ]
    with gr.Row(elem_classes="form-row"):
        type = gr.Dropdown(
            [(_(FROM_FILE), "")],
            value="",
            label=_("Comparison type"),
            allow_custom_value=True,
            elem_id="import-type",
            scale=3,
        )
        run = gr.Button(_("Import"), variant="primary", elem_id="import-run", scale=1, min_width=120)
    result = gr.HTML(empty_html(_(NOTHING_YET)), elem_id="import-result")
    _look_event(upload, run, handlers.look, [look, columns, *assigned])
    inputs = [upload, type, merges, *assigned]
    imported = import_event(run, handlers.import_file, inputs, [result, upload], "import_file")
    return Filling(handlers.show, [type, template], "show_import_types"), imported


def _look_event(upload: gr.File, run: gr.Button, handler: Callable[..., Any], shown: Sequence[Any]) -> None:
    """A look at a file that was just chosen.

    *Import* rests meanwhile: the browser fills the choices of columns one after another, and a press
    between two of them would send some of this file and some of the file before it.
    """
    quiet: dict[str, Any] = {"show_progress": "hidden", "trigger_mode": "multiple"}
    begun = upload.change(None, None, run, js=LOOK_BEGINS, api_name="begin_look_at_import", **quiet)
    looked = begun.then(handler, upload, [*shown], api_name="look_at_import", **quiet)
    looked.then(None, None, run, js=LOOK_ENDS, api_name="end_look_at_import", **quiet)


def formats_html() -> str:
    """What files may look like, folded."""
    header, further = "<code>id, type, left, right</code>", "<code>genre, intended, source</code>"
    formats = (
        _(
            "{formats}: best with a header of {header} and, if you wish, {further}; left is what the type "
            "names first, such as the paragraph in {type}. Other columns can be assigned here, once the file "
            "is chosen.",
            formats=_bold("TSV, CSV, XLSX, ODS"),
            header=header,
            further=further,
            type="<code>paragraph2sentence</code>",
        ),
        _(
            "{lines}: one object per line with the same names; or {json}, one array of them.",
            lines=_bold("JSON Lines"),
            json=_bold("JSON"),
        ),
        _(
            "Ratings that exist already: a field {ratings} with a list of grades, or rows of {rows}.",
            ratings="<code>ratings</code>",
            rows="<code>id, rater, grade</code>",
        ),
        _(
            "{task} and {benchmark}: their files as they are.",
            task=_bold("SemEval-2014 Task 3"),
            benchmark=_bold("STS benchmark"),
        ),
        _("Exports of Label Studio, Argilla, doccano, Prodigy and Potato: pairs with their ratings."),
    )
    listed = "".join(f"<li>{each}</li>" for each in formats)
    return f"<details><summary>{_('File formats')}</summary><ul>{listed}</ul></details>"


def _bold(name: str) -> str:
    return f"<b>{name}</b>"


def look_html(name: str, look: FirstLook) -> str:
    """What a file seems to be, and its first rows."""
    if not look.rows:
        return note_html(_("{file} is {kind}.", file=name, kind=tell(look.kind)))
    heads = "".join(f'<th scope="col" dir="auto">{escape(column)}</th>' for column in look.names)
    rows = ""
    for row in look.rows:
        cells = (f'<td dir="auto">{escape(cell)}</td>' for cell in row)
        rows += f"<tr>{''.join(cells)}</tr>"
    said = _("{file} looks like {kind}.", file=f"<b>{escape(name)}</b>", kind=escape(tell(look.kind)))
    if look.columns is not None:
        said += f" {escape(_('Check which column is what, then press Import.'))}"
    label = escape(_("First rows of the file"))
    return (
        f'<p class="small" role="status">{said}</p>'
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="listing"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def template_csv(settings: ProjectSettings) -> str:
    """A table to fill in, with a row for each type, in which the items have the names of the project."""
    rows = [("id", "type", "left", "right", "genre", "source")]
    for number, type in enumerate(settings.types, 1):
        words = item_words(settings.scale_words, type, settings.scale)
        texts = (f"{words.larger} of the pair", f"{words.smaller} of the pair")
        rows.append((f"p{number}", type, *texts, "", ""))
    return spreadsheet_csv(rows)


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


def refusal(error: PageError, upload: str | None) -> tuple[str, Any]:
    """Why nothing was imported, and the box."""
    files = [Path(upload)] if upload else []
    return refusal_html(error, files, "imported"), box_after(files)


def refusal_html(error: PageError, files: Sequence[Path], done: str) -> str:
    """Why nothing was `done`, not to be taken for a success, and that the files of a box are still chosen."""
    there = [file for file in files if file.is_file()]
    kept = "" if not there else f" {_(STILL_CHOSEN if len(there) == 1 else ALL_STILL_CHOSEN)}"
    refused = f"<b>{_(NOTHING_WAS[done])}</b>"
    if isinstance(error, WrongLinesError):
        summary, *reasons = error.lines
        listed = "".join(f"<li>{escape(reason)}</li>" for reason in reasons)
        return (
            f'<div class="note failed" role="alert"><p>{refused} {escape(summary)}</p>'
            f"<ul>{listed}</ul><p>{escape(kept.strip())}</p></div>"
        )
    # Whose connection is lost at the end may have lost only the answer.
    nothing = f"{refused} " if isinstance(error, AnnotationError) else ""
    return f'<p class="note failed" role="alert">{nothing}{escape(reason_of(error) + kept)}</p>'


def box_after(files: Sequence[Path]) -> Any:
    """A box after a refusal: it keeps the files that are still there."""
    there = [str(file) for file in files if file.is_file()]
    return gr.skip() if len(there) == len(files) else gr.File(value=there or None)


def summary_html(summary: ImportSummary) -> str:
    """What was imported, and what was there already."""
    ratings = ngettext(
        "{count} rating", "{count} ratings", summary.ratings, count=group_digits(summary.ratings)
    )
    said = _("Imported {pairs} and {ratings}.", pairs=pairs_text(summary.pairs), ratings=ratings)
    return import_result_html(said, summary.duplicates, has_new=bool(summary.pairs or summary.ratings))


def import_result_html(said: str, duplicates: Sequence[str], *, has_new: bool, noun: str = "pair") -> str:
    """What an import says it did, and the ids of what was there already; no success where nothing was new."""
    kind = "note done" if has_new else "note"
    if not duplicates:
        return f'<p class="{kind}" role="status">{escape(said if has_new else _(NOTHING_NEW))}</p>'
    shown = "".join(f"<li>{escape(name)}</li>" for name in duplicates[:SHOWN_DUPLICATES])
    more = len(duplicates) - SHOWN_DUPLICATES
    rest = f"<p>{_('And {count} more.', count=group_digits(more))}</p>" if more > 0 else ""
    number = len(duplicates)
    count = (
        ngettext(
            "{count} pair was already there and left out:",
            "{count} pairs were already there and left out:",
            number,
            count=group_digits(number),
        )
        if noun == "pair"
        else ngettext(
            "{count} item was already there and left out:",
            "{count} items were already there and left out:",
            number,
            count=group_digits(number),
        )
    )
    return (
        f'<div class="{kind}" role="status">'
        f"<p>{escape(said if has_new else _(NOTHING_NEW))} {escape(count)}</p>"
        f"<ul>{shown}</ul>{rest}</div>"
    )


def checked_upload(upload: str | None) -> Path:
    """The file that was chosen.

    Raises:
        ImportFileError: there is none, or none that can be read here.
    """
    if not upload:
        raise ImportFileError(_("No file is chosen: choose one or drop it on the box."))
    path = Path(upload)
    if path.suffix.lower() not in FILE_SUFFIXES:  # no .gz: a small one may hold gigabytes
        raise ImportFileError(
            _(
                "{file} cannot be read here: save it as one of {suffixes}.",
                file=path.name,
                suffixes=", ".join(FILE_SUFFIXES),
            )
        )
    if not path.is_file():
        raise ImportFileError(
            _(
                "{file} is gone: uploads are deleted after {minutes} minutes, so choose it again.",
                file=path.name,
                minutes=KEPT_MINUTES,
            )
        )
    return path


def _report_rows(progress: gr.Progress, rows: int) -> Callable[[int], None]:
    def advance(done: int) -> None:
        progress((done, rows), desc=_("Importing"), unit=_("rows"))

    return advance


ANY_TYPE = mark("any type")
PAIR_CHANGES_SAY = mark(
    "A withdrawn pair is not given to raters and counts nowhere; its grades, decisions and comments are "
    "kept, and restoring it brings them back. Pairs that nobody was given or graded, such as those of a "
    "wrong import, can be removed for good. Either all named pairs are changed or none."
)


@dataclass(frozen=True)
class PairChangeHandlers:
    accounts: AccountService
    projects: ProjectService
    pairs: PairService

    def types(self, request: gr.Request) -> gr.Dropdown:
        """The choice among the types of the project."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, _user):
            types = self.projects.get(project_id).settings.types
        return gr.Dropdown(choices=[(_(ANY_TYPE), ""), *((type_label(name), name) for name in types)])

    def withdraw(self, request: gr.Request, ids: str | None, type: str | None, reason: str | None) -> Any:
        """Take the named pairs out of the study, and empty the fields."""
        count = self._change(request, ids, type, reason, self.pairs.withdraw)
        said = ngettext(
            "{count} pair withdrawn.", "{count} pairs withdrawn.", count, count=group_digits(count)
        )
        return done_html(said), "", ""

    def restore(self, request: gr.Request, ids: str | None, type: str | None, reason: str | None) -> Any:
        """Put the named pairs back, and empty the fields."""
        count = self._change(request, ids, type, reason, self.pairs.restore)
        said = ngettext("{count} pair restored.", "{count} pairs restored.", count, count=group_digits(count))
        return done_html(said), "", ""

    def remove(self, request: gr.Request, ids: str | None, type: str | None) -> tuple[str, str]:
        """Delete the named pairs, and empty the field."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            count = self.pairs.remove(project_id, parse_ids(ids), type=type or None, by=user)
        said = ngettext("{count} pair removed.", "{count} pairs removed.", count, count=group_digits(count))
        return done_html(said), ""

    def _change(
        self,
        request: gr.Request,
        ids: str | None,
        type: str | None,
        reason: str | None,
        change: Callable[..., int],
    ) -> int:
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            return change(project_id, parse_ids(ids), type=type or None, reason=reason or "", by=user)


def build_pair_changes(handlers: PairChangeHandlers) -> tuple[Filling, tuple[Any, ...]]:
    """How the choice of a type is filled, and the events that change which pairs there are or count."""
    with gr.Accordion(_("Withdraw or remove pairs"), open=False, elem_id="pair-changes") as part:
        gr.HTML(f'<p class="small">{_(PAIR_CHANGES_SAY)}</p>', elem_id="pair-changes-explained")
        kept = build_kept_form("pair-changes")
        ids = gr.Textbox(label=_("Ids, one per line"), lines=3, max_lines=12, elem_id="pair-ids")
        with gr.Row(elem_classes="form-row"):
            type = gr.Dropdown(
                [(_(ANY_TYPE), "")],
                value="",
                label=_("Comparison type"),
                info=_("Where several have the id"),
                elem_id="pair-ids-type",
            )
            reason = gr.Textbox(
                label=_("Reason (optional)"),
                info=_("Kept under Events"),
                max_lines=1,
                max_length=LONGEST_NOTE,
                elem_id="pair-reason",
            )
        with gr.Row(elem_classes="form-row"):
            withdraw = gr.Button(_("Withdraw"), elem_id="pair-withdraw", min_width=96)
            restore = gr.Button(_("Restore"), elem_id="pair-restore", min_width=96)
            remove = gr.Button(_("Remove"), elem_id="pair-remove", min_width=96)
        said = answer_place("pair-changed")
    asked: list[Any] = [ids, type, reason]
    changed = (
        answer_event(
            withdraw.click, handlers.withdraw, asked, [said, ids, reason], api_name="withdraw_pairs"
        ),
        answer_event(restore.click, handlers.restore, asked, [said, ids, reason], api_name="restore_pairs"),
        answer_event(remove.click, handlers.remove, [ids, type], [said, ids], api_name="remove_pairs"),
    )
    keeping = Keeping(kept, asked, changed, around=[(part, {"open": True})])
    return Filling(handlers.types, type, "show_pair_types", keeping=keeping), changed


def parse_ids(text: str | None) -> list[str]:
    """The ids, one per line.

    Raises:
        PairError: there is none.
    """
    ids = ids_in(text)
    if not ids:
        raise PairError(_("No pair is named: write ids from the list, one per line."))
    return ids


NO_PAIRS = mark("No pairs yet. They are listed here once a file is imported or a text is accepted.")
NONE_FOUND = mark("No pair matches. Search for a part of an id or a text, or choose another state.")
LONGEST_SEARCH = 200


@dataclass(frozen=True)
class PairListHandlers:
    accounts: AccountService
    pairs: PairService
    changes: PairChangeHandlers

    def first(self, search: str | None, state: str | None, request: gr.Request) -> tuple[Any, ...]:
        """The first page of what is asked for."""
        return self._show(request, search, state, 0)

    def earlier(
        self, search: str | None, state: str | None, page: int, request: gr.Request
    ) -> tuple[Any, ...]:
        """The page before."""
        return self._show(request, search, state, page - 1)

    def later(self, search: str | None, state: str | None, page: int, request: gr.Request) -> tuple[Any, ...]:
        """The next page."""
        return self._show(request, search, state, page + 1)

    def _show(self, request: gr.Request, search: str | None, state: str | None, page: int) -> tuple[Any, ...]:
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            asked = (search or "")[:LONGEST_SEARCH]
            wanted = PairState(state) if state in set(PairState) else None
            page, found = self._page(project_id, user.id, asked, wanted, max(0, page))
        is_more = (page + 1) * PAGE_LENGTH < found.total
        html = pairs_html(found, project_id, page, is_all=not asked.strip() and wanted is None)
        return html, page, gr.Button(interactive=page > 0), gr.Button(interactive=is_more)

    def _page(
        self, project_id: int, viewer: int, search: str, state: PairState | None, page: int
    ) -> tuple[int, PairPage]:
        """The page, or the last that there is: search and pairs may have changed since the last turn."""
        offset = page * PAGE_LENGTH
        found = self.pairs.pairs(project_id, search=search, state=state, offset=offset, viewer=viewer)
        last = max(0, found.total - 1) // PAGE_LENGTH
        return (page, found) if page <= last else self._page(project_id, viewer, search, state, last)


def build_pair_list(handlers: PairListHandlers) -> tuple[Filling, Filling, tuple[Any, ...]]:
    """How the list and the form under it are filled, and the events that change which pairs there are."""
    section_heading(_("All pairs"), "pair-list-heading")
    with gr.Row(elem_classes="form-row"):
        search = gr.Textbox(
            label=_("Search"),
            info=_("A part of an id or a text, then Enter"),
            max_lines=1,
            elem_id="pair-search",
        )
        state = gr.Dropdown(
            [(_("every state"), ""), *((_(state.value), state.value) for state in PairState)],
            value="",
            label=_("State"),
            info=_("How far they are"),
            elem_id="pair-state",
        )
    listed = gr.HTML("", elem_id="pair-list", js_on_load=None)
    with gr.Row(elem_classes="form-row", elem_id="pair-pages"):
        earlier = gr.Button(
            _("Previous page"), interactive=False, size="sm", elem_id="pair-earlier", min_width=96
        )
        later = gr.Button(_("Next page"), interactive=False, size="sm", elem_id="pair-later", min_width=96)
    types, changed = build_pair_changes(handlers.changes)
    page = gr.State(0)
    asked: list[Any] = [search, state]
    shown = [listed, page, earlier, later]
    search.submit(handlers.first, asked, shown, api_name="search_pairs", show_progress="hidden")
    state.change(  # nothing else sets it
        handlers.first, asked, shown, api_name="choose_pairs", show_progress="hidden"
    )
    for button, turn in ((earlier, handlers.earlier), (later, handlers.later)):
        button.click(turn, [*asked, page], shown, api_name=f"{turn.__name__}_pairs", show_progress="hidden")
    return Filling(handlers.first, shown, "show_pairs", asked), types, changed


def pairs_html(page: PairPage, project_id: int, number: int, *, is_all: bool) -> str:
    """How many there are, and the table of this page."""
    if not page.items:
        return empty_html(_(NO_PAIRS if is_all else NONE_FOUND))
    first = number * PAGE_LENGTH + 1
    last = first + len(page.items) - 1
    said = [pairs_text(page.total)]
    if page.withdrawn:
        said.append(_("{count} withdrawn", count=group_digits(page.withdrawn)))
    if page.total > len(page.items):
        said.append(_("{first} to {last} below", first=group_digits(first), last=group_digits(last)))
    heads = (_("Pair"), _("Left item"), _("Right item"), _("Grades"), _("State"))
    rows = "".join(_pair_row_html(line, page.raters_per_pair, project_id) for line in page.items)
    return f"<p>{escape(', '.join(said))}</p>{listing_html(heads, rows, label=_('All pairs'))}"


def _pair_row_html(line: PairLine, raters_per_pair: int, project_id: int) -> str:
    address = f"/annotate/adjudicate?project={project_id}&pair={line.id}"
    kind = type_label(line.type) + (f", {line.genre}" if line.genre else "")
    items = item_views(line.type, line.left, line.right, line.senses)
    return (
        f'<tr><th scope="row" dir="auto"><a href="{escape(address)}">{escape(line.external_id)}</a>'
        f"<small>{escape(kind)}</small></th>"
        f"{''.join(map(cell_html, items))}"
        f"<td>{_('{done} of {all}', done=line.grades, all=raters_per_pair)}</td>"
        f"<td>{escape(_(line.state.value))}</td></tr>"
    )


NO_REMARKS = mark("No comments or skips yet.")
KINDS = {
    RemarkKind.PROBLEM: mark("Problem"),
    RemarkKind.COMMENT: mark("Comment"),
    RemarkKind.SKIP: mark("Skipped"),
}
CAPTION = mark("Comments and skips")
COLUMNS = tuple(
    Column(name, text=True)
    for name in (
        "Pair", "Type", "Kind", "Rater", "Reason", "Comment", "Left item", "Right item", "When",
        "Check pair", "Withdrawn",
    )
)  # fmt: skip


@dataclass(frozen=True)
class RemarksHandlers:
    accounts: AccountService
    projects: ProjectService
    remarks: RemarkService

    def show(self, request: gr.Request) -> str:
        """What was said in the project."""
        with admit_member(request, self.accounts, Role.ADMINISTRATOR) as (project_id, user):
            name = self.projects.get(project_id).name
            return remarks_html(self.remarks.remarks(project_id, viewer=user.id), project_id, name)


def build_remarks_section(handlers: RemarksHandlers) -> Filling:
    section_heading(_(CAPTION), "remarks-heading")
    shown = gr.HTML("", elem_id="remarks-list", js_on_load=None)
    again = gr.Button(_("Refresh"), elem_id="remarks-again", size="sm")
    again.click(handlers.show, outputs=shown, api_name="show_remarks_again", show_progress="hidden")
    return Filling(handlers.show, shown, "show_remarks")


def remarks_html(page: RemarkPage, project_id: int, project: str) -> str:
    """How much was said, the table, and a button that saves it."""
    left_out = f'<p class="small">{escape(held_back_text(page.held_back))}</p>' if page.held_back else ""
    if not page.total:
        return left_out or empty_html(_(NO_REMARKS))
    problems, comments, skips = (page.counts[kind] for kind in RemarkKind)
    counts = (
        ngettext("{count} problem", "{count} problems", problems, count=group_digits(problems)),
        ngettext("{count} other comment", "{count} other comments", comments, count=group_digits(comments)),
        ngettext("{count} skip", "{count} skips", skips, count=group_digits(skips)),
    )
    said = _("{counts}, problems first, then the newest", counts=" · ".join(counts))
    heads = (
        *(_("Pair"), _("Kind"), _("Rater"), _("Comment or reason")),
        *(_("Left item"), _("Right item"), _("When")),
    )
    button = save_button(remarks_table(page), project, called=_(CAPTION))
    rows = "".join(_remark_row_html(remark, project_id) for remark in page.items)
    return (
        f"<p>{escape(said)}</p>{left_out}{listing_html(heads, rows, label=_(CAPTION))}"
        f'{_rest_html(page)}<p class="actions">{button}</p>'
    )


def remarks_table(page: RemarkPage) -> Table:
    """The same for a file, in English."""
    rows = tuple(
        (
            remark.external_id,
            remark.type,
            KINDS[remark.kind],
            remark.rater,
            _reason(remark),
            remark.text,
            remark.left,
            remark.right,
            remark.at.isoformat(),
            "yes" if remark.is_check else "",
            "yes" if remark.is_withdrawn else "",
        )
        for remark in page.items
    )
    return Table("remarks", CAPTION, COLUMNS, rows)


def _rest_html(page: RemarkPage) -> str:
    if page.total <= len(page.items):
        return ""
    said = _(
        "The first {first} of {all} are here and in the CSV file; {command} lists all.",
        first=group_digits(len(page.items)),
        all=group_digits(page.total),
        command="<code>python -m annotation remarks PROJECT</code>",
    )
    return f'<p class="small">{said}</p>'


def _remark_row_html(remark: Remark, project_id: int) -> str:
    named = escape(remark.external_id)
    if not remark.is_check:  # nobody adjudicates those
        address = f"/annotate/adjudicate?project={project_id}&pair={remark.pair_id}"
        named = f'<a href="{escape(address)}">{named}</a>'
    kinds = [type_label(remark.type)]
    if remark.is_check:
        kinds.append(_("check pair"))
    if remark.is_withdrawn:
        kinds.append(_("withdrawn"))
    items = item_views(remark.type, remark.left, remark.right, remark.senses)
    reason = _(_reason(remark)) if remark.reason else ""
    said = "".join(f'<div dir="auto">{escape(part)}</div>' for part in (reason, remark.text) if part)
    return (
        f'<tr><th scope="row" dir="auto">{named}<small>{escape(", ".join(kinds))}</small></th>'
        f'<td>{escape(_(KINDS[remark.kind]))}</td><td dir="auto">{escape(remark.rater)}</td>'
        f'<td class="remark">{said or "–"}</td>'
        f"{''.join(map(cell_html, items))}<td>{time_html(remark.at)}</td></tr>"
    )


def _reason(remark: Remark) -> str:
    return SKIP_REASONS[remark.reason] if remark.reason else ""
