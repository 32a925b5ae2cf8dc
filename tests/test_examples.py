"""The programs of the folder `examples`, run as their page says."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, f"examples/{name}", *arguments]
    environment = {**os.environ, "PYTHONPATH": "."}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)


def test_a_folder_becomes_a_table_and_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "bees.txt").write_text("Honey bees keep their hive warm. The hive hums.")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    done = run("folder_to_table.py", str(tmp_path), "--model", "first")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert {row["file"] for row in rows} == {"sub/bees.txt"}
    assert ("Honey bees", "1", "True") in {(row["keyphrase"], row["times"], row["present"]) for row in rows}
    assert "broken.pdf" in done.stderr
    assert "empty.txt" in done.stderr


@pytest.mark.slow
def test_texts_are_sorted_into_subjects_by_their_keyphrases():
    lines = run("classify.py").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["bees", "trains", "pipes"]
    assert "honey bees" in lines[0]


def test_scores_of_ones_own_are_compared_with_a_baseline(tmp_path):
    scores = tmp_path / "own.tsv"
    told = run("own_similarity.py", "--output", str(scores)).stderr.splitlines()[-1]
    command = [sys.executable, *told.split()[1:]]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "own" in shown
    assert "lcs" in shown
