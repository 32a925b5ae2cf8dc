"""Models by name."""

import pickle
import re
import sys
from threading import Barrier, Thread

import pytest

from kpdemo.candidates.noun_phrases import stop_words
from kpdemo.errors import InputError, LanguageError, ModelLoadError
from kpdemo.evaluation import baselines
from kpdemo.pipeline import Pipeline
from kpdemo.predictors import BASELINES, available_models, load_predictor
from kpdemo.routing import DEFAULT_MODEL, READ_ALL, latin_documents
from kpdemo.types import Document
from tests.fakes import FakePredictor


def test_the_default_comes_first_and_all_names_open():
    assert next(iter(available_models())) == DEFAULT_MODEL
    assert set(BASELINES) <= set(available_models())
    assert set(BASELINES) == {*baselines.BASELINES, "embedding"}
    assert [load_predictor(name).name for name in available_models()] == list(available_models())


def test_an_unknown_name_lists_the_known_ones():
    known = "default, multilingual, english, indexer, first"
    with pytest.raises(ModelLoadError, match=f"no model 'gpt': choose one of {known}"):
        load_predictor("gpt")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with predictors, and without."""
    (tmp_path / "own.py").write_text(
        "from tests.fakes import FakePredictor\nTEXT = 'text'\ndef make(): return FakePredictor()\n"
        "def nothing(): pass\nclass Half: name = 'half'\n"
    )
    (tmp_path / "broken.py").write_text("import not_installed\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("own", None)


@pytest.mark.usefixtures("own")
def test_a_predictor_of_another_module_is_opened_by_the_name_of_its_factory():
    predictor = load_predictor("own:make")
    expected = FakePredictor().predict(["Graph kernels compare molecules."])
    assert predictor.name == "own:make"
    assert predictor.predict(["Graph kernels compare molecules."]) == expected
    assert pickle.loads(pickle.dumps(predictor)).predict(["Graph kernels compare molecules."]) == expected


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("other:make", r"'other:make' cannot be imported \(No module named 'other'\): check its name"),
        ("broken:make", r"'broken:make' cannot be imported \(No module named 'not_installed'\)"),
        ("own:made", r"The module 'own' has no 'made': check the model 'own:made'\."),
        ("own:TEXT", r"'own:TEXT' is a str, which cannot be called: name a class or a function"),
    ],
)
def test_a_factory_that_is_not_there_is_told_at_once(name, problem):
    with pytest.raises(ModelLoadError, match=problem):
        load_predictor(name)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(("name", "made"), [("own:nothing", "None"), ("own:Half", "a Half")])
def test_what_a_factory_returns_must_be_a_predictor(name, made):
    with pytest.raises(ModelLoadError, match=f"'{name}' returned {made}, which is no predictor: return an"):
        load_predictor(name).predict(["Graph kernels compare molecules."])


def test_a_folder_goes_before_a_factory_of_the_same_name(own, monkeypatch):
    (own / "own:make").mkdir()
    monkeypatch.chdir(own)
    with pytest.raises(ModelLoadError, match="No model at own:make"):
        load_predictor("own:make").predict(["Graph kernels compare molecules."])


@pytest.mark.parametrize("model", [None, 3, ["default"]])
def test_what_is_no_name_is_refused_in_a_sentence(model):
    with pytest.raises(InputError, match=r"must be a name or the path of a folder, not .*: leave it out"):
        load_predictor(model)


def test_without_yakes_package_its_baseline_is_not_offered_and_other_languages_are_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "yake", None)
    stop_words.cache_clear()
    assert "yake" not in available_models()
    with pytest.raises(ModelLoadError, match=r"There is no model 'yake': choose one of default, "):
        load_predictor("yake")
    [answer] = load_predictor("first").predict([Document("Les noyaux de graphes comparent.", language="fr")])
    stop_words.cache_clear()
    assert answer.present


def test_a_folder_without_a_model_is_found_out_at_the_first_prediction(tmp_path):
    predictor = load_predictor(tmp_path)
    with pytest.raises(ModelLoadError, match="No model at"):
        predictor.predict(["Graph kernels compare molecules."])


def test_a_model_is_loaded_once_however_many_ask():
    loads = []
    barrier = Barrier(8)

    def load():
        loads.append(1)
        return FakePredictor()

    predictor = Pipeline("lazy", load)

    def ask():
        barrier.wait()
        predictor.predict(["Graph kernels compare molecules."])

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1


@pytest.mark.parametrize(
    "text",
    [
        "تستخدم الشبكات العصبية في معالجة اللغة الطبيعية والتعرف على الكلام.",
        "רשתות נוירונים משמשות לעיבוד שפה טבעית ולזיהוי דיבור.",
    ],
)
def test_a_refusal_names_models_that_read_the_script(text):
    with pytest.raises(LanguageError) as refused:
        latin_documents([text])
    for name in READ_ALL:
        assert name in str(refused.value)
        assert load_predictor(name).predict([text])[0].present


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("name", ["default", "yake"])
def test_what_is_no_document_is_refused_in_a_sentence(name, nested):
    for given, told in (
        (None, "documents[1] is None, neither a string nor a Document: give its text"),
        (
            {"title": "a", "abstract": "b" * 100},
            "documents[1] is a dict, neither a string nor a Document: give",
        ),
        (Document(None), "documents[1].body is None, not a string: give its text"),
        (Document("Graph kernels.", title=float("nan")), "documents[1].title is nan, not a string: give its"),
        (Document("Graph kernels.", language=3), "documents[1].language is 3, not a string"),
        (10**5000, "documents[1] is an int, neither"),
    ):
        with pytest.raises(InputError, match=re.escape(told)):
            load_predictor(name, nested=nested).predict(["Graph kernels compare molecules.", given])


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("name", ["default", "yake"])
def test_documents_may_come_one_after_the_other(name, nested):
    texts = (text for text in ["Graph kernels compare molecules."])
    assert len(load_predictor(name, nested=nested).predict(texts)) == 1


@pytest.mark.parametrize("given", [None, 5, b"abc", {"a": "Graph kernels compare molecules."}])
@pytest.mark.parametrize("name", ["default", "multilingual", "yake"])
def test_what_is_no_list_is_refused_in_a_sentence(name, given):
    with pytest.raises(InputError, match=r"must be a list, not (None|5|a \w+): give one, as in predict\(\["):
        load_predictor(name).predict(given)


def test_an_index_that_is_no_path_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="must be the path of a folder, not 5: leave it out"):
        load_predictor("default", index=5)


@pytest.mark.parametrize("given", ["Graph kernels compare molecules.", Document("Graph kernels compare.")])
@pytest.mark.parametrize("name", ["default", "english", "multilingual", "tfidf", "yake"])
def test_one_document_that_is_in_no_list_is_refused_in_a_sentence(name, given):
    with pytest.raises(
        InputError, match=r"must be a list, not one .*: put it into one, as in predict\(\[text\]\)"
    ):
        load_predictor(name).predict(given)
