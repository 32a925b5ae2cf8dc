"""The figures of the paper, as data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PUBLISHED = Path(__file__).parents[1] / "assets" / "published" / "simckp.toml"

_FILES = {"SemEval": r"semeval([-_ ]?2010)?(?![-_ ]?[0-9]|[a-z])"}
"""How the names of a data set's files begin, where others begin alike: SemEval had tasks in other years."""

Pair = tuple[float, float]
"""F1@5 and F1@M."""


@dataclass(frozen=True, slots=True)
class Row:
    """Attributes:
    figures: by dataset, or by domain.
    variant: ours that corresponds to it, if any.
    """

    system: str
    figures: Mapping[str, Pair]
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """Tables 2 to 6 of Choi et al. 2023; see the file for each."""

    datasets: Mapping[str, int]
    present: tuple[Row, ...]
    absent: tuple[Row, ...]
    ablation: tuple[Row, ...]
    ablation_absent: tuple[Row, ...]
    negatives: tuple[Row, ...]
    recall: Mapping[str, float]

    def dataset(self, name: str) -> str | None:
        """The paper's name of the dataset that a file is of, going by the beginning of the file's name."""
        patterns = {known: _FILES.get(known, rf"{known}(?![a-z])") for known in self.datasets}
        return next((known for known in patterns if re.match(patterns[known], name, re.IGNORECASE)), None)


@cache
def published() -> Published:
    values = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))
    tables = ("present", "absent", "ablation", "ablation_absent", "negatives")
    return Published(
        datasets=values["datasets"],
        recall=values["recall"],
        **{table: tuple(_row(row) for row in values[table]) for table in tables},
    )


def _row(values: Mapping[str, object]) -> Row:
    figures = {name: (at_5, at_m) for name, (at_5, at_m) in dict(values["figures"]).items()}  # type: ignore[call-overload]
    variant = values.get("variant")
    return Row(str(values["system"]), figures, None if variant is None else str(variant))
