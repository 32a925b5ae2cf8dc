"""Reading the rows of a file one after another until one is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.errors import ImportFileError
from annotation.exchange import FileFormat, read_items_or_errors
from annotation.types import NewPair, NewRating
from kpdemo.io.tables import Source


def read_items(
    source: Source, *, format: FileFormat | None = None, type: str | None = None
) -> Iterator[NewPair | NewRating]:
    """What `read_items_or_errors` gives, its first error raised."""
    for item in read_items_or_errors(source, format=format, type=type):
        if isinstance(item, ImportFileError):
            raise item
        yield item
