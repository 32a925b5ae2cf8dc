"""JSON as it is kept in compressed files: the same content gives the same bytes."""

from __future__ import annotations

import gzip
import json
from typing import Any


def json_gz(content: Any, *, sort_keys: bool = False) -> bytes:
    """`content` as JSON without spaces, compressed without a time stamp."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=sort_keys, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)
