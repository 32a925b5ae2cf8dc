"""Training of a network that puts a document's phrases in order.

Letters: K phrases of a document, F features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.simckp.feature_network import FeatureNetwork
from kpdemo.training.data import Count, Positive, Rate

LEAST_DEVIATION = 1.0e-3
"""Of a feature that hardly varies."""


@dataclass(frozen=True, kw_only=True)
class NetworkTraining:
    """Attributes:
    width: of the layer between.
    epochs: visits of each document.
    rate: peak learning rate of AdamW, which falls to 0 along a cosine.
    """

    width: Positive = 24
    epochs: Positive = 30
    batch_size: Positive = 64
    rate: Rate = 5e-3
    seed: Count = 0


def fit_network(
    features: Sequence[NDArray[np.float32]],
    labels: Sequence[NDArray[np.bool_]],
    config: NetworkTraining,
    repeats: Sequence[int] | None = None,
) -> FeatureNetwork:
    """Fit it on the features (K, F) of each document's phrases, and which of them are gold.

    The loss is the cross-entropy of each gold phrase among all of its document's, and for a score that can be
    calibrated that of each phrase by itself.

    Args:
        repeats: how often each document is visited in an epoch; once each without.
    """
    every = np.concatenate(features)
    mean, scale = every.mean(axis=0), np.maximum(every.std(axis=0), LEAST_DEVIATION)
    visited = np.repeat(np.arange(len(features)), 1 if repeats is None else repeats)
    hidden, output = _fit(
        [(rows - mean) / scale for rows in features], labels, torch.from_numpy(visited), config
    )
    return FeatureNetwork(
        mean,
        scale,
        hidden.weight.detach().T.contiguous().numpy(),
        hidden.bias.detach().numpy(),
        output.weight.detach()[0].contiguous().numpy(),
        output.bias.detach().numpy(),
    )


def _fit(
    features: Sequence[NDArray[np.float32]],
    labels: Sequence[NDArray[np.bool_]],
    visited: Tensor,
    config: NetworkTraining,
) -> tuple[nn.Linear, nn.Linear]:
    """The layer between and the output, from documents of (K, F) each and the numbers of an epoch's."""
    most = max(map(len, features))
    inputs = torch.zeros(len(features), most, features[0].shape[1])
    wanted = torch.zeros(len(features), most)
    real = torch.zeros(len(features), most, dtype=torch.bool)
    for row, (own, positive) in enumerate(zip(features, labels, strict=True)):
        inputs[row, : len(own)] = torch.from_numpy(own)
        wanted[row, : len(own)] = torch.from_numpy(positive).float()
        real[row, : len(own)] = True
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        hidden, output = nn.Linear(inputs.shape[2], config.width), nn.Linear(config.width, 1)
        network = nn.Sequential(hidden, nn.ReLU(), output)
        optimiser = torch.optim.AdamW(network.parameters(), config.rate, weight_decay=1e-4)
        steps = config.epochs * -(-len(visited) // config.batch_size)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for _ in range(config.epochs):
            order = visited[torch.randperm(len(visited))]
            for start in range(0, len(order), config.batch_size):
                batch = order[start : start + config.batch_size]
                logits = network(inputs[batch]).squeeze(-1).masked_fill(~real[batch], -torch.inf)
                gold = wanted[batch]
                among = -(functional.log_softmax(logits, dim=1)[gold > 0]).mean()
                alone = functional.binary_cross_entropy_with_logits(logits[real[batch]], gold[real[batch]])
                optimiser.zero_grad()
                (among + alone).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                schedule.step()
    return hidden, output
