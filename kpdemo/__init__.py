"""Keyphrases of a document: the present ones marked in its text.

>>> import kpdemo
>>> predictor = kpdemo.load_predictor()
>>> [prediction] = predictor.predict(["Graph kernels compare molecules ..."])  # doctest: +SKIP
"""

from kpdemo.errors import KpdemoError
from kpdemo.predictors import load_predictor
from kpdemo.selection import choose
from kpdemo.types import Document, Keyphrase, Prediction, PredictionOptions, Predictor, Style

__version__ = "0.1.0"

__all__ = [
    "Document",
    "Keyphrase",
    "KpdemoError",
    "Prediction",
    "PredictionOptions",
    "Predictor",
    "Style",
    "__version__",
    "choose",
    "load_predictor",
]
