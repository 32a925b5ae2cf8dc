"""The extractor-generator: targets, losses, training, resuming, checkpoints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from kpdemo.config import load_section
from kpdemo.errors import ConfigError, ModelLoadError, TrainingError
from kpdemo.identity import write_sums
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.decoder import IGNORED, TargetVocabulary, pad_targets, shift_right
from kpdemo.simckp.encoder import load_tokenizer
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.generator import load_generator, over_generate, save_generator
from kpdemo.simckp.losses import contrastive_loss, generation_loss
from kpdemo.training import run
from kpdemo.training.examples import absent_keyphrases
from kpdemo.training.generator import GeneratorPart, GeneratorTraining, train_generator
from kpdemo.types import Document
from tests.tiny import tiny_bart, tiny_bert, tiny_generator, tiny_t5

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "configs" / "simckp_bart_base.toml"
CPU = torch.device("cpu")


class TestTargets:
    own = TargetVocabulary(0, 0, 1, tokens=np.array([-1, -1, 10, 20, 30]))

    def test_phrases_become_one_sequence_and_come_back(self):
        phrases = [np.array([10, 20]), np.array([30])]
        encoded = self.own.encode(phrases, longest=9)
        assert encoded.tolist() == [2, 3, 1, 4, 0]
        written = encoded[:-1].tolist()
        back = [self.own.tokenizer_ids(written[first:end]) for first, end in self.own.split(written)]
        assert back == [[10, 20], [30]]

    def test_a_phrase_with_an_unknown_token_is_left_out(self):
        assert self.own.encode([np.array([10, 11]), np.array([30])], longest=9).tolist() == [4, 0]
        assert self.own.encode([np.array([11])], longest=9).tolist() == []

    @given(st.lists(st.lists(st.integers(5, 9), min_size=1, max_size=4), max_size=6), st.integers(1, 12))
    def test_only_whole_phrases_stand_within_the_longest_length(self, phrases, longest):
        plain = TargetVocabulary(2, 2, 3)
        encoded = plain.encode([np.array(phrase) for phrase in phrases], longest=longest).tolist()
        assert len(encoded) <= longest
        assert encoded[-1:] in ([], [2])
        kept = [encoded[first:end] for first, end in plain.split(encoded[:-1])]
        assert kept == phrases[: len(kept)]
        if len(kept) < len(phrases):
            assert sum(len(phrase) + 1 for phrase in phrases[: len(kept) + 1]) > longest

    def test_the_decoder_reads_each_target_before_it_writes_the_next(self):
        targets = pad_targets([np.array([7, 8, 2]), np.array([9, 2]), np.zeros(0, dtype=np.int64)])
        assert targets.tolist() == [[7, 8, 2], [9, 2, IGNORED], [IGNORED] * 3]
        assert shift_right(targets, 4)[:2].tolist() == [[4, 7, 8], [4, 9, 2]]

    def test_absent_keyphrases_keep_their_order_and_come_once(self):
        document = Document(
            "Graph kernels compare.", keyphrases=("Molecules", "graph kernel", "molecule", "?", "deep Nets")
        )
        assert absent_keyphrases(document) == ["Molecules", "deep Nets"]


class TestLoss:
    def test_generation_by_hand(self):
        # document 0 writes id 1 (p = .5) and then 0 (p = .25); document 1 writes id 2 (p = .8)
        first = [[0.3, 0.5, 0.2], [0.25, 0.7, 0.05]]
        second = [[0.1, 0.1, 0.8], [1 / 3, 1 / 3, 1 / 3]]
        targets = torch.tensor([[1, 0], [2, IGNORED]])
        loss = generation_loss(torch.tensor([first, second]).log(), targets, documents=4)
        expected = (-(np.log(0.5) + np.log(0.25)) / 2 - np.log(0.8)) / 4  # two documents have no absent gold
        assert loss.item() == pytest.approx(expected, rel=1e-5)


def rows(count: int) -> list[dict[str, object]]:
    """Documents with a present keyphrase, and every second one with an absent one that goes with it."""
    subjects = ["graph kernels", "neural networks", "boundary integral equation", "scalar potential"]
    absent = {"graph kernels": "structure", "neural networks": "representations"}
    found = []
    for number in range(count):
        subject = subjects[number % 4]
        text = f"We compare {subject} in case {number}. The methods use several words of documents."
        keyphrases = [subject, *([absent[subject]] if subject in absent else [])]
        found.append({"id": str(number), "title": "", "abstract": text, "keyphrases": keyphrases})
    return found


@pytest.fixture(scope="module", params=[tiny_bert, tiny_bart], ids=["bert", "bart"])
def folder(request, tmp_path_factory) -> Path:
    """A backbone, and documents to train and validate on."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("training")
    request.param(folder / "backbone")
    for name, count in (("train", 40), ("valid", 8)):
        lines = [json.dumps(row) + "\n" for row in rows(count)]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def settings(folder: Path, output: Path, **changes: str) -> dict[str, str]:
    """What makes the paper's configuration one for the tiny backbone and documents."""
    return {
        "data": str(folder),
        "cache": str(folder / "cache"),
        "output": str(output),
        "backbone": str(folder / "backbone"),
        "device": "cpu",
        "attention": "eager",
        "pool": "100",
        "learning_rate": "0.03",
        "head_learning_rate": "0.03",
        "dropout": "0.0",
        "train": "[{path = 'train.jsonl'}]",
        "validation": "{path = 'valid.jsonl'}",
        "decoder": "{layers = 1, heads = 2, feed_forward = 32, longest = 16}",
        "model.window": "64",
        "model.overlap": "16",
        "search.beams": "5",
        "search.longest": "8",
        "over_generated": "4",
        "loop.documents": "320",
        "loop.evaluate_every": "160",
        "loop.log_every": "5",
        **changes,
    }


def configured(folder: Path, output: Path, **changes: str) -> GeneratorTraining:
    return load_section(PAPER, "generator", GeneratorTraining, settings(folder, output, **changes))


@pytest.fixture(scope="module")
def trained(folder) -> Path:
    """The run that the paper's configuration gives on tiny documents."""
    run("generator", PAPER, output=folder / "run", overrides=settings(folder, folder / "run"))
    return folder / "run"


def losses(run_folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run_folder / "log.jsonl").read_text().splitlines()]


class TestTraining:
    def test_it_learns_and_what_is_stored_proposes_what_was_learnt(self, trained):
        lines = [line["loss"] for line in losses(trained) if "loss" in line]
        assert lines[-1] < lines[0] / 2
        extractor, generator = load_generator(trained / "checkpoint", device="cpu")
        assert generator.search == SearchConfig(beams=5, longest=8)
        texts = ["We compare graph kernels in case 7.", "We compare neural networks in case 9."]
        first, second = over_generate(generator, [Document(text) for text in texts])
        assert "structure" in [phrase.text for phrase in first]
        assert "representations" in [phrase.text for phrase in second]
        [prediction, _] = extractor.predict(texts, top_k=1)
        assert [keyphrase.text for keyphrase in prediction.present] == ["graph kernels"]

    def test_the_log_and_the_card_tell_both_halves(self, trained):
        evaluated = [line for line in losses(trained) if "F1@M" in line]
        assert [line["documents"] for line in evaluated] == [160, 320]
        assert all(line["log-likelihood"] < 0 and 0 <= line["R@50"] <= 1 for line in evaluated)
        card = (trained / "checkpoint" / "MODEL_CARD.md").read_text(encoding="utf-8")
        assert "λ = 0.3" in card
        assert "| documents with a keyphrase | 40 |" in card

    def test_a_stopped_run_ends_as_an_unbroken_one(self, folder, trained, monkeypatch):
        config = configured(folder, folder / "broken")
        calls, loss = [], GeneratorPart.loss

        def stopping(part, batch):
            calls.append(batch)
            if len(calls) == 13:
                os.kill(os.getpid(), signal.SIGTERM)
            return loss(part, batch)

        monkeypatch.setattr(GeneratorPart, "loss", stopping)
        with pytest.raises(TrainingError, match="Stopped at step 13"):
            train_generator(config, device=CPU)
        module = train_generator(config, device=CPU).module
        assert len(calls) == 40
        whole = torch.load(trained / "best.pt", weights_only=True)
        assert all(torch.equal(value, whole[name]) for name, value in module.state_dict().items())

    def test_a_frozen_extractor_stays_as_it_is(self, folder):
        extractor = settings(folder, folder / "extractor", **{"loop.documents": "16", "model.prior": "false"})
        known = {
            key: value
            for key, value in extractor.items()
            if not key.startswith(("decoder", "search", "over"))
        }
        config = folder / "extractor.toml"
        config.write_text("[extractor]\nfreeze_embeddings = false\n", encoding="utf-8")
        run("extractor", config, output=None, overrides=known)
        start = folder / "extractor" / "checkpoint"
        frozen = configured(folder, folder / "frozen", freeze_encoder="true", start=str(start))
        part = train_generator(frozen, device=CPU)
        stored = load_file(start / "model.safetensors")
        state = part.module.extractor.state_dict()
        for name, value in stored.items():  # but for the row of the separator
            assert torch.equal(value.float(), state[name][: len(value)])
        assert part.documents == 20  # those with an absent keyphrase
        lines = losses(folder / "frozen")
        assert not any("F1@M" in line for line in lines)
        assert lines[-1]["log-likelihood"] > lines[0]["loss"] * -1
        present_alone = "{path = 'valid.jsonl', skip_ids = '0|1|4|5'}"
        with pytest.raises(ConfigError, match=r"^No document of valid\.jsonl has an absent keyphrase; "):
            train_generator(
                configured(
                    folder,
                    folder / "none",
                    freeze_encoder="true",
                    start=str(start),
                    validation=present_alone,
                ),
                device=CPU,
            )

    def test_validation_documents_that_choose_nothing_are_refused_before_the_first_stretch(self, folder):
        present_alone = "{path = 'valid.jsonl', skip_ids = '0|1|4|5'}"
        filtered = configured(folder, folder / "none", released_filters="true", validation=present_alone)
        with pytest.raises(TrainingError, match="No validation document has a gold keyphrase among its"):
            train_generator(filtered, device=CPU)
        assert not (folder / "none" / "log.jsonl").exists()

    def test_a_frozen_encoder_without_an_extractor_is_explained(self, folder):
        with pytest.raises(ConfigError, match="needs a trained extractor"):
            configured(folder, folder / "none", freeze_encoder="true")


class TestMasking:
    @pytest.fixture
    def part(self, folder) -> GeneratorPart:
        return part_of(configured(folder, folder / "unused"))

    def test_a_document_without_absent_gold_trains_the_extractor_alone(self, part):
        items = [index for index in range(len(part._examples)) if not part._examples.absent(index)][:4]
        loss = part.loss(part.collate(items))
        loss.backward()
        assert loss.item() == pytest.approx(0.3 * extraction(part, items).item(), rel=1e-5)
        assert part.module.extractor.phrase_projection.weight.grad.abs().sum() > 0
        shared = {id(parameter) for parameter in part.module.extractor.parameters()}
        own = [value for value in part.module.decoder.parameters() if id(value) not in shared]
        assert not any(value.grad is not None and value.grad.any() for value in own)

    def test_both_losses_are_means_over_all_documents(self, part):
        items = list(range(6))
        generation = 0.0
        for item in items:
            if part._examples.absent(item):
                single = part.collate([item])
                alone = part.loss(single) - 0.3 * extraction(part, [item])
                generation += alone.item() / len(items)
        whole = part.loss(part.collate(items)).item()
        assert generation > 0
        assert whole == pytest.approx(generation + 0.3 * extraction(part, items).item(), rel=1e-4)

    def test_the_released_filters_leave_documents_out(self, folder):
        part = part_of(configured(folder, folder / "unused", released_filters="true"))
        assert part.size == 20
        drawn = np.flatnonzero(part.repeats).tolist()
        assert all(part._examples.absent(index) for index in drawn)
        batch = part.collate(drawn[:2])
        batch.documents.positive[:] = False
        assert part.loss(batch) is None  # the weights stay as they are


def part_of(config: GeneratorTraining) -> GeneratorPart:
    """The part as `train_generator` makes it, with nothing to validate."""
    from kpdemo.training.examples import training_examples
    from kpdemo.training.generator import build_generator

    torch.manual_seed(1)
    examples = training_examples(config)
    module, tokenizer = build_generator(config, examples.absent_tokens)
    return GeneratorPart(module.eval(), config, examples, None, None, padding=tokenizer.pad_token_id)


def extraction(part: GeneratorPart, items) -> torch.Tensor:
    batch = part.batch_of(items)
    scores, _ = part.module(batch)
    return contrastive_loss(
        scores, batch.positive, batch.phrase_document, documents=batch.documents, temperature=0.1
    )


class TestCheckpoint:
    selection = Selection(0.3, Calibration(4.0, -1.0))

    @pytest.fixture
    def stored(self, folder, tmp_path) -> Path:
        self.store(folder, tmp_path / "model")
        return tmp_path / "model"

    def store(self, folder: Path, target: Path, **options: str) -> None:
        backbone = folder / "backbone"
        module = tiny_generator(backbone).module
        tokenizer = load_tokenizer(str(backbone))
        save_generator(target, module, tokenizer, self.selection, name="tiny", card="# tiny\n", **options)

    def test_what_is_shared_is_stored_once(self, folder, stored):
        module = tiny_generator(folder / "backbone").module
        weights = load_file(stored / "model.safetensors")
        tied = sum(value.numel() for value in module.parameters())
        buffers = sum(value.numel() for name, value in weights.items() if "bias" in name or "tokens" in name)
        assert tied <= sum(value.numel() for value in weights.values()) <= tied + buffers
        assert sum("embed_tokens" in name or "word_embeddings" in name for name in weights) == 1

    @pytest.mark.parametrize("storage", ["fp16", "int8"])
    @pytest.mark.parametrize("backbone", [tiny_bert, tiny_bart, tiny_t5])
    def test_what_is_loaded_is_what_was_saved(self, tmp_path, backbone, storage):
        backbone(tmp_path / "backbone")
        self.store(tmp_path, tmp_path / "model", storage=storage)
        extractor, generator = load_generator(tmp_path / "model", device="cpu")
        assert extractor.selection == self.selection
        assert generator.module.extractor is extractor.module
        inputs = torch.arange(7).unsqueeze(0)
        before, after = (
            one.module.decoder(inputs, one.read([Document("Graph kernels compare molecules.")]))
            for one in (tiny_generator(tmp_path / "backbone"), generator)
        )
        torch.testing.assert_close(before, after, atol=0.05, rtol=0)
        list(over_generate(generator, [Document("Graph kernels.")], search=SearchConfig(beams=2, longest=3)))

    def test_a_damaged_tokenizer_is_explained(self, stored):
        (stored / "tokenizer.json").write_text('{"model": ')
        write_sums(stored)
        with pytest.raises(ModelLoadError, match=r"cannot be read \(tokenizer.json: "):
            load_generator(stored)

    def test_a_missing_or_unknown_weight_is_explained(self, stored):
        weights = load_file(stored / "model.safetensors")
        name = next(name for name in weights if name.startswith("decoder.") and "bias" in name)
        weights["decoder.of.another.model"] = weights.pop(name)
        save_file(weights, stored / "model.safetensors")
        write_sums(stored)
        with pytest.raises(ModelLoadError, match="cannot be read"):
            load_generator(stored)

    def test_an_extractor_is_no_generator(self, stored):
        config = json.loads((stored / "config.json").read_text())
        (stored / "config.json").write_text(json.dumps(config | {"kind": "simckp-extractor"}))
        write_sums(stored)
        with pytest.raises(ModelLoadError, match="not a simckp-generator"):
            load_generator(stored)


@pytest.mark.slow
def test_generating_with_the_small_decoder_needs_no_transformers(tmp_path):
    tiny_bert(tmp_path / "backbone")
    TestCheckpoint().store(tmp_path, tmp_path / "model")
    code = f"""
import sys
from pathlib import Path
from kpdemo.simckp.generator import over_generate
from kpdemo.simckp.generator import load_generator
from kpdemo.types import Document
_, generator = load_generator(Path({str(tmp_path / "model")!r}), device="cpu")
list(over_generate(generator, [Document("Graph kernels compare molecules.")]))
sys.exit("transformers" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
