"""How alike texts are by an encoder that is named, beside Transformers itself."""

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from kpdemo.errors import ModelLoadError
from kpdemo.predictors import DEFAULT_FOLDER, load_predictor
from kpdemo.ramkg.retriever import TextSimilarities
from tests.tiny import tiny_bert

PAIRS = [
    ("graph kernels", "graph kernels"),
    ("graph kernels compare", "neural networks"),
    ("", "several words of documents"),
    ("neural networks", "graph kernels compare"),
]


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    tiny_bert(tmp_path / "encoder")
    return tmp_path / "encoder"


def test_it_is_the_cosine_of_the_mean_over_the_tokens(folder):
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def vector(text):
        with torch.inference_mode():
            return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0)

    cosines = [float(torch.cosine_similarity(vector(one), vector(other), dim=0)) for one, other in PAIRS]
    assert TextSimilarities(str(folder))(PAIRS) == pytest.approx([max(0, one) for one in cosines], abs=1e-5)
    assert TextSimilarities(str(folder))([]) == []


def test_a_model_of_ours_is_what_the_system_embedding_is():
    assert TextSimilarities(str(DEFAULT_FOLDER))(PAIRS) == load_predictor("english").similarities(PAIRS)


def test_an_encoder_that_is_nowhere_is_told_when_it_is_asked(tmp_path):
    similarities = TextSimilarities(str(tmp_path / "none"))
    with pytest.raises(ModelLoadError, match=r"^There is no folder '.*none': check the name\.$"):
        similarities(PAIRS)
