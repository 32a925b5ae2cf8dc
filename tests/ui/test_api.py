"""The models over HTTP: what a request may say, what is refused and how, and what other sites cannot send."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from kpdemo.api.requests import LARGEST_BODY, MOST_DOCUMENTS
from kpdemo.api.routes import add_api
from kpdemo.errors import ModelLoadError, ModelStoppedError
from kpdemo.pipeline import Pipeline
from kpdemo.predictors import load_predictor
from kpdemo.types import Document, PredictionRequest
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.requests import LONGEST_TEXT
from kpdemo.ui.serving import add_security
from tests.fakes import FakePredictor, FakeRetriever

TEXT = "Neural networks learn from many examples of language."
MODELS = {
    "default": "the trained one",
    "multilingual": "for other languages",
    "broken": "cannot be loaded",
    "stopping": "dies",
}
JSON = {"Content-Type": "application/json"}


class Stopping(FakePredictor):
    def predict(self, documents, **options):
        if any("Neural" in document.body for document in documents):
            raise ModelStoppedError("The model stopped before it had answered: ask once more.")
        return super().predict(documents, **options)


def load(name: str) -> FakePredictor:
    if name == "broken":
        raise ModelLoadError("The model “broken” cannot be loaded: train one.")
    kinds = {"multilingual": FakeRetriever, "stopping": Stopping}
    return kinds.get(name, FakePredictor)(name)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    server = FastAPI()
    add_security(server, in_space=False, never_framed=())
    add_api(server, ModelShelf(MODELS, load))
    with TestClient(server, base_url="http://127.0.0.1:7860") as client:
        yield client


def ask(client: TestClient, content, **headers: str):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return client.post("/api/predict", content=body, headers=JSON | headers)


def refusal(client: TestClient, content) -> tuple[int, str]:
    answer = ask(client, content)
    [(name, sentence)] = answer.json().items()
    assert name == "error"
    return answer.status_code, sentence


def present(answer) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["text"] for one in answer.json()["present"]]


def test_the_models_are_those_of_the_page_and_the_default_one_is_marked(client):
    rows = client.get("/api/models").json()["models"]
    assert {row["name"]: row["description"] for row in rows} == MODELS
    assert [row["name"] for row in rows if row["default"]] == ["default"]


def test_a_visitor_cannot_have_a_module_loaded(tmp_path, monkeypatch):
    (tmp_path / "visited.py").write_text("from tests.fakes import FakePredictor\n")
    monkeypatch.syspath_prepend(tmp_path)
    server, shelf, name = FastAPI(), ModelShelf(MODELS, load_predictor), "visited:FakePredictor"
    add_api(server, shelf)
    with TestClient(server, base_url="http://127.0.0.1:7860") as client:
        assert refusal(client, {"text": TEXT, "model": name})[0] == 404
    question = PredictionRequest(Document(TEXT), name)
    for ask_page in (shelf.answer, shelf.spaces):
        with pytest.raises(ModelLoadError, match="There is no model “visited:"):
            ask_page(question)
    for ask_page in (shelf.open, shelf.card):
        with pytest.raises(ModelLoadError, match="There is no model “visited:"):
            ask_page(name)
    assert "visited" not in sys.modules


def test_the_options_are_those_of_the_command(client):
    asked = {"title": "Networks", "text": TEXT}
    read = Document(TEXT, title="Networks")
    for options in ({}, {"top_k": 2}, {"threshold": 0.4}, {"top_k": 3, "threshold": 0.2}):
        [found] = FakePredictor().predict([read], **options)
        assert present(ask(client, asked | options)) == [one.text for one in found.present]
        [found] = Pipeline("unnested", lambda: FakePredictor(), nested=False).predict([read], **options)
        assert present(ask(client, asked | options | {"nested": False})) == [
            one.text for one in found.present
        ]
    assert ask(client, asked).json()["text_offset"] == len("Networks\n\n")


def test_a_field_that_is_null_is_as_one_left_out(client):
    names = ("id", "title", "abstract", "language", "model", "top_k", "threshold", "nested", "documents")
    assert present(ask(client, {"text": TEXT} | dict.fromkeys(names))) == present(ask(client, {"text": TEXT}))


def test_the_text_is_read_as_on_the_page_and_by_the_command(client):
    answer = ask(client, {"abstract": "\ufeffScien-\r\ntific texts name networks.", "language": "English"})
    assert (answer.json()["text"], answer.json()["language"]) == ("Scientific texts name networks.", "en")


def test_the_model_made_for_the_language_reads_the_text(client):
    answer = ask(client, {"text": "Les noyaux de graphes comparent des molécules.", "language": "fr"}).json()
    assert (answer["model"], [one["id"] for one in answer["passages"]]) == (
        "multilingual",
        ["nlp-01", "soc-02"],
    )


@pytest.mark.parametrize(
    "text", ["Réseaux 😀 neuronaux <b>&amp;</b>", "الشبكات العصبية تتعلم", "图核比较分子"]
)
def test_any_letters_go_there_and_back(client, text):
    answer = ask(client, {"text": text, "model": "multilingual", "id": text})
    assert (answer.json()["text"], answer.json()["id"]) == (text, text)
    assert answer.headers["content-type"] == "application/json"


def test_each_document_has_its_answer_or_its_refusal_in_its_place(client):
    documents = [
        {"id": 7, "text": TEXT},
        {"id": "empty", "text": " "},
        {"text": "知識グラフの埋め込み", "language": "en"},
    ]
    [first, second, third] = ask(client, {"documents": documents, "top_k": 1}).json()["predictions"]
    assert (first["id"], len(first["present"])) == (7, 1)
    assert second == {
        "id": "empty",
        "error": "documents[1]: The text is empty: give a title or some sentences.",
    }
    assert third.keys() == {"error"}


@pytest.mark.parametrize(
    ("content", "status", "sentence"),
    [
        (b"", 400, "The request is empty"),
        (b"  ", 400, "The request is empty"),
        (b'{"text": ', 400, "The request is not JSON (Expecting value at line 1, column 10): send an object"),
        (b'{"text": "Caf\xe9"}', 400, "The request is not UTF-8 text (byte 0xe9 at offset 13): send it"),
        ('{"text": "a"}'.encode("utf-16"), 400, "The request is not UTF-8 text"),
        (b"[" * 10_000 + b"]" * 10_000, 400, "can be read (brackets nested too deeply): correct it"),
        (b'{"text":' * 10_000 + b"1" + b"}" * 10_000, 400, "can be read (brackets nested too deeply)"),
        (b'{"text": "a b", "threshold": NaN}', 400, "can be read (NaN is not a JSON number): correct it"),
        (b'{"top_k": ' + b"9" * 5000 + b"}", 400, "can be read (Exceeds the limit (4300 digits)"),
        (b'{"text": "a b", "text": "c d"}', 400, 'The request has "text" twice in one object: send it once.'),
        (b"[1]", 422, "The request is a list: send an object"),
        (b"null", 422, "The request is null: send an object"),
        (b'"text"', 422, 'The request is "text": send an object'),
        ({}, 422, 'The document has no text: give its "text", or "abstract".'),
        ({"text": TEXT, "abstract": TEXT}, 422, 'has "text" and "abstract": leave one of them out.'),
        ({"txt": TEXT}, 422, 'The request has an unknown field "txt": it may have id, title, text, abstract'),
        ({"text": TEXT, "device": "cuda"}, 422, 'unknown field "device"'),
        ({"text": TEXT, "\ud800": 1}, 422, 'unknown field "?"'),
        ({"text": 5}, 422, '"text" is 5, not text: put it in quotes.'),
        ({"text": TEXT, "title": ["a"]}, 422, '"title" is a list, not text'),
        ({"text": TEXT, "id": 1.5}, 422, '"id" is 1.5: give a string or a whole number.'),
        ({"text": TEXT, "id": "\ud800"}, 422, '"id" holds half of a character'),
        ({"text": "Neural \ud800 networks"}, 422, "The text holds half of a character"),
        ({"text": "Neural\0networks"}, 422, "The text holds a NUL byte"),
        ({"text": ""}, 422, "The text is empty: give a title or some sentences."),
        ({"text": "<p> </p>"}, 422, "The text is empty"),
        ({"text": "word"}, 422, "The text is only one word"),
        ({"text": "知識グラフの埋め込み", "language": "en"}, 422, "which this model does not read"),
        ({"text": TEXT, "language": "Frnch"}, 422, '"language" Frnch: not a known language; give one'),
        ({"text": TEXT, "top_k": 0}, 422, '"top_k" is 0: give a whole number from 1 to'),
        ({"text": TEXT, "top_k": 10**4000}, 422, '"top_k" is 1000000'),
        ({"text": TEXT, "top_k": True}, 422, '"top_k" is true: give a whole number'),
        ({"text": TEXT, "top_k": "5"}, 422, '"top_k" is "5": give a whole number'),
        ({"text": TEXT, "threshold": 1.5}, 422, '"threshold" is 1.5: give a number from 0 to 1.'),
        (b'{"text": "a b", "threshold": 1e999}', 422, '"threshold" is Infinity: give a number'),
        ({"text": TEXT, "threshold": False}, 422, '"threshold" is false: give a number'),
        ({"text": TEXT, "nested": "no"}, 422, '"nested" is "no": give true or false.'),
        ({"text": TEXT, "model": 5}, 422, '"model" is 5, not text'),
        (
            {"text": TEXT, "model": "../default"},
            404,
            "There is no model “../default”: choose one of default,",
        ),
        ({"text": TEXT, "model": "x" * 10**6}, 404, "x…”: choose one of default"),
        (
            {"text": "word " * 50_001},
            413,
            "this server reads at most 250\u202f000: shorten it, or use the comm",
        ),
        ({"text": TEXT, "model": "broken"}, 503, "The model “broken” cannot be loaded: train one."),
        (
            {"text": TEXT, "model": "stopping"},
            503,
            "The model stopped before it had answered: ask once more.",
        ),
        ({"documents": {"text": TEXT}}, 422, '"documents" is an object: send a list of objects'),
        ({"documents": []}, 422, '"documents" is empty: send a list of objects'),
        ({"documents": [TEXT]}, 422, "documents[0] is "),
        (
            {"documents": [{"text": TEXT}], "text": TEXT},
            422,
            'A request with "documents" has an unknown field',
        ),
        ({"documents": [{"text": TEXT}, {"model": "x"}]}, 422, 'documents[1] has an unknown field "model"'),
        ({"documents": [{"text": TEXT}, {}]}, 422, "documents[1]: The document has no text"),
        ({"documents": [{"text": TEXT}] * (MOST_DOCUMENTS + 1)}, 413, "has 101 of them: send at most 100"),
        (
            {"documents": [{"text": "word " * 25_001}] * 2},
            413,
            "have 250\u202f010 characters together and this server reads at most 250\u202f000 at a time",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(client, content, status, sentence):
    told = refusal(client, content)
    assert told[0] == status
    assert sentence in told[1]
    assert len(told[1]) < 600
    assert "\n" not in told[1]


@pytest.mark.slow
def test_the_longest_text_may_be_written_in_any_way(client):
    longest = TEXT + "😀" * (LONGEST_TEXT - len(TEXT))
    body = json.dumps({"text": longest}).encode()  # ASCII: twelve bytes for each of these characters
    assert 3_000_000 - 1_000 < len(body) <= LARGEST_BODY
    assert present(ask(client, body))


def test_a_large_body_is_refused_whether_its_length_is_told_or_not(client):
    for body in (b" " * (LARGEST_BODY + 1), (piece for piece in [b" " * (LARGEST_BODY + 1)])):
        answer = client.post("/api/predict", content=body, headers=JSON)
        assert answer.status_code == 413
        assert answer.json()["error"].startswith("The request has more than 4\u202f194\u202f304 bytes: send")


def test_a_body_of_brackets_is_refused_before_it_is_parsed(client):
    for inner in (b"[],", b"[" * 3):
        answer = ask(client, b'{"documents": [' + inner * 300_000)
        assert answer.status_code == 413
        assert "more than 250\u202f000 opening brackets" in answer.json()["error"]


def test_only_what_passes_says_when_to_ask_again(client):
    assert "retry-after" not in ask(client, {"text": TEXT, "model": "broken"}).headers
    assert int(ask(client, {"text": TEXT, "model": "stopping"}).headers["retry-after"]) > 0
    documents = [{"text": "Many words."}, {"text": TEXT}]
    assert ask(client, {"documents": documents, "model": "stopping"}).status_code == 503


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_what_a_form_of_another_site_can_send_is_no_request(client, media_type):
    answer = ask(client, {"text": TEXT}, **{"Content-Type": media_type})
    assert answer.status_code == 415
    assert answer.json()["error"].endswith("send JSON, with the header Content-Type: application/json.")


@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_is_known_however_it_is_called(client, media_type):
    assert present(ask(client, {"text": TEXT}, **{"Content-Type": media_type}))


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_page_of_another_site_neither_asks_nor_is_told_that_it_may(client, origin):
    assert ask(client, {"text": TEXT}, Origin=origin).status_code == 403
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    preflight = client.options("/api/predict", headers={"Origin": origin} | wanted)
    assert preflight.status_code == 400
    answers = (preflight, client.get("/api/models", headers={"Origin": origin}))
    assert all("access-control-allow-origin" not in answer.headers for answer in answers)


def test_our_own_page_and_programs_may_ask(client):
    assert present(ask(client, {"text": TEXT}, Origin="http://127.0.0.1:7860"))
    assert present(ask(client, {"text": TEXT}))


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/api/predict", 405, "POST"),
        ("PUT", "/api/predict", 405, "POST"),
        ("POST", "/api/models", 405, "GET"),
        ("POST", "/api/predict/", 404, None),
        ("GET", "/api", 404, None),
        ("GET", "/api/projects/1", 404, None),
    ],
)
def test_other_addresses_and_methods_say_which_there_are(client, method, path, status, allowed):
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers.get("allow")) == (status, allowed)
    assert "GET /api/models lists the models, POST /api/predict" in answer.json()["error"]
