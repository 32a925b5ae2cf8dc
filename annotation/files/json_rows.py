"""Rows in JSON: an object a line, or a file that is one array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import chain
from typing import Any

from annotation.errors import ImportFileError
from annotation.files.tables import Row

LARGEST_ARRAY = 100 * 2**20
"""Characters of an array, which is held in memory as a whole; of lines there is one at a time."""

_JSON = json.JSONDecoder(parse_float=Decimal, parse_constant=Decimal)
_GAP = re.compile(r"[ \t\r\n]*")
_FAILS = (ValueError, ArithmeticError, RecursionError)
"""The second of an exponent beyond those of Decimal, the last of brackets without end."""


def json_rows(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Row | ImportFileError]:
    """The objects of a file; an error stands in the place of a value that is none.

    Args:
        name: what messages call the file.
        lines: with their numbers, one after the other; the first has text.

    Raises:
        ImportFileError: the file is an array, and nothing more of it can be read.
    """
    rest = iter(lines)
    first = next(rest)
    if not first[1].lstrip().startswith("["):
        yield from _rows_of_lines(name, chain([first], rest))
        return
    held = [first]
    size = len(first[1])
    for line in rest:
        held.append(line)
        size += len(line[1])
        if size > LARGEST_ARRAY:
            raise ImportFileError(
                f"{name}: an array of more than {LARGEST_ARRAY:,} characters; write JSON Lines, one object "
                "a line."
            )
    if any(text.strip() for _, text in held[1:]) and _is_json(first[1]):
        yield from _rows_of_lines(name, held)  # which begin with a wrong one
        return
    yield from _rows_of_array(name, "".join(text for _, text in held))


def _rows_of_lines(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Row | ImportFileError]:
    for number, text in lines:
        if not text.strip():
            continue
        where = f"{name}, line {number}"
        try:
            value = _JSON.decode(text)
        except _FAILS as error:
            yield ImportFileError(f"{where}: {_reason(error)}; write one object a line.")
        else:
            yield _row(name, value, Row(number, {}), "write one object {…} a line")


def _rows_of_array(name: str, text: str) -> Iterator[Row | ImportFileError]:
    at = _end_of_gap(text, text.index("[") + 1)
    if text[at:].rstrip() == "]":
        raise ImportFileError(f"{name}: the array is empty; give one with at least one object.")
    number, mark = 0, ","
    try:
        while mark == ",":
            number += 1
            value, after = _JSON.raw_decode(text, at)
            yield _row(name, value, Row(number, {}, "entry"), "write an array of objects {…}")
            at = _end_of_gap(text, after)
            mark = text[at : at + 1]
            if mark not in (",", "]"):
                raise json.JSONDecodeError("no comma and no ] follows", text, at)
            at = _end_of_gap(text, at + 1)
        if at < len(text):
            raise json.JSONDecodeError("something follows the array", text, at)
    except _FAILS as error:
        raise ImportFileError(
            f"{name}, entry {number}: {_reason(error)}; fix it (what follows was not read)."
        ) from None


def _row(name: str, value: Any, row: Row, advice: str) -> Row | ImportFileError:
    if isinstance(value, dict):
        row.fields.update((key.strip().lower(), field) for key, field in value.items())
        if len(row.fields) < len(value):
            return ImportFileError(f"{name}, {row.place}: two fields have the same name; rename one.")
        return row
    return ImportFileError(f"{name}, {row.place}: JSON, but not an object; {advice}.")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return f"not JSON ({getattr(error, 'msg', 'a number with too many digits')})"


def _is_json(text: str) -> bool:
    try:
        _JSON.decode(text)
    except _FAILS:
        return False
    return True


def _end_of_gap(text: str, start: int) -> int:
    gap = _GAP.match(text, start)
    return gap.end() if gap else start
