"""A network with one layer between, over features that it standardises: it puts phrases in order.

Letters: K phrases, F features, H width of the layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class FeatureNetwork:
    """Attributes:
    mean, scale: (F,) of the features in training.
    hidden, hidden_bias, output: (F, H), (H,) and (H,).
    bias: (1,) of the output.
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    hidden: NDArray[np.float32]
    hidden_bias: NDArray[np.float32]
    output: NDArray[np.float32]
    bias: NDArray[np.float32]

    def logits(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """(K,) of K phrases, from (K, F)."""
        layer = products((features - self.mean) / self.scale, self.hidden) + self.hidden_bias
        logits: NDArray[np.float32] = np.maximum(layer, 0) @ self.output + self.bias
        return logits

    def packed(self, prefix: str) -> dict[str, Tensor]:
        """As tensors to be stored, whose names begin with `prefix`."""
        return {
            f"{prefix}{field.name}": torch.from_numpy(getattr(self, field.name)) for field in fields(self)
        }

    @classmethod
    def unpacked(cls, tensors: Mapping[str, Tensor], prefix: str, features: int) -> FeatureNetwork:
        """What `packed` was made of.

        Raises:
            ValueError, KeyError: it is damaged, or was fitted on other features.
        """
        weights = {field.name: tensors[f"{prefix}{field.name}"].numpy() for field in fields(cls)}
        width = len(weights["output"])
        shapes = [(features,), (features,), (features, width), (width,), (width,), (1,)]
        if [weight.shape for weight in weights.values()] != shapes:
            raise ValueError("its ranker does not fit the features")
        return cls(**weights)


def products(rows: NDArray[np.float32], columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """The matrix product by PyTorch: NumPy's idle threads keep spinning and slow the networks down."""
    product: NDArray[np.float32] = (torch.from_numpy(rows) @ torch.from_numpy(columns)).numpy()
    return product
