"""The ranker of RAMKG: candidates of any language, what is known of them, and a training from end to end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from kpdemo.candidates.word_runs import mine_runs, run_key
from kpdemo.errors import ModelLoadError, PassageIndexError, TrainingError
from kpdemo.identity import write_sums
from kpdemo.predictors import load_predictor
from kpdemo.ramkg.index_building import build_index
from kpdemo.ramkg.passage_encoder import PassageReader, Projection, save_reader
from kpdemo.ramkg.predictor import load_ranking_predictor
from kpdemo.ramkg.ranker import (
    OWN_FEATURES,
    RETRIEVED_FEATURES,
    Help,
    Knowledge,
    Lexicon,
    Phrase,
    Ranker,
    RankerModel,
    count_terms,
    learn_translations,
    list_candidates,
    load_ranker,
    rank_input,
    save_ranker,
)
from kpdemo.ramkg.retriever import PassageEncoder, load_encoder
from kpdemo.ramkg.rgit import Augmented
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.extractor import SimckpPredictor
from kpdemo.training.multilingual.ranker import (
    RankerTraining,
    learn_lexicon,
    list_documents,
    train_ranker,
)
from kpdemo.types import Document
from tests.tiny_ranker import tiny_networks

CPU = torch.device("cpu")
FRENCH = ("réseau de neurones", "traduction automatique", "corps humain", "droit pénal", "analyse musicale")
ENGLISH = ("neural network", "machine translation", "human body", "criminal law", "musical analysis")
FILLER = "Cette thèse étudie {0} dans plusieurs cas. La méthode montre que {0} mérite une attention nouvelle."


def theses(count: int = 60) -> list[Document]:
    """Each about one subject, which is its keyphrase; the odd ones name it in English only."""
    return [
        Document(
            FILLER.format(FRENCH[number % 5]) if number % 2 == 0 else in_english_only(number % 5),
            id=str(number),
            keyphrases=(FRENCH[number % 5],),
            language="fr",
        )
        for number in range(count)
    ]


def in_english_only(subject: int) -> str:
    return f"{FILLER.format('le sujet')} {ENGLISH[subject]}"


def augmented(documents: Sequence[Document]) -> list[Augmented]:
    return [
        Augmented(document, ((ENGLISH[int(document.id) % 5],),), (0.5 + 0.05 * (int(document.id) % 9),))
        for document in documents
    ]


@pytest.fixture(scope="module")
def networks(tmp_path_factory) -> tuple[SimckpPredictor, PassageReader, Path]:
    folder = tmp_path_factory.mktemp("networks")
    texts = [*FRENCH, *(document.text for document in theses()), *ENGLISH]
    return *tiny_networks(texts, folder, seed=0), folder / "extractor"


@pytest.fixture(scope="module")
def reader(networks) -> PassageReader:
    return networks[1]


@pytest.fixture(scope="module")
def model(networks, tmp_path_factory) -> RankerModel:
    extractor, reader, _ = networks
    documents = theses()
    listed = list_documents(extractor, documents)
    known = [(document, (ENGLISH[int(document.id) % 5],)) for document in documents]
    knowledge = Knowledge.of(reader, learn_lexicon(known, workers=1))
    config = RankerTraining(epochs=30, minimum=1)
    folder = tmp_path_factory.mktemp("ranker")
    helped, _ = train_ranker(listed, augmented(documents), knowledge, config, folder / "with", retrieval=True)
    alone = [Augmented(document) for document in documents]
    base, _ = train_ranker(listed, alone, knowledge, config, folder / "without", retrieval=False)
    return RankerModel(extractor, knowledge, helped, base, 1, frozenset({"fr"}), near=0.2)


@pytest.fixture(scope="module")
def stored(model, networks, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stored") / "ranker"
    save_ranker(folder, model, networks[2], name="tiny", card="# tiny\n")
    return folder


@pytest.fixture(scope="module")
def index(stored, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "passages"
    passages = [
        Document(f"{text} {FRENCH[number]}", id=text, keyphrases=(text,), language="en")
        for number, text in enumerate(ENGLISH)
    ]
    encoder = load_encoder(EncoderConfig(str(stored)), device="cpu")
    build_index(enumerate(passages, start=1), folder, encoder, IndexConfig(), name="passages")
    return folder


def test_a_french_phrase_keeps_its_small_words_and_never_begins_with_one():
    document = Document(
        "Le système de gestion, d'abord. Un système de gestion.", title="L'analyse", language="fr"
    )
    written = {document.text[slice(*c.spans[0])]: len(c.spans) for c in mine_runs(document)}
    assert written["système de gestion"] == 2
    assert written["analyse"] == 1
    assert not any(text.lower().startswith(("le ", "un ", "de ", "d'")) for text in written)
    assert not any("," in text for text in written)


def test_chinese_candidates_are_words_without_spaces():
    document = Document("采用支持向量机进行文本分类的方法。", language="zh")
    assert run_key("文本分类", "zh") in {candidate.key for candidate in mine_runs(document)}


@given(st.text(max_size=200), st.sampled_from(["fr", "zh", "ko", "de"]))
def test_every_span_of_a_candidate_has_its_key(text, language):
    document = Document(text, language=language)
    for candidate in mine_runs(document):
        start, end = candidate.spans[0]
        assert 0 <= start < end <= len(text)
        if language in ("fr", "de"):  # segmenters cut a phrase by itself otherwise than in its sentence
            assert run_key(text[start:end], language) == candidate.key


def test_translations_are_those_of_model_1():
    pairs = [(["house", "red"], ["maison", "rouge"]), (["house"], ["maison"]), (["red"], ["rouge"])] * 3
    found = learn_translations(pairs)
    assert max(found["house"], key=found["house"].__getitem__) == "maison"
    assert found["house"]["maison"] > 0.9 > 0.1 > found["house"].get("rouge", 0)


def test_what_few_documents_have_is_no_term(tmp_path):
    gold = [("corp", "Corps")]
    terms = count_terms([(["corp", "rare"], gold), (["corp"], gold), (["corp"], [("corp", "corps")])])
    assert (terms.keyphrases, terms.holding) == ({"corp": 3}, {"corp": 3})
    assert terms.written == {"corp": "Corps"}
    path = tmp_path / "lexicon.json.gz"
    lexicon = Lexicon({"fr": terms}, {"fr": {"bodi": {"corp": 0.5}}})
    lexicon.save(path)
    first = path.read_bytes()
    Lexicon.load(path).save(path)
    assert path.read_bytes() == first
    assert Lexicon.load(path) == lexicon


def test_what_was_stored_judges_in_the_order_of_what_was_counted(reader, tmp_path):
    gold = [(key, key) for key in ("zinc", "atom", "moon", "bath")]
    terms = count_terms([(["x"], gold)] * 3)
    alike = {"zinc": 0.25, "bath": 0.25, "moon": 0.25, "atom": 0.25}
    counted = Lexicon({"fr": terms}, {"fr": {run_key("body", "en"): alike}})
    counted.save(tmp_path / "lexicon.json.gz")
    document, help = Document("Une these.", language="fr"), [Help("body", 0, 1.0)]
    orders = [
        [phrase.key for phrase in rank_input(document, (), Knowledge.of(reader, lexicon), help).phrases]
        for lexicon in (counted, Lexicon.load(tmp_path / "lexicon.json.gz"))
    ]
    assert orders == [["atom", "bath", "moon", "zinc"]] * 2


def test_a_term_that_the_text_has_in_other_words_is_never_absent(reader):
    gold = [("covid 19", "COVID-19"), ("zinc", "zinc")]
    knowledge = Knowledge.of(reader, Lexicon({"fr": count_terms([(["x"], gold)] * 3)}, {}))
    ranked = rank_input(Document("La covid-19 en France.", language="fr"), (), knowledge)
    assert [phrase.text for phrase in ranked.phrases] == ["zinc"]


def test_of_a_nest_each_knows_how_far_it_is_behind_the_others(reader):
    knowledge = Knowledge.of(reader, Lexicon({}, {}))
    nest = [
        Phrase("a b", "a b", ((0, 3),), 0.9),
        Phrase("a", "a", ((0, 1),), 0.4),
        Phrase("c", "c", ((4, 5),), 0.1),
    ]
    own = rank_input(Document("a b c d e", language="fr"), nest, knowledge).own
    longer, shorter = (own[:, OWN_FEATURES.index(f"behind {name}")] for name in ("longer", "shorter"))
    assert longer == pytest.approx([0, 0.5, 0])
    assert shorter == pytest.approx([-0.5, 0, 0])


def test_without_help_nothing_is_said_of_retrieval(model):
    document = theses(1)[0]
    [phrases] = list_candidates(model.extractor, [document])
    ranked = rank_input(document, phrases, model.knowledge)
    assert not ranked.retrieved.any()
    assert set(ranked.nearest) == {-1}
    helped = rank_input(document, phrases, model.knowledge, [Help(ENGLISH[0], 0, 0.9)])
    assert helped.retrieved[:, RETRIEVED_FEATURES.index("best passage")] == pytest.approx(0.9)


@pytest.fixture
def small_chance(monkeypatch):
    """Vectors of few numbers are near to one another by chance: tell what is on the subject all the same."""
    monkeypatch.setattr("kpdemo.ramkg.predictor.chance_score", lambda *_: 0.2)


@pytest.mark.usefixtures("small_chance")
def test_a_ranker_finds_by_its_passage_what_the_text_does_not_hold(stored, index):
    predictor = load_ranking_predictor(stored, index=index, device="cpu")
    text = in_english_only(0)
    [answer] = predictor.predict_with_passages([Document(text, language="fr")])
    assert answer.passages[0].keyphrases == ("neural network",)
    assert "réseau de neurones" in [keyphrase.text for keyphrase in answer.prediction.absent]
    [found] = [one for one in answer.prediction.absent if one.text == "réseau de neurones"]
    assert found.evidence == ("neural network",)
    assert found.score > 0.5
    assert all(0 <= one.score <= 1 for one in answer.prediction.absent)
    [plain] = predictor.predict([Document(text, language="fr")])
    assert plain == answer.prediction


@pytest.mark.usefixtures("small_chance")
def test_a_passage_on_another_subject_is_no_evidence_and_changes_no_score(stored, index, monkeypatch):
    document = Document(in_english_only(0), language="fr")
    related = load_ranking_predictor(stored, index=index, device="cpu").predict([document], top_k=5)[0]
    monkeypatch.setattr("kpdemo.ramkg.predictor.chance_score", lambda *_: 1.0)
    predictor = load_ranking_predictor(stored, index=index, device="cpu")
    [answer] = predictor.predict_with_passages([document], top_k=5)
    assert not any(map(answer.related, answer.passages))
    found = (*answer.prediction.present, *answer.prediction.absent)
    assert not any(one.evidence for one in found)
    assert [(one.text, one.score) for one in found] == [
        (one.text, one.score) for one in (*related.present, *related.absent)
    ]


def test_a_ranker_does_not_go_on_in_the_folder_of_other_documents_or_passages(model, tmp_path):
    documents = theses(20)
    listed, helped = list_documents(model.extractor, documents), augmented(documents)

    def train(examples: Sequence[Augmented]) -> None:
        train_ranker(listed, examples, model.knowledge, RankerTraining(epochs=1), tmp_path, retrieval=True)

    train(helped)
    train(helped)  # is over already
    others = [
        [replace(example, scores=(0.1,)) for example in helped],
        [replace(example, retrieved=(("noise",),)) for example in helped],
        [replace(example, document=replace(example.document, body="Autre.")) for example in helped],
    ]
    for examples in others:
        with pytest.raises(TrainingError, match="other settings"):
            train(examples)


def test_what_training_never_varied_is_not_blown_up():
    features = np.random.default_rng(0).normal(size=(50, len(OWN_FEATURES))).astype(np.float32)
    features[:, 0] = 0.9
    ranker = Ranker(retrieval=False)
    ranker.standardise(features)
    other = features.copy()
    other[:, 0] = 0.5
    scores = ranker(torch.from_numpy(features)), ranker(torch.from_numpy(other))
    assert (scores[0] - scores[1]).abs().max() < 0.5


def test_a_stored_ranker_answers_as_before_and_opens_by_its_folder(model, stored):
    loaded = load_ranker(stored, device=CPU)
    document = theses(1)[0]
    ranked, again = (
        rank_input(document, list_candidates(one.extractor, [document])[0], one.knowledge)
        for one in (model, loaded)
    )
    assert model.base is not None
    assert loaded.base is not None
    judged, judged_again = (
        dict(zip([phrase.key for phrase in one.phrases], base.probabilities(one).tolist(), strict=True))
        for one, base in ((ranked, model.base), (again, loaded.base))
    )
    assert judged_again == pytest.approx(judged, abs=0.02)
    [prediction] = load_predictor(stored, device="cpu").predict([document], top_k=2)
    assert len(prediction.present) == 2


def test_exactly_as_many_as_asked_for_and_none_below_the_threshold(stored):
    predictor = load_ranking_predictor(stored, index=None, device="cpu")
    [answer] = predictor.predict(theses(1), top_k=3)
    assert (len(answer.present), len(answer.absent)) == (3, 3)
    [answer] = predictor.predict(theses(1), threshold=0.5)
    assert all(one.score >= 0.5 for one in (*answer.present, *answer.absent))


def test_a_document_is_encoded_once_for_its_passages_and_both_answers(stored, index):
    predictor = load_ranking_predictor(stored, index=index, device="cpu")
    [document] = theses(1)
    expected = predictor.predict_with_passages([document])
    assert expected[0].passages
    predictor = load_ranking_predictor(stored, index=index, device="cpu")
    reader = predictor.model.knowledge.reader
    own = len(reader.tokenizer.encode(encoder_text(document)).ids)
    widths = []
    reader.lower.register_forward_pre_hook(
        lambda _, __, given: widths.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    assert predictor.predict_with_passages([document]) == expected
    assert widths.count(min(own, reader.config.length)) == 1


def test_of_the_mean_over_tokens_what_is_due_to_their_number_is_taken_away(reader):
    texts = [" ".join([FILLER.format(word)] * 8) for word in FRENCH]
    measured = replace(reader, projection=Projection(reader.lower.config.hidden_size, 64, 100))

    def off_the_longest(tokens: int) -> float:
        cut = replace(measured, config=replace(reader.config, length=tokens))
        return float(np.abs(cut.pool(texts).mean(axis=0) - measured.pool(texts).mean(axis=0)).max())

    before = {tokens: off_the_longest(tokens) for tokens in (8, 32, 63)}
    measured.measure_lengths(texts)
    assert min(before.values()) > 0.02
    assert all(off_the_longest(tokens) == pytest.approx(0, abs=1e-5) for tokens in before)


def test_an_index_of_another_encoder_is_refused(stored, index, reader, tmp_path):
    other = replace(reader, projection=Projection(64, 64, 100))
    save_reader(tmp_path / "other", other, AutoTokenizer.from_pretrained(stored), card="")
    folder = tmp_path / "index"
    encoder = load_encoder(EncoderConfig(str(tmp_path / "other")), device="cpu")
    assert isinstance(encoder, PassageEncoder)
    passages = [(1, Document("a passage", id="1", keyphrases=("a",)))]
    build_index(passages, folder, encoder, IndexConfig(), name="passages")
    predictor = load_ranking_predictor(stored, index=folder, device="cpu")
    with pytest.raises(PassageIndexError, match="was built with the encoder"):
        predictor.predict(theses(1))


def test_a_damaged_lexicon_is_told(stored, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in stored.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / "lexicon.json.gz").write_bytes(b"nothing")
    with pytest.raises(ModelLoadError, match="damaged"):
        load_ranker(copy, device=CPU)
    sums = json.loads((copy / "config.json").read_text())
    assert sums["kind"] == "ramkg-ranker"


def test_a_korean_phrase_ends_where_a_particle_stands():
    document = Document("본 논문은 점 확산 함수를 이용한 자동초점 기법을 제안한다.", language="ko")
    written = {document.text[slice(*candidate.spans[0])] for candidate in mine_runs(document)}
    assert "점 확산 함수" in written
    assert not any("은 " in text or text.endswith("를") for text in written)


def test_a_language_nothing_is_known_of_is_ranked_by_its_text(stored):
    predictor = load_ranking_predictor(stored, index=None, device="cpu")
    [answer] = predictor.predict([Document(theses(1)[0].body, language="de")])
    assert answer.present[0].score > 0.01
    assert answer.absent == ()


def test_a_ranker_that_does_not_tell_which_passages_are_near_is_damaged(stored, model, tmp_path):
    folder = shutil.copytree(stored, tmp_path / "ranker")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config.pop("near") == model.near
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_sums(folder)
    with pytest.raises(ModelLoadError, match=r"cannot be read \('near'\): restore the folder"):
        load_ranker(folder, device=torch.device("cpu"))
