"""The queue of programs: batches in which requests take turns."""

from threading import Event

from anyio import create_task_group, run, sleep

from kpdemo.api.queue import TOGETHER, ProgramQueue
from kpdemo.errors import InputError
from kpdemo.types import Document, PredictionRequest
from kpdemo.ui.models import ModelShelf
from tests.fakes import FakePredictor

TEXT = "Graph kernels compare molecules by their common substructures."


class Recorder(FakePredictor):
    """Notes the titles that it reads together, and reads nothing before it may."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "batches", [])
        object.__setattr__(self, "go", Event())

    def predict(self, documents, **options):
        if documents[0].title != "Warm-up":
            self.batches.append([document.title for document in documents])
            self.go.wait(10)
        return super().predict(documents, **options)


def question(title, text=TEXT, **options):
    return PredictionRequest(Document(text, title=title), "default", **options)


def ask_all(recorder, asked):
    """Ask each (request, question) while the first is read; what came of each."""
    outcomes = []

    async def ask(queue, request, one):
        try:
            outcomes.append((one.document.title, await queue.ask(one, request)))
        except InputError as error:
            outcomes.append((one.document.title, str(error)))

    async def everything():
        queue = ProgramQueue(ModelShelf({"default": "a fake"}, lambda _: recorder))
        async with create_task_group() as group:
            for place, (request, one) in enumerate(asked):
                group.start_soon(ask, queue, request, one)
                while not place and not recorder.batches:
                    await sleep(0.01)
            await sleep(0.1)
            recorder.go.set()

    run(everything)
    return outcomes


def test_a_single_document_is_in_the_next_batch_whatever_a_list_has_before_it():
    recorder = Recorder()
    many = [("list", question(f"list {number}")) for number in range(2 * TOGETHER)]
    outcomes = ask_all(recorder, [*many, ("one", question("alone"))])
    assert recorder.batches[0] == ["list 0"]
    assert "alone" in recorder.batches[1]
    assert len(recorder.batches[1]) == TOGETHER
    assert len(recorder.batches) == 3
    assert len(outcomes) == 2 * TOGETHER + 1


def test_documents_with_other_options_are_read_apart():
    recorder = Recorder()
    asked = [question("first"), question("few", top_k=1), question("many"), question("more")]
    found = dict(ask_all(recorder, list(enumerate(asked))))
    assert recorder.batches == [["first"], ["few"], ["many", "more"]]
    assert len(found["few"].prediction.present) == 1


def test_one_document_that_cannot_be_read_holds_up_no_other():
    recorder = Recorder()
    asked = [question("first"), question("good"), question("", "    "), question("well")]
    found = dict(ask_all(recorder, list(enumerate(asked))))
    assert found[""].startswith("The text is empty")
    assert found["good"].prediction.present
    assert found["well"].prediction.present
