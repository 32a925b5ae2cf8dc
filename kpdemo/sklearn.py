"""A transformer of scikit-learn: texts to the scores of their keyphrases, for classifiers and clusterings.

>>> found = KeyphraseVectorizer(model="first", top_k=2)
>>> found.fit_transform(["Graph kernels compare molecules.", "The graph kernel is fast."]).toarray()
array([[1.    , 0.3125],
       [1.    , 0.    ]])
>>> found.get_feature_names_out()
array(['Graph kernels', 'molecules'], dtype=object)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kpdemo.extras import needs_extra
from kpdemo.predictors import load_predictor
from kpdemo.routing import DEFAULT_MODEL
from kpdemo.text import phrase_key
from kpdemo.types import Keyphrase

with needs_extra("sklearn", "kpdemo.sklearn"):
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.utils.validation import check_is_fitted


class KeyphraseVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A column for each keyphrase of the texts that it was fitted to, variants by ending in one.

    A row has the score of each keyphrase of a text, present or absent, and 0 for all others. Keyphrases that
    no text had when it was fitted are left out.

    Args:
        model: as of `kpdemo.load_predictor`.
        top_k, threshold: as of `PredictionOptions`.
        options: its other fields.
    """

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        top_k: int | None = None,
        threshold: float | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.top_k = top_k
        self.threshold = threshold
        self.options = options

    def fit(self, texts: Iterable[str], y: object = None) -> KeyphraseVectorizer:
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: object = None) -> Any:
        """A sparse matrix, a row for each text."""
        self.predictor_ = load_predictor(self.model)
        self.columns_ = DictVectorizer()
        rows = self._rows(texts)
        self.spellings_ = {key: one.text for row in reversed(rows) for key, one in row.items()}
        return self.columns_.fit_transform(map(_scores, rows))

    def transform(self, texts: Iterable[str]) -> Any:
        """A sparse matrix, a row for each text.

        Raises:
            NotFittedError: it was not fitted.
            InputError: a text cannot be read.
        """
        check_is_fitted(self)
        return self.columns_.transform(map(_scores, self._rows(texts)))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """The keyphrases of the columns, each as it was written first."""
        check_is_fitted(self)
        return np.array([self.spellings_[key] for key in self.columns_.get_feature_names_out()], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = False, True, True
        return tags

    def _rows(self, texts: Iterable[str]) -> list[dict[str, Keyphrase]]:
        """The keyphrases of each text by their stems, the best of those with the same."""
        given = {"top_k": self.top_k, "threshold": self.threshold, **(self.options or {})}
        rows: list[dict[str, Keyphrase]] = []
        for prediction in self.predictor_.predict(list(texts), **given):
            rows.append({})
            for one in sorted((*prediction.present, *prediction.absent), key=lambda one: -one.score):
                rows[-1].setdefault(phrase_key(one.text, prediction.language), one)
        return rows


def _scores(row: Mapping[str, Keyphrase]) -> dict[str, float]:
    return {key: one.score for key, one in row.items()}
