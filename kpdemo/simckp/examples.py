"""A document as the networks read it: windows of tokens, the tokens of candidates and phrases. No PyTorch."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from kpdemo.candidates.chunks import Candidate
from kpdemo.languages import UNSPACED
from kpdemo.types import Document

TURN = Lock()
"""Held by who sets up a tokenizer until it has read: a tokenizer has one length for all threads."""

if hasattr(os, "register_at_fork"):  # else a process forked during a turn would wait for its end for ever
    os.register_at_fork(before=TURN.acquire, after_in_parent=TURN.release, after_in_child=TURN.release)


@contextmanager
def truncating(tokenizer: Tokenizer, length: int, overlap: int = 0) -> Iterator[None]:
    """Within it, the tokenizer cuts texts into windows of `length` tokens, and pads none.

    Args:
        overlap: tokens that a window shares with the next.
    """
    with TURN:
        tokenizer.no_padding()
        tokenizer.enable_truncation(length, stride=overlap)
        yield


_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")

FEATURES = ("in title", "log count", "first position", "spread", "words", "single word")

_TITLE_END = "."  # in the place of white space, so that offsets stay; the encoder should see a sentence end


@dataclass(frozen=True)
class Rows:
    """The tokens of candidates; a row is a candidate in a window that holds it, and both ascend.

    Attributes:
        windows, candidates: (R,) int64, their numbers.
        sizes: (R,) int64, how many tokens each row has.
        tokens: (M,) int64, their positions in the window, ascending in each row, one row after the other.
    """

    windows: NDArray[np.int64]
    candidates: NDArray[np.int64]
    sizes: NDArray[np.int64]
    tokens: NDArray[np.int64]

    @classmethod
    def of(cls, places: NDArray[np.int64]) -> Rows:
        """From (3, N) the window, candidate and position of single tokens, in any order, some repeated."""
        windows, candidates, positions = places
        count, width = (values.max(initial=0) + 1 for values in (candidates, positions))
        rows, tokens = np.divmod(np.unique((windows * count + candidates) * width + positions), width)
        held, sizes = np.unique(rows, return_counts=True)
        return cls(*np.divmod(held, count), sizes, tokens)

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """The window, the candidate and the tokens of each row."""
        tokens = np.split(self.tokens, np.cumsum(self.sizes)[:-1]) if len(self) else []
        return zip(self.windows.tolist(), self.candidates.tolist(), tokens, strict=True)


@dataclass(frozen=True)
class Example:
    """Attributes:
    windows: token ids of each window, special tokens included.
    rows: the tokens of the candidates in the windows.
    features: (P, F) float32, one row a candidate; see `FEATURES`.
    """

    windows: list[NDArray[np.int64]]
    rows: Rows
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
        most_windows: stop after this many; candidates seen in none of them have no row.
    """
    read = encode_windows(tokenizer, encoder_text(document), window, overlap)[:most_windows]
    windows = [np.asarray(encoding.ids, dtype=np.int64) for encoding in read]
    masks = [np.asarray(encoding.special_tokens_mask, dtype=bool) for encoding in read]
    offsets = [
        np.asarray(encoding.offsets).reshape(-1, 2)[~special]
        for encoding, special in zip(read, masks, strict=True)
    ]
    firsts = [int(np.argmin(special)) for special in masks]
    rows = _rows(_Spans.of(candidates), offsets, firsts, len(candidates))
    return Example(windows, rows, _features(document, candidates))


def encode_windows(tokenizer: Tokenizer, text: str, window: int, overlap: int) -> list[Encoding]:
    """The windows of a text, each of at most `window` tokens, special tokens included."""
    with truncating(tokenizer, window, overlap):
        encoding = tokenizer.encode(text)
    return [encoding, *encoding.overflowing]


def _rows(
    spans: _Spans, offsets: Sequence[NDArray[np.int64]], firsts: Sequence[int], candidates: int
) -> Rows:
    """Args:
    offsets: for each window, (T, 2) the character range of each token that is not special.
    firsts: for each window, the position of the first of those tokens.
    candidates: how many there are.
    """
    places = spans.places(offsets, firsts, whole=True)
    unseen = np.ones(candidates, dtype=bool)
    unseen[places[1]] = False
    if unseen.any():  # longer than the overlap, or beyond the last window read
        cut = spans.places(offsets, firsts, whole=False)
        places = np.hstack([places, cut[:, unseen[cut[1]]]])
    return Rows.of(places)


@dataclass(frozen=True)
class _Spans:
    """The occurrences of all candidates, sorted by start.

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

    def places(
        self, offsets: Sequence[NDArray[np.int64]], firsts: Sequence[int], *, whole: bool
    ) -> NDArray[np.int64]:
        """(3, M) window, candidate and position of every token of every occurrence; see `_rows`.

        Args:
            whole: only occurrences that lie wholly in a window; else also those it cuts.
        """
        found = [np.zeros((3, 0), dtype=np.int64)]
        for window, (ranges, first) in enumerate(zip(offsets, firsts, strict=True)):
            if len(ranges):
                owners, tokens = self._in_window(ranges, whole)
                found.append(np.stack([np.full_like(owners, window), owners, tokens + first]))
        return np.hstack(found)

    def _in_window(
        self, ranges: NDArray[np.int64], whole: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The candidate and the number of every token of the occurrences in one window."""
        start, end = ranges[0, 0], ranges[-1, 1]
        near = slice(
            np.searchsorted(self.spans[:, 0], start if whole else start - self.longest),
            np.searchsorted(self.spans[:, 0], end),
        )
        low, high = self.spans[near, 0], self.spans[near, 1]
        inside = high <= end if whole else high > start
        firsts = np.searchsorted(ranges[:, 1], low[inside], side="right")
        ends = np.searchsorted(ranges[:, 0], high[inside], side="left")
        sizes = np.maximum(ends - firsts, 0)
        tokens = np.arange(sizes.sum()) + np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes)
        return np.repeat(self.owner[near][inside], sizes), tokens


def _features(document: Document, candidates: Sequence[Candidate]) -> NDArray[np.float32]:
    """(P, F) where and how often each candidate occurs, each feature between 0 and about 1."""
    if not candidates:
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    length, body_start = max(len(document.text), 1), document.body_start
    first = np.array([candidate.spans[0][0] for candidate in candidates])
    last = np.array([candidate.spans[-1][0] for candidate in candidates])
    counts = [math.log1p(len(candidate.spans)) for candidate in candidates]
    words = np.array([_word_count(candidate.key) for candidate in candidates])
    columns = (
        first < body_start,
        np.array(counts) / 3,
        first / length,
        (last - first) / length,
        words / 6,
        words == 1,
    )
    return np.stack(columns, axis=1).astype(np.float32)


def _word_count(key: str) -> int:
    """Of a candidate's key; two letters of a script without spaces count as a word."""
    return key.count(" ") + 1 if " " in key else max(-(-len(_UNSPACED_LETTER.findall(key)) // 2), 1)


LONGEST_PHRASE = 24
"""Tokens of a phrase, special tokens included."""
LONGEST_TEXT = 256
"""Tokens of a text of any kind that is compared with another: a paragraph is read whole."""

_HYPHENS = str.maketrans(dict.fromkeys("-‐‑–", " "))  # corpora differ in them: "real time", "real-time"


def document_tokens(document: Document, tokenizer: Tokenizer, length: int) -> list[int]:
    """The ids of the first `length` tokens, special tokens included."""
    return text_tokens(encoder_text(document), tokenizer, length)


def phrase_tokens(phrase: str, tokenizer: Tokenizer) -> list[int]:
    return text_tokens(phrase, tokenizer, LONGEST_PHRASE)


def text_tokens(text: str, tokenizer: Tokenizer, length: int) -> list[int]:
    with truncating(tokenizer, length):
        ids: list[int] = tokenizer.encode(text.translate(_HYPHENS)).ids
    return ids
