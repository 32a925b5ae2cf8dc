"""Flagged pairs as a table that a group fills in with a spreadsheet: `grade`, `cause` and `note`.

Every cell is in quotes, so that texts keep their tabs and line breaks also between tabs, and is made safe
(spreadsheet.py). The column `version_seen` tells, when the table is read again, whether somebody rated or
decided since. The grades of raters are not called `ratings`, or an import would take them for new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from annotation.adjudication import AdjudicationItem, ItemComment, grade_text
from annotation.files.spreadsheet import BYTE_ORDER_MARK, VERSION_COLUMN, protected
from annotation.senses.view import ShownItem, shown_items

COLUMNS = (
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
    yield BYTE_ORDER_MARK + _line(COLUMNS, delimiter)
    for item in items:
        yield _line(_cells(item), delimiter)


def _cells(item: AdjudicationItem) -> Sequence[str]:
    left, right = map(_told, shown_items(item.type, item.left, item.right, item.senses))
    rated = "; ".join(map(grade_text, item.grades))
    comments = "\n".join(map(_comment, item.comments))
    decided = ("", "", "")
    if item.decision is not None and not item.is_open:
        grade, cause = item.decision.grade, item.decision.cause
        decided = ("" if grade is None else grade_text(grade), cause or "", item.decision.note)
    said = (rated, comments, _earlier(item))
    return item.external_id, item.type, left, right, *said, *decided, item.version


def _told(item: ShownItem) -> str:
    return ": ".join(filter(None, [item.text, item.definition]))


def _comment(comment: ItemComment) -> str:
    return ": ".join(filter(None, ["problem" * comment.is_problem, comment.text]))


def _earlier(item: AdjudicationItem) -> str:
    """An open pair's last decision with its cause and note, "2, scale: both hold"; empty where none is."""
    last = next((one for one in item.history if one.grade is not None), None)
    if last is None or last.grade is None or not item.is_open:
        return ""
    decided = ", ".join(filter(None, [grade_text(last.grade), last.cause]))
    return ": ".join(filter(None, [decided, last.note]))


def _line(cells: Iterable[str], delimiter: str) -> str:
    return delimiter.join('"' + protected(cell).replace('"', '""') + '"' for cell in cells) + "\n"
