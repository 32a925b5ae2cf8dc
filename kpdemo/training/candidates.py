"""Absent candidates of training documents: what the reranker learns to rank, and a cache of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from kpdemo.errors import TrainingError
from kpdemo.json_text import parse_json
from kpdemo.locks import locked
from kpdemo.simckp.absent import AbsentCandidate
from kpdemo.simckp.proposing import Proposer
from kpdemo.simckp.terms import term_key
from kpdemo.training.arrays import cache_errors, cache_name
from kpdemo.training.terms import bare
from kpdemo.types import Document

CACHE_VERSION = 3


@dataclass(frozen=True)
class ProposedDocument:
    """Attributes:
    positive: (P,) bool, which of the candidates are gold.
    repeat: how often the document occurs in one epoch.
    """

    document: Document
    candidates: Sequence[AbsentCandidate]
    positive: NDArray[np.bool_]
    repeat: int = 1


def proposed_documents(
    documents: Sequence[Document], proposer: Proposer, cache: Path, *, identity: str
) -> list[ProposedDocument]:
    """The candidates of each document; an interrupted search resumes where it stopped.

    Args:
        identity: all that decides what is proposed, except the documents.

    Raises:
        TrainingError: another training searches for the same, or what is in the cache cannot be read.
    """
    texts = hashlib.sha256("\x00".join(document.text for document in documents).encode()).hexdigest()
    path = cache / f"candidates-{cache_name([CACHE_VERSION, identity, texts])}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    busy = TrainingError(
        f"Another training run is writing {path}, candidates that this one needs too: start when it has "
        "them, or give another `cache`."
    )
    with path.open("a+b", buffering=0) as file, locked(file, busy):  # each line is there before the lock goes
        known = _read(file, path, most=len(documents))
        waiting = documents[len(known) :]
        bar = tqdm(total=len(documents), initial=len(known), desc="candidates", unit="doc")
        for candidates in proposer.propose(waiting):
            file.write(f"{json.dumps([astuple(candidate) for candidate in candidates])}\n".encode())
            known.append(candidates)
            bar.update()
    return [
        ProposedDocument(document, candidates, gold_absent(document, candidates))
        for document, candidates in zip(documents, known, strict=True)
    ]


def gold_absent(document: Document, candidates: Sequence[AbsentCandidate]) -> NDArray[np.bool_]:
    """(P,) true where a candidate is one of the document's keyphrases."""
    gold = {term_key(bare(keyphrase)) for keyphrase in document.keyphrases}
    return np.array([term_key(candidate.text) in gold for candidate in candidates], dtype=bool)


def _read(file: BinaryIO, path: Path, *, most: int) -> list[list[AbsentCandidate]]:
    """What earlier runs wrote; a last line that a crash cut off is removed."""
    file.seek(0)
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    file.truncate(len(whole))
    with cache_errors(path):
        lines = whole.splitlines()
        if len(lines) > most:
            raise ValueError(f"{len(lines)} lines for {most} documents")
        return [
            [
                AbsentCandidate(text, generated, retrieved, tuple(evidence))
                for text, generated, retrieved, evidence in parse_json(line)
            ]
            for line in lines
        ]
