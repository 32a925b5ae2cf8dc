"""The arithmetic of quality: what is accepted, who passes, when a check pair is due."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.errors import SettingsError
from annotation.quality import (
    QualitySettings,
    check_order,
    check_quality_settings,
    checks_due,
    has_accepted_grade,
    has_passed,
    is_accepted,
)


@given(st.text(max_size=8), st.integers(2, 60), st.integers(0, 500))
def test_one_pair_of_each_run_is_a_check_and_no_later_pair_takes_one_back(key, every, pairs):
    due = [checks_due(key, count, every) for count in range(pairs + 1)]
    assert due[0] == 0
    assert all(0 <= after - before <= 1 for before, after in pairwise(due))
    assert due[-1] in (pairs // (every - 1), pairs // (every - 1) + 1)
    full = pairs // (every - 1) * (every - 1)
    assert due[full] == full // (every - 1)


def test_the_places_of_checks_differ_from_run_to_run_and_from_rater_to_rater():
    places = {
        key: [
            count % 19
            for count in range(1, 19 * 30 + 1)
            if checks_due(key, count, 20) > checks_due(key, count - 1, 20)
        ]
        for key in ("ana", "ben")
    }
    assert len(set(places["ana"])) > 8
    assert places["ana"] != places["ben"]
    assert sorted(range(40), key=lambda pair: check_order("ana", pair)) != sorted(
        range(40), key=lambda pair: check_order("ben", pair)
    )


def test_no_checks_without_a_rate():
    assert checks_due("ana", 1000, 0) == 0


def test_the_edge_of_what_is_accepted_belongs_to_it():
    assert [is_accepted(quarters, 8, 2) for quarters in (5, 6, 8, 10, 11)] == [False, True, True, True, False]


@pytest.mark.parametrize("known", ["-1.25", "1.25", "-1", "1", "-0.75"])
@pytest.mark.parametrize("distance", ["0", "0.25", "0.5"])
def test_whether_a_grade_is_near_enough_is_the_same_below_zero(known, distance):
    grade, far = Decimal(known), Decimal(distance)
    near = any(abs(grade - step) <= far for step in range(-3, 4))
    assert has_accepted_grade(grade, Decimal(1), far) is near


def test_the_pass_mark_itself_is_enough():
    assert has_passed(4, 5, 80)
    assert not has_passed(3, 5, 80)
    assert has_passed(0, 5, 0)
    assert has_passed(2, 3, 66)
    assert not has_passed(2, 3, 67)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"training_distance": Decimal("0.3")}, "training grades is 0 to 4 in steps of 0.25, not 0.3"),
        ({"check_distance": Decimal(5)}, "check grades is 0 to 4 in steps of 0.25, not 5"),
        ({"pass_percent": 101}, "0 to 100 percent, not 101"),
        ({"check_every": 1}, "not one in 1"),
        ({"check_every": -3}, "not one in -3"),
    ],
)
def test_settings_that_cannot_be_used_are_explained(changed, said):
    with pytest.raises(SettingsError, match=said):
        check_quality_settings(QualitySettings(**changed))
