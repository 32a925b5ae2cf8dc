"""RAMKG's prompts: no phrase is cut, no room overrun, and what is written is read back."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.ramkg.prompt import (
    Marks,
    build_prompt,
    clean_phrase,
    clean_phrases,
    flat_phrases,
    join_phrases,
    read_document,
)
from kpdemo.types import Document

MARKS = Marks(retrieved=0, separator=1, title=2, context=3)
PHRASES = st.lists(st.lists(st.integers(10, 99), min_size=1, max_size=9), max_size=12)


def letters(text):
    return [ord(letter) for letter in text]


def split_ids(ids, separator):
    groups = groupby(ids, separator.__eq__)
    return [list(group) for is_separator, group in groups if not is_separator]


@given(PHRASES)
def test_what_is_written_is_read_back(phrases):
    assert split_ids(join_phrases(phrases, 1, room=1000), 1) == phrases


@given(PHRASES, st.integers(0, 60))
def test_phrases_are_cut_between_two_of_them(phrases, room):
    joined = join_phrases(phrases, 1, room=room)
    kept = split_ids(joined, 1)
    assert len(joined) <= max(room, 0)
    assert kept == phrases[: len(kept)]
    if len(kept) < len(phrases):
        assert len(joined) + bool(joined) + len(phrases[len(kept)]) > room


@given(
    st.integers(1, 200), st.lists(st.lists(st.integers(10, 99), min_size=1, max_size=20)), st.integers(2, 200)
)
def test_a_prompt_holds_the_document_and_whole_phrases(length, phrases, room):
    document = list(range(100, 100 + length))
    prompt = build_prompt(document, phrases, MARKS, room=room)
    assert len(prompt) <= room
    own = [token for token in prompt if token >= 100]
    before = prompt[: len(prompt) - len(own)]
    assert own == document[: len(own)]
    assert len(own) >= min(len(document), room - min(64, room // 2))
    assert before[:1] in ([], [MARKS.retrieved])
    kept = split_ids(before[1:], MARKS.separator)
    assert kept == phrases[: len(kept)]
    assert len(prompt) == room or own == document


def test_the_parts_of_a_prompt_stand_as_in_the_paper():
    document = read_document(Document("ab", title="T"), MARKS, letters)
    assert document == [2, ord("T"), 3, ord("a"), ord("b")]
    assert build_prompt(document, [[10, 11], [12]], MARKS, room=99) == [0, 10, 11, 1, 12, *document]
    assert build_prompt(document, [], MARKS, room=99) == document
    assert read_document(Document("ab", title="  "), MARKS, letters)[0] == 3
    # A long document leaves half of a small prompt to the phrases: the second does not fit any more.
    assert build_prompt([100] * 50, [[10, 11], [12]], MARKS, room=8) == [0, 10, 11] + [100] * 5
    # One phrase that does not fit by itself is left out, and its mark with it.
    assert build_prompt([100] * 50, [[10] * 9], MARKS, room=8) == [100] * 8
    # Of a large prompt they have 64 tokens with their mark.
    phrases = [[10] * 20, [11] * 21, [12] * 20]
    assert build_prompt([100] * 500, phrases, MARKS, room=300).count(100) == 300 - 64
    assert build_prompt([100] * 500, [*phrases[:2], [12] * 21], MARKS, room=300).count(12) == 0


def test_retrieved_phrases_come_once_in_the_order_of_the_passages():
    passages = [("Neural networks", " graph  kernels "), (), ("neural network", "chemistry", "")]
    assert flat_phrases(passages, deduplicate=True) == ["Neural networks", "graph kernels", "chemistry"]
    assert flat_phrases(passages, deduplicate=False) == [
        "Neural networks",
        "graph kernels",
        "neural network",
        "chemistry",
    ]


@pytest.mark.parametrize(
    ("text", "language", "clean"),
    [
        (" me\u0301moire  collective. ", "fr", "mémoire collective"),
        ("机器 学习；", "zh", "机器学习"),
        ("ＳＶＭ 分类 器", "zh", "SVM 分类器"),
        ("기계 학습", "ko", "기계 학습"),
        ("機械 学習", "ja", "機械学習"),
        (" ; ", "fr", ""),
    ],
)
def test_a_phrase_is_cleaned_as_its_language_is_written(text, language, clean):
    assert clean_phrase(text, language) == clean


def test_phrases_with_the_same_stems_are_given_once():
    assert clean_phrases(["réseaux neuronaux", "Réseau neuronal", "...", "graphe"], "fr") == [
        "réseaux neuronaux",
        "graphe",
    ]
    assert clean_phrases(["기계 학습", "기계학습"], "ko") == ["기계 학습"]
