"""JSON Lines: an object a line, or one array of objects, and what to do about lines without one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from kpdemo.errors import InputError
from kpdemo.io.files import UTF8_MARK, file_errors, open_bytes, parse_json

_BETWEEN = re.compile(r"[\s,]*")


def array_lines(lines: Iterable[bytes], *, name: str) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; those of an array are its items, each with the line where it begins.

    Where items begin on the same line, they have the number in the array instead. An array is read as a
    whole before its first item is given; of lines each is given at once.

    Raises:
        InputError: the file `name` begins as an array over several lines, and is not JSON.
    """
    numbered = enumerate(lines, start=1)
    before: list[tuple[int, bytes]] = []
    for number, line in numbered:
        before.append((number, line))
        if content := line.strip():
            if content.startswith(b"["):
                yield from _items([*before, *numbered], content, name)
                return
            break
    yield from chain(before, numbered)


def _items(numbered: list[tuple[int, bytes]], first: bytes, name: str) -> list[tuple[int, bytes]]:
    """The items; the lines instead if the `first` is an array on its own and others follow."""
    try:
        text = b"".join(line for _, line in numbered).decode("utf-8")
        parse_json(text)
    except ValueError as error:
        if _is_json(first):
            return numbered
        raise InputError(
            f"{name}: begins with [ as a JSON array, but is not JSON ({error}); fix it, or write one object "
            "a line."
        ) from None
    return _numbered_items(text)


def _is_json(content: bytes) -> bool:
    try:
        parse_json(content)
    except ValueError:
        return False
    return True


def _numbered_items(text: str) -> list[tuple[int, bytes]]:
    """Of an array that was read before without an error."""
    decoder = json.JSONDecoder()
    begins: list[int] = []
    items: list[bytes] = []
    line, at = 1, 0
    after = text.index("[") + 1
    while text[start := _end_of_gap(text, after)] != "]":
        line += text.count("\n", at, start)
        _, after = decoder.raw_decode(text, start)
        begins.append(line)
        items.append(text[start:after].encode())
        at = start
    numbers = begins if len(set(begins)) == len(begins) else range(1, len(items) + 1)
    return list(zip(numbers, items, strict=True))


def _end_of_gap(text: str, start: int) -> int:
    gap = _BETWEEN.match(text, start)
    return gap.end() if gap else start


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

    A file that is one JSON array of objects is read too, see `kpdemo.io.json_lines`.

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
