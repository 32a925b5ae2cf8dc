"""What an installed package leaves out unless it is asked for: `pip install "kpdemo[files]"` and others.

pyproject.toml says which packages each extra has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kpdemo.errors import InputError


class MissingPackageError(ImportError, InputError):
    """A package of an extra is not installed."""


@contextmanager
def needs_extra(extra: str, purpose: str) -> Iterator[None]:
    """Around imports of the packages of an extra.

    Args:
        extra: its name in pyproject.toml.
        purpose: what they are for, as the beginning of a sentence, such as the name of a file.

    Raises:
        MissingPackageError: one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package == "kpdemo":
            raise
        raise MissingPackageError(
            f"{purpose} needs the package {package}, which is not installed: "
            f'run pip install "kpdemo[{extra}]".',
            name=error.name,
        ) from error
