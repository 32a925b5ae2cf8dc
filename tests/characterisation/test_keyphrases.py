"""What the commands of `python -m kpdemo` print and write for the examples."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import kpdemo
from tests.characterisation.commands import done, workplace
from tests.characterisation.comparing import check_json, check_text, masked_file

ENGLISH, FRENCH = "docs/examples/docs.jsonl", "docs/examples/theses.jsonl"
BASELINES = ("first", "tfidf", "yake", "textrank", "positionrank", "multipartite", "embedding")
PREDICTED = {
    "default": f"--input {ENGLISH} --output default.jsonl --csv default.csv",
    "default-french": f"--input {FRENCH} --output default-french.jsonl --csv default-french.csv",
    "multilingual": f"--input {FRENCH} --output multilingual.jsonl --model multilingual --top-k 4",
    "english": "--input docs/examples/more.jsonl --output english.jsonl --model english --top-k 4",
    "indexer": "--input docs/examples/more.jsonl --output indexer.jsonl --model indexer --threshold 0.3",
    "folder": "--input docs/examples/papers --output folder.jsonl --csv folder.csv --model first --top-k 2",
    **{name: f"--input {ENGLISH} --output {name}.jsonl --model {name} --top-k 3" for name in BASELINES},
}
"""Files of predictions, and the options that write them."""

SHORT = "Graph kernels compare molecules by their common substructures."
PRINTED = {
    "models": "models --json",
    "predict-paper": "predict docs/examples/paper.txt --json",
    "predict-pdf": "predict docs/examples/papers/lamps.pdf --model tfidf --top-k 3 --json",
    "predict-french": "predict docs/examples/these.txt --language fr --model multilingual --top-k 3 --json",
    "predict-passages": "predict docs/examples/these.txt --language fr --index french.index --top-k 3 --json",
    "predict-typed": "predict - --model tfidf --title Kernels --no-nested --json",
    "predict-own-model": "predict docs/examples/paper.txt --model docs.examples.capitals:Capitals --json",
    "candidates": f"candidates --gold {ENGLISH} --json",
    "evaluate-model": f"evaluate --gold {ENGLISH} --model tfidf --limit 4 --json",
    "evaluate-predictions": f"evaluate --gold {ENGLISH} --predictions default.jsonl --json "
    "--at 3,O --details details.jsonl",
    "evaluate-two": f"evaluate --gold {ENGLISH} --predictions default.jsonl --predictions yake.jsonl --json",
    "evaluate-languages": f"evaluate --gold {FRENCH} --predictions multilingual.jsonl --json",
    "index-info": "index info --index passages.index --recall 5 --check --json",
    "index-search": "index search --index passages.index machines --top-k 2 --json",
    "index-evaluate": "index evaluate --index passages.index --queries docs/examples/queries.jsonl --json",
}
"""What --json prints."""

WRITTEN = {
    "evaluate.tex": f"evaluate --gold {ENGLISH} --predictions default.jsonl --predictions yake.jsonl --latex",
    "evaluate-counted.tex": f"evaluate --gold {ENGLISH} --predictions yake.jsonl --latex "
    "--convention count_empty",
    "evaluate.md": f"evaluate --gold {ENGLISH} --predictions default.jsonl --markdown",
    "mined.tsv": "index mine --source docs/examples/more.jsonl --target docs/examples/passages.jsonl "
    "--threshold 0 --output -",
}
"""Files that commands print."""

HIDDEN = ("seconds", "identity")


@dataclass
class Found:
    predictions: dict[str, list[Any]] = field(default_factory=dict)
    printed: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Found:
    folder, found = workplace(tmp_path_factory.mktemp("keyphrases") / "work"), Found()
    for name, options in PREDICTED.items():
        done(folder, f"kpdemo predict {options}")
        found.predictions[name] = _lines(folder / f"{name}.jsonl")
    for file in folder.glob("*.csv"):
        found.files[file.name] = file.read_bytes()
    build = "kpdemo index build --input docs/examples/passages.jsonl --output passages.index"
    done(folder, build)
    done(folder, f"{build.replace('passages.index', 'french.index')} --model multilingual")
    done(folder, "kpdemo index add --index passages.index --input docs/examples/more.jsonl")
    for name, line in PRINTED.items():
        out = done(folder, f"kpdemo {line}", SHORT.encode()).out
        found.printed[name] = {"line": f"python -m kpdemo {line}", "json": json.loads(out)}
    found.predictions["details"] = _lines(folder / "details.jsonl")
    for name, line in WRITTEN.items():
        found.files[name] = done(folder, f"kpdemo {line}").out
    return found


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_what_json_prints(found, check_each):
    def compare(file: str, name: str) -> None:
        check_json(f"{file}.json", found.printed[name], hide=HIDDEN)

    check_each("kpdemo", found.printed, compare)


def test_what_files_of_predictions_hold(found, check_each):
    def compare(file: str, name: str) -> None:
        check_json(f"{file}.json", found.predictions[name])

    check_each("predictions", found.predictions, compare)


def test_what_tables_hold(found, check_each):
    def compare(file: str, name: str) -> None:
        check_text(f"{file}.txt", masked_file(found.files[name]), near=True)

    check_each("tables", found.files, compare)


def test_the_package_has_these_names():
    check_text("package.txt", "".join(f"{name}\n" for name in sorted(kpdemo.__all__)))
