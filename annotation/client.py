"""A client of a server's annotation, of the standard library alone: copy this file to use it elsewhere.

client = Client("https://rate.example.org", token)
client.import_pairs(client.project("news")["id"], "pairs.tsv")
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from http.client import HTTPException
from pathlib import Path
from typing import Any, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

PREFIX = "/annotation/api"
PAGE = 1000
TRIES = 5
LONGEST_WAIT = 60.0
"""Seconds."""
_BLOCK = 2**18
"""Bytes."""
_KINDS = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
}


class ClientError(Exception):
    """The server refused a request, in the sentence of the message, or was not reached.

    Attributes:
        status: of HTTP; None where there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Asks in the name of the token's owner; every method raises `ClientError`.

    Requests that the server answers with 429 or 503 are sent again, after as long as it says.

    Args:
        url: of the server, such as "https://rate.example.org".
        token: from the account's page, or of `python -m annotation user token`.
        timeout: seconds without a byte after which a request has failed.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 300.0) -> None:
        self._url = url.rstrip("/") + PREFIX
        self._token = token
        self._timeout = timeout

    def projects(self) -> list[dict[str, Any]]:
        """Those that the account works in, by name."""
        return cast(list[dict[str, Any]], self._json("GET", "projects")["projects"])

    def project(self, name_or_id: str | int) -> dict[str, Any]:
        """A project with its settings and counts, for administrators and adjudicators of it."""
        number = name_or_id
        if isinstance(name_or_id, str):
            found = [each["id"] for each in self.projects() if each["name"] == name_or_id]
            if not found:
                raise ClientError(f"You work in no project named {name_or_id!r}.", 404)
            number = found[0]
        return self._json("GET", f"projects/{number}")

    def create_project(self, name: str, **settings: Any) -> dict[str, Any]:
        """A new project; the settings are those of `project --json`, such as `types=["phrase2word"]`."""
        return self._json("POST", "projects", {"name": name, **settings})

    def import_pairs(self, project: int, file: str | Path, **options: Any) -> dict[str, Any]:
        """Import a file of pairs, with ratings or without; `options` are type, columns, format and others."""
        return self._import(project, "pairs", Path(file), options)

    def import_ratings(self, project: int, file: str | Path, **options: Any) -> dict[str, Any]:
        """Import a file of ratings in long form, with id, rater and grade."""
        return self._import(project, "ratings", Path(file), options)

    def pairs(self, project: int, *, search: str = "", state: str = "") -> Iterator[dict[str, Any]]:
        """In the order of import."""
        return self._rows(project, "pairs", {"search": search, "state": state})

    def ratings(self, project: int, *, raters: str = "anonymous") -> Iterator[dict[str, Any]]:
        """Every single rating, in the order in which the pairs were imported."""
        return self._rows(project, "ratings", {"raters": raters})

    def add_system(self, project: int, name: str, file: str | Path) -> dict[str, Any]:
        """Add a file of scores to the leaderboard, such as the grades of a language model.

        The answer tells in `as_rater` how they agree with those of people; they never count among them.
        """
        return self._import(project, "systems", Path(file), {"name": name})

    def queue(self, project: int) -> dict[str, Any]:
        """The pairs that are the account's to grade, as a rater: `pairs`, each with its `id`."""
        return self._json("GET", f"projects/{project}/queue")

    def rate(self, pair: str, grade: float | Decimal, seconds: float = 0) -> dict[str, Any]:
        """Grade a pair of one's queue; the answer has the next ones."""
        return self._json("PUT", f"pairs/{quote(pair)}/rating", {"grade": grade, "seconds": seconds})

    def agreement(self, project: int, **options: int) -> dict[str, Any]:
        """As `agreement --json` prints it; options are resamples and seed."""
        return self._json("GET", f"projects/{project}/agreement", query=options)

    def adjudications(self, project: int, which: str = "open") -> dict[str, Any]:
        """The queue of adjudication: open, decided or all."""
        return self._json("GET", f"projects/{project}/adjudications", query={"which": which})

    def export(self, project: int, name: str, file: str | Path, **options: Any) -> Path:
        """Write an export to a file.

        Args:
            name: "gold.zip", "ratings.csv", "ratings.jsonl", "ratings.tsv", "workers.csv",
                "gold-keyphrases.jsonl", "keyphrases.qrels", "keyphrases.run" or "leaderboard.csv".
            file: which is written, once all of it has come; an earlier one is replaced.
            options: such as `format="jsonl"` or `raters="named"`.
        """
        path = Path(file)
        part = path.with_name(f"{path.name}.part")
        with self._open("GET", f"projects/{project}/exports/{quote(name)}", query=options) as answer:
            try:
                with part.open("wb") as stream:
                    while block := self._read(answer, _BLOCK):
                        stream.write(block)
                    size, whole = stream.tell(), int(answer.headers.get("Content-Length", stream.tell()))
                if size != whole:  # a connection that ends early looks like the end of the file
                    raise ClientError(f"Only {size:,} of {whole:,} bytes of {name} came: export it again.")
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
        return path

    def _import(self, project: int, what: str, file: Path, options: Mapping[str, Any]) -> dict[str, Any]:
        kind = _KINDS.get(file.suffix.lower(), "application/octet-stream")
        query = {"name": file.name, **options}
        return self._json("POST", f"projects/{project}/{what}", file.read_bytes(), query=query, kind=kind)

    def _rows(self, project: int, what: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        offset = 0
        while True:
            place = {**query, "limit": PAGE, "offset": offset}
            page = self._json("GET", f"projects/{project}/{what}", query=place)[what]
            yield from page
            offset += len(page)
            if len(page) < PAGE:
                return

    def _json(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        kind: str = "application/json",
    ) -> dict[str, Any]:
        with self._open(method, path, body, query=query, kind=kind) as answer:
            content = self._read(answer)
        try:
            return cast(dict[str, Any], json.loads(content))
        except ValueError:
            raise ClientError(f"{self._url} answered with no JSON: give the address of the server.") from None

    def _read(self, answer: Any, most: int | None = None) -> bytes:
        try:
            return cast(bytes, answer.read(most))
        except (HTTPException, OSError) as error:
            raise ClientError(f"The answer of {self._url} broke off ({error}): ask again.") from None

    def _open(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        kind: str = "application/json",
    ) -> Any:
        content = (
            body if body is None or isinstance(body, bytes) else json.dumps(body, default=float).encode()
        )
        said = urlencode({name: _text(value) for name, value in (query or {}).items()})
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json, */*"}
        if content is not None:
            headers["Content-Type"] = kind
        address = f"{self._url}/{path}" + (f"?{said}" if said else "")
        for tries in range(1, TRIES + 1):
            try:
                request = Request(address, content, headers, method=method)
                return urlopen(request, timeout=self._timeout)
            except HTTPError as error:
                with error:
                    sentence = _sentence(error)
                if error.code not in (429, 503) or tries == TRIES:
                    raise ClientError(sentence, error.code) from None
                time.sleep(_seconds(error.headers.get("Retry-After"), tries))
            except (URLError, TimeoutError, ConnectionError, HTTPException, ValueError) as error:
                raise ClientError(
                    f"{self._url} was not reached: {getattr(error, 'reason', error)}."
                ) from None
        raise AssertionError  # the last try returned or raised


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seconds(said: str | None, tries: int) -> float:
    """How long to wait: as the server says, else longer each time."""
    wait = float(said) if said is not None and said.isdigit() else 0.5 * 2**tries
    return min(wait, LONGEST_WAIT)


def _sentence(error: HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"The server answered {error.code} {error.reason}."
