"""Keyphrases in pipelines of spaCy and scikit-learn; with the libraries themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from kpdemo.errors import InputError
from kpdemo.sklearn import KeyphraseVectorizer
from tests.conftest import unavailable

KERNELS = "Graph kernels compare molecules. Fast graph kernels are rare."
WALKS = "The graph kernel of random walks is fast."
GUIDE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture
def spacy():
    try:
        import spacy
    except ImportError:
        unavailable("spaCy is not installed: run make test")
    import kpdemo.spacy  # noqa: F401

    return spacy


def with_keyphrases(spacy, language, **options):
    nlp = spacy.blank(language)
    nlp.add_pipe("kpdemo", config={"model": "first", "options": options})
    return nlp


def test_a_spacy_document_has_its_keyphrases_and_their_spans(spacy):
    doc = with_keyphrases(spacy, "en", top_k=2)(KERNELS)
    assert [one["text"] for one in doc._.keyphrases["present"]] == ["graph kernels", "molecules"]
    assert [(span.text, span.label_) for span in doc.spans["keyphrases"]] == [
        ("Graph kernels", "graph kernels"),
        ("graph kernels", "graph kernels"),
        ("molecules", "molecules"),
    ]
    kept = type(doc)(doc.vocab).from_bytes(doc.to_bytes())
    assert kept._.keyphrases == doc._.keyphrases


def test_spacy_reads_texts_in_the_language_of_its_pipeline_and_goes_on_after_an_empty_one(spacy):
    nlp = with_keyphrases(spacy, "fr")
    first, empty = nlp.pipe(["Les noyaux de graphes comparent des molécules.", " "])
    assert first._.keyphrases["language"] == "fr"
    assert empty._.keyphrases["warnings"] == ["The text is empty: give a title or some sentences."]
    assert len(empty.spans["keyphrases"]) == 0
    with pytest.raises(InputError, match="no option 'topk'"):
        with_keyphrases(spacy, "en", topk=2)


def test_a_vectorizer_has_a_column_for_each_keyphrase_whatever_its_ending():
    vectorizer = KeyphraseVectorizer(model="first", top_k=2)
    rows = vectorizer.fit_transform([KERNELS, WALKS]).toarray()
    assert [*vectorizer.get_feature_names_out()] == ["graph kernels", "molecules", "random walks"]
    assert (rows > 0).tolist() == [[True, True, False], [True, False, True]]
    assert (vectorizer.transform(["They are random walks."]).toarray() > 0).tolist() == [[False, False, True]]


def test_a_vectorizer_stands_in_a_pipeline_of_scikit_learn():
    classifier = make_pipeline(KeyphraseVectorizer(model="first"), LogisticRegression())
    classifier.fit([KERNELS, "Soup with lentils and carrots."], [0, 1])
    assert classifier.predict(["Carrots are cheap.", WALKS]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "name",
    [
        "check_estimator_cloneable",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_mixin_order",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_a_vectorizer_passes_the_checks_of_estimators_that_give_them_no_numbers(name):
    getattr(estimator_checks, name)("KeyphraseVectorizer", KeyphraseVectorizer())


def test_the_examples_of_the_guide_run(spacy):
    section = GUIDE.read_text(encoding="utf-8").partition("## In spaCy and scikit-learn")[2]
    names: dict[str, object] = {"texts": [KERNELS, WALKS]}
    blocks = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    for block in blocks:
        exec(block.replace('"kpdemo")', '"kpdemo", config={"model": "first"})'), names)
    assert len(blocks) == 2
    assert "graph kernels" in names["vectorizer"].get_feature_names_out()  # type: ignore[attr-defined]
