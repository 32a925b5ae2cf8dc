"""A language model beside the people who graded the same pairs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from annotation.files.scores import GoldPair
from annotation.reliability.system_rater import system_raters
from annotation.scale import Scale

GRADES = [("0", "0.5"), ("1", "1"), ("2", "3"), ("4", "3.5")]
PAIRS = [
    GoldPair("sentence2phrase", f"p{n}", "", "", 0, ratings=tuple(zip("ab", map(Decimal, each), strict=True)))
    for n, each in enumerate(GRADES)
]


def measured(*scores, pairs=PAIRS):
    [found] = system_raters(pairs, [("model", scores)], resamples=0, seed=1)
    return found


def test_a_system_that_grades_as_the_mean_of_the_people_fits_them_and_has_no_bias():
    found = measured(0.25, 1, 2.5, 3.75)
    assert (found.pairs, found.bias, found.distance) == (4, 0, 0)
    assert (found.pearson, found.spearman) == (pytest.approx(1), pytest.approx(1))
    assert found.people.value < found.together.value < 1


def test_a_system_that_grades_half_a_point_higher_is_told_by_its_bias_not_by_its_correlation():
    found = measured(0.75, 1.5, 3, 4)
    assert found.bias == pytest.approx(0.4375)
    assert found.pearson > 0.99
    assert found.together.value < measured(0.25, 1, 2.5, 3.75).together.value


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ((0, 1, 2, 100), "The scores go from 0 to 100: a rater's grades are 0 to 4."),
        ((0, 1, 2, None), "The system does not score these pairs."),
    ],
)
def test_what_is_no_grade_is_not_compared(scores, reason):
    found = measured(*scores)
    assert (found.reason, found.bias, found.together.value) == (reason, None, None)


def test_the_ends_of_a_known_scale_count_and_not_the_grades_that_people_happened_to_give():
    hundred = [
        replace(pair, ratings=tuple((who, 10 * grade) for who, grade in pair.ratings)) for pair in PAIRS
    ]

    def reason_of(scores, pairs, scale):
        [found] = system_raters(pairs, [("model", scores)], resamples=0, seed=1, scale=scale)
        return found.reason

    assert reason_of((5, 20, 30, 90), hundred, Scale(Decimal(1), 0, 100)) == ""
    wrong = "The scores go from 0 to 4: a rater's grades are 1 to 7."
    assert reason_of((0, 1, 2, 4), PAIRS, Scale(Decimal(1), 1, 7)) == wrong


def test_without_single_ratings_there_is_nobody_to_compare_with():
    assert system_raters([GoldPair("a2b", "p", "", "", 1)], [("model", [1])], resamples=0, seed=1) == []
