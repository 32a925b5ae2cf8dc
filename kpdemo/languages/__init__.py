"""Languages: which one a text is in, and how its words are cut, stemmed and compared."""

from kpdemo.languages.detection import Language, detect, identified
from kpdemo.languages.names import NAMES, language_code, language_name

__all__ = ["NAMES", "Language", "detect", "identified", "language_code", "language_name"]
