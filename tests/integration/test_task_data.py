"""The longest common substring on SemEval-2014 Task 3's own training pairs, which are not kept here."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from annotation.errors import WordNetError
from annotation.files.scores import GoldPair, read_gold
from annotation.scoring import correlations_between
from annotation.sense_pairs import Dictionary
from annotation.senses import WORD_TO_SENSE
from annotation.systems import BASELINES, UnknownWords, baseline_scores

TRAINING, BASELINE = "clss.train.jsonl", "lcs_baseline.train.jsonl"
PEARSON_WITH_GOLD = {
    "paragraph2sentence": 0.499,
    "sentence2phrase": 0.500,
    "phrase2word": 0.189,
    WORD_TO_SENSE: 0.170,
}


@pytest.fixture(scope="module")
def data() -> Path:
    """The folder of the task's files. They cannot be had on CI, so that these tests are skipped there too."""
    folder = os.environ.get("KPDEMO_DATA", "")
    if not folder:
        pytest.skip(f"KPDEMO_DATA names no folder with the task's {TRAINING} and {BASELINE}.")
    for name in (TRAINING, BASELINE):
        assert (Path(folder) / name).is_file(), f"KPDEMO_DATA is {folder}, where there is no {name}."
    return Path(folder)


@pytest.fixture(scope="module")
def gold(data) -> list[GoldPair]:
    return read_gold([data / TRAINING])


@pytest.mark.parametrize("type", PEARSON_WITH_GOLD)
def test_the_substring_baseline_is_the_tasks_own(data, gold, type):
    pairs = [pair for pair in gold if pair.type == type]
    lines = map(json.loads, (data / BASELINE).read_text(encoding="utf-8").splitlines())
    published = {line["line"]: line["lcs"] for line in lines if line["type"] == type}
    assert len(pairs) == len(published) == 500
    senses = None
    if type == WORD_TO_SENSE:
        named = os.environ.get("KPDEMO_WORDNET")
        try:
            senses = Dictionary(Path(named) if named else None).open()
        except WordNetError as error:
            pytest.skip(str(error))
    zero = UnknownWords.ZERO  # as in the task's scores of these pairs, though not of its test pairs
    scores = baseline_scores(pairs, BASELINES["lcs"], senses=senses, unknown_words=zero)
    ours = np.array(scores, dtype=np.float64)
    theirs = np.array([published[place] for place in range(500)])
    grades = np.array([pair.gold for pair in pairs])
    [_, between, with_gold] = correlations_between(np.array([ours, theirs, grades]))[0]
    assert between >= 0.99
    assert with_gold == pytest.approx(PEARSON_WITH_GOLD[type], abs=0.01)
