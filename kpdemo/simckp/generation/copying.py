"""A decoder that can copy from the document (See et al. 2017; for keyphrases Meng et al. 2017).

Most absent keyphrases hold some words of their document.
Letters: B documents, N positions or beams, T source tokens, D width, V target vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from kpdemo.simckp.generation.memory import Memory


@dataclass(frozen=True)
class Copied:
    """Attributes:
    keys: (B, T, D).
    targets: (B, T) the target id of each source token, 0 where it has none.
    possible: (B, 1, T) bool, whether it has one.
    """

    keys: Tensor
    targets: Tensor
    possible: Tensor


class Copying(nn.Module):
    """p = (1 - g) · written + g · copied, with a gate g for each position (See et al. 2017, Equation 9)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.gate = nn.Linear(width, 1)

    def read(self, memory: Memory, tokens: Tensor, first: int) -> Copied:
        """What can be copied from the documents.

        Args:
            tokens: the tokenizer's ids of the target ids from `first` on, which is at least 1.
        """
        numbers = memory.input_ids.new_zeros(len(memory.words))
        numbers[tokens] = torch.arange(first, first + len(tokens), device=tokens.device)
        targets = numbers[memory.input_ids]
        return Copied(self.key(memory.hidden), targets, ((targets > 0) & memory.mask.bool()).unsqueeze(1))

    def mix(self, state: Tensor, written: Tensor, copied: Copied) -> Tensor:
        """(B, N, V) log-probabilities from states (B, N, D) and those of the vocabulary (B, N, V)."""
        scores = self.query(state) @ copied.keys.transpose(1, 2) / state.shape[-1] ** 0.5  # (B, N, T)
        attention = scores.float().masked_fill(~copied.possible, torch.finfo(torch.float32).min).softmax(-1)
        places = copied.targets.unsqueeze(1).expand(-1, state.shape[1], -1)
        shares = torch.zeros_like(written).scatter_add(2, places, attention)
        gate = torch.sigmoid(self.gate(state).float()) * copied.possible.any(-1, keepdim=True)
        mixed = (1 - gate) * written.exp() + gate * shares
        return mixed.clamp(min=torch.finfo(torch.float32).tiny).log()
