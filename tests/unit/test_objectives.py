"""What SimCKP's ablation trains in place of the extractor: other losses, negatives and heads."""

import math

import pytest
import torch

from kpdemo.candidates.chunks import CandidateConfig, candidate_key, random_candidates
from kpdemo.candidates.mining import mine_candidates
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import ConfigError
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import load_checkpoint, save_checkpoint
from kpdemo.simckp.encoder import load_backbone, load_tokenizer
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.losses import binary_loss, in_batch_loss
from kpdemo.training.data import Source
from kpdemo.training.examples import ExampleSettings, label_document
from kpdemo.training.fine_tuning import ExtractorTraining
from kpdemo.training.generator import GeneratorTraining, One2SeqTraining
from kpdemo.training.labeller import LabellerTraining
from kpdemo.training.loop import LoopConfig
from kpdemo.types import Document
from tests.tiny import tiny_bert

DOCUMENT = Document(
    "We compare graph kernels with neural networks. Graph kernels of molecules need no training at all.",
    title="Learning on molecules",
    keyphrases=("graph kernels", "molecule"),
)


def test_the_binary_loss_by_hand():
    scores, positive = torch.tensor([0.2, -0.1]), torch.tensor([True, False])
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))) / 2
    assert binary_loss(scores, positive, temperature=0.1).item() == pytest.approx(expected, rel=1e-5)


def test_in_batch_negatives_are_the_other_documents():
    documents = torch.tensor([[1.0, 0.0], [0.0, 2.0]])  # lengths do not count
    phrases = torch.tensor([[3.0, 0.0], [5.0, 5.0], [0.6, 0.8]])
    positive = torch.tensor([True, False, True])
    loss = in_batch_loss(documents, phrases, positive, torch.tensor([0, 0, 1]), temperature=0.5)
    first = -math.log(math.exp(2) / (math.exp(2) + 1))
    second = -math.log(math.exp(1.6) / (math.exp(1.6) + math.exp(1.2)))
    assert loss.item() == pytest.approx((first + second) / 2, rel=1e-5)


def test_random_candidates_stand_in_the_text_and_leave_out_the_gold():
    config = CandidateConfig(longest=3)
    gold = {candidate_key(phrase) for phrase in DOCUMENT.keyphrases}
    drawn = random_candidates(DOCUMENT, 12, config, without=gold, seed=1)
    assert len(drawn) == 12
    assert not gold & {candidate.key for candidate in drawn}
    for candidate in drawn:
        assert 1 <= len(candidate.key.split()) <= 3
        assert {candidate_key(DOCUMENT.text[slice(*span)]) for span in candidate.spans} == {candidate.key}
    assert drawn == random_candidates(DOCUMENT, 12, config, without=gold, seed=1)
    assert drawn != random_candidates(DOCUMENT, 12, config, without=gold, seed=2)
    mined = {candidate.key for candidate in mine_candidates(DOCUMENT, load_tagger(), config)}
    assert {candidate.key for candidate in drawn} - mined  # "with neural", say, is no phrase


def test_a_text_of_one_word_has_one_random_candidate_at_most():
    drawn = random_candidates(Document("Kernels."), 5, CandidateConfig(), without=(), seed=1)
    assert [candidate.key for candidate in drawn] in ([], ["kernel"])


def test_random_negatives_leave_the_gold_and_its_number_of_rivals(tmp_path):
    name = str(tiny_bert(tmp_path))
    tokenizer = load_tokenizer(name).backend_tokenizer
    hard, random = (
        label_document(DOCUMENT, ExampleSettings(name, 64, 16, CandidateConfig(), choice), tokenizer)
        for choice in (False, True)
    )
    assert random.positive.sum() == hard.positive.sum() == 2
    assert len(random.positive) == len(hard.positive)


def test_a_stored_classifier_scores_as_before_and_shows_no_space(tmp_path):
    torch.manual_seed(0)
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path / "backbone")))
    config = ExtractorConfig(window=32, overlap=12, prior=False, head="classifier")
    module = ContrastiveExtractor(encoder, config).eval()
    selection = Selection(0.0, Calibration(3.0, 0.0))
    save_checkpoint(tmp_path / "model", module, tokenizer, selection, name="binary", card="# binary\n")
    predictor = load_checkpoint(tmp_path / "model", device="cpu")
    assert predictor.module.config == config
    torch.testing.assert_close(
        predictor.module.classifier.weight, module.classifier.weight, atol=1e-3, rtol=1e-3
    )
    assert predictor.predict([DOCUMENT])[0].present
    assert predictor.vectors(DOCUMENT) == []


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        (ExtractorTraining, {"objective": "binary", "negatives": "in-batch"}, "in-batch"),
        (ExtractorTraining, {"model": ExtractorConfig(head="classifier"), "negatives": "in-batch"}, "head"),
        (GeneratorTraining, {"objective": "binary"}, "generator"),
        (LabellerTraining, {"negatives": "random"}, "labeller"),
        (One2SeqTraining, {"negatives": "random"}, "one2seq"),
        (One2SeqTraining, {"freeze_encoder": True}, "leave those settings out of"),
    ],
)
def test_settings_that_make_no_sense_together_are_refused(kind, options, named):
    source = Source("docs.jsonl")
    with pytest.raises(ConfigError, match=named):
        kind(train=(source,), validation=source, loop=LoopConfig(8), **options)
