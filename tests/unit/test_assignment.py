"""The order of rating, and the texts that raters write."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.assignment import position_of
from annotation.errors import NoteError
from annotation.wording import normalise_note


def test_a_position_is_the_first_63_bits_of_a_hash_that_anybody_can_make():
    digest = sha256(b"20140301:sentence2phrase:news-17").hexdigest()
    assert position_of(20140301, "sentence2phrase", "news-17") == int(digest, 16) >> (256 - 63)


def test_a_position_stays_the_same_for_ever():
    assert position_of(20140301, "sentence2phrase", "news-17") == 8054926163745111981
    assert position_of(0, "短語2word", "🦜") == 2013264174943293346


@given(st.integers(), st.text(), st.text())
def test_any_pair_has_a_position_that_a_database_can_hold(seed, type, external_id):
    assert 0 <= position_of(seed, type, external_id) < 2**63


def test_another_seed_is_another_order():
    ids = [str(number) for number in range(50)]
    orders = {tuple(sorted(ids, key=lambda id: position_of(seed, "t", id))) for seed in range(20)}
    assert len(orders) == 20


def test_every_place_is_as_likely_as_any_other():
    first = [min(range(10), key=lambda pair: position_of(seed, "t", str(pair))) for seed in range(2_000)]
    counts = [first.count(pair) for pair in range(10)]
    chi_squared = sum((count - 200) ** 2 / 200 for count in counts)
    assert chi_squared < 27.9  # 0.1 % of fair orders are beyond, nine degrees of freedom


def test_a_text_is_kept_but_for_what_no_database_takes():
    assert normalise_note("  שלום <b>\n\tfine 🦜 ", "comment", 100) == "שלום <b>\n\tfine 🦜"
    assert (
        normalise_note("a\0b\ud83d", "comment", 100) == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"
    )


def test_a_long_text_is_refused_with_its_length():
    assert len(normalise_note("x" * 4_000 + " ", "comment", 4_000)) == 4_000
    with pytest.raises(NoteError, match=r"The comment has 4,001 characters: give at most 4,000\."):
        normalise_note("x" * 4_001, "comment", 4_000)
