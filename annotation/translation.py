"""What raters meet, in their language: the catalogues of annotation, and how its sentences are marked.

`python -m annotation.locale.update` brings the catalogues up to the sentences that are marked.
"""

from __future__ import annotations

from pathlib import Path

from kpdemo.translation import Catalogues

CATALOGUES = Catalogues(Path(__file__).parent / "locale", "rater")
_ = CATALOGUES.gettext
ngettext = CATALOGUES.ngettext


def mark(message: str) -> str:
    """The message as it is, marked to be translated where it is shown."""
    return message
