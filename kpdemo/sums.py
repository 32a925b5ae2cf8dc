"""The file SHA256SUMS of a model's folder: what every other file of it has to be, byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from os.path import isfile  # false for a name that no file can have
from pathlib import Path

from kpdemo.errors import ModelLoadError
from kpdemo.storage import replace_file

SUMS = "SHA256SUMS"
CARD = "MODEL_CARD.md"
PAGE = "README.md"
"""The page of a model on the Hugging Face Hub, where it may be edited: it has no hash."""


def write_sums(folder: Path) -> None:
    """Write the hash of every file of the folder but its page, those of its subfolders left to them."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name not in (SUMS, PAGE))
    replace_file(folder / SUMS, "".join(f"{sha256_of(path)}  {path.name}\n" for path in files).encode())


def check_sums(folder: Path, names: Collection[str]) -> None:
    """Compare every file of the folder with its hash.

    Args:
        names: of the files that a model of this kind has.

    Raises:
        ModelLoadError: a file is missing or its bytes are others.
    """
    expected = read_sums(folder)
    if not set(names) <= expected.keys():
        raise ModelLoadError(f"{folder / SUMS} does not name all files of a model: restore the folder.")
    for name, digest in expected.items():
        path = folder / name
        if not isfile(path):
            raise ModelLoadError(f"The model in {folder} is incomplete: {name} is missing; restore it.")
        if sha256_of(path) != digest:
            raise ModelLoadError(f"The model file {path} is damaged (its SHA-256 differs): restore it.")


def read_sums(folder: Path) -> dict[str, str]:
    """The hash that each file of the folder has to have, by its name.

    Raises:
        ModelLoadError: the folder has no such list, or one that cannot be read.
    """
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise ModelLoadError(f"No model at {folder}: {SUMS} is missing; give a checkpoint folder.") from error
    except (OSError, ValueError) as error:
        raise ModelLoadError(f"{folder / SUMS} cannot be read ({error}): restore the folder.") from error
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def sha256_of(path: Path) -> str:
    """The hash of one file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
