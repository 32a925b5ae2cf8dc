"""A document as the extractor reads it: windows of tokens, the tokens of each candidate, and its features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from kpdemo.candidates.chunks import Candidate
from kpdemo.types import Document

FEATURES = ("in title", "log count", "first position", "spread", "words", "single word")

_TITLE_END = "."  # in the place of white space, so that offsets stay; the encoder should see a sentence end


@dataclass(frozen=True)
class Example:
    """Attributes:
    windows: token ids of each reading, special tokens included.
    rows: (window, candidate, token positions in that window), for each candidate in each window it is in;
        both ascend.
    features: (P, F) float32, one row a candidate; see `FEATURES`.
    """

    windows: list[NDArray[np.int64]]
    rows: list[tuple[int, int, NDArray[np.int64]]]
    features: NDArray[np.float32]


def encoder_text(document: Document) -> str:
    """`document.text` with a full stop after the title; every offset stays."""
    if not document.title:
        return document.body
    return f"{document.title}{_TITLE_END.ljust(len(document.title_break))}{document.body}"


def build_example(
    document: Document,
    candidates: Sequence[Candidate],
    tokenizer: Tokenizer,
    *,
    window: int,
    overlap: int,
    most_windows: int | None = None,
) -> Example:
    """Align `candidates` with the tokens of the document by character offsets.

    Args:
        window, overlap: in tokens; a document longer than `window` is read in several windows.
        most_windows: stop after so many; candidates seen in none of them have no row.
    """
    read = encode_windows(tokenizer, encoder_text(document), window, overlap)[:most_windows]
    windows = [np.asarray(encoding.ids, dtype=np.int64) for encoding in read]
    masks = [np.asarray(encoding.special_tokens_mask, dtype=bool) for encoding in read]
    offsets = [
        np.asarray(encoding.offsets).reshape(-1, 2)[~special]
        for encoding, special in zip(read, masks, strict=True)
    ]
    firsts = [int(np.argmin(special)) for special in masks]
    spans = _Spans.of(candidates)
    rows = spans.rows(offsets, firsts, whole=True)
    seen = {candidate for _, candidate, _ in rows}
    if len(seen) < len(candidates):  # longer than the overlap, or beyond the last window read
        rows += [row for row in spans.rows(offsets, firsts, whole=False) if row[1] not in seen]
        rows.sort(key=lambda row: row[:2])
    return Example(windows, rows, _features(document, candidates))


def encode_windows(tokenizer: Tokenizer, text: str, window: int, overlap: int) -> list[Encoding]:
    """The readings of a text, each of at most `window` tokens, special tokens included."""
    tokenizer.enable_truncation(window, stride=overlap)
    encoding = tokenizer.encode(text)
    return [encoding, *encoding.overflowing]


@dataclass(frozen=True)
class _Spans:
    """The occurrences of all candidates, by where they begin.

    Attributes:
        spans: (N, 2) in characters.
        owner: (N,) the candidate of each.
        longest: characters of the longest.
    """

    spans: NDArray[np.int64]
    owner: NDArray[np.int64]
    longest: int

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> _Spans:
        flat = [span for candidate in candidates for span in candidate.spans]
        spans = np.array(flat, dtype=np.int64).reshape(-1, 2)
        owner = np.repeat(np.arange(len(candidates)), [len(candidate.spans) for candidate in candidates])
        order = np.argsort(spans[:, 0], kind="stable")
        longest = int((spans[:, 1] - spans[:, 0]).max(initial=0))
        return cls(spans[order], owner[order], longest)

    def rows(
        self, offsets: Sequence[NDArray[np.int64]], firsts: Sequence[int], *, whole: bool
    ) -> list[tuple[int, int, NDArray[np.int64]]]:
        """See `Example.rows`.

        Args:
            offsets: for each window, (T, 2) the character range of each token that is not special.
            firsts: for each window, the position of the first of those tokens.
            whole: only occurrences that stand whole in a window; else also those it cuts.
        """
        return [
            (number, candidate, tokens + first)
            for number, (ranges, first) in enumerate(zip(offsets, firsts, strict=True))
            if len(ranges)
            for candidate, tokens in self._window_rows(ranges, whole)
        ]

    def _window_rows(self, ranges: NDArray[np.int64], whole: bool) -> list[tuple[int, NDArray[np.int64]]]:
        """The union of the tokens of each candidate in one window."""
        start, end = ranges[0, 0], ranges[-1, 1]
        near = slice(
            np.searchsorted(self.spans[:, 0], start if whole else start - self.longest),
            np.searchsorted(self.spans[:, 0], end),
        )
        low, high = self.spans[near, 0], self.spans[near, 1]
        inside = high <= end if whole else high > start
        owners = self.owner[near][inside].tolist()
        firsts = np.searchsorted(ranges[:, 1], low[inside], side="right")
        ends = np.searchsorted(ranges[:, 0], high[inside], side="left")
        members: dict[int, set[int]] = {}
        for candidate, first, stop in zip(owners, firsts.tolist(), ends.tolist(), strict=True):
            members.setdefault(candidate, set()).update(range(first, stop))
        return [
            (candidate, np.array(sorted(tokens))) for candidate, tokens in sorted(members.items()) if tokens
        ]


def _features(document: Document, candidates: Sequence[Candidate]) -> NDArray[np.float32]:
    """(P, F) where and how often each candidate occurs, each feature between 0 and about 1."""
    if not candidates:
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    length, body_start = max(len(document.text), 1), document.body_start
    first = np.array([candidate.spans[0][0] for candidate in candidates])
    last = np.array([candidate.spans[-1][0] for candidate in candidates])
    counts = [math.log1p(len(candidate.spans)) for candidate in candidates]
    words = np.array([candidate.key.count(" ") + 1 for candidate in candidates])
    columns = (
        first < body_start,
        np.array(counts) / 3,
        first / length,
        (last - first) / length,
        words / 6,
        words == 1,
    )
    return np.stack(columns, axis=1).astype(np.float32)
