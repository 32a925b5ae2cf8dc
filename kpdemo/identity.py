"""Identities by content: of documents, of a model, and of the passages that it retrieves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from kpdemo.types import Document


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


def model_identity(model: str) -> str:
    """A hash of a checkpoint's weights; empty for a model without any.

    It covers all files but the card, which is prose and may be edited.

    Raises:
        ModelLoadError: as `kpdemo.predictors.fetched_folder`.
    """
    from kpdemo.languages.routing import DEFAULT_MODEL
    from kpdemo.predictors import BASELINES, DEFAULT_FOLDER, MULTILINGUAL_FOLDER, fetched_folder
    from kpdemo.stored_config import is_own
    from kpdemo.sums import SUMS, read_sums

    if model in BASELINES and model != "embedding":
        return ""
    folder = DEFAULT_FOLDER if model == "embedding" else fetched_folder(model)
    if not (is_own(folder) and (folder / SUMS).is_file()):  # that of a foreign model may be anything
        return ""
    parts = sorted(folder.rglob(SUMS))  # those of bank and reranker too
    if model == DEFAULT_MODEL:
        parts += sorted(MULTILINGUAL_FOLDER.rglob(SUMS))  # which it leaves other languages to
    digest = hashlib.sha256()
    for part in parts:
        for name, sha256 in sorted(read_sums(part.parent).items()):
            if not name.endswith(".md"):
                digest.update(f"{sha256}  {name}\n".encode())
    return digest.hexdigest()


def index_identity(model: str, index_folder: Path | None) -> str:
    """A hash of the index whose passages a model retrieves; empty for one that retrieves none.

    Raises:
        PassageIndexError: there is no index in the folder, or it is damaged.
    """
    from kpdemo.predictors import own_index, takes_index

    folder = index_folder or own_index(model)
    if folder is None or not takes_index(model):
        return ""
    from kpdemo.ramkg.manifest import read_manifest

    manifest = read_manifest(folder)
    return hashlib.sha256(repr(sorted(manifest.sha256.items())).encode()).hexdigest()
