"""The conditional random field, against all rows of tags counted one by one; the labeller on it."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

import kpdemo
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.examples import Example
from kpdemo.simckp.labeller import (
    BEGIN,
    INSIDE,
    OUTSIDE,
    ConditionalRandomField,
    LabellerConfig,
    SequenceLabeller,
    save_labeller,
)
from kpdemo.training.examples import LabelledExample
from kpdemo.training.labeller import bio_tags
from tests.tiny import tiny_bert

TAGS, LENGTHS = 3, (4, 1, 3)


@pytest.fixture
def field() -> ConditionalRandomField:
    torch.manual_seed(0)
    field = ConditionalRandomField(TAGS).double()
    for parameter in field.parameters():
        torch.nn.init.normal_(parameter)
    return field


@pytest.fixture
def emissions():
    torch.manual_seed(1)
    return torch.randn(len(LENGTHS), max(LENGTHS), TAGS, dtype=torch.float64)


MASK = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]


def row_score(field, emissions, row):
    """The definition: emissions and transitions of a row, one after the other."""
    score = field.start[row[0]] + field.end[row[-1]]
    score = score + sum(emissions[place, tag] for place, tag in enumerate(row))
    return score + sum(field.transitions[one, two] for one, two in pairwise(row))


def all_rows(length):
    return list(product(range(TAGS), repeat=length))


def test_the_likelihood_is_that_among_all_rows_of_tags(field, emissions):
    tags = torch.tensor([[0, 2, 1, 1], [2, 0, 0, 0], [1, 1, 0, 2]])
    found = field.log_likelihood(emissions, tags, MASK)
    for number, length in enumerate(LENGTHS):
        scores = torch.stack([row_score(field, emissions[number], row) for row in all_rows(length)])
        own = row_score(field, emissions[number], tags[number, :length].tolist())
        assert found[number].item() == pytest.approx((own - scores.logsumexp(0)).item())


def test_the_marginals_are_sums_over_all_rows_of_tags(field, emissions):
    found = field.log_marginals(emissions, MASK).exp()
    for number, length in enumerate(LENGTHS):
        rows = all_rows(length)
        share = torch.stack([row_score(field, emissions[number], row) for row in rows]).softmax(0)
        for place, tag in product(range(length), range(TAGS)):
            expected = sum(share[index].item() for index, row in enumerate(rows) if row[place] == tag)
            assert found[number, place, tag].item() == pytest.approx(expected)


def test_padding_changes_no_likelihood(field, emissions):
    tags = torch.zeros(3, 4, dtype=torch.long)
    together = field.log_likelihood(emissions, tags, MASK)
    alone = field.log_likelihood(emissions[2:, :3], tags[2:, :3], MASK[2:, :3])
    assert together[2].item() == pytest.approx(alone[0].item())


def test_tags_follow_the_gold_and_the_longer_of_two_that_overlap():
    window = np.arange(8)
    rows = [(0, 0, np.array([1, 2, 6])), (0, 1, np.array([2, 3, 4])), (0, 2, np.array([5]))]
    item = LabelledExample(Example([window], rows, np.zeros((3, 6))), np.array([True, True, False]))
    expected = [OUTSIDE, OUTSIDE, BEGIN, INSIDE, INSIDE, OUTSIDE, BEGIN, OUTSIDE]
    assert bio_tags(item).tolist() == expected  # 1-2 overlaps with 2-4; 6 is another place of it


def test_a_stored_labeller_marks_what_it_learnt(tmp_path):
    torch.manual_seed(0)
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path / "backbone")))
    module = SequenceLabeller(encoder, LabellerConfig(lstm=8, window=32, overlap=12))
    read = tokenizer(["graph kernels compare molecules", "neural networks learn"], padding=True)
    ids, mask = torch.tensor(read["input_ids"]), torch.tensor(read["attention_mask"])
    gold = {0: BEGIN, 1: INSIDE}  # the first two words
    tags = torch.tensor([[gold.get(word, OUTSIDE) for word in read.word_ids(row)] for row in range(2)])
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        loss = module.loss(ids, mask, tags)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.5
    save_labeller(tmp_path / "model", module.eval(), tokenizer, name="tiny", card="# tiny\n")
    predictor = kpdemo.load_predictor(tmp_path / "model", device="cpu")
    predictions = predictor.predict(["graph kernels compare molecules", "neural networks learn"])
    assert [[k.text for k in prediction.present] for prediction in predictions] == [
        ["graph kernels"],
        ["neural networks"],
    ]
    assert predictor.predict([]) == []
