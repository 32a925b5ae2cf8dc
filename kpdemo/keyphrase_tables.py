"""Keyphrases as CSV for spreadsheets, one a row: of one document, or of a file of predictions.

Texts that a spreadsheet would run as a formula begin with an apostrophe, as in the files that
`annotation` writes (its spreadsheet.py); numbers, and JSON, are as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kpdemo.errors import InputError
from kpdemo.reading.json_rows import line_name, read_rows
from kpdemo.scores import SCORE_DIGITS

COLUMNS = ("keyphrase", "score", "count", "first", "kind", "source", "evidence", "filler")
BYTE_ORDER_MARK = "\ufeff"
"""Without it Excel reads any file as one in a Western European encoding."""

_BETWEEN = "; "
_RISKY = re.compile(r"'*[=+\-@\t\r\n]")


def protected(cell: str) -> str:
    """`cell` as a spreadsheet shows it without running it."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def keyphrase_cells(row: Mapping[str, Any]) -> Iterator[list[object]]:
    """The cells under `COLUMNS` of each keyphrase of a row of `keyphrase_rows`, the present ones first.

    `first` is the offset of the first character of the first occurrence; `kind` is "present", or of an absent
    one "reordered", "mixed", "unseen" or, where the model does not tell, "absent"; `filler` is "yes" or "no".
    """
    for side in ("present", "absent"):
        for item in row[side]:
            spans = item.get("spans", [])
            yield [
                protected(item["text"]),
                score_cell(item["score"]),
                len(spans),
                spans[0][0] if spans else "",
                item.get("kind", "absent") if side == "absent" else side,
                item.get("source", ""),
                listed_cell(item.get("evidence", [])),
                "yes" if item.get("filler") else "no",
            ]


def write_predictions_table(predictions: Path, output: Path, *, places: Sequence[str] = ("id",)) -> None:
    """A file of predictions as a table; a document without keyphrases has no row in it.

    Args:
        places: the fields of a prediction that come before `COLUMNS`.

    Raises:
        InputError: a line is not as `kpdemo.batch` writes it.
    """
    with output.open("w", encoding="utf-8", newline="") as stream:
        stream.write(BYTE_ORDER_MARK)
        writer = csv.writer(stream)
        writer.writerow([*places, *COLUMNS])
        for line, row in read_rows(predictions):
            try:
                place = [protected(row[name]) for name in places]
                writer.writerows([*place, *cells] for cells in keyphrase_cells(row))
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                raise InputError(
                    f"{line_name(str(predictions), line)}: not as `predict --output` writes it; delete the "
                    "line and predict its document again."
                ) from None


def listed_cell(texts: Iterable[str]) -> str:
    return protected(_BETWEEN.join(texts))


def score_cell(score: float) -> str:
    return f"{score:.{SCORE_DIGITS}f}"


def table_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows([names, *rows])
    return BYTE_ORDER_MARK + stream.getvalue()
