"""When two phrases are the same: the keyphrase pages hand in their own rule."""

from __future__ import annotations

from collections.abc import Callable

PhraseKey = Callable[[str, str], str]
"""What makes a phrase, the first text, the same as another one of its language, the second."""
