"""Examples put together into one batch of tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from kpdemo.simckp.examples import Example
from kpdemo.simckp.model import Batch
from kpdemo.simckp.reading import padded


def collate(examples: Sequence[Example], *, padding: int) -> Batch:
    """Pad all windows to one length, and number windows, rows and phrases across the batch.

    No candidate is marked as gold: training takes its batches from a cache, which has the labels.

    Args:
        padding: the pad token id.
    """
    input_ids, mask = padded([window for example in examples for window in example.windows], padding)
    length = input_ids.shape[1]
    rows = [example.rows for example in examples]
    window_counts = np.array([len(example.windows) for example in examples])
    phrase_counts = np.array([len(example.features) for example in examples])
    row_counts = np.array(list(map(len, rows)))
    row_sizes = np.concatenate([own.sizes for own in rows])
    row_window = np.concatenate([own.windows for own in rows]) + _offsets(window_counts, row_counts)
    row_phrase = np.concatenate([own.candidates for own in rows]) + _offsets(phrase_counts, row_counts)
    members = np.concatenate([own.tokens for own in rows]) + np.repeat(row_window * length, row_sizes)
    documents = np.arange(len(examples))
    return Batch(
        input_ids=input_ids,
        attention_mask=mask,
        window_document=torch.from_numpy(np.repeat(documents, window_counts)),
        members=torch.from_numpy(members),
        row_starts=torch.from_numpy(np.cumsum(row_sizes) - row_sizes),
        row_phrase=torch.from_numpy(row_phrase),
        row_window=torch.from_numpy(row_window),
        phrase_document=torch.from_numpy(np.repeat(documents, phrase_counts)),
        features=torch.from_numpy(np.concatenate([example.features for example in examples])),
        positive=torch.zeros(phrase_counts.sum(), dtype=torch.bool),
        documents=len(examples),
    )


def _offsets(counts: NDArray[np.int64], row_counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row of the batch, how many windows or phrases the earlier examples have.

    Args:
        counts: of windows or phrases, for each example.
        row_counts: of rows, for each example.
    """
    return np.repeat(np.cumsum(counts) - counts, row_counts)
