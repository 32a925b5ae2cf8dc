"""A prediction as files to keep: JSON, and CSV for spreadsheets. No Gradio here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kpdemo.keyphrase_tables import (
    COLUMNS,
    keyphrase_cells,
    listed_cell,
    protected,
    score_cell,
    table_text,
)
from kpdemo.passages import passage_rows
from kpdemo.prediction_files import document_record, keyphrase_rows
from kpdemo.types import RetrievalPrediction

if TYPE_CHECKING:
    from kpdemo.ui.results import Answer


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
    """One keyphrase a row, see `keyphrase_cells`."""
    return table_text(COLUMNS, keyphrase_cells(keyphrase_rows(answer.prediction)))


def passages_csv(found: RetrievalPrediction) -> str:
    """One retrieved passage a row, the nearest first.

    `related` is "no" for one that may be on another subject, `helps` for one that is too far from the
    text for the model, `used` are those of its keyphrases that led to one
    of the result.
    """
    return table_text(
        ["passage", "title", "score", "related", "helps", "keyphrases", "used"],
        [
            [
                protected(row["id"]),
                protected(row["title"]),
                score_cell(row["score"]),
                "yes" if row["related"] else "no",
                "yes" if row["helps"] else "no",
                listed_cell(row["keyphrases"]),
                listed_cell(row["used"]),
            ]
            for row in passage_rows(found)
        ],
    )
