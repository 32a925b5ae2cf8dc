"""Training data and configuration; the training of the tagger and of the document frequencies."""

import gzip
import json
import lzma
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.candidates.mining import mine_candidates
from kpdemo.candidates.tagger import load_tagger
from kpdemo.config import DEFAULT_CONFIG, load_section
from kpdemo.errors import ConfigError, InputError, TrainingError
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.encoder import load_tokenizer
from kpdemo.simckp.extractor import collate
from kpdemo.training import run
from kpdemo.training.data import Source, load_arrays, read_source, save_arrays, validation_documents
from kpdemo.training.examples import (
    ExampleCache,
    ExampleSettings,
    cached_examples,
    gold_candidates,
    label_document,
)
from kpdemo.training.fine_tuning import ExtractorTraining, extractor_identity
from kpdemo.training.frequency import FrequencyConfig
from kpdemo.training.generator import GeneratorTraining
from kpdemo.training.loop import LoopConfig
from kpdemo.training.multilingual.generator import RamkgTraining
from kpdemo.training.multilingual.rgit import MultilingualTraining
from kpdemo.training.phrase_bank import BankTraining, bank_identity
from kpdemo.training.reranker import RerankerTraining, reranker_identity
from kpdemo.training.tagger import TaggerConfig, train_tagger
from kpdemo.training.terms import cached_terms, collect_terms
from kpdemo.types import Document
from tests.tiny import tiny_bert

DEFAULT = Path(__file__).parents[2] / "configs" / "default.toml"

ROWS = [
    {"id": "a1", "abstract": "Graph kernels compare molecules.", "keyphrases": ["graph kernel"], "cs": True},
    {"id": "a2", "abstract": "Neural networks learn words.", "keyphrases": ["neural network"], "cs": False},
    {"id": "thesis-1", "abstract": "A boundary integral equation.", "keyphrases": ["equation"], "cs": True},
    {"id": "a3", "abstract": "Scalar potential of fields.", "keyphrases": [], "cs": True},
    {"id": "a4", "abstract": "Documents and phrases of words.", "keyphrases": ["nothing of it"], "cs": True},
]


@pytest.fixture
def folder(tmp_path):
    with lzma.open(tmp_path / "docs.jsonl.xz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in ROWS)
    return tmp_path


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> ExampleSettings:
    backbone = tiny_bert(tmp_path_factory.mktemp("backbone"))
    return ExampleSettings(str(backbone), 64, 16, CandidateConfig())


def ids(source, folder):
    return [document.id for document in read_source(source, folder)]


def test_a_source_filters_by_field_id_and_number(folder):
    path = "docs.jsonl.xz"
    assert ids(Source(path), folder) == ["a1", "a2", "thesis-1", "a4"]  # a3 has no gold
    assert ids(Source(path, where={"cs": True}), folder) == ["a1", "thesis-1", "a4"]
    assert ids(Source(path, skip_ids="thesis"), folder) == ["a1", "a2", "a4"]
    assert ids(Source(path, limit=2), folder) == ["a1", "a2"]
    every = ids(Source(path), folder)
    assert ids(Source(path, skip=1), folder) == every[1:]
    assert ids(Source(path, skip=1, every=2, limit=1), folder) == [every[1]]
    assert ids(Source(path, skip=99), folder) == []
    assert ids(Source(path, every=2), folder) == ["a1", "thesis-1"]


def test_training_reads_markup_as_models_do_and_plain_text_as_it_stands(tmp_path):
    row = {
        "title": "R&amp;D",
        "abstract": "<i>E.</i> coli binds CO<sub>2</sub>.",
        "keyphrases": ["CO<sub>2</sub>"],
    }
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (row, ROWS[0])))
    marked, plain = read_source(Source("docs.jsonl"), tmp_path)
    assert (marked.title.strip(), marked.body.split()) == ("R&D", ["E.", "coli", "binds", "CO2."])
    assert marked.keyphrases == ("CO2",)
    assert plain == Document(ROWS[0]["abstract"], id="a1", keyphrases=("graph kernel",))
    assert [term.text for term in collect_terms([Source("docs.jsonl")], tmp_path, minimum=1).terms] == [
        "CO2",
        "graph kernel",
    ]


def test_a_missing_source_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.jsonl"):
        read_source(Source("nothing.jsonl"), tmp_path)


def test_data_that_is_missing_is_told_before_an_encoder_is_looked_for(monkeypatch, tmp_path):
    monkeypatch.setattr("kpdemo.training.extractor.load_backbone", lambda *_, **__: pytest.fail("looked for"))
    with pytest.raises(ConfigError, match=r"No training data at .*bibkp\.train\.jsonl\.xz"):
        run("extractor", DEFAULT_CONFIG, output=None, overrides={"data": str(tmp_path)})


def test_a_file_in_place_of_another_of_its_size_is_other_data(tmp_path):
    """Neither its terms nor a run that learnt from the other one are taken for its own."""
    source, rows = Source("docs.jsonl"), [{"id": "a", "abstract": "x", "keyphrases": ["one", "two"]}]
    kinds = (
        ExtractorTraining(train=(source,), validation=source, loop=LoopConfig(8), data=tmp_path),
        BankTraining(terms=(source,), train=(source,), validation=source, loop=LoopConfig(8), data=tmp_path),
        RerankerTraining(train=(source,), validation=source, loop=LoopConfig(8), data=tmp_path),
    )
    identities = (extractor_identity, bank_identity, reranker_identity)
    seen = []
    for word in ("one", "six"):
        (tmp_path / "docs.jsonl").write_text(json.dumps(rows[0]).replace("one", word) + "\n")
        terms = cached_terms([source], tmp_path, tmp_path / "cache", minimum=1)
        assert {term.text for term in terms.terms} == {word, "two"}
        seen.append([identity(kind) for identity, kind in zip(identities, kinds, strict=True)])
    assert all(first != second for first, second in zip(*seen, strict=True))


def test_a_run_goes_on_in_another_style_which_only_its_card_tells(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "x"}\n')
    source = Source("docs.jsonl")
    untold = ExtractorTraining(train=(source,), validation=source, loop=LoopConfig(8), data=tmp_path)
    assert extractor_identity(untold) == extractor_identity(replace(untold, style="author keywords"))


def test_a_generator_goes_on_with_another_search_which_only_measures_it(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "x"}\n')
    source = Source("docs.jsonl")
    begun = GeneratorTraining(train=(source,), validation=source, loop=LoopConfig(8), data=tmp_path)
    for measured in ({"over_generated": 7}, {"search": SearchConfig(beams=3)}):
        assert extractor_identity(replace(begun, **measured)) == extractor_identity(begun)
    assert extractor_identity(replace(begun, contrastive_weight=1.0)) != extractor_identity(begun)


def test_gold_is_found_by_stem_and_without_hyphens():
    document = Document("Long-term memories fade.", keyphrases=("long term memory", "fading"))
    mined = mine_candidates(document, load_tagger())
    labelled = {
        candidate.key for candidate, gold in zip(mined, gold_candidates(document, mined), strict=True) if gold
    }
    assert labelled == {"long term memori", "fade"}


def test_the_cache_gives_back_what_was_put_in(settings, tmp_path):
    tokenizer = load_tokenizer(settings.tokenizer).backend_tokenizer
    documents = [Document(row["abstract"], keyphrases=tuple(row["keyphrases"])) for row in ROWS]
    labelled = [label_document(document, settings, tokenizer) for document in documents]
    cache = ExampleCache.build((item, 2) for item in labelled)
    cache.save(tmp_path / "cache.npz")
    read = ExampleCache.load(tmp_path / "cache.npz")
    taught = [item for item in labelled if item.positive.any() or item.absent]
    assert len(read) == len(taught) == 4  # the fourth document has no gold
    assert read.repeats.tolist() == [2, 2, 2, 2]
    assert read.extractable.tolist() == [True, True, True, False]
    assert read.generatable.tolist() == [False, False, False, True]
    for index, item in enumerate(taught):
        stored = read[index]
        assert stored.example.windows[0].tolist() == item.example.windows[0].tolist()
        assert stored.positive.tolist() == item.positive.tolist()
        assert [tokens.tolist() for *_, tokens in stored.example.rows] == [
            t.tolist() for *_, t in item.example.rows
        ]
        np.testing.assert_allclose(stored.example.features, item.example.features, atol=1e-3)
        assert [tokens.tolist() for tokens in stored.absent] == [tokens.tolist() for tokens in item.absent]
    assert tokenizer.decode(read.absent_tokens) == "nothing of it"


def test_a_cache_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path, fsync, seen = tmp_path / "new" / "cache.npz", os.fsync, []
    monkeypatch.setattr(os, "fsync", lambda number: (seen.append(path.exists()), fsync(number)))
    save_arrays(path, {"ones": np.ones(3)})
    assert (seen, load_arrays(path)["ones"].tolist()) == ([False], [1, 1, 1])


def test_a_batch_cut_from_the_cache_is_the_one_put_together_by_items(settings):
    tokenizer = load_tokenizer(settings.tokenizer).backend_tokenizer
    documents = [Document(row["abstract"], keyphrases=tuple(row["keyphrases"])) for row in ROWS]
    cache = ExampleCache.build((label_document(document, settings, tokenizer), 1) for document in documents)
    numbers = [3, 0, 2, 0]
    items = [cache[number] for number in numbers]
    together = collate([item.example for item in items], padding=7)
    cut = cache.batch(numbers, padding=7)
    assert cut.documents == together.documents
    assert cut.positive.tolist() == np.concatenate([item.positive for item in items]).tolist()
    for name, value in vars(together).items():
        if name not in ("documents", "positive"):
            torch.testing.assert_close(getattr(cut, name), value, rtol=0, atol=0)


def test_training_documents_of_which_none_is_left_are_told(folder, settings):
    for chosen in ((), (Source("docs.jsonl.xz", where={"cs": "nobody"}),)):
        with pytest.raises(ConfigError, match="No training document has a keyphrase and a candidate"):
            cached_examples(chosen, folder, settings, folder / "cache", documents=10, seed=1)


def test_validation_documents_of_which_none_is_left_are_told(folder):
    source = Source("docs.jsonl.xz", where={"cs": "nobody"})
    with pytest.raises(ConfigError, match=r"^docs\.jsonl\.xz has no validation document with a keyphrase"):
        validation_documents([source], folder)


def test_a_seed_below_zero_is_refused():
    with pytest.raises(ConfigError, match=r"\[bank\] loop\.seed: .* greater than or equal to 0, not -1"):
        load_section(DEFAULT_CONFIG, "bank", BankTraining, {"loop.seed": "-1"})


def test_examples_are_made_once_and_again_when_the_settings_change(folder, settings, monkeypatch):
    sources = (Source("docs.jsonl.xz"), Source("docs.jsonl.xz", where={"cs": False}, repeat=3))

    def examples(seed):
        return cached_examples(sources, folder, settings, folder / "cache", documents=10, seed=seed)

    first = examples(1)
    assert sorted(first.repeats.tolist()) == [1, 1, 1, 1, 3]
    monkeypatch.setattr("kpdemo.training.examples.in_groups", lambda *_, **__: pytest.fail("made again"))
    assert examples(1).lengths.tolist() == first.lengths.tolist()
    with pytest.raises(pytest.fail.Exception, match="made again"):
        examples(2)


def test_examples_are_told_apart_by_the_tokenizer_and_not_by_its_name(folder, settings, monkeypatch):
    for place in ("one", "two"):
        shutil.copytree(settings.tokenizer, folder / place / "backbone")
    described = folder / "two" / "backbone" / "tokenizer.json"
    content = json.loads(described.read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    described.write_text(json.dumps(content), encoding="utf-8")

    def caches(place, name):
        monkeypatch.chdir(folder / place)
        load_tokenizer.cache_clear()  # as in another process
        asked = replace(settings, tokenizer=name)
        cached_examples((Source("docs.jsonl.xz"),), folder, asked, folder / "cache", documents=10, seed=1)
        return len(list((folder / "cache").iterdir()))

    assert caches("one", "backbone") == 1
    assert caches("two", "backbone") == 2
    assert caches("two", "../one/backbone") == 2


SENTENCES = [
    [
        ["The", "DT"],
        ["graph", "NN"],
        ["kernels", "NNS"],
        ["compare", "VBP"],
        ["molecules", "NNS"],
        [".", "."],
    ],
    [
        ["A", "DT"],
        ["well", "RB"],
        ["-", "HYPH"],
        ["known", "VBN"],
        ["model", "NN"],
        ["learns", "VBZ"],
        [".", "."],
    ],
] * 10


def write_sentences(path, lines):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def test_a_tagger_is_trained_stored_and_the_same_every_time(tmp_path):
    path = write_sentences(tmp_path / "train.jsonl.gz", SENTENCES)
    accuracies = [
        train_tagger(TaggerConfig(train=(path,), test=(path,), output=tmp_path / name, passes=3))
        for name in ("one.json.gz", "two.json.gz")
    ]
    assert accuracies[0] == {str(path): 1.0}
    assert (tmp_path / "one.json.gz").read_bytes() == (tmp_path / "two.json.gz").read_bytes()
    assert load_tagger(tmp_path / "one.json.gz").tag(["the", "well", "-", "known", "kernels"])[2] == "HYPH"


def test_a_broken_treebank_line_is_named(tmp_path):
    path = write_sentences(tmp_path / "train.jsonl.gz", [SENTENCES[0], {"word": 1}])
    with pytest.raises(InputError, match=r"line 2: .*\); fix or remove the line\.$"):
        train_tagger(TaggerConfig(train=(path,), output=tmp_path / "tagger.json.gz"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b'[["kernels", "NNS"]]\n' * 9)[:-9], "compressed file is damaged"),
        (b'[["kernels", "NNS"]]\n', "compressed file is damaged"),
        (gzip.compress(b""), "without a sentence"),
        (gzip.compress(b"[]\n"), "without a sentence"),
        (gzip.compress(b"[" * 100_000), "nested too deeply"),
    ],
    ids=["cut off", "plain", "empty", "no words", "nested"],  # compressed bytes hold the time
)
@pytest.mark.parametrize("place", ["train", "test"])
def test_a_treebank_that_cannot_be_used_is_named_before_the_training(tmp_path, content, said, place):
    paths = {
        "train": write_sentences(tmp_path / "good.jsonl.gz", SENTENCES),
        place: tmp_path / "bad.jsonl.gz",
    }
    paths[place].write_bytes(content)
    chosen = {name: (path,) for name, path in paths.items()}
    with pytest.raises(InputError, match=rf"bad\.jsonl\.gz\b.*{said}"):
        train_tagger(TaggerConfig(**chosen, output=tmp_path / "tagger.json.gz"))
    assert not (tmp_path / "tagger.json.gz").exists()


def test_a_tagger_needs_a_treebank(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[tagger]\ntrain = []\n")
    with pytest.raises(ConfigError, match=r"\[tagger\] train: List should have at least 1"):
        load_section(path, "tagger", TaggerConfig)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("limit = 99999999999999999999", "train.0.limit"),
        ("every = 99999999999999999999", "train.0.every"),
        (f"limit = 0x{'f' * 9_000}", "train.0.limit"),
        ("where = { year = nan }", "train.0.where.year"),
    ],
)
def test_a_number_that_no_library_takes_is_refused_by_its_name(tmp_path, content, place):
    path = tmp_path / "config.toml"
    path.write_text(f'[frequency]\ndata = "."\n[[frequency.train]]\npath = "docs.jsonl"\n{content}\n')
    with pytest.raises(ConfigError, match=rf"\[frequency\] {place}: not a usable number.*\(.{{1,100}}\);"):
        load_section(path, "frequency", FrequencyConfig)


@pytest.mark.parametrize("value", ["9" * 9_000, "[" * 9_000, "nan", "-inf", "9" * 30])
def test_a_setting_that_cannot_be_read_is_refused(tmp_path, value):
    path = tmp_path / "config.toml"
    path.write_text('[tagger]\ntrain = ["a.gz"]\n')
    with pytest.raises(ConfigError, match=r"\[tagger\] passes: .{1,250}$"):
        load_section(path, "tagger", TaggerConfig, {"passes": value})
    path.write_text(f"[tagger]\npasses = {value}\n")
    with pytest.raises(ConfigError, match=r"not a TOML file|not a usable number"):
        load_section(path, "tagger", TaggerConfig)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY"])
def test_a_damaged_file_of_a_cache_is_named(tmp_path, content):
    path = tmp_path / "examples.npz"
    path.write_bytes(content)
    with pytest.raises(TrainingError, match=r"examples\.npz cannot be read \(.+\): delete it"):
        load_arrays(path)


def test_frequencies_are_trained_from_the_configuration(tmp_path):
    texts = ["graph kernels everywhere"] * 20 + ["other words"] * 30
    rows = [{"id": str(n), "abstract": text, "keyphrases": ["x"]} for n, text in enumerate(texts)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = tmp_path / "config.toml"
    config.write_text(f'[frequency]\ndata = "{tmp_path}"\n[[frequency.train]]\npath = "docs.jsonl"\n')
    run("frequency", config, output=tmp_path / "out.json.gz", overrides={})
    with gzip.open(tmp_path / "out.json.gz") as file:
        assert json.load(file)["terms"]["graph kernel"] == 20


class TestConfig:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "config.toml"
        path.write_text('[tagger]\ntrain = ["a.gz"]\npasses = 4\n')
        return path

    def test_overrides_are_toml_values_or_strings(self, path):
        config = load_section(path, "tagger", TaggerConfig, {"passes": "7", "output": "here.gz"})
        assert (config.passes, str(config.output)) == (7, "here.gz")

    @pytest.mark.parametrize(
        ("overrides", "message"),
        [
            ({"pases": "7"}, "pases"),
            ({"passes": "many"}, "passes"),
            ({"passes": "0"}, "passes"),
            ({"train": "1"}, "train"),
            ({"passes.x": "1"}, "passes"),
        ],
    )
    def test_a_wrong_key_or_value_is_named(self, path, overrides, message):
        with pytest.raises(ConfigError, match=message):
            load_section(path, "tagger", TaggerConfig, overrides)

    @pytest.mark.parametrize(
        ("key", "value", "place"),
        [("dropout", "3", "dropout"), ("train", '[{ path = "a", every = 0 }]', "train.0.every")],
    )
    def test_a_setting_is_called_by_its_own_name(self, path, key, value, place):
        path.write_text('[extractor]\nloop.documents = 1\ntrain = []\nvalidation.path = "b"\n')
        with pytest.raises(ConfigError, match=rf"\[extractor\] {place}: Input should be "):
            load_section(path, "extractor", ExtractorTraining, {key: value})

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            ("pre", "a valid number or 'pretrained', not 'pre'."),
            ("2", "less than or equal to 1 or 'pretrained', not 2."),
        ],
    )
    def test_a_setting_of_a_number_or_a_word_tells_both(self, path, value, said):
        path.write_text('[extractor]\nloop.documents = 1\ntrain = []\nvalidation.path = "b"\n')
        with pytest.raises(ConfigError) as refusal:
            load_section(path, "extractor", ExtractorTraining, {"dropout": value})
        assert str(refusal.value) == f"{path}, [extractor] dropout: Input should be {said}"

    def test_missing_files_sections_and_broken_toml_are_explained(self, path, tmp_path):
        with pytest.raises(ConfigError, match="No configuration"):
            load_section(tmp_path / "none.toml", "tagger", TaggerConfig)
        with pytest.raises(ConfigError, match=r"no section \[reranker\]"):
            load_section(path, "reranker", TaggerConfig)
        path.write_text("[tagger\n")
        with pytest.raises(ConfigError, match="not a TOML file"):
            load_section(path, "tagger", TaggerConfig)

    def test_an_unknown_part_is_explained(self, path):
        with pytest.raises(ConfigError, match="no part 'decoder'"):
            run("decoder", path, output=None, overrides={})


@pytest.mark.parametrize(
    ("section", "kind", "wrong"),
    [
        ("extractor", ExtractorTraining, "shares=[1.5]"),
        ("extractor", ExtractorTraining, "pool=0"),
        ("bank", BankTraining, "minimum=-1"),
        ("bank", BankTraining, "dropout=2.0"),
        ("reranker", RerankerTraining, "skip=-1"),
        ("reranker", RerankerTraining, "learning_rate=0.0"),
    ],
)
def test_a_number_out_of_its_range_is_refused_by_name(section, kind, wrong):
    key, _, value = wrong.partition("=")
    with pytest.raises(ConfigError, match=key):
        load_section(DEFAULT, section, kind, {key: value})


@pytest.mark.parametrize(
    ("file", "kind", "key", "value", "said"),
    [
        (
            "multilingual",
            MultilingualTraining,
            "languages",
            "[]",
            "List should have at least 1 item, not [].",
        ),
        ("ramkg_mbart", RamkgTraining, "dropout", "7", "Input should be less than or equal to 1 or 'pretra"),
    ],
)
def test_a_model_for_no_language_and_a_share_above_one_are_refused(file, kind, key, value, said):
    section = file.replace("ramkg_mbart", "ramkg-generator")
    with pytest.raises(ConfigError, match=rf"\[{section}\] {key}: {re.escape(said)}"):
        load_section(DEFAULT.with_name(f"{file}.toml"), section, kind, {key: value})


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("repeat = 0", r"train\.0\.repeat: Input should be greater than or equal to 1, not 0"),
        ("every = 0", r"train\.0\.every: Input should be greater than or equal to 1, not 0"),
        ("limit = -1", r"train\.0\.limit: Input should be greater than or equal to 1, not -1"),
        (
            'skip_ids = "("',
            r"\[frequency\] train\.0: `skip_ids` of a is not a regular expression \(.*\): correct '\('\.$",
        ),
    ],
)
def test_a_source_out_of_its_range_is_refused_by_name(tmp_path, setting, told):
    (tmp_path / "config.toml").write_text(f'[frequency]\ntrain = [{{ path = "a", {setting} }}]\n')
    with pytest.raises(ConfigError, match=told):
        load_section(tmp_path / "config.toml", "frequency", FrequencyConfig)
