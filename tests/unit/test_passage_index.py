"""The passage index: search against numpy, building through kills, adding, and what is refused."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kpdemo.errors import ConfigError, InputError, PassageIndexError
from kpdemo.io.tables import LineError
from kpdemo.ramkg import index_building
from kpdemo.ramkg.index_building import add_passages, build_index, lock, partial_folder
from kpdemo.ramkg.passage_index import MANIFEST, PASSAGES, VECTORS, PassageIndex, passage_key
from kpdemo.ramkg.settings import EncoderConfig, IndexConfig
from kpdemo.types import Document
from tests.passages import SeededEncoder, numbered, passage

ROOT = Path(__file__).parents[2]

# Builds an index of 700 passages and dies on the way. Before the rename: when all else is done.
DYING = """
import os, signal, sys
from pathlib import Path
from kpdemo.ramkg import index_building
from kpdemo.ramkg.settings import IndexConfig
from kpdemo.types import Document
from tests.passages import SeededEncoder, numbered

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

index_building.COMMIT_SECONDS = 0.0
folder, where = Path(sys.argv[1]), sys.argv[2]
if where == "commit":
    index_building.StoreWriter.commit = lambda writer: (writer.sync(), die())
elif where == "structure":
    index_building.write_structure = die
elif where == "rename":
    Path.rename = die
encoder = SeededEncoder(dies_at=512 if where == "encode" else None)
index_building.build_index(numbered(700), folder, encoder, IndexConfig("ivf"), name="input")
"""


def build(folder: Path, count: int = 300, kind: str = "flat", **options) -> PassageIndex:
    return build_index(
        numbered(count), folder, SeededEncoder(), IndexConfig(kind, **options), name="passages.jsonl"
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def test_a_flat_index_finds_what_its_encoder_says(tmp_path):
    index = build(tmp_path / "index")
    encoder = SeededEncoder()
    [hits] = index.retrieve(encoder, [passage(7)], 3)
    vectors = encoder.passages([document for _, document in numbered(300)])
    products = vectors @ encoder.queries([passage(7)])[0]
    assert [hit.passage for hit in hits] == [numbered(300)[n][1] for n in np.argsort(-products)[:3]]
    assert hits[0].score == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_the_other_types_find_nearly_all_of_the_nearest(tmp_path, kind):
    index = build(tmp_path / "index", 3000, kind)
    assert index.manifest.recall >= 0.95
    assert index.recall(100) == pytest.approx(index.manifest.recall, abs=0.05)
    [hits] = index.retrieve(SeededEncoder(), [passage(5)], 1)
    assert hits[0].passage.id == "p5"


def test_more_lists_looked_through_find_more(tmp_path):
    index = build(tmp_path / "index", 2000, "ivf", nlist=40, nprobe=1)
    recalls = [index.recall(50, effort=effort) for effort in (1, 4, 40)]
    assert recalls == sorted(recalls)
    assert recalls[-1] == 1.0
    assert index.manifest.effort == 1


@pytest.mark.parametrize("where", ["encode", "commit", "structure", "rename"])
def test_a_build_that_was_killed_goes_on_to_the_same_bytes(tmp_path, where):
    folder = tmp_path / "index"
    killed = subprocess.run(
        [sys.executable, "-c", DYING, str(folder), where], cwd=ROOT, check=False, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not folder.exists()
    encoder = SeededEncoder()
    build_index(numbered(700), folder, encoder, IndexConfig("ivf"), name="input")
    assert encoder.encoded == {"encode": 188, "commit": 700, "structure": 0, "rename": 0}[where]
    whole = tmp_path / "whole"
    build_index(numbered(700), whole, SeededEncoder(), IndexConfig("ivf"), name="input")
    assert contents(folder) == contents(whole)
    assert not partial_folder(folder).exists()


def test_an_input_may_have_grown_when_a_build_goes_on(tmp_path):
    folder = tmp_path / "index"
    subprocess.run([sys.executable, "-c", DYING, str(folder), "rename"], cwd=ROOT, check=False)
    build_index(numbered(800), folder, SeededEncoder(), IndexConfig("ivf"), name="input")
    assert len(PassageIndex.open(folder)) == 800
    assert [path.name for path in folder.glob("structure-*")] == ["structure-800.faiss"]


def test_a_setting_of_another_type_of_index_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(
        ConfigError, match=r"type flat has no nprobe, but 16 was given: .* choose ivf or ivfpq"
    ):
        build(tmp_path / "index", nprobe=16)
    with pytest.raises(ConfigError, match="type ivf has no hnsw_m"):
        build(tmp_path / "index", kind="ivf", nlist=4, hnsw_m=8)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("encoder", "config", "passages", "message"),
    [
        (SeededEncoder(identity="b" * 64), IndexConfig(), numbered(400), "other weights or settings"),
        (SeededEncoder(), IndexConfig("hnsw"), numbered(400), "started with the settings"),
        (SeededEncoder(), IndexConfig(), numbered(400, first=1), 'has "p1" as passage 1'),
        (SeededEncoder(), IndexConfig(), numbered(3), "ends as passage 4"),
    ],
)
def test_a_build_goes_on_only_with_what_it_was_begun_with(
    tmp_path, monkeypatch, encoder, config, passages, message
):
    monkeypatch.setattr(index_building, "COMMIT_SECONDS", 0.0)

    class StoppedError(Exception):
        pass

    def stop(done: int) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        build_index(
            numbered(400), tmp_path / "index", SeededEncoder(), IndexConfig(), name="input", progress=stop
        )
    with pytest.raises(PassageIndexError, match=message):
        build_index(passages, tmp_path / "index", encoder, config, name="input")
    assert len(build(tmp_path / "index", 400)) == 400


@pytest.mark.parametrize("kind", ["flat", "ivf", "hnsw"])
def test_added_passages_are_found_beside_the_earlier_ones(tmp_path, kind):
    folder = tmp_path / "index"
    build(folder, 300, kind)
    added = add_passages(numbered(320), folder, SeededEncoder(), name="more.jsonl")
    assert (added.done, added.skipped) == (20, 300)
    index = PassageIndex.open(folder)
    found = index.retrieve(SeededEncoder(), [passage(3), passage(310)], 1)
    assert [hits[0].passage.id for hits in found] == ["p3", "p310"]
    assert index.damaged_files() == []
    assert len(list(folder.glob("structure-*"))) == (kind != "flat")


def test_an_index_is_untouched_by_an_addition_that_fails(tmp_path):
    folder = tmp_path / "index"
    build(folder, 300)
    reader = PassageIndex.open(folder)

    def fail(done: int) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        add_passages(numbered(400, first=300), folder, SeededEncoder(), name="x", progress=fail)
    assert len(PassageIndex.open(folder)) == 300
    assert PassageIndex.open(folder).damaged_files() == []
    add_passages(numbered(2, first=300), folder, SeededEncoder(), name="x")
    assert PassageIndex.open(folder).store.passage(301) == numbered(2, first=300)[1][1]
    assert len(reader.retrieve(SeededEncoder(), [passage(1)], 500)[0]) == 300


def test_bad_passages_are_reported_and_left_out(tmp_path):
    passages = [
        (1, passage(1)),
        (2, passage(1)),
        (3, Document(" \n", id="blank")),
        (4, passage(4, "a phrase", language="fr")),
    ]
    problems: list[LineError] = []
    index = build_index(
        passages, tmp_path / "index", SeededEncoder(), IndexConfig(), name="a.jsonl", on_error=problems.append
    )
    assert [problem.message for problem in problems] == [
        'a.jsonl, line 2: the id "p1" is that of another passage; give each its own.',
        'a.jsonl, line 3: the passage "blank" has no text; add one or empty the line.',
    ]
    assert index.store.passage(0).keyphrases == ()
    assert (index.manifest.with_keyphrases, index.manifest.languages) == (1, {"en": 1, "fr": 1})
    with pytest.raises(InputError, match=r'line 1: the id "p4" is that of another passage'):
        add_passages([(1, passage(4, "another"))], tmp_path / "index", SeededEncoder(), name="b.jsonl")


def test_an_input_without_passages_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="contains no passages"):
        build_index([], tmp_path / "index", SeededEncoder(), IndexConfig(), name="empty.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_single_passage_is_an_index(tmp_path):
    for kind in ("flat", "ivf", "hnsw"):
        index = build(tmp_path / kind, 1, kind)
        assert [hit.passage.id for hit in index.retrieve(SeededEncoder(), [passage(9)], 5)[0]] == ["p0"]
        with pytest.raises(PassageIndexError, match="recall needs two or more"):
            index.recall(1)


def test_another_encoder_is_refused(tmp_path):
    build(tmp_path / "index")
    other = SeededEncoder(identity="b" * 64)
    other.config = EncoderConfig("other")
    told = r"built with the encoder seeded \(a{12}\), not with other \(b{12}\)"
    message = told + r": rebuild it with `python -m kpdemo index build --model other`\."
    with pytest.raises(PassageIndexError, match=message):
        PassageIndex.open(tmp_path / "index").retrieve(other, [passage(1)], 1)
    with pytest.raises(PassageIndexError, match=message):
        add_passages(numbered(1, first=900), tmp_path / "index", other, name="x")


def test_what_is_there_is_not_built_over(tmp_path):
    build(tmp_path / "index")
    with pytest.raises(PassageIndexError, match="already exists"):
        build(tmp_path / "index")


def test_two_processes_do_not_write_at_once(tmp_path):
    build(tmp_path / "index")
    with lock(tmp_path / "index"), pytest.raises(PassageIndexError, match="Another process is writing"):
        add_passages(numbered(1, first=900), tmp_path / "index", SeededEncoder(), name="x")


@pytest.mark.parametrize("name", [PASSAGES, VECTORS, "keys.u64", "structure-300.faiss"])
@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_a_file_that_was_cut_short_is_found_out(tmp_path, name, kind):
    folder = tmp_path / "index"
    build(folder, 300, kind)
    path = folder / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(PassageIndexError, match=f"{name} is (missing or )?damaged.*rebuild the index"):
        PassageIndex.open(folder).retrieve(SeededEncoder(), [passage(1)], 1)


def test_changed_bytes_are_found_out(tmp_path):
    folder = tmp_path / "index"
    index = build(folder)
    assert index.damaged_files() == []
    for name in (VECTORS, PASSAGES):
        content = bytearray((folder / name).read_bytes())
        content[100] ^= 0xFF
        (folder / name).write_bytes(content)
    index = PassageIndex.open(folder)
    assert index.damaged_files() == [PASSAGES, VECTORS]
    with pytest.raises(PassageIndexError, match=r"passages\.jsonl is damaged \(line \d\): rebuild the index"):
        index.retrieve(SeededEncoder(), [passage(1)], 300)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No passage index at"),
        ("{", r"index\.json cannot be read"),
        ("[]", r"index\.json cannot be read"),
        (
            "[" * 100_000,
            r"index\.json cannot be read \(brackets nested too deeply\): rebuild the",
        ),
        (json.dumps({"format": 99}), "has format 99: update kpdemo"),
        (json.dumps({"format": 1, "encoder": {}, "index": {}}), r"index\.json cannot be read"),
    ],
)
def test_a_folder_that_is_no_index_is_explained(tmp_path, content, message):
    if content is not None:
        (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(PassageIndexError, match=message):
        PassageIndex.open(tmp_path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["identity"], None),
        (["encoder", "model"], 5),
        (["encoder", "normalise"], "no"),
        (["index", "nlist"], True),
        (["recall"], "high"),
        (["languages"], {"en": "all"}),
        (["sha256"], []),
    ],
)
def test_a_value_of_another_kind_in_the_description_of_an_index_is_told(tmp_path, place, value):
    build(tmp_path / "index")
    path = tmp_path / "index" / MANIFEST
    stored = json.loads(path.read_text())
    inner = stored if len(place) == 1 else stored[place[0]]
    inner[place[-1]] = value
    path.write_text(json.dumps(stored))
    with pytest.raises(PassageIndexError, match=rf"index\.json cannot be read \(a wrong {place[-1]}\):"):
        PassageIndex.open(path.parent)


def test_a_passage_is_found_by_its_id_even_among_equal_hashes(tmp_path, monkeypatch):
    index = build(tmp_path / "index")
    assert index.store.number_of("p17") == 17
    assert index.store.number_of("nobody") is None
    keys = np.full(300, passage_key("p17"), dtype=np.uint64)
    monkeypatch.setitem(index.store.__dict__, "keys", keys)
    assert index.store.number_of("p17") == 17


def test_vectors_must_be_finite(tmp_path, monkeypatch):
    monkeypatch.setattr(
        SeededEncoder, "passages", lambda self, documents: np.full((len(documents), 24), np.nan, np.float32)
    )
    with pytest.raises(PassageIndexError, match='no finite vector for the passage "p0"'):
        build(tmp_path / "index")
