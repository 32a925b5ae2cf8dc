"""Word profiles of a bank's terms: their arithmetic, their part in the ranking, and their file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.preprocessing import normalize

from kpdemo.errors import ModelLoadError
from kpdemo.simckp.pair_checkpoint import read_bank, write_bank
from kpdemo.simckp.phrase_bank import LARGEST, BankScore, PhraseBank, WordProfiles
from kpdemo.simckp.terms import TextTerms
from kpdemo.training.data import Source
from kpdemo.training.phrase_bank import ProfilesTraining, learn_profiles, strongest
from kpdemo.training.terms import DocumentWords

WORDS = ("graph", "kernel", "drug", "molecul", "field")


def ones(rows: list[list[int]]) -> csr_matrix:
    return csr_matrix(np.array(rows, dtype=np.float32))


def profiles_of(dense: list[list[int]], rarity: list[float]) -> WordProfiles:
    """From whole weights (N, W), 1 to `LARGEST` or 0; the largest of each row is `LARGEST`."""
    columns = csc_matrix(np.array(dense, dtype=np.float32))
    columns.eliminate_zeros()
    return WordProfiles.build(
        WORDS[: columns.shape[1]],
        np.array(rarity, dtype=np.float32),
        np.diff(columns.indptr).astype(np.int32),
        columns.indices.astype(np.int32),
        columns.data,
        len(dense),
    )


def bank_with(known: WordProfiles | None, **score) -> PhraseBank:
    """Two terms; the vector of a document (1, 0) is the first's."""
    built = PhraseBank.build(["alpha", "beta"], np.zeros(2), torch.eye(2), encoder="e" * 64)
    return replace(built, profiles=known, score=BankScore(**score))


def test_the_cosine_of_a_text_and_a_profile_is_computed_by_hand():
    profiles = profiles_of([[15, 0, 0], [9, 12, 0], [0, 0, 0]], [3.0, 4.0, 1.0])
    # The text has "graph" and "kernel": (3, 4, 0) of length 5. The second profile is rounded to
    # (15 · 9 / 12, 15, 0) = (11, 15, 0).
    cosines = profiles.scores({"graph", "kernel", "unheard"})
    assert cosines.tolist() == pytest.approx([3 / 5, (3 * 11 + 4 * 15) / (5 * np.hypot(11, 15)), 0])
    assert profiles.scores({"unheard"}).tolist() == profiles.scores(()).tolist() == [0, 0, 0]


@given(st.data())
def test_scores_are_those_of_dense_vectors(data):
    rows = st.lists(st.integers(0, LARGEST), min_size=5, max_size=5).map(lambda row: [LARGEST, *row][:5])
    dense = data.draw(st.lists(rows, min_size=1, max_size=6))
    rarity = data.draw(st.lists(st.sampled_from([1.0, 2.5, 6.0]), min_size=5, max_size=5))
    held = data.draw(st.sets(st.sampled_from(WORDS)))
    query = np.array([[rarity[n] if word in held else 0 for n, word in enumerate(WORDS)]])
    expected = (normalize(query) @ normalize(np.array(dense, dtype=float)).T)[0]
    np.testing.assert_allclose(profiles_of(dense, rarity).scores(held), expected, atol=1e-6)


class TestLearning:
    READ = DocumentWords(
        ("graph", "kernel", "the", "drug"),
        documents=ones([[1, 1, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1], [0, 0, 1, 0]]),
        gold=ones([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]),
    )

    def learnt(self, **changed) -> WordProfiles:
        settings = {"words": 2, "shared": 1, "common": 0.5} | changed
        source = Source(Path("none.jsonl"))
        return learn_profiles(self.READ, ProfilesTraining(Path("bank"), (), source, **settings))

    def test_a_profile_is_the_mean_of_its_documents_by_hand(self):
        graph, kernel = np.log(5 / 3) + 1, np.log(5 / 2) + 1  # in two and in one of four documents
        first = np.array([graph, kernel]) / np.hypot(graph, kernel)
        mean = (first + np.array([1, 0])) / 2
        profiles = self.learnt()
        assert dict(zip(profiles.words, profiles.rarity.tolist(), strict=True)) == pytest.approx(
            {"graph": graph, "kernel": kernel, "drug": kernel}, rel=1e-3
        )
        assert profiles.lengths.tolist() == [2, 1, 0]  # no document has the third term
        assert profiles.words == ("drug", "graph", "kernel")
        assert profiles.holding.tolist() == [1, 1, 1]
        assert profiles.terms.tolist() == [1, 0, 0]
        assert profiles.weights.tolist() == [15, 15, round(15 * mean[1] / mean[0])]

    def test_what_is_common_or_grammar_or_of_too_few_documents_is_in_no_profile(self):
        assert "the" not in self.learnt().words  # all documents have it
        assert "the" not in self.learnt(common=1.0).words
        assert self.learnt(shared=2).words == ("graph",)
        assert self.learnt(words=1).lengths.tolist() == self.learnt(most=1).lengths.tolist() == [1, 1, 0]

    def test_terms_are_added_up_block_by_block(self, monkeypatch):
        whole = self.learnt()
        monkeypatch.setattr("kpdemo.training.phrase_bank.TOGETHER", 1)
        parts = self.learnt()
        assert parts.words == whole.words
        for name in ("rarity", "holding", "terms", "weights"):
            assert getattr(parts, name).tolist() == getattr(whole, name).tolist()

    def test_of_equal_words_the_first_are_kept(self):
        rows = csr_matrix(np.array([[1, 3, 1, 2, 1], [0, 4, 0, 0, 5]], dtype=np.float32))
        assert strongest(rows, [3, 1]).toarray().tolist() == [[1, 3, 0, 2, 0], [0, 0, 0, 0, 5]]


class TestRanking:
    PROFILES = profiles_of([[15, 0, 0], [0, 15, 0]], [1.0, 1.0, 1.0])
    DOCUMENT = np.array([[1, 0]], dtype=np.float32)
    KERNELS = TextTerms(stems=frozenset({"kernel"}))

    def test_a_profile_brings_up_a_term_that_is_not_among_the_best_by_cosine(self):
        bank = bank_with(self.PROFILES, scored=1, profiles=1.5)
        [[found]] = bank.search(self.DOCUMENT, 1, [self.KERNELS])
        assert (found.text, found.score) == ("beta", pytest.approx(1.5))
        [[found]] = replace(bank, profiles=None).search(self.DOCUMENT, 1, [self.KERNELS])
        assert (found.text, found.score) == ("alpha", pytest.approx(1.0))

    def test_without_a_weight_they_change_nothing(self):
        for score in ({"profiles": 0.0}, {}):
            bank = bank_with(self.PROFILES, **score)
            plain = bank_with(None, profiles=0.7)
            texts = [self.KERNELS]
            assert bank.search(self.DOCUMENT, 2, texts) == plain.search(self.DOCUMENT, 2, texts)

    def test_several_documents_are_ranked_as_one_by_one(self):
        bank = bank_with(self.PROFILES, profiles=0.4)
        vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
        texts = [TextTerms((0,), frozenset({"graph"})), self.KERNELS, TextTerms()]
        together = bank.search(vectors, 2, texts)
        singly = [bank.search(vectors[n : n + 1], 2, texts[n : n + 1])[0] for n in range(3)]
        assert together == singly
        assert bank.search(vectors[:0], 2, []) == []

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
    def test_a_gpu_ranks_alike(self):
        bank = bank_with(self.PROFILES, scored=1, profiles=1.5)
        on_gpu = replace(bank, device="cuda")
        texts = [self.KERNELS]
        assert on_gpu.search(self.DOCUMENT, 1, texts) == bank.search(self.DOCUMENT, 1, texts)


class TestFile:
    BANK = bank_with(profiles_of([[15, 0, 6], [0, 15, 0]], [1.0, 2.0, 3.5]), profiles=0.6)

    def changed(self, path: Path, **tensors: torch.Tensor) -> Path:
        """The file of `BANK` with other tensors."""
        write_bank(self.BANK, path)
        with safe_open(path, "pt") as file:
            metadata = file.metadata()
        save_file(load_file(path) | tensors, path, metadata)
        return path

    def test_what_is_saved_finds_the_same_and_is_saved_as_the_same_bytes(self, tmp_path):
        write_bank(self.BANK, tmp_path / "one")
        opened = read_bank(tmp_path / "one", encoder=self.BANK.encoder)
        write_bank(opened, tmp_path / "two")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
        assert opened.score == self.BANK.score
        for stems in ({"graph"}, {"kernel", "drug"}):
            assert opened.profiles.scores(stems).tolist() == self.BANK.profiles.scores(stems).tolist()

    def test_a_bank_without_profiles_is_stored_without_any(self, tmp_path):
        write_bank(bank_with(None), tmp_path / "bank")
        with safe_open(tmp_path / "bank", "pt") as file:
            assert not any(name.startswith("profile") for name in file.keys())  # noqa: SIM118
        assert read_bank(tmp_path / "bank", encoder="e" * 64).profiles is None

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("terms", [0, 2, 1]),
            ("terms", [0, 1]),
            ("weights", [15, 15, 16]),
            ("weights", [15, 15, 0]),
            ("holding", [1, 1]),
            ("holding", [1, 1, 2]),
            ("rarity", [1.0, 2.0]),
            ("rarity", [1.0, 2.0, np.nan]),
            ("rarity", [[1.0], [2.0], [3.0]]),
        ],
    )
    def test_parts_that_do_not_fit_are_refused_in_one_sentence(self, tmp_path, name, values):
        kind = np.float32 if name == "rarity" else np.int32
        changed = replace(self.BANK.profiles, **{name: np.array(values, dtype=kind)})
        path = self.changed(tmp_path / "bank", **changed.packed())
        with pytest.raises(ModelLoadError, match=r"\(its word profiles do not fit together\): restore it\."):
            read_bank(path, encoder=self.BANK.encoder)

    def test_damaged_bytes_are_refused_in_one_sentence(self, tmp_path):
        path = self.changed(tmp_path / "bank", profile_terms=torch.zeros(4, dtype=torch.uint8))
        with pytest.raises(ModelLoadError, match=r"cannot be read \(.+\): restore it\."):
            read_bank(path, encoder=self.BANK.encoder)
