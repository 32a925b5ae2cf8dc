"""Examples put together into one batch of tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from kpdemo.simckp.examples import Example
from kpdemo.simckp.model import Batch


def collate(
    examples: Sequence[Example], *, padding: int, positive: Sequence[NDArray[np.bool_]] | None = None
) -> Batch:
    """Pad the windows of all examples to one length and number windows, rows and phrases through.

    Args:
        padding: the tokenizer's id for padding.
        positive: per example, (P,) true where a candidate is gold.
    """
    windows = [torch.from_numpy(window) for example in examples for window in example.windows]
    input_ids = pad_sequence(windows, batch_first=True, padding_value=padding)
    length = input_ids.shape[1]
    sizes = torch.tensor([len(window) for window in windows])
    members: list[NDArray[np.int64]] = []
    row_phrase: list[int] = []
    row_window: list[int] = []
    first_window = first_phrase = 0
    for example in examples:
        for window, candidate, tokens in example.rows:
            members.append(tokens + (first_window + window) * length)
            row_phrase.append(first_phrase + candidate)
            row_window.append(first_window + window)
        first_window += len(example.windows)
        first_phrase += len(example.features)
    row_sizes = np.array([len(tokens) for tokens in members], dtype=np.int64)
    return Batch(
        input_ids=input_ids,
        attention_mask=(torch.arange(length) < sizes[:, None]).long(),
        window_document=_owners([len(example.windows) for example in examples]),
        members=torch.from_numpy(np.concatenate(members) if members else np.zeros(0, dtype=np.int64)),
        row_starts=torch.from_numpy(np.cumsum(row_sizes) - row_sizes),
        row_phrase=torch.tensor(row_phrase, dtype=torch.long),
        row_window=torch.tensor(row_window, dtype=torch.long),
        phrase_document=_owners([len(example.features) for example in examples]),
        features=torch.from_numpy(np.concatenate([example.features for example in examples])),
        positive=torch.from_numpy(np.concatenate(positive))
        if positive
        else torch.zeros(first_phrase, dtype=torch.bool),
        documents=len(examples),
    )


def _owners(counts: list[int]) -> torch.Tensor:
    return torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
