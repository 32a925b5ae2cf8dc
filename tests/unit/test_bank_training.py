"""The training of phrase bank and reranker: terms, pairs, candidates, and both commands on tiny documents."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from kpdemo.cli import main
from kpdemo.config import load_section
from kpdemo.errors import ConfigError, ModelLoadError, TrainingError
from kpdemo.identity import TRAINING, stored_config, write_sums
from kpdemo.simckp.batches import encode_rows
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.dual_encoder import DualEncoderConfig
from kpdemo.simckp.encoder import add_separator, load_backbone, load_encoder_decoder
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.generator import SimckpGenerator, save_generator
from kpdemo.simckp.pair_checkpoint import BANK_FILE, load_bank, load_reranker, write_bank
from kpdemo.simckp.phrase_bank import PhraseBank
from kpdemo.simckp.predictor import PART, Proposer, load_system
from kpdemo.simckp.reranker import AbsentCandidate
from kpdemo.simckp.terms import TermIndex, term_key
from kpdemo.training import phrase_bank, run
from kpdemo.training.data import Source, draw_documents
from kpdemo.training.loop import LoopConfig, epoch_batches
from kpdemo.training.pair_encoder import BankValidation, TermPositions
from kpdemo.training.reranker import (
    ProposedDocument,
    RerankerTraining,
    gold_absent,
    proposed_documents,
    reranker_identity,
)
from kpdemo.training.terms import PairCache, TermPair, bare, collect_terms, commonest, make_pair
from kpdemo.types import Document, Origin
from tests.tiny import tiny_bart, tiny_bert, tiny_generator

PAPER = Path(__file__).parents[2] / "configs" / "simckp_bart_base.toml"

TEXT = "We compare molecules by their structure."
DOCUMENT = Document(TEXT, title="Graph kernels")
CANDIDATES = [
    AbsentCandidate("drug discovery", None, 0.4, ("molecules",)),
    AbsentCandidate("kernels of graphs", -2.0, None),
    AbsentCandidate("molecule mining", -3.0, 0.2),
]

CONFIG = """
[model]
parts = ["extractor", "bank", "reranker"]
output = "{folder}/model"
card = "{folder}/card.md"

[extractor]
name = "tiny"
data = "{folder}"
cache = "{folder}/cache"
output = "{folder}/extractor"
backbone = "{folder}/backbone"
device = "cpu"
model = {{ window = 64, overlap = 16 }}
train = [{{ path = "present.jsonl" }}]
validation = {{ path = "present.jsonl" }}
loop = {{ documents = 16, batch_size = 8 }}

[bank]
data = "{folder}"
cache = "{folder}/cache"
output = "{folder}/bank"
backbone = "{folder}/backbone"
device = "cpu"
minimum = 2
length = 32
freeze_embeddings = false
model = {{ width = 16 }}
rates = {{ encoder = 3e-3, heads = 1e-2, terms = 2e-2 }}
terms = [{{ path = "train.jsonl" }}, {{ path = "lists.jsonl" }}]
train = [{{ path = "train.jsonl" }}]
validation = {{ path = "valid.jsonl" }}
objective = {{ tower_weight = 2.0 }}
loop = {{ documents = 640, batch_size = 8, evaluate_every = 320, log_every = 5 }}
refinement = {{ train = [{{ path = "train.jsonl" }}], rate = 1e-2, loop = {{ documents = 80 }} }}

[reranker]
data = "{folder}"
cache = "{folder}/cache"
output = "{folder}/reranker"
bank = "{folder}/bank/checkpoint"
backbone = "{folder}/backbone"
device = "cpu"
share_encoder = true
freeze_encoder = true
retrieved = 4
head_learning_rate = 3e-2
model = {{ minimum = 1 }}
train = [{{ path = "train.jsonl" }}]
validation = {{ path = "valid.jsonl" }}
loop = {{ documents = 240, batch_size = 8, evaluate_every = 120, log_every = 5 }}
"""

TOPICS = {
    "graph kernels compare molecules": "drug discovery",
    "neural networks learn documents": "machine learning",
    "boundary methods solve fields": "electromagnetism",
    "words and phrases": "language processing",
}


def write_documents(path: Path, count: int) -> None:
    """Documents whose absent keyphrase follows from what they say."""
    topics = list(TOPICS.items())
    rows = [
        {"id": str(n), "text": f"{topics[n % 4][0]} in case {n}", "keyphrases": [topics[n % 4][1]]}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A whole model, trained by one command."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("training")
    tiny_bert(folder / "backbone")
    write_documents(folder / "train.jsonl", 40)
    write_documents(folder / "valid.jsonl", 8)
    lists = [["Graph theory"], ["graph theory", "once"], ["7"], ["7"]]
    (folder / "lists.jsonl").write_text("".join(json.dumps({"keyphrases": row}) + "\n" for row in lists))
    present = [
        {"text": f"{text} of kind {number}", "keyphrases": [text]} for number, text in enumerate(TOPICS)
    ]
    (folder / "present.jsonl").write_text("".join(json.dumps(row) + "\n" for row in present))
    (folder / "card.md").write_text("# Of four topics\n\nNot for use.\n")
    (folder / "config.toml").write_text(CONFIG.format(folder=folder), encoding="utf-8")
    run("all", folder / "config.toml", output=None, overrides={"device": "cpu"})
    return folder


@pytest.fixture(scope="module")
def style(folder) -> Path:
    """The model in another style, of which the last layer was trained; its run."""
    run_folder = folder / "style-run"
    extractor = CONFIG[CONFIG.index("[extractor]") : CONFIG.index("[bank]")].format(folder=folder)
    model = f'[model]\nparts = ["extractor"]\noutput = "{folder}/style"\nbase = "{folder}/model"\n'
    changed = f'output = "{run_folder}"\nstart = "{folder}/model"\ntop_layers = 1\nlearning_rate = 1e-2\n'
    changed += 'style = "topics of tests"\n'
    extractor = extractor.replace(f'output = "{folder}/extractor"\n', changed)
    (folder / "style.toml").write_text(model + extractor, encoding="utf-8")
    run("all", folder / "style.toml", output=None, overrides={})
    return run_folder


@pytest.mark.parametrize(
    ("part", "setting"), [("bank", "terms"), ("bank", "train"), ("extractor", "train"), ("reranker", "train")]
)
def test_a_training_file_that_is_not_there_is_said_in_a_sentence(folder, tmp_path, capsys, part, setting):
    call = ["train", part, "--config", str(folder / "config.toml"), "--output", str(tmp_path / "out")]
    settings = [f'{setting}=[{{ path = "none.jsonl" }}]', f"cache={tmp_path}", "device=cpu"]
    assert main([*call, *(word for one in settings for word in ("--set", one))]) == 2
    assert f"No training data at {folder / 'none.jsonl'}: put" in capsys.readouterr().err


def test_another_backbone_in_the_same_folder_is_encoded_anew(folder, tmp_path):
    for name in ("first", "second"):
        torch.manual_seed(len(name))
        tiny_bert(tmp_path / "backbone")
        settings = {"backbone": tmp_path / "backbone", "cache": tmp_path, "loop.documents": 8}
        overrides = {key: str(value) for key, value in settings.items()}
        run("bank", folder / "config.toml", output=tmp_path / name, overrides=overrides)
    assert len(list(tmp_path.glob("phrases-*.npy"))) == 2


class TestProposing:
    def test_a_search_that_was_stopped_goes_on_where_it_was(self, tmp_path):
        documents = [Document(TEXT, id=str(number)) for number in range(4)]
        asked = []

        class Stub(Proposer):
            def propose(self, waiting):
                for document in waiting:
                    asked.append(document.id)
                    if len(asked) == 3:
                        raise KeyboardInterrupt
                    yield CANDIDATES[: int(document.id)]

        with pytest.raises(KeyboardInterrupt):
            proposed_documents(documents, Stub(None, None), tmp_path, identity="a")
        [path] = tmp_path.iterdir()
        path.write_bytes(path.read_bytes() + b'[["half a li')
        found = proposed_documents(documents, Stub(None, None), tmp_path, identity="a")
        assert asked == ["0", "1", "2", "2", "3"]
        assert [item.candidates for item in found] == [CANDIDATES[:number] for number in range(4)]

    def test_two_trainings_do_not_search_for_the_same_at_once(self, tmp_path):
        def proposed(proposer: Proposer) -> list[ProposedDocument]:
            return proposed_documents([DOCUMENT, DOCUMENT], proposer, tmp_path, identity="a")

        class Meanwhile(Proposer):
            def propose(self, waiting):
                with pytest.raises(
                    TrainingError, match=r"Another training run is writing .*: start when it has"
                ):
                    proposed(Proposer(None, None))
                yield from [CANDIDATES, []]

        assert [item.candidates for item in proposed(Meanwhile(None, None))] == [CANDIDATES, []]
        [path] = tmp_path.iterdir()
        path.write_bytes(path.read_bytes() * 2)  # as two at once left it where there are no locks
        with pytest.raises(TrainingError, match=r"4 lines for 2 documents\): delete it"):
            proposed(Proposer(None, None))

    def test_gold_is_known_in_any_spelling(self):
        document = replace(DOCUMENT, keyphrases=("Drug-Discovery (DD)", "molecule mining"))
        assert gold_absent(document, CANDIDATES).tolist() == [True, False, True]
        assert gold_absent(document, []).tolist() == []

    def test_without_bank_and_generator_nothing_is_proposed(self):
        assert list(Proposer(None, None).propose([DOCUMENT])) == [[]]


def test_the_terms_of_a_batch_are_marked_for_each_document():
    def pair(gold: list[int], present: list[int]) -> TermPair:
        return TermPair(*(np.array(row, dtype=np.int32) for row in ([101], gold, present)))

    batch = [pair([0, 3], [3]), pair([1], []), pair([2], [0, 1])]
    labels = TermPositions.of(batch, 4, present_weight=0.5).labels
    assert labels.gold.tolist() == [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert labels.present.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0]]
    assert labels.negative.tolist() == [[0, 1, 1, 0], [1, 0, 1, 1], [0, 0, 0, 1]]


def test_the_weights_of_the_score_are_the_better_of_two_climbs_by_the_product_of_the_figures(monkeypatch):
    def figures(self, bank: PhraseBank, vectors: torch.Tensor) -> dict[str, float]:
        score = bank.score
        if (score.words, score.likeness) == (0.06, 0.1):  # no single weight leads here from none of both
            return {"R@50": 0.4, "F1@5": 0.1 if score.frequency == 0.06 else 0.05}
        return {"R@50": 0.6 - score.words - score.likeness, "F1@5": 0.04}

    monkeypatch.setattr(BankValidation, "score_figures", figures)
    bank = PhraseBank.build(["term"], np.zeros(1), torch.ones(1, 1), encoder="e")
    score, found = BankValidation.__new__(BankValidation).choose_score(bank, torch.ones(1, 1))
    assert (score.words, score.likeness, score.frequency) == (0.06, 0.1, 0.06)
    assert found == {"R@50": 0.4, "F1@5": 0.1}


class TestTerms:
    @pytest.mark.parametrize(
        ("spellings", "expected"),
        [
            ({"Machine learning": 5, "machine learning": 3, "ML": 1}, "machine learning"),
            ({"Machine learning": 9, "machine learning": 1}, "Machine learning"),
            ({"SVM": 3, "svm": 2}, "SVM"),
            ({"b": 2, "a": 2}, "a"),
        ],
    )  # fmt: skip
    def test_a_term_is_spelt_as_most_do_in_lower_case_where_that_is_usual(self, spellings, expected):
        assert commonest(Counter(spellings)) == expected

    @pytest.mark.parametrize(
        ("keyphrase", "expected"), [("internet of  things (IoT)", "internet of things"), ("(IoT)", "(IoT)")]
    )
    def test_an_abbreviation_in_brackets_is_not_part_of_a_term(self, keyphrase, expected):
        assert bare(keyphrase) == expected

    def test_a_source_of_terms_is_read_as_it_says(self, tmp_path):
        rows = [{"titre": f"Title {n}", "mots": ["word", f"word {n % 2}"]} for n in range(8)]
        rows.insert(1, {"titre": "No keyphrases", "mots": []})  # which `every` and `limit` do not count
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        source = Source(Path("rows.jsonl"), fields={"title": "titre", "keyphrases": "mots"})
        found = collect_terms([source], tmp_path, minimum=1)
        assert {term.text: term.documents for term in found.terms} == {"word": 8, "word 0": 4, "word 1": 4}
        found = collect_terms([replace(source, every=2, limit=3)], tmp_path, minimum=1)
        assert {term.text: term.documents for term in found.terms} == {"word": 3, "word 0": 3}
        assert found.documents == 3

    def test_what_is_no_term_is_left_out_and_spellings_of_one_are_counted_together(self, tmp_path):
        lists = [
            ["multi-agent", "Index Terms—"],
            ["multiagent", "graphs", "methods: numerical"],
            ["multi-agent"],
        ]
        rows = [{"title": f"Title {number}", "keyphrases": own} for number, own in enumerate(lists)]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        found = collect_terms([Source(Path("rows.jsonl"))], tmp_path, minimum=1, together=1)
        assert {term.text: term.documents for term in found.terms} == {"graphs": 1, "multi-agent": 3}
        assert found.pairs == [(0, 1, 1)]

    def test_the_cache_gives_back_what_was_put_in(self, folder, tmp_path):
        tokenizer = load_backbone(str(folder / "backbone"))[1].backend_tokenizer
        index = TermIndex([term_key(text) for text in ("graph kernel", "drug discovery", "proteins")])
        documents = [
            replace(DOCUMENT, keyphrases=("graph kernels", "Drug-discovery", "new")),
            replace(DOCUMENT, keyphrases=("new",)),
            Document("Proteins", keyphrases=("protein",)),
        ]
        pairs = [make_pair(document, index, tokenizer, length=9) for document in documents]
        assert [(pair.gold.tolist(), pair.present.tolist()) for pair in pairs] == [
            ([0, 1], [0]), ([], [0]), ([2], [2])
        ]  # fmt: skip
        groups = [[(pairs[0], 1)], [(pairs[1], 1)], [(pairs[2], 3)]]
        PairCache.join(map(PairCache.build, groups)).save(tmp_path / "cache.npz")
        opened = PairCache.load(tmp_path / "cache.npz")
        assert opened.repeats.tolist() == [1, 3]
        for found, pair in zip((opened[0], opened[1]), (pairs[0], pairs[2]), strict=True):
            for name in ("tokens", "gold", "present"):
                assert getattr(found, name).tolist() == getattr(pair, name).tolist()


class TestPaper:
    """The published setting of the second stage: BART generates, two BERT towers rank, nothing is added."""

    @pytest.fixture
    def generator(self, tmp_path) -> SimckpGenerator:
        torch.manual_seed(0)
        tiny_bart(tmp_path / "bart")
        tiny_bert(tmp_path / "bert")
        generator = tiny_generator(tmp_path / "bart")
        selection = Selection(0.5, Calibration())
        tokenizer = load_encoder_decoder(str(tmp_path / "bart"))[1]
        add_separator(generator.module.decoder.model, tokenizer, "<sep>")
        save_generator(tmp_path / "generator", generator.module, tokenizer, selection, name="tiny", card="#")
        return generator

    def test_its_configuration_trains_a_reranker_of_generated_candidates(self, generator, tmp_path):
        search = SearchConfig(beams=10, longest=8)
        texts = [f"graph kernels compare {word}" for word in ("molecules", "proteins", "structure")]
        documents = [Document(text, id=text) for text in texts]
        proposed = list(Proposer(None, generator, search).propose(documents))
        gold = [[candidates[0].text] if candidates else ["none"] for candidates in proposed]
        assert any(len(candidates) > 1 for candidates in proposed)
        rows = [
            {"id": d.id, "text": d.body, "keyphrases": own} for d, own in zip(documents, gold, strict=True)
        ]
        (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        changes = {
            "data": str(tmp_path), "cache": str(tmp_path / "cache"), "device": "cpu", "attention": "eager",
            "generator": str(tmp_path / "generator"), "backbone": str(tmp_path / "bert"), "length": "32",
            "search.beams": "10", "search.longest": "8", "loop.documents": "16",
            "train": "[{path = 'all.jsonl'}]", "validation": "{path = 'all.jsonl'}",
        }  # fmt: skip
        run("reranker", PAPER, output=tmp_path / "run", overrides=changes)
        changes["train"] = "[{path = 'all.jsonl', where = {id = 'none'}}]"
        with pytest.raises(ConfigError, match="check the sources and `generator`"):
            run("reranker", PAPER, output=tmp_path / "none", overrides=changes)
        reranker = load_reranker(tmp_path / "run" / "checkpoint", device="cpu")
        assert reranker.model.combination is None
        assert reranker.model.dual.phrase_encoder is not None
        assert reranker.model.dual.config == DualEncoderConfig(width=0, pooling="first", temperature=0.1)
        assert reranker.selection.counting is None
        rankings = reranker.rank(documents, proposed)
        for candidates, ranking in zip(proposed, rankings, strict=True):
            assert {k.text for k in ranking.keyphrases} == {candidate.text for candidate in candidates}
            assert ranking.own >= min(5, len(candidates))
        shutil.copytree(tmp_path / "generator", tmp_path / "model")
        shutil.copytree(tmp_path / "run" / "checkpoint", tmp_path / "model" / "reranker")
        assert load_system(tmp_path / "model", device="cpu").proposer.search == search


def save_again(checkpoint: Path) -> None:
    """As `train all` does with a finished part, here with another name, style and number of threads."""
    config = json.loads((checkpoint / "config.json").read_text())
    config["name"] = "another"
    config["selection"]["calibration"]["slope"] += 1e-7
    (checkpoint / "config.json").write_text(json.dumps(config))
    (checkpoint / "MODEL_CARD.md").write_text("# Another card")
    write_sums(checkpoint)


class TestTraining:
    def test_the_bank_holds_what_several_documents_use_and_finds_it(self, folder):
        retriever = load_bank(folder / "bank" / "checkpoint", device="cpu")
        assert set(retriever.bank.texts) == {*TOPICS.values(), "graph theory"}
        documents = [Document(f"{text} in case 99") for text in TOPICS]
        found = retriever.bank.search(retriever.encoder.documents(documents), 1)
        assert [term.text for [term] in found] == list(TOPICS.values())
        card = (folder / "bank" / "checkpoint" / "MODEL_CARD.md").read_text(encoding="utf-8")
        assert "CPU threads, fp32" in card  # nobody said which precision
        assert "a bank of 5 terms" in card
        assert "640 in 80 steps of 8" in card

    def test_the_reranker_ranks_what_the_bank_proposes(self, folder):
        retriever = load_bank(folder / "bank" / "checkpoint", device="cpu")
        reranker = load_reranker(folder / "reranker" / "checkpoint", device="cpu", retriever=retriever)
        assert reranker.encoder is retriever.encoder  # at rest while it was trained: not stored twice
        documents = [Document(f"{text} in case 99") for text in TOPICS]
        candidates = list(Proposer(retriever, None, retrieved=4).propose(documents))
        rankings = reranker.rank(documents, candidates, bank=retriever.bank)
        assert [ranking.keyphrases[0].text for ranking in rankings] == list(TOPICS.values())
        assert all(ranking.keyphrases[0].source is Origin.RETRIEVED for ranking in rankings)
        assert "a phrase bank" in (folder / "reranker" / "checkpoint" / "MODEL_CARD.md").read_text()

    def test_the_parts_together_are_a_model_with_one_card(self, folder):
        model = load_system(folder / "model", device="cpu")
        [prediction] = model.predict([Document("graph kernels compare molecules in case 99")])
        assert prediction.absent[0].text == "drug discovery"
        assert prediction.present
        card = (folder / "model" / "MODEL_CARD.md").read_text(encoding="utf-8")
        opening, parts, extractor = card.split("\n## ")[:3]
        assert opening == "# Of four topics\n\nNot for use.\n"
        assert parts == (
            "Parts\n\n- Absent keyphrases: bank bank, see `bank/MODEL_CARD.md`\n"
            "- Their order: reranker reranker, see `reranker/MODEL_CARD.md`\n"
        )
        assert extractor.startswith("tiny: present keyphrases")
        assert all((folder / "model" / name / "MODEL_CARD.md").is_file() for name in ("bank", "reranker"))

    def test_the_model_proposes_as_many_candidates_as_the_reranker_learnt_to_rank(self, folder):
        model = load_system(folder / "model", device="cpu")
        assert model.proposer.retrieved == 4  # of 5 terms
        [prediction] = model.predict([Document("Proteins and words.")])
        assert len(prediction.absent_candidates) == 4

    @pytest.mark.slow
    def test_documents_that_are_read_ahead_get_the_same_keyphrases(self, folder):
        model = load_system(folder / "model", device="cpu")
        documents = [Document(f"{text} in case {number}") for number in range(35) for text in TOPICS]
        assert len(documents) > PART
        assert replace(model, processes=2).predict(documents) == model.predict(documents)

    def test_parts_that_do_not_fit_leave_the_old_model(self, folder, tmp_path):
        config = tmp_path / "config.toml"
        config.write_text(CONFIG.format(folder=folder).replace(f'{folder}/bank"', f'{tmp_path}/nowhere"'))
        with pytest.raises(
            ConfigError, match=r"No checkpoint at .*nowhere/checkpoint: train that part first"
        ):
            run("model", config, output=None, overrides={})
        with pytest.raises(ConfigError, match="needs an extractor or a generator"):
            run("model", folder / "config.toml", output=None, overrides={"parts": '["bank"]'})
        assert load_system(folder / "model", device="cpu").finds_absent

    def test_a_style_is_stored_as_what_it_changes_and_has_the_bank_of_its_base(self, style, folder):
        base, changed = folder / "model", folder / "style"
        assert "encoder.embeddings.word_embeddings.weight" in load_file(base / "model.safetensors")
        stored = load_file(changed / "model.safetensors")
        assert any(name.startswith("encoder.encoder.layer.0.") for name in stored)
        assert not any("embeddings" in name for name in stored)
        document = Document("graph kernels compare molecules in case 99")
        [whole] = load_system(style / "checkpoint", device="cpu").predict([document])
        [prediction] = load_system(changed, device="cpu").predict([document])
        card = (changed / "MODEL_CARD.md").read_text(encoding="utf-8")
        assert card.startswith(
            "# tiny: keyphrases of English texts\n\n## Parts\n\n- Absent keyphrases: bank bank, see"
        )
        [place, _] = re.findall(r"see `(.*)`", card)
        assert (changed / place).samefile(base / "bank" / "MODEL_CARD.md")
        assert prediction.present == whole.present
        assert prediction.absent[0].text == "drug discovery"

    def test_a_card_claims_no_style_or_kind_of_text_that_nobody_told(self, style, folder):
        cards = [
            (run / "checkpoint" / "MODEL_CARD.md").read_text(encoding="utf-8")
            for run in (style, folder / "extractor", folder / "bank")
        ]
        assert "given as keyphrases, in the style of: topics of tests.\n" in cards[0]
        assert "given as keyphrases.\n" in cards[1]
        assert all("scientific" not in card and "author" not in card.split("## Licence")[0] for card in cards)

    def test_a_style_of_another_version_of_its_base_is_refused(self, style, folder, tmp_path):
        shutil.copytree(folder / "style", tmp_path / "style")
        shutil.copytree(style / "checkpoint", tmp_path / "model")
        with pytest.raises(ModelLoadError, match=r"stores differences from another version of .*model"):
            load_system(tmp_path / "style", device="cpu")

    def test_a_base_elsewhere_is_refused(self, style, folder, tmp_path):
        with pytest.raises(ConfigError, match="must be next to the output"):
            run("model", folder / "style.toml", output=tmp_path / "style", overrides={})

    def test_more_layers_than_there_are_cannot_be_trained(self, style, folder, tmp_path):
        with pytest.raises(ConfigError, match="which 2 cannot be trained: give `top_layers` from 0 to 1"):
            run("extractor", folder / "style.toml", output=tmp_path, overrides={"top_layers": "2"})

    def test_a_run_goes_on_where_it_ended(self, folder):
        before = (folder / "bank" / "log.jsonl").read_text()
        run("bank", folder / "config.toml", output=None, overrides={"loop.documents": "656"})
        assert (folder / "bank" / "log.jsonl").read_text().startswith(before)

    def test_the_terms_of_a_run_learn_from_documents_in_the_precision_it_was_begun_with(
        self, folder, tmp_path, monkeypatch
    ):
        in_bf16 = []

        def encode(*args, **options):
            in_bf16.append(torch.is_autocast_enabled("cpu"))
            return encode_rows(*args, **options)

        changes = {"loop.documents": "8", "refinement.loop.documents": "8"}
        run("bank", folder / "config.toml", output=tmp_path, overrides={**changes, "loop.precision": "bf16"})
        monkeypatch.setattr(phrase_bank, "encode_rows", encode)
        changes["loop.documents"] = "16"
        run("bank", folder / "config.toml", output=tmp_path, overrides=changes)
        assert in_bf16 == [True]
        assert "CPU threads, bf16" in (tmp_path / "checkpoint" / "MODEL_CARD.md").read_text("utf-8")

    def test_a_bank_that_took_the_place_of_another_proposes_anew(self, folder, tmp_path):
        shutil.copytree(folder / "bank" / "checkpoint", tmp_path / "bank")
        changes = {"bank": str(tmp_path / "bank"), "cache": str(tmp_path / "cache"), "loop.documents": "8"}
        run("reranker", folder / "config.toml", output=tmp_path / "run", overrides=changes)
        known = set((tmp_path / "cache").glob("candidates-*"))
        save_again(tmp_path / "bank")
        run("reranker", folder / "config.toml", output=tmp_path / "run", overrides=changes)
        assert set((tmp_path / "cache").glob("candidates-*")) == known
        bank = load_bank(tmp_path / "bank", device="cpu").bank
        write_bank(replace(bank, score=replace(bank.score, words=0.5)), tmp_path / "bank" / BANK_FILE)
        write_sums(tmp_path / "bank")
        with pytest.raises(TrainingError, match="holds a run with other settings"):
            run("reranker", folder / "config.toml", output=tmp_path / "run", overrides=changes)
        assert set((tmp_path / "cache").glob("candidates-*")) > known

    @pytest.mark.parametrize("frozen", ["true", "false"])
    def test_a_shared_encoder_needs_no_backbone(self, folder, tmp_path, frozen):
        changes = {"freeze_encoder": frozen, "cache": str(tmp_path), "loop.documents": "8"}
        for name, backbone in (("same", str(folder / "backbone")), ("none", "nobody/nothing")):
            own = {"backbone": backbone, "towers": "1" if name == "same" else "2"}
            run("reranker", folder / "config.toml", output=tmp_path / name, overrides={**changes, **own})
        same, none = (tmp_path / name / "checkpoint" for name in ("same", "none"))
        for file in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            assert (same / file).read_bytes() == (none / file).read_bytes()
        assert stored_config(same) | {TRAINING: ""} == stored_config(none) | {TRAINING: ""}
        assert "| encoder | the bank's |" in (none / "MODEL_CARD.md").read_text(encoding="utf-8")

    def test_a_missing_encoder_is_told_before_candidates_are_proposed(self, folder, tmp_path):
        changes = {"share_encoder": "false", "backbone": "nobody/nothing", "cache": str(tmp_path / "cache")}
        with pytest.raises(ModelLoadError, match="no folder 'nobody/nothing'"):
            run("reranker", folder / "config.toml", output=tmp_path / "run", overrides=changes)
        assert not (tmp_path / "cache").exists()

    def test_what_a_bank_of_another_seed_has_learnt_from_is_skipped(self, folder, tmp_path, monkeypatch):
        def caught(documents, *given, **named):
            drawn.append([document.id for document in documents])
            raise KeyboardInterrupt

        drawn = []
        monkeypatch.setattr("kpdemo.training.reranker.proposed_documents", caught)
        settings = {"loop.seed": "7", "draw_seed": "42"}
        for own in ({"pool": "25"}, {"skip": "25"}):
            with pytest.raises(KeyboardInterrupt):
                run("reranker", folder / "config.toml", output=tmp_path, overrides={**settings, **own})
        learnt_from = draw_documents([Source(Path("train.jsonl"))], folder, 25, 42)  # by the bank
        assert drawn[0] == [document.id for document, _ in learnt_from]
        assert sorted(drawn[0] + drawn[1]) == sorted(map(str, range(40)))
        with pytest.raises(ConfigError, match=r"The 25 documents to `skip` are .*: set `draw_seed` to"):
            run("reranker", folder / "config.toml", output=tmp_path, overrides={"skip": "25"})

    def test_the_seed_of_its_documents_is_of_the_run_where_it_is_another_than_its_own(self, folder):
        config = load_section(folder / "config.toml", "reranker", RerankerTraining, {})
        before = reranker_identity(config)
        assert "draw_seed" not in before
        assert reranker_identity(replace(config, draw_seed=42)) == before
        assert reranker_identity(replace(config, draw_seed=7)) != before

    def test_the_reranker_reads_a_document_as_often_as_its_source_says(self, folder, tmp_path, monkeypatch):
        def caught(part, *given, **named):
            parts.append(part)
            raise KeyboardInterrupt

        parts = []
        monkeypatch.setattr("kpdemo.training.reranker.train", caught)
        sources = "[{ path = 'train.jsonl' }, { path = 'valid.jsonl', repeat = 3 }]"
        with pytest.raises(KeyboardInterrupt):
            run("reranker", folder / "config.toml", output=tmp_path, overrides={"train": sources})
        [part] = parts
        visits = Counter(
            number for batch in epoch_batches(part, LoopConfig(documents=1), 0) for number in batch
        )
        assert Counter(visits.values()) == {1: 40, 3: 8}

    @pytest.mark.parametrize(
        ("part", "change", "message"),
        [
            ("bank", {"minimum": "99"}, "No keyphrase is used by 99 documents"),
            (
                "bank",
                {"train": "[{path = 'lists.jsonl'}]"},
                "No training document has a keyphrase of the bank",
            ),
            ("bank", {"model.width": "17"}, "gives 16 numbers a vector: lower `model.width`, which is 17"),
            ("bank", {"model.width": "7", "vectors": "int4"}, "make `model.width`, which is 7, even"),
            ("reranker", {"bank": "nowhere"}, "No model at nowhere"),
            (
                "reranker",
                {"train": "[{path = 'train.jsonl', where = {id = 'none'}}]"},
                "No training document has a gold candidate beside wrong ones: check the sources and `bank`",
            ),
        ],
    )
    def test_what_cannot_be_trained_is_said(self, folder, tmp_path, part, change, message):
        with pytest.raises((ConfigError, ModelLoadError), match=message):
            run(part, folder / "config.toml", output=tmp_path, overrides=change)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "settings"),
    [
        ("bank", ()),
        # With the bank's encoder it has nothing to learn.
        ("reranker", ("share_encoder=false", "freeze_encoder=false", "dropout=0", "learning_rate=1e-3")),
    ],
)
def test_two_processes_train_what_one_does(folder, tmp_path, part, settings):
    losses, stored = [], []
    for processes in ("1", "2"):
        output = tmp_path / processes
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            processes,
        ]
        command += ["-m", "kpdemo", "train", part, "--config", str(folder / "config.toml")]
        command += ["--output", str(output)]
        for setting in (f"cache={tmp_path / f'cache{processes}'}", *settings):
            command += ["--set", setting]
        assert subprocess.run(command, check=False).returncode == 0
        rows = [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]
        losses.append([row["loss"] for row in rows if "loss" in row])
        stored.append((output / "checkpoint" / "MODEL_CARD.md").read_text(encoding="utf-8"))
    one, two = losses
    assert one[-1] < one[0] / 2
    assert two == pytest.approx(one, rel=0.05, abs=0.02)
    assert [" 2 × " in card for card in stored] == [False, True]
