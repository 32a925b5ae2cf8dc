"""Pages in the reader's language, by what Gradio tells a browser of them and what they answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from io import BytesIO

import gradio as gr
import pytest
from babel.messages.extract import extract
from fastapi import FastAPI
from fastapi.testclient import TestClient

import app
from annotation.services.bundle import open_services
from annotation.ui.pages import HOME, build_annotation_pages, build_translated_pages, say_to_scripts
from annotation.web.guard import SPEAKING
from kpdemo.locale import _
from kpdemo.locale.update import PAGE, ROOT
from kpdemo.translation import LANGUAGE_COOKIE, LANGUAGES, use_language
from kpdemo.ui.models import ModelShelf
from kpdemo.ui.page import CLOSED_DOCS, Pages, in_words_of, mount_pages
from kpdemo.ui.page import say_to_scripts as say_to_all_scripts
from kpdemo.ui.send import SendHandlers
from kpdemo.ui.widgets import counting_script
from tests.fakes import FakePredictor

CONFIG = re.compile(r"window\.gradio_config = (\{.*?\});</script>", re.DOTALL)
SHOWN = ("label", "placeholder", "info", "value", "choices")
TAG = re.compile(r"<(?:code|kbd|pre|option)[^>]*>.*?</(?:code|kbd|pre|option)>|<[^>]*>", re.DOTALL)


@pytest.fixture(scope="module")
def client() -> TestClient:
    shelf = ModelShelf({"default": "a fake"}, FakePredictor)
    links = [app.PageLink("Annotate", "/annotate/")]
    sends = SendHandlers(shelf, lambda documents, address: "", new_tab=False)
    public = partial(app.build_app, shelf, links, sends)
    server = FastAPI(**CLOSED_DOCS)
    mount_pages(server, public, "/", build_again=public, max_file_size="1mb", scripts=["main.js"])
    return TestClient(server)


def config_of(client: TestClient, language: str = "") -> dict:
    headers = {"accept-language": language} if language else {}
    [config] = CONFIG.findall(client.get("/", headers=headers).text)
    return json.loads(config)


def texts_of(config: dict) -> Iterator[tuple[str, str]]:
    """What a reader meets, by the element that has it: in scripts of events too."""
    for component in config["components"]:
        props = component["props"]
        name = props.get("elem_id") or component["type"]
        for key in SHOWN:
            given = props.get(key)
            values = [pair[0] for pair in given or []] if key == "choices" else [given]
            for value in values:
                if isinstance(value, str):
                    yield from ((name, text.strip()) for text in TAG.split(value) if text.strip())
    for event in config["dependencies"]:
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', event["js"] or ""):
            yield from ((event["api_name"], part) for part in TAG.split(text) if part[:1].isupper())


def test_the_public_page_is_whole_in_every_language(client):
    english = set(texts_of(config_of(client)))
    assert ("predict-run", "Find keyphrases") in english
    sentence = re.compile(r"[A-Za-z]{3,} [a-z]{2,}")
    fixed = re.compile(r"a fake|python -m|show_example|querySelector|predict-about")  # cards are in English
    for code in LANGUAGES:
        if code == "en":
            continue
        both = english & set(texts_of(config_of(client, code)))
        left = [one for one in both if sentence.search(one[1]) and not fixed.search(" ".join(one))]
        assert left == [], code


def test_the_pages_of_annotation_are_whole(sqlite_database):
    """Those in the reader's language; what they answer is looked at in `tests/browser/test_languages.py`."""
    services = open_services(sqlite_database)
    with use_language("de"):
        german = set(texts_of(build_translated_pages(services).config))
    english = build_annotation_pages(services, lambda path: HOME + path in SPEAKING)
    sentence, fixed = (
        re.compile(r"[A-Za-z]{3,} [a-z]{2,}"),
        re.compile(r"querySelector|^id, type|^genre, |^STS benchmark$"),
    )
    left = [one for one in german & set(texts_of(english.config)) if sentence.search(one[1])]
    assert [one for one in left if not fixed.search(one[1])] == []


def test_a_page_in_another_language_is_the_same_page(client):
    english, german = config_of(client), config_of(client, "de")
    assert german["title"] == "kpdemo \u2013 Schl\u00fcsselbegriffe von Dokumenten"
    for part in ("layout", "page", "theme"):
        assert english.get(part) == german.get(part)
    assert [one["id"] for one in english["components"]] == [one["id"] for one in german["components"]]
    assert "kpdemoSpeaks" not in english["head"]
    assert '"lang": "de"' in german["head"]
    assert german["i18n_translations"]["en"]["common.or"] == "oder"  # whatever the browser speaks
    assert "common.or" not in english["i18n_translations"]["en"]
    assert client.get("/config").json()["components"] == english["components"]


def test_the_reader_s_choice_goes_before_their_browser(client):
    client.cookies.set(LANGUAGE_COOKIE, "en")
    try:
        assert "kpdemoSpeaks" not in config_of(client, "fr")["head"]
        assert "Cookie" in client.get("/").headers["vary"]
    finally:
        client.cookies.clear()


def test_an_event_answers_in_the_language_of_whoever_asks(client):
    events = {event["api_name"]: event["id"] for event in config_of(client)["dependencies"]}
    body = {"data": ["default"], "fn_index": events["describe_model"], "session_hash": "one"}
    told = [
        client.post("/gradio_api/run/predict", json=body, headers={"accept-language": code}).json()["data"][0]
        for code in ("en", "sr")
    ]
    assert "About the model default" in told[0]
    assert "O modelu default" in told[1]


def test_a_refused_file_is_explained_in_the_language_of_whoever_asks(client):
    file = {"path": "/nowhere/a.pdf", "meta": {"_type": "gradio.FileData"}}
    body = {"data": [file], "fn_index": 0, "session_hash": "one"}
    refused = client.post("/gradio_api/run/predict", json=body, headers={"accept-language": "de"})
    assert refused.status_code == 403
    assert refused.json()["detail"].startswith("a.pdf wurde nicht von diesem Browser hochgeladen")


def test_pages_that_differ_in_more_than_words_are_refused():
    def pages(*labels: str) -> Pages:
        with Pages() as built:
            for label in labels:
                gr.Textbox(label=label, elem_id=label)
        return built

    with pytest.raises(RuntimeError, match="other components"):
        in_words_of(pages("one").config, lambda: pages("one", "two"), "de", dict)


def test_scripts_are_told_all_that_they_say():
    of_annotation = ("page", "adjudicate")
    wanted = {f"annotation/assets/scripts/{name}.js": say_to_scripts for name in of_annotation}
    for name, say in {**dict.fromkeys(PAGE.scripts, say_to_all_scripts), **wanted}.items():
        content = BytesIO((ROOT / name).read_bytes())
        options = {"parse_template_string": True}
        said = {
            message for _line, message, *_ in extract("javascript", content, {"_": None}, options=options)
        }
        assert said <= set(say()), name


def test_marks_and_counts_are_in_the_language_of_the_answer():
    with use_language("sr"):
        assert '["{count} znak", "{count} znaka", "{count} znakova"]' in counting_script(
            "{count} character", "{count} characters"
        )
        assert _("{share} is right", share="x") == "x je ta\u010dna"
    assert '["{count} character", "{count} characters"]' in counting_script(
        "{count} character", "{count} characters"
    )
