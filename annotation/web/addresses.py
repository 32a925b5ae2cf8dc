"""Addresses within this site."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

PREFIX = "/annotate"
HOME = f"{PREFIX}/"
GRADIO = f"{PREFIX}/gradio_api/"
FOR_PROGRAMS = (f"{PREFIX}/api/", GRADIO)
_LONGEST = 2000


def local_path(text: str | None) -> str:
    """`text` if it is a path of this site, else the page of projects.

    Browsers read //host and /\\host as another site's address, and drop control characters before they read.
    """
    if not text or len(text) > _LONGEST or not text.isprintable() or "\\" in text:
        return HOME
    if not text.startswith("/") or text.startswith("//"):
        return HOME
    try:
        parts = urlsplit(text)
    except ValueError:
        return HOME
    return HOME if parts.scheme or parts.netloc else text


def sign_in_address(path: str) -> str:
    """The page for signing in, and from there on to `path`."""
    return f"/sign-in?next={quote(path, safe='/')}"
