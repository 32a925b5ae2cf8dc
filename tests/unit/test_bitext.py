"""Mining by ratio margin: by hand, against the definition, and one to one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpdemo.errors import InputError
from kpdemo.ramkg import bitext
from kpdemo.ramkg.bitext import MinedPair, mine_pairs, one_to_one, ratio_margin

# The cosine of source i and target j is coordinate i of target j.
SOURCE = np.eye(3, dtype=np.float32)
TARGET = np.array([[0.8, 0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]], dtype=np.float32)


def test_margins_by_hand():
    """With two neighbours the means are .7, .7, .4 for the sources and .7 for each target."""
    pairs = mine_pairs(SOURCE, TARGET, threshold=1.0, neighbours=2)
    assert [(pair.source, pair.target) for pair in pairs] == [(2, 2), (0, 0), (1, 1)]
    assert [pair.margin for pair in pairs] == pytest.approx([0.8 / 0.55, 0.8 / 0.7, 0.8 / 0.7], rel=1e-6)


def test_the_threshold_is_inclusive():
    margin = mine_pairs(SOURCE, TARGET, neighbours=2)[0].margin
    assert len(mine_pairs(SOURCE, TARGET, threshold=margin, neighbours=2)) == 1
    assert mine_pairs(SOURCE, TARGET, threshold=np.nextafter(margin, 2), neighbours=2) == []


def test_lengths_do_not_count():
    lengths = np.array([[0.1], [7.0], [300.0]], dtype=np.float32)
    wanted = mine_pairs(SOURCE, TARGET, neighbours=2)
    found = mine_pairs(SOURCE * lengths, TARGET * lengths[::-1], neighbours=2)
    assert [(pair.source, pair.target) for pair in found] == [(pair.source, pair.target) for pair in wanted]


def test_unlike_passages_have_no_margin():
    opposite = np.array([[-1.0, 0.0, 0.0]], dtype=np.float32)
    assert mine_pairs(SOURCE[:1], opposite, threshold=-100.0) == []
    mean = np.array([-0.5], dtype=np.float32)
    assert ratio_margin(np.array([-0.9], dtype=np.float32), mean, mean) == [-np.inf]


def by_definition(source, target, neighbours):
    """The candidates' margins, pair by pair as Artetxe and Schwenk (2019) define them."""
    cosine = source.astype(float) @ target.T.astype(float)

    def mean(row):
        return np.sort(row)[::-1][:neighbours].mean()

    def margin(x, y):
        return cosine[x, y] / (mean(cosine[x]) / 2 + mean(cosine[:, y]) / 2)

    def nearest(row):
        return np.argsort(-row)[:neighbours]

    candidates = set()
    for x in range(len(source)):
        candidates.add((x, max(nearest(cosine[x]), key=lambda y: margin(x, y))))
    for y in range(len(target)):
        candidates.add((max(nearest(cosine[:, y]), key=lambda x: margin(x, y)), y))
    return {(int(x), int(y)): margin(x, y) for x, y in candidates}


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_mining_follows_the_definition(sources, targets, neighbours, seed):
    random = np.random.default_rng(seed)
    source, target = (1 + random.uniform(size=(n, 6)).astype(np.float32) for n in (sources, targets))
    source, target = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (source, target))
    margins = by_definition(source, target, neighbours)
    wanted = one_to_one(MinedPair(x, y, margin) for (x, y), margin in margins.items())
    found = mine_pairs(source, target, threshold=0.0, neighbours=neighbours)
    assert sum(pair.margin for pair in found) == pytest.approx(sum(pair.margin for pair in wanted), rel=1e-4)
    for pair in found:
        assert pair.margin == pytest.approx(margins[pair.source, pair.target], rel=1e-4)


PAIRS = st.builds(MinedPair, st.integers(0, 8), st.integers(0, 8), st.sampled_from([1.0, 1.1, 1.2, 1.3]))


@given(st.lists(PAIRS, unique_by=lambda pair: (pair.source, pair.target)))
def test_greedy_choice_is_one_to_one_and_leaves_out_only_what_a_better_pair_took(pairs):
    chosen = one_to_one(pairs)
    assert len({pair.source for pair in chosen}) == len({pair.target for pair in chosen}) == len(chosen)
    assert [pair.margin for pair in chosen] == sorted((pair.margin for pair in chosen), reverse=True)
    for pair in set(pairs) - set(chosen):
        assert any(
            better.margin >= pair.margin and (better.source == pair.source or better.target == pair.target)
            for better in chosen
        )


def test_inverted_lists_find_the_pairs_of_a_large_set(monkeypatch):
    random = np.random.default_rng(0)
    source = random.normal(size=(1500, 16)).astype(np.float32)
    order = random.permutation(1500)
    target = (source + 0.1 * random.normal(size=source.shape).astype(np.float32))[order]
    monkeypatch.setattr(bitext, "LARGEST_EXACT", 100)
    found = {(pair.source, pair.target) for pair in mine_pairs(source, target)}
    assert len(found & {(int(x), y) for y, x in enumerate(order)}) >= 1450


def test_inverted_lists_raise_no_margins(monkeypatch):
    source, target = np.random.default_rng(0).normal(size=(2, 3000, 16)).astype(np.float32)
    exact = mine_pairs(source, target, threshold=1.06)
    monkeypatch.setattr(bitext, "LARGEST_EXACT", 100)
    found = mine_pairs(source, target, threshold=1.06)  # nothing says the same: the hardest case
    assert len(found) == pytest.approx(len(exact), rel=0.05)
    assert found[0].margin == pytest.approx(exact[0].margin, rel=0.02)


@pytest.mark.parametrize(("sources", "targets"), [(0, 3), (3, 0), (0, 0)])
def test_an_empty_side_has_no_pairs(sources, targets):
    assert mine_pairs(SOURCE[:sources], TARGET[:targets]) == []


def test_options_out_of_range_are_explained():
    with pytest.raises(InputError, match="number of neighbours is 0"):
        mine_pairs(SOURCE, TARGET, neighbours=0)
    with pytest.raises(InputError, match="threshold is not a number"):
        mine_pairs(SOURCE, TARGET, threshold=float("nan"))
