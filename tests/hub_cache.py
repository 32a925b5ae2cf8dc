"""Models in the cache of the Hugging Face Hub, in its own layout, as if they had been downloaded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def publish(cache: Path, name: str, folder: Path, *, lacking: Iterable[str] = ()) -> Path:
    """The folder of the revision: each file of `folder` as a link to its bytes, and the list of them all.

    Args:
        name: "owner/name".
        lacking: files of the list that were never downloaded.
    """
    kept = cache / f"models--{name.replace('/', '--')}"
    snapshot = kept / "snapshots" / COMMIT
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    listed = {}
    for number, path in enumerate(paths):
        file = path.relative_to(folder).as_posix()
        listed[file] = {"size": path.stat().st_size, "blob_id": f"{number:040d}"}
        if file not in lacking:
            blob, link = kept / "blobs" / f"{number:040d}", snapshot / file
            blob.parent.mkdir(parents=True, exist_ok=True)
            link.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(path.read_bytes())
            link.symlink_to(blob)
    for file, content in {
        "refs/main": COMMIT,
        f"trees/{COMMIT}.json": json.dumps({"format_version": 1, "files": listed}),
    }.items():
        (kept / file).parent.mkdir(exist_ok=True)
        (kept / file).write_text(content, encoding="utf-8")
    return snapshot
