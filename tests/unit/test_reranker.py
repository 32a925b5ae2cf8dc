"""The reranker and its pair encoder: features, ranking, folders, and the training of bank and reranker."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.identity import write_sums
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.pair_checkpoint import (
    load_bank,
    load_reranker,
    save_bank,
    save_reranker,
    state_hash,
    stored_state,
)
from kpdemo.simckp.reranker import (
    FEATURES,
    AbsentCandidate,
    Reranker,
    RerankerConfig,
    RerankerModel,
    candidate_features,
)
from kpdemo.types import Document, Kind, Origin
from tests.tiny import tiny_bank, tiny_bart, tiny_bert

TEXT = "We compare molecules by their structure."
DOCUMENT = Document(TEXT, title="Graph kernels")
CANDIDATES = [
    AbsentCandidate("drug discovery", None, 0.4, ("molecules",)),
    AbsentCandidate("kernels of graphs", -2.0, None),
    AbsentCandidate("molecule mining", -3.0, 0.2),
]
SELECTION = Selection(0.9, Calibration(4.0, -1.0))


@pytest.fixture(scope="module", params=[tiny_bert, tiny_bart], ids=["bert", "bart"])
def backbone(request, tmp_path_factory) -> Path:
    torch.manual_seed(0)
    return request.param(tmp_path_factory.mktemp("backbone"))


def tiny_dual(backbone: Path, *, towers: int = 1, width: int = 8) -> tuple[DualEncoder, object]:
    torch.manual_seed(1)
    encoder, tokenizer = load_backbone(str(backbone))
    phrases = load_backbone(str(backbone))[0] if towers == 2 else None
    return DualEncoder(encoder, DualEncoderConfig(width=width), phrases=phrases).eval(), tokenizer


def tiny_reranker(backbone: Path, *, combine: bool = True, towers: int = 1, minimum: int = 1) -> Reranker:
    dual, tokenizer = tiny_dual(backbone, towers=towers)
    model = RerankerModel(dual, RerankerConfig(combine=combine, minimum=minimum)).eval()
    for weight in model.combination.parameters() if combine else ():
        torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(2))
    encoder = PairEncoder(dual, tokenizer.backend_tokenizer, tokenizer.pad_token_id, 32)
    return Reranker(encoder, model, SELECTION)


class TestRanking:
    def test_features_tell_sources_kind_frequency_and_length(self, backbone):
        bank = tiny_bank(tiny_reranker(backbone).encoder, "drug discovery", "molecule mining")
        kinds = [Kind.UNSEEN, Kind.REORDERED, Kind.MIXED]
        rows = candidate_features(CANDIDATES, kinds, bank)
        expected = [
            dict(zip(FEATURES, row, strict=True))
            for row in (
                (0.0, 0, 0.4, 1, 0.1, 0, 0, 1, 0.4),
                (-0.2, 1, 0.0, 0, 0.0, 1, 0, 0, 0.6),
                (-0.3, 1, 0.2, 1, 0.2, 0, 1, 0, 0.4),
            )
        ]
        assert [dict(zip(FEATURES, row, strict=True)) for row in rows] == [pytest.approx(e) for e in expected]

    def test_without_the_combination_the_score_is_the_cosine(self, backbone):
        reranker = tiny_reranker(backbone, combine=False)
        [vector] = reranker.encoder.documents([DOCUMENT])
        cosines = reranker.encoder.phrases([candidate.text for candidate in CANDIDATES]) @ vector
        [ranking] = reranker.rank([DOCUMENT], [CANDIDATES])
        best = np.argsort(-cosines)
        assert [k.text for k in ranking.keyphrases] == [CANDIDATES[number].text for number in best]
        expected = [SELECTION.calibration.probability(float(cosines[number])) for number in best]
        assert [k.score for k in ranking.keyphrases] == pytest.approx(expected, abs=1e-5)

    def test_an_untrained_combination_changes_nothing(self, backbone):
        plain, combined = tiny_reranker(backbone, combine=False), tiny_reranker(backbone)
        fresh = replace(combined, model=RerankerModel(combined.model.dual, RerankerConfig()))
        [before], [after] = plain.rank([DOCUMENT], [CANDIDATES]), fresh.rank([DOCUMENT], [CANDIDATES])
        assert before.keyphrases == after.keyphrases

    def test_a_keyphrase_tells_source_kind_and_evidence(self, backbone):
        [ranking] = tiny_reranker(backbone).rank([DOCUMENT], [CANDIDATES])
        told = {k.text: (k.source, k.kind, k.evidence, k.present) for k in ranking.keyphrases}
        assert told == {
            "drug discovery": (Origin.RETRIEVED, Kind.UNSEEN, ("molecules",), False),
            "kernels of graphs": (Origin.GENERATED, Kind.MIXED, (), False),
            "molecule mining": (Origin.BOTH, Kind.MIXED, (), False),
        }

    @pytest.mark.parametrize(("minimum", "own"), [(0, 0), (2, 2), (5, 3)])
    def test_the_own_rule_gives_the_minimum_as_far_as_there_are_candidates(self, backbone, minimum, own):
        reranker = tiny_reranker(backbone, combine=False, minimum=minimum)
        above_all = replace(reranker, selection=Selection(1.5, Calibration()))
        assert above_all.rank([DOCUMENT], [CANDIDATES])[0].own == own

    def test_documents_with_and_without_candidates_do_not_disturb_each_other(self, backbone):
        reranker = tiny_reranker(backbone)
        documents = [DOCUMENT, Document(TEXT * 3), Document("Proteins and words")]
        rankings = reranker.rank(documents, [CANDIDATES, [], CANDIDATES[:1]])
        assert [len(ranking.keyphrases) for ranking in rankings] == [3, 0, 1]
        assert rankings[1].own == 0
        [alone] = reranker.rank(documents[2:], [CANDIDATES[:1]])
        assert alone.keyphrases[0].score == pytest.approx(rankings[2].keyphrases[0].score, abs=1e-5)
        assert reranker.rank([], []) == []

    def test_a_negative_minimum_is_refused(self):
        with pytest.raises(ConfigError, match="0 or more, not -1"):
            RerankerConfig(minimum=-1)


class TestFolders:
    @pytest.mark.parametrize(("towers", "combine"), [(1, True), (2, False)])
    @pytest.mark.parametrize("storage", ["fp16", "int8"])
    def test_a_stored_reranker_ranks_the_same(self, backbone, tmp_path, towers, combine, storage):
        reranker = tiny_reranker(backbone, towers=towers, combine=combine)
        tokenizer = load_backbone(str(backbone))[1]
        save_reranker(
            tmp_path, reranker.model, tokenizer, SELECTION, name="tiny", length=32, card="#", storage=storage
        )
        opened = load_reranker(tmp_path, device="cpu")
        [before], [after] = reranker.rank([DOCUMENT], [CANDIDATES]), opened.rank([DOCUMENT], [CANDIDATES])
        scores = {k.text: k.score for k in after.keyphrases}
        assert scores == pytest.approx({k.text: k.score for k in before.keyphrases}, abs=0.02)
        assert (opened.encoder.length, opened.selection) == (32, SELECTION)

    def test_a_stored_reranker_tells_its_candidates(self, backbone, tmp_path):
        reranker, tokenizer = tiny_reranker(backbone), load_backbone(str(backbone))[1]
        told = {"search": SearchConfig(beams=2), "retrieved": 7}
        save_reranker(
            tmp_path, reranker.model, tokenizer, SELECTION, name="tiny", length=32, card="#", **told
        )
        opened = load_reranker(tmp_path, device="cpu")
        assert {"search": opened.search, "retrieved": opened.retrieved} == told
        config = json.loads((tmp_path / "config.json").read_text())
        kept = {name: value for name, value in config.items() if name != "retrieved"}
        (tmp_path / "config.json").write_text(json.dumps(kept))
        write_sums(tmp_path)
        with pytest.raises(ModelLoadError, match=r"cannot be read \('retrieved'\): restore the folder"):
            load_reranker(tmp_path, device="cpu")

    @pytest.mark.parametrize("storage", ["fp16", "int8"])
    def test_a_stored_bank_opens_with_the_encoder_it_was_built_with_alone(self, backbone, tmp_path, storage):
        dual, tokenizer = tiny_dual(backbone)
        encoder = PairEncoder(dual, tokenizer.backend_tokenizer, tokenizer.pad_token_id, 32)
        bank = tiny_bank(encoder, "drug discovery", name=state_hash(stored_state(dual, storage)))
        save = {"name": "tiny", "length": 32, "card": "#", "storage": storage}
        save_bank(tmp_path / "good", dual, bank, tokenizer, SELECTION, **save)
        opened = load_bank(tmp_path / "good", device="cpu")
        [[found]] = opened.bank.search(opened.encoder.documents([DOCUMENT]), 5)
        assert found.text == "drug discovery"
        assert opened.selection == SELECTION
        with torch.no_grad():
            dual.document_projection.bias += 1
        save_bank(tmp_path / "bad", dual, bank, tokenizer, SELECTION, **save)
        with pytest.raises(ModelLoadError, match="built with the pair encoder"):
            load_bank(tmp_path / "bad", device="cpu")

    def test_a_folder_of_another_kind_is_refused(self, backbone, tmp_path):
        reranker = tiny_reranker(backbone)
        tokenizer = load_backbone(str(backbone))[1]
        save_reranker(tmp_path, reranker.model, tokenizer, SELECTION, name="tiny", length=32, card="#")
        with pytest.raises(ModelLoadError, match=r"holds a simckp-reranker .* not a simckp-bank"):
            load_bank(tmp_path, device="cpu")
