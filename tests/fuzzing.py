"""Requests that nobody sends on purpose, made from the OpenAPI of a server, and what it may answer.

The server has projects of every kind. What a request names and says mostly exists and fits, so that it comes
further than the first refusal; the rest is anything.

`python -m tests.fuzzing --minutes 10` (`make fuzz`) sends them for minutes and then has schemathesis do so by
its own means; a test sends a few, always the same.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen
from zlib import crc32

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from sqlalchemy import select
from starlette.testclient import TestClient

import app
from annotation.adjudication import Which
from annotation.comparison import COMPARISON_TYPES
from annotation.crowds import CrowdSettings, Source, Worker
from annotation.exchange import FileFormat
from annotation.files.gold_files import RatingFormat
from annotation.gold import Format, RaterColumns, Unfinished
from annotation.projects import Order
from annotation.quality import QualitySettings
from annotation.services.bundle import Services, open_services
from annotation.services.pairs import PairState
from annotation.services.sign_in import start_session
from annotation.system_report import System
from annotation.types import (
    Average,
    Cause,
    KnownPair,
    NewPair,
    ProjectSettings,
    Role,
    SkipReason,
    utcnow,
)
from annotation.web import answers
from annotation.web.api import RATER_HEADER, describe_body
from annotation.web.responder import COOKIE
from annotation.web.routes import Blank, Draft, PairNames
from db import checks
from db.models import Assignment, GoldSet, Pair, Project, TrainingPair
from kpdemo.translation import LANGUAGES
from tests.browser.conftest import MODELS, load
from tests.databases import new_database
from tests.integration.test_api_server import served
from tests.predicted import documents
from tests.tiny_wordnet import KEYBOARD, NETWORK, write_wordnet
from tests.writers import new_items

DESCRIPTIONS = "/api/openapi.json", "/annotation/api/openapi.json"
PROGRAMS, PAGES = "/annotation/api", "/annotate/api"
HOST, ELSEWHERE = "http://127.0.0.1", "https://elsewhere.example.org"
MAY_FAIL = (503, 507)
"""Statuses from 500 up that are ours: too busy, no room."""
METHODS = ("get", "post", "put", "patch", "delete")
TYPE = "sentence2phrase"
CONSENT = "Your grades are published without your name."
PAIRS, GRADED = 400, 60
"""Of the first project, and how many of them come with grades."""

Values = st.SearchStrategy[Any]

texts = (
    st.text(max_size=30)
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(
        [
            "",
            " ",
            "\0",
            "\ud800",
            "\ufeff",
            "../..",
            "%00",
            "=1+1",
            "é" * 300,
            "𝔞",
            "\u202e",
            "0",
            "-1",
            "1e9",
            "NaN",
        ]
    )
)
numbers = (
    st.integers()
    | st.sampled_from([0, -1, 2**31, 2**63, 10**40])
    | st.floats(allow_nan=False, allow_infinity=False)
)
junk = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def mostly(usual: Values, other: Values, of: int = 10) -> Values:
    """Values of `other` in one case of so many."""
    # The least and the greatest number are drawn more often than others.
    return st.integers(0, of - 1).flatmap(lambda at: other if at == of // 2 else usual)


_number = count(1)
new_numbers = st.builds(lambda: next(_number))
"""Each once, where a draw would come again."""
words = new_numbers.map("die zwölfte Fähre {} 船".format)
steps = st.integers(0, 16).map(lambda quarters: quarters / 4)
FIELDS: Mapping[str, Values] = {
    "grade": steps,
    "sha256": st.just(sha256(CONSENT.encode()).hexdigest()),
    "seconds": st.floats(0, 100),
    "reason": st.sampled_from(list(SkipReason)),
    "note": words | st.just(""),
    "text": words,
    "name": words,
    "types": st.lists(st.sampled_from([*COMPARISON_TYPES, "own2type"]), min_size=1, max_size=3, unique=True),
    "guidelines": words | st.just("# Grade\n\n*How much?*\n"),
    "raters_per_pair": st.integers(1, 4),
    "threshold": st.none() | steps.filter(bool),
    "average": st.sampled_from(list(Average)),
    "grades": st.sampled_from(["clss", "clss", "sts", "1-5", "0-100/5"]),
    "step": st.none() | st.sampled_from([0.25, 0.5, 1]),
    "order": st.sampled_from(list(Order)),
    "seed": st.integers(0, 2**31),
    "lease_minutes": st.integers(5, 90),
    "most_per_rater": st.none() | st.integers(1, 50),
    "may_revise": st.booleans(),
    "repeat_percent": st.integers(0, 50),
    "consent": words | st.just(""),
    "scale_words": st.sampled_from(["", "", "0 None\n1 Little: A bit.\n2 Some\n3 Much\n4 All\n"]),
    "language": st.sampled_from(list(LANGUAGES)),
}
"""Values that fields of bodies take, by name."""
PUBLIC_FIELDS: Mapping[str, Values] = {
    "text": words,
    "abstract": st.none(),
    "title": words,
    "shortest": st.just(1),
    "longest": st.integers(2, 9),
    "threshold": st.floats(0, 1),
    "model": st.sampled_from(["default", "first"]),
    "language": st.sampled_from(["en", "de"]),
}
"""The same of those to whom everybody may send."""
WHOLE = st.integers(0, 12).map(str)
YES = st.sampled_from(["yes", "true"])
QUERIES: Mapping[str, Values] = {
    "gold.zip?format": st.sampled_from(list(Format)),
    "gold.zip?raters": st.sampled_from(list(RaterColumns)),
    "gold.zip?unfinished": st.sampled_from(list(Unfinished)),
    "?format": st.sampled_from(["", "", "", *FileFormat]),
    "?raters": st.sampled_from(["anonymous", "named"]),
    "?type": st.just(TYPE),
    "/ratings?columns": st.none(),
    "?columns": st.none() | st.just("left=right,right=left"),
    "?merge_equal_texts": YES,
    "?name": words,
    "?search": st.sampled_from(["ferry", "p1", "leaves"]),
    "?state": st.sampled_from(list(PairState)),
    "?limit": st.integers(1, 1000).map(str),
    "?offset": WHOLE,
    "?resamples": st.integers(1, 200).map(str),
    "?seed": WHOLE,
    "?which": st.sampled_from(list(Which)),
    "?second": YES,
    "?comments": YES,
    "?threshold": steps.map(str),
    "?model": st.sampled_from(["north", "south"]),
}
"""Values that parameters after a path take, by the end of the path and the name; the first that fits."""
cells = st.sampled_from(["a", "b", TYPE, "Ana", "1", "2.25", "4.1", "-1", ""]) | texts
old_ids, new_ids = st.integers(0, PAIRS - 1).map("p{}".format), new_numbers.map("new{}".format)
COLUMNS: Mapping[str, Values] = {
    "type": st.just(TYPE),
    "left": words,
    "right": words,
    "rater": st.integers(0, 60).map("R{}".format),
    "grade": steps.map(str),
    "score": st.floats(0, 4).map(str),
    "genre": st.sampled_from(["news", "", "letters"]),
    "intended": st.sampled_from(["", "3"]),
    "source": words,
}
"""Cells of the tables that imports take, by the name of the column."""


@st.composite
def rows_of(draw: st.DrawFn, path: str, gold: Sequence[str]) -> list[dict[str, str]]:
    """Rows that an import takes, or, in three of ten files, with cells of any kind.

    Args:
        path: tells what is imported.
        gold: ids of pairs that have a gold grade, which a system scores.
    """
    wild = draw(st.integers(0, 9)) in (4, 5, 6)
    if path.endswith("/systems"):
        ids, names = gold, ["score"]
    elif path.endswith("/ratings"):
        ids, names = draw(st.lists(old_ids, min_size=1, max_size=6)), ["rater", "grade"]
    else:
        ids = draw(st.lists(old_ids if wild else new_ids, min_size=1, max_size=4, unique=True))
        names = [
            "type",
            "left",
            "right",
            *draw(st.sampled_from([[], ["rater", "grade"], ["genre", "source"]])),
        ]
    if wild:
        ids, names = ids[:4], [*names, draw(st.sampled_from([*COLUMNS]))]
        fields = {name: COLUMNS[name] | cells for name in names}
        return [draw(st.fixed_dictionaries({"id": st.just(id) | cells, **fields})) for id in ids]
    if names == ["score"]:  # of all pairs, without a draw for each
        first = draw(st.integers(0, 16))
        return [{"id": id, "score": str((first * at) % 17 / 4)} for at, id in enumerate(ids)]
    return [{"id": id, **{name: draw(COLUMNS[name]) for name in names}} for id in ids]


def as_file(rows: Sequence[Mapping[str, str]], kind: str) -> str:
    """The rows in the format of a content type that is not JSON."""
    if "json" in kind:
        return "".join(json.dumps(row) + "\n" for row in rows)
    tab = "," if kind == "text/csv" else "\t"
    lines = [rows[0].keys(), *(row.values() for row in rows)] if rows else [["id", "type", "left", "right"]]
    return "\n".join(tab.join(map(sendable, line)) for line in lines)


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def values_of(schema: Mapping[str, Any], known: Mapping[str, Any], fields: Mapping[str, Values]) -> Values:
    """Values that a schema of JSON takes, and some that it does not.

    Args:
        known: the schemas that it may refer to.
        fields: values that the fields of objects mostly have, by name.
    """
    if "$ref" in schema:
        return values_of(known[schema["$ref"].rpartition("/")[2]], known, fields)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return st.one_of([values_of(each, known, fields) for each in schema[several]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds: Any = schema.get("type", ())
    match kinds:
        case "object":
            its = {
                name: values_of(each, known, fields) for name, each in schema.get("properties", {}).items()
            }
            needed = {
                name: mostly(fields[name], its[name] | junk) if name in fields else its[name]
                for name in (*schema.get("required", ()), "text")  # without it nothing is predicted
                if name in its
            }
            others = {
                name: mostly(fields.get(name, each), each | junk, of=20)
                for name, each in its.items()
                if name not in needed
            }
            return st.fixed_dictionaries(needed, optional=others)
        case "array":
            return st.lists(values_of(schema.get("items", {}), known, fields), max_size=3)
        case "string":
            return texts
        case "integer":
            low, high = schema.get("minimum", -3), schema.get("maximum", 10**6)
            return st.integers(low, high)
        case "number":
            return st.floats(schema.get("minimum", -5), schema.get("maximum", 5), allow_nan=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case list():
            return st.one_of([values_of({**schema, "type": kind}, known, fields) for kind in kinds])
    return junk


@dataclass(frozen=True)
class Known:
    """What there is on the server at the moment, for requests to name."""

    places: Mapping[str, Values]
    """By a part of the path, but for projects."""
    project_ids: Mapping[str, int]
    """By name."""
    fields: Mapping[str, Values]
    queries: Mapping[str, Values]
    gold: Sequence[str]
    """Ids of the pairs of the first project that have a gold grade."""
    senders: Mapping[str, Values]
    """Headers that tell who sends, by the beginning of the path."""

    def projects(self, path: str) -> Values:
        """Ids of projects, mostly of the one that has what the address is for."""
        home = next((name for end, name in HOMES.items() if path.endswith(end)), "graded")
        any_project = st.sampled_from([*self.project_ids.values()])
        return mostly(st.just(self.project_ids[home]), any_project, of=4).map(str)


@dataclass(frozen=True)
class Address:
    """A method at a path, and what its requests may have."""

    method: str
    path: str
    told: Mapping[str, Any] = field(repr=False)
    """Its part of the description."""
    schemas: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return f"{self.method.upper()} {self.path}"

    def requests(self, known: Known) -> st.SearchStrategy[dict[str, Any]]:
        """Arguments of `TestClient.request`."""
        parameters = self.told.get("parameters", ())
        names = {place: [p["name"] for p in parameters if p["in"] == place] for place in ("path", "query")}
        senders = [who for start, who in known.senders.items() if self.path.startswith(start)] or [
            st.just({})
        ]
        return st.fixed_dictionaries(
            {
                "method": st.just(self.method.upper()),
                "url": st.fixed_dictionaries({each: self.place(each, known) for each in names["path"]}).map(
                    self._url
                ),
                "params": st.fixed_dictionaries(
                    {each: mostly(self.query(each, known), st.none(), of=4) for each in names["query"]}
                ).map(without_none),
                "sender": senders[0],
                "content": self._body(known),
            }
        ).map(as_arguments)

    def place(self, name: str, known: Known) -> Values:
        if name in ("project", "project_id"):
            return mostly(known.projects(self.path), texts)
        for part, values in known.places.items():
            if part in self.path and part.endswith(f"{{{name}}}"):
                return mostly(values, texts)
        return texts

    def _url(self, places: Mapping[str, str]) -> str:
        return self.path.format(
            **{name: quote(sendable(value) or "0", safe="") for name, value in places.items()}
        )

    def query(self, name: str, known: Known) -> Values:
        for key, values in known.queries.items():
            end, _mark, whose = key.partition("?")
            if whose == name and self.path.endswith(end):
                return mostly(values, texts).map(lambda value: value and sendable(value))
        return texts.map(sendable)

    def _body(self, known: Known) -> st.SearchStrategy[tuple[str, bytes]]:
        """Content type and content."""
        kinds = self.told.get("requestBody", {}).get("content", {})
        if not kinds:
            return st.just(("", b""))
        usual = [self.content(kind, known).map(partial(with_kind, kind)) for kind in kinds]
        wrong_kinds = st.sampled_from([*kinds, "text/plain", ""])
        return mostly(st.one_of(usual), st.tuples(wrong_kinds, junk.map(as_bytes) | st.binary(max_size=40)))

    def content(self, kind: str, known: Known) -> Values:
        """Values for JSON, texts for other content types."""
        schema = self.told["requestBody"]["content"][kind].get("schema", {})
        if schema.get("type") == "string":
            rows = rows_of(self.path, known.gold)
            return rows if kind == "application/json" else rows.map(partial(as_file, kind=kind))
        fields = known.fields if self.path.startswith("/anno") else PUBLIC_FIELDS
        return mostly(values_of(schema, self.schemas, fields), junk)


def with_kind(kind: str, value: object) -> tuple[str, bytes]:
    return kind, value.encode() if isinstance(value, str) and kind != "application/json" else as_bytes(value)


def as_bytes(value: object) -> bytes:
    """As JSON; a text is sent as it is now and then."""
    return json.dumps(value).encode()


def as_arguments(drawn: Mapping[str, Any]) -> dict[str, Any]:
    kind, content = drawn["content"]
    headers = drawn["sender"] | ({"content-type": kind} if kind else {})
    request = {**{name: drawn[name] for name in ("method", "url", "params")}, "headers": headers}
    return request | ({"content": content} if content or kind else {})


def addresses(described: Mapping[str, Any]) -> list[Address]:
    """What a description lists."""
    schemas = described.get("components", {}).get("schemas", {})
    return [
        Address(method, path, told, schemas)
        for path, methods in described["paths"].items()
        for method, told in methods.items()
        if method in METHODS
    ]


def page_addresses(of_programs: Sequence[Address]) -> list[Address]:
    """What the pages for rating and writing talk to: no description lists it."""
    shared = ("/projects/{project}/", "/pairs/{pair}", "/training/")
    rating = [
        replace(each, path=each.path.replace(PROGRAMS, PAGES))
        for each in of_programs
        if each.path.removeprefix(PROGRAMS).startswith(shared)
    ]
    place = {"in": "path", "schema": {"type": "string"}}

    def writing(method: str, path: str, body: Mapping[str, Any] | None = None) -> Address:
        name = "project" if "{project}" in path else "writing"
        statuses = ("200", "401", "403", "404", "409", "412", "413", "422", "428", "503")
        told = {"parameters": [{"name": name, **place}], "responses": dict.fromkeys(statuses), **(body or {})}
        return Address(method, f"{PAGES}{path}", told)

    return [
        *rating,
        writing("get", "/projects/{project}/adjudication"),
        writing("get", "/projects/{project}/writing"),
        writing("get", "/projects/{project}/written"),
        writing("get", "/writings/{writing}"),
        writing("put", "/writings/{writing}/draft", describe_body(Draft)),
        writing("post", "/writings/{writing}/submit", describe_body(Draft)),
        writing("post", "/writings/{writing}/blank", describe_body(Blank)),
    ]


Counts = dict[str, Counter[str]]
"""By address, how many requests were answered how."""
_KINDS = ("2xx", "404", "other 4xx", "503")


def kind_of(status: int) -> str:
    if status >= 500:
        return "503"
    return "404" if status == 404 else "other 4xx" if status >= 400 else "2xx"


def table(counts: Counts) -> str:
    lines = [f"{'':62} {'requests':>8}" + "".join(f"{kind:>10}" for kind in _KINDS)]
    for name, kinds in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        sent = kinds.total()
        shares = "".join(f"{kinds[kind] / sent:10.0%}" for kind in _KINDS)
        lines.append(f"{name:62} {sent:8,}{shares}")
    return "\n".join(lines)


def send(client: TestClient, request: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """Send it; the answer has to be one of those described, and a refusal a sentence. Of which kind it is."""
    response = client.request(**request)
    status = response.status_code
    assert status < 500 or status in MAY_FAIL, (request, status, response.text)
    responses = told["responses"]
    if str(status) not in responses:
        # A place that is empty or has a slash leads to another address.
        assert status in (404, 405), (request, status, response.text)
    if status == 403 and request["method"] != "GET" and request["headers"].get("origin") == ELSEWHERE:
        assert response.text.startswith(f"A page of {ELSEWHERE} sent this"), (request, response.text)
    elif status >= 400:
        assert list(response.json()) == ["error"], (request, response.text)
        assert response.json()["error"].strip(), request
    elif model := answer_model(responses[str(status)]):
        model.model_validate_json(response.content)
    return kind_of(status)


def answer_model(response: Mapping[str, Any] | None) -> Any:
    """The model that an answer is described by; None for files."""
    schema = (response or {}).get("content", {}).get("application/json", {}).get("schema", {})
    return getattr(answers, schema.get("$ref", "").rpartition("/")[2], None)


PEOPLE = ("root", "Ana", "Judith", "nobody")


@dataclass(frozen=True)
class World:
    """A server with projects of every kind, and those who send requests to it."""

    services: Services
    server: Any
    tokens: Mapping[str, str]
    sessions: Mapping[str, str]

    @property
    def token(self) -> str:
        """Of the administrator of the server, who also rates and writes in all projects."""
        return self.tokens["root"]

    def known(self) -> Known:
        """What there is now; what a rater or a writer has in hand is looked up for each request."""
        services, root = self.services, self.services.accounts.user("root").id
        with services.database.reading() as session:
            made = select(Project.name, Project.id).where(Project.checks_of_id.is_(None))
            own, others = made.where(Project.name.in_(FILLED)), made.where(Project.name.not_in(FILLED))
            newest = others.order_by(Project.id.desc()).limit(2)
            rows = [*session.execute(own), *session.execute(newest)]
            rated = session.scalars(
                select(Assignment.pair_id).where(Assignment.rater_id == root, Assignment.state == "rated")
            ).all()
            pairs = session.scalars(select(Pair.id)).all()
            training = session.scalars(select(TrainingPair.id)).all()
            golds = session.scalars(select(GoldSet.id)).all()
        name_of = PairNames(services.keys.pairs).name_of
        projects = {row.name: row.id for row in rows}
        again = st.sampled_from(rated or pairs)
        any_names = st.sampled_from(pairs).map(name_of) | again.map(partial(name_of, is_repeat=True))

        def name_in_hand(project: str, place: int) -> str:
            queue = services.assignment.queue(projects[project], root).pairs
            pair = queue[place % len(queue)] if queue else None
            return name_of(pairs[0]) if pair is None else name_of(pair.id, is_repeat=pair.is_repeat)

        def training_in_hand() -> str:
            queue = services.training.queue(projects["training"], root).pairs
            return str(queue[0].id if queue else training[0])  # none where they have all been graded

        def task_in_hand() -> tuple[int, int]:
            task = services.writing.desk(projects["writing"], root).task
            return (1, 0) if task is None else (task.id, task.version)  # none where all items are written for

        names_in_hand = st.builds(name_in_hand, st.sampled_from(["graded", "crowd"]), st.integers(0, 9))
        return Known(
            places={
                "/pairs/{pair}": mostly(names_in_hand | again.map(name_of), any_names, of=4),
                "/training/{pair}": st.builds(training_in_hand) | st.sampled_from(training).map(str),
                "/writings/{writing}": st.builds(lambda: str(task_in_hand()[0])),
                "/ratings.{ending}": st.sampled_from(list(RatingFormat)),
                "/leaderboard.{ending}": st.sampled_from(["csv", "json"]),
            },
            project_ids=projects,
            fields=FIELDS | {"version": st.builds(lambda: task_in_hand()[1])},
            queries=QUERIES | {"?gold": st.sampled_from(golds).map(str)},
            gold=[pair.key[1] for pair in services.systems.own_gold(projects["graded"]).pairs],
            senders={
                PROGRAMS: self._senders({"authorization": f"Bearer {self.token}"}, self._bearers()),
                PAGES: self._senders({"cookie": f"{COOKIE}={self.sessions['root']}"}, self._cookies(root)),
            },
        )

    @staticmethod
    def _senders(root: dict[str, str], others: Sequence[dict[str, str]]) -> Values:
        return mostly(st.just(root), st.sampled_from(others))

    def _bearers(self) -> list[dict[str, str]]:
        tokens = [*self.tokens.values(), "kp_none", ""]
        return [{"authorization": f"Bearer {each}"} for each in tokens] + [{"authorization": "Basic Og=="}]

    def _cookies(self, root: int) -> list[dict[str, str]]:
        own = {"cookie": f"{COOKIE}={self.sessions['root']}", "origin": HOST}
        return [
            *({"cookie": f"{COOKIE}={each}", "accept-language": "de"} for each in self.sessions.values()),
            own | {RATER_HEADER: str(root)},
            own | {RATER_HEADER: "none"},
            own | {"origin": ELSEWHERE},
            {"cookie": f"{COOKIE}=none"},
        ]


def pair(id: str, *grades: str) -> NewPair:
    ratings = tuple(zip(("Ben", "Cleo"), map(Decimal, grades), strict=False))
    return NewPair(id, TYPE, f"The ferry of {id} leaves at noon.", f"ferry {id}", ratings=ratings)


def fill_graded(services: Services, project: int) -> None:
    """Pairs with grades, some far apart and one decided on, most without; a gold set with a system."""
    graded = [pair(f"p{at}", str(at % 5), str((at * 7) % 5)) for at in range(GRADED)]
    services.importing.import_pairs(project, [*graded, *(pair(f"p{at}") for at in range(GRADED, PAIRS))])
    queue = services.adjudication.queue(project, Which.OPEN, None, limit=3)
    judith = services.accounts.user("Judith").id
    services.adjudication.decide(project, queue.entries[0].pair_id, judith, Decimal(2), Cause.SCALE)
    services.pairs.withdraw(project, [f"p{PAIRS - 1}"])
    gold = services.systems.own_gold(project)
    services.systems.add(project, gold, System("constant", (2.0,) * len(gold.pairs)))


def fill_training(services: Services, project: int) -> None:
    """Training that nobody passes by chance, and hidden checks."""
    known = [KnownPair(replace(pair(f"t{at}"), source="t"), Decimal(at % 5)) for at in range(30)]
    checks = [KnownPair(pair(f"c{at}"), Decimal(at % 5)) for at in range(20)]
    services.importing.import_pairs(project, [pair(f"q{at}") for at in range(40)])
    services.known_pairs.import_training(project, known)
    services.known_pairs.import_checks(project, checks)
    services.quality.change(
        project, QualitySettings(training_distance=Decimal(0), pass_percent=100, check_every=3)
    )


def fill_consent(services: Services, project: int) -> None:
    services.importing.import_pairs(project, [pair(f"a{at}") for at in range(20)])


def fill_judgements(services: Services, project: int) -> None:
    """Predicted keyphrases of two models."""
    services.sending.send(project, documents())


def fill_writing(services: Services, project: int) -> None:
    services.items.import_items(project, new_items(600))


def fill_senses(services: Services, project: int) -> None:
    services.importing.import_pairs(project, [NewPair("s1", "word2sense", "mouse#n", KEYBOARD.key)])


def fill_crowd(services: Services, project: int) -> None:
    """Workers of a platform, one of whom is finished, and hidden checks among few pairs."""
    services.importing.import_pairs(project, [pair(f"w{at}") for at in range(30)])
    services.crowds.change(project, CrowdSettings("done-{id}", "out", "https://example.org/{code}", "Ann"))
    link = services.crowds.make_link(project, 50, utcnow() + timedelta(days=1))
    for at in range(3):
        services.crowds.come_as_worker(link, f"192.0.2.{at}", Worker(Source.PROLIFIC, f"5f3a{at}"))


FILLED: Mapping[str, tuple[Callable[[Services, int], None], Mapping[str, Any]]] = {
    "graded": (fill_graded, {"repeat_percent": 50, "is_random": False}),
    "training": (fill_training, {}),
    "consent": (fill_consent, {"consent": CONSENT}),
    "judgements": (fill_judgements, {"types": ("document2keyphrase",)}),
    "writing": (fill_writing, {}),
    "senses": (fill_senses, {"types": ("word2sense",)}),
    "crowd": (fill_crowd, {"most_per_rater": 10, "threshold": None}),
}
"""The projects by name: what fills each, and its settings."""
HOMES = {
    "keyphrases.run": "judgements",
    "keyphrases.qrels": "judgements",
    "gold-keyphrases.jsonl": "judgements",
    "workers.csv": "crowd",
    "/training": "training",
    "/consent": "consent",
    "/writing": "writing",
    "/written": "writing",
}
"""Which project has what an address is for, by the end of its path; of the others it is the first."""


@contextmanager
def open_world(folder: Path) -> Iterator[World]:
    write_wordnet(folder / "wordnet", NETWORK)
    with new_database("sqlite", folder) as database:
        services = open_services(database, folder / "wordnet")
        for name in PEOPLE:
            services.accounts.add_user(name, is_administrator=name == "root")
        for name, (fill, chosen) in FILLED.items():
            given = {"types": (TYPE,), "raters_per_pair": 3, **chosen}
            project = services.projects.create(ProjectSettings(name, **given))
            for role in (Role.RATER, Role.WRITER):
                services.projects.add_member(project.id, "root", role)
            services.projects.add_member(project.id, "Ana", Role.RATER)
            services.projects.add_member(project.id, "Judith", Role.ADJUDICATOR)
            fill(services, project.id)
        tokens = {name: services.tokens.make(name, "fuzzing") for name in PEOPLE}
        with database.session() as session:
            sessions = {
                name: start_session(session, services.accounts.user(name).id, utcnow()) for name in PEOPLE
            }
        server = app.build_server(app.AppContext(MODELS, load, annotation=services))
        yield World(services, server, tokens, sessions)


class Failures(logging.Handler):
    """What the server logs of errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or record.levelno >= logging.ERROR:
            self.lines.append(logging.Formatter().format(record))


def fuzz(folder: Path, *, examples: int, until: float = 0, start: int = 0) -> Counts:
    """Send so many requests to each address, again and again until a moment; how they were answered.

    Args:
        start: what the requests are made from.
    """
    counts: Counts = defaultdict(Counter)
    failures = Failures()
    with open_world(folder) as world, TestClient(world.server, base_url=HOST) as client:
        logging.getLogger().addHandler(failures)
        try:
            public, programs = (addresses(client.get(path).json()) for path in DESCRIPTIONS)
            every = [*public, *programs, *page_addresses(programs)]
            while not counts or time.monotonic() < until:
                for address in every:
                    ask(client, address, world.known(), counts[address.name], examples=examples, start=start)
                start += 1
        finally:
            logging.getLogger().removeHandler(failures)
        problems = checks.check(world.services.database).problems
    assert not failures.lines, failures.lines
    assert not problems, problems
    return counts


def ask(
    client: TestClient, address: Address, known: Known, count: Counter[str], *, examples: int, start: int
) -> None:
    @seed(crc32(f"{start} {address.name}".encode()))
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(request=address.requests(known))
    def ask_one(request: dict[str, Any]) -> None:
        count[send(client, request, address.told)] += 1

    ask_one()


def narrow(described: dict[str, Any], known: Known) -> dict[str, Any]:
    """A description that takes what exists and fits: schemathesis would make up all names."""
    for address in addresses(described):
        for parameter in address.told.get("parameters", ()):
            values = address.place if parameter["in"] == "path" else address.query
            parameter["schema"] = {"type": "string", "enum": some(values(parameter["name"], known))}
        for kind, said in address.told.get("requestBody", {}).get("content", {}).items():
            said["schema"] = {"enum": some(address.content(kind, known))}
    return described


def some(values: Values) -> list[Any]:
    """Those that are drawn again and again or, where none is, all: what does not fit it draws itself."""
    found: Counter[str] = Counter()

    @seed(0)
    @settings(
        max_examples=50, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(values)
    def keep(value: Any) -> None:
        if value not in (None, ""):
            found[sendable(json.dumps(value, ensure_ascii=False))] += (
                1  # half a character is in no description
            )

    keep()
    again = [text for text, times in found.items() if times > 1]
    return [json.loads(text) for text in again or found]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    minutes = parser.parse_args().minutes
    faulthandler.dump_traceback_later(30 * minutes + 300, exit=True)  # a request that is never answered
    with TemporaryDirectory() as folder:
        begun = time.monotonic()
        counts = fuzz(Path(folder), examples=30, until=begun + 30 * minutes, start=int(time.time()))
        print(table(counts))
        print("Every answer was ours.", flush=True)
    faulthandler.cancel_dump_traceback_later()
    with TemporaryDirectory() as folder, open_world(Path(folder)) as world, served(world.server) as url:
        failed = 0
        for name, path in zip(("public", "programs"), DESCRIPTIONS, strict=True):
            with urlopen(url + path) as answer:
                described = narrow(json.load(answer), world.known())
            file = Path(folder) / f"{name}.json"
            file.write_text(json.dumps(described), encoding="utf-8")
            command = [sys.executable, "-m", "schemathesis.cli", "run", str(file), "--url", url]
            command += ["--max-time", str(int(15 * minutes)), "--continue-on-failure", "-n", "100000"]
            command += ["--checks", "not_a_server_error,status_code_conformance,response_schema_conformance"]
            command += ["-H", f"Authorization: Bearer {world.token}"]
            failed += subprocess.run(command, check=False, cwd=folder).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
