"""The phrase bank: search against a brute-force oracle, its file, and what it refuses."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from kpdemo.errors import ModelLoadError
from kpdemo.simckp.pair_checkpoint import read_bank, write_bank
from kpdemo.simckp.phrase_bank import Associations, BankScore, PhraseBank, VectorStorage
from kpdemo.simckp.terms import TermIndex, TextTerms, clean_term, term_key
from kpdemo.types import Document

WIDTH = 80  # wide enough to be stored as 8-bit integers


def unit_vectors(count: int, seed: int, width: int = WIDTH) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def bank_of(count: int, *, seed: int = 0, storage: VectorStorage = "int8", **score) -> PhraseBank:
    random = np.random.default_rng(seed)
    pairs = sorted({(a, b) for a, b in random.integers(0, count, (3 * count, 2)).tolist() if a < b})
    first, second = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    together = random.integers(1, 300, len(pairs)).astype(np.int32)
    uses = random.integers(300, 900, count).astype(np.int32)
    bank = PhraseBank.build(
        [f"term {number}{' long' * (number % 3)}" for number in range(count)],
        random.uniform(0, 8, count),
        torch.from_numpy(unit_vectors(count, seed)),
        encoder="e" * 64,
        associations=Associations(uses, first, second, together, 5000),
        storage=storage,
    )
    return replace(bank, score=BankScore(**score))


def strength(known: Associations, one: int, other: int) -> float:
    """log(1 + documents with both · all documents / product of the documents with each, smoothed)."""
    for first, second, both in zip(known.first, known.second, known.together, strict=True):
        if {one, other} == {first, second}:
            return math.log1p(both * known.documents / ((known.uses[one] + 10) * (known.uses[other] + 10)))
    return 0.0


def brute_force(bank: PhraseBank, document: np.ndarray, count: int, text: TextTerms) -> list[str]:
    """The best terms by a loop over the whole bank."""
    weights, vectors = bank.score, bank.vectors
    allowed = [number for number in range(len(bank)) if number not in text.numbers]
    base = {n: vectors[n] @ document + weights.frequency * bank.log_frequency[n] for n in allowed}
    says = {n: math.exp(weights.sharpness * float(vectors[n] @ document)) for n in text.numbers}

    def score(number: int) -> float:
        words = bank.texts[number].split()
        share = sum(word in text.stems for word in words) / len(words)
        near = sorted((float(vectors[number] @ vectors[n]) for n in text.numbers), reverse=True)
        alike = near[: weights.nearest] or [0.0]
        votes = sum(says[n] * strength(bank.associations, n, number) for n in text.numbers)
        return (
            base[number]
            + weights.words * share
            + weights.likeness * sum(alike) / len(alike)
            + weights.association * (votes / sum(says.values()) if says else 0.0)
        )

    kept = sorted(allowed, key=lambda n: -base[n])[: max(count, weights.scored)]
    return [bank.texts[number] for number in sorted(kept, key=lambda n: -score(n))[:count]]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 60), st.integers(1, 70), st.integers(0, 9), st.sampled_from([0.0, 0.05]),
    st.sampled_from([0.0, 0.1]), st.sampled_from([0.0, 0.7]), st.sampled_from([0.0, 0.3]), st.data(),
)  # fmt: skip
def test_a_search_finds_what_a_loop_over_all_terms_finds(
    count, wanted, seed, frequency, words, likeness, association, data
):
    weights = {"frequency": frequency, "words": words, "likeness": likeness, "association": association}
    bank = bank_of(count, seed=seed, scored=20, **weights)
    present = sorted(data.draw(st.sets(st.integers(0, count - 1), max_size=count)))
    stems = data.draw(st.sets(st.sampled_from(["term", "1", "2", "30"])))
    text = TextTerms(tuple(present), frozenset(stems))
    [document] = unit_vectors(1, seed + 100)
    [found] = bank.search(document[None], wanted, [text])
    assert [term.text for term in found] == brute_force(bank, document, wanted, text)
    assert [term.score for term in found] == sorted((term.score for term in found), reverse=True)


def test_a_search_as_on_a_gpu_finds_the_same():
    bank, documents = bank_of(200, frequency=0.05), unit_vectors(7, 5)
    on_device = replace(bank, device="cpu:0")  # any other than "cpu" takes the way of a GPU
    texts = [TextTerms((number, 3 * number)) for number in range(7)]
    assert on_device.search(documents, 20, texts) == bank.search(documents, 20, texts)


def test_each_document_gets_its_own_terms():
    bank = bank_of(30, frequency=0.0)
    found = bank.search(bank.vectors[[4, 7]], 1)
    assert [[term.text for term in row] for row in found] == [[bank.texts[4]], [bank.texts[7]]]
    assert found[0][0].score == pytest.approx(1, abs=0.01)  # rounded to 8 bits


def test_the_terms_of_the_text_are_the_evidence_nearest_first():
    vectors = torch.eye(WIDTH)[:4].clone()
    vectors[3, :3] = torch.tensor([0.5, 0.8, 0.0])
    built = PhraseBank.build(["a", "b", "c", "d"], np.zeros(4), vectors, encoder="e")
    bank = replace(built, score=BankScore(nearest=2))
    spelt = {2: "of c", 0: "As", 1: "the B"}
    [[found]] = bank.search(vectors[3:].numpy(), 4, [TextTerms((0, 1, 2), spelt=spelt)])
    assert (found.text, found.evidence) == ("d", ("the B", "As"))
    [[found]] = bank.search(vectors[3:].numpy(), 4, [TextTerms((0, 1, 2), spelt={0: "As", 2: "of c"})])
    assert (found.text, found.evidence) == ("d", ("As", "of c"))


def test_evidence_does_not_say_the_same_twice():
    vectors = torch.eye(WIDTH)[:4].clone()
    vectors[3, :3] = torch.tensor([0.6, 0.8, 0.1])
    texts = ["fractures", "hip fracture", "surgery", "osteoporosis"]
    built = PhraseBank.build(texts, np.zeros(4), vectors, encoder="e")
    bank = replace(built, score=BankScore(nearest=2))
    text = TextTerms((0, 1, 2), spelt=dict(enumerate(texts[:3])))
    [[found]] = bank.search(vectors[3:].numpy(), 1, [text])
    assert (found.text, found.evidence) == ("osteoporosis", ("hip fracture", "surgery"))


def test_the_reason_says_how_often_authors_use_a_term_with_those_of_the_text_and_names_no_common_word():
    vectors = torch.eye(WIDTH)[:4].clone()
    vectors[3, :3] = torch.tensor([0.2, 0.9, 0.1])
    texts = ["hip fracture", "function", "surgery", "osteoporosis"]
    pairs = Associations(
        uses=np.array([100, 2_000, 50, 80], dtype=np.int32),
        first=np.array([0, 1, 2], dtype=np.int32),
        second=np.array([3, 3, 3], dtype=np.int32),
        together=np.array([12, 3, 1], dtype=np.int32),
        documents=3_000,
    )
    built = PhraseBank.build(texts, np.zeros(4), vectors, encoder="e", associations=pairs)
    text = TextTerms((0, 1, 2), spelt=dict(enumerate(texts[:3])))
    [[found]] = built.search(vectors[3:].numpy(), 1, [text])
    assert found.evidence == ("hip fracture",)
    assert found.reason == "Authors use it together with “hip fracture” (12 times)."


def test_a_bank_of_one_phrase_works(tmp_path):
    bank = bank_of(1, association=0.5)
    write_bank(bank, tmp_path / "bank")
    opened = read_bank(tmp_path / "bank", encoder=bank.encoder)
    assert [term.text for [term] in opened.search(bank.vectors, 50)] == ["term 0"]
    assert opened.search(bank.vectors, 50, [TextTerms((0,))]) == [[]]
    assert opened.search(np.zeros((0, WIDTH), dtype=np.float32), 50) == []


def test_four_bits_a_number_keep_directions_and_lengths():
    exact = unit_vectors(200, seed=1, width=256)
    stored = PhraseBank.build(
        [f"term {n}" for n in range(200)], np.zeros(200), torch.from_numpy(exact), encoder="e", storage="int4"
    )
    assert np.linalg.norm(stored.vectors, axis=1) == pytest.approx(1)
    assert (stored.vectors * exact).sum(axis=1).min() > 0.98
    assert np.abs(stored.vectors @ exact.T - exact @ exact.T).mean() < 0.01


def test_an_odd_width_does_not_fit_four_bits_a_number():
    with pytest.raises(ValueError, match="vectors of 3 numbers"):
        PhraseBank.build(["term"], np.zeros(1), torch.eye(3)[:1], encoder="e", storage="int4")


def test_a_bank_of_another_format_is_refused(tmp_path):
    path = tmp_path / "bank"
    write_bank(bank_of(3), path)
    with safe_open(path, "pt") as file:
        header = json.loads(file.metadata()["bank"])
    save_file(load_file(path), path, {"bank": json.dumps(header | {"format": 3})})
    with pytest.raises(ModelLoadError, match="has format 3, not 4: update kpdemo, or build it again"):
        read_bank(path, encoder="e" * 64)


@pytest.mark.parametrize("shape", [(3,), (2, WIDTH // 2), (3, 1, WIDTH // 2)])
def test_vectors_of_four_bits_that_do_not_fit_their_steps_are_refused(tmp_path, shape):
    path = tmp_path / "bank"
    write_bank(bank_of(3, storage="int4"), path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    save_file(load_file(path) | {"vectors": torch.zeros(shape, dtype=torch.uint8)}, path, metadata)
    with pytest.raises(ModelLoadError, match=r"cannot be read \(.+\): restore it\."):
        read_bank(path, encoder="e" * 64)


def test_a_bank_needs_one_vector_a_term():
    with pytest.raises(ValueError, match="0 terms"):
        PhraseBank.build([], np.zeros(0), torch.zeros(0, WIDTH), encoder="e")
    with pytest.raises(ValueError, match="2 terms, 2 frequencies, 1 vectors"):
        PhraseBank.build(["a", "b"], np.zeros(2), torch.zeros(1, WIDTH), encoder="e")


class TestFile:
    @pytest.fixture(params=["int8", "int4"])
    def storage(self, request) -> VectorStorage:
        return request.param

    @pytest.fixture
    def bank(self, storage) -> PhraseBank:
        return bank_of(50, storage=storage, frequency=0.03, association=0.2, scored=30)

    def test_what_is_saved_finds_the_same_and_is_saved_as_the_same_bytes(self, bank, tmp_path):
        write_bank(bank, tmp_path / "one")
        opened = read_bank(tmp_path / "one", encoder=bank.encoder)
        write_bank(opened, tmp_path / "two")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
        documents, texts = unit_vectors(5, seed=3), [TextTerms((1, 2, 3), frozenset(["term"]))] * 5
        assert opened.search(documents, 10, texts) == bank.search(documents, 10, texts)
        assert opened.frequency_of("Terms 9") == bank.frequency_of("term 9") > 0
        assert opened.frequency_of("another term") == 0

    def test_a_vector_takes_a_byte_or_half_of_one_a_number(self, bank, storage, tmp_path):
        write_bank(bank, tmp_path / "bank")
        larger = bank_of(1050, storage=storage)
        write_bank(larger, tmp_path / "larger")
        growth = (tmp_path / "larger").stat().st_size - (tmp_path / "bank").stat().st_size
        numbers = WIDTH if storage == "int8" else WIDTH // 2
        assert growth < 1000 * (numbers + 30)  # and frequency, spelling, key, and three partners each

    def test_a_bank_of_another_encoder_is_refused(self, bank, tmp_path):
        write_bank(bank, tmp_path / "bank")
        with pytest.raises(ModelLoadError, match=r"built with the pair encoder eeeeeeeeeeee, not with ffff"):
            read_bank(tmp_path / "bank", encoder="f" * 64)

    def test_a_missing_bank_is_explained(self, tmp_path):
        with pytest.raises(ModelLoadError, match=r"No phrase bank at .*train bank"):
            read_bank(tmp_path / "bank", encoder="e")

    @pytest.mark.parametrize("keep", [0, 7, 300, -5])
    def test_a_cut_bank_is_refused_in_one_sentence(self, bank, tmp_path, keep):
        write_bank(bank, tmp_path / "bank")
        (tmp_path / "bank").write_bytes((tmp_path / "bank").read_bytes()[:keep])
        with pytest.raises(ModelLoadError, match=r"cannot be read \(.+\): restore it\."):
            read_bank(tmp_path / "bank", encoder=bank.encoder)


class TestLanguages:
    TEXTS = ("machine learning", "apprentissage automatique", "internet", "internet")

    @pytest.fixture
    def bank(self) -> PhraseBank:
        vectors = torch.eye(WIDTH)[[0, 0, 1, 1]]
        languages = ["en", "fr", "en", "fr"]
        return PhraseBank.build(self.TEXTS, np.zeros(4), vectors, encoder="e" * 64, languages=languages)

    @pytest.mark.parametrize(
        ("language", "expected"), [("en", [0, 2]), ("", [0, 2]), ("fr", [1, 3]), ("de", [])]
    )
    def test_a_document_gets_terms_of_its_own_language(self, bank, tmp_path, language, expected):
        write_bank(bank, tmp_path / "bank")
        opened = read_bank(tmp_path / "bank", encoder=bank.encoder)
        assert opened.spoken == {"en", "fr"}
        for one in (bank, opened):
            [found] = one.search(np.eye(WIDTH, dtype=np.float32)[:1], 4, languages=[language])
            assert [term.text for term in found] == [self.TEXTS[number] for number in expected]

    @pytest.mark.parametrize(("language", "expected"), [("en", (2,)), ("fr", (3,)), ("de", ())])
    def test_a_text_holds_terms_of_its_own_language(self, bank, language, expected):
        assert bank.terms.read(Document("L’internet", language=language)).numbers == expected
        assert bank.terms.number("Internet", language) == next(iter(expected), None)

    def test_a_bank_without_languages_is_english(self):
        assert bank_of(3).spoken == {"en"}
        assert bank_of(3).search(np.eye(WIDTH, dtype=np.float32)[:1], 4, languages=["fr"]) == [[]]

    def test_each_term_needs_a_language(self):
        with pytest.raises(ValueError, match="2 vectors, 1 languages"):
            PhraseBank.build(["a", "b"], np.zeros(2), torch.eye(2), encoder="e", languages=["en"])


class TestTerms:
    @pytest.mark.parametrize(
        ("one", "other"), [("Real-time systems", "real time system"), ("CSMA/CA", "csma ca"), ("C++", "c")]
    )
    def test_spellings_of_one_term_have_one_key(self, one, other):
        assert term_key(one) == term_key(other)

    @pytest.mark.parametrize(
        ("keyphrase", "expected"),
        [
            ("Index Terms—", ""),
            ("Index Terms—Deep learning", "Deep learning"),
            ("Keywords: graph kernels.", "graph kernels"),
            ("Additional Key Words and PhrasesBlockchain", "Blockchain"),
            ("Type your keywords here", ""),
            ("keyword search", "keyword search"),
            ("G.1.1 [Numerical Analysis]: Interpolation", ""),
            ("H.5.2 [user interfaces", ""),
            ("D.2 Software Engineering", ""),
            ("H.264", "H.264"),
            ("90c25", ""),
            ("G32", ""),
            ("G20", "G20"),
            ("methods: numerical", ""),
            ("ISM : jets and outflows", ""),
            ("infant, newborn", ""),
            ("environmental, social, and governance", "environmental, social, and governance"),
            ("1,25-dihydroxyvitamin D", "1,25-dihydroxyvitamin D"),
            ("h. <digit>", ""),
            ("type <digit> diabetes", ""),
            ("Lambert $W$ function", ""),
            ("individuals with disabilities \\&", "individuals with disabilities"),
            ("Visualization  Pipeline .", "Visualization Pipeline"),
            ("and inclusion", ""),
            ("information and", ""),
            ("OR in sports", "OR in sports"),
            ("Brain Computer Interface (BCI", ""),
            ("e", ""),
            ("7 T", ""),
            ("2019", ""),
            ("5G", "5G"),
            ("C++", "C++"),
            (".NET", ".NET"),
            ("#MeToo", "#MeToo"),
            ("machine learning machine learning", ""),
            ("Lynx lynx", "Lynx lynx"),
            ("It works. We show that it does.", ""),
            ("in this paper we study graph kernels", ""),
        ],
    )
    def test_a_bank_holds_what_a_reader_could_look_up(self, keyphrase, expected):
        assert clean_term(keyphrase) == expected

    @pytest.mark.parametrize(
        ("term", "text"),
        [
            ("COVID-19", "Since COVID19 we"),
            ("COVID-19", "ＣＯＶＩＤ－１９"),
            ("COVID-19", "the COVID‑19 pandemic"),
            ("COVID19", "Covid-19's"),
            ("multi-agent systems", "A multiagent system"),
            ("multiagent systems", "multi agent systems"),
            ("web site", "Websites"),
            ("organisational behaviour", "Organizational behavior"),
        ],
    )
    def test_a_term_is_found_in_other_spellings(self, term, text):
        index = TermIndex([term_key(term)], [term])
        assert index.read(Document(text)).numbers == (0,)

    @pytest.mark.parametrize(("term", "text"), [("IS", "I think"), ("digit", "of <digit> and <digit> cases")])
    def test_what_only_looks_like_a_term_is_none(self, term, text):
        assert TermIndex([term_key(term)], [term]).read(Document(text)).numbers == ()

    def test_a_text_says_which_terms_its_title_has_and_how_often_each_occurs(self):
        index = TermIndex([term_key(text) for text in ("kernel", "graph", "molecule")])
        read = index.read(Document("Kernels of graphs and kernels of molecules", title="Graph kernels"))
        assert (read.numbers, read.counts, read.title) == ((0, 1, 2), (3, 2, 1), (0, 1))
        assert read.title_stems == {"graph", "kernel"}

    def test_a_text_is_searched_for_all_terms_at_once(self):
        index = TermIndex([term_key(text) for text in ("graph kernel", "kernel", "kernels we", "real time")])
        document = Document("We study real-time systems with a kernel.", title="Graph kernels")
        assert index.read(document).numbers == (0, 1, 3)  # "kernels we" would straddle title and body

    @pytest.mark.parametrize(
        ("term", "text", "spelt"),
        [
            ("forest soil", "It rains in the forest. Soil stays dry.", None),
            ("forest soil", "larch forests (soils of clay)", None),
            ("forest soil", "The forest\n\nSoil moisture", None),
            ("forest soil", "Dry forest. Soils of a forest\nand forest\n soils, forest soil", "forest soils"),
            ("real-time system", "Real time systems and more", "Real time systems"),
            ("Alzheimer's disease", "It is Alzheimer's disease", "Alzheimer's disease"),
            ("ELF", "Um elf Prozent", None),
            ("ELF", "Elf Prozent", None),
            ("ELF magnetic fields", "Fields: ELFs, and an ELF magnetic field", "ELF magnetic field"),
            ("ELF", "all in small letters, an elf", "elf"),
            ("Andes", "Rome and Florence", None),
            ("Andes", "Through the Andes", "Andes"),
            ("IT", "Firms buy IT", "IT"),
            ("IT", "all in small letters, as it is", None),
            ("the other", "Seen by the other", None),
            ("the self", "Of the self", "the self"),
        ],
    )
    def test_evidence_is_spelt_as_in_the_text_where_it_is_in_one_piece_and_no_function_word(
        self, term, text, spelt
    ):
        read = TermIndex([term_key(term)], [term]).read(Document(text))
        assert (read.numbers, read.spelt) == ((0,), {0: spelt} if spelt else {})

    @pytest.mark.parametrize(
        "text",
        [
            "[graph kernel]",
            "“graph kernel”",
            "Simple minds [health, graph kernel]",
            "graph_kernel",
            "«graph kernel»",
        ],
    )
    def test_marks_of_any_script_are_left_out(self, text):
        assert TermIndex([term_key("graph kernel")]).read(Document(text)).numbers == (0,)

    @pytest.mark.parametrize("text", ["cafe\u0301 culture", "café culture"])
    def test_accents_that_are_characters_of_their_own_part_no_word(self, text):
        assert TermIndex([term_key(text)]).read(Document(f"The {text} of today")).numbers == (0,)

    def test_a_long_gap_between_two_words_is_looked_at_once(self):
        """Once for each of its blanks would take minutes."""
        text = f"graph{' ' * 250_000}( kernel, graph{' ' * 250_000}kernel"
        read = TermIndex([term_key("graph kernel")]).read(Document(text))
        assert read.spelt == {0: "graph kernel"}

    @given(st.lists(st.sampled_from(["graph", "kernel", "of", "real", "time"]), min_size=1, max_size=9))
    def test_every_run_of_up_to_six_words_is_found(self, words):
        runs = {
            " ".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, min(len(words), a + 6) + 1)
        }
        keys = sorted({term_key(run) for run in runs})
        assert TermIndex(keys).read(Document(" ".join(words))).numbers == tuple(range(len(keys)))


def test_associations_of_very_many_documents_are_no_whole_numbers_that_overflow():
    pair = [np.array([value], dtype=np.int32) for value in (0, 1, 3_000)]
    associations = Associations(np.array([9_990, 9_990], dtype=np.int32), *pair, documents=3_000_000)
    votes = associations.votes([0], np.ones(1, dtype=np.float32))
    assert votes.tolist() == pytest.approx([0, math.log1p(3_000 * 3_000_000 / 10_000**2)])
