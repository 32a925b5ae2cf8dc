"""Training of retriever and multilingual model on a few texts, from files to a folder that predicts."""

from __future__ import annotations

import json
import math
import re
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from kpdemo.config import load_section
from kpdemo.errors import ConfigError, InputError, TrainingError
from kpdemo.predictors import load_predictor
from kpdemo.ramkg.passage_encoder import ProjectionConfig, load_reader, save_reader
from kpdemo.ramkg.retriever import load_encoder
from kpdemo.ramkg.rgit import Outcome, Retrieved, iterate
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.training import run
from kpdemo.training.data import Source
from kpdemo.training.loop import LoopConfig
from kpdemo.training.multilingual.generator_rounds import RoundRetriever
from kpdemo.training.multilingual.retriever import (
    ParallelSource,
    RetrieverPart,
    RetrieverTraining,
    Translation,
    new_tower,
    read_translations,
    retrieval_loss,
    retriever_identity,
)
from kpdemo.training.multilingual.rgit import (
    MultilingualTraining,
    RetrieverRounds,
    Thinning,
    find_thinned,
    train_multilingual,
)
from kpdemo.training.multilingual.rounds import read_rounds
from kpdemo.types import Document
from tests.tiny import tiny_bert
from tests.tiny_ranker import save_tiny_encoder, save_tiny_extractor

SUBJECTS = {
    "réseau de neurones": "neural network",
    "traduction automatique": "machine translation",
    "corps humain": "human body",
    "droit pénal": "criminal law",
    "analyse musicale": "musical analysis",
}
CONFIG = """
[retriever]
{backbone}
learning_rate = 3e-3
loop = {{ documents = 2_000, batch_size = 10, precision = "fp32", evaluate_every = 400 }}
train = [{{ path = "theses.jsonl", language = "fr" }}]
validation = [{{ path = "valid.jsonl", language = "fr" }}]

[multilingual]
extractor = "{folder}/extractor"
start = "{folder}/retriever/checkpoint"
languages = ["fr"]
parallel = 10
batch_size = 10
epochs = 10
rounds = {{ rounds = 1, passages = 2 }}
thinned = [{{}}, {{ share = 0.5, skipped = 1 }}]
ranker = {{ epochs = 5, minimum = 1 }}
known = [{{ path = "theses.jsonl", language = "fr" }}]
translations = [{{ path = "theses.jsonl", language = "fr" }}]
validation = [{{ path = "valid.jsonl", language = "fr" }}]
passages = [{{ path = "passages.jsonl" }}]
"""


def row(number: int) -> dict[str, object]:
    french, english = list(SUBJECTS.items())[number % 5]
    return {
        "id": f"t{number}",
        "fr_title": french,
        "fr": f"Cette thèse, la {number}e, étudie {french} et sa mémoire {number}.",
        "fr_keyphrases": [french],
        "en_title": english,
        "en": f"This thesis, number {number}, studies {english} and its memory {number}.",
        "en_keyphrases": [english],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("multilingual")
    rows = [row(number) for number in range(40)]
    english = [
        {"id": r["id"], "title": r["en_title"], "text": r["en"], "keyphrases": r["en_keyphrases"]}
        for r in rows
    ]
    for name, lines in {"theses": rows[:35], "valid": rows[35:], "passages": english}.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    encoder = save_tiny_encoder(folder / "encoder", [text for r in rows for text in (r["fr"], r["en"])])
    save_tiny_extractor(folder / "extractor", encoder)
    backbone = f'backbone = "{encoder}"\nprojection = {{ layers = 1, width = 64, length = 40 }}'
    (folder / "config.toml").write_text(CONFIG.format(backbone=backbone, folder=folder), encoding="utf-8")
    train("retriever", folder)
    return folder


def train(part: str, folder: Path, **overrides: str) -> Path:
    settings = {"data": str(folder), "device": "cpu"} | overrides
    run(part, folder / "config.toml", output=folder / part, overrides=settings)
    return folder / part / "checkpoint"


def retriever_of(folder: Path, *, batch_size: int = 8, negatives: int = 1) -> RetrieverTraining:
    return RetrieverTraining(
        (),
        (),
        LoopConfig(documents=6, batch_size=batch_size),
        backbone=str(folder / "encoder"),
        projection=ProjectionConfig(layers=1, width=8, length=10),
        negatives=negatives,
    )


def test_a_retriever_finds_the_english_passage_and_its_folder_opens_as_an_encoder(folder):
    encoder = load_encoder(EncoderConfig(str(folder / "retriever" / "checkpoint")), device="cpu")
    rows = [row(number) for number in range(5)]
    queries = encoder.queries([Document(str(one["fr"]), title=str(one["fr_title"])) for one in rows])
    passages = encoder.passages([Document(str(one["en"]), title=str(one["en_title"])) for one in rows])
    assert (queries @ passages.T).argmax(axis=1).tolist() == [0, 1, 2, 3, 4]
    card = (folder / "retriever" / "checkpoint" / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "35 pairs" in card


def test_rounds_leave_a_model_that_predicts_and_its_card_tells_them(folder):
    checkpoint = train("multilingual", folder)
    [prediction] = load_predictor(checkpoint, device="cpu").predict(
        [Document("Cette thèse étudie le droit pénal et la mémoire.", language="fr")], top_k=3
    )
    assert "droit pénal" in [keyphrase.text for keyphrase in prediction.present]
    card = (checkpoint / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "Apache-2.0, as kpdemo.\nThe training texts" in card  # it began with no model of others
    assert "| of these told their English passage | 10 |" in card
    assert "| rounds at most | 1 |\n| retrievers | 2, the last after all rounds; that of round 1 was" in card
    assert "Label accuracy" in card
    figures = json.loads((folder / "multilingual" / "rgit.json").read_text())
    assert figures["rounds"][0]["recall"]["5"] == 1


def test_rounds_need_the_passages_of_their_validation(folder):
    (folder / "few.jsonl").write_text('{"id": "x", "text": "A passage.", "keyphrases": ["a"]}\n')
    with pytest.raises(ConfigError, match="'t35' of a validation pair is not in the corpus") as refusal:
        train("multilingual", folder, passages='[{ path = "few.jsonl" }]', output=str(folder / "never"))
    [advice] = re.findall(r"add to `passages` (.*), or the file", str(refusal.value))
    told = Source(**tomllib.loads(f"source = {advice}")["source"])
    config = replace(load_section(folder / "config.toml", "multilingual", MultilingualTraining), data=folder)
    _, corpus = read_rounds(replace(config, passages=(Source(Path("few.jsonl")), told)))
    assert {"x", "t35", "t39"} <= corpus.by_id.keys()
    docs = Path(__file__).parents[2] / "docs" / "training.md"
    assert advice.replace("valid.jsonl", "valid_fr_en.jsonl") in docs.read_text(encoding="utf-8")


@pytest.mark.parametrize("written", ["xx", "French", "FR"])
def test_a_language_that_is_none_is_refused_with_those_known(folder, written):
    told = rf"`languages` has '{written}', .* give codes such as ar, bg, .*, vi\.$"
    with pytest.raises(ConfigError, match=told):
        train("multilingual", folder, languages=f'["fr", "{written}"]')
    MultilingualTraining(
        extractor=folder,
        start=folder,
        known=(),
        translations=(),
        passages=(),
        validation=(),
        languages=("sw",),
    )


def test_rounds_need_more_translations_than_are_told(folder):
    with pytest.raises(
        ConfigError, match="are 35 translations, not more than parallel = 35: lower `parallel`"
    ):
        train("multilingual", folder, parallel="35", output=str(folder / "never"))


@pytest.mark.parametrize("number", [0, 35])  # of a document that is trained on and of one of validation
def test_two_passages_of_one_id_are_refused(folder, tmp_path, number):
    config = load_section(folder / "config.toml", "multilingual", MultilingualTraining)
    config = replace(config, data=folder)
    rows = [json.loads(line) for line in (folder / "passages.jsonl").read_text("utf-8").splitlines()]
    rows[number]["title"] = "Another title"
    path = tmp_path / "changed.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    changed = Source(path)
    read_rounds(replace(config, passages=(*config.passages, changed)))
    rows[number]["text"] = "Another text."
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    for sources in ((*config.passages, changed), (changed,)):
        with pytest.raises(ConfigError, match=f"Two different passages have the id 't{number}'"):
            read_rounds(replace(config, passages=sources))


@pytest.mark.parametrize("name", ["passages", "others"])
def test_sources_whose_documents_the_rounds_take_once_are_not_repeated(folder, name):
    config = load_section(folder / "config.toml", "multilingual", MultilingualTraining)
    config = replace(config, data=folder, **{name: (Source(Path("passages.jsonl"), repeat=2),)})
    with pytest.raises(ConfigError, match=r"take each document once, not 2 times: leave out `repeat` of pas"):
        read_rounds(config)


def test_the_last_ranker_meets_passages_of_a_part_of_the_corpus(folder):
    train("multilingual", folder)  # is over already, or is trained now
    config = load_section(folder / "config.toml", "multilingual", MultilingualTraining)
    config = replace(config, data=folder, thinned=(Thinning(), Thinning(0.1, skipped=1)))
    data, corpus = read_rounds(config)
    rounds, model = (
        RetrieverRounds(config, corpus, torch.device("cpu")),
        folder / "multilingual/round-1/retriever",
    )
    near = rounds.search(model, data.others, 2)
    far = rounds.search_thinned(model, data.others, 1, Thinning(skipped=1))
    assert [row[1:] for row in near] == far
    part = rounds.search_thinned(model, data.others, 2, Thinning(share=0.1))
    assert len({passage.id for row in part for passage in row}) == len(corpus.passages) // 10
    ways = [
        [row[0].score for row in rounds.search_thinned(model, data.others, 2, way)] for way in config.thinned
    ]
    given = [row[0].score for row in find_thinned(rounds, model, data.others, config)]
    assert all(score in pair for score, pair in zip(given, zip(*ways, strict=True), strict=True))
    assert given not in ways


def test_any_encoder_of_the_hub_can_be_trained_as_a_retriever(folder, tmp_path):
    backbone = tiny_bert(tmp_path / "tiny")
    (tmp_path / "config.toml").write_text(
        CONFIG.format(backbone=f'backbone = "{backbone}"', folder=folder), encoding="utf-8"
    )
    settings = {"data": str(folder), "device": "cpu", "loop.documents": "20"}
    run("retriever", tmp_path / "config.toml", output=tmp_path / "out", overrides=settings)
    encoder = load_encoder(EncoderConfig(str(tmp_path / "out" / "checkpoint")), device="cpu")
    assert encoder.queries([Document("une thèse")]).shape == (1, encoder.width)


def test_a_retriever_learns_from_texts_with_the_prefixes_that_an_index_puts_before_them(tmp_path):
    encoder = EncoderConfig(query_prefix="query: ", passage_prefix="passage: ", length=40)
    backbone = str(tiny_bert(tmp_path / "tiny"))
    config = RetrieverTraining((), (), LoopConfig(documents=2), backbone=backbone, encoder=encoder)
    pairs = [Translation(Document(f"texte {number}"), Document(f"text {number}")) for number in range(2)]
    tower = new_tower(config, pairs)
    part = RetrieverPart(tower, config, pairs, [pair.passage for pair in pairs], pairs)
    query, passage, [negative] = part[0]
    expected = tower.read(["query: texte 0", "passage: text 0", "passage: text 1"])
    assert [query.tolist(), passage.item.tolist(), negative.item.tolist()] == [
        row.tolist() for row in expected
    ]
    tower.module.eval()
    tower.save(tmp_path / "saved", "")
    opened = load_encoder(replace(encoder, model=str(tmp_path / "saved")), device="cpu")
    with torch.no_grad():
        own = tower.module(tower.collate([query])).numpy()
    assert own == pytest.approx(opened.queries([pairs[0].document]), abs=1e-5)


@pytest.mark.parametrize(
    ("encoder", "told"),
    [
        ({"pooling": "pooler"}, "the pooling 'pooler': choose mean or first"),
        ({"model": "LaBSE"}, "name 'LaBSE' there and leave out `encoder.model`"),
    ],
)
def test_a_setting_that_training_would_leave_out_is_refused_before_it(encoder, told):
    for settings in (RoundRetriever, partial(RetrieverTraining, (), (), LoopConfig(documents=2))):
        with pytest.raises(ConfigError, match=told):
            settings(backbone="bert", encoder=EncoderConfig(**encoder))


@pytest.mark.parametrize("setting", [{"query_prefix": "query: "}, {"normalise": False}, {"length": 40}])
def test_a_projection_has_no_settings_of_a_whole_encoder(setting):
    with pytest.raises(ConfigError, match="a pooling of its own and reads no prefixes: leave out `encoder`"):
        RetrieverTraining(
            (), (), LoopConfig(documents=2), encoder=EncoderConfig(**setting), projection=ProjectionConfig()
        )


def test_the_loss_is_that_of_the_right_passage_among_all():
    queries, passages = torch.eye(2), torch.cat([torch.eye(2), -torch.eye(2)])
    numbers = torch.arange(4)
    one_way = retrieval_loss(queries, passages, numbers, temperature=1.0, both_ways=False)
    scores = torch.tensor([1.0, 0.0, -1.0, 0.0])
    assert one_way == pytest.approx(float(torch.logsumexp(scores, 0) - 1))
    assert retrieval_loss(queries, passages, numbers, temperature=1.0, both_ways=True) > one_way


def test_a_query_is_not_told_from_its_own_passage_wherever_that_stands(folder):
    queries = torch.eye(2)[[0, 0, 1]] * 50  # the first two have one passage
    passages = torch.eye(2)[[0, 0, 1, 0]]  # which the third drew as its negative too
    for both_ways in (False, True):
        loss = retrieval_loss(
            queries, passages, torch.tensor([0, 0, 1, 0]), temperature=1.0, both_ways=both_ways
        )
        assert float(loss) < 1e-6
    pairs = [
        Translation(Document(f"texte {number}"), Document(f"text {number % 3}", id=str(number)))
        for number in range(6)
    ]
    config = retriever_of(folder, batch_size=6, negatives=4)
    tower = new_tower(config, pairs)
    part = RetrieverPart(tower, config, pairs, [pair.passage for pair in pairs], pairs)
    batch = part.collate([part[index] for index in range(6)])
    own, drawn = batch.numbers[:6], batch.numbers[6:].reshape(6, 4)
    assert own.tolist() == [0, 1, 2, 0, 1, 2]
    assert not (drawn == own[:, None]).any()
    part.begin_epoch(1)
    assert part.collate([part[index] for index in range(6)]).numbers[6:].tolist() != drawn.flatten().tolist()
    alone = RetrieverPart(tower, config, pairs[:1], [pairs[0].passage], pairs)
    assert alone[0][2] == []


def test_a_retriever_that_tells_no_passage_from_another_finds_none(folder):
    pairs = [Translation(Document(f"texte {number}"), Document(f"text {number}")) for number in range(40)]
    config = retriever_of(folder)
    tower = new_tower(config, pairs)
    part = RetrieverPart(tower, config, pairs, [pair.passage for pair in pairs], pairs)
    for weight in (0.0, math.nan):
        with torch.no_grad():
            for value in part.module.parameters():
                value.fill_(weight)
        assert set(part.evaluate().values()) == {0.0}


def test_a_pair_that_is_trained_on_no_longer_makes_another_run_and_another_place_does_not(folder):
    pairs = [Translation(Document(f"texte {number}"), Document(f"text {number}")) for number in range(3)]
    config = retriever_of(folder)
    tower = new_tower(config, pairs)
    identity = retriever_identity(config, tower, pairs[:2], pairs[2:])
    assert identity == retriever_identity(config, tower, pairs[:2], pairs[2:])
    assert identity != retriever_identity(config, tower, pairs[:1], pairs[1:])
    moved = replace(config, data=Path("elsewhere"), device="cpu", name="renamed", output=Path("mine"))
    assert identity == retriever_identity(moved, tower, pairs[:2], pairs[2:])
    assert identity != retriever_identity(replace(config, negatives=2), tower, pairs[:2], pairs[2:])


def test_sentences_by_language_and_whole_documents_are_read(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"id": "a", "s1": {"fr": "Un &amp; 2", "en": "One."}, "s2": {"fr": "", "en": "Two."}}\n')
    source = ParallelSource(Path("pairs.jsonl"), "fr", parts=("s1", "s2"))
    [pair] = read_translations(source, tmp_path)
    assert (pair.document.body.split(), pair.document.language) == (["Un", "&", "2"], "fr")
    assert pair.passage.body == "One."
    with pytest.raises(InputError, match='line 1: "s3" holds no texts by language'):
        list(read_translations(ParallelSource(Path("pairs.jsonl"), "fr", parts=("s3",)), tmp_path))
    with pytest.raises(ConfigError, match="No training data at"):
        list(read_translations(ParallelSource(Path("none.jsonl"), "fr"), tmp_path))
    assert list(read_translations(ParallelSource(Path("pairs.jsonl"), "fr"), tmp_path)) == []


def test_another_run_in_the_same_folder_is_refused(folder):
    with pytest.raises(TrainingError, match="other settings"):
        train("retriever", folder, learning_rate="0.1")


def test_a_run_does_not_go_on_with_other_texts(folder, tmp_path):
    for path in (folder / "valid.jsonl", folder / "config.toml"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    texts = (folder / "theses.jsonl").read_text(encoding="utf-8")
    (tmp_path / "theses.jsonl").write_text(texts, encoding="utf-8")
    train("retriever", tmp_path, **{"loop.documents": "20"})
    train("retriever", tmp_path, **{"loop.documents": "20"})  # is over already
    (tmp_path / "theses.jsonl").write_text(texts.replace("Cette", "Voici une"), encoding="utf-8")
    with pytest.raises(TrainingError, match="other settings"):
        train("retriever", tmp_path, **{"loop.documents": "20"})


def test_the_last_rankers_are_those_of_the_best_round(folder, monkeypatch):
    train("multilingual", folder)  # is over already, or is trained now
    config = load_section(folder / "config.toml", "multilingual", MultilingualTraining)
    config = replace(config, data=folder, output=folder / "multilingual")
    second = config.output / "round-2"

    def found(*asked: object, **options: object) -> Outcome:  # as another `recall_at` may
        return replace(iterate(*asked, **options), best=2, retriever=second / "retriever")

    monkeypatch.setattr("kpdemo.training.multilingual.rgit.iterate", found)
    trained = train_multilingual(config, device=torch.device("cpu"))
    assert all((second / name / "best.pt").is_file() for name in ("base-on-all", "last"))
    encoder = load_reader(second / "retriever" / "checkpoint", device=torch.device("cpu"))
    own, expected = (one.projection.linear.weight for one in (trained.model.knowledge.reader, encoder))
    assert torch.equal(own, expected)


def test_a_finished_run_does_not_search_anew(folder, monkeypatch):
    checkpoint = train("multilingual", folder)
    before = (checkpoint / "SHA256SUMS").read_bytes()
    search = RetrieverRounds.search_thinned

    def nearly(*asked: object) -> list[list[Retrieved]]:  # as with another number of threads
        return [[replace(one, score=one.score + 1e-4) for one in row] for row in search(*asked)]

    monkeypatch.setattr(RetrieverRounds, "search_thinned", nearly)
    assert (train("multilingual", folder) / "SHA256SUMS").read_bytes() == before


def test_rounds_do_not_go_on_with_a_start_that_was_trained_anew(folder):
    other = load_reader(folder / "retriever" / "checkpoint", device=torch.device("cpu"))
    config = load_section(folder / "config.toml", "multilingual", MultilingualTraining)
    config = replace(config, data=folder, output=folder / "multilingual")
    train("multilingual", folder)  # is over already, or is trained now
    with torch.no_grad():
        other.projection.linear.weight.mul_(1.1)
    moved = folder / "moved"
    save_reader(moved, other, AutoTokenizer.from_pretrained(folder / "encoder"), card="")
    with pytest.raises(TrainingError, match="other data or settings"):
        train_multilingual(replace(config, start=moved), device=torch.device("cpu"))
    with pytest.raises(TrainingError, match="other data or settings"):
        train_multilingual(replace(config, learning_rate=1e-4), device=torch.device("cpu"))
