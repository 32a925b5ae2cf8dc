"""Options that choose again from what a model ranked."""

import pytest

from kpdemo.errors import InputError
from kpdemo.pipeline import Pipeline
from kpdemo.selection import choose
from kpdemo.types import Keyphrase, Prediction, PredictionOptions, Ranking, Style
from tests.fakes import FakePredictor

RANKED = [
    ("graph kernels", 0.5),
    ("kernels", 0.4),
    ("molecules", 0.3),
    ("fast graph kernels", 0.25),
    ("support vector machines", 0.2),
    ("long-term memory", 0.1),
]


@pytest.fixture
def prediction():
    present = tuple(Keyphrase(text, score, ((n, n + 1),)) for n, (text, score) in enumerate(RANKED))
    absent = tuple(Keyphrase(text, score) for text, score in [("kernel methods", 0.3), ("clove oil", 0.1)])
    return Prediction(
        present[:3],
        absent[:1],
        "en",
        ranked_present=Ranking(present, own=3, sure=2),
        ranked_absent=Ranking(absent, own=2, sure=2, floor=0.2),
    )


def texts(prediction, **options):
    return [one.text for one in choose(prediction, PredictionOptions(**options)).present]


def test_a_number_and_a_threshold_hold_for_an_earlier_prediction(prediction):
    assert texts(prediction) == ["graph kernels", "kernels", "molecules"]
    assert texts(prediction, top_k=1) == ["graph kernels"]
    assert texts(prediction, top_k=9) == [text for text, _ in RANKED]
    assert texts(prediction, threshold=0.2) == [text for text, _ in RANKED[:5]]
    assert texts(prediction, threshold=0.2, top_k=4) == [text for text, _ in RANKED[:4]]
    again = choose(choose(prediction, PredictionOptions(top_k=1)), PredictionOptions())
    assert [one.text for one in again.present] == texts(prediction)
    assert [one.filler for one in again.present] == [False, False, True]


def test_a_family_takes_one_place_and_its_best_member_stands_for_the_others(prediction):
    found = choose(prediction, PredictionOptions(nested=False, top_k=2)).present
    assert [(one.text, [other.text for other in one.family]) for one in found] == [
        ("graph kernels", ["kernels", "fast graph kernels"]),
        ("molecules", []),
    ]


def test_length_excluded_words_and_own_phrases(prediction):
    assert texts(prediction, shortest=2, longest=2) == ["graph kernels", "long-term memory"]
    assert texts(prediction, exclude=("kernel", "vector machine")) == ["molecules", "long-term memory"]
    own = ("Molecule", "long-term memories")
    assert texts(prediction, candidates=own) == ["molecules", "long-term memory"]
    assert texts(prediction, candidates=own, only_candidates=False) == [
        "molecules",
        "long-term memory",
        "graph kernels",
    ]


def test_diversity_prefers_other_words(prediction):
    assert texts(prediction, top_k=3, diversity=0.6) == [
        "graph kernels",
        "molecules",
        "support vector machines",
    ]


ALIKE = {"ab": 0.9, "ac": 0.2, "ad": 0.0, "bc": 0.1, "bd": 0.8, "cd": 0.1}


@pytest.mark.parametrize(
    ("diversity", "top_k", "chosen"),
    [
        (0.0, 3, "abc"),
        # Relevance: 1, .8, .6, .2. Second: b has .8 · .8 - .2 · .9 = .46, c .8 · .6 - .2 · .2 = .44.
        (0.2, 2, "ab"),
        # Second: b has .4 - .45 = -.05, c .3 - .1 = .2, d .1. Third: b has -.05, d .1 - .5 · .1 = .05.
        (0.5, 2, "ac"),
        (0.5, 3, "acd"),
    ],
)
def test_diversity_is_maximal_marginal_relevance_by_the_similarities_of_a_model(diversity, top_k, chosen):
    ranked = [Keyphrase(*one, ((0, 1),)) for one in zip("abcd", (0.5, 0.4, 0.3, 0.1), strict=True)]

    def similarities(pairs):
        return [ALIKE["".join(sorted(pair))] for pair in pairs]

    options = PredictionOptions(top_k=top_k, diversity=diversity)
    found = choose(Prediction(tuple(ranked)), options, similarities).present
    assert "".join(one.text for one in found) == chosen


def test_absent_keyphrases_below_the_floor_are_given_on_request_only(prediction):
    def absent(**options):
        return [one.text for one in choose(prediction, PredictionOptions(**options)).absent]

    assert absent() == absent(top_k=5) == ["kernel methods"]
    assert absent(unsure=True) == absent(threshold=0.0) == ["kernel methods", "clove oil"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"longest": 0}, "longest number of words must be at least 1, not 0"),
        ({"shortest": 3, "longest": 2}, "shortest number of words is 3, more than the longest, 2"),
        ({"diversity": 1.5}, "diversity must be between 0 and 1, not 1.5"),
        ({"exclude": "paper"}, "exclude is a str: give a list of phrases"),
        ({"style": "novel"}, "style is 'novel': give one of author, indexer"),
    ],
)
def test_a_wrong_option_is_one_sentence(prediction, options, sentence):
    with pytest.raises(InputError, match=sentence):
        choose(prediction, PredictionOptions(**options))


def test_a_style_is_named():
    assert PredictionOptions(style=Style("indexer")).style is Style.INDEXER


TEXT = "Graph kernels compare molecules. The kernels count walks, and molecules have many walks."


class Comparer(FakePredictor):
    """Finds a phrase and a word alike where they share their first letter."""

    def similarities(self, pairs):
        return [float(one[0].lower() == other[0].lower()) for one, other in pairs]


def test_python_takes_every_option_by_its_name():
    predictor = Pipeline("fake", FakePredictor)
    [found] = predictor.predict([TEXT], exclude=["kernel"], longest=1, top_k=3)
    assert [one.text for one in found.present] == ["Graph", "compare", "molecules"]
    with pytest.raises(InputError, match="no option 'longst': choose among candidates, diversity"):
        predictor.predict([TEXT], longst=1)


def test_seed_keywords_move_up_what_is_like_them():
    predictor = Pipeline("fake", Comparer)
    [plain] = predictor.predict([TEXT], top_k=3)
    [guided] = predictor.predict([TEXT], top_k=3, seed_keywords=["walks"])
    assert plain.present[0].text != "walks" == guided.present[0].text
    with pytest.raises(InputError, match="does not compare phrases, so words cannot guide it"):
        Pipeline("fake", FakePredictor).predict([TEXT], seed_keywords=["walks"])


def test_a_prediction_is_as_diverse_as_the_model_s_own_similarities_make_it():
    predictor = Pipeline("fake", Comparer)
    options = {"top_k": 3, "diversity": 0.9}
    [plain] = predictor.predict([TEXT], top_k=9)
    [diverse] = predictor.predict([TEXT], **options)
    assert len({one.text[0].lower() for one in diverse.present}) == 3
    assert diverse.present == choose(plain, PredictionOptions(**options), predictor.similarities).present
    assert diverse.present != choose(plain, PredictionOptions(**options)).present


def test_own_phrases_that_the_model_did_not_rank_are_given_too():
    [found] = Pipeline("fake", Comparer).predict(
        [TEXT], candidates=["many walks", "Gene therapy", "x"], top_k=5
    )
    assert [one.text for one in found.present] == ["many walks"]
    assert [(one.text, one.score) for one in found.absent] == [("Gene therapy", 1.0), ("x", 0.0)]


def test_a_warning_travels_with_the_prediction():
    english = FakePredictor()
    object.__setattr__(english, "languages", frozenset({"en"}))
    text = "Les noyaux de graphes comparent des molécules, et les graphes aussi."
    [found] = Pipeline("fake", lambda: english).predict([text])
    assert [warning.split(";")[0] for warning in found.warnings] == ["This text is French"]


def test_a_warning_is_given_once_whatever_the_number_of_models_between():
    inner = Pipeline("multilingual", FakePredictor)
    predictor = Pipeline("default", FakePredictor, {"multilingual": lambda: inner})
    text = (
        "Les noyaux de graphes comparent des molécules, et les graphes aussi.\n\nRéférences\n\n"
        "[1] Dupont, J. 2010. Les forêts. Revue de géographie, 12(3), 1-10.\n"
        "[2] Durand, P. 2012. Les cultures. Revue de géographie, 14(3), 1-10.\n"
    )
    [found] = predictor.predict([text])
    assert [warning.partition(" (")[0] for warning in found.warnings] == ["The references"]
