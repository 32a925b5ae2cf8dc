"""The files of a passage index: passages and vectors on disk, of which only what is asked for is in memory.

A folder holds, for N passages with vectors of width D:

- index.json: what the index is, and how much of the other files belongs to it;
- passages.jsonl: a passage a line, and ends.u64: the offset in bytes where each line ends, (N,);
- keys.u64: a hash of each passage's id, (N,);
- vectors.f32: (N, D);
- structure-N.faiss: what FAISS searches, for all types but flat.

Numbers are little-endian. The manifest index.json is replaced as a whole, and last: what was appended to the
other files and is not counted in it is no part of the index, and the next to write cuts it off. So a process
that dies at any moment leaves the index as it was last committed.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kpdemo.documents import document_from_row
from kpdemo.errors import InputError, KpdemoError, PassageIndexError
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.storage import replace_file
from kpdemo.types import Document

FORMAT = 1
MANIFEST = "index.json"
PASSAGES, ENDS, KEYS, VECTORS = "passages.jsonl", "ends.u64", "keys.u64", "vectors.f32"

_LOCK = ".lock"
_WORD, _REAL = np.dtype("<u8"), np.dtype("<f4")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Manifest:
    """What an index is.

    Attributes:
        identity: of the encoder that made the vectors; see `kpdemo.ramkg.encoder.Encoder`.
        passages: N.
        size: bytes of passages.jsonl.
        with_keyphrases: passages that have any.
        languages: how many passages each language has.
        structure: the name of the FAISS file; empty for flat.
        effort: the nprobe or ef_search of a query; 0 for flat.
        recall: the share of the exact ten nearest that a search finds; None before it was measured.
        recall_queries: passages that it was measured with.
        sha256: of each file as far as it belongs to the index.
    """

    encoder: EncoderConfig
    identity: str
    index: IndexConfig
    width: int
    passages: int = 0
    size: int = 0
    with_keyphrases: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)
    structure: str = ""
    effort: int = 0
    recall: float | None = None
    recall_queries: int = 0
    sha256: Mapping[str, str] = field(default_factory=dict)

    def sizes(self) -> dict[str, int]:
        """The bytes of each file that belong to the index; FAISS knows the size of its own."""
        words = self.passages * _WORD.itemsize
        return {
            PASSAGES: self.size,
            ENDS: words,
            KEYS: words,
            VECTORS: self.passages * self.width * _REAL.itemsize,
        }


def write_manifest(folder: Path, manifest: Manifest) -> None:
    content = json.dumps({"format": FORMAT, **asdict(manifest)}, indent=2, sort_keys=True)
    replace_file(folder / MANIFEST, f"{content}\n".encode())


def read_manifest(folder: Path) -> Manifest:
    """Raises:
    PassageIndexError: the folder holds no index, or a damaged or newer one.
    """
    path = folder / MANIFEST
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        version = stored.pop("format")
        if version != FORMAT:
            raise PassageIndexError(f"The index {folder} has format {version}: update kpdemo.")
        stored["encoder"] = EncoderConfig(**stored["encoder"])
        stored["index"] = IndexConfig(**stored["index"])
        manifest = Manifest(**stored)
        if any(type(size) is not int or size < 0 for size in manifest.sizes().values()):
            raise ValueError("a size that is none")
    except (FileNotFoundError, NotADirectoryError):
        raise PassageIndexError(
            f"No passage index at {folder}: make one with `python -m kpdemo index build`."
        ) from None
    except PassageIndexError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, KpdemoError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise PassageIndexError(f"{path} cannot be read ({reason}): build the index anew.") from error
    return manifest


def passage_line(passage: Document) -> bytes:
    """A passage as it stands in passages.jsonl."""
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
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=_WORD.itemsize).digest(), "little")


class PassageStore:
    """The passages and vectors of an index, mapped into memory: the disk is read where one is looked at."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Raises:
        PassageIndexError: a file is missing or too short.
        """
        for name, size in manifest.sizes().items():
            path = folder / name
            if not path.is_file():
                raise PassageIndexError(f"The index {folder} lacks {name}: build it anew.")
            if path.stat().st_size < size:
                raise PassageIndexError(
                    f"The index file {path} is damaged ({path.stat().st_size:,} bytes of {size:,}): "
                    "build the index anew."
                )
        self._folder = folder
        self._manifest = manifest

    def __len__(self) -> int:
        return self._manifest.passages

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """(N, D)."""
        return self._mapped(VECTORS, _REAL, (len(self), self._manifest.width))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """(N,) `passage_key` of each id."""
        return self._mapped(KEYS, _WORD, (len(self),))

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
            return document_from_row(json.loads(self.line(number)), where=f"line {number + 1}")
        except (ValueError, AttributeError) as error:
            reason = str(error).rstrip(".") if isinstance(error, InputError) else f"line {number + 1}"
            raise PassageIndexError(
                f"The index file {path} is damaged ({reason}): build the index anew."
            ) from error

    def number_of(self, id: str) -> int | None:
        """The place of the passage with this id."""
        places = np.flatnonzero(self.keys == np.uint64(passage_key(id)))
        return next((int(place) for place in places if self.passage(int(place)).id == id), None)

    def _mapped(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        if not len(self):  # no memory can be mapped to nothing
            return np.zeros(shape, dtype=dtype)
        mapped = np.memmap(self._folder / name, dtype=dtype, mode="r", shape=shape)
        return mapped.view(np.ndarray)  # whose elements are read faster

    @cached_property
    def _ends(self) -> NDArray[np.uint64]:
        return self._mapped(ENDS, _WORD, (len(self),))

    @cached_property
    def _text(self) -> mmap.mmap:
        with (self._folder / PASSAGES).open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


class StoreWriter:
    """Appends passages to the files of an index; they belong to it from `commit` on."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Use `open_writer`."""
        self._folder = folder
        self._streams: dict[str, BinaryIO] = {}
        self.manifest = manifest

    def append(self, passages: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Args:
        vectors: (B, D), of the B passages.
        """
        if not np.isfinite(vectors).all():
            worst = passages[int(np.argmin(np.isfinite(vectors).all(axis=1)))]
            raise PassageIndexError(
                f'The encoder gives no finite vector for the passage "{worst.id}": use another encoder.'
            )
        lines = [passage_line(passage) for passage in passages]
        ends = self.manifest.size + np.cumsum([len(line) for line in lines])
        keys = np.array([passage_key(passage.id) for passage in passages], dtype=_WORD)
        self._streams[PASSAGES].write(b"".join(lines))
        self._streams[ENDS].write(ends.astype(_WORD).tobytes())
        self._streams[KEYS].write(keys.tobytes())
        self._streams[VECTORS].write(vectors.astype(_REAL).tobytes())
        languages = dict(self.manifest.languages)
        for passage in passages:
            languages[passage.language] = languages.get(passage.language, 0) + 1
        self.manifest = replace(
            self.manifest,
            passages=self.manifest.passages + len(passages),
            size=int(ends[-1]) if lines else self.manifest.size,
            with_keyphrases=self.manifest.with_keyphrases + sum(bool(p.keyphrases) for p in passages),
            languages=languages,
        )

    def sync(self) -> None:
        """What was appended is on the disk afterwards."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())

    def commit(self) -> None:
        """All that was appended belongs to the index."""
        self.sync()
        write_manifest(self._folder, self.manifest)

    def _open(self, stack: ExitStack) -> None:
        for name, size in self.manifest.sizes().items():
            (self._folder / name).touch()
            stream = stack.enter_context((self._folder / name).open("r+b"))
            stream.truncate(size)  # what an earlier process had appended and not committed
            stream.seek(size)
            self._streams[name] = stream


@contextmanager
def open_writer(folder: Path, manifest: Manifest) -> Iterator[StoreWriter]:
    """Append to the index in `folder` whose committed state is `manifest`; hold its `lock`."""
    writer = StoreWriter(folder, manifest)
    with ExitStack() as stack:
        writer._open(stack)
        yield writer


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to the folder; the lock of one that dies is gone with it.

    Raises:
        PassageIndexError: another process has it.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such locks: there it is up to the user
        yield
        return
    with (folder / _LOCK).open("wb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PassageIndexError(
                f"Another process is writing to {folder}: wait until it is done."
            ) from None
        yield


def file_hashes(folder: Path, manifest: Manifest) -> dict[str, str]:
    """SHA-256 of each file as far as it belongs to the index."""
    sizes: dict[str, int | None] = dict(manifest.sizes())
    if manifest.structure:
        sizes[manifest.structure] = None
    return {name: _sha256(folder / name, size) for name, size in sizes.items()}


def _sha256(path: Path, size: int | None) -> str:
    digest = hashlib.sha256()
    left = path.stat().st_size if size is None else size
    with path.open("rb") as stream:
        while left and (content := stream.read(min(left, _CHUNK))):
            digest.update(content)
            left -= len(content)
    return digest.hexdigest()
