"""Annotation in the reader's language: its catalogues, and how its sentences are marked.

The rating form carries the catalogue of what raters meet along; what only others meet has one of its own.

`python -m annotation.locale.update` brings the catalogues up to the sentences that are marked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kpdemo.translation import Catalogues

CATALOGUES = Catalogues(Path(__file__).parent / "locale", "rater", "project")
_ = CATALOGUES.gettext
ngettext = CATALOGUES.ngettext


def mark(message: str) -> str:
    """The message as it is, marked to be translated where it is shown."""
    return message


class Sentence(str):
    """An English text that is kept with figures for readers of any language; `tell` says it in theirs.

    Args:
        message: marked, with {placeholders} for the values; those that are sentences are translated too.
    """

    message: str
    values: Mapping[str, object]

    def __new__(cls, message: str, /, **values: object) -> Sentence:
        self = super().__new__(cls, message.format(**values) if values else message)
        self.message, self.values = message, values
        return self


def tell(text: str) -> str:
    """A kept sentence in the language of the answer; any other text as it is.

    >>> tell(Sentence("All {count} are {value}.", count=3, value="2")), tell("Ana")
    ('All 3 are 2.', 'Ana')
    """
    if not isinstance(text, Sentence):
        return text
    values = {name: tell(each) if isinstance(each, str) else each for name, each in text.values.items()}
    return _(text.message, **values)


def retell(text: str, *messages: str) -> str:
    """A sentence that is kept in English without its values, in the language of the answer.

    Args:
        text: made of one of the `messages`, as may be what stands in its places; another stays as it is.

    >>> retell("news is left out: nobody came.", "{type} is left out: {reason}", "{who} came.")
    'news is left out: nobody came.'
    """
    for message in messages:
        parts = re.split(r"\{(\w+)\}", message)
        wanted = "".join(f"(?P<{part}>.+)" if n % 2 else re.escape(part) for n, part in enumerate(parts))
        if found := re.fullmatch(wanted, text, re.DOTALL):
            return _(message, **{name: retell(each, *messages) for name, each in found.groupdict().items()})
    return text
