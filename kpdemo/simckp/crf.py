"""A linear-chain conditional random field (Lafferty, McCallum and Pereira 2001).

Letters: B sequences, T positions, K tags.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ConditionalRandomField(nn.Module):
    """The probability of a tag sequence is the exponential of its score, normalised over all sequences.

    The score sums the emissions of the tags, the transitions between them, and a weight for the first and the
    last tag. `mask` (B, T) bool is true for the positions of a sequence: at least one, and the first ones.
    """

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))  # from the row's tag to the column's
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))

    def log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(B,) in nats, of `tags` (B, T) long under `emissions` (B, T, K)."""
        log_all = torch.logsumexp(self._forward(emissions, mask)[-1] + self.end, dim=1)
        return self._score(emissions, tags, mask) - log_all

    def log_marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """(B, T, K) the log-probability of each tag at each position, by the forward-backward algorithm.

        Beyond the mask the values mean nothing.
        """
        before = torch.stack(self._forward(emissions, mask), dim=1)
        both = before + torch.stack(self._backward(emissions, mask), dim=1)
        return both.log_softmax(-1)

    def _forward(self, emissions: Tensor, mask: Tensor) -> list[Tensor]:
        """For each position, (B, K) the log-sum-exp over all prefixes that end there in a tag.

        After the end of a sequence it is that of the last position.
        """
        sums = [self.start + emissions[:, 0]]
        for place in range(1, emissions.shape[1]):
            longer = torch.logsumexp(sums[-1][:, :, None] + self.transitions, dim=1) + emissions[:, place]
            sums.append(torch.where(mask[:, place, None], longer, sums[-1]))
        return sums

    def _backward(self, emissions: Tensor, mask: Tensor) -> list[Tensor]:
        """For each position, (B, K) the log-sum-exp over all continuations of a tag there."""
        end = self.end.expand(len(emissions), -1)
        sums = [end]
        for place in range(emissions.shape[1] - 1, 0, -1):
            following = (emissions[:, place] + sums[-1])[:, None, :]
            longer = torch.logsumexp(self.transitions + following, dim=2)
            sums.append(torch.where(mask[:, place, None], longer, end))
        return sums[::-1]

    def _score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(B,) the scores of the sequences `tags`."""
        lasts = mask.sum(1) - 1
        emitted = emissions.gather(2, tags[:, :, None]).squeeze(2).masked_fill(~mask, 0.0).sum(1)
        moved = self.transitions[tags[:, :-1], tags[:, 1:]].masked_fill(~mask[:, 1:], 0.0).sum(1)
        last_tags = tags.gather(1, lasts[:, None]).squeeze(1)
        return self.start[tags[:, 0]] + emitted + moved + self.end[last_tags]
