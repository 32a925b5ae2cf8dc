"""A model that takes its time; in a file of its own, as Ray's workers import it."""

from __future__ import annotations

import time

from kpdemo.predictors import load_predictor


class SlowPredictor:
    """Slow enough that there is time to kill it."""

    name = "slow"
    device = "cpu"

    def __init__(self) -> None:
        self._first = load_predictor("first")

    def predict(self, documents, *, top_k=None, **options):
        time.sleep(0.02 * len(documents))
        return self._first.predict(documents, top_k=top_k)
