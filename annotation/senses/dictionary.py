"""WordNet when it is first asked for: the pages start without waiting, and work without it."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from annotation.errors import WordNetError

if TYPE_CHECKING:
    from annotation.wordnet import WordNet


class Dictionary:
    """Opens the WordNet of one folder once, at the first question."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` has WordNet's files; None is where the system keeps them."""
        self._folder = folder
        self._lock = Lock()
        self._wordnet: WordNet | None = None

    def open(self) -> WordNet:
        """WordNet; the first time this takes a few seconds.

        Raises:
            WordNetError: there is none, or it cannot be read; it is looked for again the next time.
        """
        with self._lock:
            if self._wordnet is None:
                from annotation.wordnet import open_wordnet  # NLTK takes a second

                self._wordnet = open_wordnet(self._folder)
            return self._wordnet

    def open_or_none(self) -> WordNet | None:
        """WordNet, or None where there is none."""
        try:
            return self.open()
        except WordNetError:
            return None
