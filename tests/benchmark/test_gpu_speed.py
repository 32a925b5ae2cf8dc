"""Files of documents on a GPU beside two processor cores: `make bench ARGS="-k gpu"`.

A network on a GPU answers sooner than a processor core reads the next text: reading and choosing bound the
speed. That bound is measured without a GPU too, with networks that answer at once.
"""

from __future__ import annotations

import json
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import kpdemo
from kpdemo.batch import BATCH_SIZE, GPU_BATCH_SIZE, batch_size_for
from kpdemo.predictors import DEFAULT_FOLDER
from kpdemo.simckp.phrase_bank import PhraseBank
from kpdemo.simckp.predictor import PART, SystemPredictor, load_system
from kpdemo.simckp.read_ahead import ReadAhead
from kpdemo.simckp.reranker import RETRIEVED_TERMS, merge_candidates
from kpdemo.text import readable_documents
from kpdemo.types import Document
from kpdemo.worker import usable_cores
from tests.measuring import report_milliseconds, report_speeds

pytestmark = pytest.mark.benchmark

PASSAGES = Path(kpdemo.__file__).parent / "assets" / "passages" / "passages.jsonl"
FEW, MANY = 256, 4_096
GOAL = 10


def different_texts(count: int) -> list[Document]:
    """Of an abstract's length, each of three passages that no other document has together."""
    rows = [json.loads(line) for line in PASSAGES.read_text(encoding="utf-8").splitlines()]
    documents = []
    for number in range(count):
        step = 1 + number // len(rows)
        parts = [rows[(number + step * place) % len(rows)] for place in range(3)]
        text = " ".join(part["text"] for part in parts)
        documents.append(Document(text, title=parts[0]["title"], id=str(number)))
    return documents


def seconds_a_document(system: SystemPredictor, count: int, size: int) -> float:
    documents = different_texts(count)
    system.predict(documents[:size])  # processes start, kernels are chosen
    started = time.perf_counter()
    for first in range(0, count, size):
        system.predict(documents[first : first + size])
    return (time.perf_counter() - started) / count


def default_on(device: str) -> SystemPredictor:
    system = load_system(DEFAULT_FOLDER, device=device)
    assert isinstance(system, SystemPredictor)
    return system


def test_a_gpu_reads_ten_times_as_many_documents(capsys):
    if not torch.cuda.is_available():
        pytest.skip("There is no GPU here.")
    torch.set_num_threads(2)
    seconds = {}
    for device, count, batch in (("cpu", FEW, BATCH_SIZE), ("cuda", MANY, PART)):
        system = default_on(device)
        seconds[device] = seconds_a_document(system, count, batch_size_for(system))
        title = f"stages of a batch of {batch} on {device}, {system.processes} processes, a document"
        report_milliseconds(capsys, title, batch_stages(system, different_texts(batch)))
    report_speeds(capsys, "texts of three passages, two CPU threads and a GPU", seconds)
    assert seconds["cpu"] >= GOAL * seconds["cuda"]


def test_the_processor_lets_a_gpu_read_ten_times_as_many_documents(capsys, monkeypatch):
    torch.set_num_threads(2)
    system, processes = default_on("cpu"), max(1, usable_cores() - 1)
    seconds = {"networks on the processor": seconds_a_document(system, FEW, BATCH_SIZE)}
    at_once = answering_at_once(replace(system, processes=processes), monkeypatch)
    name = f"networks that answer at once, {processes} processes read ahead"
    seconds[name] = seconds_a_document(at_once, MANY, GPU_BATCH_SIZE)
    report_speeds(capsys, "texts of three passages", seconds)
    first, second = seconds.values()
    assert first >= GOAL * second


def answering_at_once(system: SystemPredictor, monkeypatch: pytest.MonkeyPatch) -> SystemPredictor:
    """Networks and the search of terms, which a GPU does, replaced by random answers of the same form."""
    retriever, random = system.proposer.retriever, torch.Generator().manual_seed(0)
    assert retriever is not None
    assert system.extractor.second is not None
    width = retriever.bank.vectors.shape[1]
    terms = np.random.default_rng(0)

    def scores(batch, *, windows_at_once):
        return torch.rand(len(batch.features), generator=random)

    def vectors(input_ids, mask):
        return torch.nn.functional.normalize(torch.randn(len(input_ids), width, generator=random), dim=-1)

    def best(bank, queries, count):
        first = terms.integers(len(bank), size=(len(queries), 1))
        return (first + np.arange(count)) % len(bank)

    for module in (system.extractor.module, system.extractor.second.module):
        monkeypatch.setattr(module, "forward", scores)
    monkeypatch.setattr(retriever.encoder.module, "documents", vectors)
    monkeypatch.setattr(PhraseBank, "_best", best)
    return system


def batch_stages(system: SystemPredictor, documents: Sequence[Document]) -> dict[str, float]:
    """Seconds a document of each part of a batch by itself; with processes, reading is beside the rest."""
    retriever = system.proposer.retriever
    assert retriever is not None
    known, read = readable_documents(documents), system.reader.read(readable_documents(documents))
    vectors = retriever.encoder.read_documents([one.tokens for one in read])
    terms = [one.terms for one in read]
    found = retriever.bank.search(vectors, RETRIEVED_TERMS, terms)
    parts: dict[str, Callable[[], object]] = {
        "language": partial(readable_documents, documents),
        "reading, one process": partial(system.reader.read, known),
        "extractors": partial(system.extractor.score_mined, [(one.candidates, one.example) for one in read]),
        "pair encoder": partial(retriever.encoder.read_documents, [one.tokens for one in read]),
        "bank": partial(retriever.bank.search, vectors, RETRIEVED_TERMS, terms),
        "absent ones": lambda: [
            merge_candidates(d, [], terms) for d, terms in zip(known, found, strict=True)
        ],
    }
    seconds = {name: best_of_three(run) / len(documents) for name, run in parts.items()}
    if system.processes:
        ahead, many = ReadAhead(system.reader, system.processes), known * 8
        list(ahead.read(many))  # the processes start
        seconds["reading ahead"] = best_of_three(lambda: list(ahead.read(many))) / len(many)
    return seconds


def best_of_three(run: Callable[[], object]) -> float:
    return min(timeit.repeat(run, number=1, repeat=3))
