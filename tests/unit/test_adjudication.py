"""Flagging, the order of comments, and the sentences of a conflict."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.adjudication import (
    CAUSES,
    Decision,
    ItemComment,
    check_decision,
    conflict_sentence,
    is_flagged,
    shuffle_comments,
    spread,
    version_of,
)
from annotation.errors import GradeError, NoteError
from annotation.types import Cause
from annotation.wording import beginning

QUARTER = Decimal("0.25")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
grades = st.lists(st.integers(0, 16).map(lambda quarters: quarters * QUARTER), max_size=6)


@given(grades, st.integers(1, 16).map(lambda quarters: quarters * QUARTER))
def test_a_pair_is_flagged_when_any_two_grades_are_the_threshold_apart(found, threshold):
    any_two = any(abs(one - two) >= threshold for one in found for two in found)
    assert is_flagged(found, threshold) is any_two


@pytest.mark.parametrize(
    ("found", "flagged"),
    [([], False), (["4"], False), (["0", "1"], True), (["0", "0.75"], False), (["2.25", "3", "1.25"], True)],
)
def test_a_point_or_more_is_inclusive(found, flagged):
    assert is_flagged([Decimal(grade) for grade in found], Decimal(1)) is flagged


def test_the_spread_of_no_grades_is_nought():
    assert spread([]) == 0


@given(st.lists(st.builds(ItemComment), max_size=6), st.integers(1, 10**6), st.randoms())
def test_the_order_of_comments_says_nothing_of_who_wrote_first(comments, pair_id, random):
    other_order = comments[:]
    random.shuffle(other_order)
    assert shuffle_comments(comments, pair_id) == shuffle_comments(other_order, pair_id)
    assert sorted(shuffle_comments(comments, pair_id)) == sorted(comments)


def test_the_same_two_comments_stand_in_either_order_on_different_pairs():
    far, close = ItemComment("too far"), ItemComment("close", is_problem=True)
    assert {shuffle_comments([far, close], pair_id) for pair_id in range(20)} == {(far, close), (close, far)}


def test_a_version_changes_with_a_grade_its_time_and_a_decision():
    ratings = [(1, 8, NOON), (2, 16, NOON)]
    versions = {
        version_of(None, ratings),
        version_of(7, ratings),
        version_of(None, [(1, 9, NOON), (2, 16, NOON)]),
        version_of(None, [(1, 8, NOON.replace(minute=1)), (2, 16, NOON)]),
        version_of(None, ratings[:1]),
    }
    assert len(versions) == 5
    assert version_of(None, ratings) == version_of(None, reversed(ratings))


def test_a_conflict_says_what_the_other_decided():
    other = Decision(Decimal("2.50"), Cause.SCALE, "both see it", "judith", NOON)
    sentence = conflict_sentence("0-a", "3-a", other)
    assert sentence == (
        "judith decided 2.5, scale, “both see it” in the meantime, and yours was not saved: "
        "save again to replace it."
    )


def test_a_conflict_says_that_a_decision_was_withdrawn_or_a_rating_changed():
    withdrawn = Decision(None, None, "", "judith", NOON)
    assert "judith withdrew" in conflict_sentence("3-a", "4-a", withdrawn)
    assert "A rating of this pair has changed" in conflict_sentence("4-a", "4-b", withdrawn)
    assert "A rating of this pair has changed" in conflict_sentence("0-a", "0-b", None)


def test_a_decision_is_a_grade_on_the_projects_scale():
    assert check_decision(Decimal("3.5"), "  seen \x00", Decimal("0.5")) == "seen \N{REPLACEMENT CHARACTER}"
    with pytest.raises(GradeError, match=r"0 to 4 in steps of 0\.5, not 3\.25"):
        check_decision(Decimal("3.25"), "", Decimal("0.5"))
    with pytest.raises(GradeError, match="not NaN"):
        check_decision(Decimal("NaN"), "", QUARTER)
    with pytest.raises(NoteError, match="4,001"):
        check_decision(Decimal(1), "x" * 4001, QUARTER)


def test_every_cause_has_a_name():
    assert set(CAUSES) == set(Cause)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a  b\nc", "a b c"),
        ("x" * 81, "x" * 80 + "…"),
        ("x" * 80, "x" * 80),
        ("", ""),
        ("שלום\tעולם", "שלום עולם"),
    ],
)
def test_a_beginning_is_one_short_line(text, shown):
    assert beginning(text) == shown
