"""What the JSON interface tells raters in training, at check pairs and in a pause."""

from __future__ import annotations

import re
from decimal import Decimal
from types import SimpleNamespace

import gradio as gr
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from annotation.quality import QualitySettings
from annotation.services.bundle import Services, open_services
from annotation.types import KnownPair, NewPair
from annotation.ui.quality import QualityHandlers
from annotation.web.mount import add_annotation_routes
from annotation.web.routes import PairNames
from db.models import Pair
from tests.raters import TYPE, World, new_world
from tests.ui.test_rating_routes import Browser


@pytest.fixture
def world(sqlite_database) -> World:
    return new_world(sqlite_database, pairs=8, raters=2, k=2)


@pytest.fixture
def services(world) -> Services:
    return open_services(world.database)


@pytest.fixture
def server(services) -> FastAPI:
    server = FastAPI()
    add_annotation_routes(server, services)
    return server


@pytest.fixture
def browser(server, world) -> Browser:
    return Browser(server, world, world.raters[0])


def known(id: str, grade: str) -> KnownPair:
    pair = NewPair(id, TYPE, f"The {id} ship.", f"docked {id}")
    return KnownPair(pair, Decimal(grade), f"Because of {id}.")


def test_training_comes_first_tells_what_was_expected_and_cannot_be_passed_by(browser, services, world):
    held = browser.queue()["pairs"][0]["id"]
    services.known_pairs.import_training(world.project, [known("a", "4"), known("b", "1")])
    queue = browser.queue()
    assert queue["progress"] == {"rated": 0, "total": 2}
    assert queue["training"] == {
        "attempt": 1,
        "phase": "open",
        "graded": 0,
        "pairs": 2,
        "accepted": 0,
        "distance": 0.5,
        "pass_percent": 80,
        "tries_left": None,
    }
    [pair] = queue["pairs"]
    assert (pair["id"], pair["right"]) == (f"training-{pair['training']}", "docked a")
    for answer in (
        browser.rate(held),
        browser.rate(PairNames(services.keys.pairs).name_of(world.pairs[-1])),
        browser.send("POST", f"pairs/{held}/skip", {"reason": "other", "note": ""}),
    ):
        assert answer.status_code in (403, 409)
    assert "begins with training pairs" in browser.rate(held).json()["error"]
    body = {"grade": 2, "seconds": 1}
    told = browser.send("PUT", f"training/{pair['training']}/rating", body).json()
    assert list(told) == ["saved_at", "feedback", "project", "progress", "pairs", "waiting", "training"]
    assert told["feedback"] == {"grade": 2, "known": 4, "accepted": False, "explanation": "Because of a."}
    last = browser.send("PUT", f"training/{told['pairs'][0]['training']}/rating", body).json()
    assert (last["pairs"], last["training"]["phase"]) == ([], "failed")
    assert browser.queue()["training"]["phase"] == "failed"
    again = browser.send("POST", f"projects/{world.project}/training").json()
    assert (again["training"]["attempt"], again["training"]["phase"]) == (2, "open")
    for _ in range(2):
        [pair] = browser.queue()["pairs"]
        grade = {"docked a": 4, "docked b": 1}[pair["right"]]
        browser.send("PUT", f"training/{pair['training']}/rating", {"grade": grade, "seconds": 1})
    queue = browser.queue()
    assert "training" not in queue
    assert queue["progress"] == {"rated": 0, "total": 8}
    refused = browser.send("PUT", f"training/{pair['training']}/rating", {"grade": 0, "seconds": 1})
    assert refused.status_code == 409


def test_nobody_else_reaches_training(server, browser, services, world):
    services.known_pairs.import_training(world.project, [known("a", "4")])
    pair = browser.queue()["pairs"][0]["training"]
    body = {"grade": 4, "seconds": 1}
    stranger = Browser(server, world, services.accounts.add_user("stranger").id)
    assert stranger.send("PUT", f"training/{pair}/rating", body).status_code == 403
    assert stranger.send("POST", f"projects/{world.project}/training").status_code == 403
    assert Browser(server, world, None).send("PUT", f"training/{pair}/rating", body).status_code == 401
    assert browser.send("PUT", "training/999/rating", body).status_code == 404
    assert browser.send("PUT", f"training/{pair}/rating", {"grade": 4.1, "seconds": 1}).status_code == 422


def test_what_the_page_calls_a_pair_does_not_tell_a_check_and_stays(browser, services, world, monkeypatch):
    monkeypatch.setattr("annotation.services.numbering.secrets.token_hex", lambda size: "5a" * size)
    services.known_pairs.import_checks(world.project, [known(f"c{n}", "3") for n in range(6)])
    services.quality.change(world.project, QualitySettings(check_every=2))
    queue, names = browser.queue(), {}
    while queue["pairs"]:
        pair = queue["pairs"][0]
        names[pair["id"]] = pair["right"].startswith("docked")
        queue = browser.rate(pair["id"]).json()
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in names)
    assert list(names.values()).count(True) == 6
    in_order = [names[name] for name in sorted(names)]
    assert in_order != sorted(in_order)  # no block at either end, as the ids had it
    with world.database.reading() as session:
        ids = session.scalars(select(Pair.id)).all()
    for raw in ids:  # nobody finds out by asking for ids
        assert browser.get(f"pairs/{raw}").json()["error"].startswith("There is no such pair")
    again = FastAPI()  # another process, or the same after a restart
    add_annotation_routes(again, open_services(world.database))
    other = Browser(again, world, world.raters[0])
    assert {other.get(f"pairs/{name}").json()["id"] for name in names} == set(names)


def test_an_answer_about_a_check_pair_is_shaped_like_any_other(browser, services, world):
    services.known_pairs.import_checks(world.project, [known(f"c{n}", "3") for n in range(3)])
    services.quality.change(world.project, QualitySettings(check_every=3))
    shapes: dict[bool, list[object]] = {True: [], False: []}
    queue = browser.queue()
    total = queue["progress"]["total"]
    for rated in range(total):
        [pair, *_] = queue["pairs"]
        is_check = pair["right"].startswith("docked")
        assert queue["progress"] == {"rated": rated, "total": total}
        alone = browser.get(f"pairs/{pair['id']}").json()
        said = browser.send("PUT", f"pairs/{pair['id']}/comment", {"text": "x", "flagged": False}).json()
        answer = browser.rate(pair["id"])
        history = browser.get(f"projects/{world.project}/history").json()["pairs"]
        assert history[0]["id"] == pair["id"]
        queue = answer.json()
        shapes[is_check].append(
            (
                sorted(pair),
                [type(value) for value in pair.values()],
                sorted(alone),
                sorted(said),
                answer.status_code,
                sorted(queue),
                sorted(history[0]),
            )
        )
        again = browser.rate(pair["id"]).json()
        assert again["progress"] == queue["progress"]
    assert queue["pairs"] == []
    assert len(shapes[True]) == 3
    assert len({str(shape) for kind in shapes.values() for shape in kind}) == 1


def test_a_paused_rater_is_told_so_in_one_sentence(browser, services, world):
    pair = browser.queue()["pairs"][0]["id"]
    browser.rate(pair)
    name = services.quality.overview(world.project).standings[0].user.name
    services.quality.pause(world.project, name)
    refused = browser.get(f"projects/{world.project}/queue")
    assert refused.status_code == 403
    assert refused.json()["error"] == (
        "Your work in Project 0 is paused: your grades are kept and count, and your administrator can "
        "tell you when you can continue."
    )
    assert browser.get(f"projects/{world.project}/history").json()["pairs"][0]["grade"] == 2.75
    services.quality.resume(world.project, name)
    assert len(browser.queue()["pairs"]) == 2


def test_two_administrators_who_save_quality_settings_at_once_undo_nothing_of_each_other(services, world):
    handlers = QualityHandlers(
        services.accounts,
        services.projects,
        services.quality,
        services.known_pairs,
        services.dictionary,
        services.work,
    )
    services.accounts.add_user("root", is_administrator=True)
    asked = SimpleNamespace(username="root", query_params={"project": str(world.project)})
    seen, _, close, tries, every, accepted, *block = handlers.open(asked)
    handlers.save(asked, seen, 90, close, tries, every, accepted, *block)
    said, seen_now, *values = handlers.save(asked, seen, 80, close, tries, 20, accepted, *block)
    assert "Somebody else changed settings meanwhile" in said
    assert values[:5] == [90, close, tries, 20, accepted]
    assert services.quality.settings(world.project) == QualitySettings(pass_percent=90, check_every=20)
    assert "Saved.<" in handlers.save(asked, seen_now, 70, close, tries, 20, accepted, *block)[0]
    with pytest.raises(gr.Error, match="changed the pass mark"):
        handlers.save(asked, seen, 60, close, tries, 20, accepted, *block)
