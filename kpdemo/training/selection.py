"""How a model's scores become an answer, learnt on validation documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kpdemo.simckp.counting import Counting, learn_expected_f1
from kpdemo.simckp.predictor import Selection
from kpdemo.simckp.threshold import learn_calibration, learn_threshold


def learn_selection(
    scored: Sequence[tuple[NDArray[np.float32], NDArray[np.bool_]]], counting: Counting, minimum: int
) -> Selection:
    """Threshold as section 5.3 learns it, calibration, and the rule for how many keyphrases to give.

    Args:
        scored: (scores, positive) of the candidates of each document.
        minimum: keyphrases given at least.

    Raises:
        TrainingError: no document has a gold keyphrase among its candidates.
    """
    threshold = learn_threshold(scored)
    calibration = learn_calibration(
        np.concatenate([scores for scores, _ in scored]), np.concatenate([positive for _, positive in scored])
    )
    rule = learn_expected_f1(scored, calibration, minimum=minimum) if counting == "expected F1" else None
    return Selection(threshold, calibration, rule)
