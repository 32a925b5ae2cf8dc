"""A whole study through commands and routes: what they print, answer and export; and /api beside it."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.characterisation import programs, study
from tests.characterisation.commands import workplace
from tests.characterisation.comparing import check_json, check_text, laid_out, masked_file
from tests.characterisation.serving import Visitor, served
from tests.characterisation.study import Study

TIMES = ("manifest_sha256", "sha256")
"""Of events: some of the files that they name hold moments."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    made = study.open_study(workplace(tmp_path_factory.mktemp("study") / "work"))
    study.prepare_projects(made)
    with served(made.folder, made.url) as address:
        study.look_at_pages(made, address)
        visitor = Visitor(address)
        programs.ask_models(visitor)
        made.answers["api"], visitor.record = visitor.record, []
        programs.ask_wrongly(visitor)
        made.answers["api-refused"] = visitor.record
        visitor.close()
        for step in (study.grade, study.train, study.write_pairs, study.adjudicate, study.export):
            step(made, address)
    study.read(made)
    return made


def test_what_json_prints(finished, check_each):
    def compare(file: str, name: str) -> None:
        hide = TIMES if name.startswith("events") else ()
        check_json(f"{file}.json", finished.printed[name], hide=hide)

    check_each("annotation", finished.printed, compare)


def test_what_the_routes_answer(finished, check_each):
    def compare(file: str, name: str) -> None:
        check_json(f"{file}.json", finished.answers[name], hide=("seconds",) if name == "api" else ())

    check_each("routes", finished.answers, compare)


def test_the_names_of_events_and_elements(finished, check_each):
    def compare(file: str, name: str) -> None:
        check_text(f"{file}.txt", "".join(f"{one}\n" for one in sorted(finished.ids[name])))

    check_each("pages", finished.ids, compare)


def test_the_bytes_of_exports(finished, check_each):
    def compare(file: str, name: str) -> None:
        check_text(f"{file}.txt", shown(name, finished.files))

    check_each("exports", finished.files, compare)


def shown(name: str, files: Mapping[str, bytes]) -> str:
    """A file in words: a table of Parquet by its columns and rows, others as they are."""
    if name.endswith(".parquet"):
        table = pyarrow.parquet.read_table(io.BytesIO(files[name]))
        columns = "".join(f"{column.name}: {column.type}\n" for column in table.schema)
        return columns + "".join(f"{laid_out(row)}\n" for row in table.to_pylist())
    text = masked_file(files[name])
    return masked_manifest(name, text, files) if name.endswith("manifest.json") else text


def masked_manifest(name: str, text: str, files: Mapping[str, bytes]) -> str:
    """Without the digests of what depends on versions and moments, once they are found right."""
    told = json.loads(files[name])
    folder = name.rpartition("/")[0]
    for file in told["files"]:
        content = files[f"{folder}/{file['name']}"]
        assert (file["bytes"], file["sha256"]) == (len(content), sha256(content).hexdigest())
        if file["name"].endswith(".parquet"):
            text = text.replace(file["sha256"], "<sha256>").replace(
                f'"bytes": {file["bytes"]}', '"bytes": "<bytes>"'
            )
    card = told["card"]["sha256"]
    assert card == sha256(files[f"{folder}/{told['card']['name']}"]).hexdigest()
    return re.sub(r'("version": ")[^"]+', r"\1<version>", text.replace(card, "<sha256>"))


def test_downloads_are_what_the_commands_write(finished):
    downloads, files = finished.downloads, finished.files
    for name, file in {
        "leaderboard.csv": "leaderboard-examples.csv",
        "gold-keyphrases.jsonl": "bridge/keyphrases.jsonl",
        "keyphrases.qrels": "bridge/bees.qrels",
        "keyphrases.run": "bridge/1-first.run",
    }.items():
        assert downloads[name].content == files[file], name
    printed = finished.printed["leaderboard-show-examples"]["json"]
    told = json.loads(downloads["leaderboard.json"].content)
    assert told == {key: printed[key] for key in told}
    with zipfile.ZipFile(io.BytesIO(downloads["gold.zip"].content)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    here = {name: file for name, file in files.items() if name.startswith("news-jsonl/")}
    assert content == {f"news-gold-jsonl/{Path(name).name}": file for name, file in here.items()}


def test_the_headers_of_downloads(finished):
    told = ("content-type", "content-disposition", "cache-control")
    found = {
        name: {header: answer.headers[header] for header in told}
        for name, answer in finished.downloads.items()
    }
    check_json("download-headers.json", found)
