"""The web application as `python app.py` serves it, and a record of what it answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.characterisation.commands import ROOT, environment

HEADERS = ("allow", "cache-control", "content-disposition", "location", "retry-after", "set-cookie")
"""What is recorded of an answer besides its type."""
PATIENCE = 300.0
"""Seconds, on a machine that does much else."""


@contextmanager
def served(folder: Path, database_url: str) -> Iterator[str]:
    """The address of a server of its own, which stops at the end."""
    command = [sys.executable, ROOT / "app.py", "--port", "0", "--database-url", database_url]
    with (folder / "server.txt").open("wb") as errors:
        server = subprocess.Popen(
            command, cwd=folder, env=environment({}), stdout=subprocess.PIPE, stderr=errors
        )
    try:
        assert server.stdout is not None
        said = server.stdout.readline().decode()
        assert said.startswith("Serving on "), f"{said}{(folder / 'server.txt').read_text()}"
        yield said.split()[2]
    finally:
        server.terminate()
        server.communicate()


class Visitor:
    """A client, signed in or not, who keeps a record of requests and answers."""

    def __init__(self, address: str, name: str = "", password: str = "") -> None:
        self.name = name
        self.record: list[dict[str, Any]] = []
        self._client = httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False)
        if name:
            form = {"name": name, "password": password}
            answer = self._client.post("/sign-in", data=form)
            assert answer.status_code == 303, answer.text
            assert answer.headers["location"].startswith("/annotate/")

    def fetch(self, path: str, **options: Any) -> httpx.Response:
        """GET, without a record."""
        return self._client.get(path, **options)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
        shown: str = "",
    ) -> Any:
        """Send a request and record the answer; what JSON it holds.

        Args:
            content: bytes that are sent in place of JSON.
            shown: what the record has in place of a long body.
        """
        options: dict[str, Any] = {"content": content} if content is not None else {"json": body}
        if body is None and content is None:
            options = {}
        answer = self._client.request(method, path, headers=headers, **options)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        told = answer.json() if is_json else answer.text
        kept = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
        asked = f"{method} {path}" + (f" by {self.name}" if self.name else "")
        self.record.append(
            {
                "request": asked,
                **({"headers": headers} if headers else {}),
                **({"body": shown or (content.decode() if content is not None else body)} if options else {}),
                "status": answer.status_code,
                "answer_type": answer.headers.get("content-type"),
                **({"answer_headers": kept} if kept else {}),
                "answer": told,
            }
        )
        return told

    def close(self) -> None:
        self._client.close()
