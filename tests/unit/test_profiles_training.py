"""The training part `profiles`: a finished bank gets word profiles, its encoder stays as it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.identity import CARD, TRAINING, stored_config
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.checkpoint import BASE, WEIGHTS, save_checkpoint
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection
from kpdemo.simckp.pair_checkpoint import load_bank, save_bank, state_hash, stored_state
from kpdemo.simckp.predictor import BANK, load_system
from kpdemo.training import run, terms
from kpdemo.types import Document
from tests.tiny import tiny_bank, tiny_bert

TOPICS = {
    "graph kernels compare molecules": "drug discovery",
    "neural networks learn documents": "machine learning",
    "boundary methods solve fields": "electromagnetism",
    "words and phrases": "language processing",
}
UNUSED = [f"unused {number}" for number in range(12)]
SELECTION = Selection(0.5, Calibration(1.0, 0.0))

CONFIG = """
[model]
parts = ["extractor", "bank", "profiles"]
output = "{folder}/model"
bank_words_as_differences = true

[extractor]
output = "{folder}/extractor"
train = []
validation = {{ path = "valid.jsonl" }}
loop = {{ documents = 8 }}

[bank]
output = "{folder}/bank"
terms = []
train = []
validation = {{ path = "valid.jsonl" }}
loop = {{ documents = 8 }}

[profiles]
name = "profiled"
data = "{folder}"
cache = "{folder}/cache"
output = "{folder}/profiles"
bank = "{folder}/bank/checkpoint"
device = "cpu"
words = 2
most = 4
least = 2
train = [{{ path = "train.jsonl" }}]
validation = {{ path = "valid.jsonl" }}
"""


def write_documents(path: Path, count: int) -> None:
    topics = list(TOPICS.items())
    rows = [
        {"id": str(n), "text": f"{topics[n % 4][0]} in case {n}", "keyphrases": [topics[n % 4][1]]}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """An extractor and a bank that know nothing, and the profiles that were trained on the bank."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("training")
    backbone = str(tiny_bert(folder / "backbone", width=64))
    encoder, tokenizer = load_backbone(backbone)
    extractor = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=8))
    told = {"name": "tiny", "storage": "int8"}
    save_checkpoint(folder / "extractor/checkpoint", extractor, tokenizer, SELECTION, card="# tiny\n", **told)
    dual = DualEncoder(load_backbone(backbone)[0], DualEncoderConfig(width=8)).eval()
    reader = PairEncoder(dual, tokenizer.backend_tokenizer, tokenizer.pad_token_id, 32)
    known = tiny_bank(reader, *TOPICS.values(), *UNUSED, name=state_hash(stored_state(dual, "int8")))
    frequency = np.repeat([0, 15], [len(TOPICS), len(UNUSED)]).astype(np.float32)
    bank = replace(known, log_frequency=frequency)  # the wrong terms come first by it
    own = folder / "bank" / "checkpoint"
    save_bank(own, dual, bank, tokenizer, SELECTION, length=32, card="# tiny bank\n", **told)
    write_documents(folder / "train.jsonl", 40)
    write_documents(folder / "valid.jsonl", 8)
    (folder / "config.toml").write_text(CONFIG.format(folder=folder), encoding="utf-8")
    run("profiles", folder / "config.toml", output=None, overrides={})
    return folder


def test_the_terms_get_the_words_of_their_documents_and_are_found_by_them(folder):
    retriever = load_bank(folder / "profiles" / "checkpoint", device="cpu")
    bank, profiles = retriever.bank, retriever.bank.profiles
    told = profiles.lengths.tolist()  # without grammar, and without what all documents have
    assert told == [4, 4, 4, 2, *[0] * 12]
    assert bank.score.profiles > 0
    documents = [Document(f"{text} in case 99") for text in TOPICS]
    vectors, texts = retriever.encoder.documents(documents), list(map(bank.terms.read, documents))
    for found, gold in zip(bank.search(vectors, 5, texts), TOPICS.values(), strict=True):
        assert gold in [term.text for term in found]


def test_the_encoder_stays_bit_for_bit(folder):
    before, after = folder / "bank" / "checkpoint", folder / "profiles" / "checkpoint"
    for name in (WEIGHTS, "tokenizer.json", "tokenizer_config.json"):
        assert (before / name).read_bytes() == (after / name).read_bytes()
    known = stored_config(before)
    changed = {name for name, value in stored_config(after).items() if value != known.get(name)}
    assert changed == {"name", "selection", TRAINING}


def test_the_card_tells_the_profiles_and_then_the_bank(folder):
    card = (folder / "profiles" / "checkpoint" / CARD).read_text(encoding="utf-8")
    assert card.startswith("# profiled: a bank of 16 terms for absent keyphrases, with word profiles\n")
    assert "| documents with a keyphrase of the bank | 40 |\n| terms with a profile | 4 |" in card
    assert card.endswith("\n## tiny bank\n")


def test_a_ranker_puts_the_best_terms_in_order_and_there_is_a_floor(folder, tmp_path):
    ranker = "{ train = [{ path = 'train.jsonl', skip = 8 }], ranked = 8, epochs = 2 }"
    run("profiles", folder / "config.toml", output=tmp_path, overrides={"ranker": ranker})
    retriever = load_bank(tmp_path / "checkpoint", device="cpu")
    assert retriever.bank.ranker.ranked == 8
    assert 0 < retriever.floor <= 1
    assert load_bank(folder / "profiles" / "checkpoint", device="cpu").floor == 0
    card = (tmp_path / "checkpoint" / CARD).read_text(encoding="utf-8")
    assert f"| floor | {retriever.floor:.3f} |" in card
    assert "\n| with the network | " in card


def test_a_run_that_was_stopped_does_not_read_the_documents_again(folder, tmp_path, monkeypatch):
    def read_again(*args, **named):
        raise AssertionError

    monkeypatch.setattr(terms, "in_groups", read_again)
    run("profiles", folder / "config.toml", output=tmp_path, overrides={})
    for path in (folder / "profiles" / "checkpoint").iterdir():
        assert (tmp_path / "checkpoint" / path.name).read_bytes() == path.read_bytes()


def test_a_model_has_the_bank_with_the_profiles(folder, tmp_path):
    run("model", folder / "config.toml", output=None, overrides={})
    model = load_system(folder / "model", device="cpu")
    assert model.proposer.retriever.bank.profiles is not None
    documents = [Document(f"{text} in case {number}") for number in range(2) for text in TOPICS]
    together = model.predict(documents)
    singly = [model.predict([document])[0] for document in documents]
    assert [row.absent_candidates for row in together] == [row.absent_candidates for row in singly]
    for row, gold in zip(together, [*TOPICS.values()] * 2, strict=True):
        assert gold in row.absent_candidates[:5]
    # The bank of a model may be given its profiles anew: its encoder is then written whole.
    changes = {"bank": str(folder / "model" / BANK)}
    run("profiles", folder / "config.toml", output=tmp_path, overrides=changes)
    known, anew = (load_bank(path) for path in (folder / "model" / BANK, tmp_path / "checkpoint"))
    assert BASE not in stored_config(tmp_path / "checkpoint")
    assert anew.bank.encoder == known.bank.encoder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": "[{path = 'none.jsonl'}]"}, "No training data at"),
        ({"train": "[{path = 'train.jsonl', repeat = 3}]"}, "Word profiles count each document once, not 3"),
        ({"train": "[{path = 'train.jsonl', where = {id = 'x'}}]"}, "No training document has a keyphrase"),
        ({"least": "99"}, "No word occurs in 99 documents: give more of them, or a smaller `least`"),
        ({"shared": "99"}, "No term has a word in its profile: .* a smaller `shared` than 99"),
        ({"bank": "nowhere"}, "No model at nowhere"),
        (
            {"ranker": "{ train = [{ path = 'train.jsonl', skip = 99 }] }"},
            "The ranker has no document with a keyphrase: give more, or a smaller `skip`",
        ),
    ],
)
def test_what_cannot_be_trained_is_said(folder, tmp_path, change, message):
    with pytest.raises((ConfigError, ModelLoadError), match=message):
        run("profiles", folder / "config.toml", output=tmp_path, overrides=change)
