"""Files that are written whole or not at all."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kpdemo.storage import replace_file


def test_content_is_on_the_disk_before_it_takes_the_place_of_the_last(tmp_path, monkeypatch):
    path, fsync, seen = tmp_path / "folder" / "file.json", os.fsync, []
    replace_file(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda number: (seen.append(path.read_bytes()), fsync(number)))
    replace_file(path, b"new")
    assert (seen, path.read_bytes()) == ([b"old"], b"new")
    assert [file.name for file in path.parent.iterdir()] == ["file.json"]


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
