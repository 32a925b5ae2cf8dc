"""The two baselines of the task: longest common substring and Greedy String Tiling."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.files.scores import GoldPair
from annotation.scale import Scale
from annotation.senses import word_of
from annotation.similarity import substring_similarity, tiling_similarity
from annotation.systems import BASELINES, UnknownWords, baseline_scores

TEXTS = st.text("abc ", max_size=20)


def longest(first: str, second: str) -> int:
    pieces = {first[start:end] for start in range(len(first)) for end in range(start, len(first) + 1)}
    return max(len(piece) for piece in pieces | {""} if piece in second)


@given(TEXTS, TEXTS)
def test_the_longest_common_substring_is_that_of_all_substrings(first, second):
    expected = 2 * longest(first, second) / max(len(first) + len(second), 1)
    assert substring_similarity(first, second) == expected == substring_similarity(second, first)


@given(TEXTS, TEXTS, st.integers(1, 6))
def test_tiling_finds_at_least_the_longest_piece_and_at_most_everything(first, second, minimum):
    found = tiling_similarity(first, second, minimum)
    least = substring_similarity(first, second) if longest(first, second) >= minimum else 0
    assert least <= found <= 1


@given(TEXTS, TEXTS)
def test_tiles_of_one_character_are_what_the_texts_share_as_bags(first, second):
    shared = sum(min(first.count(letter), second.count(letter)) for letter in "abc ")
    assert tiling_similarity(first, second, 1) == 2 * shared / max(len(first) + len(second), 1)


def test_what_was_moved_counts_for_tiling_only():
    first, second = "in winter the harbour froze", "the harbour froze in winter"
    assert substring_similarity(first, second) == pytest.approx(17 / 27)  # "the harbour froze"
    assert tiling_similarity(first, second) == pytest.approx((17 + 9) / 27)  # and "in winter"


def test_a_piece_shorter_than_the_minimum_is_no_tile():
    assert tiling_similarity("abcde1", "2abcde") == 0
    assert tiling_similarity("abcdef1", "2abcdef") == pytest.approx(12 / 14)


def test_a_piece_is_tiled_once():
    assert tiling_similarity("abcdefabcdef", "abcdef") == pytest.approx(12 / 18)


# Words and senses


WORDS = {("mouse", "n"): ["a small rodent", "a device for pointing"], ("mouse", None): ["x"]}
KEYS = {"touchpad%1:06:00::": "a flat device for pointing"}


class Dictionary:
    def of_word(self, word: str, part_of_speech: str | None) -> list[str]:
        return WORDS.get((word, part_of_speech), [])

    def of_key(self, sense_key: str) -> str | None:
        return KEYS.get(sense_key)


def pair(left: str, right: str, type: str = "word2sense") -> GoldPair:
    return GoldPair(type, left, left, right, 0.0)


def scores(*pairs: GoldPair, **options) -> list[float | None]:
    options = {"senses": Dictionary(), **options}
    return baseline_scores(pairs, BASELINES["lcs"], **options)


@pytest.mark.parametrize(
    ("type", "left", "right", "score"),
    [  # 4 · 2 · the characters of the longest common piece / those of both texts
        (
            "paragraph2sentence",
            "The quay was wet. Two men mended a net.",
            "Two men slept.",
            4 * 2 * 8 / (39 + 14),
        ),
        (
            "sentence2phrase",
            "The ferry leaves the old harbour at noon.",
            "an old harbour",
            4 * 2 * 12 / (41 + 14),
        ),
        ("phrase2word", "a boat on its way", "sailboat", 4 * 2 * 4 / (17 + 8)),
        ("phrase2word", "The Hague", "hague", 4 * 2 * 4 / (9 + 5)),  # case counts
        ("phrase2word", "ebb", "flood", 4 * 2 * 0 / (3 + 5)),
        ("word2sense", "mouse#n", "touchpad%1:06:00::", 4 * 2 * 20 / (21 + 26)),
    ],
)
def test_the_substring_baseline_gives_what_is_counted_by_hand(type, left, right, score):
    assert scores(pair(left, right, type)) == [pytest.approx(score)]


def test_a_baseline_goes_from_the_lowest_grade_of_a_scale_to_its_highest():
    seven, zero = Scale(Decimal(1), 1, 7), UnknownWords.ZERO
    pairs = [pair("ebb", text, "phrase2word") for text in ("flood", "ebb")]
    assert scores(*pairs, scale=seven) == [1, 7]
    assert scores(pair("nobody", "touchpad%1:06:00::"), scale=seven, unknown_words=zero) == [1]


def test_the_sense_most_like_counts():
    [score] = scores(pair("mouse#n", "touchpad%1:06:00::"))
    assert score == pytest.approx(4 * 2 * len(" device for pointing") / (21 + 26))


def test_a_sense_without_a_key_is_its_own_definition():
    assert scores(pair("mouse (noun)", "a small rodent")) == [4]


def test_unknown_words_score_the_mean_or_zero():
    unknown = [pair("brr#n", "touchpad%1:06:00::"), pair("mouse#n", "pad%1:06:00::")]
    known = [pair("mouse#n", "a small rodent"), pair("mouse#n", "zzz")]
    assert scores(*unknown, *known) == [2, 2, 4, 0]
    assert scores(*unknown) == [0, 0]
    assert scores(*unknown, *known, unknown_words=UnknownWords.ZERO) == [0, 0, 4, 0]


def test_without_a_dictionary_senses_have_no_score_and_texts_do():
    pairs = [pair("mouse#n", "pad%1:06:00::"), pair("a mouse", "a mouse", "phrase2word")]
    assert scores(*pairs, senses=None) == [None, 4]


@pytest.mark.parametrize(
    ("item", "word"),
    [
        ("mouse#n", ("mouse", "n")),
        ("ice cream#n", ("ice cream", "n")),
        ("old#s", ("old", "a")),
        ("mouse (noun)", ("mouse", "n")),
        ("mouse", ("mouse", None)),
        ("c#", ("c#", None)),
    ],
)
def test_a_word_may_have_its_part_of_speech(item, word):
    assert word_of(item) == word
