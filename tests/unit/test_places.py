"""Where phrases stand: the rule of present and absent, with offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.text import PhraseFinder, StemmedText
from kpdemo.types import Document
from tests.fakes import find_phrase

DOCUMENT = Document(
    "Kernel methods; a graph-kernel, graph  kernels.\nKernels of graphs", title="Graph kernel"
)
WORDS = st.lists(st.sampled_from(["graph", "Graphs", "kernel", "-", ",", " ", "\n", "é", "𝒢"]), max_size=12)


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("graph kernels", ["Graph kernel", "graph  kernels"]),
        ("graph-kernels", ["graph-kernel"]),
        ("kernel", ["kernel", "Kernel", "kernel", "kernels", "Kernels"]),
        ("kernel methods", ["Kernel methods"]),  # not from the title on: the last word there is "kernel"
        ("kernel kernel", []),
        ("", []),
    ],
)
def test_a_phrase_is_found_wherever_its_stems_stand(phrase, found):
    spans = PhraseFinder(DOCUMENT).of(phrase)
    assert [DOCUMENT.text[start:end] for start, end in spans] == found


@given(WORDS, WORDS, WORDS)
def test_it_agrees_with_the_rule_and_with_a_plain_search(title, body, phrase):
    document = Document("".join(body), title="".join(title))
    wanted = "".join(phrase)
    spans = PhraseFinder(document).of(wanted)
    assert bool(spans) == StemmedText(document).contains(wanted)
    if wanted.strip():
        assert spans == find_phrase(document, wanted)


def test_a_span_is_widened_to_whole_words():
    places = PhraseFinder(DOCUMENT)
    text = DOCUMENT.text
    start = text.index("ethods")
    assert [text[slice(*places.widened(span))] for span in ((2, 3), (2, 8), (start, start + 3))] == [
        "Graph",
        "Graph kernel",
        "methods",
    ]
