"""Starter guidelines: one for each known type, and those that somebody changed are left alone."""

from __future__ import annotations

import pytest

from annotation.comparison import COMPARISON_TYPES
from annotation.guidelines import is_starter, starter_guidelines
from annotation.projects import LONGEST_MARKDOWN


@pytest.mark.parametrize("type", COMPARISON_TYPES)
def test_each_known_type_has_a_starter_of_its_own(type):
    text = starter_guidelines([type])
    assert text.startswith("# How to grade")
    assert text.count("\n## ") == 1
    assert is_starter(text)
    assert not is_starter(text.replace("smaller", "shorter", 1))


def test_starters_of_several_types_go_together_in_their_order_and_none_is_of_none():
    text = starter_guidelines(["word2sense", "sentence2phrase", "sms2emoji"])
    assert text.index("Sentence to phrase") < text.index("Word to sense")
    assert starter_guidelines([]) == starter_guidelines(["sms2emoji"]) == ""
    assert is_starter("")
    assert not is_starter("Grade what you like.")
    assert len(starter_guidelines(COMPARISON_TYPES)) < LONGEST_MARKDOWN
