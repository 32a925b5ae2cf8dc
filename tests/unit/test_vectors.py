"""The vectors a predictor shows are those it compares."""

import numpy as np
import pytest
import torch

from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import InputError
from kpdemo.pipeline import Pipeline
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection, SimckpPredictor
from kpdemo.types import Document, Mapped, PointKind
from kpdemo.vectors import unit_rows
from tests.fakes import FakePredictor
from tests.tiny import tiny_bert

DOCUMENT = Document(
    "Graph kernels compare molecules. The graph kernel of proteins and boundary integral equations.",
    title="Kernels of graphs",
)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory) -> SimckpPredictor:
    torch.manual_seed(0)
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path_factory.mktemp("backbone"))))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12, prior=False)).eval()
    selection = Selection(0.3, Calibration(4.0, -1.0))
    tagger = load_tagger()
    return SimckpPredictor(
        "tiny", module, tokenizer.backend_tokenizer, tokenizer.pad_token_id, tagger, selection
    )


@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"threshold": 0.5}])
def test_the_points_are_the_document_the_chosen_and_the_other_candidates(predictor, options):
    [space] = predictor.vectors(DOCUMENT, **options)
    [prediction] = predictor.predict([DOCUMENT], **options)
    assert (space.name, len(space.vectors)) == ("extractor", len(space.points))
    first, *phrases = space.points
    assert (first.text, first.kind, first.score) == ("Kernels of graphs", PointKind.DOCUMENT, None)
    chosen = {point.text: point.score for point in phrases if point.kind is PointKind.PRESENT}
    assert chosen == {item.text: pytest.approx(item.score) for item in prediction.present}
    assert {point.kind for point in phrases} <= {PointKind.PRESENT, PointKind.CANDIDATE}
    assert len(phrases) > len(chosen)


def test_the_cosine_of_the_vectors_is_the_score(predictor):
    [space] = predictor.vectors(DOCUMENT)
    document, *phrases = unit_rows(space.vectors)
    curve = predictor.selection.calibration
    for point, vector in zip(space.points[1:], phrases, strict=True):
        assert curve.probability(float(vector @ document)) == pytest.approx(point.score, abs=1e-5)


def test_a_long_document_has_one_vector_a_phrase(predictor):
    [space] = predictor.vectors(Document(" ".join([DOCUMENT.body] * 8)))
    texts = [point.text for point in space.points[1:]]
    assert len(texts) == len(set(texts)) > 5
    assert np.isfinite(space.vectors).all()


def test_without_a_candidate_the_document_stands_alone(predictor):
    [space] = predictor.vectors(Document("of the and"))
    assert [point.kind for point in space.points] == [PointKind.DOCUMENT]
    assert space.vectors.shape == (1, 16)


def test_an_empty_document_is_refused(predictor):
    with pytest.raises(InputError, match="text is empty"):
        predictor.vectors(Document(" "))


def test_a_predictor_that_is_opened_later_shows_the_vectors_of_what_it_opens(predictor):
    lazy = Pipeline("tiny", lambda: predictor)
    assert isinstance(lazy, Mapped)
    assert len(lazy.vectors(DOCUMENT, top_k=1)) == 1
    assert Pipeline("plain", FakePredictor).vectors(DOCUMENT) == []


def test_without_nested_keyphrases_the_space_tells_what_is_then_chosen(predictor):
    own = Pipeline("unnested", lambda: predictor, nested=False)
    [nested], [space] = predictor.vectors(DOCUMENT, top_k=5), own.vectors(DOCUMENT, top_k=5)
    [prediction] = own.predict([DOCUMENT], top_k=5)
    chosen = [point.text for point in space.points if point.kind is PointKind.PRESENT]
    assert sorted(chosen) == sorted(one.text for one in prediction.present)
    assert {point.text for point in nested.points if point.kind is PointKind.PRESENT} != set(chosen)
    assert Pipeline("unnested", lambda: FakePredictor(), nested=False).vectors(DOCUMENT) == []
