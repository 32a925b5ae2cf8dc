"""A prediction as files to keep: JSON, and CSV for spreadsheets. No Gradio here.

Texts in CSV that a spreadsheet would run as a formula begin with an apostrophe, as in the files that
`annotation` writes (its spreadsheet.py); numbers, and JSON, are as they are.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kpdemo.passages import passage_rows
from kpdemo.prediction_files import document_record
from kpdemo.scores import SCORE_DIGITS
from kpdemo.types import Keyphrase, RetrievalPrediction

if TYPE_CHECKING:
    from kpdemo.ui.results import Answer

BYTE_ORDER_MARK = "\ufeff"
"""Without it Excel reads any file as one in a Western European encoding."""

_BETWEEN = "; "
_RISKY = re.compile(r"'*[=+\-@\t\r\n]")


def protected(cell: str) -> str:
    """`cell` as a spreadsheet shows it without running it."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def as_record(answer: Answer) -> dict[str, Any]:
    """The prediction as `python -m kpdemo predict --json` prints it."""
    return document_record(
        answer.question.read,
        answer.prediction,
        model=answer.model,
        device=answer.device,
        seconds=answer.seconds,
        retrieval=answer.retrieval,
    )


def as_json(answer: Answer) -> str:
    return json.dumps(as_record(answer), ensure_ascii=False, indent=2)


def keyphrases_csv(answer: Answer) -> str:
    """One keyphrase a row, the present ones first.

    `first` is the offset of the first character of the first occurrence; `kind` is "present", or of an absent
    one "reordered", "mixed", "unseen" or, where the model does not tell, "absent"; `filler` is "yes" or "no".
    """
    prediction = answer.prediction
    return _table(
        ["keyphrase", "score", "count", "first", "kind", "source", "evidence", "filler"],
        [
            *(_keyphrase_row(item, "present") for item in prediction.present),
            *(_keyphrase_row(item, item.kind or "absent") for item in prediction.absent),
        ],
    )


def passages_csv(found: RetrievalPrediction) -> str:
    """One retrieved passage a row, the nearest first.

    `related` is "no" for one that may be on another subject, `helps` for one that is too far from the
    text for the model, `used` are those of its keyphrases that led to one
    of the result.
    """
    return _table(
        ["passage", "title", "score", "related", "helps", "keyphrases", "used"],
        [
            [
                protected(row["id"]),
                protected(row["title"]),
                _score(row["score"]),
                "yes" if row["related"] else "no",
                "yes" if row["helps"] else "no",
                _listed(row["keyphrases"]),
                _listed(row["used"]),
            ]
            for row in passage_rows(found)
        ],
    )


def _keyphrase_row(keyphrase: Keyphrase, kind: str) -> list[object]:
    first = keyphrase.spans[0][0] if keyphrase.spans else ""
    filler = "yes" if keyphrase.filler else "no"
    told = [kind, keyphrase.source or "", _listed(keyphrase.evidence), filler]
    return [protected(keyphrase.text), _score(keyphrase.score), len(keyphrase.spans), first, *told]


def _listed(texts: Iterable[str]) -> str:
    return protected(_BETWEEN.join(texts))


def _score(score: float) -> str:
    return f"{score:.{SCORE_DIGITS}f}"


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows([names, *rows])
    return BYTE_ORDER_MARK + stream.getvalue()
