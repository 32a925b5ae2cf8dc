"""What an import would have inserted, had no line of it been wrong."""

from __future__ import annotations

MOST_WITHHELD = 100_000


class Withheld:
    """Lines that can be used and come after a wrong one: later lines are compared with them too.

    A limited number is kept, so that a large file costs no more memory than these. Beyond them a line with an
    id of another one of the same file is not counted among the wrong ones.
    """

    def __init__(self) -> None:
        self._prints: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def add(self, type: str, id: str, fingerprint: str) -> None:
        if len(self._prints) < MOST_WITHHELD:
            self._prints[type, id] = fingerprint
            self._taken.add(fingerprint)

    def fingerprint_of(self, type: str, id: str) -> str | None:
        """Of the line with this id; None where there is none."""
        return self._prints.get((type, id))

    def __contains__(self, fingerprint: str) -> bool:
        return fingerprint in self._taken
