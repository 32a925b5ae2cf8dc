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


def test_no_line_of_a_starter_ends_before_its_paragraph_and_one_in_short_lines_is_still_a_starter():
    text = starter_guidelines(["sentence2phrase"])
    assert not any(line.startswith(" ") for line in text.splitlines())
    assert "**how much of the larger text's meaning does the smaller one carry?**\n\n- Grade" in text
    assert is_starter(
        text.replace("meaning does the", "meaning does\nthe").replace("share most", "share\n  most")
    )
    assert not is_starter(text.replace("\n- If you", "\n- Be kind.\n- If you"))


def test_starters_of_several_types_go_together_in_their_order_and_none_is_of_none():
    text = starter_guidelines(["word2sense", "sentence2phrase", "sms2emoji"])
    assert text.index("Sentence to phrase") < text.index("Word to sense")
    assert starter_guidelines([]) == starter_guidelines(["sms2emoji"]) == ""
    assert is_starter("")
    assert not is_starter("Grade what you like.")
    assert len(starter_guidelines(COMPARISON_TYPES)) < LONGEST_MARKDOWN
