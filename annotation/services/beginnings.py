"""The first words of texts, of which the database sends no more than `beginning` looks at."""

from __future__ import annotations

from sqlalchemy import Label, func
from sqlalchemy.orm import InstrumentedAttribute

from annotation.characters import BEGINNING_LENGTH, read_length


def beginning_of(column: InstrumentedAttribute[str], length: int = BEGINNING_LENGTH) -> Label[str]:
    """What `beginning` needs of a column to show `length` characters, under the column's own name."""
    return func.substr(column, 1, read_length(length)).label(column.key)
