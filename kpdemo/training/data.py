"""Which documents a model is trained on, and what is made of them: sources, processes, a cache."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import islice
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, runtime_checkable
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from tokenizers import Tokenizer
from tqdm import tqdm

from kpdemo.errors import ConfigError, InputError, TrainingError
from kpdemo.identity import sha256_of
from kpdemo.io.documents import document_from_row
from kpdemo.io.files import replacing
from kpdemo.io.tables import line_name, read_rows
from kpdemo.markup import plain_document
from kpdemo.types import Document
from kpdemo.worker import usable_cores

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
AboveZero = Annotated[float, Field(gt=0)]
Rate = AboveZero
"""A peak learning rate."""
Share = Annotated[float, Field(ge=0, le=1)]


Row = TypeVar("Row")

EXAMPLE = '{"title": "…", "abstract": "…", "keyphrases": ["…", "…"]}'
"""A line of a file of documents."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """One file of training documents.

    Attributes:
        path: JSON Lines, plain, .gz or .xz; relative to the data folder.
        where: fields that a row must have with exactly these values.
        skip_ids: a regular expression; rows whose id it matches at its start are left out.
        repeat: how often each document occurs in one epoch.
        skip: the first documents that pass and are left out.
        every: only every n-th row of those after them.
        limit: only this many of the first of these.
        fields: what the file calls fields of a document, such as {"title": "fr_title", "abstract": "fr"}.
        language: of its documents, where they do not say.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: Path
    where: Mapping[str, Any] = field(default_factory=dict)
    skip_ids: str = ""
    repeat: Positive = 1
    skip: Count = 0
    limit: Positive | None = None
    every: Positive = 1
    fields: Mapping[str, str] = field(default_factory=dict)
    language: str = ""

    def __post_init__(self) -> None:
        try:
            re.compile(self.skip_ids)
        except re.error as error:
            raise ConfigError(
                f"`skip_ids` of {self.path} is not a regular expression ({error}): correct {self.skip_ids!r}."
            ) from error


def refuse_repeats(sources: Iterable[Source], taking: str) -> None:
    """Where each document is taken once, whatever `repeat` says.

    Args:
        taking: begins the message, such as "The vocabulary counts".

    Raises:
        ConfigError: a source is repeated.
    """
    for source in sources:
        if source.repeat > 1:
            raise ConfigError(
                f"{taking} each document once, not {source.repeat} times: leave out `repeat` of "
                f"{source.path}."
            )


def read_source(source: Source, folder: Path) -> Iterator[Document]:
    """The documents of a source that have gold keyphrases, as models read them, in the order of the file."""
    return (document for document, _ in read_source_rows(source, folder))


def validation_documents(sources: Iterable[Source], folder: Path) -> list[Document]:
    """All of the sources that choose the weights, in their order.

    Raises:
        ConfigError: one has none, so that nothing could be chosen.
    """
    documents: list[Document] = []
    for source in sources:
        own = list(read_source(source, folder))
        if not own:
            raise ConfigError(
                f"{source.path} has no validation document with a keyphrase that `validation` in the "
                "configuration takes: check its `where`, `skip_ids` and `fields`."
            )
        documents += own
    return documents


def read_source_rows(source: Source, folder: Path) -> Iterator[tuple[Document, Mapping[str, Any]]]:
    """As `read_source`, each document with its row."""
    return choose_rows(_documents(source_rows(source, folder), source), source)


def source_rows(source: Source, folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of a source's file that pass `where` and `skip_ids`, each after its place for messages.

    What its `fields` call otherwise is there by our names too.

    Raises:
        ConfigError: there is no such file.
    """
    path = source_file(source, folder)
    rows = _passing(path, source.where, re.compile(source.skip_ids) if source.skip_ids else None)
    return ((where, _rename_fields(row, source.fields)) for where, row in rows)


@runtime_checkable
class DataFile(Protocol):
    """A setting that names a file of training data."""

    @property
    def path(self) -> Path:
        """Relative to the data folder."""


def source_file(source: DataFile, folder: Path) -> Path:
    """Where the file of a source is.

    Raises:
        ConfigError: there is none.
    """
    path = folder / source.path
    if path.is_file():
        return path
    if not isinstance(source, Source):
        raise ConfigError(f"No training data at {path}: check `data` and `path` in the configuration.")
    raise ConfigError(
        f"No training data at {path}: put documents there, with lines such as {EXAMPLE}, or give another "
        "`data`; --config configs/own.toml is for a train.jsonl and a valid.jsonl of your own."
    )


def check_sources(config: Any, folder: Path) -> None:
    """Before anything is loaded: whether the files are there that settings, or settings inside them, name.

    Raises:
        ConfigError: one is missing.
    """
    for setting in fields(config):
        value = getattr(config, setting.name)
        for source in value if isinstance(value, tuple) else (value,):
            if isinstance(source, DataFile):
                source_file(source, folder)
            elif is_dataclass(source):
                check_sources(source, folder)


def source_hashes(sources: Iterable[Source], folder: Path) -> list[tuple[str, str]]:
    """Each source with the hash of its file, which shows when the data changed.

    Raises:
        ConfigError: a file is missing.
    """
    return [(str(source), sha256_of(source_file(source, folder))) for source in sources]


def _passing(
    path: Path, where: Mapping[str, Any], skipped: re.Pattern[str] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in read_rows(path):
        if any(row.get(key) != value for key, value in where.items()):
            continue
        if skipped and skipped.match(str(row.get("id", ""))):
            continue
        yield line_name(path.name, number), row


def _rename_fields(row: Mapping[str, Any], fields: Mapping[str, str]) -> Mapping[str, Any]:
    return {**row, **{ours: row.get(theirs) for ours, theirs in fields.items()}} if fields else row


def choose_rows(rows: Iterable[Row], source: Source) -> Iterator[Row]:
    """Those rows, or what was made of them, that `skip`, `every` and `limit` of their source say."""
    return islice(islice(rows, source.skip, None, source.every), source.limit)


def _documents(
    rows: Iterable[tuple[str, Mapping[str, Any]]], source: Source
) -> Iterator[tuple[Document, Mapping[str, Any]]]:
    for where, row in rows:
        try:
            document = plain_document(document_from_row(row, where=where))
        except InputError as error:
            logger.warning("left out: %s", error)
            continue
        if document.keyphrases:
            told = document.language or source.language
            yield replace(document, language=told), row


def draw_documents(
    sources: Sequence[Source], folder: Path, documents: int, seed: int
) -> list[tuple[Document, int]]:
    """At most `documents` documents, each with its repetitions in an epoch; see `draw`."""
    return draw(sources, lambda source: read_source(source, folder), documents, seed)


def draw(
    sources: Sequence[Source], read: Callable[[Source], Iterable[Row]], count: int, seed: int
) -> list[tuple[Row, int]]:
    """At most `count` of what `read` makes of the sources, each with its repetitions in an epoch.

    A source with `repeat` above 1 is always taken whole, the rest is drawn at random.
    """
    always = [(one, source.repeat) for source in sources if source.repeat > 1 for one in read(source)]
    pool = [(one, 1) for source in sources if source.repeat == 1 for one in read(source)]
    random.Random(seed).shuffle(pool)
    logger.info("%d documents in the sources", len(pool) + len(always))
    return [*always, *pool[: max(count - len(always), 0)]]


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
    with cache_errors(path), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
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


Item = TypeVar("Item")
Made = TypeVar("Made")


def process_pool(workers: int | None = None) -> ProcessPoolExecutor:
    """Processes that end with this one, however it ends.

    Those of an ordinary pool wait for work for ever when the process that had it is killed.

    Args:
        workers: processes; None for one a core.
    """
    return ProcessPoolExecutor(workers or usable_cores(), initializer=_watch_parent)


def _watch_parent() -> None:
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def in_groups(
    make: Callable[[Sequence[Item]], Made], items: Sequence[Item], *, size: int, description: str
) -> Iterator[Made]:
    """What `make` makes of each group of `size` items, in order, with a progress bar of documents.

    Args:
        make: a picklable function.
    """
    groups = [items[first : first + size] for first in range(0, len(items), size)]
    with process_pool() as pool, tqdm(total=len(items), desc=description, unit="doc") as bar:
        for group, made in zip(groups, pool.map(make, groups), strict=True):
            yield made
            bar.update(len(group))
