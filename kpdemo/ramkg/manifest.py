"""The manifest of a passage index, with the hashes of its files (see `kpdemo.ramkg.store`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from kpdemo.errors import KpdemoError, MissingIndexError, PassageIndexError
from kpdemo.json_text import parse_json
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.storage import replace_file

FORMAT = 1
MANIFEST = "index.json"
PASSAGES, ENDS, KEYS, VECTORS = "passages.jsonl", "ends.u64", "keys.u64", "vectors.f32"
WORD, REAL = np.dtype("<u8"), np.dtype("<f4")

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
