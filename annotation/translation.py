"""Annotation in the reader's language: its catalogues, and how its sentences are marked.

The rating form carries the catalogue of what raters meet along; what only others meet has one of its own.

`python -m annotation.locale.update` brings the catalogues up to the sentences that are marked.
"""

from __future__ import annotations

from pathlib import Path

from kpdemo.translation import Catalogues

CATALOGUES = Catalogues(Path(__file__).parent / "locale", "rater", "project")
_ = CATALOGUES.gettext
ngettext = CATALOGUES.ngettext


def mark(message: str) -> str:
    """The message as it is, marked to be translated where it is shown."""
    return message
