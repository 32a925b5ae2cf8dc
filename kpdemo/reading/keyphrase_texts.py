"""Keyphrases that are one text with semicolons, as in CSV: are they separated by something else?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

SEPARATOR = ";"
OTHER_SEPARATORS = (",", "|", "，", "、", "；")
_FIELDS = ("keyphrases", "keyword", "keywords")


def keyphrase_field(row: Mapping[str, Any]) -> tuple[str, Any]:
    """The name and the value of the field with the keyphrases; None where there is none."""
    name = next((name for name in _FIELDS if row.get(name) is not None), _FIELDS[0])
    return name, row.get(name)


class KeyphraseTexts:
    """Looks through the rows of a file; `problem` says whether a list of it would pass for one phrase.

    A phrase may hold a comma itself. So it is a problem only where most texts hold the same mark and none
    holds a semicolon.
    """

    def __init__(self) -> None:
        self._texts = 0
        self._separated = False
        self._marks: Counter[str] = Counter()

    def see(self, row: Mapping[str, Any]) -> None:
        _, value = keyphrase_field(row)
        if isinstance(value, str) and value.strip():
            self._texts += 1
            self._separated = self._separated or SEPARATOR in value
            self._marks.update(mark for mark in OTHER_SEPARATORS if mark in value)

    def problem(self) -> str:
        """What is wrong with the keyphrases and what to do; nothing where they can be read."""
        [(mark, times)] = self._marks.most_common(1) or [("", 0)]
        if self._separated or 2 * times <= self._texts:
            return ""
        return (
            f'the keyphrases of {times:,} of {self._texts:,} documents have "{mark}" but no "{SEPARATOR}", '
            f'so each list would count as one phrase; separate phrases by "{SEPARATOR}", and put one '
            f'after a phrase that has "{mark}" itself.'
        )
