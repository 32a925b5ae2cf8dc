"""Files of a cache: their arrays, and what their names say of a tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write beside `path` and rename, so that a crash leaves no half of a cache."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, allow_pickle=False, **arrays)
    partial.replace(path)


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """What `save_arrays` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def tokenizer_hash(tokenizer: Tokenizer) -> str:
    """What tells a tokenizer from others, also from one that stood or will stand in the same folder."""
    plain = deepcopy(tokenizer)
    plain.no_truncation()  # as of the last call; it changes no token
    plain.no_padding()
    return hashlib.sha256(plain.to_str().encode()).hexdigest()
