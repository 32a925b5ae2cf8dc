"""What an error is in HTTP: its sentence, with a fitting status."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from annotation.errors import (
    AccessError,
    AnnotationError,
    AssignmentError,
    ConsentError,
    ExportError,
    NotFoundError,
    SignedOutError,
    StaleTextError,
    TextError,
    WritingError,
)
from annotation.web.bodies import BodyError

_STATUS: tuple[tuple[type[AnnotationError], int], ...] = (
    (SignedOutError, 401),
    (ConsentError, 428),
    (AccessError, 403),
    (NotFoundError, 404),
    (AssignmentError, 409),
    (ExportError, 409),
    (StaleTextError, 412),
    (TextError, 422),
    (WritingError, 409),
)
"""The first that fits counts. 409 is a state in which what was asked cannot be done, 428 one they can end."""
_NOT_USABLE = 422
"""What was asked cannot be used as it is, a grade or a setting for instance."""


def status_of(error: AnnotationError) -> int:
    """The HTTP status of an error, 401 to 422."""
    if isinstance(error, BodyError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), _NOT_USABLE)


def refused(error: AnnotationError) -> Response:
    """The sentence of an error in place of what was asked for."""
    return JSONResponse({"error": str(error)}, status_code=status_of(error))
