"""Absent keyphrases as the one sequence that a generator writes (ONE2SEQ; Yuan et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

IGNORED = -100
"""Pads target sequences; the loss ignores it."""


@dataclass(frozen=True)
class TargetVocabulary:
    """What a generator may write: the tokens of phrases, a separator and an end.

    Attributes:
        start: precedes the first token.
        tokens: (V,) the tokenizer's id of every target id, below 0 for those that are not tokens of the
            tokenizer's; None where target ids are the tokenizer's.
    """

    start: int
    end: int
    separator: int
    tokens: NDArray[np.int64] | None = None

    def encode(self, phrases: Sequence[NDArray[np.int64]], *, longest: int) -> NDArray[np.int64]:
        """`phrase <separator> phrase … <end>` of the tokenizer's ids; empty when no phrase can be written.

        Args:
            longest: most ids of the sequence; the phrases after the last that fits are left out, as are
                those with a token that is not in the vocabulary.
        """
        sequence: list[int] = []
        for phrase in phrases:
            ids = self._ids(phrase)
            if len(sequence) + len(ids) + 1 > longest:
                break
            if ids:
                sequence += [*ids, self.separator]
        if sequence:
            sequence[-1] = self.end
        return np.asarray(sequence, dtype=np.int64)

    def split(self, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The first position and the end of each phrase of a sequence, which is given without its end id."""
        return phrase_spans(ids, self.separator)

    def tokenizer_ids(self, ids: Sequence[int]) -> list[int]:
        """The tokenizer's ids of target ids."""
        return list(ids) if self.tokens is None else [int(token) for token in self.tokens[list(ids)]]

    def _ids(self, phrase: NDArray[np.int64]) -> list[int]:
        ids: list[int] = phrase.tolist()
        if self.tokens is None:
            return ids
        return [self._numbers[token] for token in ids] if self._numbers.keys() >= set(ids) else []

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        tokens = [] if self.tokens is None else self.tokens.tolist()
        return {token: number for number, token in enumerate(tokens) if token >= 0}


def phrase_spans(ids: Sequence[int], separator: int) -> Iterator[tuple[int, int]]:
    """The first position and the end of each phrase between separators; empty ones are left out."""
    first = 0
    for position, token in enumerate([*ids, separator]):
        if token == separator:
            if position > first:
                yield first, position
            first = position + 1


def pad_targets(sequences: Sequence[NDArray[np.int64]]) -> Tensor:
    """(B, L) the sequences, padded with `IGNORED`; L is at least 1."""
    filler = torch.full((1,), IGNORED)
    rows = [torch.from_numpy(sequence) if len(sequence) else filler for sequence in sequences]
    return pad_sequence(rows, batch_first=True, padding_value=IGNORED)


def shifted(targets: Tensor, start: int) -> Tensor:
    """(B, L) the decoder's inputs for `targets`: shifted right by one, after `start`."""
    inputs = targets.roll(1, dims=1).masked_fill(targets.roll(1, dims=1) == IGNORED, start)
    inputs[:, 0] = start
    return inputs
