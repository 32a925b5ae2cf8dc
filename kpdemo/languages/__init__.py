"""Languages: which one a text is in, and how its words are cut, stemmed and compared."""

from kpdemo.languages.detection import detect, identified
from kpdemo.languages.names import language_code

__all__ = ["detect", "identified", "language_code"]
