"""The present/absent rule and what text is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.errors import InputError, LanguageError
from kpdemo.text import StemmedText, check_readable, find_phrase, phrase_key, stem, word_spans, words
from kpdemo.types import Document


def test_punctuation_stands_apart_and_brackets_do_not():
    assert words("state-of-the-art [sic], e.g. C++") == [
        "state", "-", "of", "-", "the", "-", "art", "[sic]", ",", "e", ".", "g", ".", "C", "+", "+",
    ]  # fmt: skip


@given(st.text())
def test_word_spans_are_the_words_in_order(text):
    assert [text[start:end] for start, end in word_spans(text)] == words(text)


def test_a_phrase_is_present_in_another_inflection():
    source = StemmedText(Document("Graph kernels were compared."))
    assert source.contains("Graph Kernel")
    assert not source.contains("kernel graph")
    assert not source.contains("graph kern")


def test_a_phrase_may_not_straddle_title_and_body():
    document = Document(title="Learning with graph", body="kernels compare molecules.")
    assert not StemmedText(document).contains("graph kernels")
    assert find_phrase(document, "graph kernels") == ()


def test_find_phrase_gives_every_place_in_title_and_body():
    document = Document(title="Graph kernels", body="A graph-kernel is not a graph kernel.")
    assert [document.text[start:end] for start, end in find_phrase(document, "graph kernel")] == [
        "Graph kernels",
        "graph kernel",
    ]


@given(
    st.lists(st.sampled_from(["graph", "kernels", "learn", ",", "deep"]), min_size=1, max_size=12), st.data()
)
def test_present_and_found_agree(parts, data):
    first = data.draw(st.integers(0, len(parts) - 1))
    end = data.draw(st.integers(first + 1, len(parts)))
    document = Document(" ".join(parts))
    phrase = " ".join(parts[first:end])
    assert StemmedText(document).contains(phrase)
    assert find_phrase(document, phrase)


def test_stems_are_porters():
    assert [stem(word) for word in ("Relational", "ponies", "hopping")] == ["relat", "poni", "hop"]
    assert phrase_key("Neural Networks") == "neural network"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("123 456 !!", "no letters"),
        ("😀 🎉", "no letters"),
        ("a\x00b", "NUL"),
        ("Kernels!", "only one word, “Kernels!”"),
        ("a" * 1_000_000, "only one word"),
    ],
)
def test_what_is_no_text_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        check_readable(Document(text))


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("关键词抽取是自然语言处理的任务。", "Chinese"),
        ("키프레이즈 추출은 자연어 처리의 과제이다.", "Korean"),
        ("キーフレーズ", "Japanese"),
        ("استخراج العبارات المفتاحية", "Arabic"),
        ("חילוץ ביטויי מפתח", "Hebrew"),
        ("Извлечение ключевых фраз", "Cyrillic"),
    ],
)
def test_other_scripts_are_named(text, script):
    with pytest.raises(LanguageError, match=script):
        check_readable(Document(text))


def test_some_foreign_words_in_english_text_are_fine():
    check_readable(Document("The term 关键词 (keyword) is used for the words that describe a document 😀."))
