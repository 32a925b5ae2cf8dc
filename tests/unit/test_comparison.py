from __future__ import annotations

import re

import pytest

from annotation.comparison import COMPARISON_TYPES, comparison_type
from annotation.scale import CLSS_POINTS, scale_points


def test_the_five_types_of_the_product_are_known():
    assert list(COMPARISON_TYPES) == [
        "paragraph2sentence",
        "sentence2phrase",
        "phrase2word",
        "word2sense",
        "document2keyphrase",
    ]


def test_a_type_says_its_sizes_and_asks_its_question():
    known = comparison_type("sentence2phrase")
    assert (known.label, known.larger, known.smaller) == ("sentence to phrase", "Sentence", "Phrase")
    assert known.question == "How much of the sentence's meaning does the phrase carry?"


@pytest.mark.parametrize("name", COMPARISON_TYPES)
def test_each_grade_has_one_example_and_only_the_smaller_item_changes(name):
    examples = COMPARISON_TYPES[name].examples
    assert [example.grade for example in examples] == [point.value for point in reversed(CLSS_POINTS)]
    assert len({example.left for example in examples}) == 1
    assert len({example.right for example in examples}) == len(examples)
    assert all(len(example.right) < len(example.left) or name == "word2sense" for example in examples)


@pytest.mark.parametrize(
    ("name", "larger", "smaller", "label"),
    [
        ("title2abstract", "Title", "Abstract", "title to abstract"),
        ("news_item2headline", "News item", "Headline", "news item to headline"),
        ("عنوان2نص", "عنوان", "نص", "عنوان to نص"),
        ("similarity", "Item", "Item", "similarity"),
        ("2x", "Item", "Item", "2x"),
    ],
)
def test_a_projects_own_type_is_labelled_from_its_name(name, larger, smaller, label):
    own = comparison_type(name)
    assert (own.larger, own.smaller, own.label, own.examples) == (larger, smaller, label, ())


def test_of_two_items_of_one_kind_none_is_the_larger():
    own = comparison_type("sentence2sentence")
    assert own.is_of_equals
    assert own.headings == ("First sentence", "Second sentence")
    assert own.question == "How similar in meaning are the first and the second sentence?"
    assert own.label == "sentence to sentence"
    assert [point.name for point in scale_points("", own.name)] == [point.name for point in CLSS_POINTS]
    shown = " ".join(point.summary + point.description for point in scale_points("", own.name))
    assert not re.search("larger|smaller|summary", shown)
    assert scale_points("", "sentence2phrase") == CLSS_POINTS
    assert not any(known.is_of_equals for known in COMPARISON_TYPES.values())


def test_of_two_items_whose_type_does_not_say_what_they_are_none_is_the_larger():
    own = comparison_type("similarity")
    assert own.is_of_equals
    assert own.headings == ("First item", "Second item")
    assert own.question == "How similar in meaning are the first and the second item?"
    assert scale_points("", own.name) == scale_points("", "sentence2sentence")


@pytest.mark.parametrize("name", ["phrase2paragraph", "paragraph2phrase"])
def test_the_question_is_how_much_of_the_larger_item_the_smaller_one_carries(name):
    assert comparison_type(name).question == "How much of the paragraph's meaning does the phrase carry?"


def test_a_plural_has_its_apostrophe_at_the_end():
    assert "the words' meaning" in comparison_type("words2sense").question
