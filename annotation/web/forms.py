"""What a form of ours sends."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

FORM_TYPE = "application/x-www-form-urlencoded"
LARGEST_FORM = 64 * 1024
_MOST_FIELDS = 20


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; what is no form, or is too large for one, is refused before it is all read."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM_TYPE:
        raise HTTPException(415, "This address takes a form.")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, f"A form has at most {LARGEST_FORM} bytes.")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, "The form cannot be read.") from None
    return dict(pairs)
