"""The files of a passage index: passages and vectors on disk; only what is asked for is read into memory.

A folder holds, for N passages with vectors of width D:

- index.json: what the index is, and how much of the other files belongs to it;
- passages.jsonl: a passage a line, and ends.u64: the offset in bytes where each line ends, (N,);
- keys.u64: a hash of each passage's id, (N,);
- vectors.f32: (N, D);
- structure-N.faiss: what FAISS searches, for all types but flat.

Numbers are little-endian. The manifest index.json is replaced as a whole, and last: what was appended to the
other files and is not counted in it is not part of the index, and the next writer cuts it off. So a process
that dies at any moment leaves the index as it was last committed.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import InputError, PassageIndexError
from kpdemo.json_text import parse_json
from kpdemo.ramkg.manifest import ENDS, KEYS, PASSAGES, REAL, VECTORS, WORD, Manifest
from kpdemo.reading.document_rows import document_from_row
from kpdemo.types import Document


def passage_line(passage: Document) -> bytes:
    """A passage as a row of passages.jsonl."""
    row = {
        "id": passage.id,
        "title": passage.title,
        "text": passage.body,
        "keyphrases": list(passage.keyphrases),
        "language": passage.language,
    }
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def passage_key(id: str) -> int:
    """A hash of 64 bits: among a million ids two are equal with a probability of 1 to 37 million."""
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=WORD.itemsize).digest(), "little")


class PassageStore:
    """The passages and vectors of an index, mapped into memory: the disk is read where one is looked at."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Raises:
        PassageIndexError: a file is missing or too short.
        """
        for name, size in manifest.sizes().items():
            path = folder / name
            if not path.is_file():
                raise PassageIndexError(f"The index {folder} lacks {name}: rebuild it.")
            if path.stat().st_size < size:
                raise PassageIndexError(
                    f"The index file {path} is damaged ({path.stat().st_size:,} bytes of {size:,}): "
                    "rebuild the index."
                )
        self._folder = folder
        self._manifest = manifest

    def __len__(self) -> int:
        return self._manifest.passages

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """(N, D)."""
        return self._mapped(VECTORS, REAL, (len(self), self._manifest.width))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """(N,) `passage_key` of each id."""
        return self._mapped(KEYS, WORD, (len(self),))

    def line(self, number: int) -> bytes:
        """A passage as `passage_line` wrote it."""
        start = int(self._ends[number - 1]) if number else 0
        return bytes(self._text[start : int(self._ends[number])])

    def passage(self, number: int) -> Document:
        """Raises:
        PassageIndexError: its line is damaged.
        """
        path = self._folder / PASSAGES
        try:
            return document_from_row(parse_json(self.line(number)), where=f"line {number + 1}")
        except (ValueError, AttributeError) as error:
            reason = str(error).rstrip(".") if isinstance(error, InputError) else f"line {number + 1}"
            raise PassageIndexError(
                f"The index file {path} is damaged ({reason}): rebuild the index."
            ) from error

    def number_of(self, id: str) -> int | None:
        """The place of the passage with this id."""
        key = np.uint64(passage_key(id))
        first, end = (
            np.searchsorted(self.keys, key, side, sorter=self._by_key) for side in ("left", "right")
        )
        places = self._by_key[first:end].tolist()
        return next((place for place in places if self.passage(place).id == id), None)

    def _mapped(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        if not len(self):  # no memory can be mapped to nothing
            return np.zeros(shape, dtype=dtype)
        mapped = np.memmap(self._folder / name, dtype=dtype, mode="r", shape=shape)
        return mapped.view(np.ndarray)  # whose elements are read faster

    @cached_property
    def _by_key(self) -> NDArray[np.intp]:
        """(N,) the places in the order of their keys; those of one key in their own."""
        return np.argsort(self.keys, kind="stable")

    @cached_property
    def _ends(self) -> NDArray[np.uint64]:
        return self._mapped(ENDS, WORD, (len(self),))

    @cached_property
    def _text(self) -> mmap.mmap:
        with (self._folder / PASSAGES).open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
