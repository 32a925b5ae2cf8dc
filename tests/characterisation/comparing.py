"""Comparing what a program says with what it said: readable files in expected/, a diff where they differ.

With the variable KPDEMO_REWRITE=1 (`make characterise`) the files are written instead.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import kpdemo

EXPECTED = Path(__file__).parent / "expected"
WIDTH = 110
DIGITS = 6
NEAR = 1e-4
"""Figures of models that differ by less are the same: processors do not add in the same order."""

SERVER = re.compile(r"127\.0\.0\.1:\d+")
VERSION = re.compile(rf"(?<=kpdemo |ersion ){re.escape(kpdemo.__version__)}")
FIGURE = re.compile(r"-?\d+\.\d+")
LONG = re.compile(rf"(?<![\w.])-?\d+\.\d{{{DIGITS + 1},}}(?!\w)")
MOMENT = re.compile(r"\b20\d\d-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?(\+00:00|Z)?)?)?")
SEEN = re.compile(r'(?<="\d-)[0-9a-f]{16}(?=")')
"""The end of `version_seen` in a table of decisions, a digest of moments too."""


def check_text(name: str, text: str, *, near: bool = False) -> None:
    """Fail with a diff where `text` is not what the file has.

    Args:
        near: figures may be off by a little.
    """
    path = EXPECTED / name
    if os.environ.get("KPDEMO_REWRITE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return
    assert path.is_file(), f"{name} is missing in expected/: `make characterise` writes it."
    expected = path.read_bytes().decode()
    if text != expected and not (near and _is_near(text, expected)):
        lines = difflib.unified_diff(*(_lines(each) for each in (expected, text)), name, "now", n=2)
        pytest.fail("\n".join(["", *lines]), pytrace=False)


def check_json(name: str, value: object, *, hide: Iterable[str] = ()) -> None:
    """The same of a value of JSON, whatever the order of its keys; a figure may be off by a little.

    Args:
        hide: keys whose values depend on time or version.
    """
    shown = settled(hidden(value, frozenset(hide)), _kept(name))
    check_text(name, laid_out(shown) + "\n")


def hidden(value: Any, keys: frozenset[str]) -> Any:
    """With figures rounded, and moments and the values of `keys` replaced by words."""
    match value:
        case dict():
            return {
                masked(key): f"<{key}>" if key in keys and part is not None else hidden(part, keys)
                for key, part in value.items()
            }
        case list():
            return [hidden(part, keys) for part in value]
        case float():
            return round(value, DIGITS)
        case str():
            return masked(value)
        case _:
            return value


def masked(text: str) -> str:
    """Without moments, addresses of servers and the version."""
    return VERSION.sub("<version>", SERVER.sub("<server>", MOMENT.sub("<moment>", text)))


def masked_file(content: bytes) -> str:
    """A file of text without them, its figures rounded."""
    text = SEEN.sub("<digest>", masked(content.decode()))
    return LONG.sub(lambda found: f"{float(found[0]):.{DIGITS}f}", text)


def settled(value: Any, kept: Any) -> Any:
    """With the figures of the file where they are near."""
    match value, kept:
        case dict(), dict():
            return {key: settled(part, kept.get(key)) for key, part in value.items()}
        case list(), list() if len(value) == len(kept):
            return [settled(*parts) for parts in zip(value, kept, strict=True)]
        case float(), float() if abs(value - kept) < NEAR:
            return kept
        case _:
            return value


def laid_out(value: Any, indent: str = "") -> str:
    """JSON in which what is short stands in one line."""
    flat = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not isinstance(value, dict | list) or not value or len(indent) + len(flat) <= WIDTH:
        return flat
    deeper = indent + "  "
    if isinstance(value, list):
        parts = [laid_out(part, deeper) for part in value]
    else:
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {laid_out(part, deeper)}"
            for key, part in sorted(value.items())
        ]
    brackets = "[]" if isinstance(value, list) else "{}"
    inner = ",\n".join(f"{deeper}{part}" for part in parts)
    return f"{brackets[0]}\n{inner}\n{indent}{brackets[1]}"


def _is_near(text: str, expected: str) -> bool:
    if FIGURE.sub("", text) != FIGURE.sub("", expected):
        return False
    pairs = zip(FIGURE.findall(text), FIGURE.findall(expected), strict=True)
    return all(abs(float(now) - float(then)) < NEAR for now, then in pairs)


def _kept(name: str) -> Any:
    path = EXPECTED / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _lines(text: str) -> list[str]:
    return [line.replace("\r", "\\r") for line in text.split("\n")]
