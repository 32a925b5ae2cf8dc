"""Ids that an import makes for pairs without one, which only the task's files, without a header, may have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class MadeIds:
    """Of a file: how many ids were made of comparison type and line, and the first."""

    count: int = 0
    first: str = ""

    def made(self, id: str) -> str:
        """Take down an id that was made."""
        self.first = self.first or id
        self.count += 1
        return id

    def sentence(self, name: str) -> str:
        """What to know of the file that is called `name`; nothing where no id was made."""
        if not self.count:
            return ""
        has = f"{self.count:,} pairs have no id and got" if self.count > 1 else "a pair has no id and got"
        return (
            f"{name} has no header and was read as an input file of SemEval-2014 Task 3: {has} the number of "
            f"the line, first {self.first}."
        )
