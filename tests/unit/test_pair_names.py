"""Names of pairs: one for each id, found again, and of no use without the key."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from annotation.web.routes import PairNames
from annotation.wording import LARGEST_WHOLE

NAMES = PairNames(lambda: b"k" * 32)


@given(st.integers(0, LARGEST_WHOLE))
def test_a_name_leads_back_to_its_pair(pair_id):
    assert NAMES.find(NAMES.name_of(pair_id)) == (pair_id, False)
    assert NAMES.find(NAMES.name_of(pair_id, is_repeat=True)) == (pair_id, True)
    assert PairNames(lambda: b"other").find(NAMES.name_of(pair_id)) is None


def test_pairs_beside_each_other_have_names_that_are_not():
    names = [NAMES.name_of(pair_id) for pair_id in range(2_000)]
    assert len(set(names)) == 2_000
    rising = sum(one < other for one, other in pairwise(names))
    assert 900 < rising < 1_100


@given(st.text(max_size=20) | st.text("0123456789abcdef", min_size=16, max_size=16))
def test_what_is_no_name_leads_nowhere(text):
    assert NAMES.find(text) is None
