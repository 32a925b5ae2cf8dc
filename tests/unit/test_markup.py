"""Tags in a text: read as blanks, and nothing moves."""

from __future__ import annotations

import re

import pytest

import kpdemo
from kpdemo.errors import InputError
from kpdemo.markup import without_markup
from kpdemo.types import Document

JATS = (
    "<jats:title>Abstract</jats:title><jats:p>A <jats:italic>boundary integral</jats:italic> equation for "
    "waves &amp; currents, with <inline-formula><tex-math>k</tex-math></inline-formula>.</jats:p>"
)


def read(text: str) -> str:
    return without_markup(Document(text)).body


@pytest.mark.parametrize(
    "text",
    [
        JATS,
        '<div class="abstract"><p>One<br/>two</p>\n<P CLASS=x>three H<sub>2</sub>O</P></div>',
        "<!-- a note --><style>p {color: red}</style>text<script>let a = '<p>';</script>",
        "&lt;p&gt;escaped &lt;i&gt;twice&lt;/i&gt;&lt;/p&gt; caf&#233; &#xe9; &nbsp;",
        "a <p id='p 1' lang = en>b <a href=\"http://x.org/\" rel=a>c</a> &lt;p id=&quot;d&quot;&gt;e",
        "<mml:math><mml:mi>x</mml:mi></mml:math> &lt; 3",
    ],
)
def test_nothing_moves_and_no_tag_is_left(text):
    found = read(text)
    assert len(found) == len(text)
    for word in re.findall(r"\b[a-z]+\b", found, re.ASCII):
        assert text.startswith(word, found.index(word)) or word in ("caf", "x")
    gone = ("<p", "</", "jats", "mml", "class", "note", "lt;", "amp")
    assert not any(mark in found for mark in gone)


@pytest.mark.parametrize(
    "text",
    [
        "If x < y and y > z, then a<b.",
        "If a <b and c> d, for all p <s where s is the seed and t> 4",
        "Map<String, List<Item>> in C++, #include <vector>",
        "A <b-tree> with a <placeholder> & more; AT&T; &unknown; R&D;",
        "",
    ],
)
def test_what_is_no_tag_stays(text):
    document = Document(text)
    assert without_markup(document) is document


def test_paragraphs_end_phrases_and_inline_tags_do_not():
    assert read("<p>graph</p><p>kernel</p>").split("\n\n")[1:4:2] == [" graph", " kernel"]
    assert read("graph <i>kernel</i> method").split() == ["graph", "kernel", "method"]
    assert "\n" not in read("graph <i>kernel</i> method")


def test_a_title_has_tags_too_and_the_body_begins_where_it_did():
    document = Document("Text.", title="H<sub>2</sub>O")
    assert without_markup(document).body_start == document.body_start
    assert "sub" not in without_markup(document).title


@pytest.mark.parametrize("model", ["first", "multipartite", "yake", "tfidf"])
def test_no_name_of_a_tag_is_a_keyphrase_and_spans_count_in_the_text_given(model):
    [found] = kpdemo.load_predictor(model).predict([JATS], top_k=10)
    texts = [keyphrase.text for keyphrase in found.present]
    assert not {word for text in texts for word in text.split()} & {"jats", "p", "italic", "amp", "title"}
    spans = {keyphrase.text: keyphrase.spans for keyphrase in found.present}
    for text, places in spans.items():
        for start, end in places:
            assert re.sub(r"<.*?>", "", JATS[start:end]) == text
    if model == "multipartite":
        assert "boundary integral equation" in spans


def test_tags_alone_are_an_empty_text():
    with pytest.raises(InputError, match="The text is empty"):
        kpdemo.load_predictor("first").predict(["<p></p>\n<br/>"])


def test_a_word_with_an_entity_inside_is_two():
    assert read("R&amp;D of Schr&#246;dinger").split() == ["R&", "D", "of", "Schrö", "dinger"]


@pytest.mark.parametrize("piece", ["<!--", "<p ", "<p a=", "&lt;p a=b ", "&lt;jats:a ", "<p" + " " * 50])
def test_tags_that_nobody_closes_stay(piece):
    text = (piece * 250_000)[:250_000]  # in one pass: a pass for each would take minutes
    assert read(text) == text.replace("&lt;", "<   ")
