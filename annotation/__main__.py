"""python -m annotation

The one place where annotation meets the models: its commands are handed a plain function, which opens the
default model when it is first called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

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


if __name__ == "__main__":
    sys.exit(main(embedding=embedding))
