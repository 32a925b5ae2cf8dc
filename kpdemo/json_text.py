"""Parsing JSON that may come from anybody."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def parse_json(
    text: str | bytes,
    *,
    object_hook: Callable[[dict[str, Any]], Any] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """As `json.loads`, with those of its hooks.

    Raises:
        ValueError: it is no JSON, or nested too deeply to be read.
    """
    try:
        return json.loads(
            text,
            object_hook=object_hook,
            object_pairs_hook=object_pairs_hook,
            parse_constant=parse_constant,
        )
    except RecursionError:
        raise ValueError("brackets nested too deeply") from None
