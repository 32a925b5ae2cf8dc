"""Small files that unpack to large ones, nest without an end, or hide a program are refused in a sentence."""

from __future__ import annotations

import gzip
import json
import lzma
import pickle
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

import kpdemo
from kpdemo.errors import InputError, KpdemoError, TrainingError
from kpdemo.io.documents import read_documents, read_whole
from kpdemo.training.loop import load_state

PIECE = b"bees and hives " * 500_000
PIECES = 20
"""150 MB in all."""
OFFICE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def compress(path: Path, opened: Callable[..., object]) -> None:
    with opened(path, "wb") as file:
        for _ in range(PIECES):
            file.write(PIECE)


def package(path: Path, *, large: str, small: Iterable[tuple[str, str]] = ()) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, content in small:
            file.writestr(name, content)
        with file.open(large, "w") as member:
            for _ in range(PIECES):
                member.write(PIECE)


CONTAINER = '<container><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>'
UNPACKED: dict[str, Callable[[Path], None]] = {
    "a.txt.gz": partial(compress, opened=partial(gzip.open, compresslevel=1)),
    "a.txt.xz": partial(compress, opened=partial(lzma.open, preset=0)),
    "a.docx": partial(package, large="word/document.xml"),
    "a.odt": partial(
        package, large="content.xml", small=[("mimetype", "application/vnd.oasis.opendocument.text")]
    ),
    "a.epub": partial(package, large="c.opf", small=[("META-INF/container.xml", CONTAINER)]),
}
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
NESTED = {
    "deep.json": "[" * 2_000_000,
    "deep.jsonl": '{"text":' + "[" * 2_000_000,
    "laughs.xml": f'<!DOCTYPE l [<!ENTITY e0 "ha">{ENTITIES}]><article><title>&e9;</title></article>',
}


@pytest.mark.parametrize("name", UNPACKED)
def test_what_unpacks_to_more_than_a_file_may_have_is_not_read(tmp_path, name):
    path = tmp_path / name
    UNPACKED[name](path)
    assert path.stat().st_size < 2_000_000
    with pytest.raises(InputError, match=r"more than 104,857,600 bytes|not .+ that can be read"):
        read_whole(path)


@pytest.mark.parametrize(("name", "large"), [("a.xlsx", "xl/worksheets/sheet1.xml"), ("a.zip", "a.txt")])
def test_tables_and_zip_files_are_measured_before_they_are_unpacked(tmp_path, name, large):
    package(tmp_path / name, large=large)
    with pytest.raises(InputError, match="more than 104,857,600 bytes"):
        list(read_documents(tmp_path / name))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz"])
def test_a_line_without_an_end_is_left_at_its_limit(tmp_path, name):
    compress(tmp_path / name, partial(gzip.open, compresslevel=1))
    with pytest.raises(InputError, match="longer than 16,777,216 bytes"):
        list(read_documents(tmp_path / name))


@pytest.mark.parametrize("name", NESTED)
def test_what_nests_without_an_end_is_refused(tmp_path, name):
    (tmp_path / name).write_text(NESTED[name])
    with pytest.raises(InputError, match=r"nested too deeply|not XML that can be read|not JSON|entit"):
        list(read_documents(tmp_path / name))


class Program:
    """Makes a file when it is unpickled as Python's pickle does by itself."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self._path,)


def test_a_program_in_weights_or_in_the_state_of_a_training_is_not_run(tmp_path):
    ran = tmp_path / "ran"
    folder = tmp_path / "model"
    folder.mkdir()
    config = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("pytorch_model.bin", "model.safetensors", "state.pt"):
        (folder / name).write_bytes(pickle.dumps(Program(ran), protocol=2))
    with pytest.raises(KpdemoError):
        kpdemo.load_predictor(str(folder)).predict(["Graph kernels compare molecules."])
    (folder / "model.safetensors").unlink()
    with pytest.raises(KpdemoError):
        kpdemo.load_predictor(str(folder)).predict(["Graph kernels compare molecules."])
    with pytest.raises(TrainingError, match="cannot be read"):
        load_state(folder / "state.pt")
    assert not ran.exists()
    pickle.loads((folder / "state.pt").read_bytes())
    assert ran.exists()
