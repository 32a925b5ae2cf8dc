"""Figures of the command line: no zero has a minus, whichever command prints it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import annotation
from annotation.authoring import GradeGap
from annotation.cli.scoring import _interval
from annotation.cli.writing import _drift_cells
from annotation.scoring import Estimate
from annotation.wording import figure_text


@pytest.mark.parametrize(
    ("number", "decimals", "sign", "written"),
    [
        (0.8994, 3, "", "0.899"),
        (-0.12, 3, "", "-0.120"),
        (-0.0004, 3, "", "0.000"),
        (-0.004, 2, "+", "+0.00"),
        (None, 2, "+", "–"),
    ],
)
def test_a_figure_that_rounds_to_zero_has_no_minus(number, decimals, sign, written):
    assert figure_text(number, decimals, sign=sign) == written


def test_drifts_and_intervals_of_nearly_zero_have_no_minus():
    assert _drift_cells(GradeGap(3, 2.0, -0.001, 0.001)) == (3, "2.00", "+0.00", "0.00")
    assert _interval(Estimate(0.0, -0.0001, 0.1), sign="+") == "+0.000 to +0.100"


def test_no_command_rounds_a_figure_by_itself():
    [package] = annotation.__path__
    for file in Path(package, "commands").glob("*.py"):
        assert re.findall(r"\{[^{}]*:[^{}]*\.(?:\d|\{\w+\})f\}", file.read_text("utf-8")) == [], file.name
