"""Numbers as pages and messages write them."""

from __future__ import annotations

import pytest

from annotation.ui.wording import figure


@pytest.mark.parametrize(
    ("number", "sign", "written"),
    [
        (0.8994, "", "0.899"),
        (-0.12, "", "−0.120"),
        (-0.0004, "", "0.000"),
        (-0.0, "+", "+0.000"),
        (0.5, "+", "+0.500"),
    ],
)
def test_a_figure_has_a_long_minus_and_no_negative_zero(number, sign, written):
    assert figure(number, sign=sign) == written
