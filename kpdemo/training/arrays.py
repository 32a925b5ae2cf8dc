"""Files of a cache: their names, and their arrays."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from kpdemo.errors import TrainingError
from kpdemo.storage import replacing


def cache_name(parts: Sequence[Any]) -> str:
    """The name of a file of the cache: a hash of all that decides its contents.

    Args:
        parts: values that JSON knows.
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """What `save_arrays` wrote; raises as `cache_errors`."""
    with cache_errors(path), np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


@contextmanager
def cache_errors(path: Path) -> Iterator[None]:
    """Raises:
    TrainingError: what is kept in that file of a cache cannot be read.
    """
    try:
        yield
    except (OSError, EOFError, ValueError, TypeError, BadZipFile, zlib.error) as error:
        reason = str(error).strip() or type(error).__name__
        raise TrainingError(f"{path} cannot be read ({reason}): delete it to have it made again.") from error


def tokenizer_hash(tokenizer: Tokenizer) -> str:
    """The identity of a tokenizer, by its content: its folder may come to hold another one."""
    plain = deepcopy(tokenizer)
    plain.no_truncation()  # as of the last call; it changes no token
    plain.no_padding()
    return hashlib.sha256(plain.to_str().encode()).hexdigest()
