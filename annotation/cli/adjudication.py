"""`python -m annotation adjudications` and `adjudicate`: pairs whose raters disagree, and decisions.

Flagged pairs as a table that a group fills in with a spreadsheet: `grade`, `cause` and `note`.
Every cell is in quotes, so that texts keep their tabs and line breaks also between tabs, and is made safe for
spreadsheets. The column `version_seen` tells, when the table is read again, whether somebody rated or decided
since. The grades of raters are not called `ratings`, or an import would take them for new ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from annotation.adjudication import (
    NO_ADJUDICATION,
    AdjudicationItem,
    QueueEntry,
    QueuePage,
    Which,
    entry_json,
    grade_text,
)
from annotation.cli.options import (
    DatabaseOption,
    JsonOption,
    Output,
    ProjectArgument,
    open_project,
    write_all,
)
from annotation.cli.pairs import file_sizes, open_input
from annotation.exchange import VERSION_COLUMN, read_decisions
from annotation.projects import check_type_of
from annotation.senses import item_views
from annotation.services.adjudication import AdjudicationService, DecisionTableService
from annotation.wording import beginning
from db import DEFAULT_URL, Database
from kpdemo.command import CallError
from kpdemo.io.tables import BYTE_ORDER_MARK, escape_formula
from kpdemo.terminal import show_json, show_line, show_table
from kpdemo.text import number_of

DECISION_COLUMNS = (
    *("id", "type", "left", "right"),
    *("rated", "comments", "earlier_decision", "grade", "cause", "note", VERSION_COLUMN),
)
DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""By the ending of a file's name."""


def delimiter_of(path: Path) -> str | None:
    """What stands between the cells, by the ending of the file's name; None for another ending."""
    return DELIMITERS.get(path.suffix.lower())


def decision_lines(items: Iterable[AdjudicationItem], delimiter: str) -> Iterator[str]:
    """The lines of a table, with their ends: a row for each pair.

    A decision stands in its row unless the pair is open again: what stands there is decided when the table
    is read. An open pair's last decision, overtaken by a grade or withdrawn, is `earlier_decision`.
    """
    yield BYTE_ORDER_MARK + _line(DECISION_COLUMNS, delimiter)
    for item in items:
        yield _line(_decision_cells(item), delimiter)


def _decision_cells(item: AdjudicationItem) -> Sequence[str]:
    left, right = (
        ": ".join(filter(None, [view.text, view.definition]))
        for view in item_views(item.type, item.left, item.right, item.senses)
    )
    rated = "; ".join(map(grade_text, item.grades))
    comments = "\n".join(
        ": ".join(filter(None, ["problem" * comment.is_problem, comment.text])) for comment in item.comments
    )
    decided = ("", "", "")
    if item.decision is not None and not item.is_open:
        grade, cause = item.decision.grade, item.decision.cause
        decided = ("" if grade is None else grade_text(grade), cause or "", item.decision.note)
    said = (rated, comments, _describe_earlier(item))
    return item.external_id, item.type, left, right, *said, *decided, item.version


def _describe_earlier(item: AdjudicationItem) -> str:
    """An open pair's last decision with its cause and note, "2, scale: both hold"; empty where none is."""
    last = next((one for one in item.history if one.grade is not None), None)
    if last is None or last.grade is None or not item.is_open:
        return ""
    decided = ", ".join(filter(None, [grade_text(last.grade), last.cause]))
    return ": ".join(filter(None, [decided, last.note]))


def _line(cells: Iterable[str], delimiter: str) -> str:
    return delimiter.join('"' + escape_formula(cell).replace('"', '""') + '"' for cell in cells) + "\n"


_SHOWN = 32
"""Characters of a text in the table."""
_HEADERS = ("Spread", "Ratings", "Type", "Id", "State", "Decision", "Begins")
_QUEUE_EXAMPLES = """
Examples:

\b
  python -m annotation adjudications news --which all --json
  python -m annotation adjudications news --output flagged.csv
"""


def register_adjudications(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("adjudications", epilog=_QUEUE_EXAMPLES)(adjudications)


def adjudications(
    project: ProjectArgument,
    which: Annotated[
        Which, typer.Option(help="Pairs that wait for a decision, have one, or both.")
    ] = Which.OPEN,
    type: Annotated[str | None, typer.Option(help="Only this comparison type.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a table to fill in, which `adjudicate` reads: a file that ends in .csv or .tsv.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE, including what was filled in there.")
    ] = False,
    viewer: Annotated[
        str | None,
        typer.Option("--as", metavar="USER", help="Leave out pairs that this adjudicator may still grade."),
    ] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List the pairs whose ratings are too far apart, largest spread first."""
    delimiter = None if output is None else _delimiter(output, as_json=as_json)
    database, of = open_project(database_url, project)
    if type is not None:
        check_type_of(of.name, of.settings.types, type)
    tables = DecisionTableService(database)
    viewer_id = None if viewer is None else tables.adjudicator(of.id, viewer)
    if output is not None and delimiter is not None:
        items = tables.items(of.id, which, type, viewer=viewer_id)
        written = f"{output}: {number_of(_write(output, delimiter, items, database, force=force), 'pair')}."
        page = AdjudicationService(database).queue(of.id, limit=0, viewer=viewer_id)
        show_line(f"{written}{_held_back(page, viewer)}")
        return
    page = AdjudicationService(database).queue(of.id, which, type, limit=None, viewer=viewer_id)
    entries, counts = page.entries, page.counts
    if as_json:
        pairs = [entry_json(entry) for entry in entries]
        left_out = {} if viewer is None else {"held_back": page.held_back}
        show_json({"project": of.name, "which": which.value, "counts": counts, **left_out, "pairs": pairs})
        return
    if entries:
        rows = [_queue_cells(entry) for entry in entries]
        show_table(_HEADERS, rows, right=("Spread", "Ratings", "Decision"))
    told = f"{counts[Which.OPEN]:,} open, {counts[Which.DECIDED]:,} decided."
    show_line(f"{told}{_held_back(page, viewer)}")
    if of.settings.threshold is None:
        show_line(NO_ADJUDICATION)


def _delimiter(output: Path, *, as_json: bool) -> str:
    if as_json:
        raise CallError("A table is not JSON: give either --output or --json.")
    delimiter = delimiter_of(output)
    if delimiter is None:
        endings = " or ".join(DELIMITERS)
        raise CallError(f"{output}: the format is chosen by the name of the file; end it in {endings}.")
    return delimiter


def _write(
    output: Path, delimiter: str, items: Iterable[AdjudicationItem], database: Database, *, force: bool
) -> int:
    """How many pairs the table has."""
    count = 0

    def count_items() -> Iterator[AdjudicationItem]:
        nonlocal count
        for item in items:
            count += 1
            yield item

    write_all([Output(output, decision_lines(count_items(), delimiter))], database, replaces=force)
    return count


def _held_back(page: QueuePage, viewer: str | None) -> str:
    """A sentence after others; nothing where none is."""
    if not page.held_back:
        return ""
    return f" {number_of(page.held_back, 'pair')} held back, which {viewer} may still grade."


def _queue_cells(entry: QueueEntry) -> tuple[object, ...]:
    decided = "" if entry.decided is None else grade_text(entry.decided)
    return (
        grade_text(entry.spread),
        entry.ratings,
        entry.type,
        entry.external_id,
        state_of(entry),
        decided,
        beginning(entry.left, _SHOWN),
    )


def state_of(entry: QueueEntry) -> str:
    """Open, reopened or decided."""
    if not entry.is_open:
        return "decided"
    return "open" if entry.decided is None else "reopened"


_DECIDE_EXAMPLES = """
Examples:

\b
  python -m annotation adjudications news --output flagged.csv
  python -m annotation adjudicate news flagged.csv --as Judith

\b
A table has the fields id, grade and cause and, if wished, note, type and version_seen. Rows without grade,
cause and note are skipped. All decisions are saved, or none.
"""


def register_adjudicate(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("adjudicate", epilog=_DECIDE_EXAMPLES)(adjudicate)


def adjudicate(
    project: ProjectArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="TSV, CSV, XLSX, JSON Lines or .gz; - is standard input.")
    ],
    by: Annotated[
        str, typer.Option("--as", metavar="USER", help="The adjudicator or administrator who decides.")
    ],
    replaces: Annotated[
        bool,
        typer.Option("--replace", help="Replace different decisions made since the table was written."),
    ] = False,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Decide on flagged pairs from a table that `adjudications --output` wrote: all of them or none."""
    file_sizes([file])
    database, of = open_project(database_url, project)
    with open_input(file, sys.stdin.buffer) as source:
        decisions = list(read_decisions(source, scale=of.settings.scale))
    done = DecisionTableService(database).decide_all(of.id, decisions, by, replaces=replaces)
    if as_json:
        show_json({"project": of.name, **asdict(done)})
        return
    show_line(
        f"{number_of(done.decided, 'pair')} of {of.name} decided, {done.unchanged:,} as before, "
        f"{number_of(done.empty, 'row')} without a grade."
    )
