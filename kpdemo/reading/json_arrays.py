"""A JSON array in place of JSON Lines: what many programs write, and people by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from kpdemo.errors import InputError
from kpdemo.json_text import parse_json

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
