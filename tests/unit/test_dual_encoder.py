"""The dual encoder: vectors, towers, the loss of section 4.3, and its folder."""

import math

import pytest
import torch

from kpdemo.errors import ConfigError
from kpdemo.simckp.batches import pad_rows
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, contrastive_loss_over
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.examples import document_tokens, phrase_tokens
from kpdemo.types import Document
from tests.tiny import tiny_bart, tiny_bert


@pytest.fixture(scope="module", params=[tiny_bert, tiny_bart], ids=["bert", "bart"])
def backbone(request, tmp_path_factory):
    torch.manual_seed(0)
    return str(request.param(tmp_path_factory.mktemp("backbone")))


def dual_encoder(backbone, *, towers=1, **settings) -> DualEncoder:
    torch.manual_seed(0)
    encoders = [load_backbone(backbone)[0] for _ in range(towers)]
    config = DualEncoderConfig(**{"width": 8, **settings})
    return DualEncoder(encoders[0], config, phrases=encoders[1] if towers == 2 else None).eval()


@pytest.mark.parametrize(("width", "expected"), [(8, 8), (0, 16)])
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_vectors_have_length_one_and_padding_leaves_no_trace(backbone, width, expected, pooling):
    dual = dual_encoder(backbone, width=width, pooling=pooling)
    rows = [[0, 5, 6, 2], [0, 7, 2]]
    for tower in (dual.documents, dual.phrases):
        together = tower(*pad_rows(rows, 1))
        alone = torch.cat([tower(*pad_rows([row], 1)) for row in rows])
        assert together.shape == (2, expected)
        torch.testing.assert_close(together.norm(dim=-1), torch.ones(2))
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


def test_mean_pooling_is_the_mean_of_the_states_and_first_the_start_token(backbone):
    ids, mask = pad_rows([[0, 5, 6, 2], [0, 7, 2]], 1)
    dual = dual_encoder(backbone)
    hidden = dual.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
    mean = torch.stack([hidden[0].mean(0), hidden[1, :3].mean(0)])
    torch.testing.assert_close(dual.pooled_phrases(ids, mask), mean)
    first = dual_encoder(backbone, pooling="first")
    torch.testing.assert_close(first.pooled_phrases(ids, mask), hidden[:, 0])


def test_two_towers_share_nothing_and_one_is_read_by_both(backbone):
    shared, apart = dual_encoder(backbone), dual_encoder(backbone, towers=2)
    for dual in (shared, apart):
        dual.phrases(*pad_rows([[0, 5, 2]], 1)).sum().backward()
    read = [name for name, weight in shared.encoder.named_parameters() if weight.grad is not None]
    assert read
    assert all(weight.grad is None for weight in apart.encoder.parameters())
    assert any(weight.grad is not None for weight in apart.phrase_encoder.parameters())


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"width": -1}, "0 or more, not -1"), ({"temperature": 0.0}, "above 0, not 0.0")],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        DualEncoderConfig(**settings)


class TestLoss:
    def test_each_positive_stands_against_all_negatives_by_its_weight(self):
        logits = torch.tensor([[5.0, 4.0, 1.0, 2.0], [3.0, 0.0, 9.0, 1.0]])
        positive = torch.tensor([[True, True, False, False], [True, False, False, False]])
        negative = torch.tensor([[False, False, True, True], [False, True, False, True]])  # 9 takes no part
        weight = torch.tensor([[1.0, 0.5, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])

        def term(own, *others):
            return -math.log(math.exp(own) / (math.exp(own) + sum(map(math.exp, others))))

        expected = (term(5, 1, 2) + 0.5 * term(4, 1, 2) + term(3, 0, 1)) / 2.5
        loss = contrastive_loss_over(logits, positive, negative, weight)
        assert loss.item() == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize(("positive", "negative"), [(False, True), (True, False)])
    def test_without_a_positive_or_a_negative_nothing_is_lost(self, positive, negative):
        logits = torch.tensor([[0.5, 0.2]], requires_grad=True)
        full = torch.full((1, 2), True)
        loss = contrastive_loss_over(logits, full & positive, full & negative, torch.ones(1, 2))
        loss.backward()
        assert loss.item() == 0
        assert torch.isfinite(logits.grad).all()


def test_corpora_with_and_without_hyphens_read_the_same(backbone):
    tokenizer = load_backbone(backbone)[1].backend_tokenizer
    assert phrase_tokens("low-frequency fields", tokenizer) == phrase_tokens(
        "low frequency fields", tokenizer
    )
    document = Document("molecules and proteins", title="graph kernels")
    assert len(document_tokens(document, tokenizer, 5)) == 5
    assert len(document_tokens(document, tokenizer, 128)) > 5
