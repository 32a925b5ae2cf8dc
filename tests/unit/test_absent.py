"""Generated and retrieved phrases brought together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.simckp.generator import GeneratedPhrase
from kpdemo.simckp.phrase_bank import RetrievedTerm
from kpdemo.simckp.reranker import AbsentCandidate, merge_candidates, spell_like
from kpdemo.text import StemmedText
from kpdemo.types import Document, Origin

DOCUMENT = Document("We study long-term memory. Kernels compare molecules.", title="Graph kernels")
PHRASES = [
    "drug discovery",
    "Drug-discovery",
    "graph kernel",
    "memory long",
    "long term memory",
    "kernels we",
    "–",
    "x",
]


def texts(candidates):
    return [candidate.text for candidate in candidates]


def test_a_phrase_of_both_sources_is_one_candidate_with_both_scores():
    [candidate] = merge_candidates(
        DOCUMENT,
        [GeneratedPhrase("drug discoveries", -3.0), GeneratedPhrase("Drug-discovery", -1.0)],
        [RetrievedTerm("drug discovery", 0.7, ("molecules",))],
    )
    assert candidate == AbsentCandidate("drug discovery", -1.0, 0.7, ("molecules",))
    assert candidate.source is Origin.BOTH


@pytest.mark.parametrize(
    ("generated", "retrieved", "source"), [(-1.0, None, "generated"), (None, 0.2, "retrieved")]
)
def test_a_phrase_of_one_source_says_which(generated, retrieved, source):
    assert AbsentCandidate("drug discovery", generated, retrieved).source == source


@pytest.mark.parametrize(
    "phrase",
    ["Graph kernel", "memory", "long-term memory", "long term memories", "The  long term memory", "–", " "],
)
def test_what_stands_in_the_text_or_has_no_word_is_left_out(phrase):
    assert merge_candidates(DOCUMENT, [GeneratedPhrase(phrase, -1.0)], []) == []


def test_a_heading_is_left_out_where_the_text_has_its_words_in_their_usual_order():
    document = Document("The elderly with rheumatoid arthritis.")
    retrieved = [RetrievedTerm(text, 0.5) for text in ("arthritis, rheumatoid", "arthritis, psoriatic")]
    assert texts(merge_candidates(document, [], retrieved)) == ["arthritis, psoriatic"]


@pytest.mark.parametrize("mark", ["'", "’", "’ ", "‘"])
def test_marks_of_print_make_no_other_phrase(mark):
    spellings = ["Alzheimer’s disease", "Alzheimer's disease", "Alzheimer’ s disease"]
    retrieved = [RetrievedTerm(text, 0.5) for text in spellings]
    assert texts(merge_candidates(DOCUMENT, [], retrieved)) == spellings[:1]
    text = Document(f"What we know of Alzheimer{mark}s disease.")
    assert merge_candidates(text, [GeneratedPhrase(spellings[1], -1.0)], retrieved) == []


@pytest.mark.parametrize("text", ["COVID19", "ＣＯＶＩＤ－１９", "COVID‑19", "covid 19", "COVID-19-related"])
def test_no_spelling_of_what_stands_in_the_text_is_absent(text):
    retrieved = [RetrievedTerm(term, 0.5) for term in ("COVID-19", "Covid19", "pandemics")]
    assert texts(merge_candidates(Document(f"Of {text} cases"), [], retrieved)) == ["pandemics"]


def test_spellings_of_one_term_are_one_candidate():
    spellings = ["multi-agent systems", "multiagent system", "behaviour", "behavior"]
    retrieved = [RetrievedTerm(text, 0.5) for text in spellings]
    assert texts(merge_candidates(DOCUMENT, [], retrieved)) == [spellings[0], spellings[2]]


def test_a_phrase_that_would_straddle_title_and_body_is_absent():
    assert texts(merge_candidates(DOCUMENT, [GeneratedPhrase("kernels we study", -1.0)], [])) == [
        "kernels we study"
    ]


def test_nothing_proposed_gives_nothing():
    assert merge_candidates(DOCUMENT, [], []) == []


def test_a_text_without_hyphens_is_answered_without_hyphens():
    plain = Document("we study real time systems")
    assert spell_like(plain, ["state-of-the-art – A-B"]) == ["state of the art – A B"]
    assert spell_like(DOCUMENT, ["state-of-the-art"]) == ["state-of-the-art"]
    assert merge_candidates(plain, [GeneratedPhrase("real-time-systems", -1.0)], []) == []


@given(
    st.lists(st.tuples(st.sampled_from(PHRASES), st.floats(-9, 0))),
    st.lists(st.tuples(st.sampled_from(PHRASES), st.floats(0, 1))),
)
def test_every_candidate_is_absent_once_and_has_the_best_score_of_each_source(generated, retrieved):
    merged = merge_candidates(
        DOCUMENT,
        [GeneratedPhrase(text, score) for text, score in generated],
        [RetrievedTerm(text, score) for text, score in retrieved],
    )
    names = [candidate.text.lower().replace("-", " ") for candidate in merged]
    assert len(set(names)) == len(names)
    assert not any(StemmedText(DOCUMENT).contains(candidate.text) for candidate in merged)
    for candidate, name in zip(merged, names, strict=True):
        alike = [score for text, score in generated if text.lower().replace("-", " ") == name]
        assert candidate.generated == max(alike, default=None)
