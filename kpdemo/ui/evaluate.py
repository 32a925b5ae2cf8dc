"""The Evaluate tab: predictions files against the gold of their documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from kpdemo.errors import InputError, KpdemoError
from kpdemo.evaluation.measuring import (
    Details,
    measure_file,
    missing_message,
    not_in_text_message,
    without_gold_message,
)
from kpdemo.evaluation.metrics import CUT, CUTS, Convention, Cut, KindScores, read_cuts, with_further
from kpdemo.evaluation.protocol import ComparedDocument
from kpdemo.evaluation.report import CAPTIONS, POOLED_NOTE, caption_of_f1, decimals, interval_note
from kpdemo.evaluation.runs import (
    WITHOUT_GOLD,
    Groups,
    Run,
    compare_runs,
    difference_note,
    differences_of_runs,
    figure_cells,
    groups_of,
    note_under,
    rows_of_runs,
    run_names,
    run_to_json,
    runs_to_latex,
)
from kpdemo.io.documents import read_gold
from kpdemo.io.files import LINE_SUFFIXES, TABLE_SUFFIXES, plain_name
from kpdemo.locale import _, mark
from kpdemo.statistics import harmonic_mean
from kpdemo.text import shorten
from kpdemo.translation import write_number
from kpdemo.types import Document
from kpdemo.ui.files import KEPT_MINUTES, MOST_FILES, checked_files, in_turn_of_files, own_copies
from kpdemo.ui.html import documents_text, escape, group_digits
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.widgets import (
    CHOOSE_AGAIN,
    FILES_QUEUE,
    QUIETLY,
    Stops,
    empty_html,
    forget_script,
    keep_reason,
    note_html,
    page_of,
    refusal_html,
    section_heading,
    shown_to_user,
    stop_button,
)
from kpdemo.worker import Stop

MOST_ROWS = 20
MOST_BYTES = 100 * 2**20
"""Of the details of all files; a page that anyone may use does not fill the disk."""

LONGEST_TITLE = 120
ABOUT = mark(
    "Only documents with present gold keyphrases are listed. Right and wrong refer to the first five "
    "predicted present keyphrases, which F1@5 counts; a right one after these counts as missed, and its rank "
    "is given."
)
Row = Mapping[str, Any]
"""A line of the details."""


@dataclass(frozen=True, slots=True)
class PageDetails(Details):
    """Details up to `MOST_BYTES`, more or less a line."""

    @property
    def is_full(self) -> bool:
        return self.stream.tell() > MOST_BYTES

    def add(self, dataset: str, model: str | None, compared: ComparedDocument) -> None:
        """As `Details.add`, or nothing."""
        if not self.is_full:
            Details.add(self, dataset, model, compared)


def documents_html(runs: Sequence[Run], dataset: str, details: Path) -> str:
    """A folded table for one file, or for each further one; none where no document has present gold.

    `details` has a line for each document of the first run, then of the next, and so on.
    """
    scores = [[_f1(one.present) for one in run.report.datasets[dataset].scores] for run in runs]
    number = len(scores[0])
    chosen = [_furthest(scores[0], other) for other in scores[1:]] or [_lowest(scores[0])]
    if not any(f1 is not None for f1 in scores[0]):
        return ""
    wanted = {place for places in chosen for place in places}
    wanted |= {run * number + place for run, places in enumerate(chosen, start=1) for place in places}
    lines = _read(details, wanted)
    names = run_names(runs)
    if len(runs) == 1:
        body = [_document_row_html(lines[place], f1_of(lines[place]), [lines[place]]) for place in chosen[0]]
        heads = ["F1@5", _("Present keyphrases")]
        return _folded(_("Documents with the lowest F1@5"), heads, body)
    parts = []
    for run, places in enumerate(chosen, start=1):
        body = []
        for place in places:
            both = lines[place], lines[run * number + place]
            apart = both[1]["present"]["F1@5"] - both[0]["present"]["F1@5"]
            figure = write_number(f"{apart:+.3f}")
            body.append(_document_row_html(both[0], figure, both, each_with_f1=True))
        title = _("Documents where {other} differs most from {first}", other=names[run], first=names[0])
        parts.append(_folded(title, [_("Difference"), names[0], names[run]], body))
    return "".join(parts)


def f1_of(line: Row) -> str:
    return write_number(decimals(line["present"]["F1@5"]))


def _f1(scores: KindScores) -> float | None:
    return harmonic_mean(*scores.at[CUT]) if scores.has_gold else None


def _lowest(scores: Sequence[float | None]) -> list[int]:
    known = [(f1, place) for place, f1 in enumerate(scores) if f1 is not None]
    return [place for _, place in sorted(known)[:MOST_ROWS]]


def _furthest(first: Sequence[float | None], other: Sequence[float | None]) -> list[int]:
    apart = [
        (-abs(theirs - ours), place)
        for place, (ours, theirs) in enumerate(zip(first, other, strict=True))
        if ours is not None and theirs is not None and ours != theirs
    ]
    return [place for _, place in sorted(apart)[:MOST_ROWS]]


def _read(details: Path, wanted: Iterable[int]) -> dict[int, Row]:
    numbers = set(wanted)
    with details.open(encoding="utf-8") as stream:
        return {number: json.loads(line) for number, line in enumerate(stream) if number in numbers}


def _folded(title: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    if not rows:
        return f'<p class="small">{_("{what}: none differs in F1@5.", what=escape(title))}</p>'
    cells = "".join(
        f'<th scope="col"{_number(place)}>{escape(head)}</th>' for place, head in enumerate(heads)
    )
    return (
        f"<details><summary>{escape(title)}</summary>"
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{escape(title)}">'
        f'<table class="keyphrases"><thead><tr><th scope="col">{_("Document")}</th>{cells}</tr></thead>'
        f'<tbody>{"".join(rows)}</tbody></table></div><p class="small">{_(ABOUT)}</p></details>'
    )


def _number(place: int) -> str:
    return "" if place else ' class="number"'


def _document_row_html(named: Row, figure: str, lines: Sequence[Row], *, each_with_f1: bool = False) -> str:
    title = shorten(named["title"], LONGEST_TITLE)
    name = "<br>".join([*([escape(title)] if title else []), f"<small>{escape(named['id'])}</small>"])
    cells = "".join(
        f"<td>{_line_html('F1@5', [f1_of(line)]) if each_with_f1 else ''}{_phrases_html(line)}</td>"
        for line in lines
    )
    return f'<tr><th scope="row" dir="auto">{name}</th><td class="number">{figure}</td>{cells}</tr>'


def _phrases_html(line: Row) -> str:
    """What is right, marked as on the page of keyphrases, what is wrong and what was missed."""
    first = [one for one in line["predicted"]["present"] if one["rank"] <= CUT]
    later = [one for one in line["predicted"]["present"] if one["rank"] > CUT and one["correct"]]
    right = [f'<mark class="kp kp-1">{_phrase(one["text"])}</mark>' for one in first if one["correct"]]
    wrong = [_phrase(one["text"]) for one in first if not one["correct"]]
    missed = [_phrase(text) for text in line["missed"]["present"]]
    missed += [_("{phrase} (rank {rank})", phrase=_phrase(one["text"]), rank=one["rank"]) for one in later]
    named = {_("Right"): right, _("Wrong"): wrong, _("Missed"): missed}
    return "".join(_line_html(name, phrases) for name, phrases in named.items() if phrases)


def _phrase(text: str) -> str:
    return f"<bdi>{escape(text)}</bdi>"


def _line_html(name: str, parts: Sequence[str]) -> str:
    return f"<div><small>{name}</small> {' · '.join(parts)}</div>"


Advance = Callable[[int, int], None]
"""Called with how many are done, and of how many."""

MOST_DOCUMENTS = 2_000
TOO_LARGE = mark(
    "The page cannot keep what was right, wrong and missed in so many documents: use the command line "
    "(python -m kpdemo evaluate --details FILE)."
)
MEANINGS = {
    "F1@5": mark("F1 of the first five predicted keyphrases"),
    "F1@O": mark("F1 of as many predicted keyphrases as there are gold ones of that kind"),
    "F1@M": mark("F1 of all predicted keyphrases"),
    "R@50": mark("the share of the gold keyphrases that are among the first 50"),
}
"""Of the figures that a sentence under the tables explains."""


@dataclass(frozen=True, slots=True)
class MeasuredFile(Run):
    """With a sentence on the documents that the file leaves out, if any."""

    missing: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The files of predictions measured on one data set.

    `details` has the lines of `evaluate --details`, unless they are too many.
    """

    dataset: str
    files: Sequence[MeasuredFile]
    details: Path | None


def measure_uploads(
    gold: Path,
    predictions: Sequence[Path],
    details: Path,
    measuring: Advance,
    comparing: Advance,
    cuts: Sequence[Cut] = CUTS,
) -> Evaluation:
    """Measure each predictions file, and compare each further one with the first.

    Args:
        details: where the lines on each document go.
        measuring: called before each document.
        comparing: called before each further file.
        cuts: at how many predictions to measure.

    Raises:
        InputError: a file cannot be read or has a bad line, ids do not fit, or there are too many documents.
    """
    with _by_their_names([gold, *predictions]):
        documents = read_gold(gold)
        if len(documents) > MOST_DOCUMENTS:
            raise InputError(
                _(
                    "{file} has {documents}, and the page measures at most {most}: give fewer, or use the "
                    "command line (python -m kpdemo evaluate).",
                    file=gold,
                    documents=documents_text(len(documents)),
                    most=group_digits(MOST_DOCUMENTS),
                )
            )
        before_document = _counting(measuring, len(documents) * len(predictions))
        name = plain_name(gold)
        with details.open("wb") as stream:
            files = [
                _measured(name, documents, path, before_document, PageDetails(stream, path.name), cuts)
                for path in predictions
            ]
            kept = None if PageDetails(stream).is_full else details
        return Evaluation(name, compare_runs(files, _counting(comparing, len(files) - 1)), kept)


def _counting(advance: Advance, total: int) -> Callable[[], None]:
    done = iter(range(total))
    return lambda: advance(next(done), total)


def _measured(
    dataset: str,
    documents: Sequence[Document],
    path: Path,
    before_each: Callable[[], None],
    details: PageDetails,
    cuts: Sequence[Cut],
) -> MeasuredFile:
    missing: list[str] = []
    report = measure_file(
        {dataset: documents},
        path,
        on_missing=lambda _, ids: missing.extend(ids),
        before_each=before_each,
        details=details,
        cuts=cuts,
    )
    return MeasuredFile(path.name, report, missing_message(dataset, missing) if missing else "")


@contextmanager
def _by_their_names(files: Sequence[Path]) -> Iterator[None]:
    """Readers know their files by name, not where they lie here."""
    try:
        yield
    except InputError as error:
        message = str(error)
        for path in files:
            message = message.replace(str(path), path.name)
        raise InputError(message) from None


def evaluation_html(evaluation: Evaluation) -> str:
    """A table for each convention (the style sheet shows the chosen one), and what was missing."""
    name, report = evaluation.dataset, evaluation.files[0].report
    number = report.datasets[name].documents
    measured = _("Measured on {documents} of {file}.", documents=documents_text(number), file=escape(name))
    parts = [f'<p id="evaluate-summary">{measured}</p>']
    if ids := report.without_gold.get(name):
        parts.append(note_html(without_gold_message(name, ids, number), role="status"))
    parts += [_missing_html(file) for file in evaluation.files if file.missing]
    told = [not_in_text_message(file.file, file.report.datasets[name]) for file in evaluation.files]
    parts += [note_html(said, role="status") for said in told if said]
    parts += [_convention_html(evaluation, convention) for convention in CAPTIONS]
    shown = {name for _, names in groups_of(report.datasets[name]) for name in names}
    meanings = "; ".join(
        _("{figure} is {meaning}", figure=of, meaning=_(meaning))
        for of, meaning in MEANINGS.items()
        if of in shown
    )
    notes = [interval_note(report.datasets), f"{meanings}.", POOLED_NOTE]
    parts += [f'<p class="small">{escape(text)}</p>' for text in notes]
    parts.append(
        documents_html(evaluation.files, name, evaluation.details)
        if evaluation.details
        else note_html(_(TOO_LARGE), role="status")
    )
    return "".join(parts)


def _limits_text() -> str:
    return _(
        "At most {documents} documents and {files} predictions files; the command line has no limit. Uploads "
        "and figures are deleted after {minutes} minutes.",
        documents=group_digits(MOST_DOCUMENTS),
        files=MOST_FILES,
        minutes=KEPT_MINUTES,
    )


def _missing_html(file: MeasuredFile) -> str:
    return note_html(f"{file.file}: {file.missing}", role="status")


def _convention_html(evaluation: Evaluation, convention: Convention) -> str:
    files, name = evaluation.files, evaluation.dataset
    groups = groups_of(files[0].report.datasets[name])
    rows = [
        (label, [*figure_cells(figures, convention), [group_digits(figures.documents)]])
        for label, figures in rows_of_runs(files, name)
    ]
    caption = f"{name}, {WITHOUT_GOLD[convention]}"
    about = note_under(files[0].report.datasets[name], convention), caption_of_f1(convention)
    last = f'<th scope="col" class="number first">{_("Documents")}</th>'
    parts = [
        _table_html(caption, groups, rows, last),
        f'<p class="small">{_sentence_html(" ".join(filter(None, about)))}</p>',
    ]
    if len(files) > 1:
        parts += [
            _table_html(
                _("Differences from the first: {caption}", caption=caption),
                groups,
                differences_of_runs(files, name, convention),
            ),
            f'<p class="small">{escape(difference_note(files))}</p>',
        ]
    return f'<section class="by-{convention}">{"".join(parts)}</section>'


def _table_html(
    caption: str, groups: Groups, rows: Iterable[tuple[str, list[list[str]]]], last_head: str = ""
) -> str:
    heads = "".join(_head_html(group, name, names) for group, names in groups for name in names)
    firsts = set(accumulate((len(names) for _, names in groups), initial=0))
    return (
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table class="keyphrases"><caption>{escape(caption)}</caption>'
        f'<thead><tr><th scope="col">{_("Model or file")}</th>{heads}{last_head}</tr></thead>'
        f"<tbody>{''.join(_row_html(label, cells, firsts) for label, cells in rows)}</tbody></table></div>"
    )


def _head_html(group: str, name: str, names: Sequence[str]) -> str:
    """With its group in each column: on a phone not all of them are to be seen at once."""
    first = " first" if name == names[0] else ""
    return f'<th scope="col" class="number{first}" title="{escape(_meaning(name))}">{group}<br>{name}</th>'


def _meaning(name: str) -> str:
    return (
        _(MEANINGS[name])
        if name in MEANINGS
        else _("F1 of the predicted keyphrases up to rank {rank}", rank=name.removeprefix("F1@"))
    )


def _row_html(label: str, cells: Sequence[Sequence[str]], firsts: Collection[int]) -> str:
    """The lines of a cell under one another, the first of them the figure."""
    numbers = "".join(
        f'<td class="number{" first" * (place in firsts)}">{write_number(figure)}{_more_html(more)}</td>'
        for place, (figure, *more) in enumerate(cells)
    )
    name = escape(label).replace("_", "_<wbr>")  # names of files are long, and have no spaces
    return f'<tr><th scope="row" dir="auto">{name}</th>{numbers}</tr>'


def _more_html(lines: Sequence[str]) -> str:
    return "".join(f"<br><small>{escape(write_number(line))}</small>" for line in lines)


def _sentence_html(text: str) -> str:
    return re.sub(f"{escape('`')}(\\w+){escape('`')}", r"<code>\1</code>", escape(text))


EMPTY = mark("No figures yet. Choose a gold file and predictions files, then press Evaluate.")
HELP = mark(
    "A gold file is JSON Lines, CSV, TSV or XLSX, one document per line with its {keyphrases}, separated by "
    "semicolons in CSV and TSV. To predict these documents, use {download} on the tab Files, or {command}. "
    "Predictions of another system are lines of {line}, best first."
)


def help_html() -> str:
    """What the files hold."""
    told = _(
        HELP,
        keyphrases="<code>keyphrases</code>",
        download=f"<em>{_('Download predictions')}</em>",
        command="<code>python -m kpdemo predict --input GOLD --output FILE</code>",
        line='<code>{"id": …, "keyphrases": […]}</code>',
    )
    return f"<p>{told}</p>"


STOPPED = mark("Stopped before everything was measured: press Evaluate to start again.")
OUTPUT_NAME = "figures.jsonl"
DETAILS_NAME = "details.jsonl"
MADE_BY = "The page Evaluate of kpdemo"
AT = mark("Also F1 at")
MOST_FURTHER = 10
"""Cuts; each is a column for present and one for absent keyphrases."""
SHOWN_EVERY = 10
"""Documents, between two looks of the reader at the progress."""

CONVENTIONS: list[tuple[str, Convention]] = [
    (mark("left out: skip_empty"), "skip_empty"),
    (mark("count as zero: count_empty"), "count_empty"),
]
DOWNLOADS = {
    "download": mark("Download JSON"),
    "details": mark("Download each document"),
    **{f"latex-{convention}": mark("Download LaTeX") for _name, convention in CONVENTIONS},
}
"""Their buttons, as `evaluate-NAME`; the style sheet shows only those of the chosen convention."""


@dataclass(frozen=True)
class EvaluateHandlers:
    shelf: ModelShelf
    stops: Stops = field(default_factory=Stops)

    def evaluate_files(
        self,
        gold: str | None,
        predictions: list[str] | None,
        at: str | None = "",
        request: gr.Request | None = None,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - Gradio looks for it in the defaults
    ) -> Iterator[tuple[str | dict[str, Any], ...]]:
        """The figures of each predictions file, and the files of `DOWNLOADS`.

        `at` are further numbers of predictions to measure, as for `evaluate --at`.
        """
        with (
            shown_to_user(KpdemoError),
            self.stops.begun(page_of(request), _(STOPPED)) as stop,
            TemporaryDirectory(prefix="kpdemo-") as folder,
        ):
            cuts = _cuts_of(at)
            gold_file, *files = own_copies(_chosen(gold, predictions), Path(folder))
            with in_turn_of_files(self.shelf, stop, progress):
                evaluation = _until(stop, gold_file, files, Path(folder) / DETAILS_NAME, progress, cuts)
            written = [_written(Path(folder) / OUTPUT_NAME, figures_jsonl(evaluation)), evaluation.details]
            written += [
                _written(Path(folder) / f"figures-{convention}.tex", figures_latex(evaluation, convention))
                for _, convention in CONVENTIONS
            ]
            # Gradio copies the files when it takes these values, before the folder goes.
            yield evaluation_html(evaluation), *map(_offered, written)

    def check_evaluated(self, gold: str | None, predictions: list[str] | None) -> str | dict[str, Any]:
        """Which of the chosen files cannot be read; if all can, the page stays as it is."""
        try:
            _check_kinds(gold, predictions)
        except InputError as error:
            return refusal_html(str(error))
        unchanged: dict[str, Any] = gr.skip()
        return unchanged


def _written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def _offered(file: Path | None) -> dict[str, Any]:
    update: dict[str, Any] = gr.update(value=file and str(file), interactive=file is not None)
    return update


def figures_jsonl(evaluation: Evaluation) -> str:
    """A line for each predictions file: its name, and what `evaluate --json` prints of it."""
    rows = [run_to_json(one) for one in evaluation.files]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def figures_latex(evaluation: Evaluation, convention: Convention) -> str:
    """The tables of `evaluate --latex`."""
    return f"{runs_to_latex(evaluation.files, convention, made_by=MADE_BY)}\n"


def _chosen(gold: str | None, predictions: list[str] | None) -> list[Path]:
    """The gold file, then those of predictions."""
    if not gold:
        raise InputError(_("No gold file is chosen: choose the documents with their keyphrases."))
    if not predictions:
        raise InputError(_("No predictions file is chosen: choose one, or make it on the tab Files."))
    return _check_kinds(gold, predictions)


def _cuts_of(at: str | None) -> tuple[Cut, ...]:
    """Those that are always measured, and the ones that are asked for."""
    if not at or not at.strip():
        return CUTS
    try:
        cuts = with_further(read_cuts(at))
    except InputError as error:
        raise InputError(f"{_(AT)} {error}") from None
    if (further := len(cuts) - len(CUTS)) > MOST_FURTHER:
        raise InputError(
            _(
                "{field} {number} numbers: the page measures at most {most} besides 5 and M; give fewer, or "
                "use the command line (python -m kpdemo evaluate --at).",
                field=_(AT),
                number=further,
                most=MOST_FURTHER,
            )
        )
    return cuts


def _check_kinds(gold: str | None, predictions: list[str] | None) -> list[Path]:
    kinds = (*LINE_SUFFIXES, *TABLE_SUFFIXES)
    golds = checked_files([gold], suffixes=kinds, advice=mark("JSON Lines with keyphrases")) if gold else []
    advice = mark("the download of Files")
    return golds + (checked_files(predictions, suffixes=LINE_SUFFIXES, advice=advice) if predictions else [])


def _until(
    stop: Stop,
    gold: Path,
    files: list[Path],
    details: Path,
    progress: gr.Progress,
    cuts: tuple[Cut, ...],
) -> Evaluation:
    def measuring(done: int, total: int) -> None:
        stop.check()
        if done % SHOWN_EVERY == 0:
            progress((done, total), desc=_("Measuring"), unit=_("documents"))

    def comparing(done: int, total: int) -> None:
        stop.check()
        progress((done, total), desc=_("Comparing"), unit=_("files"))

    return measure_uploads(gold, files, details, measuring, comparing, cuts)


def build_evaluate_tab(handlers: EvaluateHandlers) -> None:
    """Upload gold and predictions, evaluate, compare the rows by one convention or the other, download."""
    section_heading(_("Measure predictions against gold keyphrases"), "evaluate-heading")
    gr.HTML(help_html(), elem_id="evaluate-help")
    with gr.Row(elem_classes="columns"):
        with gr.Column(scale=4, min_width=320):
            gold = gr.File(label=_("Gold file"), height=140, elem_id="evaluate-gold")
            predictions = gr.File(
                label=_("Predictions files"),
                file_count="multiple",
                height=140,
                elem_id="evaluate-predictions",
            )
            with gr.Accordion(_("More figures"), open=False, elem_id="evaluate-more"):
                at = gr.Textbox(
                    label=_(AT),
                    info=_("How many predicted keyphrases to measure besides 5 and all; O: as many as gold."),
                    placeholder=_("such as 10, 15, O"),
                    max_lines=1,
                    elem_id="evaluate-at",
                )
            run = gr.Button(_("Evaluate"), variant="primary", elem_id="evaluate-run")
            with gr.Row(elem_id="evaluate-downloads"):
                downloads = [
                    gr.DownloadButton(
                        _(label),
                        interactive=False,
                        size="md",
                        elem_id=f"evaluate-{name}",
                        elem_classes=name.replace("latex-", "by-"),
                    )
                    for name, label in DOWNLOADS.items()
                ]
            gr.HTML(
                f'<p class="small">{escape(_limits_text())}</p>',
                elem_id="evaluate-limits",
            )
        with gr.Column(scale=7, min_width=320):
            gr.Radio(
                [(_(name), convention) for name, convention in CONVENTIONS],
                value="skip_empty",
                label=_("Documents without present, or absent, gold keyphrases"),
                interactive=True,  # no event asks for it: the style sheet shows its table
                elem_id="evaluate-convention",
            )
            stop_button(handlers.stops, "evaluate")
            result = gr.HTML(empty_html(_(EMPTY)), elem_id="evaluate-result")
    asked = gr.on(
        [run.click, at.submit],
        handlers.evaluate_files,
        [gold, predictions, at],
        [result, *downloads],
        api_name="evaluate_files",
        **FILES_QUEUE,
        show_progress_on=result,
        trigger_mode="always_last",  # a click for other files counts while these are measured
    )
    keep_reason(asked, result, CHOOSE_AGAIN)
    forget = forget_script(EMPTY, downloads=len(downloads))
    for kind, upload in (("gold", gold), ("predictions", predictions)):
        # As on Files: by the browser itself, for the server might answer after the figures.
        name = f"forget_figures_of_{kind}"
        forgotten = upload.change(None, None, [result, *downloads], js=forget, api_name=name)
        forgotten.then(
            handlers.check_evaluated,
            [gold, predictions],
            result,
            api_name=f"check_{kind}",
            **QUIETLY,
        )
