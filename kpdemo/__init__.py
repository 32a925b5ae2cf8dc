"""Keyphrases of a document: the present ones marked in its text.

>>> import kpdemo
>>> found = kpdemo.keyphrases("Graph kernels compare molecules ...", model="first")
>>> [one.text for one in found.present]
['Graph kernels', 'molecules']
"""

from kpdemo.errors import KpdemoError
from kpdemo.predictors import keyphrases, load_predictor
from kpdemo.selection import choose
from kpdemo.types import Document, Keyphrase, Prediction, PredictionOptions, Predictor, Style

__version__ = "1.0.0"

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
    "keyphrases",
    "load_predictor",
]
