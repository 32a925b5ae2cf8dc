"""The lines of a file that cannot be used: how many they are, and the first few with their reasons."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.errors import ImportFileError

MOST_TOLD = 5


class WrongLinesError(ImportFileError):
    """Several lines cannot be used; the message is one sentence, which numbers those that it tells.

    `lines` has the same for a list: how many they are, then the reason of each.
    """

    def __init__(self, reasons: Sequence[str], total: int, done: str = "imported") -> None:
        """Prepare it.

        Args:
            reasons: of the first ones, each a sentence with its place.
            total: how many there are.
            done: what cannot be done with them.
        """
        few = "these are" if total == len(reasons) else f"the first {len(reasons)} are"
        self.lines = (f"{total:,} lines cannot be {done}; {few}:", *reasons)
        numbered = (
            f"({number}) {' '.join(reason.split()).removesuffix('.')}"
            for number, reason in enumerate(reasons, start=1)
        )
        super().__init__(f"{self.lines[0]} {'; '.join(numbered)}.")


class WrongLines:
    """Collects them; of all but the first few only the number is kept."""

    def __init__(self, done: str = "imported") -> None:
        """`done` is what cannot be done with them."""
        self._done = done
        self._first: list[ImportFileError] = []
        self._total = 0

    def __bool__(self) -> bool:
        return self._total > 0

    def add(self, error: ImportFileError) -> None:
        self._total += 1
        if len(self._first) < MOST_TOLD:
            self._first.append(error)

    def tell(self) -> None:
        """Do nothing where there are none.

        Raises:
            ImportFileError: the one that there is, as it is.
            WrongLinesError: there are several.
        """
        if self._total == 1:
            raise self._first[0]
        if self._total:
            raise WrongLinesError([str(error) for error in self._first], self._total, self._done)
