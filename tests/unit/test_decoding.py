"""Beam search, the cached decoder, and over-generation of absent keyphrases."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kpdemo.errors import ConfigError, KpdemoError
from kpdemo.simckp import pretrained_decoder
from kpdemo.simckp.beam_search import Beam, SearchConfig, beam_search
from kpdemo.simckp.decoder import (
    END,
    SEPARATOR,
    DecoderConfig,
    Decoding,
    KeyphraseDecoder,
    Memory,
    TargetVocabulary,
    shift_right,
)
from kpdemo.simckp.encoder import add_separator, load_encoder_decoder
from kpdemo.simckp.extractor import encoder_of
from kpdemo.simckp.generator import GeneratedPhrase, generated_phrases, join_tokenised, over_generate
from kpdemo.simckp.pretrained_decoder import PretrainedDecoder
from kpdemo.text import StemmedText, phrase_key
from kpdemo.types import Document
from tests.tiny import tiny_bart, tiny_bert, tiny_generator

CPU = torch.device("cpu")
WIDTH = 16


def memory(documents: int = 3, tokens: int = 9) -> Memory:
    """Random hidden states of documents of unlike lengths."""
    random = torch.Generator().manual_seed(5)
    lengths = torch.arange(tokens, tokens - 2 * documents, -2)
    return Memory(
        hidden=torch.randn(documents, tokens, WIDTH, generator=random),
        input_ids=torch.randint(5, 50, (documents, tokens), generator=random),
        mask=(torch.arange(tokens) < lengths[:, None]).long(),
        words=torch.randn(60, WIDTH, generator=random) * 0.3,
    )


def small_decoder(*, copy: bool = True, longest: int = 12) -> KeyphraseDecoder:
    torch.manual_seed(1)
    config = DecoderConfig(layers=2, heads=2, feed_forward=32, longest=longest, copy=copy)
    decoder = KeyphraseDecoder(config, WIDTH, torch.arange(5, 40)).eval()
    with torch.no_grad():
        decoder.bias.normal_(std=2.0)  # otherwise nothing is likely, least of all an end
    return decoder


class Toy:
    """What follows an id depends on the id and the position alone: (L, V, V) log-probabilities."""

    def __init__(self, table: torch.Tensor) -> None:
        self._table, self._position = table, -1

    def step(self, tokens):
        self._position += 1
        return self._table[self._position][tokens]

    def reorder(self, origin):
        pass


class Rereading:
    """A decoder without a cache: every step reads the whole sequence anew."""

    def __init__(self, decoder, read: Memory) -> None:
        self._decoder, self._memory = decoder, read
        self._written = torch.zeros(0)

    def step(self, tokens):
        tokens = tokens.unsqueeze(-1)
        self._written = torch.cat([self._written, tokens], dim=-1) if self._written.numel() else tokens
        beams = tokens.shape[1]
        return torch.stack(
            [
                self._decoder(written, self._memory.rows(torch.full((beams,), number)))[:, -1]
                for number, written in enumerate(self._written)
            ]
        )

    def reorder(self, origin):
        self._written = torch.stack(
            [rows[chosen] for rows, chosen in zip(self._written, origin, strict=True)]
        )


def ended(beam):
    return len(beam.log_probabilities) > len(beam.ids)


class TestBeamSearch:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 2.0]), st.sampled_from([0, 2]))
    def test_with_room_for_all_it_finds_what_trying_all_finds(self, seed, length_penalty, no_repeat):
        end, ids, longest = 0, 3, 4
        table = torch.randn(longest, ids, ids, generator=torch.Generator().manual_seed(seed)).log_softmax(-1)
        config = SearchConfig(
            beams=90,
            longest=longest,
            no_repeat=no_repeat,
            length_penalty=length_penalty,
            early_stopping=False,
        )
        [found] = beam_search(Toy(table), config, documents=1, start=end, end=end, device=CPU)
        expected = {}
        for length in range(1, longest + 1):
            for written in itertools.product(range(ids), repeat=length):
                whole = (end, *written)
                pairs = list(itertools.pairwise(whole))
                if end in written[:-1] or (length < longest and written[-1] != end):
                    continue
                if no_repeat and len(pairs) != len(set(pairs)):
                    continue
                gains = [float(table[place][a][b]) for place, (a, b) in enumerate(pairs)]
                expected[written] = sum(gains) / length**length_penalty
        assert {beam.ids + ((end,) if ended(beam) else ()): beam.score for beam in found} == pytest.approx(
            expected
        )
        assert [beam.score for beam in found] == sorted((beam.score for beam in found), reverse=True)

    def test_a_narrow_search_keeps_the_best_of_each_step(self):
        # greedy takes 1 (.6) and then the end (.3); two beams find 2 (.4) and then the end (.9)
        steps = torch.tensor([[[0.0, 0.6, 0.4]] * 3, [[1.0, 0, 0], [0.3, 0.3, 0.4], [0.9, 0.05, 0.05]]]).log()
        found = {}
        for beams in (1, 2):
            config = SearchConfig(beams=beams, longest=2, no_repeat=0, length_penalty=0.0)
            [best, *_], *_ = beam_search(Toy(steps), config, documents=1, start=0, end=0, device=CPU)
            found[beams] = (best.ids, math.exp(best.score))
        assert found[1] == ((1, 2), pytest.approx(0.24))
        assert found[2] == ((2,), pytest.approx(0.36))

    @pytest.mark.parametrize("early_stopping", [True, False])
    @pytest.mark.parametrize("length_penalty", [0.0, 0.5, 1.0])
    def test_it_finds_what_transformers_finds(self, bart, early_stopping, length_penalty):
        decoder, read = bart
        config = SearchConfig(
            beams=6, longest=9, length_penalty=length_penalty, early_stopping=early_stopping
        )
        with torch.inference_mode():
            theirs = decoder.search(read, config)
            ours = beam_search(Rereading(decoder, read), config, documents=3, start=2, end=2, device=CPU)
        assert any(ended(beam) for beams in theirs for beam in beams)
        for one, other in zip(ours, theirs, strict=True):
            assert [beam.ids for beam in one] == [beam.ids for beam in other]
            assert [ended(beam) for beam in one] == [ended(beam) for beam in other]
            for mine, its in zip(one, other, strict=True):
                assert mine.log_probabilities == pytest.approx(its.log_probabilities, abs=1e-4)
                assert mine.score == pytest.approx(its.score, abs=1e-4)

    def test_log_probabilities_are_the_same_however_few_sequences_are_read_together(self, bart, monkeypatch):
        decoder, read = bart
        sequences = torch.randint(5, 40, (6, 7), generator=torch.Generator().manual_seed(1))  # two a document
        monkeypatch.setattr(pretrained_decoder, "_MOST_LOGITS", 1)
        with torch.inference_mode():
            found = pretrained_decoder.log_probabilities(decoder.model, read.hidden, read.mask, sequences)
            given = decoder(sequences[:, :-1], read.rows(torch.tensor([0, 0, 1, 1, 2, 2])))
        assert torch.allclose(found, given.gather(2, sequences[:, 1:, None])[..., 0], atol=1e-4)

    @pytest.mark.parametrize("options", [{"beams": 0}, {"longest": 0}, {"no_repeat": -1}])
    def test_impossible_settings_are_refused(self, options):
        with pytest.raises(ConfigError, match=next(iter(options))):
            SearchConfig(**options)


@pytest.fixture(scope="module")
def bart(tmp_path_factory) -> tuple[PretrainedDecoder, Memory]:
    """A BART that is sure of some things, and three documents as it has read them."""
    torch.manual_seed(0)
    model, tokenizer = load_encoder_decoder(str(tiny_bart(tmp_path_factory.mktemp("bart"))))
    separator = add_separator(model, tokenizer, "<sep>")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(6)
    model.generation_config.forced_bos_token_id = 0  # as facebook/bart-base comes
    model.generation_config.no_repeat_ngram_size = 3
    model.generation_config.min_length = 20
    decoder = PretrainedDecoder(model, separator).eval()
    encoder, shape = encoder_of(model), memory()
    ids = shape.input_ids
    with torch.no_grad():
        hidden = encoder(input_ids=ids, attention_mask=shape.mask).last_hidden_state
    return decoder, Memory(hidden, ids, shape.mask, encoder.get_input_embeddings().weight)


class TestDecoder:
    @pytest.mark.parametrize("copy", [True, False])
    def test_probabilities_sum_to_one(self, copy):
        inputs = torch.randint(0, 37, (3, 6), generator=torch.Generator().manual_seed(2))
        read = memory()
        nothing_to_copy = replace(read, input_ids=torch.full_like(read.input_ids, 50))
        for source in (read, nothing_to_copy):
            total = small_decoder(copy=copy)(inputs, source).exp().sum(-1)
            torch.testing.assert_close(total, torch.ones(3, 6))

    @pytest.mark.parametrize("copy", [True, False])
    def test_step_by_step_it_gives_what_it_gives_at_once(self, copy):
        decoder, read = small_decoder(copy=copy), memory()
        beams = torch.randint(0, 37, (3, 2, 7), generator=torch.Generator().manual_seed(3))
        with torch.inference_mode():
            decoding = Decoding(decoder, read)
            steps = torch.stack([decoding.step(beams[..., place]) for place in range(7)], dim=2)
            for beam in range(2):
                torch.testing.assert_close(steps[:, beam], decoder(beams[:, beam], read), atol=1e-5, rtol=0)

    def test_a_search_with_the_cache_finds_what_one_without_finds(self):
        decoder, read = small_decoder(), memory()
        config = SearchConfig(beams=7, longest=12)
        with torch.inference_mode():
            cached = decoder.search(read, config)
            plain = beam_search(Rereading(decoder, read), config, documents=3, start=END, end=END, device=CPU)
        for one, other in zip(cached, plain, strict=True):
            assert [beam.ids for beam in one] == [beam.ids for beam in other]
            assert [beam.score for beam in one] == pytest.approx([beam.score for beam in other], abs=1e-5)

    def test_company_and_padding_change_nothing(self):
        decoder, read = small_decoder(), memory()
        config = SearchConfig(beams=5, longest=8)
        with torch.inference_mode():
            together = decoder.search(read, config)
            for number, beams in enumerate(together):
                row = read.rows(torch.tensor([number]))
                length = int(row.mask.sum())
                alone = Memory(
                    row.hidden[:, :length], row.input_ids[:, :length], row.mask[:, :length], row.words
                )
                [expected] = decoder.search(alone, config)
                assert [beam.ids for beam in beams] == [beam.ids for beam in expected]

    def test_the_log_probabilities_of_a_beam_are_those_of_its_ids(self):
        decoder, read = small_decoder(), memory()
        with torch.inference_mode():
            for number, beams in enumerate(decoder.search(read, SearchConfig(beams=4, longest=12))):
                for beam in beams:
                    targets = torch.tensor([[*beam.ids, *([END] if ended(beam) else [])]])
                    given = decoder(shift_right(targets, END), read.rows(torch.tensor([number])))[0]
                    gains = given.gather(1, targets[0].unsqueeze(1)).squeeze(1).tolist()
                    assert beam.log_probabilities == pytest.approx(gains, abs=1e-5)
                    assert beam.score == pytest.approx(sum(gains) / len(gains), abs=1e-5)

    def test_what_is_copied_is_a_word_of_the_document(self):
        decoder, read = small_decoder(), memory()
        with torch.no_grad():
            decoder.copying.gate.bias.fill_(50.0)  # copy always
            given = decoder(torch.zeros(3, 1, dtype=torch.long), read).exp()[:, 0]
        for row, ids, mask in zip(given, read.input_ids, read.mask, strict=True):
            words = {int(token) - 5 + 2 for token in ids[mask.bool()] if 5 <= token < 40}
            assert set((row > 1e-6).nonzero().flatten().tolist()) <= words

    @pytest.mark.parametrize("options", [{"layers": 0}, {"heads": 0}, {"longest": 0}])
    def test_impossible_sizes_are_refused(self, options):
        with pytest.raises(ConfigError, match=next(iter(options))):
            DecoderConfig(**options)
        with pytest.raises(ConfigError, match="divide the width 16, not 3"):
            KeyphraseDecoder(DecoderConfig(heads=3), WIDTH, torch.arange(5))


class Words:
    """A tokenizer whose ids are places in a list of words."""

    words = ("", "", "graph", "kernels", "kernel", "deep", "learning", "state", "-", "of", "?")

    def decode(self, ids):
        return " ".join(self.words[number] for number in ids)


class TestPhrases:
    vocabulary = TargetVocabulary(END, END, SEPARATOR, tokens=None)

    def phrases(self, *beams: Beam, text: str = "Nothing of it.") -> list[GeneratedPhrase]:
        return generated_phrases(Document(text), beams, self.vocabulary, Words())

    @staticmethod
    def beam(*ids: int, ended: bool = True) -> Beam:
        """The n-th id has a log-probability of -n."""
        count = len(ids) + ended
        return Beam(ids, tuple(-float(place) for place in range(1, count + 1)), 0.0)

    def test_they_come_by_beam_and_place_with_the_log_probability_of_their_own_ids(self):
        found = self.phrases(self.beam(2, 3, SEPARATOR, 5, 6), self.beam(7, SEPARATOR, 2))
        assert found == [
            GeneratedPhrase("graph kernels", -1 - 2 - 3),
            GeneratedPhrase("deep learning", -4 - 5 - 6),
            GeneratedPhrase("state", -1 - 2),
            GeneratedPhrase("graph", -3 - 4),
        ]

    def test_the_same_stems_are_one_phrase_with_the_higher_log_probability(self):
        found = self.phrases(self.beam(7, SEPARATOR, 2, 3), self.beam(2, 4))
        assert found == [GeneratedPhrase("state", -3.0), GeneratedPhrase("graph kernels", -6.0)]

    def test_what_stands_in_the_text_and_what_is_no_word_is_left_out(self):
        beam = self.beam(2, 3, SEPARATOR, 10, SEPARATOR, SEPARATOR, 5, 6)
        found = self.phrases(beam, text="A graph kernel for deep models.")
        assert [phrase.text for phrase in found] == ["deep learning"]

    def test_a_phrase_cut_off_by_the_longest_length_is_left_out(self):
        found = self.phrases(self.beam(2, 3, SEPARATOR, 5, ended=False))
        assert [phrase.text for phrase in found] == ["graph kernels"]

    def test_hyphens_close_up(self):
        assert [phrase.text for phrase in self.phrases(self.beam(7, 8, 9, 8, 2))] == ["state-of-graph"]


DOCUMENTS = [
    Document("Graph kernels compare molecules and proteins by their structure.", title="Kernels"),
    Document("Neural networks learn phrases."),
    Document("Boundary integral equation methods solve the scalar potential. " * 8),
]


@pytest.fixture(scope="module", params=[tiny_bert, tiny_bart], ids=["bert", "bart"])
def generator(request, tmp_path_factory):
    return tiny_generator(request.param(tmp_path_factory.mktemp("backbone")))


SEARCH = SearchConfig(beams=6, longest=10)


class TestOverGeneration:
    def test_every_document_gets_absent_phrases_each_once(self, generator):
        found = list(over_generate(generator, DOCUMENTS, search=SEARCH))
        assert len(found) == len(DOCUMENTS)
        assert any(found)
        for document, phrases in zip(DOCUMENTS, found, strict=True):
            text = StemmedText(document)
            keys = [phrase_key(phrase.text) for phrase in phrases]
            assert len(keys) == len(set(keys))
            assert not any(text.contains(phrase.text) for phrase in phrases)
            assert all(phrase.log_probability < 0 for phrase in phrases)

    def test_documents_are_read_as_they_are_needed(self, generator):
        taken = []
        stream = over_generate(
            generator,
            (taken.append(document) or document for document in DOCUMENTS),
            search=SEARCH,
            batch_size=2,
        )
        next(stream)
        assert len(taken) == 2
        assert len(list(stream)) == 2
        assert len(taken) == 3

    def test_a_batch_that_does_not_fit_is_halved(self, generator, monkeypatch, caplog):
        expected = list(over_generate(generator, DOCUMENTS, search=SEARCH, batch_size=1))
        sizes, search = [], generator.module.decoder.search

        def tight(read, config):
            sizes.append(len(read.hidden))
            if len(read.hidden) > 1:
                raise torch.OutOfMemoryError
            return search(read, config)

        monkeypatch.setattr(generator.module.decoder, "search", tight)
        found = list(over_generate(generator, DOCUMENTS, search=SEARCH))
        assert sizes == [3, 1, 2, 1, 1]
        assert "continuing with 1" in caplog.text
        assert [[phrase.text for phrase in phrases] for phrases in found] == [
            [phrase.text for phrase in phrases] for phrases in expected
        ]

    def test_a_document_that_does_not_fit_alone_is_explained(self, generator, monkeypatch):
        def full(read, config):
            raise torch.OutOfMemoryError

        monkeypatch.setattr(generator.module.decoder, "search", full)
        with pytest.raises(KpdemoError, match="a search with 6 beams"):
            list(over_generate(generator, DOCUMENTS, search=SEARCH))


@pytest.mark.parametrize(
    ("decoded", "written"),
    [
        ("state - of - the - art", "state-of-the-art"),
        ("parkinson ' s disease", "parkinson's disease"),
        ("users ' needs", "users' needs"),
        ("drivers' fatigue", "drivers' fatigue"),
        ("bayes ' theorem", "bayes' theorem"),
        ("james ' s law", "james's law"),
        ("d ' alembert", "d'alembert"),
        ("input / output", "input/output"),
    ],
)
def test_marks_within_a_phrase_stand_as_one_writes_them(decoded, written):
    assert join_tokenised(decoded) == written
