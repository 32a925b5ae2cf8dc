"""Grades as a table, as Krippendorff writes them, and α of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from annotation.agreement import Grades, measure

Level = Literal["nominal", "ordinal", "interval"]


class Figure(NamedTuple):
    value: float | None
    reason: str


def grades_of_table(table: Sequence[Sequence[float | None]]) -> Grades:
    """The ratings of a table with a row for each rater and a column for each pair; None is missing."""
    found = [
        (pair, rater, float(value))
        for rater, row in enumerate(table)
        for pair, value in enumerate(row)
        if value is not None
    ]
    columns = np.array(found, dtype=np.float64).reshape(-1, 3)
    return Grades(columns[:, 0].astype(np.int64), columns[:, 1].astype(np.int64), columns[:, 2])


def krippendorff_alpha(grades: Grades, level: Level = "interval") -> Figure:
    """α without its interval, or the reason why it is undefined."""
    alpha = measure(grades, resamples=0, categories=True)
    value = {"nominal": alpha.nominal, "ordinal": alpha.ordinal, "interval": alpha.value}[level]
    return Figure(value, alpha.reason)
