"""Languages: which one a text is in, and how its words are cut, stemmed and compared."""

from kpdemo.languages.detection import detect

__all__ = ["detect"]
