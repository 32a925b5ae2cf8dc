"""python -m annotation

The one place where annotation meets the models: its commands are handed plain functions, which load what they
need when they are first called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from annotation.cli import main
from annotation.errors import ModelError


def embedding(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """How alike the two texts of each pair are by the default model's vectors, 0 to 1."""
    from kpdemo.errors import KpdemoError
    from kpdemo.predictors import load_predictor

    try:
        return load_predictor().similarities(pairs)
    except KpdemoError as error:
        raise ModelError(str(error)) from error


def encoder(name: str) -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    """As `embedding`, by the vectors of an encoder of the Hub or in a folder."""
    from kpdemo.errors import KpdemoError
    from kpdemo.predictors import load_similarities

    similarities = load_similarities(name)

    def compare(pairs: Sequence[tuple[str, str]]) -> list[float]:
        try:
            return similarities(pairs)
        except KpdemoError as error:
            raise ModelError(str(error)) from error

    return compare


if __name__ == "__main__":
    sys.exit(main(embedding=embedding, encoder=encoder))
