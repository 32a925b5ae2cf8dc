"""Which files hold documents, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kpdemo.errors import InputError

COMPRESSIONS = (".gz", ".xz")
LINE_SUFFIXES = (".jsonl", ".json")
TABLE_SUFFIXES = (".csv", ".tsv")
WHOLE_SUFFIXES = (".txt", ".md", ".pdf")
DOCUMENT_SUFFIXES = (*LINE_SUFFIXES, *TABLE_SUFFIXES, *WHOLE_SUFFIXES)

OTHER_SUFFIXES = (
    *(".doc", ".docx", ".odt", ".rtf", ".epub", ".htm", ".html", ".xml", ".ppt", ".pptx"),
    *(".xls", ".xlsx", ".ods", ".parquet", ".7z", ".bz2", ".tar", ".tgz", ".zip", ".zst"),
)
"""Kinds of files that are not read; any other name says nothing of what is in it."""

KINDS_ADVICE = f"use one of {', '.join(DOCUMENT_SUFFIXES)}."


def document_suffix(path: Path) -> str:
    """The suffix that says what is in the file, without that of its compression.

    A name that says nothing, such as /dev/stdin or that of a pipe, means JSON Lines.

    Raises:
        InputError: it is one of another kind of file.
    """
    suffix = file_suffix(path)
    if suffix in OTHER_SUFFIXES:
        raise InputError(f"{path}: files that end in {suffix} cannot be read; {KINDS_ADVICE}")
    return suffix if suffix in DOCUMENT_SUFFIXES else LINE_SUFFIXES[0]


def file_suffix(path: Path) -> str:
    """The last one in small letters, without that of a compression; empty where there is none."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def names_other_kind(path: Path, suffixes: Sequence[str]) -> bool:
    """Whether the name promises a kind of file that is not among `suffixes`; most names promise nothing."""
    suffix = file_suffix(path)
    return suffix in (*DOCUMENT_SUFFIXES, *OTHER_SUFFIXES) and suffix not in suffixes


def is_whole(name: str) -> bool:
    """Whether a file of this name is one document as a whole, plain or compressed."""
    return file_suffix(Path(name)) in WHOLE_SUFFIXES


def plain_name(path: Path) -> str:
    """The name of a file without what says how it is written: a/inspec.test.jsonl.gz is inspec.test."""
    name = path.name
    for endings in (COMPRESSIONS, DOCUMENT_SUFFIXES):
        ending = next((ending for ending in endings if name.lower().endswith(ending)), "")
        name = name[: len(name) - len(ending)]
    return name
