"""Extractor, phrase bank and reranker in one model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kpdemo.errors import InputError, ModelLoadError
from kpdemo.predictors import load_predictor
from kpdemo.selection import TRUSTED
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import save_checkpoint
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.pair_checkpoint import (
    BANK_FILE,
    load_bank,
    save_bank,
    save_changed_bank,
    save_reranker,
    state_hash,
    stored_state,
)
from kpdemo.simckp.predictor import SystemPredictor, load_system
from kpdemo.simckp.reranker import Reranker, RerankerConfig, RerankerModel
from kpdemo.types import Document, Kind, Origin, PointKind
from tests.tiny import tiny_bank, tiny_bert

LENGTH = 32
TERMS = ("graph kernels", "drug discovery", "kernels of graphs", "molecule mining", "support vector machines")
DOCUMENT = Document("Graph kernels compare molecules and proteins by their structure.", title="Kernels")
SELECTION = Selection(2.0, Calibration(1.0, 0.0))  # nothing is above the threshold


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model with a bank of five terms, one of which stands in the document."""
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("system")
    encoder, tokenizer = load_backbone(str(tiny_bert(root / "backbone")))
    model = root / "model"
    extractor = ContrastiveExtractor(encoder, ExtractorConfig(window=LENGTH, overlap=8))
    save_checkpoint(model, extractor, tokenizer, SELECTION, name="tiny", card="# tiny")
    dual = DualEncoder(load_backbone(str(root / "backbone"))[0], DualEncoderConfig(width=8)).eval()
    reader = PairEncoder(dual, tokenizer.backend_tokenizer, tokenizer.pad_token_id, LENGTH)
    bank = tiny_bank(reader, *TERMS, name=state_hash(stored_state(dual, "fp16")))
    kept = {"name": "tiny", "length": LENGTH, "card": "# tiny"}
    save_bank(model / "bank", dual, bank, tokenizer, SELECTION, **kept)
    reranker = RerankerModel(dual, RerankerConfig(minimum=2))
    save_reranker(root / "reranker", reranker, tokenizer, SELECTION, **kept)
    save_reranker(root / "sharing", reranker, tokenizer, SELECTION, **kept, shared=bank.encoder)
    save_reranker(root / "other", reranker, tokenizer, SELECTION, **kept, shared="0123456789abcdef")
    return model


@pytest.fixture
def with_reranker(folder, tmp_path) -> Path:
    return assemble(tmp_path / "model", folder, "reranker")


def assemble(copied: Path, folder: Path, reranker: str) -> Path:
    """The model with the reranker of this name."""
    copied.mkdir()
    for path in folder.iterdir():
        (copied / path.name).symlink_to(path)
    (copied / "reranker").symlink_to(folder.parent / reranker)
    return copied


def test_absent_keyphrases_come_from_the_bank_with_source_and_kind(folder):
    [prediction] = load_predictor(folder).predict([DOCUMENT], unsure=True)
    kinds = {keyphrase.text: keyphrase.kind for keyphrase in prediction.absent}
    assert kinds == {
        "drug discovery": Kind.UNSEEN,
        "kernels of graphs": Kind.PRESENT,  # "Graph kernels" of the text
        "molecule mining": Kind.MIXED,
        "support vector machines": Kind.UNSEEN,
    }
    assert {keyphrase.source for keyphrase in prediction.absent} == {Origin.RETRIEVED}
    assert prediction.absent_candidates == tuple(keyphrase.text for keyphrase in prediction.absent)
    assert all(keyphrase.evidence == ("Graph kernels",) for keyphrase in prediction.absent)
    assert all(keyphrase.filler for keyphrase in prediction.absent)  # see SELECTION


@pytest.mark.parametrize("given", [0, 2, 4])
def test_no_absent_keyphrase_below_the_floor_is_given_unless_a_number_is_asked_for(folder, given):
    system = load_system(folder, device="cpu")
    [all_of_them] = system.predict([DOCUMENT], top_k=5)
    scores = [keyphrase.score for keyphrase in all_of_them.absent]
    retriever = replace(system.proposer.retriever, floor=scores[given - 1] if given else 1.0)
    strict = replace(system, proposer=replace(system.proposer, retriever=retriever))
    [prediction] = strict.predict([DOCUMENT])
    assert [keyphrase.score for keyphrase in prediction.absent] == scores[:given]
    assert prediction.absent_candidates == all_of_them.absent_candidates
    assert strict.predict([DOCUMENT], top_k=5) == [all_of_them]


def test_the_floor_is_stored_with_the_bank(folder, tmp_path):
    known = load_bank(folder / "bank", device="cpu")
    assert known.floor == 0
    told = {"name": "strict", "card": "# strict", "floor": 0.25}
    save_changed_bank(tmp_path, folder / "bank", known.bank, known.selection, **told)
    assert load_bank(tmp_path, device="cpu").floor == 0.25


def test_what_stands_in_the_text_is_present_and_never_absent(folder):
    [prediction] = load_predictor(folder).predict([DOCUMENT], top_k=50)
    assert "graph kernels" not in prediction.absent_candidates
    assert "graph kernels" in {keyphrase.text.lower() for keyphrase in prediction.present}


@pytest.mark.parametrize("language", ["de", "es", "it", "pt", "nl", "pl"])
def test_a_text_in_a_language_that_the_bank_is_not_in_has_no_absent_keyphrases(folder, language):
    foreign = replace(DOCUMENT, language=language)
    together = load_predictor(folder).predict([foreign, DOCUMENT, foreign], top_k=3, unsure=True)
    assert [len(one.absent) for one in together] == [0, 3, 0]
    assert together[0].absent_candidates == ()
    assert together[0].present


def test_the_options_hold_for_absent_keyphrases_too(folder):
    predictor = load_predictor(folder)
    [all_of_them] = predictor.predict([DOCUMENT], threshold=0.0)
    [two] = predictor.predict([DOCUMENT], top_k=2, unsure=True)
    [trusted] = predictor.predict([DOCUMENT], top_k=4)
    assert all(one.score >= TRUSTED and one.kind != Kind.UNSEEN for one in trusted.absent)
    assert two.absent == all_of_them.absent[:2]
    assert [k.score for k in all_of_them.absent] == sorted(
        (k.score for k in all_of_them.absent), reverse=True
    )
    [none] = predictor.predict([DOCUMENT], threshold=1.0)
    assert none.absent == ()
    assert len(none.absent_candidates) == 4


def test_documents_together_give_what_they_give_alone(folder):
    predictor = load_predictor(folder)
    other = Document("Neural networks learn representations of words.")
    together = predictor.predict([DOCUMENT, other])
    alone = [predictor.predict([document])[0] for document in (DOCUMENT, other)]
    for one, two in zip(together, alone, strict=True):
        assert one.absent_candidates == two.absent_candidates
        assert [k.score for k in one.absent] == pytest.approx([k.score for k in two.absent], abs=1e-4)


def test_a_short_text_is_extracted_and_proposed_for_at_once_with_the_same_answer(folder, monkeypatch):
    threads = torch.get_num_threads()
    model = load_system(folder, device="cpu")
    at_once = []

    def compute(first, second):
        at_once.append(1)
        return first(), second()

    try:
        torch.set_num_threads(2)
        [expected] = model.predict([DOCUMENT])
        monkeypatch.setattr("kpdemo.simckp.predictor.compute_both", compute)
        assert model.predict([DOCUMENT]) == [expected]
        assert at_once == [1]
        model.predict([Document(" ".join([DOCUMENT.body] * 8))])  # several windows
        assert at_once == [1]
    finally:
        torch.set_num_threads(threads)


def test_a_reranker_orders_by_its_own_score_and_has_its_own_minimum(with_reranker):
    system = load_system(with_reranker, device="cpu")
    assert isinstance(system, SystemPredictor)
    [prediction] = system.predict([DOCUMENT])
    assert len(prediction.absent) == 2
    vectors = system.reranker.encoder
    [anchor] = vectors.documents([DOCUMENT])
    cosines = vectors.phrases(prediction.absent_candidates) @ anchor
    assert list(cosines) == sorted(cosines, reverse=True)


def test_a_reranker_that_shares_the_encoder_of_the_bank_ranks_as_one_of_its_own(
    with_reranker, folder, tmp_path
):
    sharing = assemble(tmp_path / "sharing", folder, "sharing")
    weights = [path.stat().st_size for path in sharing.glob("*/model.safetensors")]
    assert max(weights) > 10 * min(weights)
    [expected], [found] = (
        load_system(one, device="cpu").predict([DOCUMENT]) for one in (with_reranker, sharing)
    )
    assert found.absent_candidates == expected.absent_candidates
    assert [k.score for k in found.absent] == pytest.approx([k.score for k in expected.absent], abs=1e-5)


def test_a_reranker_of_another_bank_is_refused(folder, tmp_path):
    with pytest.raises(ModelLoadError, match=r"trained with the pair encoder 0123456789ab, the bank has"):
        load_system(assemble(tmp_path / "other", folder, "other"), device="cpu")


@pytest.mark.parametrize("name", ["bank", "reranker"])
def test_absent_phrases_have_their_place_in_the_space_where_they_are_compared(folder, with_reranker, name):
    system = load_system(with_reranker if name == "reranker" else folder, device="cpu")
    [prediction] = system.predict([DOCUMENT], top_k=2)
    extractor, pairs = system.vectors(DOCUMENT, top_k=2)
    assert (extractor.name, pairs.name) == ("extractor", name)
    shown = {kind: [point.text for point in pairs.points if point.kind is kind] for kind in PointKind}
    assert shown[PointKind.PRESENT] == [keyphrase.text for keyphrase in prediction.present]
    assert shown[PointKind.ABSENT] == [keyphrase.text for keyphrase in prediction.absent]
    assert set(shown[PointKind.CANDIDATE]) == set(prediction.absent_candidates[2:])
    if name == "reranker":  # whose score is the cosine, with nothing learnt beside it
        cosines = pairs.vectors[1:] @ pairs.vectors[0]
        absent = [row for row, point in enumerate(pairs.points[1:]) if point.kind is PointKind.ABSENT]
        assert list(cosines[absent]) == sorted(cosines[absent], reverse=True)


def test_candidates_are_proposed_and_ranked_once_for_a_space(with_reranker, monkeypatch):
    asked = []

    def counted(self, *given, **named):
        asked.append(given)
        return rank(self, *given, **named)

    rank = Reranker.rank
    monkeypatch.setattr(Reranker, "rank", counted)
    load_system(with_reranker, device="cpu").vectors(DOCUMENT)
    assert len(asked) == 1


def test_a_model_says_whether_it_finds_absent_ones(folder, tmp_path):
    assert load_predictor(folder).finds_absent
    alone = tmp_path / "alone"
    alone.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (alone / path.name).symlink_to(path)
    assert not load_predictor(alone).finds_absent


def test_a_damaged_bank_is_said_and_so_is_bad_input(folder, with_reranker, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (broken / path.name).symlink_to(path)
    (broken / "bank").mkdir()
    for path in (folder / "bank").iterdir():
        if path.name != BANK_FILE:
            (broken / "bank" / path.name).symlink_to(path)
    with pytest.raises(ModelLoadError, match="bank"):
        load_predictor(broken).predict([DOCUMENT])
    with pytest.raises(InputError):
        load_predictor(folder).predict([""])


def test_texts_are_compared_by_the_encoder_of_the_bank(folder):
    pairs = [("graph kernels", "drug discovery"), ("graph kernels", "graph kernels")]
    system = load_system(folder, device="cpu")
    assert load_predictor(folder, device="cpu").similarities(pairs) == system.similarities(pairs)
    assert system.similarities(pairs) == system.proposer.retriever.encoder.similarities(pairs)
