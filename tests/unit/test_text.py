"""The present/absent rule and what text is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.errors import InputError, LanguageError
from kpdemo.routing import latin_documents
from kpdemo.text import PhraseFinder, StemmedText, check_readable, phrase_key, stem, words
from kpdemo.types import Document


def test_punctuation_stands_apart():
    assert words("state-of-the-art [sic], e.g. C++") == [
        "state", "-", "of", "-", "the", "-", "art", "[", "sic", "]", ",", "e", ".", "g", ".", "C", "+", "+",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("We study Crohn’s disease.", "Crohn's disease", "Crohn’s disease"),
        ("We study Crohn's disease.", "Crohn´s disease", "Crohn's disease"),
        ("A student ʼs t-test", "student 's", "student ʼs"),
        ("The capture of CO₂, or CO₂ capture", "CO2 capture", "CO₂ capture"),
        ("An area of 5 km² each", "5 km2", "5 km²"),
        ("Particles of 10 µm", "μm", "µm"),
        ("Ｄｅｅｐ　learning", "deep learning", "Ｄｅｅｐ　learning"),
        ("Non‑linear optics", "non-linear optics", "Non‑linear optics"),
        ("Navier–Stokes equations", "Navier-Stokes equation", "Navier–Stokes equations"),
        ("The naïve Bayes classifier", "Naive Bayes", "naïve Bayes"),
        ("The nai\u0308ve Bayes classifier", "Naïve Bayes", "nai\u0308ve Bayes"),
        ("Erdős–Rényi graphs", "Erdos-Renyi graph", "Erdős–Rényi graphs"),
        ("An Ørsted number of “deep nets”…", "deep net", "deep nets"),
        ("Java™ virtual machines", "Java virtual machine", "Java™ virtual machines"),
        ("a so\u00adft\u200bware test", "software test", "so\u00adft\u200bware test"),
        ("Half ½ of it", "½ of", "½ of"),
    ],
)
def test_spellings_of_one_word_are_the_same_and_stand_where_they_were_given(text, phrase, found):
    document = Document(text)
    assert StemmedText(document).contains(phrase)
    assert [text[start:end] for start, end in PhraseFinder(document).of(phrase)] == [found]


def test_the_released_rule_takes_words_as_they_are():
    text = StemmedText(Document("Crohn’s disease, CO₂ [sic] and naïve Bayes"), released=True)
    others = ("Crohn's disease", "CO2", "sic", "naive Bayes")
    assert [text.contains(phrase) for phrase in others] == [False] * 4
    assert all(map(text.contains, ("Crohn’s disease", "co₂", "[sic]", "naïve bayes")))


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
