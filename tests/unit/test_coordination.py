"""Phrases of a coordination: which a text has, and where they stand among the absent keyphrases."""

from __future__ import annotations

import pickle

import pytest

from kpdemo.candidates.coordination import SharedHead, shared_heads
from kpdemo.candidates.tagger import load_tagger
from kpdemo.predictors import DEFAULT_FOLDER
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.phrase_bank import RetrievedTerm
from kpdemo.simckp.predictor import load_system, rank_as_proposed
from kpdemo.simckp.reranker import merge_candidates
from kpdemo.types import Document, Origin


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We design digital and analog filters.", ["digital filters"]),
        ("We design digital, hybrid, and analog filters.", ["digital filters", "hybrid filters"]),
        ("It handles parallel or distributed query processing.", ["parallel query processing"]),
        ("Supervised and unsupervised learning are compared.", ["Supervised learning"]),
        ("For static, dynamic and hybrid analysis.", ["static analysis", "dynamic analysis"]),
        ("We compare linear systems and digital filters.", []),  # has a head of its own
        ("We compare systems and filters.", []),
        ("It is fast and reads large files quickly.", []),
        ("In this paper, supervised and unsupervised learning are joined.", ["supervised learning"]),
        ("To this end, data and text mining are joined.", ["data mining"]),
        ("In Paris, digital and analog filters are sold.", ["digital filters"]),
        ("For example, users and data owners agree.", []),
        ("For real-time and offline systems it is cheap.", []),
        ("State-of-the-art and novel methods fail.", []),
        ("We build input/output and memory devices.", []),
        ("We build fast, low-power and analog filters.", []),
        ("It is fast, and large files are read.", []),
        ("The method is new and linear systems are solved.", []),
        ("We ask users and software engineers.", []),
        ("Methods and software tools are given.", []),
        ("We share data and other learning resources.", []),
        ("We treat other and linear systems.", []),
        ("In general, digital and analog filters are sold.", ["digital filters"]),
        ("We read analog and digital state-space models.", []),
        ("We read analog and digital input/output devices.", []),
        ("It has the old and novel user's manuals.", []),
        ("It is very fast and large files are read.", []),
        ("This makes it cheap and analog filters fail.", []),
        ("It was completed, tested and linear systems work.", []),
        ("and or and", []),
        ("", []),
    ],
)
def test_a_modifier_gets_the_head_that_follows_another(text, found):
    assert [one.text for one in shared_heads(Document(text), load_tagger())] == found


def test_it_does_not_run_across_the_end_of_a_title_and_tells_what_the_text_has():
    document = Document("analog filters. Then digital\nor analog filters again.", title="Digital and")
    [one] = shared_heads(document, load_tagger())
    assert one == SharedHead("digital filters", "digital or analog filters")
    assert pickle.loads(pickle.dumps(one)) == one


def test_the_text_says_it_already():
    document = Document("Digital and analog filters. A digital filter is cheap.")
    assert merge_candidates(document, [], [], shared_heads(document, load_tagger())) == []


def test_they_come_behind_the_best_terms_and_keep_their_own_place_where_the_bank_has_them():
    terms = [RetrievedTerm(f"term {number}", -number) for number in range(30)]
    terms.append(RetrievedTerm("digital filters", 5.0))
    shared = [
        SharedHead("digital filters", "digital and analog filters"),
        SharedHead("new ones", "new and old ones"),
    ]
    document = Document("Something else.")
    ranking = rank_as_proposed(
        document, merge_candidates(document, [], terms, shared), Selection(0.0, Calibration()), 0.5
    )
    texts = [one.text for one in ranking.keyphrases]
    assert texts[0] == "digital filters"
    assert texts.index("new ones") == 20
    new = ranking.keyphrases[20]
    assert (new.source, new.reason) == (Origin.COORDINATION, "The text has “new and old ones”.")
    assert new.score == ranking.keyphrases[19].score


def test_few_terms_do_not_lift_them():
    document = Document("Something else.")
    shared = [SharedHead("new ones", "new and old ones")]
    candidates = merge_candidates(document, [], [RetrievedTerm("term", 9.0)], shared)
    ranking = rank_as_proposed(document, candidates, Selection(0.0, Calibration()), 0.5)
    assert [one.text for one in ranking.keyphrases] == ["term", "new ones"]
    assert ranking.keyphrases[1].score < 1e-9
    assert ranking.own == 1


def test_the_default_model_proposes_them_in_english_only():
    model = load_system(DEFAULT_FOLDER, device="cpu")
    text = "We compare {} in wells. They hold sand back for years."
    english = Document(text.format("copper and graphite screens"), language="en")
    french = Document("Nous comparons les copper and graphite screens.", language="fr")
    ranked = [model.predict([document])[0].ranked_absent for document in (english, french)]
    own = [[one.text for one in found.keyphrases if one.source is Origin.COORDINATION] for found in ranked]
    assert model.reader.read_one(french).shared == []
    assert own == [["copper screens"], []]
