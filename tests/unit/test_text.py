"""The present/absent rule and what text is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.errors import InputError, LanguageError
from kpdemo.routing import latin_documents
from kpdemo.text import StemmedText, check_readable, phrase_key, stem, words
from kpdemo.types import Document


def test_punctuation_stands_apart_and_brackets_do_not():
    assert words("state-of-the-art [sic], e.g. C++") == [
        "state", "-", "of", "-", "the", "-", "art", "[sic]", ",", "e", ".", "g", ".", "C", "+", "+",
    ]  # fmt: skip


def test_a_phrase_is_present_in_another_inflection():
    source = StemmedText(Document("Graph kernels were compared."))
    assert source.contains("Graph Kernel")
    assert not source.contains("kernel graph")
    assert not source.contains("graph kern")


def test_a_phrase_may_not_straddle_title_and_body():
    document = Document(title="Learning with graph", body="kernels compare molecules.")
    assert not StemmedText(document).contains("graph kernels")
    assert StemmedText(document).contains("learn")
    assert StemmedText(document).contains("molecule")


PARTS = st.lists(st.sampled_from(["graph", "kernels", "learn", ",", "deep"]), min_size=1, max_size=12)


@given(PARTS, PARTS)
def test_present_is_a_run_of_the_same_stems(text, phrase):
    runs = [text[first : first + len(phrase)] for first in range(len(text))]
    assert StemmedText(Document(" ".join(text))).contains(" ".join(phrase)) == (phrase in runs)


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
        ("graph kernels \ud800 compare", "half of a character"),
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
        ("私たちはこの論文で新しい手法を提案する。 グラフカーネルの新手法。", "Japanese"),
        ("1 " * 20_000 + "Извлечение ключевых фраз", "Cyrillic"),
    ],
)
def test_other_scripts_are_named(text, script):
    with pytest.raises(LanguageError, match=script):
        latin_documents([text])


def test_some_foreign_words_in_english_text_are_fine():
    latin_documents(["The term 关键词 (keyword) is used for the words that describe a document 😀."])
