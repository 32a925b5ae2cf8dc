"""What a folder of a model holds: its configuration and its SHA256SUMS; identities by content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from os.path import isfile  # false for a name that no file can have
from pathlib import Path
from typing import Any

from kpdemo.errors import ModelLoadError
from kpdemo.io.files import parse_json, replace_file
from kpdemo.types import Document

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


CONFIG = "config.json"
RAMKG_KIND = "ramkg-generator"
"""What the configuration of a RAMKG generator calls itself."""
RANKER_KIND = "ramkg-ranker"
"""The same of a ranker with its retriever."""
TRAINING = "training"
"""In the configuration of a part that was trained: a hash of its settings and data."""


def stored_config(folder: Path) -> dict[str, Any]:
    """The configuration in a folder: in Transformers' form it has a `model_type`, in ours a `kind`.

    It is empty if it cannot be read; opening the folder then says why.
    """
    try:
        stored = parse_json((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def kind_of(folder: Path) -> str:
    """What the folder says it holds, if it is of ours; empty for another, and as of `stored_config`."""
    return str(stored_config(folder).get("kind", ""))


def is_own(folder: Path) -> bool:
    """Whether a folder claims to be what `train` wrote, and not what Transformers saved."""
    described = stored_config(folder)
    return "model_type" not in described and ("kind" in described or (folder / SUMS).is_file())


def document_identity(document: Document) -> str:
    """The SHA-256 of a document's title, text and language."""
    content = json.dumps([document.title, document.body, document.language])
    return hashlib.sha256(content.encode()).hexdigest()


def content_identity(*lists: Iterable[object]) -> str:
    """A hash of lists of documents, or of other values that `repr` writes out.

    Args:
        lists: [a, b] and [c] have another hash than [a] and [b, c].
    """
    digest = hashlib.sha256()
    for values in lists:
        for value in values:
            digest.update(repr(value).encode() + b"\n")
        digest.update(b"\0")  # which no `repr` holds
    return digest.hexdigest()
