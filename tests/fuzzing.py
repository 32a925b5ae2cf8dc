"""Requests that nobody sends on purpose, made from the OpenAPI of a server, and what it may answer.

`python -m tests.fuzzing --minutes 10` (`make fuzz`) sends them for minutes and then has schemathesis do so by
its own means; a test sends a few, always the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import app
from annotation.services.bundle import Services, open_services
from annotation.types import NewPair, ProjectSettings, Role
from tests.browser.conftest import MODELS, load
from tests.databases import new_database
from tests.integration.test_api_server import served

DESCRIPTIONS = "/api/openapi.json", "/annotation/api/openapi.json"
MAY_FAIL = (503, 507)
"""Statuses from 500 up that are ours: too busy, no room."""
METHODS = ("get", "post", "put", "patch", "delete")
PLACES = {"project_id": "1", "project": "1", "ending": "csv"}
"""Values of places in paths that lead further than any text; to them comes a pair of the rater."""

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


def values_of(schema: Mapping[str, Any], known: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema of JSON takes, and some that it does not.

    Args:
        known: the schemas that it may refer to.
    """
    if "$ref" in schema:
        return values_of(known[schema["$ref"].rpartition("/")[2]], known)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return st.one_of([values_of(each, known) for each in schema[several]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds: Any = schema.get("type", ())
    match kinds:
        case "object":
            fields = {name: values_of(each, known) for name, each in schema.get("properties", {}).items()}
            needed = {name: fields.pop(name) for name in schema.get("required", ()) if name in fields}
            return st.fixed_dictionaries(
                needed, optional={name: field | junk for name, field in fields.items()}
            )
        case "array":
            return st.lists(values_of(schema.get("items", {}), known), max_size=3)
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
            return st.one_of([values_of({**schema, "type": kind}, known) for kind in kinds])
    return junk


@dataclass(frozen=True)
class Address:
    """A method at a path, and what its requests may have."""

    method: str
    path: str
    told: Mapping[str, Any]
    """Its part of the description."""
    known: Mapping[str, Any]
    places: Mapping[str, str]

    def requests(self) -> st.SearchStrategy[dict[str, Any]]:
        """Arguments of `TestClient.request`."""
        parameters = self.told.get("parameters", ())
        return st.fixed_dictionaries(
            {
                "method": st.just(self.method.upper()),
                "url": st.fixed_dictionaries(
                    {each["name"]: self._place(each["name"]) for each in parameters if each["in"] == "path"}
                ).map(self._url),
                "params": st.fixed_dictionaries(
                    {},
                    optional={
                        each["name"]: texts.map(sendable) for each in parameters if each["in"] == "query"
                    },
                ),
                **self._body(),
            }
        )

    def _place(self, name: str) -> st.SearchStrategy[str]:
        return st.just(self.places[name]) | texts if name in self.places else texts

    def _url(self, places: Mapping[str, str]) -> str:
        return self.path.format(
            **{name: quote(sendable(value) or "0", safe="") for name, value in places.items()}
        )

    def _body(self) -> dict[str, st.SearchStrategy[Any]]:
        kinds = self.told.get("requestBody", {}).get("content", {})
        if not kinds:
            return {}
        values = st.one_of(
            [values_of(kind.get("schema", {}), self.known) for kind in kinds.values()] + [junk, rows]
        )
        content = values.map(as_bytes) | tables | st.binary(max_size=40)
        headers = st.sampled_from([*kinds, "text/plain"]).map(lambda kind: {"content-type": kind})
        return {"content": content, "headers": headers}


def sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def as_bytes(value: object) -> bytes:
    """As JSON; a text is sent as it is now and then."""
    return json.dumps(value).encode()


cells = st.sampled_from(["a", "b", "sentence2phrase", "Ana", "1", "2.25", "4.1", "-1", ""]) | texts
rows = st.lists(
    st.dictionaries(
        st.sampled_from(["id", "type", "left", "right", "rater", "grade", "ratings", "genre", "intended"]),
        cells | st.lists(st.fixed_dictionaries({"rater": cells, "grade": cells | numbers}), max_size=3),
    ),
    max_size=4,
)


@st.composite
def _tables(draw: st.DrawFn) -> bytes:
    """A table with a header such as imports take."""
    tab = draw(st.sampled_from([",", "\t", ";"]))
    names = ["id", "type", "left", "right", "rater", "grade"]
    lines = draw(st.lists(st.lists(cells, min_size=1, max_size=7), max_size=4))
    return "\n".join(tab.join(map(sendable, line)) for line in [names, *lines]).encode()


tables = _tables()


def addresses(described: Mapping[str, Any], places: Mapping[str, str]) -> list[Address]:
    """What a description lists."""
    known = described.get("components", {}).get("schemas", {})
    return [
        Address(method, path, told, known, places)
        for path, methods in described["paths"].items()
        for method, told in methods.items()
        if method in METHODS
    ]


def send(client: TestClient, request: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """Send it; the answer has to be one of those described, and a refusal a sentence."""
    response = client.request(**request)
    status = response.status_code
    assert status < 500 or status in MAY_FAIL, (request, status, response.text)
    responses = told["responses"]
    if str(status) not in responses:
        # A place that is empty or has a slash leads to another address.
        assert status in (404, 405), (request, status, response.text)
    if status >= 400:
        assert list(response.json()) == ["error"], (request, response.text)
        assert response.json()["error"].strip(), request


@contextmanager
def open_server(folder: Path) -> Iterator[tuple[Services, Any, str]]:
    """The server with a project, and the token of an administrator who also rates in it."""
    with new_database("sqlite", folder) as database:
        services = open_services(database)
        services.accounts.add_user("root", is_administrator=True)
        project = services.projects.create(
            ProjectSettings(name="harbour", types=("sentence2phrase",), raters_per_pair=2)
        )
        services.importing.import_pairs(
            project.id,
            [
                NewPair(f"p{at}", "sentence2phrase", f"The {at}th ferry leaves.", f"ferry {at}")
                for at in range(9)
            ],
        )
        services.projects.add_member(project.id, "root", Role.RATER)
        token = services.tokens.make("root", "fuzzing")
        yield services, app.build_server(app.AppContext(MODELS, load, annotation=services)), token


def fuzz(folder: Path, *, examples: int, until: float = 0, start: int = 0) -> int:
    """Send so many requests to each address, again and again until a moment; how many.

    Args:
        start: what the requests are made from.
    """
    sent = 0
    with open_server(folder) as (_, server, token), TestClient(server, base_url="http://127.0.0.1") as client:
        client.headers["authorization"] = f"Bearer {token}"
        queue = client.get("/annotation/api/projects/1/queue").json()
        places = PLACES | {"pair": queue["pairs"][0]["id"]}
        every = [each for path in DESCRIPTIONS for each in addresses(client.get(path).json(), places)]
        while not sent or time.monotonic() < until:
            for address in every:
                sent += ask(client, address, examples=examples, start=start)
            start += 1
    return sent


def ask(client: TestClient, address: Address, *, examples: int, start: int) -> int:
    sent = 0

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(request=address.requests())
    def ask_one(request: dict[str, Any]) -> None:
        nonlocal sent
        sent += 1
        send(client, request, address.told)

    ask_one()
    return sent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    minutes = parser.parse_args().minutes
    with TemporaryDirectory() as folder:
        begun = time.monotonic()
        sent = fuzz(Path(folder), examples=30, until=begun + 30 * minutes, start=int(time.time()))
        print(f"{sent:,} requests: every answer was ours.")
    with (
        TemporaryDirectory() as folder,
        open_server(Path(folder)) as (_, server, token),
        served(server) as url,
    ):
        failed = 0
        for path in DESCRIPTIONS:
            command = [sys.executable, "-m", "schemathesis.cli", "run", url + path, "--wait-for-schema", "20"]
            command += ["--max-time", str(int(15 * minutes)), "--continue-on-failure", "-n", "100000"]
            command += ["--checks", "not_a_server_error,status_code_conformance,response_schema_conformance"]
            command += ["-H", f"Authorization: Bearer {token}"]
            failed += subprocess.run(command, check=False, cwd=folder).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
