"""`python -m annotation import`: pairs and ratings from files or standard input."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO, cast

import typer

from annotation.commands.options import (
    DatabaseOption,
    JsonOption,
    ProjectArgument,
    WordNetOption,
    check_file,
    open_project,
)
from annotation.exchange import read_items_or_errors
from annotation.figures import number_of
from annotation.files.formats import FileFormat, Source, open_source, open_stream
from annotation.files.made_ids import MadeIds
from annotation.import_notes import import_notes
from annotation.senses.dictionary import Dictionary
from annotation.senses.pair_senses import with_senses
from annotation.services.imports.importing import ImportService
from annotation.terminal import ProgressLine, show_json, show_line
from annotation.types import ReadItem
from db import DEFAULT_URL
from db.command import CallError

STDIN = "-"
_MOST_NAMED = 5
_EXAMPLES = """
Examples:

\b
  python -m annotation import news pairs.tsv
  python -m annotation import news pairs.jsonl.gz ratings.csv
  python -m annotation import clss paragraph2sentence.test.input.tsv word2sense.test.input.tsv
  zcat pairs.jsonl.gz | python -m annotation import news - --format jsonl

\b
Pairs have the fields id, type, left and right and, if wished, genre, intended, source and ratings;
ratings in long form have id, rater and grade. Everything is imported, or nothing. A pair is known by its
type and id: the same texts under two ids are two pairs, unless --merge-equal-texts is given.
"""


FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILE…", help="TSV, CSV, JSON Lines or .gz; - is standard input.")
]
TypeOption = Annotated[
    str | None, typer.Option(metavar="TYPE", help="The comparison type of pairs without one in the file.")
]
FormatOption = Annotated[
    FileFormat | None, typer.Option(help="Format of the files, instead of the one by their names.")
]
MergeOption = Annotated[
    bool,
    typer.Option(
        "--merge-equal-texts",
        help="Make one pair of those with the same texts under several ids; of a rater's grades of them, the "
        "first is kept and the others are listed.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("import", epilog=_EXAMPLES)(import_files)


def import_files(
    project: ProjectArgument,
    files: FilesArgument,
    type: TypeOption = None,
    format: FormatOption = None,
    merge_equal_texts: MergeOption = False,
    as_json: JsonOption = False,
    wordnet: WordNetOption = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Import pairs and ratings: all files or nothing."""
    sizes = file_sizes(files)
    database, into = open_project(database_url, project)
    names = [Path(name).name for name in files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    with (
        _whole(sys.stdin.buffer) if STDIN in files else nullcontext() as stdin,
        ProgressLine("Importing", total=total, unit="rows") as line,
    ):
        reader = _Reader(files, stdin, format, type, into.settings.only_type)
        summary = ImportService(database).import_pairs(
            into.id,
            with_senses(reader.items(), Dictionary(wordnet).open_or_none),
            merges_equal_texts=merge_equal_texts,
            progress=lambda done: line.show(reader.bytes_read(), count=done),
            files=names,
        )
    if as_json:
        show_json(
            {
                "project": into.name,
                "pairs": summary.pairs,
                "ratings": summary.ratings,
                "duplicates": list(summary.duplicates),
                "made_ids": sum(made.count for made in reader.made_ids.values()),
                "joined": list(summary.joined),
                "equal_texts": [{"id": id, "as": other} for id, other in summary.equal_texts],
                "merged": [{"id": id, "into": other} for id, other in summary.merged],
                "ratings_left_out": [
                    {"id": each.id, "rater": each.rater, "grade": float(each.grade), "kept": float(each.kept)}
                    for each in summary.left_out
                ],
            }
        )
        return
    imported = f"{number_of(summary.pairs, 'pair')} and {number_of(summary.ratings, 'rating')}"
    show_line(summary_text(imported, into.name, summary.duplicates, "pair"))
    told = [made.sentence(name) for name, made in reader.made_ids.items()]
    for said in filter(None, [*told, *import_notes(summary)]):
        show_line(said)


def summary_text(imported: str, project: str, duplicates: Sequence[str], noun: str) -> str:
    """What was imported, in a sentence or two.

    Args:
        imported: what was imported, with its number.
        duplicates: the ids of what was there already.
        noun: for one of them.
    """
    text = f"Imported {imported} into {project}."
    if not duplicates:
        return text
    count = len(duplicates)
    named = ", ".join(duplicates[:_MOST_NAMED]) + (", …" if count > _MOST_NAMED else "")
    were = "was" if count == 1 else "were"
    return f"{text} {number_of(count, noun)} {were} there already and {were} left out: {named}."


class _Reader:
    """Reads the files one after the other, and knows how far it is."""

    def __init__(
        self,
        files: Sequence[str],
        stdin: BinaryIO | None,
        format: FileFormat | None,
        type: str | None,
        only_type: str | None,
    ) -> None:
        self._files = files
        self._stdin = stdin
        self._format = format
        self._types = {"type": type, "only_type": only_type}
        self._done = 0
        self._open: Source | None = None
        self.made_ids: dict[str, MadeIds] = {}
        """Of each file."""

    def items(self) -> Iterator[ReadItem]:
        for name in self._files:
            with opened(name, self._stdin) as source:
                self._open = source
                self.made_ids[source.name] = source.made_ids
                yield from read_items_or_errors(source, format=self._format, **self._types)
                self._open = None
                self._done += source.size or 0

    def bytes_read(self) -> int:
        here = self._open.position() if self._open is not None and self._open.position is not None else 0
        return self._done + here


def _whole(stream: BinaryIO) -> BinaryIO:
    """All of a stream, read before the import begins: a slow pipe would keep raters from saving."""
    copy = TemporaryFile()  # noqa: SIM115  # for as long as the command runs
    shutil.copyfileobj(stream, copy)
    copy.seek(0)
    return cast(BinaryIO, copy)


def file_sizes(files: Sequence[str]) -> list[int | None]:
    """Bytes of the files that a command is to read; None of standard input.

    Raises:
        CallError: one of them is not there, or standard input is named twice.
    """
    sizes = [None if name == STDIN else check_file(name).stat().st_size for name in files]
    if files.count(STDIN) > 1:
        raise CallError("Standard input can be read once; give - once.")
    return sizes


@contextmanager
def opened(name: str, stdin: BinaryIO | None = None) -> Iterator[Source]:
    """A file that a command is to read, or standard input.

    Args:
        name: of the file; "-" is standard input.
        stdin: what was read of standard input; by default itself.
    """
    if name == STDIN:
        yield open_stream(cast(io.BufferedReader, stdin or sys.stdin.buffer), "standard input")
    else:
        with open_source(Path(name)) as source:
            yield source
