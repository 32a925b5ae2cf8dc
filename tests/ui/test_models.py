"""The shelf of models behind the pages."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import pytest

from kpdemo.errors import BusyError, ModelLoadError, StoppedError
from kpdemo.evaluation.baselines import FirstPhrases
from kpdemo.pipeline import Pipeline
from kpdemo.predictors import DEFAULT_FOLDER
from kpdemo.types import Document, PointKind, PredictionOptions, PredictionRequest, finds_absent
from kpdemo.ui.models import MOST_LONG, ModelShelf
from kpdemo.worker import READING, Stop, listen_with, tell
from tests.fakes import FakePredictor, MappedPredictor
from tests.processes import PATIENCE, wait_for

MODELS = {"default": "the trained one", "first": "first phrases"}
QUESTION = PredictionRequest(Document("Some sentences about neural networks."), "default")


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


def test_the_first_to_ask_a_model_hears_that_it_is_loaded():
    class Telling(FakePredictor):
        def predict(self, documents, **options):
            tell(1.0, "Warming up")
            return super().predict(documents, **options)

    shelf, heard = ModelShelf(MODELS, lambda name: FakePredictor(name)), []
    loud, heard_there = ModelShelf(MODELS, Telling), []
    with listen_with(lambda share, what: heard.append((share, what))):
        shelf.answer(QUESTION)
        shelf.answer(QUESTION)
    assert heard == [(0.0, "Loading the model default"), (0.0, READING)]
    with listen_with(lambda share, what: heard_there.append(what)):
        loud.open("first")
    assert heard_there == ["Loading the model first", READING]


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


class Apart(FakePredictor):
    """Reads each text when `go` allows it."""

    go = Event()

    def predict(self, documents, **options):
        assert self.go.wait(PATIENCE)
        return super().predict(documents, **options)


@pytest.fixture
def busy_with_long_texts():
    """A shelf that has taken on as many long texts as it does."""
    Apart.go.clear()
    shelf = ModelShelf(MODELS, FakePredictor, load_apart=Apart)
    long = replace(QUESTION, document=Document("Neural networks learn. " * 1_000))
    with ThreadPoolExecutor(MOST_LONG) as pool:
        answers = [pool.submit(shelf.answer, long) for _ in range(MOST_LONG)]
        assert wait_for(lambda: not shelf._long_turns._value)
        yield shelf, long
        Apart.go.set()
        assert all(answer.result(PATIENCE).prediction.present for answer in answers)
    assert shelf.answer(long).prediction.present


def test_a_short_text_does_not_wait_for_long_ones_or_files(busy_with_long_texts):
    shelf, _ = busy_with_long_texts
    assert shelf.answer(QUESTION).prediction.present
    with ThreadPoolExecutor(1) as pool:
        file = pool.submit(lambda: shelf.open("first").predict([QUESTION.document]))
        assert shelf.answer(QUESTION).prediction.present
        assert not file.done()
        Apart.go.set()
        assert file.result(PATIENCE)


def test_one_long_text_too_many_is_told_to_come_back(busy_with_long_texts):
    shelf, long = busy_with_long_texts
    for ask in (shelf.answer, shelf.spaces):
        with pytest.raises(BusyError, match="3 other long texts are being read"):
            ask(long)


def test_whoever_stops_waiting_leaves_the_turn_to_others(busy_with_long_texts):
    shelf, long = busy_with_long_texts
    Apart.go.clear()
    shelf._long_turns.release()  # room for one that waits
    stop = Stop()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(shelf.answer, long, stop)
        assert wait_for(lambda: not shelf._long_turns._value)
        stop.ask()
        with pytest.raises(StoppedError):
            waiting.result(PATIENCE)
    assert shelf._long_turns.acquire(blocking=False)


def test_a_question_that_was_stopped_before_it_began_is_not_read():
    read = []

    class Reader(FakePredictor):
        def predict(self, documents, **options):
            read.extend(documents)
            return super().predict(documents, **options)

    shelf, stop = ModelShelf(MODELS, Reader), Stop()
    shelf.answer(QUESTION)
    stop.ask()
    before = len(read)
    with pytest.raises(StoppedError):
        shelf.answer(QUESTION, stop)
    assert len(read) == before


@pytest.mark.parametrize("ask", ["open", "card"])
def test_an_unknown_model_is_named_with_the_known_ones(ask):
    shelf = ModelShelf(MODELS, FakePredictor)
    with pytest.raises(ModelLoadError, match="no model “bert”: choose one of default, first"):
        getattr(shelf, ask)("bert")


def test_a_card_needs_no_model():
    assert ModelShelf(MODELS, broken, "# {}".format).card("first") == "# first"


def test_an_answer_tells_whether_its_model_finds_absent_keyphrases():
    for possible in (True, False):
        fake = FakePredictor(finds_absent=possible)
        for predictor in (fake, Pipeline("lazy", lambda fake=fake: fake)):
            shelf = ModelShelf(MODELS, lambda name, predictor=predictor: predictor)
            assert shelf.answer(QUESTION).finds_absent is possible
    assert not finds_absent(FirstPhrases())


def test_the_vectors_of_a_model_are_asked_for_with_the_question():
    shelf = ModelShelf(MODELS, MappedPredictor)
    [space] = shelf.spaces(replace(QUESTION, top_k=2))
    assert [point.kind for point in space.points].count(PointKind.PRESENT) == 2
    assert ModelShelf(MODELS, FakePredictor).spaces(QUESTION) == []


def test_a_damaged_default_is_a_sentence_and_the_others_still_answer():
    def load(name):
        return broken(name) if name == "default" else FakePredictor(name)

    shelf = ModelShelf(MODELS, load)
    shelf.warm_up()
    assert shelf.problem() == "No model at default: train one."
    assert shelf.state == "unavailable"
    assert shelf.answer(PredictionRequest(QUESTION.document, "first")).model == "first"


def test_a_model_that_failed_is_tried_again_and_the_problem_forgotten():
    attempts = []

    def load(name):
        attempts.append(name)
        return broken(name) if len(attempts) == 1 else FakePredictor(name)

    shelf = ModelShelf(MODELS, load)
    shelf.warm_up()
    assert (shelf.state, shelf.device) == ("unavailable", "")
    assert shelf.answer(QUESTION).prediction.present
    assert (shelf.state, shelf.device) == ("ready", "cpu")
    assert shelf.problem() == ""


@pytest.mark.parametrize("error", [MemoryError(), ImportError("no torch"), RuntimeError("/srv/secret\nCUDA")])
@pytest.mark.parametrize("late", [False, True])
def test_any_failure_to_load_is_one_sentence_and_a_line_in_the_log(error, late, caplog):
    class Failing(FakePredictor):
        def predict(self, documents, **options):
            raise error

    def load(name):
        if late:
            return Failing()
        raise error

    shelf = ModelShelf(MODELS, load)
    shelf.warm_up()
    sentence = f"The model “default” cannot be loaded ({type(error).__name__}): see the log of the server."
    assert shelf.problem() == sentence
    assert shelf.state == "unavailable"
    with pytest.raises(ModelLoadError, match="cannot be loaded"):
        shelf.answer(QUESTION)
    assert caplog.records[0].exc_info[1] is error


def test_the_folders_of_the_server_stay_unknown():
    def load(name):
        raise ModelLoadError(
            f"The model file {DEFAULT_FOLDER / 'model.safetensors'} is damaged "
            f"and so is {DEFAULT_FOLDER.parent / 'tagger.json.gz'}: restore {DEFAULT_FOLDER}."
        )

    shelf = ModelShelf(MODELS, load)
    shelf.warm_up()
    assert shelf.problem() == (
        "The model file default/model.safetensors is damaged "
        "and so is kpdemo/assets/tagger.json.gz: restore default."
    )
    with pytest.raises(ModelLoadError, match="restore default"):
        shelf.open("default")


def test_a_model_that_cannot_be_loaded_for_long_texts_still_reads_short_ones():
    shelf = ModelShelf(MODELS, FakePredictor, load_apart=broken)
    shelf.warm_up()
    with pytest.raises(ModelLoadError, match="No model at default"):
        shelf.answer(replace(QUESTION, document=Document("Neural networks learn. " * 1_000)))
    assert (shelf.state, shelf.problem()) == ("ready", "")
    assert shelf.answer(QUESTION).prediction.present


def test_what_loads_for_long_texts_does_not_hide_that_short_ones_have_no_model():
    shelf = ModelShelf(MODELS, broken, load_apart=FakePredictor)
    shelf.warm_up()
    shelf.open("default")
    assert (shelf.state, shelf.problem()) == ("unavailable", "No model at default: train one.")


def test_the_problem_waits_for_the_warm_up():
    go = Event()

    def load(name):
        go.wait(PATIENCE)
        return broken(name)

    shelf = ModelShelf(MODELS, load)
    thread = shelf.warm_up_in_background()
    assert shelf.problem() == ""
    assert shelf.state == "loading"
    go.set()
    assert shelf.problem(patience=5).startswith("No model")
    thread.join(PATIENCE)


@pytest.fixture
def clock(monkeypatch):
    """What measures answers: its time passes only where a test adds some."""
    now = [0.0]
    time_of_queues = SimpleNamespace(perf_counter=lambda: now[0], sleep=time.sleep)
    monkeypatch.setattr("kpdemo.worker.time", time_of_queues)
    return now


def test_the_time_of_an_answer_does_not_count_the_loading(clock):
    class Lazy(FakePredictor):
        loaded = False

        def predict(self, documents, **options):
            clock[0] += 1 if Lazy.loaded else 300
            Lazy.loaded = True
            return super().predict(documents, **options)

    assert ModelShelf(MODELS, Lazy).answer(QUESTION).seconds == 1


def test_the_time_of_an_answer_does_not_count_the_waiting_for_others(clock):
    begun, go = Event(), Event()

    class Slow(FakePredictor):
        def predict(self, documents, **options):
            if len(documents) > 1:
                begun.set()
                assert go.wait(PATIENCE)
                clock[0] += 300
            clock[0] += 1
            return super().predict(documents, **options)

    shelf = ModelShelf(MODELS, Slow)
    predictor = shelf.open("default")
    with ThreadPoolExecutor(2) as pool:
        others = pool.submit(predictor.predict, [QUESTION.document] * 2)
        assert begun.wait(PATIENCE)
        answer = pool.submit(shelf.answer, QUESTION)
        time.sleep(0.2)  # so that it waits: were it slower, it would only prove less
        go.set()
        assert others.result(PATIENCE)
        assert answer.result(PATIENCE).seconds == 1


class Counting(FirstPhrases):
    """Counts what it reads."""

    read = 0

    def predict(self, documents, **options):
        type(self).read += len(documents)
        return super().predict(documents, **options)


def test_other_options_choose_from_what_was_read_and_others_read_it_again():
    text = "Graph kernels compare molecules. Fast graph kernels compare large molecules of drugs."
    shelf = ModelShelf({"first": "first phrases"}, lambda name: Pipeline(name, Counting))
    asked = PredictionRequest(Document(text), "first", top_k=4)
    shelf.answer(asked)
    before = Counting.read
    narrow = replace(asked, top_k=2, nested=False, further=PredictionOptions(longest=2, exclude=("kernels",)))
    chosen = shelf.answer(narrow)
    assert Counting.read == before
    assert chosen.question == narrow
    assert chosen.prediction.present
    assert (
        chosen.prediction == ModelShelf(shelf.models, lambda name: FirstPhrases()).answer(narrow).prediction
    )
    for options in (PredictionOptions(candidates=("molecules",)), PredictionOptions(diversity=0.5)):
        before = Counting.read
        shelf.answer(replace(asked, further=options))
        assert Counting.read > before
    before = Counting.read
    shelf.answer(replace(asked, document=Document(f"{text} More.")))
    assert Counting.read == before + 1
