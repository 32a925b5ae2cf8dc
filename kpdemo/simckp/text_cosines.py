"""How alike texts are by their vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kpdemo.evaluation.projection import unit_rows


def text_cosines(
    pairs: Sequence[tuple[str, str]], encode: Callable[[list[str]], NDArray[np.float32]]
) -> list[float]:
    """The cosine of the two texts of each pair, clipped to 0 to 1; 0 for a zero vector.

    Args:
        encode: (N, D) vectors of any length for N texts; each text is asked for once.
    """
    texts = sorted({text for pair in pairs for text in pair})
    if not texts:
        return []
    vectors = unit_rows(encode(texts))
    places = {text: place for place, text in enumerate(texts)}
    first, second = (vectors[[places[pair[side]] for pair in pairs]] for side in (0, 1))
    cosines: list[float] = (first * second).sum(axis=-1).clip(0, 1).tolist()
    return cosines
