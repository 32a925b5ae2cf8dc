"""Fitting a system's scores to the grades that people gave, on other pairs than those it is measured on."""

from __future__ import annotations

import numpy as np

from annotation.agreement import Floats


def isotonic(training_scores: Floats, training_gold: Floats, scores: Floats) -> Floats:
    """The grades that isotonic regression expects for `scores` (N,).

    The curve never falls, runs straight between training scores and stays level beyond them: Spearman's
    correlation can only change by ties, Pearson's by what the curve straightens.

    Args:
        training_scores: (M,) of the same system on other pairs.
        training_gold: (M,) the grades of these pairs.
        scores: what to calibrate.
    """
    from scipy.optimize import isotonic_regression

    domain, places = np.unique(training_scores, return_inverse=True)
    counts = np.bincount(places)
    means = np.bincount(places, weights=training_gold) / counts
    curve = isotonic_regression(means, weights=counts).x
    return np.asarray(np.interp(scores, domain, curve), dtype=np.float64)
