"""Ranges of numbers in a training configuration, which are checked before anything is read."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
AboveZero = Annotated[float, Field(gt=0)]
Rate = AboveZero
"""A peak learning rate."""
Share = Annotated[float, Field(ge=0, le=1)]
