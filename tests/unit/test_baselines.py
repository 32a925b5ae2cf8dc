"""The baselines: an obvious winner each, spans that index the text, and bad input."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.candidates.chunks import Candidate
from kpdemo.candidates.noun_phrases import locate, noun_ngrams, noun_phrases
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import InputError, ModelLoadError, TrainingError
from kpdemo.evaluation import baselines
from kpdemo.evaluation.baselines import (
    BASELINES,
    DocumentFrequency,
    FirstPhrases,
    MultipartiteRank,
    PositionRank,
    TextRank,
    TfIdf,
    Yake,
    load_document_frequency,
)
from kpdemo.text import StemmedText, phrase_key
from kpdemo.training.frequency import build_document_frequency, train_frequency
from kpdemo.types import Document

ABSTRACT = Document(
    title="Graph kernels for protein function prediction",
    body=(
        "Protein function prediction is an open problem in biology. We compare graph kernels with "
        "random-walk features. Our graph kernels need little memory, and protein function prediction "
        "becomes more accurate on three public collections."
    ),
)


def mine_given(*keys):
    """Candidates that a test chooses, found in the document."""

    def mine(document):
        return locate(document, keys)

    return mine


def texts(prediction):
    return [keyphrase.text for keyphrase in prediction.present]


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_finds_the_subject_and_where_it_stands(name):
    predictor = BASELINES[name]()
    [prediction] = predictor.predict([ABSTRACT], top_k=5)
    assert (predictor.name, predictor.device) == (name, "cpu")
    keys = [phrase_key(keyphrase.text) for keyphrase in prediction.present]
    assert "protein function predict" in keys
    scores = [keyphrase.score for keyphrase in prediction.present]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert prediction.absent == ()
    for keyphrase in prediction.present:
        assert StemmedText(ABSTRACT).contains(keyphrase.text)
        for start, end in keyphrase.spans:
            assert phrase_key(ABSTRACT.text[start:end]) == phrase_key(keyphrase.text)


@pytest.mark.parametrize("name", BASELINES)
def test_a_phrase_carries_all_its_places(name):
    [prediction] = BASELINES[name]().predict([ABSTRACT])
    [subject] = [k for k in prediction.present if phrase_key(k.text) == "protein function predict"]
    assert [ABSTRACT.text[start:end].lower() for start, end in subject.spans] == [
        "protein function prediction"
    ] * 3


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize(
    "text", ["A kernel", "Kernels, kernels.", "It is.", "a a a a", "x <b>y</b> 😀", "I " * 300]
)
def test_tiny_and_odd_texts_are_no_trouble(name, text):
    [prediction] = BASELINES[name]().predict([text])
    assert all(text[start:end].strip() for keyphrase in prediction.present for start, end in keyphrase.spans)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("text", ["", " \n ", "123 ..."])
def test_a_text_without_words_is_refused(name, text):
    with pytest.raises(InputError):
        BASELINES[name]().predict([ABSTRACT, text])


def test_a_prediction_does_not_depend_on_its_neighbours():
    predictor = BASELINES["tfidf"]()
    together = predictor.predict([ABSTRACT, "Optics of thin films."])
    assert together == [*predictor.predict([ABSTRACT]), *predictor.predict(["Optics of thin films."])]


def test_how_many_is_exact_ten_or_by_threshold():
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
    predictor = FirstPhrases(mine_given(*map(phrase_key, words.split())))

    def count(**options):
        return len(predictor.predict([words], **options)[0].present)

    assert count() == 10
    assert count(top_k=3) == 3
    assert count(top_k=50) == 12
    assert count(threshold=0.99) == 1
    assert count(threshold=0.0, top_k=3) == 3
    assert count(threshold=0.0) == 12
    with pytest.raises(InputError, match="at least 1, not 0"):
        count(top_k=0)


def test_first_takes_the_text_in_order():
    document = Document(title="Beta rays", body="Alpha rays follow.")
    [prediction] = FirstPhrases(mine_given("alpha ray", "beta ray", "ray")).predict([document])
    assert texts(prediction) == ["Beta rays", "rays", "Alpha rays"]


def test_tfidf_weighs_occurrences_by_rarity():
    # idf = ln(101 / (1 + df)): common ln(101/51) = 0.683, twice 1.366; rare (unlisted, as in 20/4 = 5)
    # ln(101/6) = 2.823; usual ln(101/21) = 1.571
    frequency = DocumentFrequency(documents=100, minimum=20, terms={"common": 50, "usual": 20})
    predictor = TfIdf(mine_given("common", "usual", "rare"), lambda: frequency)
    [prediction] = predictor.predict(["common usual rare common"])
    assert texts(prediction) == ["rare", "usual", "common"]
    assert [k.score for k in prediction.present] == pytest.approx(
        [1.0, 1.571 / 2.823, 1.366 / 2.823], abs=1e-3
    )


def test_tfidf_scores_nothing_when_every_document_has_the_term():
    predictor = TfIdf(mine_given("word"), lambda: DocumentFrequency(10, 2, {"word": 10}))
    assert predictor.predict(["word word"])[0].present[0].score == 0.0


def test_textrank_prefers_the_word_in_the_middle():
    # a star: hub stands beside each of the others, they only beside it
    [prediction] = TextRank(mine_given("hub", "one", "two", "three")).predict(["one hub two. hub three."])
    assert texts(prediction)[0] == "hub"


def test_textrank_links_nothing_across_title_and_body():
    [prediction] = TextRank(mine_given("left", "right")).predict([Document(title="left", body="right")])
    assert [k.score for k in prediction.present] == pytest.approx([1.0, 1.0])


def test_positionrank_prefers_what_comes_early():
    document = Document("Alpha grows. Beta grows. Gamma grows.")
    predictor = PositionRank(mine_given("alpha", "beta", "gamma"))
    assert texts(predictor.predict([document])[0]) == ["Alpha", "Beta", "Gamma"]
    scores = {candidate.key: value for candidate, value in predictor.score(document)}
    # All three are linked alike; the jump lands on them as 1, 1/4 and 1/7, for each full stop is a place.
    jump = 1 / (1 + 1 / 4 + 1 / 7)
    assert scores["alpha"] == pytest.approx((0.15 * jump + 0.85 / 2) / (1 + 0.85 / 2), abs=1e-4)
    assert sum(scores.values()) == pytest.approx(1)


def test_positionrank_has_no_phrases_of_more_than_three_words():
    document = Document("Deep graph kernel learning. Graph kernel.")
    mine = mine_given("deep graph kernel learn", "graph kernel")
    assert texts(PositionRank(mine).predict([document])[0]) == ["graph kernel"]


def test_multipartite_joins_the_variants_of_a_topic_and_prefers_the_first():
    document = Document(body="graph kernels help proteins and graph kernel methods help cells")
    mine = mine_given("graph kernel", "graph kernel method", "protein", "cell")
    [prediction] = MultipartiteRank(mine).predict([document])
    scores = {phrase_key(keyphrase.text): keyphrase.score for keyphrase in prediction.present}
    assert texts(prediction)[0] == "graph kernels"
    assert scores["graph kernel"] > scores["graph kernel method"]


def test_closeness_counts_words_from_the_end_of_the_earlier_phrase():
    # words: 0 a, 1 b, 2 x, 3 c, 4 x, 5 a, 6 b. "a b" at 0 and 5 (two words), c at 3.
    # 0 to 3: 3 - 0 - 1 = 2; 5 to 3: 5 - 3 - 0 = 2. Sum 1/2 + 1/2.
    [pair, single] = locate(Document(body="a b x c x a b"), ["a b", "c"])
    weights = baselines._closeness([pair, single], [[0, 5], [3]])
    assert weights[0][1] == weights[1][0] == pytest.approx(1.0)


def test_the_topics_are_those_of_the_threshold():
    # Jaccard distances: graph kernel / graph kernel method 1/3, graph kernel / graph 1/2,
    # graph kernel method / graph 2/3, anything / cell 1. Average linkage joins the first three below .74.
    phrases = ["graph kernel", "graph kernel method", "graph", "cell"]
    topics = baselines._topics([Candidate(key, ((0, 1),)) for key in phrases], 0.74)
    assert topics[0] == topics[1] == topics[2] != topics[3]


def test_only_the_most_frequent_candidates_enter_a_graph(monkeypatch):
    monkeypatch.setattr(baselines, "MOST_CANDIDATES", 2)
    [prediction] = MultipartiteRank(mine_given("one", "two", "three")).predict(["one two three three"])
    assert sorted(texts(prediction)) == ["one", "three"]


def test_yake_turns_its_scores_round():
    from yake import KeywordExtractor

    best = KeywordExtractor(lan="en", n=3, top=1).extract_keywords(ABSTRACT.text)[0][0]
    [prediction] = Yake().predict([ABSTRACT])
    assert phrase_key(texts(prediction)[0]) == phrase_key(best)


def test_noun_phrases_are_the_longest_and_join_over_hyphens():
    document = Document(body="We present a fast multi-agent system for road traffic.")
    found = [document.text[slice(*c.spans[0])] for c in noun_phrases(document, load_tagger())]
    assert found == ["fast multi-agent system", "road traffic"]


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_no_baseline_cuts_a_word_at_a_hyphen_or_an_ampersand(name):
    text = (
        "We study cross-lingual transfer and R&D budgets. A graph-based method solves Navier–Stokes "
        "equations. Long-term memory of AT&T, as state-of-the-art networks have it."
    )
    [prediction] = BASELINES[name]().predict([text], top_k=50)
    found = [keyphrase.text for keyphrase in prediction.present]
    assert any("cross-lingual transfer" in phrase for phrase in found)
    for phrase in found:
        assert any(f" {phrase}{end}" in f" {text}" for end in " .,"), phrase


@pytest.mark.parametrize("name", sorted(BASELINES.keys() - {"tfidf"}))
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "Le de\u0301pute\u0301-maire de\u0301fend un savoir-faire."),
        ("fr", "Un sous-marin étudie la physico-chimie marine. La R&D, la mise-en-scène et le savoir-faire."),
        (
            "de",
            "Das E-Mail-Adressbuch und die Navier-Stokes-Gleichungen. Das n-Gramm-Modell, ein UV-Filter.",
        ),
    ],
)
def test_in_other_languages_too_no_baseline_cuts_a_word_at_a_hyphen(name, language, text):
    [prediction] = BASELINES[name]().predict([Document(text, language=language)], top_k=50)
    found = [keyphrase.text for keyphrase in prediction.present]
    assert any("-" in phrase for phrase in found)
    for phrase in found:
        assert any(f" {phrase}{end}" in f" {text}" for end in " .,"), phrase


def test_a_hyphen_of_grammar_makes_no_compound():
    document = Document("Le modèle montre-t-il la structure, c'est-à-dire la forme ?", language="fr")
    found = {document.text[start:end] for c in noun_ngrams(document, load_tagger()) for start, end in c.spans}
    assert found == {"modèle", "modèle montre", "montre", "structure", "forme"}


def test_noun_ngrams_have_at_most_three_words_and_end_in_a_noun():
    document = Document(body="a fast parallel graph kernel")
    found = {document.text[slice(*c.spans[0])] for c in noun_ngrams(document, load_tagger())}
    assert {"graph", "kernel", "graph kernel", "parallel graph kernel"} <= found
    assert not any(phrase.endswith(("fast", "parallel")) or phrase.count(" ") > 2 for phrase in found)


def test_every_place_of_a_key_is_found_also_with_a_hyphen_but_not_across_title_and_body():
    document = Document(title="Real time data", body="real-time data. Real times")
    [candidate] = locate(document, ["real time"])
    assert [document.text[start:end] for start, end in candidate.spans] == [
        "Real time",
        "real-time",
        "Real times",
    ]
    assert locate(document, ["data real"]) == []
    assert locate(document, []) == []


@given(words=st.lists(st.sampled_from(["graph", "kernels", "-", ".", "fast", "walks"]), max_size=30))
def test_located_spans_are_all_places_in_order(words):
    document = Document(body=" ".join(words))
    stems = [phrase_key(word) for word in words if word != "-"]
    expected = sum(stems[i : i + 2] == ["graph", "kernel"] for i in range(len(stems)))
    found = locate(document, ["graph kernel"])
    assert sum(len(candidate.spans) for candidate in found) == expected
    assert all(list(candidate.spans) == sorted(candidate.spans) for candidate in found)


def collection():
    """Of quality of service as many as it takes for a term to be kept, and two on optics."""
    service = [Document(title="A study", body="the quality of service, the data mining") for _ in range(20)]
    return [*service, Document(body="the optics of lenses"), Document(body="the optics")]


def test_document_frequencies_count_documents_not_occurrences():
    frequency = build_document_frequency(collection())
    assert frequency.documents == 22
    assert frequency.terms["the"] == 22
    assert frequency.terms["studi"] == 20
    assert "optic" not in frequency.terms
    assert not any("servic the" in term for term in frequency.terms)  # a comma stands between


def test_a_term_may_hold_a_common_word_inside_only():
    # "the" is in every document, "of" in most
    documents = [*collection(), *[Document(body="the thing") for _ in range(12)]]
    terms = build_document_frequency(documents).terms
    assert terms["qualiti of servic"] == 20
    assert "the qualiti" not in terms


def test_a_rarer_term_has_the_higher_idf():
    frequency = DocumentFrequency(100, 20, {"often": 90, "seldom": 20})
    assert frequency.idf("unlisted") > frequency.idf("seldom") > frequency.idf("often") > 0


def test_frequencies_survive_the_file_byte_for_byte(tmp_path):
    first, second = tmp_path / "first.json.gz", tmp_path / "second.json.gz"
    documents = [Document(body="graph kernels and graph walks")] * 25
    frequency = train_frequency(documents, first)
    train_frequency(documents, second)
    assert load_document_frequency(first) == frequency
    assert first.read_bytes() == second.read_bytes()


def test_frequencies_need_documents():
    with pytest.raises(TrainingError, match="no documents"):
        build_document_frequency([])
    with pytest.raises(TrainingError, match="No term is in 20 of the 1 documents"):
        build_document_frequency([Document(body="one")])


def test_a_missing_or_damaged_table_is_explained(tmp_path):
    with pytest.raises(ModelLoadError, match="train frequency"):
        load_document_frequency(tmp_path / "none.json.gz")
    damaged = tmp_path / "damaged.json.gz"
    damaged.write_bytes(gzip.compress(b'{"documents": 3}'))
    with pytest.raises(ModelLoadError, match="damaged"):
        load_document_frequency(damaged)
    damaged.write_bytes(b"not gzip")
    with pytest.raises(ModelLoadError, match="damaged"):
        load_document_frequency(damaged)


def test_the_shipped_table_is_small_and_knows_the_field():
    frequency = load_document_frequency()
    assert frequency.minimum >= 20
    assert min(frequency.terms.values()) >= frequency.minimum
    assert frequency.terms["the"] > frequency.terms["neural network"] > frequency.terms["qualiti of servic"]


ABSTRACTS = {
    "fr": "Les réseaux électriques sont fragiles. Nous étudions la stabilité des réseaux électriques.",
    "zh": "本文研究神经网络的稳定性。神经网络的稳定性与学习算法有关，学习算法很多。",
    "ko": "본 논문은 기계 학습을 연구한다. 기계 학습은 영상 복원에 쓰인다.",
    "ar": "تدرس هذه الورقة الشبكات العصبية. تتعلم الشبكات العصبية من النصوص.",
}
BEST = {"fr": "réseaux électriques", "zh": "神经网络", "ko": "기계 학습", "ar": "الشبكات العصبية"}


@pytest.mark.parametrize("language", ABSTRACTS)
@pytest.mark.parametrize("name", BASELINES)
def test_baselines_read_other_languages(name, language):
    baseline = BASELINES[name]()
    [prediction] = baseline.predict([ABSTRACTS[language]])
    assert prediction.language == language
    if name == "yake" and language not in baseline.languages:
        return  # it takes words of two letters, which most Korean and Chinese ones have, for stop words
    found = [keyphrase.text for keyphrase in prediction.present]
    assert any(BEST[language] in phrase for phrase in found[:5]), found
    for keyphrase in prediction.present:
        for start, end in keyphrase.spans:
            assert phrase_key(ABSTRACTS[language][start:end], language) == phrase_key(
                keyphrase.text, language
            )


def test_stop_words_part_candidates():
    [prediction] = BASELINES["first"]().predict([ABSTRACTS["fr"]])
    assert [keyphrase.text for keyphrase in prediction.present][:2] == ["réseaux électriques", "fragiles"]


def test_baselines_tell_for_which_languages_they_were_made():
    assert BASELINES["textrank"]().languages >= {"en", "fr", "zh", "ko", "ja", "ar"}
    assert BASELINES["yake"]().languages & {"fr", "zh", "ko", "th"} == {"fr"}
    assert BASELINES["tfidf"]().languages == {"en"}
