"""Which line breaks end a phrase, and which only wrap a paragraph."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.candidates import chunks
from kpdemo.candidates import noun_phrases as phrases
from kpdemo.candidates import word_runs as ramkg_phrases
from kpdemo.candidates.chunks import candidate_key
from kpdemo.candidates.mining import mine_candidates
from kpdemo.candidates.noun_phrases import noun_ngrams, noun_phrases
from kpdemo.candidates.tagger import load_tagger
from kpdemo.candidates.word_runs import mine_runs
from kpdemo.lines import (
    LONGEST_TITLE,
    LONGEST_TITLE_LINE,
    blocks,
    document_blocks,
    join_cut_words,
    with_title_line,
)
from kpdemo.simckp.examples import encoder_text
from kpdemo.text import LONGEST_KEYPHRASE
from kpdemo.types import Document

LONG = (
    "We propose a way to weigh the neighbours of an atom by what they have in common with it, and show on "
    "four collections of molecules that it predicts how well they dissolve better than the sum of their "
    "parts does."
)
TITLE = "Hierarchical Graph Attention Networks"
SMALL_OR_NAME = st.lists(
    st.one_of(st.text("abcdefgh", min_size=1, max_size=12), st.sampled_from(["Kim", "C4", "Wu"])),
    min_size=1,
    max_size=120,
)


def pieces(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in blocks(text)]


@pytest.mark.parametrize("text", ["", "\n", "graph kernels", "\n\n a \r\n\r\nB\n"])
def test_the_pieces_of_odd_texts_are_the_text(text):
    assert "".join(text[start:end] for start, end in blocks(text)) == text


@given(
    st.text(st.sampled_from("aB -•1.,\n\r\u2028\x0c的é😀")), st.sampled_from(["", "A Title\nof two lines"])
)
def test_pieces_follow_each_other_and_end_with_lines(body, title):
    document = Document(body, title=title)
    end = 0
    for piece, offset in document_blocks(document):
        assert offset == (document.body_start if end == len(title) and title else end)
        assert document.text[offset : offset + len(piece)] == piece
        end = offset + len(piece)
    assert end == len(document.text) or not body
    ends = {0}
    for line in body.splitlines(keepends=True):
        ends.add(max(ends) + len(line))
    assert {stop for _, stop in blocks(body)} <= ends


@given(SMALL_OR_NAME, st.integers(40, 120))
def test_a_wrapped_paragraph_is_one_piece(words, width):
    assert len(list(blocks(textwrap.fill(" ".join(words), width, break_on_hyphens=False)))) == 1


@pytest.mark.parametrize("body", [LONG, textwrap.fill(LONG, 80), textwrap.fill(LONG, 45)])
@pytest.mark.parametrize("between", ["\n", "\r\n", "\n\n", "\n \n"])
def test_a_title_stands_apart_from_the_body(between, body):
    assert pieces(f"{TITLE}{between}{body}") == [TITLE, " ".join(body.split())]


@pytest.mark.parametrize(
    "title", [TITLE, "Why do molecules dissolve?", "iPhone at work", "\n 图神经网络预测分子的溶解度"]
)
@pytest.mark.parametrize("between", ["\n", "\r\n", " \n\n", "\n \n  "])
def test_a_first_line_that_is_a_title_is_taken_for_one(title, between):
    read = with_title_line(Document(f"{title}{between}{LONG}", id="7", language="en"))
    assert (read.title, read.body, read.id, read.language) == (title, LONG, "7", "en")
    assert read.text == f"{title}{between}{LONG}"


@pytest.mark.parametrize(
    "first",
    ["Molecules", "We weigh neighbours.", "- graph kernels", "1. Weighing neighbours", "Dear Sir or Madam,",
     "arXiv:2204.01234v1 3 May 2022", "graph\tkernels", "weigh " * (LONGEST_TITLE + 1),
     "We weigh neighbours!", f"weigh {'n' * LONGEST_TITLE_LINE}", "import numpy as np", "from math import pi",
     "def weigh(atom) -> None", "public class Atom {", "int main()", "/* Copyright Acme", "#include <io.h>",
     "Journal of Chemistry", "Journal of Machine Learning Research 12 (2011) 1-25",
     "IEEE Transactions on Neural Networks, Vol. 3, No. 2, March", "Proceedings of ACL, pages 1-8"],
)  # fmt: skip
def test_another_first_line_is_text(first):
    document = Document(f"{first}\n\n{LONG}")
    assert with_title_line(document) is document


def test_where_all_is_small_a_title_is_too():
    assert with_title_line(Document(f"graph attention\n\n{LONG.lower()}")).title == "graph attention"


def test_the_first_cell_of_a_table_is_no_title():
    document = Document(f"Graph kernels\tSolubility\nWeighing\t{LONG}")
    assert with_title_line(document) is document


def test_lines_alike_hold_no_title():
    document = Document("graph kernels\n\nneighbourhoods\n\nsolubility of water\n")
    assert with_title_line(document) is document


@given(st.text(st.sampled_from("aB -•1.,\n\r\t\u2028\x0c的é😀"), max_size=80), st.sampled_from(["", TITLE]))
def test_taking_a_title_changes_no_character(text, title):
    document = Document(text, title=title)
    read = with_title_line(document)
    assert read.text == document.text
    assert read.text[read.body_start :] == read.body
    assert len(encoder_text(read)) == len(read.text)
    assert bool(read.title) or read is document


def test_a_title_as_wide_as_the_wrapped_body_is_known_by_its_capitals():
    title = "Hierarchical Attention over Neighbours for the Solubility of Small Molecules"
    assert pieces(f"\n{title}\n{textwrap.fill(LONG, 78)}")[-1] == LONG


def test_a_title_in_plain_case_is_known_by_its_length():
    title = "Attention for molecules"
    assert pieces(f"{title}\n{textwrap.fill(LONG, 78)}") == [title, LONG]


def test_a_title_of_two_lines_that_ends_in_the_middle_is_one():
    assert pieces(f"Graph Attention Networks for\nMolecules\n{LONG}") == [
        "Graph Attention Networks for Molecules",
        LONG,
    ]


def test_lines_that_begin_with_names_go_on():
    text = (
        "The structure of proteins was first predicted from their sequence by the group of\n"
        "Kim and later, with far more computation but hardly any new idea, by the group of the\n"
        "University of Basel, where the first attention networks for atoms were trained with Nvidia\n"
        "A100 accelerators"
    )
    assert len(pieces(text)) == 1


def test_headings_and_lists_end_phrases():
    text = f"2 Related work\nGraph kernels\n- random walks\n- shortest paths\n{LONG}"
    assert pieces(text) == ["2 Related work", "Graph kernels", "- random walks", "- shortest paths", LONG]


def test_a_list_of_terms_is_a_term_a_line():
    assert pieces("Graph kernels\nMolecules\nSolubility") == ["Graph kernels", "Molecules", "Solubility"]


def test_a_chinese_title_stands_apart_and_wrapped_lines_go_on():
    title = "图神经网络的分子性质预测"
    body = "我们提出一种根据邻居权重来预测分子溶解度的方法并在四个数据集上证明它比已有方法更好" * 3
    wrapped = "\n".join(body[first : first + 30] for first in range(0, len(body), 30))
    for text in (body, wrapped):
        assert [text[start:end] for start, end in blocks(text)] == [text]
        assert next(iter(blocks(f"{title}\n{text}"))) == (0, len(title) + 1)


ROWS = (
    "Method\tTraining time\tError",
    "graph kernels\trandom walks\tatom pairs",
    "\tshort paths\tsmall rings",
)
TABLE = "\n".join(ROWS)


def test_rows_with_as_many_tabs_are_a_table_of_cells():
    cells = [cell for row in ROWS for cell in row.split("\t") if cell]
    assert pieces(TABLE) == cells
    assert pieces(f"{LONG}\n\n{TABLE}\n\n{LONG}") == [LONG, *cells, LONG]


@pytest.mark.parametrize(
    "text",
    [
        textwrap.fill(LONG, 60).replace(" ", "\t"),
        textwrap.indent(textwrap.fill(LONG, 60), "\t"),
        LONG.replace("to weigh", "to\tweigh"),
        f"{textwrap.fill(LONG, 60)}\t\n",
    ],
    ids=["for blanks", "as indentation", "one", "at the end"],
)
def test_tabs_in_running_text_are_blanks(text):
    assert pieces(text) == [LONG]


@given(st.text(st.sampled_from("aBc -1.,\t\n")))
def test_tabs_add_ends_and_take_none_away(text):
    plain = {end for _, end in blocks(text.replace("\t", " "))}
    assert plain <= {end for _, end in blocks(text)}


MINERS = {
    "simckp": lambda document: mine_candidates(document, load_tagger()),
    "noun phrases": lambda document: noun_phrases(document, load_tagger()),
    "noun ngrams": lambda document: noun_ngrams(document, load_tagger(), 4),
}


@pytest.mark.parametrize("mine", MINERS.values(), ids=MINERS)
def test_no_candidate_runs_from_the_title_into_the_body(mine):
    document = Document(f"{TITLE}\nMolecular solubility is predicted. {LONG}")
    found = mine(document)
    assert "hierarch graph attent network" in [candidate.key for candidate in found]
    for candidate in found:
        for start, end in candidate.spans:
            assert candidate_key(document.text[start:end]) == candidate.key
            assert not start < len(TITLE) < end


@pytest.mark.parametrize("mine", MINERS.values(), ids=MINERS)
def test_candidates_go_over_the_ends_of_wrapped_lines(mine):
    document = Document(textwrap.fill(f"{LONG} All of them are graph attention networks", 50))
    assert "attention\nnetworks" in document.text
    assert "graph attent network" in [candidate.key for candidate in mine(document)]


def test_phrases_in_other_languages_end_with_a_title_too():
    body = "La solubilité des molécules est prédite par leurs voisins, ce qui demande peu de mesures."
    document = Document(f"Réseaux de neurones\n{body}", language="fr")
    spans = [span for candidate in mine_runs(document) for span in candidate.spans]
    assert (0, len("Réseaux de neurones")) in spans
    assert not any(start < len("Réseaux de neurones") < end for start, end in spans)


ALL_MINERS = {**MINERS, "ramkg": mine_runs}
WORD = st.text("abcdefgh", min_size=1, max_size=12)


@pytest.mark.parametrize("mine", ALL_MINERS.values(), ids=ALL_MINERS)
@pytest.mark.parametrize("language", ["en", "fr"])
def test_no_candidate_is_longer_than_a_keyphrase_or_runs_over_a_cell(mine, language):
    document = Document(f"Graph kernels {'acgt' * 30} molecules. {LONG}\n\n{TABLE}", language=language)
    spans = [span for candidate in mine(document) for span in candidate.spans]
    assert {(0, 5), (0, 13)} & set(spans)
    for start, end in spans:
        assert end - start <= LONGEST_KEYPHRASE
        assert "\t" not in document.text[start:end]
        assert "acgt" not in document.text[start:end]


@pytest.mark.parametrize("mine", ALL_MINERS.values(), ids=ALL_MINERS)
def test_of_ordinary_words_no_candidate_is_too_long(mine):
    @given(st.lists(WORD, min_size=1, max_size=40), st.sampled_from(["en", "fr"]))
    def check(words, language):
        document = Document(" ".join(words), language=language)
        found = mine(document)
        with pytest.MonkeyPatch.context() as patch:
            for module in (chunks, phrases, ramkg_phrases):
                patch.setattr(module, "LONGEST_KEYPHRASE", 10**9)
            assert mine(document) == found

    check()


def test_words_that_the_end_of_a_line_cuts_are_whole():
    text = "ex-\ntraction of scien- \r\n  tific é-\ntudes, pre-\nand post-processing, Smith-\nWaterman"
    joined = "extraction of scientific études, pre-\nand post-processing, Smith-\nWaterman"
    assert join_cut_words(text) == joined
    assert (
        join_cut_words("- one\n- two -\nthree and more - \nfour") == "- one\n- two -\nthree and more - \nfour"
    )
