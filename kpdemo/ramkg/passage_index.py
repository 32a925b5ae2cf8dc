"""A passage index: its files and manifest, its FAISS structures, and the search for the nearest passages.

A folder holds, for N passages with vectors of width D:

- index.json: what the index is, and how much of the other files belongs to it;
- passages.jsonl: a passage a line, and ends.u64: the offset in bytes where each line ends, (N,);
- keys.u64: a hash of each passage's id, (N,);
- vectors.f32: (N, D);
- structure-N.faiss: what FAISS searches, for all types but flat.

Numbers are little-endian. The manifest index.json is replaced as a whole, and last: what was appended to
the other files and is not counted in it is not part of the index, and the next writer cuts it off. So a
process that dies at any moment leaves the index as it was last committed.

Letters (structure): Q queries, N passages, K found, D width.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from kpdemo.errors import ConfigError, InputError, KpdemoError, MissingIndexError, PassageIndexError
from kpdemo.io.documents import document_from_row
from kpdemo.io.files import parse_json, replace_file, replacing
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.types import Document, RetrievedPassage

if TYPE_CHECKING:
    from kpdemo.ramkg.retriever import Encoder


FORMAT = 1
MANIFEST = "index.json"
PASSAGES, ENDS, KEYS, VECTORS = "passages.jsonl", "ends.u64", "keys.u64", "vectors.f32"
WORD, REAL = np.dtype("<u8"), np.dtype("<f4")

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Manifest:
    """What an index is.

    Attributes:
        identity: of the encoder that made the vectors; see `kpdemo.ramkg.retriever.Encoder`.
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
        words = self.passages * WORD.itemsize
        return {
            PASSAGES: self.size,
            ENDS: words,
            KEYS: words,
            VECTORS: self.passages * self.width * REAL.itemsize,
        }


def write_manifest(folder: Path, manifest: Manifest) -> None:
    content = json.dumps({"format": FORMAT, **asdict(manifest)}, indent=2, sort_keys=True)
    replace_file(folder / MANIFEST, f"{content}\n".encode())


def read_manifest(folder: Path) -> Manifest:
    """Raises:
    MissingIndexError: the folder holds no index.
    PassageIndexError: it holds a damaged or newer one.
    """
    path = folder / MANIFEST
    try:
        stored = parse_json(path.read_text(encoding="utf-8"))
        version = stored.pop("format")
        if version != FORMAT:
            raise PassageIndexError(f"The index {folder} has format {version}: update kpdemo.")
        stored["encoder"] = EncoderConfig(**stored["encoder"])
        stored["index"] = IndexConfig(**stored["index"])
        manifest = Manifest(**stored)
        for described in (manifest.encoder, manifest.index, manifest):
            _check_kinds(described)
        if any(size < 0 for size in manifest.sizes().values()):
            raise ValueError("an invalid size")
    except (FileNotFoundError, NotADirectoryError):
        raise MissingIndexError(
            f"No passage index at {folder}: make one with `python -m kpdemo index build`."
        ) from None
    except PassageIndexError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, KpdemoError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise PassageIndexError(f"{path} cannot be read ({reason}): rebuild the index.") from error
    return manifest


def _check_kinds(described: EncoderConfig | IndexConfig | Manifest) -> None:
    """Raises:
    ValueError: a value is of another kind than its field.
    """
    for name, kind in get_type_hints(type(described)).items():
        if not _is_of(getattr(described, name), kind):
            raise ValueError(f"a wrong {name}")


def _is_of(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Mapping:
        return isinstance(value, dict) and all(_is_of(one, get_args(kind)[1]) for one in value.values())
    if kind in (str, int, bool):
        return type(value) is kind  # True is not a number
    return kind != float | None or value is None or isinstance(value, int | float)


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
        return self._map_file(VECTORS, REAL, (len(self), self._manifest.width))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """(N,) `passage_key` of each id."""
        return self._map_file(KEYS, WORD, (len(self),))

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

    def _map_file(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
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
        return self._map_file(ENDS, WORD, (len(self),))

    @cached_property
    def _text(self) -> mmap.mmap:
        with (self._folder / PASSAGES).open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


Neighbours = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Dot products and passage numbers, (Q, K) each, best first; where fewer were found the number is -1."""

RECALL_WANTED = 0.95
NEIGHBOURS = 10
"""Whose recall is measured."""

_TRAINING_SEED = 1234
_BLOCK = 65_536  # vectors added at once
_LEAST_OF_A_LIST = 39  # FAISS warns when k-means has fewer vectors for a centroid,
_MOST_OF_A_LIST = 64  # and more than this gain little
_BITS = 8
_LEAST_FOR_CODES = _LEAST_OF_A_LIST << _BITS
_CACHE_LINE = 64  # bytes
_REFINED = 10  # of compressed vectors this many times K are compared again


def _faiss() -> Any:
    import faiss  # here, because much of this package does without

    return faiss  # untyped: its stubs lack half of it


def search_exactly(vectors: NDArray[np.float32], queries: NDArray[np.float32], count: int) -> Neighbours:
    """The `count` vectors (N, D) with the largest dot product for each query (Q, D)."""
    found: Neighbours = _faiss().knn(
        queries, vectors, min(count, len(vectors)), metric=_faiss().METRIC_INNER_PRODUCT
    )
    return found


def build_structure(config: IndexConfig, vectors: NDArray[np.float32]) -> Any:
    """A FAISS index of all `vectors` (N, D), which may lie on the disk.

    The same vectors give the same bytes, except for hnsw on several threads.

    Raises:
        ConfigError: a setting does not fit the vectors.
    """
    faiss = _faiss()
    index = faiss.index_factory(vectors.shape[1], _recipe(config, vectors), faiss.METRIC_INNER_PRODUCT)
    if config.type != "hnsw":
        index.train(_training_sample(vectors, index.nlist))
    add_vectors(index, vectors)
    return index


def add_vectors(index: Any, vectors: NDArray[np.float32]) -> None:
    """Add (N, D) more, a block at a time."""
    for first in range(0, len(vectors), _BLOCK):
        index.add(np.ascontiguousarray(vectors[first : first + _BLOCK]))


def write_structure(index: Any, path: Path) -> None:
    with replacing(path) as partial:
        _faiss().write_index(index, str(partial))


def read_structure(path: Path, vectors: NDArray[np.float32], *, whole: bool = False) -> Any:
    """The FAISS index in `path`.

    Args:
        vectors: (N, D) those that it was made of; a graph reads them instead of its own copy.
        whole: into memory, to be added to; else it stays on the disk as far as FAISS can map it, except the
            centroids of its lists, which each query is compared with.

    Raises:
        PassageIndexError: it is missing or damaged.
    """
    faiss = _faiss()
    try:
        index = faiss.read_index(str(path), 0 if whole else faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:  # FAISS names its own source lines, which help no user
        raise PassageIndexError(f"The index file {path} is missing or damaged: rebuild the index.") from error
    passages, width = vectors.shape
    if (index.ntotal, index.d) != (passages, width):
        raise PassageIndexError(
            f"The index file {path} holds {index.ntotal:,} vectors of width {index.d}, not {passages:,} of "
            f"{width}: rebuild the index."
        )
    if whole:
        return index
    if isinstance(index, faiss.IndexIVF):
        centroids = index.quantizer.reconstruct_n(0, index.nlist)
        _read_from(_align(centroids), index, index.quantizer)
    else:
        _read_from(vectors, index, index.storage)
    return index


def search_structure(
    index: Any,
    config: IndexConfig,
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    count: int,
    effort: int,
) -> Neighbours:
    """The best for each query (Q, D) as far as the structure finds them.

    Args:
        vectors: (N, D) the exact ones; of compressed ones the best are compared again with them.
        effort: nprobe or ef_search.
    """
    count = min(count, len(vectors))
    parameters = _parameters(config.type, max(effort, count) if config.type == "hnsw" else effort)
    if config.type != "ivfpq":
        found: Neighbours = index.search(queries, count, params=parameters)
        return found
    _, numbers = index.search(queries, min(count * _REFINED, len(vectors)), params=parameters)
    return _compare_exactly(vectors, queries, numbers, count)


def choose_effort(
    config: IndexConfig,
    index: Any,
    recall_at: Callable[[int], float],
    passages: int,
    wanted: float = RECALL_WANTED,
) -> tuple[int, float]:
    """The nprobe or ef_search that is set, else the smallest power of two that reaches the wanted recall.

    Args:
        recall_at: measures the recall of an effort.
        passages: N.

    Returns:
        It, and its recall.
    """
    if config.type == "hnsw":
        fixed, effort, most = config.ef_search, 16, min(passages, 1024)
    else:
        fixed, effort, most = min(config.nprobe, index.nlist), 1, index.nlist
    if fixed:
        return fixed, recall_at(fixed)
    while (recall := recall_at(effort)) < wanted and effort < most:
        effort = min(2 * effort, most)
    return effort, recall


def overlap(exact: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    """The mean share of the passages in a row of `exact` (Q, K) that are in the same row of `found` (Q, L).

    Raises:
        ValueError: there is no query, or none has a neighbour.
    """
    if not exact.size:
        raise ValueError("no neighbours to compare")
    return float(np.mean([np.isin(row, other).mean() for row, other in zip(exact, found, strict=True)]))


def _read_from(vectors: NDArray[np.float32], index: Any, part: Any) -> None:
    """Give a flat part of `index` other memory with the same vectors, which begins where a cache line does.

    In a mapped FAISS file they begin anywhere, and a search takes a fifth longer.
    """
    faiss = _faiss()
    flat = faiss.downcast_index(part)
    flat.codes = flat.codes.create_view(faiss.swig_ptr(vectors), vectors.nbytes, flat.codes.owner)
    faiss.add_to_referenced_objects(index, vectors)  # else Python frees what `index` reads


def _align(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """A copy that begins where a cache line does."""
    memory = np.empty(vectors.nbytes + _CACHE_LINE, dtype=np.uint8)
    first = -memory.ctypes.data % _CACHE_LINE
    copy = memory[first : first + vectors.nbytes].view(np.float32).reshape(vectors.shape)
    copy[:] = vectors
    return copy


@lru_cache(maxsize=64)  # making them takes half as long as searching a few vectors
def _parameters(kind: str, effort: int) -> Any:
    """FAISS's form of an effort; it only reads the object, so all searches may share it."""
    if kind == "hnsw":
        return _faiss().SearchParametersHNSW(efSearch=effort)
    return _faiss().SearchParametersIVF(nprobe=effort)


def _recipe(config: IndexConfig, vectors: NDArray[np.float32]) -> str:
    """The description that FAISS's index factory takes."""
    passages, width = vectors.shape
    if config.type == "hnsw":
        return f"HNSW{config.hnsw_m},Flat"
    most = max(1, passages // _LEAST_OF_A_LIST)
    nlist = config.nlist or min(round(4 * math.sqrt(passages)), most)
    if nlist > passages:
        raise ConfigError(f"There are {passages:,} passages for {nlist:,} lists: give a smaller --nlist.")
    if config.type == "ivf":
        return f"IVF{nlist},Flat"
    if passages < _LEAST_FOR_CODES:
        raise ConfigError(
            f"Type ivfpq needs {_LEAST_FOR_CODES:,} passages or more to learn its codes, and there are "
            f"{passages:,}: use --type flat."
        )
    size = config.pq_m or _code_size(width)
    if width % size:
        raise ConfigError(f"Vectors of width {width} cannot be cut into {size} parts: give another --pq-m.")
    return f"IVF{nlist},PQ{size}x{_BITS}"


def _code_size(width: int) -> int:
    """A byte for eight coordinates, or nearly so."""
    return max(size for size in range(1, max(width // 8, 1) + 1) if width % size == 0)


def _training_sample(vectors: NDArray[np.float32], nlist: int) -> NDArray[np.float32]:
    """(M, D) of the vectors (N, D), in their order."""
    wanted = max(_MOST_OF_A_LIST * nlist, 4 * _LEAST_FOR_CODES)
    if len(vectors) <= wanted:
        return np.ascontiguousarray(vectors)
    chosen = np.random.default_rng(_TRAINING_SEED).choice(len(vectors), wanted, replace=False)
    return np.ascontiguousarray(vectors[np.sort(chosen)])


def _compare_exactly(
    vectors: NDArray[np.float32], queries: NDArray[np.float32], numbers: NDArray[np.int64], count: int
) -> Neighbours:
    """The best `count` of `numbers` (Q, C) by their exact dot products."""
    scores = np.full(numbers.shape, -np.inf, dtype=np.float32)
    for row, (query, candidates) in enumerate(zip(queries, numbers, strict=True)):
        there = candidates >= 0
        scores[row, there] = vectors[candidates[there]] @ query
    best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(scores, best, axis=1), np.take_along_axis(numbers, best, axis=1)


_RECALL_SEED = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found, with its dot product."""

    passage: Document
    score: float


def retrieved_passage(hit: Hit) -> RetrievedPassage:
    """As predictions report it."""
    passage = hit.passage
    return RetrievedPassage(
        passage.id, passage.title, passage.body, passage.keyphrases, passage.language, hit.score
    )


class PassageIndex:
    """Passages with their keyphrases and vectors, on the disk.

    Attributes:
        folder: where it is.
        manifest: of the index.
        store: its passages and vectors.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Of a manifest that was read; raises as `open`."""
        self.folder = folder
        self.manifest = manifest
        self.store = PassageStore(folder, manifest)

    @classmethod
    def open(cls, folder: Path) -> PassageIndex:
        """Raises:
        PassageIndexError: there is no index, or a file of it is missing or damaged.
        """
        return cls(folder, read_manifest(folder))

    def __len__(self) -> int:
        return len(self.store)

    def search(self, queries: NDArray[np.float32], count: int, *, effort: int | None = None) -> Neighbours:
        """The best passages for each query vector (Q, D); see `Neighbours`.

        Args:
            count: K; fewer when the index has fewer passages.
            effort: another nprobe or ef_search than the index's own.
        """
        manifest = self.manifest
        if not (manifest.passages and manifest.structure):
            return self.search_exactly(queries, count)
        wanted = manifest.effort if effort is None else effort
        return search_structure(self._structure, manifest.index, self.store.vectors, queries, count, wanted)

    def search_exactly(self, queries: NDArray[np.float32], count: int) -> Neighbours:
        """As `search`, by comparing with every passage."""
        if not len(self) or not len(queries):
            shape = (len(queries), min(count, len(self)))
            return np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.int64)
        return search_exactly(self.store.vectors, queries, count)

    def retrieve(self, encoder: Encoder, queries: Sequence[Document], count: int) -> list[list[Hit]]:
        """The `count` passages nearest to each query, best first.

        Raises:
            PassageIndexError: the index was made with another encoder, or is damaged.
        """
        self.check_encoder(encoder)
        scores, numbers = self.search(encoder.queries(queries), count)
        return [
            [
                Hit(self.store.passage(int(number)), float(score))
                for score, number in zip(row, found, strict=True)
                if number >= 0
            ]
            for row, found in zip(scores, numbers, strict=True)
        ]

    def check_encoder(self, encoder: Encoder, *, otherwise: str = "") -> None:
        """See that the vectors of the index are those of `encoder`.

        Args:
            otherwise: what the caller may do instead of building the index again.

        Raises:
            PassageIndexError: they are not.
        """
        if encoder.width != self.manifest.width and encoder.identity == self.manifest.identity:
            raise PassageIndexError(
                f"The index {self.folder} is damaged (its vectors have the width {self.manifest.width}, "
                f"those of its encoder {encoder.width}): rebuild it."
            )
        if encoder.identity != self.manifest.identity:
            from kpdemo.predictors import model_name

            asked = model_name(encoder.config.model)
            raise PassageIndexError(
                f"The index {self.folder} was built with the encoder {self.manifest.encoder.model} "
                f"({self.manifest.identity[:12]}), not with {asked} ({encoder.identity[:12]}): rebuild it "
                f"with `python -m kpdemo index build --model {asked}`{otherwise}."
            )

    def recall(self, queries: int, *, effort: int | None = None) -> float:
        """The share of the ten exactly nearest passages that a search finds, 1 for flat.

        Args:
            queries: this many passages of the index ask for their neighbours, themselves left out.
            effort: as in `search`.

        Raises:
            PassageIndexError: there are fewer than two passages.
        """
        if len(self) < 2:
            raise PassageIndexError(
                f"The index {self.folder} has {len(self)} passages, and recall needs two or more: add some."
            )
        exact, sample = self._neighbours(min(queries, len(self)))
        _, found = self.search(self.store.vectors[sample], NEIGHBOURS + 1, effort=effort)
        return overlap(exact, found)

    def damaged_files(self) -> list[str]:
        """The files whose bytes are not those that were written."""
        hashes = file_hashes(self.folder, self.manifest)
        return [name for name, sha256 in self.manifest.sha256.items() if hashes.get(name) != sha256]

    @cached_property
    def _structure(self) -> Any:
        return read_structure(self.folder / self.manifest.structure, self.store.vectors)

    def _neighbours(self, queries: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The exactly nearest (Q, K) of some passages (Q,)."""
        random = np.random.default_rng(_RECALL_SEED)
        sample = np.sort(random.choice(len(self), queries, replace=False))
        _, found = self.search_exactly(self.store.vectors[sample], NEIGHBOURS + 1)
        own = found == sample[:, None]
        own[~own.any(axis=1), -1] = True  # another passage is as near to it as itself: leave out the last
        return found[~own].reshape(queries, -1), sample
