"""The experiments: standard errors, the paper's figures, variants on a tiny encoder, and the page."""

import json
import random
from dataclasses import replace
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
import torch

import kpdemo.training
from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.candidates.tagger import load_tagger
from kpdemo.cli import main
from kpdemo.cli.options import open_predictor
from kpdemo.config import load_section
from kpdemo.errors import ConfigError
from kpdemo.experiments.measuring import ModelRuns, figures, without
from kpdemo.experiments.pages import load_published, write_page
from kpdemo.experiments.results import GoldFile, Results, join_figures
from kpdemo.experiments.variants import DEFAULT_CONFIG, ExperimentsConfig, as_toml
from kpdemo.markup import without_markup
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.encoder import load_backbone
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Selection, SimckpPredictor
from kpdemo.simckp.predictor import Proposer, SystemPredictor, load_system
from kpdemo.statistics import f1_contributions, harmonic_mean, standard_error
from kpdemo.training.extractor import ScoredDocuments
from kpdemo.types import Document, Keyphrase, Prediction
from tests.fakes import FakePredictor
from tests.tiny import tiny_bert, tiny_generator

CONFIG = """
[experiments]
runs = "{folder}/runs"
lengths = [1, 2]

[[experiments.variants]]
name = "contrastive"
tables = ["ablation", "negatives", "ngrams"]

[[experiments.variants]]
name = "binary"
tables = ["ablation"]
set = {{ objective = "binary", "model.head" = "classifier" }}

[[experiments.variants]]
name = "labelling"
part = "labeller"
tables = ["ablation"]

[[experiments.variants]]
name = "generating"
part = "one2seq"
tables = ["ablation"]

[[experiments.variants]]
name = "in-batch"
tables = ["negatives"]
set = {{ negatives = "in-batch" }}

[[experiments.variants]]
name = "random"
tables = ["negatives"]
set = {{ negatives = "random" }}

[experiments.measured.in-domain]
path = "measured.jsonl"

[experiments.measured.out-of-domain]
path = "measured.jsonl"
"""
PART = """
[{part}]
data = "{folder}"
cache = "{folder}/cache"
backbone = "{folder}/backbone"
device = "cpu"

[{part}.model]
window = 64
overlap = 16

[{part}.loop]
documents = 16
evaluate_every = 16

[[{part}.train]]
path = "train.jsonl"

[{part}.validation]
path = "valid.jsonl"
"""
GOLD = ("graph kernels", "neural networks", "boundary integral equation", "scalar potential")


def documents(first: int, count: int) -> list[dict[str, object]]:
    return [
        {
            "id": str(number),
            "title": f"Case {number}",
            "abstract": f"We compare {GOLD[number % 4]} with words. Documents use {GOLD[number % 3]}.",
            "keyphrases": [GOLD[number % 4], GOLD[number % 3], "documents", "absent thing"],
        }
        for number in range(first, first + count)
    ]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    torch.manual_seed(0)
    tiny_bert(tmp_path / "backbone")
    write(tmp_path / "train.jsonl", documents(0, 24))
    write(tmp_path / "valid.jsonl", documents(100, 6))
    write(tmp_path / "measured.jsonl", documents(100, 10))  # the first six chose the threshold
    parts = "".join(PART.format(part=part, folder=tmp_path) for part in ("extractor", "labeller", "one2seq"))
    decoder = "[one2seq.decoder]\nlayers = 1\nheads = 2\nfeed_forward = 32\nlongest = 16\n"
    config = CONFIG.format(folder=tmp_path) + parts + decoder
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")
    return tmp_path


@pytest.fixture
def _models_stay_open(monkeypatch) -> None:
    """To load the model that ships takes longer than all that a test measures with it in several calls."""
    monkeypatch.setattr("kpdemo.cli.experiments.open_predictor", cache(open_predictor))
    monkeypatch.setattr("kpdemo.simckp.predictor.load_system", cache(load_system))


def experiments(folder: Path, name: str, *options: str) -> int:
    settings = ["--config", str(folder / "config.toml"), "--output", str(folder / "results")]
    return main(["experiments", name, *settings, *options])


def stored(folder: Path, name: str) -> dict[str, object]:
    return json.loads((folder / "results" / f"{name}.json").read_text(encoding="utf-8"))


def test_the_standard_error_of_f1_is_that_of_resampled_documents():
    chance = random.Random(0)
    recalls = [chance.random() for _ in range(400)]
    precisions = [0.6 * recall + 0.2 * chance.random() for recall in recalls]
    pairs = list(zip(precisions, recalls, strict=True))
    resampled = []
    for _ in range(600):
        drawn = chance.choices(pairs, k=len(pairs))
        resampled.append(harmonic_mean(fmean(p for p, _ in drawn), fmean(r for _, r in drawn)))
    assert standard_error(f1_contributions(pairs)) == pytest.approx(stdev(resampled), rel=0.1)


def test_standard_errors_by_hand_and_where_there_is_none():
    assert standard_error([0.0, 1.0]) == pytest.approx(0.5)
    assert standard_error(f1_contributions([(0.0, 0.0), (1.0, 1.0)])) == pytest.approx(0.5)  # F1 is P here
    assert standard_error(f1_contributions([(0.5, 0.5)])) is None
    assert standard_error(f1_contributions([(0.0, 0.0)] * 2)) == 0


def test_the_papers_figures_are_those_of_its_tables():
    tables = load_published()
    [simckp] = [row for row in tables.present if row.system == "SimCKP"]
    assert simckp.figures["NUS"] == (0.496, 0.498)
    assert [len(table) for table in (tables.present, tables.absent, tables.ablation, tables.negatives)] == [
        10, 10, 4, 3,
    ]  # fmt: skip
    assert tables.dataset("inspec.test") == "Inspec"
    assert tables.dataset("kp20k_small.valid") == "KP20k"
    for name in ("semeval", "SemEval2010.test", "semeval-2010", "semeval.test"):
        assert tables.dataset(name) == "SemEval"
    assert tables.dataset("krapivin2009") == "Krapivin"
    for other in ("duc2001.test", "semeval2017.test", "semeval-2017.test", "semeval_2017", "nusx"):
        assert tables.dataset(other) is None


def test_every_variant_of_the_paper_is_configured():
    config = load_section(DEFAULT_CONFIG, "experiments", ExperimentsConfig)
    for table in ("ablation", "negatives"):
        wanted = {row.variant for row in getattr(load_published(), table) if row.variant}
        assert {variant.name for variant in config.of(table)} == wanted
    assert as_toml(True) == "true"
    assert as_toml("binary") == '"binary"'


def test_the_variants_are_trained_once_measured_and_written_down(folder, monkeypatch, capsys):
    assert experiments(folder, "ablation") == 0
    assert experiments(folder, "ngrams") == 0
    assert experiments(folder, "negatives") == 0
    contrastive = stored(folder, "variant-contrastive-42")
    assert contrastive["datasets"]["in-domain"]["documents"] == 4  # without those of validation
    assert contrastive["training"]["visits"] == 16
    assert stored(folder, "ngrams-contrastive-42")["lengths"].keys() == {"1", "2"}
    [trained] = (folder / "runs").glob("binary-42-*")
    binary = json.loads((trained / "checkpoint/config.json").read_text())
    assert binary["extractor"]["head"] == "classifier"
    page = (folder / "results.md").read_text(encoding="utf-8")
    assert "0.236 / 0.384" in page  # the paper's sequence labelling
    [present, absent] = [line for line in page.splitlines() if line.startswith("| without CL")]
    assert "±" in present  # ours, beside the paper's
    assert absent.endswith("| 0.030 / 0.066 | 0.027 / 0.051 |")
    assert "in-domain, ours (4 documents)" in page

    monkeypatch.setattr(kpdemo.training, "run", lambda *_, **__: pytest.fail("trained again"))
    assert experiments(folder, "ablation") == 0
    assert experiments(folder, "negatives", "--set", "learning_rate=0.1") == 2
    assert "measured with other settings" in capsys.readouterr().err


def test_a_variant_is_trained_anew_with_other_settings_or_data(folder, monkeypatch, capsys):
    outputs = []
    train = kpdemo.training.run

    def counted(*asked: object, **options: object) -> None:
        outputs.append(options["output"])
        train(*asked, **options)

    monkeypatch.setattr(kpdemo.training, "run", counted)
    elsewhere = ["--output", str(folder / "elsewhere")]
    assert experiments(folder, "ngrams") == 0
    assert experiments(folder, "ngrams", *elsewhere) == 0
    assert len(outputs) == 1
    assert (
        experiments(folder, "ngrams", "--output", str(folder / "faster"), "--set", "learning_rate=0.01") == 0
    )
    write(folder / "train.jsonl", documents(200, 24))
    assert experiments(folder, "ngrams", *elsewhere) == 2
    assert "was measured with other data: give another --output" in capsys.readouterr().err
    assert experiments(folder, "ngrams", "--output", str(folder / "others")) == 0
    assert len(set(outputs)) == 3


def test_names_that_the_page_does_not_show_are_refused_before_anything_is_trained(
    folder, monkeypatch, capsys
):
    monkeypatch.setattr(kpdemo.training, "run", lambda *_, **__: pytest.fail("trained"))
    path = folder / "config.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("measured.in-domain", "measured.mine"), encoding="utf-8"
    )
    assert experiments(folder, "ablation") == 2
    assert capsys.readouterr().err == (
        f"{path}, [experiments]: `measured` has the names mine, out-of-domain: give it in-domain and "
        "out-of-domain, which the page of results shows.\n"
    )


def test_a_checkpoint_that_a_crash_left_half_written_is_made_again(folder, monkeypatch):
    with monkeypatch.context() as crashing:
        crashing.setattr("kpdemo.simckp.checkpoint.write_sums", lambda _: pytest.fail("the power is gone"))
        with pytest.raises(pytest.fail.Exception, match="the power is gone"):
            experiments(folder, "ngrams")
    [torn] = (folder / "runs").glob("contrastive-42-*/checkpoint")
    assert any(torn.iterdir())
    assert experiments(folder, "ngrams") == 0
    assert (torn / "SHA256SUMS").is_file()
    assert stored(folder, "ngrams-contrastive-42")["lengths"].keys() == {"1", "2"}


def test_a_model_stands_beside_the_paper_on_the_documents_it_was_not_chosen_on(folder):
    gold = str((folder / "measured.jsonl").rename(folder / "inspec.test.jsonl"))
    assert experiments(folder, "main", "--model", "first", "--gold", gold) == 0
    result = stored(folder, "main-first")
    assert result["datasets"]["inspec.test"]["documents"] == 4
    assert result["datasets"]["inspec.test"]["left_out"] == 6
    assert experiments(folder, "recall", "--model", "first", "--gold", gold) == 0
    page = (folder / "results.md").read_text(encoding="utf-8")
    assert "Inspec: inspec.test (4 documents, without 6)" in page
    assert "| SimCKP | 0.356 / 0.358 |" in page
    assert "`first` proposes no absent keyphrases" in page
    assert "experiments main --model first --gold inspec.test.jsonl" in page


def test_a_document_that_chose_the_model_is_left_out_whatever_markup_it_has():
    marked, other = Document("Binding of CO<sub>2</sub> in cells."), Document("Graph kernels.")
    assert without([marked, other], {without_markup(marked).text}) == [other]


@pytest.mark.usefixtures("_models_stay_open")
@pytest.mark.slow
def test_figures_on_further_files_are_added_to_those_of_the_same_model(folder):
    for first, name in ((0, "nus"), (50, "krapivin")):
        gold = str(write(folder / f"{name}.jsonl", documents(first, 3)))
        for kind in ("main", "recall", "space"):
            assert experiments(folder, kind, "--model", "english", "--gold", gold) == 0
    found = stored(folder, "main-english")
    assert found["datasets"].keys() == {"nus", "krapivin"}
    assert found["files"] == ["nus.jsonl", "krapivin.jsonl"]
    sources = stored(folder, "recall-english")["sources"]
    assert [datasets.keys() for datasets in sources.values()] == [{"nus", "krapivin"}]
    assert stored(folder, "space-english")["spaces"].keys() == {"nus", "krapivin"}
    page = (folder / "results.md").read_text(encoding="utf-8")
    assert "experiments main --model english --gold nus.jsonl --gold krapivin.jsonl" in page

    Results(folder / "results").write("main-english", found | {"identity": "other weights"})
    assert experiments(folder, "main", "--model", "english", "--gold", gold) == 0
    assert stored(folder, "main-english")["datasets"].keys() == {"krapivin"}


def test_documents_that_a_model_refuses_are_told_with_their_reasons(folder):
    refused = [
        {"id": "zh", "title": "图核", "abstract": "我们比较图核与分子结构的方法。", "keyphrases": ["图核"]},
        {"id": "none", "title": "", "abstract": "1 2 3", "keyphrases": ["numbers"]},
        {"id": "ko", "title": "", "abstract": "그래프 커널은 분자를 비교한다.", "keyphrases": ["분자"]},
        {"id": "zh2", "title": "分子", "abstract": "我们比较分子结构与图核。", "keyphrases": ["分子"]},
    ]
    gold = str(write(folder / "nus.jsonl", [*documents(0, 2), *refused]))
    assert experiments(folder, "main", "--model", "english", "--gold", gold) == 0
    found = stored(folder, "main-english")["datasets"]["nus"]
    assert (found["documents"], found["refused"]) == (6, 4)
    assert [count for reason, count in found["reasons"].items() if "Chinese" in reason] == [2]
    assert sum(found["reasons"].values()) == 4
    page = (folder / "results.md").read_text(encoding="utf-8")
    assert "`english` refused 4 of the 6 documents of nus, which count as having no keyphrases: 2 × “" in page
    assert "1 × “The text holds no letters" in page


def test_figures_of_an_earlier_version_do_not_tell_of_refusals(folder):
    gold = str(folder / "measured.jsonl")
    assert experiments(folder, "main", "--model", "first", "--gold", gold) == 0
    result = stored(folder, "main-first")
    measured = result["datasets"]["measured"]
    assert (measured.pop("refused"), measured.pop("reasons")) == (0, {})
    Results(folder / "results").write("main-first", result)
    assert experiments(folder, "page") == 0
    assert "refused" not in (folder / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", [("finds_absent",), ("datasets", "measured", "present", "skip_empty")])
def test_a_result_that_lacks_something_is_named_with_what_to_do(folder, capsys, place):
    gold = str(folder / "measured.jsonl")
    assert experiments(folder, "main", "--model", "first", "--gold", gold) == 0
    result = stored(folder, "main-first")
    *outer, key = place
    del reduce(getitem, outer, result)[key]
    Results(folder / "results").write("main-first", result)
    capsys.readouterr()
    assert experiments(folder, "page") == 1
    path = folder / "results" / "main-first.json"
    told = capsys.readouterr().err
    assert told == f'{path} has no "{key}": delete it, and run its experiment again.\n'


def test_a_page_loses_nothing_that_its_folder_holds(folder, capsys):
    path, gold = folder / "results.md", str(folder / "measured.jsonl")
    assert experiments(folder, "page") == 2
    assert f"{folder / 'results'} holds no figures: name the --output" in capsys.readouterr().err
    assert not path.exists()
    assert experiments(folder, "ramkg", "--model", "first", "--gold", gold) == 0
    alone = path.read_text(encoding="utf-8")
    assert alone.startswith("# Results in several languages")
    path.unlink()
    assert experiments(folder, "page") == 0
    assert path.read_text(encoding="utf-8") == alone
    assert experiments(folder, "main", "--model", "first", "--gold", gold) == 0
    both = path.read_text(encoding="utf-8")
    assert both.startswith("# Results beside SimCKP's")
    assert both.endswith(f"\n\n{alone}")


def test_shorter_candidates_keep_their_scores(folder):
    encoder, tokenizer = load_backbone(str(folder / "backbone"))
    module = ContrastiveExtractor(encoder, ExtractorConfig(window=64, overlap=16)).eval()
    predictor = SimckpPredictor(
        "tiny", module, tokenizer.backend_tokenizer, tokenizer.pad_token_id, load_tagger(),
        Selection(0.0, Calibration()),
    )  # fmt: skip
    document = Document("We compare graph kernels with boundary integral equations.", keyphrases=("graph",))
    asked = ScoredDocuments.of(predictor, [document])
    [(candidates, scores)] = asked.up_to(1)
    assert {candidate.key.count(" ") for candidate in candidates} == {0}
    alone = replace(module.config, candidates=CandidateConfig(longest=1))
    module.config = alone
    [(mined, again)] = predictor.score([document])
    assert [candidate.key for candidate in candidates] == [candidate.key for candidate in mined]
    np.testing.assert_allclose(scores, again, atol=1e-5)
    module.config = replace(alone, candidates=CandidateConfig(longest=2))
    with pytest.raises(ConfigError, match="at most 2 words, not 3"):
        asked.up_to(3)


def tiny_system(folder: Path) -> SystemPredictor:
    """An extractor-generator."""
    generator = tiny_generator(folder / "backbone")
    extractor = SimckpPredictor(
        "tiny", generator.module.extractor, generator.tokenizer, generator.padding, load_tagger(),
        Selection(0.0, Calibration()),
    )  # fmt: skip
    return SystemPredictor(extractor, Proposer(None, generator, SearchConfig(beams=2, longest=6)))


def test_recall_is_measured_for_each_source_of_absent_candidates(folder):
    system = tiny_system(folder)
    documents = [Document("We compare graph kernels.", keyphrases=("molecule",))]
    results = Results(folder / "results")
    advanced: list[int] = []
    runs = ModelRuns(
        "tiny", "", {"nus": GoldFile("gold", "nus.jsonl", "1")}, {"nus": documents}, {"nus": 0}, results
    )
    runs.recall(system, system, advanced.append)
    assert stored(folder, "recall-tiny")["sources"].keys() == {"generated"}
    assert advanced == [1]
    write_page(results)
    page = results.page.read_text(encoding="utf-8")
    assert "| **tiny**, generated | 0.000 |" in page
    assert "| SimCKP, 50 beams | 0.185 |" in page


def test_absent_keyphrases_of_each_source_are_those_that_predict_gives(folder):
    """None of a language that the model does not read, nor of another script, which it refuses."""
    bodies = (
        "We compare graph kernels.",
        "Wir vergleichen die Kerne von Graphen und Bäumen.",
        "我们比较分子的图核。",
    )
    documents = [Document(body, id=body, keyphrases=("molecule",)) for body in bodies]
    system, results = tiny_system(folder), Results(folder / "results")
    given = [bool(system.predict([document])[0].absent) for document in documents[:2]]
    found = [bool(ranking.keyphrases) for ranking in system.rank(documents[:2])]
    assert given == found == [True, False]
    gold = {"nus": GoldFile("gold", "nus.jsonl", "1")}
    runs = ModelRuns("tiny", "", gold, {"nus": documents}, {"nus": 0}, results)
    runs.recall(system, system, lambda count: None)
    measured = stored(folder, "recall-tiny")["sources"]["generated"]["nus"]
    assert (measured["documents"], measured["refused"]) == (3, 1)


def test_a_model_of_one_piece_is_measured_as_a_whole(folder, monkeypatch):
    class Writer(FakePredictor):
        finds_absent = True

        def predict(self, documents, **options):
            return [Prediction((), (Keyphrase("absent thing", 0.5),)) for _ in documents]

    monkeypatch.setattr("kpdemo.predictors.load_predictor", lambda *asked, **options: Writer())
    monkeypatch.setattr("kpdemo.predictors.fetched_folder", Path)
    gold = str(folder / "measured.jsonl")
    assert experiments(folder, "recall", "--model", "owner/writer", "--gold", gold) == 0
    page = (folder / "results.md").read_text(encoding="utf-8")
    assert "| **owner/writer**, as a whole | 1.000 ± 0.000 |" in page
    assert "nothing to reach" not in page


def test_validation_documents_that_are_not_at_hand_are_missed_aloud(folder, capsys):
    gold = str(folder / "measured.jsonl")
    assert experiments(folder, "main", "--model", "first", "--gold", gold) == 0
    assert "left out" not in capsys.readouterr().err
    assert experiments(folder, "main", "--model", "first", "--gold", gold, "--set", "data=elsewhere") == 0
    assert "were not found, so no gold document is left out" in capsys.readouterr().err


def test_the_space_of_a_document_is_stored_as_places(folder, monkeypatch):
    monkeypatch.setattr("kpdemo.predictors.load_predictor", lambda *asked, **options: FakePredictor())
    assert experiments(folder, "space", "--gold", str(folder / "measured.jsonl")) == 0
    assert stored(folder, "space-default")["spaces"].keys() == {"measured"}


def test_models_whose_names_make_one_file_name_have_a_file_each(tmp_path):
    results = Results(tmp_path / "results")
    for model in ("runs/a/b", "runs/a-b", "runs/a/b"):
        ModelRuns(model, "weights", {}, {}, {}, results).main(FakePredictor(), lambda done: None)
    assert [one["model"] for one in results.of_kind("main")] == ["runs/a-b", "runs/a/b"]


def test_gold_files_of_one_name_are_told_apart_by_their_folders(folder, capsys):
    golds = gold_in_folders(folder)
    assert experiments(folder, "main", "--model", "first", *golds) == 0
    found = stored(folder, "main-first")["datasets"]
    assert {name: one["documents"] for name, one in found.items()} == {"inspec/test": 3, "nus/test": 2}
    page = (folder / "results.md").read_text(encoding="utf-8")
    assert "experiments main --model first --gold inspec/test.jsonl --gold nus/test.jsonl" in page
    assert experiments(folder, "main", "--model", "first", golds[0], golds[0]) == 2
    assert "give each once, under its own name" in capsys.readouterr().err


def gold_in_folders(folder: Path) -> list[str]:
    """A file "test" in each of two folders, of three and of two documents."""
    for name, first, count in (("inspec", 200, 3), ("nus", 300, 2)):
        (folder / name).mkdir()
        write(folder / name / "test.jsonl", documents(first, count))
    return [f"--gold={folder / name / 'test.jsonl'}" for name in ("inspec", "nus")]


@pytest.mark.usefixtures("_models_stay_open")
@pytest.mark.slow
def test_gold_files_of_one_name_are_told_apart_over_several_calls(folder, caplog):
    golds = gold_in_folders(folder)
    for asked in (golds[:1], golds[1:], golds, golds[:1]):
        for kind in ("main", "recall", "space"):
            assert experiments(folder, kind, "--model", "english", *asked) == 0
    both = ["inspec/test", "nus/test"]
    found = stored(folder, "main-english")["datasets"]
    assert {name: one["documents"] for name, one in found.items()} == {"inspec/test": 3, "nus/test": 2}
    assert list(stored(folder, "space-english")["spaces"]) == both
    assert [list(one) for one in stored(folder, "recall-english")["sources"].values()] == [both]
    page = (folder / "results.md").read_text(encoding="utf-8")
    assert "experiments main --model english --gold inspec/test.jsonl --gold nus/test.jsonl" in page

    copy = (folder / "inspec" / "test.jsonl").rename(folder / "inspec.jsonl")
    assert experiments(folder, "main", "--model", "english", f"--gold={copy}") == 0
    assert stored(folder, "main-english")["datasets"].keys() == {"inspec", "test"}
    assert not caplog.messages
    write(copy, documents(200, 4))
    assert experiments(folder, "main", "--model", "english", f"--gold={copy}") == 0
    assert stored(folder, "main-english")["datasets"]["inspec"]["documents"] == 4
    assert "figures of inspec are from another file of that name and folder" in caplog.text


def test_figures_that_do_not_tell_their_file_are_kept_beside_files_of_other_names(folder, caplog):
    golds = gold_in_folders(folder)
    assert (
        experiments(folder, "main", "--model", "first", golds[0], f"--gold={folder / 'measured.jsonl'}") == 0
    )
    result = stored(folder, "main-first")
    del result["gold"]  # as figures were stored once
    Results(folder / "results").write("main-first", result)
    page = (folder / "results.md").read_bytes()
    assert experiments(folder, "page") == 0
    assert (folder / "results.md").read_bytes() == page
    assert experiments(folder, "main", "--model", "first", golds[1]) == 0
    found = stored(folder, "main-first")
    assert {name: one["documents"] for name, one in found["datasets"].items()} == {"test": 2, "measured": 4}
    assert found["files"] == ["test.jsonl", "measured.jsonl"]
    assert "figures of test are from a file whose content was not stored" in caplog.text


def test_figures_with_passages_that_are_not_told_are_not_kept_beside_others():
    def measured(name: str, **values: object) -> dict[str, object]:
        figures = {"model": "m", "identity": "", "passages": 9, "machine": "", "datasets": {name: {}}}
        return figures | {"files": [f"{name}.jsonl"]} | values

    kept = join_figures(measured("b"), measured("a"))
    assert (kept["datasets"], kept["files"]) == ({"a": {}, "b": {}}, ["a.jsonl", "b.jsonl"])
    told = measured("b", index="1")
    assert join_figures(told, measured("a")) == told
    assert join_figures(told, measured("a", index="1"))["datasets"].keys() == {"a", "b"}


def test_gold_files_go_with_models_alone(folder, capsys):
    assert experiments(folder, "ablation", "--gold", "gold.jsonl") == 2
    assert experiments(folder, "main") == 2
    assert "needs --gold FILE" in capsys.readouterr().err


def test_a_document_without_gold_leaves_its_kind_undefined():
    measured = figures(
        [Document("Text.", keyphrases=("absent",))], [Prediction((), (Keyphrase("absent", 1.0),))]
    )
    assert measured["present"]["skip_empty"]["F1@5"] is None
    assert measured["absent"]["skip_empty"]["F1@M"] == 1.0
    assert measured["standard_error"]["absent"]["F1@M"] is None  # one document has no spread
