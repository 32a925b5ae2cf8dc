"""Two administrators save settings at once."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from annotation.changes import detail_words, merge_settings, print_settings
from annotation.errors import SettingsError
from annotation.quality import WRONG_CHECKS
from annotation.types import ProjectSettings
from kpdemo.translation import use_language

BEFORE = ProjectSettings("harbour", guidelines="Be kind. 🦜")
SEEN = print_settings(BEFORE)


def test_each_keeps_what_he_changed():
    mine = replace(BEFORE, threshold=Decimal(2))
    theirs = replace(BEFORE, guidelines="Be fair.", lease_minutes=5)
    both = merge_settings(mine, theirs, SEEN)
    assert both == replace(mine, guidelines="Be fair.", lease_minutes=5)


def test_the_same_change_twice_is_one():
    mine = theirs = replace(BEFORE, lease_minutes=5, most_per_rater=9)
    assert merge_settings(mine, theirs, SEEN) == mine


def test_the_same_setting_changed_by_both_is_refused_by_its_name():
    mine, theirs = replace(BEFORE, raters_per_pair=3), replace(BEFORE, raters_per_pair=4)
    with pytest.raises(SettingsError, match="has changed the number of raters per pair in the meantime, so"):
        merge_settings(mine, theirs, SEEN)


def test_a_limit_that_somebody_else_set_stays_and_two_limits_are_refused_by_name():
    mine, theirs = replace(BEFORE, threshold=Decimal(2)), replace(BEFORE, most_per_rater=9)
    assert merge_settings(mine, theirs, SEEN) == replace(mine, most_per_rater=9)
    with pytest.raises(SettingsError, match="changed the limit of pairs per rater in the meantime"):
        merge_settings(replace(BEFORE, most_per_rater=8), theirs, SEEN)


def test_what_i_take_back_to_what_stood_there_is_no_change_of_mine():
    theirs = replace(BEFORE, may_revise=False)
    assert merge_settings(BEFORE, theirs, SEEN) == theirs


@pytest.mark.parametrize("seen", ["", "{", "[]", "null"])
def test_a_form_that_lost_its_memory_saves_nothing(seen):
    with pytest.raises(SettingsError, match="open the page again"):
        merge_settings(BEFORE, BEFORE, seen)


def test_an_event_of_one_number_before_and_after_is_no_change_of_settings():
    words = detail_words({"pair": "t1", "before": "4", "after": "3.25"})
    assert words == "pair: t1; before: 4; after: 3.25"


@pytest.mark.parametrize(
    ("is_one", "said"), [(True, "name: ana; administrator of the server"), (False, "name: ana")]
)
def test_an_event_says_of_a_new_account_whether_it_is_an_administrator_only_if_it_is(is_one, said):
    assert detail_words({"name": "ana", "is_administrator": is_one}) == said


def test_why_a_rater_was_blocked_is_said_in_the_reader_s_language():
    blocked = {"member": "ana", "reason": WRONG_CHECKS.format(wrong=3, checks=5)}
    with use_language("de"):
        assert detail_words(blocked).endswith("3 der letzten 5 Kontrollbewertungen waren falsch")
