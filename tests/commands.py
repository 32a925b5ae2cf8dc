"""The commands as `python -m annotation` runs them, without the model behind `score --system embedding`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import annotation.cli
from annotation.systems import Similarities


def main(
    arguments: Sequence[str] | None = None,
    *,
    embedding: Similarities | None = None,
    encoder: Callable[[str], Similarities] | None = None,
) -> int:
    """Run a command line of annotation; its exit status."""
    return annotation.cli.main(arguments, embedding=embedding, encoder=encoder)
