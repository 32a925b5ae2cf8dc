"""What makes a file of predictions one that a later run can go on with.

Beside `OUTPUT` stands `OUTPUT.settings.json` with the model, its weights, top_k, threshold and the
beginning of the input it is made with. A second run with the same settings goes on after the documents
that are already in `OUTPUT`; one with others is refused, so that no file mixes two models or two inputs.
An input may grow meanwhile.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO

from kpdemo.documents import read_head
from kpdemo.errors import InputError
from kpdemo.languages.names import language_name
from kpdemo.refused import refused_path

_HEAD_BYTES = 64 * 1024


class ResumeError(InputError):
    """The output file is there already and cannot be continued by this call."""


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What must not change between a run and the one that resumes it.

    Attributes:
        identity: tells the weights of one model from others of its name; empty when it has none.
        language: that all documents are read in; empty for each its own.
        nested: whether a present keyphrase may stand inside another.
        input_bytes, input_sha256: how the input begins; empty for a stream.
    """

    model: str
    top_k: int | None
    threshold: float | None
    identity: str = ""
    language: str = ""
    input_bytes: int = 0
    input_sha256: str = ""
    nested: bool = True


def settings_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.settings.json")


def recorded_model(output: Path) -> str | None:
    """The name of the model that made a predictions file, when its settings stand beside it."""
    settings = _read_settings(settings_path(output))
    return None if settings is None else settings.model


def resume(path: Path, source: str | Path | BinaryIO, settings: BatchSettings) -> frozenset[str]:
    """The ids that `path` holds already, after it is made ready for appending."""
    beside = settings_path(path)
    if not path.exists() or path.stat().st_size == 0:
        refused_path(path).unlink(missing_ok=True)  # of an output that was deleted
        _write_settings(beside, _with_head(settings, source, _HEAD_BYTES))
        return frozenset()
    earlier = _read_settings(beside)
    if earlier is None:
        raise ResumeError(
            f"{path} holds something already, but {beside.name} does not say how it was made; "
            "name another output or delete it."
        )
    # As much of the input as was there: more may have been appended since.
    differences = _differences(earlier, _with_head(settings, source, earlier.input_bytes), name_of(source))
    if differences:
        raise ResumeError(
            f"{path} was begun with {', '.join(differences)}; "
            "give the same, name another output or delete it."
        )
    return _whole_lines(path)


def name_of(source: str | Path | BinaryIO) -> str:
    return str(source) if isinstance(source, (str, Path)) else "standard input"


def _with_head(settings: BatchSettings, source: str | Path | BinaryIO, size: int) -> BatchSettings:
    if not isinstance(source, (str, Path)) or not Path(source).is_file():  # a pipe can be read only once
        return settings
    head = read_head(Path(source), size)
    return replace(settings, input_bytes=len(head), input_sha256=hashlib.sha256(head).hexdigest())


def _differences(earlier: BatchSettings, now: BatchSettings, source_name: str) -> list[str]:
    """What `earlier` had otherwise, in words."""
    found = []
    if earlier.model != now.model:
        found.append(f"the model {earlier.model}, not {now.model}")
    elif earlier.identity != now.identity:
        found.append(f"other weights of the model {now.model}")
    if earlier.top_k != now.top_k:
        found.append(f"top_k {earlier.top_k or 'automatic'}, not {now.top_k or 'automatic'}")
    if earlier.threshold != now.threshold:
        found.append(f"threshold {_or_own(earlier.threshold)}, not {_or_own(now.threshold)}")
    if earlier.language != now.language:
        found.append(f"the language {_or_detected(earlier.language)}, not {_or_detected(now.language)}")
    if earlier.nested != now.nested:
        found.append("nested keyphrases" if earlier.nested else "no nested keyphrases")
    both_known = earlier.input_sha256 and now.input_sha256
    if both_known and earlier.input_sha256 != now.input_sha256:
        found.append(f"an input that begins otherwise than {source_name}")
    return found


def _or_own(threshold: float | None) -> str:
    return "the model's own" if threshold is None else str(threshold)


def _or_detected(language: str) -> str:
    return language_name(language) if language else "of each document"


def _write_settings(path: Path, settings: BatchSettings) -> None:
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(json.dumps(asdict(settings)) + "\n", encoding="utf-8")
    draft.replace(path)


def _read_settings(path: Path) -> BatchSettings | None:
    try:
        return BatchSettings(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _whole_lines(path: Path) -> frozenset[str]:
    """Cut off a last line that was torn in the middle of a write; the ids of the others."""
    done: set[str] = set()
    whole = 0
    with path.open("r+b") as stream:
        for number, line in enumerate(stream, start=1):
            id = _id_of(line)
            if id is None:
                if stream.read(1):
                    raise ResumeError(f"{path}, line {number}: not a prediction; mend or delete the file.")
                stream.truncate(whole)
                break
            done.add(id)
            whole += len(line)
    return frozenset(done)


def _id_of(line: bytes) -> str | None:
    """The id of a line of predictions; None when it is torn, even if only its line end is missing."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    id = row.get("id") if isinstance(row, dict) else None
    return id if isinstance(id, str) else None
