"""JSON as it is kept in compressed files: the same content gives the same bytes."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from kpdemo.json_text import parse_json


def json_gz(content: Any, *, sort_keys: bool = False) -> bytes:
    """`content` as JSON without spaces, compressed without a time stamp."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=sort_keys, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def read_json_gz(path: Path) -> Any:
    """The content of such a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged.
    """
    packed = path.read_bytes()
    try:
        return parse_json(gzip.decompress(packed))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(str(error)) from error
