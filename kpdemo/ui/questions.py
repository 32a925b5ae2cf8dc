"""From the fields of the page to a question, with every value checked."""

from __future__ import annotations

from kpdemo.errors import InputError
from kpdemo.text import check_readable
from kpdemo.types import Document
from kpdemo.ui.results import Question

LARGEST_COUNT = 20


def read_question(
    title: str | None,
    document: str | None,
    model: str,
    automatic: bool,
    count: float | None,
    threshold: str | None,
) -> Question:
    """What the fields ask for.

    With `automatic` the model's own rule decides how many, above `threshold` when there is one;
    otherwise exactly `count` are asked for and the threshold does not matter.

    Raises:
        InputError: a value is outside its range, or the text cannot be read.
    """
    read = Document(body=(document or "").replace("\r\n", "\n"), title=(title or "").strip())
    check_readable(read)
    if automatic:
        return Question(read, model, threshold=_read_threshold(threshold or ""))
    if count is None or count != int(count) or not 1 <= count <= LARGEST_COUNT:
        raise InputError(
            f"The number of keyphrases is {count}: give a whole number from 1 to {LARGEST_COUNT}."
        )
    return Question(read, model, top_k=int(count))


def _read_threshold(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        threshold = float(text.strip().replace(",", "."))
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold <= 1:
        raise InputError(f"The threshold is “{text.strip()}”: give a number from 0 to 1, or leave it empty.")
    return threshold
