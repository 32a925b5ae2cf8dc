"""The extractor: alignment, pooling, loss, threshold, checkpoint and prediction."""

import copy
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from kpdemo.candidates.chunks import Candidate
from kpdemo.candidates.mining import mine_candidates
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import ConfigError, InputError, ModelLoadError, TrainingError
from kpdemo.identity import check_sums, write_sums
from kpdemo.routing import latin_documents
from kpdemo.simckp.calibration import Calibration, best_cutoff, learn_calibration, learn_threshold, own_count
from kpdemo.simckp.checkpoint import FILES, WEIGHTS, _made_for, load_checkpoint, save_checkpoint
from kpdemo.simckp.embedding import EmbeddingBaseline, maximal_marginal_relevance
from kpdemo.simckp.encoder import load_backbone, load_tokenizer
from kpdemo.simckp.examples import build_example
from kpdemo.simckp.extractor import (
    ContrastiveExtractor,
    ExtractorConfig,
    Selection,
    SimckpPredictor,
    collate,
    pool,
    score_examples,
)
from kpdemo.simckp.losses import contrastive_loss
from kpdemo.text import phrase_key
from kpdemo.types import Document
from tests.tiny import tiny_bart, tiny_bert, tiny_extractor

TEXT = "Graph kernels compare molecules. The graph kernel of proteins and boundary integral equations."


@pytest.fixture(scope="module", params=[tiny_bert, tiny_bart], ids=["bert", "bart"])
def backbone(request, tmp_path_factory) -> Path:
    torch.manual_seed(0)
    return request.param(tmp_path_factory.mktemp("backbone"))


@pytest.fixture
def predictor(backbone) -> SimckpPredictor:
    torch.manual_seed(0)
    encoder, tokenizer = load_backbone(str(backbone))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12)).eval()
    selection = Selection(0.3, Calibration(4.0, -1.0))
    return tiny_predictor(module, tokenizer, selection)


def tiny_predictor(module, tokenizer, selection) -> SimckpPredictor:
    backend, padding = tokenizer.backend_tokenizer, tokenizer.pad_token_id
    return SimckpPredictor("tiny", module, backend, padding, load_tagger(), selection)


def example_of(document: Document, predictor: SimckpPredictor, *, window: int, overlap: int = 12):
    candidates = mine_candidates(document, predictor.tagger)
    return candidates, build_example(
        document, candidates, predictor.tokenizer, window=window, overlap=overlap
    )


class TestAlignment:
    def test_tokens_of_a_candidate_spell_it(self, predictor):
        document = Document(TEXT, title="Graph kernels in chemistry")
        candidates, example = example_of(document, predictor, window=128)
        for window, candidate, tokens in example.rows:
            ids = example.windows[window][tokens].tolist()
            decoded = predictor.tokenizer.decode(ids).lower().replace(" ", "")
            places = "".join(document.text[start:end] for start, end in candidates[candidate].spans)
            assert decoded == places.lower().replace(" ", "")

    def test_overlapping_windows_hold_every_candidate(self, predictor):
        document = Document(" ".join([TEXT, "Neural networks learn phrases."] * 6))
        candidates, example = example_of(document, predictor, window=32)
        assert len(example.windows) > 3
        assert all(len(window) <= 32 for window in example.windows)
        assert {candidate for _, candidate, _ in example.rows} == set(range(len(candidates)))

    def test_only_so_many_windows_are_read_on_request(self, predictor):
        document = Document(TEXT * 6)
        example = build_example(
            document, mine_candidates(document, predictor.tagger), predictor.tokenizer,
            window=32, overlap=12, most_windows=1,
        )  # fmt: skip
        assert len(example.windows) == 1

    def test_features_tell_title_count_and_length(self, predictor):
        document = Document("Other words. Graph kernels.", title="Graph kernels")
        candidates, example = example_of(document, predictor, window=128)
        row = example.features[[candidate.key for candidate in candidates].index("graph kernel")]
        in_title, count, first, spread, words, single = row.tolist()
        assert (in_title, first, single) == (1, 0, 0)
        assert count == pytest.approx(math.log(3) / 3)
        assert spread == pytest.approx(document.text.rindex("Graph") / len(document.text))
        assert words == pytest.approx(2 / 6)


class TestModel:
    def test_pooling_sums_the_union_of_all_occurrences(self, predictor):
        document = Document("graph kernels and graph kernels")
        overlapping = [Candidate("a", ((0, 13), (6, 13), (18, 31))), Candidate("b", ((14, 17),))]
        example = build_example(document, overlapping, predictor.tokenizer, window=128, overlap=12)
        batch = collate([example], padding=predictor.padding)
        hidden = torch.randn(1, batch.input_ids.shape[1], 8)
        expected = [hidden[0, tokens].sum(0) for _, _, tokens in example.rows]
        documents, phrases = pool(lambda ids, mask: hidden, batch, 1)
        torch.testing.assert_close(phrases, torch.stack(expected))
        torch.testing.assert_close(documents, hidden[:, 0])

    @pytest.mark.parametrize("at_once", [1, 2, 3, 100])
    def test_windows_are_averaged_however_many_are_encoded_at_once(self, predictor, at_once):
        documents = [Document(" ".join([TEXT] * 4)), Document("Graph kernels compare.")]
        examples = [example_of(document, predictor, window=32)[1] for document in documents]
        batch = collate(examples, padding=predictor.padding)
        table = torch.randn(1000, 8)
        vectors, phrases = pool(lambda ids, mask: table[ids], batch, at_once)
        first, second = examples
        expected = torch.stack([table[window[0]] for window in first.windows]).mean(0)
        torch.testing.assert_close(vectors[0], expected)
        for number in range(len(first.features)):
            sums = [table[first.windows[w][tokens]].sum(0) for w, c, tokens in first.rows if c == number]
            torch.testing.assert_close(phrases[number], torch.stack(sums).mean(0))
        assert len(phrases) == len(first.features) + len(second.features)

    def test_padding_and_company_do_not_change_a_score(self, predictor):
        documents = [Document(TEXT), Document("Graph kernels."), Document(" ".join([TEXT] * 5))]
        examples = [example_of(document, predictor, window=32)[1] for document in documents]
        padding = predictor.padding
        together = score_examples(predictor.module, examples, padding=padding)
        for example, scores in zip(examples, together, strict=True):
            [alone] = score_examples(predictor.module, [example], padding=padding)
            np.testing.assert_allclose(scores, alone, atol=1e-5)

    def test_an_untrained_prior_leaves_the_cosine(self, predictor):
        examples = [example_of(Document(TEXT), predictor, window=32)[1]]
        padding = predictor.padding
        [with_prior] = score_examples(predictor.module, examples, padding=padding)
        predictor.module.prior = None
        [cosine] = score_examples(predictor.module, examples, padding=padding)
        assert with_prior.tolist() == cosine.tolist()
        assert np.abs(cosine).max() <= 1.0001

    @pytest.mark.parametrize("options", [{"window": 32, "overlap": 30}, {"overlap": -1}, {"temperature": 0}])
    def test_impossible_settings_are_refused(self, options):
        with pytest.raises(ConfigError):
            ExtractorConfig(**options)


class TestLoss:
    def test_by_hand(self):
        # document 0: positive .5 against .1 and .2; document 1: positives .4 and .3, each against 0 alone
        scores = torch.tensor([0.5, 0.1, 0.2, 0.4, 0.3, 0.0])
        positive = torch.tensor([True, False, False, True, True, False])
        document = torch.tensor([0, 0, 0, 1, 1, 1])

        def term(s: float, negatives: list[float]) -> float:
            top = math.exp(s / 0.1)
            return -math.log(top / (top + sum(math.exp(n / 0.1) for n in negatives)))

        expected = (term(0.5, [0.1, 0.2]) + term(0.4, [0.0]) + term(0.3, [0.0])) / 2
        loss = contrastive_loss(scores, positive, document, documents=2, temperature=0.1)
        assert loss.item() == pytest.approx(expected, rel=1e-5)

    def test_a_document_without_negatives_or_candidates_costs_nothing(self):
        scores = torch.tensor([0.5, 0.2], requires_grad=True)
        loss = contrastive_loss(
            scores, torch.tensor([True, True]), torch.tensor([0, 0]), documents=2, temperature=0.1
        )
        loss.backward()
        assert loss.item() == 0
        assert torch.isfinite(scores.grad).all()

    def test_gradients_raise_gold_and_lower_the_rest(self):
        scores = torch.zeros(4, requires_grad=True)
        positive = torch.tensor([True, False, False, True])
        contrastive_loss(
            scores, positive, torch.zeros(4, dtype=torch.long), documents=1, temperature=0.1
        ).backward()
        assert (scores.grad[positive] < 0).all()
        assert (scores.grad[~positive] > 0).all()


class TestThreshold:
    def test_the_cutoff_keeps_the_best_f1(self):
        # sorted: + (F1 1/1.5), + (1), - (.8): the best is after the second
        scores = np.array([0.1, 0.9, 0.5], dtype=np.float32)
        assert best_cutoff(scores, np.array([False, True, True])) == pytest.approx(0.5)

    def test_the_threshold_is_the_mean_over_documents_with_gold(self):
        scored = [
            (np.array([0.8, 0.1]), np.array([True, False])),
            (np.array([0.4, 0.2]), np.array([True, False])),
            (np.array([0.9]), np.array([False])),
        ]
        assert learn_threshold(scored) == pytest.approx(0.6)

    @given(st.lists(st.floats(-1, 1), max_size=12), st.floats(-1, 1), st.integers(0, 5))
    def test_the_own_rule_counts_all_above_and_at_least_the_minimum(self, scores, threshold, minimum):
        assert own_count(scores, threshold, minimum) == max(
            len([s for s in scores if s > threshold]), minimum
        )

    def test_without_a_positive_there_is_no_threshold(self):
        with pytest.raises(TrainingError, match="No validation document"):
            learn_threshold([(np.array([0.9]), np.array([False]))])

    def test_calibration_is_the_share_of_gold(self):
        scores = np.repeat(np.array([0.0, 1.0], dtype=np.float32), 100)
        positive = np.concatenate([np.arange(100) < 10, np.arange(100) < 80])
        calibration = learn_calibration(scores, positive)
        assert calibration.probability(0.0) == pytest.approx(0.10, abs=0.01)
        assert calibration.probability(1.0) == pytest.approx(0.80, abs=0.01)

    def test_a_calibration_on_gold_alone_is_explained(self):
        with pytest.raises(TrainingError, match="Every candidate of the validation documents is gold"):
            learn_calibration(np.zeros(2, dtype=np.float32), np.ones(2, dtype=bool))


class TestPrediction:
    def test_phrases_come_best_first_with_true_spans(self, predictor):
        document = Document(TEXT, title="Kernels")
        [prediction] = predictor.predict([document])
        scores = [keyphrase.score for keyphrase in prediction.present]
        assert len(scores) >= 5
        assert scores == sorted(scores, reverse=True)
        for keyphrase in prediction.present:
            spelt = [document.text[start:end] for start, end in keyphrase.spans]
            assert keyphrase.text.lower() in map(str.lower, spelt)
            assert {phrase_key(one) for one in spelt} == {phrase_key(keyphrase.text)}

    def test_nothing_of_a_long_text_is_cut(self, predictor):
        filler = "The methods are compared in several ways. " * 40
        [prediction] = predictor.predict([f"{filler}We study boundary integrals."], top_k=1000)
        assert "boundary integrals" in [keyphrase.text for keyphrase in prediction.present]

    def test_a_candidate_longer_than_the_overlap_has_tokens_too(self, predictor):
        text = (
            "The methods are compared. " * 3 + "Uvwxyzuvwxyzuvwxyzuvwxyz-methods zyxwvuzyxwvuzyxwvu compare."
        )
        candidates, example = example_of(Document(text), predictor, window=32, overlap=4)
        assert {candidate for _, candidate, _ in example.rows} == set(range(len(candidates)))

    def test_top_k_and_threshold(self, predictor):
        [all_of_them] = predictor.predict([TEXT], threshold=0.0)
        scores = [keyphrase.score for keyphrase in all_of_them.present]
        middle = scores[len(scores) // 2]
        [above] = predictor.predict([TEXT], threshold=middle)
        assert [k.score for k in above.present] == pytest.approx(
            [score for score in scores if score >= middle]
        )
        [two] = predictor.predict([TEXT], top_k=2)
        assert len(two.present) == 2
        assert predictor.predict([TEXT], top_k=2, threshold=1.0)[0].present == ()

    @pytest.mark.parametrize(
        ("options", "message"), [({"top_k": 0}, "at least 1"), ({"threshold": 1.5}, "between 0")]
    )
    def test_wrong_options_are_refused(self, predictor, options, message):
        with pytest.raises(InputError, match=message):
            predictor.predict([TEXT], **options)

    @pytest.mark.parametrize("text", ["Of the.", "a word", "<b>graph</b> kernels 😀", "(?)a )b"])
    def test_short_and_odd_texts_are_answered(self, predictor, text):
        [prediction] = predictor.predict([text])
        assert all(text[s:e] for keyphrase in prediction.present for s, e in keyphrase.spans)

    @settings(max_examples=30, deadline=None)
    @given(text=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=200))
    def test_any_text_gets_an_answer_or_one_sentence(self, default_free_predictor, text):
        try:
            latin_documents([text])
        except InputError:
            with pytest.raises(InputError):
                default_free_predictor.predict([text])
        else:
            [prediction] = default_free_predictor.predict([text])
            assert all(0 <= keyphrase.score <= 1 for keyphrase in prediction.present)


@pytest.fixture(scope="module")
def default_free_predictor(tmp_path_factory) -> SimckpPredictor:
    encoder, tokenizer = load_backbone(str(tiny_bert(tmp_path_factory.mktemp("tiny"))))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=32, overlap=12)).eval()
    return tiny_predictor(module, tokenizer, Selection(0.3, Calibration()))


@pytest.mark.slow
def test_a_text_may_be_of_any_length(tmp_path):
    filler = "The committee decided nothing about the budget. " * 6_000
    text = f"{filler}A quantum eigensolver estimates energies."
    assert len(text) > 250_000
    [prediction] = tiny_extractor(tmp_path).predict([text], top_k=2_000)
    assert "quantum eigensolver" in {keyphrase.text for keyphrase in prediction.present}


class TestCheckpoint:
    @pytest.fixture
    def folder(self, predictor, backbone, tmp_path) -> Path:
        save_checkpoint(
            tmp_path / "model",
            predictor.module,
            load_tokenizer(str(backbone)),
            predictor.selection,
            name="tiny",
            card="# tiny\n",
        )
        return tmp_path / "model"

    def test_what_is_saved_predicts_the_same(self, predictor, folder):
        loaded = load_checkpoint(folder, device="cpu")
        [before], [after] = predictor.predict([TEXT], top_k=50), loaded.predict([TEXT], top_k=50)
        assert {k.text for k in before.present} == {k.text for k in after.present}
        for one in before.present:
            [other] = [k for k in after.present if k.text == one.text]
            assert other.score == pytest.approx(one.score, abs=0.01)  # stored in fp16
        assert loaded.selection == predictor.selection
        assert loaded.module.config == predictor.module.config

    @pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
    def test_a_changed_byte_is_noticed(self, folder, name):
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)
        with pytest.raises(ModelLoadError, match=rf"{name} is damaged"):
            load_checkpoint(folder)

    @pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"0000  config.json\n"])
    def test_a_cut_list_of_hashes_is_noticed(self, folder, content):
        (folder / "SHA256SUMS").write_bytes(content)
        with pytest.raises(ModelLoadError, match="SHA256SUMS"):
            load_checkpoint(folder)

    def test_a_missing_file_is_named(self, folder):
        (folder / "model.safetensors").unlink()
        with pytest.raises(ModelLoadError, match=r"model\.safetensors is missing"):
            check_sums(folder, FILES)

    @pytest.mark.parametrize(
        ("architecture", "reason"),
        [
            ({"model_type": "distilbert"}, "its weights do not fit its configuration"),
            ({"model_type": "bert", "num_hidden_layers": 3}, "its weights do not fit its configuration"),
            ({"model_type": "nonsense"}, "Unrecognized model identifier: nonsense"),
        ],
    )
    def test_weights_of_another_architecture_are_refused_in_one_short_sentence(
        self, folder, architecture, reason
    ):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        config["backbone"] |= architecture
        save_file(load_file(folder / WEIGHTS), folder / WEIGHTS, _made_for(config))
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        write_sums(folder)
        sentence = f"The model in {folder} cannot be read ({reason}): restore the folder."
        with pytest.raises(ModelLoadError, match=f"^{re.escape(sentence)}$"):
            load_checkpoint(folder, device="cpu")

    @pytest.mark.parametrize("changed", [{"model_type": "roberta"}, {"num_attention_heads": 4}])
    def test_weights_know_the_encoder_that_they_were_stored_with(self, folder, changed):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        config["backbone"] |= changed  # whose weights have the very same names and shapes
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        write_sums(folder)
        with pytest.raises(ModelLoadError, match="its weights do not fit its configuration"):
            load_checkpoint(folder, device="cpu")

    def test_an_encoder_that_told_more_than_ten_labels_apart_opens(self, predictor, backbone, tmp_path):
        module = copy.deepcopy(predictor.module)
        module.encoder.config.num_labels = 12  # numbered 0 to 11, and in JSON "0", "1", "10", "11", "2"
        parts = module, load_tokenizer(str(backbone)), predictor.selection
        save_checkpoint(tmp_path / "labels", *parts, name="labels", card="# labels\n")
        assert load_checkpoint(tmp_path / "labels", device="cpu").predict([TEXT])

    def test_weights_that_know_no_encoder_are_refused(self, folder):
        save_file(load_file(folder / WEIGHTS), folder / WEIGHTS)
        write_sums(folder)
        with pytest.raises(ModelLoadError, match="its weights do not fit its configuration"):
            load_checkpoint(folder, device="cpu")

    def test_another_folder_is_no_model(self, tmp_path):
        with pytest.raises(ModelLoadError, match="No model at"):
            load_checkpoint(tmp_path)

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
    def test_cuda_without_a_device_is_explained(self, folder):
        with pytest.raises(ModelLoadError, match="no CUDA device"):
            load_checkpoint(folder, device="cuda")

    def test_an_unknown_backbone_is_explained(self, monkeypatch, tmp_path):
        with pytest.raises(ModelLoadError, match=r"no folder .*nothing-here': check the name"):
            load_backbone(str(tmp_path / "nothing-here"))
        with pytest.raises(ModelLoadError, match="cannot be loaded"):
            load_backbone("x" * 300)  # more than a file may be called


def test_a_threshold_that_all_candidates_reach_changes_nothing_of_the_embedding_baseline(backbone):
    encoder, tokenizer = load_backbone(str(backbone))
    reading = (tokenizer.backend_tokenizer, tokenizer.pad_token_id, load_tagger(), 64, 16)
    baseline = EmbeddingBaseline(encoder.eval(), *reading)
    text = f"{TEXT} Neural networks learn representations of words."
    [every] = baseline.predict([text], threshold=0.0)
    counts = range(1, len(every.present))
    plain, alike = ([baseline.predict([text], top_k=n, threshold=t)[0] for n in counts] for t in (None, 0.0))
    assert plain == alike
    assert any(one.present != every.present[: len(one.present)] for one in plain)  # it picks what is unlike
    middle = every.present[4].score
    [some] = baseline.predict([text], top_k=3, threshold=middle)
    assert len(some.present) == 3
    assert some.present[-1].score >= middle
    assert baseline.predict([text], threshold=1.0)[0].present == ()


def test_maximal_marginal_relevance_prefers_the_unlike():
    relevance = torch.tensor([0.9, 0.88, 0.5])
    similarity = torch.tensor([[1.0, 0.99, 0.1], [0.99, 1.0, 0.1], [0.1, 0.1, 1.0]])
    assert maximal_marginal_relevance(relevance, similarity, 3) == [0, 2, 1]
