"""From the fields of the page to a question."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from kpdemo.errors import InputError
from kpdemo.types import PredictionOptions, Style
from kpdemo.ui.requests import FIRST, LONGEST_TEXT, read_options, read_request


def ask(document="A text.", count="", threshold=""):
    return read_request(document, "default", count, threshold)


def test_a_language_is_chosen_or_left_to_be_detected():
    asked = read_request("Ein Text.", "default", "", "", "de")
    assert (asked.document.language, ask().document.language) == ("de", "")
    with pytest.raises(InputError, match="The language is “xx”: choose one from the list"):
        read_request("Ein Text.", "default", "", "", "xx")


def test_words_that_a_hyphen_cuts_at_the_end_of_a_line_are_whole():
    assert ask(document="Scien-\r\ntific texts.").document.body == "Scientific texts."


def test_number_and_lowest_score_may_be_left_out_and_hold_together():
    assert (ask().top_k, ask(threshold="  ").threshold) == (None, None)
    asked = ask(count=" 7 ", threshold="0.5")
    assert (asked.top_k, asked.threshold) == (7, 0.5)


@pytest.mark.parametrize(("typed", "meant"), [("0.5", 0.5), (" 0,25 ", 0.25), ("0", 0.0), ("1", 1.0)])
def test_a_threshold_is_read_as_people_write_it(typed, meant):
    assert ask(threshold=typed).threshold == meant


@pytest.mark.parametrize("typed", ["high", "-0.1", "1.5", "nan", "inf"])
def test_a_wrong_threshold_is_named(typed):
    with pytest.raises(
        InputError, match=f"The lowest score is “{typed}”: give a number from 0 to 1, or none"
    ):
        ask(threshold=typed)


@pytest.mark.parametrize("typed", ["0", "21", "500", "2.5", "-1", "²", "many"])
def test_a_wrong_number_is_named(typed):
    with pytest.raises(InputError, match=f"keyphrases is “{typed}”: give a whole number from 1 to"):
        ask(count=typed)


def test_every_option_of_a_prediction_has_a_field():
    given = {
        "count": "7",
        "threshold": "0,25",
        "language": "fr",
        "style": "indexer",
        "candidates": "graph kernels, 2,4-dinitrophenol\n  图核；graph  kernels",
        "seed_keywords": "medicine",
        "only_candidates": FIRST,
        "shortest": "2",
        "longest": "4",
        "exclude": "paper; method",
        "apart": True,
        "diversity": 0.5,
        "unsure": True,
    }
    options = read_options(**given)
    assert options == PredictionOptions(
        top_k=7,
        threshold=0.25,
        language="fr",
        style=Style.INDEXER,
        candidates=("graph kernels", "2,4-dinitrophenol", "图核"),
        seed_keywords=("medicine",),
        only_candidates=False,
        shortest=2,
        longest=4,
        exclude=("paper", "method"),
        nested=False,
        diversity=0.5,
        unsure=True,
    )
    usual = PredictionOptions()
    assert all(getattr(options, one.name) != getattr(usual, one.name) for one in fields(PredictionOptions))
    assert read_request("A text.", "default", *given.values()).options == replace(options, language="")


def test_options_that_do_not_fit_are_named():
    with pytest.raises(InputError, match="The longest number of words is “long”: give a whole number from 1"):
        read_options(longest="long")
    with pytest.raises(InputError, match="The shortest number of words is 3, more than the longest, 2"):
        read_options(shortest="3", longest="2")
    with pytest.raises(InputError, match="The words that guide are 21: give at most 20"):
        read_options(seed_keywords="\n".join(map(str, range(21))))


@pytest.mark.parametrize("text", ["", "  \n\t ", None])
def test_an_empty_text_is_explained(text):
    with pytest.raises(InputError, match="The text is empty"):
        ask(text)


def test_line_ends_of_windows_become_plain_and_a_byte_order_mark_goes():
    assert ask(document="\ufefftwo\r\nlines").document.body == "two\nlines"


def test_a_text_may_be_as_long_as_the_limit_and_no_longer():
    longest = "word " * (LONGEST_TEXT // 5)
    assert ask(document=longest).document.body == longest
    sentence = (
        "The text has 250\u202f001 characters and this page reads at most 250\u202f000: "
        r"shorten it, or use the command line \(python -m kpdemo predict\), which has no limit\."
    )
    with pytest.raises(InputError, match=f"^{sentence}$"):
        ask(document=longest + "x")


def test_words_that_only_tags_part_are_words_and_tags_alone_are_none():
    cells = "<tr><td>graph</td><td>kernel</td></tr>"
    assert ask(document=cells).document.body == cells
    with pytest.raises(InputError, match="The text is empty"):
        ask(document="<p><b></b></p>")
