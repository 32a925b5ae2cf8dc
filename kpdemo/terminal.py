"""The terminal, for people: tables and JSON on standard output, progress and notes on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

_SECONDS_BETWEEN_LINES = 10.0
_PIPE_WIDTH = 120
# One for one, so that offsets stay true: a text may not move the cursor or recolour the terminal.
_HARMLESS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"} | {
    13: " "
}


def harmless(text: str) -> str:
    """The text without the characters that command a terminal; offsets in it stay true."""
    return text.translate(_HARMLESS)


def open_console() -> Console:
    """Standard output, for tables."""
    console = Console()
    # A file or a pipe has no width; tables should not be cut to that of an old terminal.
    return console if console.is_terminal else Console(width=_PIPE_WIDTH)


def show_table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", right: Sequence[str] = ()
) -> None:
    """Print a table.

    Args:
        headers: the columns.
        rows: what stands in them, as `str` writes it.
        title: stands above.
        right: the headers of the columns that are set right, such as figures.
    """
    table = Table(
        title=Text(harmless(title)) if title else None, title_justify="left", box=None, pad_edge=False
    )
    for header in headers:
        table.add_column(Text(header), justify="right" if header in right else "left")
    for row in rows:
        table.add_row(*(Text(harmless(str(cell))) for cell in row))
    open_console().print(table)


def show_line(text: str) -> None:
    """Print a line of a result, unbroken."""
    print(harmless(text))


def show_note(text: str) -> None:
    """Print a sentence on standard error, where it is no part of the result."""
    print(harmless(text), file=sys.stderr, flush=True)


def show_json(value: Any) -> None:
    """Print a result as JSON; lone halves of characters are escaped, everything else is as it reads."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    print(text.encode("utf-8", "backslashreplace").decode())


class ProgressLine:
    """Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, description: str, total: int | None = None, unit: str = "documents") -> None:
        """Prepare it.

        Args:
            description: what is being done, such as "Importing".
            total: how much there is to do, in whatever `show` counts.
            unit: what the number of a line counts.
        """
        self._description = description
        self._total = total
        self._unit = unit
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._shown = time.monotonic()
        self._has_lines = False
        self._done = 0
        if self._console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[count]}"),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task(description, total=total, count="")

    def __enter__(self) -> ProgressLine:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def set_total(self, total: int) -> None:
        self._total = total
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def turn_to(self, description: str, total: int, unit: str) -> None:
        """The next part of the work; its first line comes at once where there were lines before."""
        self._description, self._total, self._unit = description, total, unit
        if self._bar is not None:
            self._bar.reset(self._task, description=description, total=total)
        elif self._has_lines:
            self._shown = -math.inf
        self.show(0)

    def advance(self, count: int) -> None:
        """This many more are done."""
        self.show(self._done + count)

    def show(self, done: int, *, count: int | None = None) -> None:
        """Show that `done` of the total is done; `count` is the number to name, where that is another."""
        self._done = done
        of_total = f" of {self._total:,}" if self._total is not None and count is None else ""
        number = f"{done if count is None else count:,}{of_total} {self._unit}".strip()
        if self._bar is not None:
            self._bar.update(self._task, completed=done, count=number)
        elif time.monotonic() - self._shown > _SECONDS_BETWEEN_LINES:
            print(f"{self._description}: {number}", file=sys.stderr, flush=True)
            self._shown = time.monotonic()
            self._has_lines = True

    def show_problem(self, message: str) -> None:
        """Print a sentence above the bar."""
        self._console.print(Text(harmless(message).replace("\n", " ")), soft_wrap=True)
