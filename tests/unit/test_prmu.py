"""The PRMU kinds of Boudin and Gallina (2021), on cases made by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.text import PhraseKinds
from kpdemo.types import Document, Kind

DOCUMENT = Document(
    "We compare the structure of large molecules; long-term storage is discussed.", title="Graph kernels"
)


@pytest.mark.parametrize(
    ("phrase", "kind"),
    [
        ("graph kernel", Kind.PRESENT),
        ("Large Molecule", Kind.PRESENT),
        ("long-term storage", Kind.PRESENT),
        ("long–term storage", Kind.PRESENT),  # a dash between words is a hyphen
        ("kernels, graph", Kind.REORDERED),
        ("long term storage", Kind.REORDERED),  # the text holds the words, but with a hyphen between them
        ("molecular structures", Kind.MIXED),
        ("kernels we compare", Kind.REORDERED),  # title and body: in one piece it would straddle them
        ("structure-activity relations", Kind.MIXED),
        ("drug discovery", Kind.UNSEEN),
        ("C++", Kind.UNSEEN),
        ("&", Kind.UNSEEN),
    ],
)
def test_a_phrase_has_the_kind_that_the_paper_gives_it(phrase, kind):
    assert PhraseKinds(DOCUMENT)(phrase) is kind


@given(
    st.lists(
        st.sampled_from(["graph", "kernels", "compare", "drug", "discovery", "-", ","]),
        min_size=1,
        max_size=4,
    )
)
def test_a_phrase_in_another_order_is_never_less_seen(words):
    kinds = PhraseKinds(DOCUMENT)
    seen = {Kind.PRESENT: 2, Kind.REORDERED: 2, Kind.MIXED: 1, Kind.UNSEEN: 0}
    assert seen[kinds(" ".join(words))] == seen[kinds(" ".join(reversed(words)))]
