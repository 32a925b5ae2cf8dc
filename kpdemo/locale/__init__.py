"""The public page in the reader's language: its catalogues, and how its sentences are marked.

`python -m kpdemo.locale.update` brings the catalogues up to the sentences that are marked.
"""

from __future__ import annotations

from pathlib import Path

from kpdemo.translation import Catalogues

CATALOGUES = Catalogues(Path(__file__).parent, "page")
_ = CATALOGUES.gettext
ngettext = CATALOGUES.ngettext


def mark(message: str) -> str:
    """The message as it is, marked to be translated where it is shown."""
    return message
