"""Writing pairs: the balance of requested grades, partners for grade 0, sizes, and what a writer is told."""

from __future__ import annotations

from collections import Counter
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.authoring import (
    LONGEST_WRITTEN,
    Candidate,
    ZeroItem,
    check_text,
    copy_warning,
    earlier_warning,
    next_grade,
    text_key,
    zero_partners,
)
from annotation.comparison import Bounds, Size, bounds_of, check_range, size_of
from annotation.errors import SettingsError

PHRASE = Bounds((2, 6), (1, 1))


@given(
    items=st.integers(0, 40),
    has_zeros=st.booleans(),
    seed=st.integers(0, 2**63 - 1),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), max_size=120),
)
def test_grades_are_balanced_however_writers_come_and_go(items, has_zeros, seed, steps):
    """Each step takes an item, or gives back any that is held or written; in the end all are taken."""
    out: list[int] = []
    grades = 5 if has_zeros else 4

    def take() -> None:
        grade = next_grade(Counter(out), seed=seed, group="g", has_zeros=has_zeros)
        assert grade in range(5 - grades, 5)
        out.append(grade)
        assert Counter(out)[grade] <= ceil(items / grades)

    for is_given_back, which in steps:
        if is_given_back and out:
            out.pop(which % len(out))
        elif len(out) < items:
            take()
    while len(out) < items:
        take()
    counts = [Counter(out)[grade] for grade in range(5 - grades, 5)]
    assert max(counts) - min(counts) <= 1


def test_small_groups_do_not_all_begin_with_the_same_grade():
    first = {next_grade({}, seed=7, group=f"type\ngenre {number}") for number in range(60)}
    assert first == {0, 1, 2, 3, 4}


texts = st.text("abc déf漢字", min_size=1, max_size=12)


@given(
    lefts=st.lists(texts, max_size=8),
    rights=st.lists(st.tuples(st.integers(0, 7), texts, st.sampled_from(("news", None))), max_size=12),
    seed=st.integers(0, 99),
)
def test_a_zero_partner_is_of_another_item_of_the_right_size_and_always_the_same(lefts, rights, seed):
    items = [ZeroItem(str(number), left, "news") for number, left in enumerate(lefts)]
    candidates = [Candidate(str(owner), text, source) for owner, text, source in rights]
    bounds = Bounds((1, 2), (1, 1))
    pairs = list(zero_partners(items, candidates, bounds, seed=seed, used=()))
    assert pairs == list(zero_partners(items, candidates[::-1], bounds, seed=seed, used=())) or len(
        {(c.item_id, c.text) for c in candidates}
    ) < len(candidates)
    for item, partner in pairs:
        assert partner.item_id != item.id
        assert bounds.problem(size_of(partner.text)) == ""
        assert partner.text.strip() not in item.left


def test_partners_are_of_the_same_source_and_taken_in_turn():
    items = [ZeroItem(str(number), f"item {number}", "reuters") for number in range(4)]
    far = [Candidate("x", "a fable", "aesop")]
    near = [Candidate("y", f"a headline {letter}", "reuters") for letter in "ab"]
    partners = [partner for _, partner in zero_partners(items, far + near, PHRASE, seed=3, used=())]
    assert Counter(partner.text for partner in partners) == {"a headline a": 2, "a headline b": 2}
    only = zero_partners(items[:1], near, PHRASE, seed=3, used=["A headline a."])
    assert [partner.text for _, partner in only] == ["a headline b"]


@pytest.mark.parametrize(
    ("text", "words", "sentences"),
    [
        ("", 0, 0),
        ("  \n\t ", 0, 0),
        ("🦜 !!!", 0, 0),
        ("a small boat", 3, 1),
        ("She left. He stayed!", 4, 2),
        ("Mr. Smith of the U.S. Army met J. R. Ewing at 3.15 p.m. on Monday.", 15, 1),
        ("do u know where? thanks", 5, 1),
        ("Really?! Yes. “No.” Why…", 4, 4),
        ("猫在桌子上睡觉。狗在外面。", 6, 2),
        ("הספר על השולחן. הוא כחול.", 5, 2),
        ("well-known <b>tags</b> & signs", 3, 1),
    ],
)
def test_words_and_sentences_are_counted(text, words, sentences):
    assert size_of(text) == Size(words, sentences)


def test_a_long_run_of_marks_is_looked_at_once():
    """Once for each of its marks would take minutes."""
    for mark in ".!؟":
        assert size_of(f"a {mark * 200_000}b") == Size(2, 1)
        assert size_of(f"One{mark * 200_000} Two") == Size(2, 2)
        assert text_key(f"{mark * 200_000}A{mark * 200_000}b{mark * 200_000}") == f"a{mark * 200_000}b"
    assert text_key("?!") == ""


def test_the_usual_bounds_follow_the_type_and_a_project_may_have_its_own():
    usual = bounds_of("paragraph2sentence", {})
    assert usual.larger.problem(size_of("Too short.")) == "has 2 words, not 20 to 400"
    assert usual.smaller.problem(size_of("It rained. " * 4)) == "has 4 sentences, not 1 to 3"
    own = bounds_of("paragraph2sentence", {"paragraph2sentence": {"larger": {"words": [1, 3]}}})
    assert own.larger.words == (1, 3)
    assert own.larger.sentences == usual.larger.sentences
    assert own.smaller == usual.smaller
    assert bounds_of("title2abstract", {}).smaller.problem(Size(1, 1)) == ""


@pytest.mark.parametrize("text", ["", "4", "0-3", "9-4", "1-9999999", "a-b", "4-80 words"])
def test_a_range_that_is_none_is_refused(text):
    with pytest.raises(SettingsError, match=r"Words of the phrase: .* give one such as 4-80"):
        check_range(text, "Words of the phrase")


@pytest.mark.parametrize("text", ["4-80", " 4 – 80 ", "4 to 80"])
def test_a_range_is_read(text):
    assert check_range(text, "Words") == (4, 80)


LEFT = "The night train to Vienna was cancelled because snow had brought down a power line."


def test_a_copy_of_the_larger_item_is_noticed_and_a_shared_name_is_not():
    assert "was cancelled because snow" in copy_warning("was  Cancelled because\nSNOW had fallen", LEFT)
    assert copy_warning("a delay of the night train to Vienna in winter", LEFT) == ""
    assert copy_warning("train", "a night train") == ""


def test_an_earlier_text_is_noticed_also_when_it_is_nearly_the_same():
    earlier = ["a train delayed by winter weather"]
    assert "was written before, for another item." in earlier_warning(
        " A train delayed by  winter weather!", earlier
    )
    assert "nearly the same" in earlier_warning("the train delayed by winter weather", earlier)
    assert earlier_warning("an apricot tree", earlier) == ""


def test_a_text_is_checked_for_size_first():
    assert check_text(" \n", LEFT, PHRASE).problem == "Nothing is written yet."
    assert check_text("one", LEFT, PHRASE).problem == "The text has 1 word, not 2 to 6."
    assert "shorten it to 4,000" in check_text("x" * (LONGEST_WRITTEN + 1), LEFT, PHRASE).problem
    fine = check_text("delayed by snow", LEFT, PHRASE)
    assert (fine.problem, fine.warnings, fine.size) == ("", (), Size(3, 1))
