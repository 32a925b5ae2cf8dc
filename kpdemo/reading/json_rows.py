"""JSON Lines: an object a line, or one array of objects, and what to do about lines without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpdemo.errors import InputError
from kpdemo.json_text import parse_json
from kpdemo.reading.files import UTF8_MARK, file_errors, open_bytes
from kpdemo.reading.json_arrays import array_lines


@dataclass(frozen=True, slots=True)
class LineError:
    """A line of a file that could not be used; `message` is the whole sentence for the user."""

    line: int
    message: str


ReportLine = Callable[[LineError], None]


def read_rows(
    path: str | Path, *, on_error: ReportLine | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers, from 1; blank lines are skipped.

    A file that is one JSON array of objects is read too, see `kpdemo.reading.json_arrays`.

    Raises:
        InputError: the file cannot be read; without `on_error`, also the first line that is not an object.
    """
    with open_bytes(Path(path)) as stream:
        yield from parse_rows(stream, name=str(path), on_error=on_error)


def parse_rows(
    lines: Iterable[bytes], *, name: str, on_error: ReportLine | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `read_rows`, from the lines of an open stream; `name` is what messages call it."""
    with file_errors(name):
        for number, line in array_lines(_without_mark(lines), name=name):
            content = line.strip()
            if not content:
                continue
            try:
                row = _parse_object(content, where=line_name(name, number))
            except InputError as error:
                report(error, number, on_error)
            else:
                yield number, row


def _without_mark(lines: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(lines):
        yield line if number else line.removeprefix(UTF8_MARK)


def line_name(name: str, line: int) -> str:
    """What messages call a line."""
    return f"{name}, line {line}"


def report(error: InputError, line: int, on_error: ReportLine | None) -> None:
    """Tell of a line that cannot be used, or raise its error where nobody listens."""
    if on_error is None:
        raise error
    on_error(LineError(line, str(error)))


def _parse_object(content: bytes, *, where: str) -> dict[str, Any]:
    advice = "fix or empty the line."
    try:
        row = parse_json(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        value = f"byte 0x{content[error.start]:02x} at offset {error.start}"
        raise InputError(f"{where}: not UTF-8 text ({value}); {advice}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error.msg} at column {error.colno}); {advice}") from None
    except ValueError as error:  # a number of thousands of digits, brackets without end
        raise InputError(f"{where}: not JSON that can be read ({error}); {advice}") from None
    if not isinstance(row, dict):
        raise InputError(f'{where}: not a JSON object like {{"text": "…"}}; {advice}')
    return row
