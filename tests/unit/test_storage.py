"""Files that are written whole or not at all."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kpdemo.io.files import check_place, replace_file, replacing


def test_content_is_on_the_disk_before_it_takes_the_place_of_the_last(tmp_path, monkeypatch):
    path, fsync, seen = tmp_path / "folder" / "file.json", os.fsync, []
    replace_file(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda number: (seen.append(path.read_bytes()), fsync(number)))
    replace_file(path, b"new")
    assert (seen, path.read_bytes()) == ([b"old"], b"new")
    assert [file.name for file in path.parent.iterdir()] == ["file.json"]


def write_half(path):
    with replacing(path) as partial:
        partial.write_bytes(b"half")
        raise RuntimeError


def test_what_fails_in_the_midst_of_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    replace_file(path, b"old")
    with pytest.raises(RuntimeError):
        write_half(path)
    assert path.read_bytes() == b"old"


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "file.json").write_bytes(b"old")
    (tmp_path / "link.json").symlink_to("file.json")
    replace_file(tmp_path / "link.json", b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "file.json").read_bytes() == b"new"


def test_the_name_of_an_open_pipe_takes_the_content():
    """As /dev/stdout and the >(…) of a shell, which lead to no place in a folder."""
    end, own = os.pipe()
    try:
        replace_file(Path(f"/dev/fd/{own}"), b"content")
        assert os.read(end, 100) == b"content"
    finally:
        os.close(end)
        os.close(own)


def test_a_pipe_takes_the_content_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        read = threads.submit(pipe.read_bytes)
        replace_file(pipe, b"content")
        assert read.result(timeout=10) == b"content"
    assert pipe.is_fifo()


def test_a_place_that_cannot_be_written_is_told_before_and_any_other_is_ready(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"old")
    os.mkfifo(tmp_path / "pipe")
    for name in ("file", "new/folder/file", "pipe"):
        check_place(tmp_path / name)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [path.name for path in (tmp_path / "new").rglob("*")] == ["folder"]
    for name in ("new", "file/below"):
        with pytest.raises(OSError, match=name.partition("/")[0]) as caught:
            check_place(tmp_path / name)
        with pytest.raises(type(caught.value)):
            replace_file(tmp_path / name, b"content")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # root may write anywhere
    with pytest.raises(PermissionError, match="Permission denied") as denied:
        check_place(tmp_path / "file")
    assert denied.value.filename == str(tmp_path)
