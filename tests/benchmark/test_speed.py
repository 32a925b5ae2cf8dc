"""Speed of the default model beside its peers in the same run: `make bench`.

Prints what it measures; the only assertions are ratios against a peer, never seconds.
"""

import json
import statistics
import subprocess
import sys
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import kpdemo
from kpdemo.candidates.mining import mine_candidates
from kpdemo.predictors import DEFAULT_FOLDER
from kpdemo.simckp.examples import build_example
from kpdemo.simckp.predictor import SystemPredictor, load_system
from kpdemo.simckp.reranker import RETRIEVED_TERMS
from kpdemo.types import Document
from tests.measuring import report, report_speeds

pytestmark = pytest.mark.benchmark

EXAMPLES = Path(kpdemo.__file__).parent / "assets" / "examples.json"
BATCHES = {"default": 10, "yake": 10, "embedding": 1}
"""In each round; more of the last one would take a quarter of an hour."""
BATCH = 32
ROUNDS = 3
"""Taken in turn, so that all meet the same other work on the machine."""
PEERS = tuple(BATCHES)


def abstracts(count: int) -> list[Document]:
    english = 4  # the others are for the multilingual model
    rows = json.loads(EXAMPLES.read_text(encoding="utf-8"))[:english]
    return [
        Document(rows[number % len(rows)]["text"], title=rows[number % len(rows)]["title"], id=str(number))
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def predictors():
    assert DEFAULT_FOLDER.is_dir()
    loaded = {name: kpdemo.load_predictor(name, device="cpu") for name in PEERS}
    for predictor in loaded.values():
        predictor.predict(abstracts(4))
    return loaded


def test_warm_latency_of_one_abstract(predictors, capsys):
    document = abstracts(1)
    times: dict[str, list[float]] = {name: [] for name in predictors}
    for _ in range(20):
        for name, predictor in predictors.items():  # in turn, as above
            times[name].append(timeit.timeit(partial(predictor.predict, document), number=1))
    medians = {name: statistics.median(own) for name, own in times.items()}
    report(
        capsys, "one abstract, median of 20", {n: f"{t * 1000:.0f} ms" for n, t in medians.items()}, medians
    )
    assert medians["default"] <= 3 * medians["embedding"]  # three encoders and a bank beside one encoder


def stages(system: SystemPredictor, document: Document) -> dict[str, Callable[[], object]]:
    """The parts of a prediction, each with what it needs made already."""
    extractor, retriever = system.extractor, system.proposer.retriever
    config = extractor.module.config
    mined = mine_candidates(document, extractor.tagger, config.candidates)
    build = partial(
        build_example, document, mined, extractor.tokenizer, window=config.window, overlap=config.overlap
    )
    found = {
        "candidates": partial(mine_candidates, document, extractor.tagger, config.candidates),
        "tokens": build,
        "extractors": partial(extractor.score_mined, [(mined, build())]),
    }
    if retriever:
        vectors, read = retriever.encoder.documents([document]), retriever.bank.terms.read(document)
        found |= {
            "pair encoder": partial(retriever.encoder.documents, [document]),
            "terms of the text": partial(retriever.bank.terms.read, document),
            "bank": partial(retriever.bank.search, vectors, RETRIEVED_TERMS, [read]),
        }
        if system.ranker:
            one = system.reader.read_one(document)
            [(_, scores)] = extractor.score_mined([(mined, build())])
            rescore = partial(system.ranker.rescore, document, one, scores, vectors[0], retriever.bank)
            found["order of the best"] = rescore
        if system.reranker:
            candidates = list(system.proposer.propose([document], vectors))
            rank = partial(system.reranker.rank, [document], candidates, bank=retriever.bank, vectors=vectors)
            found["reranker"] = rank
    return found | {"whole": partial(system.predict, [document])}


def test_latency_of_each_stage(capsys):
    system, [document] = load_system(DEFAULT_FOLDER, device="cpu"), abstracts(1)
    assert isinstance(system, SystemPredictor)
    medians = {}
    for name, run in stages(system, document).items():
        run()
        medians[name] = statistics.median(timeit.repeat(run, number=1, repeat=20))
    shown = {name: f"{seconds * 1000:.1f} ms" for name, seconds in medians.items()}
    report(capsys, "stages of one abstract, median of 20", shown, medians)
    whole = medians.pop("whole")
    assert all(seconds < whole for seconds in medians.values())  # each stage is a part of the whole


def test_documents_per_second(predictors, capsys):
    documents = abstracts(BATCH)
    times: dict[str, list[float]] = {name: [] for name in predictors}
    for _ in range(ROUNDS):
        for name, predictor in predictors.items():
            taken = timeit.timeit(partial(predictor.predict, documents), number=BATCHES[name])
            times[name].append(taken / BATCHES[name] / BATCH)
    seconds = {name: statistics.median(own) for name, own in times.items()}
    report_speeds(capsys, f"abstracts in batches of {BATCH}, median of {ROUNDS} rounds {BATCHES}", seconds)
    ratios = [own / peer for own, peer in zip(times["default"], times["embedding"], strict=True)]
    assert statistics.median(ratios) <= 3


@pytest.mark.parametrize("module", ["kpdemo", "annotation", "db"])
def test_import_time(module, capsys):
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    peer = [
        float(
            subprocess.check_output([sys.executable, "-c", code.replace(f"import {module}", "import nltk")])
        )
        for _ in range(3)
    ]
    report(
        capsys,
        f"import {module}, median of 5",
        {module: f"{statistics.median(times):.3f} s", "nltk": f"{statistics.median(peer):.3f} s"},
        {module: statistics.median(times), "nltk": statistics.median(peer)},
    )
    assert statistics.median(times) < statistics.median(peer) / 5
