"""Scales: which can be chosen, that grades survive as whole numbers of steps, and the usual settings."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotation.errors import GradeError, SettingsError
from annotation.projects import check_settings, default_threshold
from annotation.quality import QualitySettings, usual_quality
from annotation.scale import (
    CLSS,
    MOST_POINTS,
    MOST_STEPS,
    PRESETS,
    Scale,
    check_scale,
    check_scale_words,
    item_words,
    parse_scale,
    scale_points,
)
from annotation.types import ProjectSettings

TYPES = ("word2word", "sentence2sentence")


@st.composite
def scales(draw: st.DrawFn) -> Scale:
    step = Decimal(draw(st.sampled_from(["0.05", "0.1", "0.125", "0.2", "0.25", "0.5", "1", "2", "5", "10"])))
    lowest, highest = draw(st.integers(-1000, 999)), draw(st.integers(-999, 1000))
    try:
        return check_scale(Scale(step, lowest, highest))
    except SettingsError:
        unit = int(step) or 1
        lowest = lowest // unit * unit
        return check_scale(Scale(step, lowest, min(1000, lowest + unit * draw(st.integers(1, 20)))))


@given(scales(), st.sampled_from(TYPES))
def test_every_point_that_raters_see_is_a_grade_of_the_scale(scale, type):
    assert [point.value for point in scale_points("", type, scale)] == list(scale.points)


@pytest.mark.parametrize("name", ["0-4/2", "0-4/4", "0-4/0.8"])
def test_a_scale_of_wide_steps_has_no_points_between_them(name):
    scale, _step = parse_scale(name)
    for type in TYPES:
        assert [point.value for point in scale_points("", type, scale)] == list(scale.points)


@given(scales(), st.data())
def test_every_grade_survives_the_database_and_a_point_beyond_the_ends_is_refused(scale, data):
    low, high = scale.to_steps(Decimal(scale.lowest)), scale.to_steps(Decimal(scale.highest))
    assert 1 <= high - low <= MOST_STEPS
    steps = data.draw(st.integers(low, high))
    grade = scale.from_steps(steps)
    assert scale.allows(grade)
    assert scale.to_steps(grade) == steps
    assert "E" not in str(grade)
    for beside in (low - 1, high + 1):
        assert not scale.allows(scale.from_steps(beside))
    assert not scale.allows(grade + scale.step / 3)
    assert (scale.points[0], scale.points[-1]) == (scale.lowest, scale.highest)
    assert len(scale.points) <= MOST_POINTS
    assert all(scale.allows(Decimal(point)) for point in scale.points)
    if scale.lowest >= 0:
        assert parse_scale(scale.name)[0] == scale


@given(scales(), st.integers(1, 20))
def test_the_defaults_of_a_scale_are_settings_that_it_takes(scale, raters):
    assume(scale.range >= 1)
    for step in scale.steps:
        settings = ProjectSettings(
            "News", scale=scale, step=step, threshold=default_threshold(raters, scale), types=TYPES
        )
        assert check_settings(settings).scale == scale


def test_the_usual_scale_is_as_it_was():
    assert parse_scale("clss") == (CLSS, Decimal("0.25"))
    assert CLSS.text == "0 to 4 in steps of 0.25"
    assert [str(CLSS.from_steps(steps)) for steps in (0, 1, 2, 11, 16)] == ["0", "0.25", "0.5", "2.75", "4"]
    assert usual_quality(CLSS) == QualitySettings()
    with pytest.raises(GradeError, match=r"A grade is 0 to 4 in steps of 0\.25, not 4\.25\."):
        CLSS.check(Decimal("4.25"))


def test_means_of_four_and_of_five_raters_are_on_the_scale_of_sts():
    sts, step = PRESETS["sts"]
    assert step == 1
    assert all(
        sts.allows(Decimal(total) / raters) for raters in (1, 2, 4, 5) for total in range(5 * raters + 1)
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no scale"),
        ("great", "is no scale"),
        ("1-5/", "is no scale"),
        ("5-1/1", "the lowest grade first"),
        ("0-2000/5", "whole numbers from -1000 to 1000"),
        ("0-10/0.3", "do not meet 0 and 10"),
        ("1-10/3", "do not meet 1 and 10"),
        ("0-5/0", "do not meet"),
        ("0-5/0.01", "501 grades"),
        ("0-1/1e-9", "is no scale"),
    ],
)
def test_a_scale_that_cannot_be_used_is_refused_in_one_sentence(text, says):
    with pytest.raises(SettingsError, match=says):
        parse_scale(text)


def test_own_words_are_for_the_points_of_the_scale_its_ends_at_least():
    scale = PRESETS["0-10"][0]
    words = "Question: How related are they?\nLarger: First word\n0 Unrelated: a\n10 Identical: b"
    text = f"{words}\n[sentence2sentence]\nSmaller: Satz"
    assert check_scale_words(text, TYPES, scale) == text.replace("\n[", "\n\n[")
    names = [point.name for point in scale_points(text, "word2word", scale)]
    assert names == ["Unrelated", *[""] * 9, "Identical"]
    own = item_words(text, "sentence2sentence", scale)
    assert (own.question, own.larger, own.smaller) == ("How related are they?", "First word", "Satz")
    for wrong, says in (
        ("0 Unrelated: a", "lack those of 10"),
        ("11 Beyond: a", "is not a grade from 0 to 10"),
        ("Question: ", "the question is empty"),
        ("Question: a\nquestion: b", "has a line already"),
        (f"Larger: {'x' * 41}", "has 41 characters; give at most 40"),
    ):
        with pytest.raises(SettingsError, match=says):
            check_scale_words(wrong, TYPES, scale)
