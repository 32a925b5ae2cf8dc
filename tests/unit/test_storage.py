"""Files that are written whole or not at all."""

import os

from kpdemo.storage import replace_file


def test_content_is_on_the_disk_before_it_takes_the_place_of_the_last(tmp_path, monkeypatch):
    path, fsync, seen = tmp_path / "folder" / "file.json", os.fsync, []
    replace_file(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda number: (seen.append(path.read_bytes()), fsync(number)))
    replace_file(path, b"new")
    assert (seen, path.read_bytes()) == ([b"old"], b"new")
    assert [file.name for file in path.parent.iterdir()] == ["file.json"]
