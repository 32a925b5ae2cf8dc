"""Ranking of present candidates together: features, network, keyphraseness, training, the folder."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.identity import write_sums
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import save_checkpoint
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.keyphraseness import Keyphraseness
from kpdemo.simckp.pair_checkpoint import save_bank, state_hash, stored_state
from kpdemo.simckp.pipeline import RANKING, load_system
from kpdemo.simckp.ranking import (
    RankingConfig,
    list_features,
    nesting,
)
from kpdemo.training import run
from kpdemo.training.assembly import ModelAssembly, assemble
from kpdemo.training.keyphraseness import count_keyphraseness
from kpdemo.types import Document
from tests.tiny import tiny_bank, tiny_bert

SELECTION = Selection(2.0, Calibration(1.0, 0.0))

CONFIG = """
[ranking]
name = "tiny"
data = "{root}"
cache = "{root}/cache"
output = "{root}/run"
extractor = "{root}/model"
bank = "{root}/model/bank"
device = "cpu"
pool = 60
model = {{ candidates = 30 }}
train = [{{ path = "train.jsonl" }}]
phrases = [{{ path = "lists.jsonl" }}]
validation = {{ path = "train.jsonl", limit = 10 }}
"""


def test_a_candidate_holds_another_by_whole_stems():
    holds = nesting(["vertex set", "feedback vertex set", "set", "vert"])
    assert holds.tolist() == [
        [False, False, True, False],
        [True, False, True, False],
        [False, False, False, False],
        [False, False, False, False],
    ]
    assert nesting([]).shape == (0, 0)


def test_a_candidate_is_compared_with_the_best_those_around_it_and_those_within_it():
    within = nesting(["set", "vertex set", "graph"])
    occurrences, scores = np.float32([4, 1, 2]), np.float32([0.9, 0.5, 0.4])
    features = list_features(within, occurrences, scores, np.zeros((3, 6), np.float32), None, None)
    assert features.shape == (3, len(RankingConfig(similarity=False, keyphraseness=False).features))
    assert features[:, 6:].T.tolist() == [
        pytest.approx(column)
        for column in (
            [math.log(2), 0, 0],  # around it
            [0, math.log(2), 0],  # within it
            [0.25, 0, 0],
            [0, math.log(2), math.log(3)],
            [0.9, 0.5, 0.4],
            [0, -0.4, -0.5],
            [0.4, 0, 0],
            [0, -0.4, 0],
        )
    ]


def test_a_ranking_of_no_candidates_is_refused():
    with pytest.raises(ConfigError, match="At least 1 candidate must be ranked, not 0"):
        RankingConfig(candidates=0)


def test_a_phrase_is_counted_once_a_document_where_the_text_has_its_stems():
    documents = [
        Document("Graph kernels. The graph kernel of a molecule.", keyphrases=("graph kernel", "Molecules")),
        Document("Graph-kernels and graphs, kernels.", keyphrases=("graph kernels", "graphs")),
        Document("A molecule.", keyphrases=("molecule", "drug discovery")),
    ]
    table = count_keyphraseness(lambda: documents, fewest=2)
    keys = ["graph kernel", "molecul", "graph", "drug discoveri"]
    assert table.counts(keys).tolist() == [[2, 2], [2, 2], [0, 0], [0, 0]]
    with pytest.raises(ConfigError, match="used by 3 documents"):
        count_keyphraseness(lambda: documents, fewest=3)


def test_a_counted_document_is_left_out_of_its_own_counts():
    table = Keyphraseness.of({"rare": (4, 2), "common": (9, 5)})
    used = np.array([True, True, True])
    assert table.counts(["rare", "common", "none"], used).tolist() == [[0, 0], [8, 4], [0, 0]]
    assert table.counts(["rare", "common"], ~used[:2]).tolist() == [[3, 2], [8, 5]]
    assert table.counts([]).shape == (0, 2)


def test_a_table_is_read_as_it_was_stored_and_damage_is_told():
    table = Keyphraseness.of({f"phrase {number}": (number + 5, number + 2) for number in range(100)})
    stored = table.packed()
    again = Keyphraseness.unpacked(stored)
    assert (again.hashes == table.hashes).all()
    assert again.counts(["phrase 7", "phrase 100"]).tolist() == [[12, 9], [0, 0]]
    with pytest.raises(ValueError, match="differ"):
        Keyphraseness.unpacked(stored | {"uses": Keyphraseness.of({"one": (1, 1)}).packed()["uses"]})


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A model whose extractor knows nothing, documents whose keyphrase others use too, and their ranking."""
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("ranking")
    encoder, tokenizer = load_backbone(str(tiny_bert(root / "backbone")))
    for seed, name in enumerate(("model", "other")):
        torch.manual_seed(seed)
        extractor = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=8))
        save_checkpoint(root / name, extractor, tokenizer, SELECTION, name="tiny", card=f"# {name}\n")
    dual = DualEncoder(load_backbone(str(root / "backbone"))[0], DualEncoderConfig(width=8)).eval()
    reader = PairEncoder(dual, tokenizer.backend_tokenizer, tokenizer.pad_token_id, 32)
    bank = tiny_bank(reader, "drug discovery", name=state_hash(stored_state(dual, "fp16")))
    parts = dual, bank, tokenizer, SELECTION
    save_bank(root / "model" / "bank", *parts, name="tiny", length=32, card="# bank")
    known = ["graph kernels", "neural networks", "boundary equations"]
    rows = [
        {"text": f"We compare molecules by {known[n % 3]} in case {n}.", "keyphrases": [known[n % 3]]}
        for n in range(60)
    ]
    for name in ("train", "lists"):
        (root / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (root / "config.toml").write_text(CONFIG.format(root=root))
    run("ranking", root / "config.toml", output=None, overrides={})
    shutil.copytree(root / "run" / "checkpoint", root / "model" / RANKING)
    return root


def test_what_is_a_keyphrase_elsewhere_is_ranked_first(root):
    document = Document(
        "Molecules of all kinds have a structure, and graph kernels find it. Proteins, cells, tissues, "
        "organs, plants, animals, rivers, lakes, mountains, deserts, oceans, planets, stars, galaxies, "
        "clusters, atoms, ions, crystals, metals, liquids and gases differ."
    )
    system = load_system(root / "model", device="cpu")
    [prediction] = system.predict([document])
    assert prediction.present[0].text == "graph kernels"
    alone = replace(system, extractor=replace(system.extractor, ranker=None))
    [(candidates, scores)] = system.extractor.score([document])
    [(same, before)] = alone.extractor.score([document])
    assert same == candidates
    ranked, others = np.argsort(-before)[:30], np.argsort(-before)[30:]
    assert scores[ranked].min() > scores[others].max()  # those beyond the best thirty keep their order
    assert np.argsort(-scores[others]).tolist() == np.argsort(-before[others]).tolist()
    assert 0 < prediction.present[0].score <= 1
    assert [space.name for space in system.vectors(document)] == ["extractor", "bank"]


def test_a_document_without_candidates_has_no_keyphrases(root):
    system = load_system(root / "model", device="cpu")
    assert [one.present for one in system.predict([Document("of the"), Document("and with it")])] == [(), ()]


def test_a_second_run_finds_scores_and_counts_in_the_cache(root, monkeypatch):
    monkeypatch.setattr("kpdemo.training.ranking.label_lists", None)
    monkeypatch.setattr("kpdemo.training.keyphraseness.count_keyphraseness", None)
    run("ranking", root / "config.toml", output=root / "again", overrides={})
    weights = [root / name / "checkpoint" / "config.json" for name in ("run", "again")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_without_bank_and_phrases_these_features_are_left_out(root, tmp_path):
    configuration = (root / "config.toml").read_text().replace(f'bank = "{root}/model/bank"\n', "")
    (tmp_path / "config.toml").write_text(configuration)
    run(
        "ranking",
        tmp_path / "config.toml",
        output=tmp_path / "run",
        overrides={"phrases": "[]"},
    )
    model = tmp_path / "model"
    shutil.copytree(root / "model", model, ignore=shutil.ignore_patterns("bank", RANKING))
    shutil.copytree(tmp_path / "run" / "checkpoint", model / RANKING)
    ranker = load_system(model, device="cpu").ranker
    assert (ranker.encoder, ranker.keyphraseness, len(ranker.weights)) == (None, None, 14)


def test_a_model_is_put_together_with_its_ranking(root, tmp_path):
    (tmp_path / "link").symlink_to("model")  # to nothing yet
    config = ModelAssembly(("extractor", "ranking"), output=tmp_path / "link")
    parts = {
        "extractor": root / "model",
        "ranking": root / "run" / "checkpoint",
        "bank": root / "model" / "bank",
    }
    assemble(config, parts)
    assert load_system(tmp_path / "model", device="cpu").extractor.ranker is not None
    assert (
        "Order of the present keyphrases: ranking tiny" in (tmp_path / "model" / "MODEL_CARD.md").read_text()
    )
    (tmp_path / "model" / "README.md").write_text("edited")
    (tmp_path / "model" / "left.json").write_text("{}")
    assemble(config, parts)
    assert (tmp_path / "model" / "README.md").read_text() == "edited"
    assert not (tmp_path / "model" / "left.json").exists()
    with pytest.raises(ModelLoadError, match="trained for another extractor"):
        assemble(config, parts | {"extractor": root / "other"})
    with pytest.raises(ModelLoadError, match="there is none: put the bank next to it"):
        assemble(config, {name: folder for name, folder in parts.items() if name != "bank"})


def test_a_damaged_ranking_is_told(root, tmp_path):
    shutil.copytree(root / "model", tmp_path / "model")
    path = tmp_path / "model" / RANKING / "config.json"
    path.write_text(path.read_text().replace('"log rank"', '"rank"'))
    with pytest.raises(ModelLoadError, match="is damaged"):
        load_system(tmp_path / "model", device="cpu")
    write_sums(path.parent)
    with pytest.raises(ModelLoadError, match=r"The ranking .* cannot be read"):
        load_system(tmp_path / "model", device="cpu")


def test_documents_without_a_gold_candidate_teach_no_ranking(root):
    (root / "empty.jsonl").write_text(json.dumps({"text": "We compare molecules.", "keyphrases": ["none"]}))
    with pytest.raises(ConfigError, match="No training document has a gold keyphrase beside"):
        run(
            "ranking",
            root / "config.toml",
            output=root / "refused",
            overrides={"train": '[{ path = "empty.jsonl" }]'},
        )
