"""When a later run may continue a file of predictions.

`OUTPUT.settings.json`, next to `OUTPUT`, holds the model, its weights, top_k and threshold, and each line of
`OUTPUT` records in `document_sha256` which text was read, and in which language. A second run with the same
settings continues after the documents that are already in `OUTPUT`; one with other settings is refused, and
so is an input in which one of those documents is missing or has changed: no file mixes two models or inputs.

What is not in `OUTPUT` does not count: lines that could not be read and documents that the model refused may
be corrected meanwhile, and the input may grow. Predictions of what was corrected come after all others. A
document without an id is identified by its line: if a broken line is deleted instead of corrected, those
after it become other documents, and the input is refused.

A file, or each file of a folder, is compared before anything is written. A pipe can be read only once, and
each document of it is compared when its turn comes: those before the first difference are written by then,
and documents that the pipe lacks go unnoticed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from kpdemo.batch.refused import refused_path
from kpdemo.batch.sources import BatchInput, read_located
from kpdemo.errors import InputError
from kpdemo.identity import document_identity
from kpdemo.json_text import parse_json
from kpdemo.languages.names import language_name
from kpdemo.reading.document_rows import ID_COLUMN
from kpdemo.reading.document_tables import column_name
from kpdemo.reading.json_rows import LineError
from kpdemo.storage import replace_file
from kpdemo.types import Document

IDENTITY = "document_sha256"
"""The field of a line of predictions with the identity of its document."""


class ResumeError(InputError):
    """The output file is there already and cannot be continued by this call."""


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What must not change between a run and the one that resumes it.

    Attributes:
        identity: of the model's weights, as several may share a name; empty when it has none.
        language: that all documents are read in; empty for each its own.
        nested: whether a present keyphrase may be nested in another.
        id_column: where the ids are, see `RowIds`.
    """

    model: str
    top_k: int | None
    threshold: float | None
    identity: str = ""
    language: str = ""
    nested: bool = True
    id_column: str = ID_COLUMN

    def as_read(self, document: Document) -> Document:
        """The document in the language that it is read in."""
        return replace(document, language=self.language) if self.language else document


def settings_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.settings.json")


def recorded_model(output: Path) -> str | None:
    """The name of the model that made a predictions file, if its settings are next to it."""
    settings = _read_settings(settings_path(output))
    return None if settings is None else settings.model


class DoneDocuments:
    """The documents that a file of predictions holds already."""

    def __init__(self, output: str = "", identities: Mapping[str, str] | None = None) -> None:
        """Args:
        output: what messages call the file.
        identities: by the id of the document.
        """
        self._output = output
        self._identities = dict(identities or {})

    def __contains__(self, id: str) -> bool:
        return id in self._identities

    def check(self, document: Document, source: str) -> None:
        """Raises:
        ResumeError: what was predicted under the id of this document of `source` was another text.
        """
        earlier = self._identities.get(document.id)
        if earlier is not None and earlier != document_identity(document):
            raise _begun_with(
                self._output, f'another text or language of the document "{document.id}" than {source} has'
            )

    def check_file(self, source: Path, settings: BatchSettings) -> None:
        """Raises:
        ResumeError: one of the documents is not in `source`, or is another text there.
        """
        missing = dict.fromkeys(self._identities)
        documents = read_located(source, on_error=_pass_over, id_column=settings.id_column)
        while missing:
            one = next(documents, None)
            if one is None:
                raise _begun_with(self._output, f'a document "{next(iter(missing))}", which {source} lacks')
            if one.document.id in missing:  # of several with an id the first is read
                del missing[one.document.id]
                self.check(settings.as_read(one.document), str(source))


def resume(path: Path, source: BatchInput, settings: BatchSettings) -> DoneDocuments:
    """What `path` holds already, after it is made ready for appending."""
    beside = settings_path(path)
    if not path.exists() or path.stat().st_size == 0:
        refused_path(path).unlink(missing_ok=True)  # of an output that was deleted
        _write_settings(beside, settings)
        return DoneDocuments()
    earlier = _read_settings(beside)
    if earlier is None:
        raise ResumeError(
            f"{path} is not empty, but {beside.name} does not say how it was made; name another output or "
            "delete it."
        )
    given = Path(source) if isinstance(source, (str, Path)) else None
    compared = given if given and (given.is_file() or given.is_dir()) else None  # a pipe is read only once
    now = settings
    if compared and column_name(earlier.id_column) == column_name(settings.id_column):
        # The same column of a table; fields of JSON Lines may be two, and then their documents differ.
        now = replace(settings, id_column=earlier.id_column)
    if differences := _differences(earlier, now):
        raise _begun_with(str(path), ", ".join(differences))
    done = DoneDocuments(str(path), _whole_lines(path))
    if compared:
        done.check_file(compared, settings)
    return done


def _begun_with(output: str, difference: str) -> ResumeError:
    return ResumeError(
        f"{output} was started with {difference}; use the same settings, name another output or delete it."
    )


def _pass_over(_: LineError) -> None:
    """A line that cannot be read holds no document; the run itself reports it."""


def _differences(earlier: BatchSettings, now: BatchSettings) -> list[str]:
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
    if earlier.id_column != now.id_column:
        found.append(f"the id column {earlier.id_column}, not {now.id_column}")
    return found


def _or_own(threshold: float | None) -> str:
    return "the model's own" if threshold is None else str(threshold)


def _or_detected(language: str) -> str:
    return language_name(language) if language else "of each document"


def _write_settings(path: Path, settings: BatchSettings) -> None:
    replace_file(path, f"{json.dumps(asdict(settings))}\n".encode())


def _read_settings(path: Path) -> BatchSettings | None:
    known = {setting.name for setting in fields(BatchSettings)}
    try:
        row = parse_json(path.read_text(encoding="utf-8"))
        return BatchSettings(**{name: value for name, value in row.items() if name in known})
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return None


def _whole_lines(path: Path) -> dict[str, str]:
    """Cut off a last line that was torn in the middle of a write; ids and identities of the others.

    Raises:
        ResumeError: a line is not a prediction, or has the id of an earlier one.
    """
    done: dict[str, str] = {}
    repeated: list[tuple[int, str]] = []
    whole = 0
    with path.open("r+b") as stream:
        for number, line in enumerate(stream, start=1):
            row = _row(line)
            if row is None:
                if stream.read(1):
                    raise ResumeError(f"{path}, line {number}: not a prediction; fix or delete the file.")
                break
            if row["id"] in done:
                repeated.append((number, row["id"]))
            done[row["id"]] = row[IDENTITY]
            whole += len(line)
        if repeated:
            number, id = repeated[0]
            lines = "1 line repeats" if len(repeated) == 1 else f"{len(repeated)} lines repeat"
            raise ResumeError(
                f'{path}: {lines} the id of an earlier one, first line {number} with "{id}"; delete the '
                "repeated lines, or the whole file to start again."
            )
        stream.truncate(whole)
    return done


def _row(line: bytes) -> dict[str, Any] | None:
    """A line of predictions; None when it is torn, even if only its line end is missing."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = parse_json(line)
    except ValueError:
        return None
    told = isinstance(row, dict) and all(isinstance(row.get(name), str) for name in ("id", IDENTITY))
    return row if told else None
