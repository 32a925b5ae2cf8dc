"""What anybody may send to the addresses for programs, in small; `make fuzz` goes on for minutes."""

from __future__ import annotations

from tests.fuzzing import fuzz


def test_whatever_is_sent_the_answer_is_one_of_ours(tmp_path):
    assert fuzz(tmp_path, examples=8) > 100
