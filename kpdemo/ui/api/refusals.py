"""What an error is in HTTP: its sentence, with a fitting status."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from kpdemo.errors import BusyError, InputError, KpdemoError, LengthError, ModelStoppedError

AGAIN_SECONDS = 10
"""Seconds after which to ask again if too many others wait, or a model restarts."""


class RequestError(InputError):
    """The request is not what the address takes."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON as the command line prints it, with half characters, which UTF-8 has none of, as "?"."""
    body = (json.dumps(content, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    return Response(body, status, headers, media_type="application/json")


def refused(error: KpdemoError) -> Response:
    """The sentence of an error in place of what was asked for."""
    passes = isinstance(error, BusyError | ModelStoppedError)
    headers = {"retry-after": str(AGAIN_SECONDS)} if passes else None
    return json_response({"error": str(error)}, status_of(error), headers)


def status_of(error: KpdemoError) -> int:
    """The HTTP status of an error: 400 to 422 for what the request is to blame for, else 503."""
    if isinstance(error, RequestError):
        return error.status
    if isinstance(error, LengthError):
        return 413
    return 422 if isinstance(error, InputError) else 503
