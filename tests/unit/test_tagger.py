"""The tagger beside NLTK's own, with the same weights."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tag.perceptron import PerceptronTagger

from kpdemo.candidates.tagger import TAGGER_ASSET, Tagger, load_tagger, tagger_form, tokenize
from kpdemo.errors import ModelLoadError

STORED = json.loads(gzip.decompress(TAGGER_ASSET.read_bytes()))
SENTENCES = (
    "A well-known model (pre-trained in 1998) doesn't learn <digit> of 2.5GHz signals — 'why' isn’t known.",
    "real time data aggregation in contention based wireless sensor networks .",
    "We PROPOSE e.g. C++ code at www.example.org/a; x² and ٣ are digits, -5 is not; 10,000 2020 12345 !YEAR",
    "Über naïve Bayes: ﬁnding “quoted” β-sheets in 5-fold cross-validation/leave-one-out?",
)
MARKS = ("", " ", "-", "--", "-x", "x-", "!YEAR", "!DIGITS", "-START-", "-END2-", "1998", "²²²²", "٣x", "İ")


@pytest.fixture(scope="module")
def nltk_tagger():
    tagger = PerceptronTagger(load=False)
    tagger.tagdict, tagger.model.weights = STORED["tagdict"], STORED["weights"]
    tagger.classes = tagger.model.classes = set(STORED["tags"])
    return tagger


def nltk_tags(tagger, words):
    return [tag for _, tag in tagger.tag([tagger_form(word) for word in words])]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_sentences_get_the_tags_of_nltk(nltk_tagger, sentence):
    words = [token.text for token in tokenize(sentence)]
    assert load_tagger().tag(words) == nltk_tags(nltk_tagger, words)


known = st.sampled_from(sorted({key.split(" ")[-1] for key in STORED["weights"]} | set(STORED["tagdict"])))


@given(st.lists(known | st.sampled_from(MARKS) | st.text(max_size=5), max_size=20))
def test_any_words_get_the_tags_of_nltk(nltk_tagger, words):
    assert load_tagger().tag(words) == nltk_tags(nltk_tagger, words)


def test_of_equal_tags_the_last_by_the_alphabet_is_given():
    tagger = Tagger.of(["A", "C", "B"], {}, {"bias": {"A": 0.5, "B": 0.5, "C": -0.5}})
    assert tagger.tag(["x"]) == ["B"]
    assert Tagger.of(["A", "C", "B"], {"the": "A"}, {}).tag(["x", "the"]) == ["C", "A"]


@pytest.mark.parametrize("row", [{"XX": 0.5}, {"NN": 400.0}, {"NN": "much"}, {"NN": float("nan")}, 0.5])
def test_weights_that_make_no_sense_are_explained(tmp_path, row):
    path = tmp_path / "tagger.json.gz"
    stored = {"tags": ["NN"], "tagdict": {}, "weights": {"bias": row}}
    path.write_bytes(gzip.compress(json.dumps(stored).encode()))
    with pytest.raises(ModelLoadError, match="damaged"):
        load_tagger(path)
