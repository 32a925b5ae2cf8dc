"""The shelf of models behind the pages."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from kpdemo.errors import ModelLoadError
from kpdemo.types import Document
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.results import Question
from tests.fakes import FakePredictor

MODELS = {"default": "the trained one", "first": "first phrases"}
QUESTION = Question(Document("Some sentences about neural networks."), "default")


def broken(name):
    raise ModelLoadError(f"No model at {name}: train one.")


def test_a_model_is_loaded_once():
    loaded = []

    def load(name):
        loaded.append(name)
        return FakePredictor(name)

    shelf = ModelShelf(MODELS, load)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(shelf.answer, [QUESTION] * 16))
    assert loaded == ["default"]
    assert {answer.model for answer in answers} == {"default"}


def test_one_call_at_a_time():
    running = []

    class Slow(FakePredictor):
        def predict(self, documents, **options):
            running.append(1)
            assert len(running) == 1
            time.sleep(0.01)
            running.pop()
            return super().predict(documents, **options)

    shelf = ModelShelf(MODELS, Slow)
    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(shelf.answer, [QUESTION] * 8))) == 8


def test_an_unknown_model_is_named_with_the_known_ones():
    shelf = ModelShelf(MODELS, FakePredictor)
    with pytest.raises(ModelLoadError, match="no model “bert”: choose one of default, first"):
        shelf.open("bert")


def test_a_damaged_default_is_a_sentence_and_the_others_still_answer():
    def load(name):
        return broken(name) if name == "default" else FakePredictor(name)

    shelf = ModelShelf(MODELS, load)
    shelf.warm_up()
    assert shelf.problem() == "No model at default: train one."
    assert shelf.state == "unavailable"
    assert shelf.answer(Question(QUESTION.document, "first")).model == "first"


def test_a_model_that_failed_is_tried_again():
    attempts = []

    def load(name):
        attempts.append(name)
        return broken(name) if len(attempts) == 1 else FakePredictor(name)

    shelf = ModelShelf(MODELS, load)
    with pytest.raises(ModelLoadError):
        shelf.answer(QUESTION)
    assert shelf.answer(QUESTION).prediction.present


def test_the_problem_waits_for_the_warm_up():
    go = Event()

    def load(name):
        go.wait(5)
        return broken(name)

    shelf = ModelShelf(MODELS, load)
    thread = shelf.warm_up_in_background()
    assert shelf.problem() == ""
    assert shelf.state == "loading"
    go.set()
    assert shelf.problem(patience=5).startswith("No model")
    thread.join(5)


def test_the_time_of_an_answer_does_not_count_the_loading():
    class Lazy(FakePredictor):
        loaded = False

        def predict(self, documents, **options):
            if not Lazy.loaded:
                Lazy.loaded = True
                time.sleep(0.3)
            return super().predict(documents, **options)

    assert ModelShelf(MODELS, Lazy).answer(QUESTION).seconds < 0.2
