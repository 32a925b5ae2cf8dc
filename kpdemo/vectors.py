"""Vectors of texts: their cosines, and their layout in the plane by PCA or t-SNE.

Models compare vectors by their cosine. So every vector is brought to length 1 first: then the distance of
two of them grows with the angle between them, and with nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kpdemo.extras import needs_extra

SEED = 42
PERPLEXITY = 30.0
FEWEST = 5
"""Points from which on t-SNE has neighbourhoods to keep; fewer are laid out by PCA."""

THREADS = 1
"""For so few numbers a second thread waits more than it works, on a busy machine for seconds."""

START_SPREAD = 1e-4  # of the first coordinate, as scikit-learn's own initialisation by PCA
_SAME = 1e-6


class Method(StrEnum):
    PCA = "pca"
    TSNE = "tsne"


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Points in two dimensions.

    Attributes:
        places: (N, 2), finite, with their mean at 0.
        method: what laid them out, which is PCA when they are too few, or all the same, for t-SNE.
        shares: of the variance that each of the two axes holds; None for t-SNE, whose axes mean nothing.
    """

    places: NDArray[np.float32]
    method: Method
    shares: tuple[float, float] | None = None


def project(vectors: NDArray[np.float32], method: Method) -> Plane:
    """Lay out the rows of `vectors` (N, D); the same ones always in the same way."""
    rows = unit_rows(vectors)
    plane = _principal(rows)
    spread = float(plane.places[:, :1].std()) if len(rows) else 0.0
    if method is Method.PCA or len(rows) < FEWEST or spread < _SAME:
        return plane
    start = plane.places / spread * START_SPREAD
    return Plane(_neighbour_embedding(rows, start), Method.TSNE)


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """(N, D) the rows at length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: NDArray[np.float32] = (vectors / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
    return rows


def _principal(rows: NDArray[np.float32]) -> Plane:
    """The first two principal components; the point farthest out on each axis has a positive place there."""
    if not len(rows):
        return Plane(np.zeros((0, 2), dtype=np.float32), Method.PCA, (0.0, 0.0))
    with threadpool_limits(THREADS):
        left, values, _ = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
    places = np.zeros((len(rows), 2), dtype=np.float32)
    found = (left * values)[:, :2]
    farthest = found[np.abs(found).argmax(0), range(found.shape[1])]
    places[:, : found.shape[1]] = found * np.where(farthest < 0, -1, 1)
    variances = [*(values[:2] ** 2).tolist(), 0.0, 0.0]
    whole = float((values**2).sum()) or 1.0
    return Plane(places, Method.PCA, (variances[0] / whole, variances[1] / whole))


def _neighbour_embedding(rows: NDArray[np.float32], start: NDArray[np.float32]) -> NDArray[np.float32]:
    """(N, 2) by t-SNE (van der Maaten and Hinton 2008), from places `start` (N, 2)."""
    with needs_extra("sklearn", "A map"):
        from sklearn.manifold import TSNE  # here, because it takes seconds to import

    perplexity = min(PERPLEXITY, max((len(rows) - 1) / 3, 2.0))
    with threadpool_limits(THREADS):
        places = TSNE(2, perplexity=perplexity, init=start, random_state=SEED).fit_transform(rows)
    centred: NDArray[np.float32] = (places - places.mean(0)).astype(np.float32)
    return centred


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
