"""What RAMKG's generator is trained on: documents with the keyphrases of the passages found for them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kpdemo.errors import ConfigError
from kpdemo.json_text import parse_json
from kpdemo.languages.detection import identified
from kpdemo.ramkg.iterate import Augmented
from kpdemo.ramkg.manifest import read_manifest
from kpdemo.storage import replace_file
from kpdemo.training.arrays import cache_errors
from kpdemo.training.sources import Source, draw, draw_documents, read_source_rows
from kpdemo.types import Document

if TYPE_CHECKING:
    from pathlib import Path

    from kpdemo.training.multilingual.generator import RamkgTraining


def training_inputs(config: RamkgTraining) -> tuple[list[Augmented], list[int]]:
    """The documents of all sources with their retrieved keyphrases, and how often each is repeated."""
    if config.retrieval == "file":
        rows = draw(
            config.train, lambda source: _from_file(source, config.data), config.pool, config.loop.seed
        )
        return [given for given, _ in rows], [repeat for _, repeat in rows]
    drawn = draw_documents(config.train, config.data, config.pool, config.loop.seed)
    documents = [identified(document) for document, _ in drawn]
    return _augmented(documents, config, "train"), [repeat for _, repeat in drawn]


def validation_inputs(config: RamkgTraining) -> list[Augmented]:
    """Those of `config.validation`, likewise."""
    if config.retrieval == "file":
        return _from_file(config.validation, config.data)
    rows = read_source_rows(config.validation, config.data)
    return _augmented([identified(document) for document, _ in rows], config, "validation")


def _from_file(source: Source, folder: Path) -> list[Augmented]:
    return [
        Augmented(identified(document), retrieved_of(row, document.id))
        for document, row in read_source_rows(source, folder)
    ]


def retrieved_of(row: Mapping[str, Any], name: str) -> tuple[tuple[str, ...], ...]:
    """The field `retrieved` of a row: a list of keyphrases for each passage, or one list for all; () without.

    Raises:
        ConfigError: it is something else.
    """
    value = row.get("retrieved") or []
    passages = [value] if value and all(isinstance(item, str) for item in value) else value
    if not isinstance(passages, list) or not all(
        isinstance(passage, list) and all(isinstance(phrase, str) for phrase in passage)
        for passage in passages
    ):
        raise ConfigError(
            f'The document {name!r} has a field "retrieved" that is not a list of lists of keyphrases: fix '
            "it."
        )
    return tuple(map(tuple, passages))


def _augmented(documents: Sequence[Document], config: RamkgTraining, name: str) -> list[Augmented]:
    """With what the index finds, kept in the folder of the run."""
    if config.index is None:
        return [Augmented(document) for document in documents]
    from kpdemo.ramkg.retrieval import PassageSource

    path = config.output / f"retrieved-{name}.json"
    asked = _asked(documents, config.index, config.passages)
    with cache_errors(path):
        stored = parse_json(path.read_text(encoding="utf-8")) if path.is_file() else None
    if not isinstance(stored, dict) or stored.get("asked") != asked:
        source = PassageSource.open(config.index, device=config.device)
        found = source.hits(documents, config.passages)
        stored = {"asked": asked, "keyphrases": [[hit.passage.keyphrases for hit in hits] for hits in found]}
        replace_file(path, json.dumps(stored, ensure_ascii=False).encode())
    return [
        Augmented(document, tuple(map(tuple, passages)))
        for document, passages in zip(documents, stored["keyphrases"], strict=True)
    ]


def _asked(documents: Sequence[Document], index: Path, passages: int) -> str:
    """A hash of all that decides what the index finds: stored answers to another one are not used."""
    files = sorted(read_manifest(index).sha256.items())
    asked = [files, passages, [(document.text, document.language) for document in documents]]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
