"""How many keyphrases a document gets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.errors import TrainingError
from kpdemo.simckp.calibration import Calibration, ExpectedF1, learn_expected_f1
from kpdemo.simckp.checkpoint import load_checkpoint, save_checkpoint
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.training.validation import ValidationSet
from kpdemo.types import Document
from tests.tiny import tiny_bert

PROBABILITIES = st.lists(st.floats(1e-6, 1), max_size=30)
SURE = Calibration(slope=20.0, intercept=-10.0)  # scores 0 and 1 are as good as certain


@given(PROBABILITIES, st.floats(0.25, 8))
def test_no_other_number_is_expected_to_do_better(probabilities, gold):
    expected = [
        2 * sum(sorted(probabilities, reverse=True)[:kept]) / (kept + gold)
        for kept in range(len(probabilities) + 1)
    ]
    chosen = ExpectedF1(gold).count(probabilities)
    assert expected[chosen] == pytest.approx(max(expected), rel=1e-9)


def test_the_next_candidate_is_kept_above_half_of_the_f1_so_far():
    # 2 gold: F1 of the first is 2 × .8 / 3 = .533, of two 2 × 1.07 / 4 = .535; half of that is .2675
    assert ExpectedF1(2.0).count([0.8, 0.266]) == 1
    assert ExpectedF1(2.0).count([0.8, 0.27]) == 2
    assert ExpectedF1(2.0).count([0.8, 0.27, 0.267]) == 2
    assert ExpectedF1(2.0).count([0.27, 0.268, 0.8]) == 3


def test_a_document_where_few_stand_out_gets_few():
    rule = ExpectedF1(2.0)
    assert rule.count([0.9, 0.9] + [0.2] * 20) == 2
    assert rule.count([0.25] + [0.2] * 5) == 6
    assert rule.count([]) == 0


def test_a_selection_counts_by_its_own_rule_and_at_least_the_minimum():
    similarities = [0.9, 0.9, 0.6, 0.1, 0.1, 0.1]
    by_threshold = Selection(0.5, SURE)
    by_f1 = Selection(0.5, SURE, ExpectedF1(1.0))
    assert by_threshold.count(similarities, 1) == 3
    assert by_f1.count(similarities, 1) == 3  # their probabilities are 1, 1, .88 and nothing
    assert by_f1.count([0.9, 0.4, 0.4], 1) == 1
    assert by_f1.count(similarities, 5) == 5


def test_the_number_of_gold_keyphrases_is_learnt():
    scores = np.array([0.55, 0.5, 0.5, 0.5], dtype=np.float32)
    probabilities = [SURE.probability(score) for score in scores.tolist()]  # .73 and .5
    one = learn_expected_f1([(scores, np.array([True, False, False, False]))], SURE, minimum=1)
    four = learn_expected_f1([(scores, np.array([True, True, True, True]))], SURE, minimum=1)
    assert one.count(probabilities) == 1
    assert four.count(probabilities) == 4


def test_documents_without_gold_teach_nothing():
    silent = (np.array([0.9], dtype=np.float32), np.array([False]))
    with pytest.raises(TrainingError, match="No validation document"):
        learn_expected_f1([silent], SURE, minimum=1)


def test_validation_learns_the_rule_that_the_configuration_names(tmp_path):
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path)))
    config = ExtractorConfig(window=32, overlap=12)
    module = ContrastiveExtractor(encoder, config)
    documents = [Document("Graph kernels compare molecules.", keyphrases=("graph kernels",))]
    fast, padding = tokenizer.backend_tokenizer, tokenizer.pad_token_id
    papers, _ = ValidationSet(documents, fast, config, "threshold", padding=padding).select(module)
    learnt, _ = ValidationSet(documents, fast, config, "expected F1", padding=padding).select(module)
    assert papers.counting is None
    assert learnt.counting is not None
    assert learnt.threshold == papers.threshold


@pytest.mark.parametrize("counting", [ExpectedF1(2.25), None])
def test_a_checkpoint_keeps_its_rule(tmp_path, counting):
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path / "backbone")))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12))
    selection = Selection(0.3, Calibration(4.0, -1.0), counting)
    save_checkpoint(tmp_path / "new", module, tokenizer, selection, name="tiny", card="")
    assert load_checkpoint(tmp_path / "new", device="cpu").selection == selection
