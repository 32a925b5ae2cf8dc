"""How long it takes to import 100,000 pairs, on both databases, from the file to the commit.

The target is less than 15 seconds on two quiet cores; as elsewhere, seconds are printed and not asserted.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from annotation.services.imports import ImportService
from annotation.services.projects import ProjectService
from annotation.types import ProjectSettings
from db import Database
from kpdemo.io.tables import open_source
from tests.reading import read_items

pytestmark = pytest.mark.benchmark

PAIRS = 100_000
TYPES = ("paragraph2sentence", "sentence2phrase", "phrase2word", "word2sense")


@pytest.fixture(scope="module")
def pairs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """44 MB of JSON Lines; the texts have about 47 words a pair."""
    chance = random.Random(20140301)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 10))) for _ in range(5_000)]
    path = tmp_path_factory.mktemp("import") / "pairs.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(PAIRS):
            row = {
                "id": f"p-{number}",
                "type": TYPES[number % 4],
                "left": " ".join(chance.choices(words, k=35)),
                "right": " ".join(chance.choices(words, k=12)),
                "genre": f"genre {number % 7}",
            }
            file.write(json.dumps(row) + "\n")
    return path


def test_importing_100_000_pairs(benchmark, database: Database, pairs_file: Path):
    project = ProjectService(database).create(ProjectSettings("Benchmark"))

    def run() -> int:
        with open_source(pairs_file) as source:
            return ImportService(database).import_pairs(project.id, read_items(source)).pairs

    assert benchmark.pedantic(run, rounds=1) == PAIRS
