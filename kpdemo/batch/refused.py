"""The documents of a file that a model refused, kept next to its predictions: none is tried twice."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from kpdemo.identity import document_identity
from kpdemo.json_text import parse_json
from kpdemo.types import Document


@dataclass(frozen=True, slots=True)
class Refusal:
    """Attributes:
    document_sha256: its identity; a document that was corrected since is tried again.
    reason: a whole sentence.
    """

    id: str
    document_sha256: str
    reason: str

    @classmethod
    def of(cls, document: Document, reason: str) -> Refusal:
        return cls(document.id, document_identity(document), reason)


class RefusedDocuments:
    """The refusals so far, in memory and on disk; a line that was cut off by a kill is dropped."""

    def __init__(self, path: Path | None = None) -> None:
        """Read what is there; without a `path` nothing is kept."""
        self._path = path
        self._known: dict[str, Refusal] = {}
        if path is not None and path.exists():
            self._read(path)

    def reason(self, document: Document) -> str | None:
        """Why this very document was refused; None where it was not."""
        known = self._known.get(document.id)
        same = known is not None and known.document_sha256 == document_identity(document)
        return known.reason if known is not None and same else None

    def add(self, refusals: Iterable[Refusal]) -> None:
        """Keep those that are not known yet."""
        new = [refusal for refusal in refusals if self._known.get(refusal.id) != refusal]
        if self._path is None or not new:
            return
        with self._path.open("ab") as stream:
            stream.write(b"".join(json.dumps(asdict(refusal)).encode() + b"\n" for refusal in new))
        self._known |= {refusal.id: refusal for refusal in new}

    def _read(self, path: Path) -> None:
        whole = 0
        with path.open("r+b") as stream:
            for line in stream:
                refusal = _refusal(line)
                if refusal is None:
                    stream.truncate(whole)
                    return
                self._known[refusal.id] = refusal
                whole += len(line)


def refused_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.refused.jsonl")


def _refusal(line: bytes) -> Refusal | None:
    """None for a line that was cut off, even if only its line end is missing."""
    try:
        return Refusal(**parse_json(line)) if line.endswith(b"\n") else None
    except (TypeError, ValueError):
        return None
