"""`python -m annotation import` and `pairs`: pairs and ratings from files, listed, withdrawn and removed."""

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

from annotation.cli.options import (
    DatabaseOption,
    IdsTypeOption,
    JsonOption,
    ProjectArgument,
    WordNetOption,
    open_project,
)
from annotation.columns import Columns, parse_columns
from annotation.exchange import FileFormat, ReadingNotes, look_at, open_file, read_items_or_errors
from annotation.sense_pairs import Dictionary, add_senses
from annotation.services.imports import ImportService
from annotation.services.pairs import PairService, PairState, pair_json
from annotation.services.senses import SenseService
from annotation.services.writing import WritingService
from annotation.types import ItemInput, Project, ProjectSettings, import_json
from annotation.wording import beginning
from db import DEFAULT_URL
from kpdemo.command import CallError, check_file
from kpdemo.io.tables import Source, open_stream
from kpdemo.terminal import ProgressLine, show_json, show_line, show_table
from kpdemo.text import number_of

STDIN = "-"
_MOST_NAMED = 5
_IMPORT_EXAMPLES = """
Examples:

\b
  python -m annotation import news pairs.tsv
  python -m annotation import news pairs.jsonl.gz ratings.csv
  python -m annotation import clss paragraph2sentence.test.input.tsv word2sense.test.input.tsv
  zcat pairs.jsonl.gz | python -m annotation import news - --format jsonl
  python -m annotation import news export.csv --look
  python -m annotation import news export.csv --columns left=text,right=summary

\b
Pairs have the fields id, type, left and right and, if wished, genre, intended, source and ratings;
ratings in long form have id, rater and grade. Everything is imported, or nothing. A pair is known by its
type and id: the same texts under two ids are two pairs, unless --merge-equal-texts is given.
"""


FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILE…", help="TSV, CSV, XLSX, JSON Lines or .gz; - is standard input.")
]
TypeOption = Annotated[
    str | None, typer.Option(metavar="TYPE", help="The comparison type of pairs without one in the file.")
]
FormatOption = Annotated[
    FileFormat | None,
    typer.Option(help="Format of files of text, instead of the one by their names."),
]
ColumnsOption = Annotated[
    str,
    typer.Option(
        metavar="FIELD=COLUMN,…",
        help="Which columns are id, type, left, right, genre, intended, source, rater and grade, where their "
        "names do not tell; columns of a file without header are 1, 2 and so on.",
    ),
]
LookOption = Annotated[
    bool, typer.Option("--look", help="Show how the files would be read, with a guess; import nothing.")
]
MergeOption = Annotated[
    bool,
    typer.Option(
        "--merge-equal-texts",
        help="Make one pair of those with the same texts under several ids; of a rater's grades of them, the "
        "first is kept and the others are listed.",
    ),
]


def register_import(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("import", epilog=_IMPORT_EXAMPLES)(import_files)


def import_files(
    project: ProjectArgument,
    files: FilesArgument,
    type: TypeOption = None,
    format: FormatOption = None,
    columns: ColumnsOption = "",
    look: LookOption = False,
    merge_equal_texts: MergeOption = False,
    as_json: JsonOption = False,
    wordnet: WordNetOption = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Import pairs and ratings: all files or nothing."""
    sizes = file_sizes(files)
    assigned = parse_columns(columns)
    database, into = open_project(database_url, project)
    if look:
        _show_looks(files, type or into.settings.only_type, as_json=as_json)
        return
    names = [Path(name).name for name in files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    with (
        _copy_stream(sys.stdin.buffer) if STDIN in files else nullcontext() as stdin,
        ProgressLine("Importing", total=total, unit="rows") as line,
    ):
        reader = _Reader(files, stdin, format, type, into.settings, assigned)
        summary = ImportService(database).import_pairs(
            into.id,
            add_senses(reader.items(), Dictionary(wordnet).open_or_none),
            merges_equal_texts=merge_equal_texts,
            progress=lambda done: line.show(reader.bytes_read(), count=done),
            files=names,
        )
    if as_json:
        show_json(import_json(into, summary, sum(notes.made_ids for notes in reader.notes.values())))
        return
    imported = f"{number_of(summary.pairs, 'pair')} and {number_of(summary.ratings, 'rating')}"
    show_line(summary_text(imported, into.name, summary.duplicates, "pair"))
    told = [sentence for name, notes in reader.notes.items() for sentence in notes.sentences(name)]
    for said in [*told, *summary.notes]:
        show_line(said)


def _show_looks(files: Sequence[str], type: str | None, *, as_json: bool) -> None:
    """Say what each file seems to be, how its columns would be read, and its first rows."""
    looks = {}
    for name in files:
        with open_input(name, any_encoding=True) as source:
            looks[source.name] = look_at(source, type=type)
    if as_json:
        show_json(
            [
                {
                    "file": name,
                    "kind": look.kind,
                    "columns": dict(look.columns or {}),
                    "names": list(look.names),
                }
                for name, look in looks.items()
            ]
        )
        return
    for name, look in looks.items():
        guess = ",".join(f"{field}={column}" for field, column in (look.columns or {}).items())
        show_line(f"{name}: {look.kind}." + (f" The guess: --columns {guess}" if guess else ""))
        if look.rows:
            show_table(look.names, [[beginning(cell, _SHOWN) for cell in row] for row in look.rows])


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
        settings: ProjectSettings,
        columns: Columns,
    ) -> None:
        self._files = files
        self._columns = columns
        self._stdin = stdin
        self._format = format
        self._types = {"type": type, "only_type": settings.only_type}
        self._scale = settings.scale
        self._done = 0
        self._open: Source | None = None
        self.notes: dict[str, ReadingNotes] = {}
        """Of each file."""

    def items(self) -> Iterator[ItemInput]:
        for name in self._files:
            with open_input(name, self._stdin, any_encoding=True) as source:
                self._open = source
                notes = self.notes[source.name] = ReadingNotes()
                yield from read_items_or_errors(
                    source,
                    format=self._format,
                    columns=self._columns,
                    notes=notes,
                    scale=self._scale,
                    **self._types,
                )
                self._open = None
                self._done += source.size or 0

    def bytes_read(self) -> int:
        here = self._open.position() if self._open is not None and self._open.position is not None else 0
        return self._done + here


def _copy_stream(stream: BinaryIO) -> BinaryIO:
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
def open_input(name: str, stdin: BinaryIO | None = None, *, any_encoding: bool = False) -> Iterator[Source]:
    """A file that a command is to read, or standard input.

    Args:
        name: of the file; "-" is standard input.
        stdin: what was read of standard input; by default itself.
        any_encoding: as of `open_source`.
    """
    if name == STDIN:
        stream = cast(io.BufferedReader, stdin or sys.stdin.buffer)
        yield open_stream(stream, "standard input", any_encoding=any_encoding)
    else:
        with open_file(Path(name), any_encoding=any_encoding) as source:
            yield source


_SHOWN = 32
_LONGEST_SEARCH = 10_000
"""Characters: SQLite compares with at most 50,000 bytes."""
_PAIRS_EXAMPLES = """
Examples:

\b
  python -m annotation pairs list news
  python -m annotation pairs list news --search ferry --state open --json
  python -m annotation pairs withdraw news p17 --reason "its text is cut off"
  python -m annotation pairs restore news p17
  python -m annotation pairs describe news
  tail -n +2 wrong.tsv | cut -f1 | python -m annotation pairs remove news -
"""

IdsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="ID…",
        help="Ids of the pairs, as `pairs list` has them; - reads them from standard input, one per line. "
        "Before ids that begin with a hyphen write --.",
    ),
]
ReasonOption = Annotated[str, typer.Option(metavar="TEXT", help="Reason, kept with the project's events.")]

pairs = typer.Typer(help="Pairs that raters grade.", epilog=_PAIRS_EXAMPLES, rich_markup_mode=None)


def register_pairs(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(pairs, name="pairs")


@pairs.callback()
def _pairs() -> None:
    """Pairs that raters grade."""


@pairs.command("list", epilog=_PAIRS_EXAMPLES)
def list_pairs(
    project: ProjectArgument,
    search: Annotated[
        str, typer.Option(metavar="TEXT", help="Only pairs with this in their id or a text.")
    ] = "",
    state: Annotated[PairState | None, typer.Option(help="Only pairs in this state.")] = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """List the pairs of a project in the order of import: their texts, grades so far and state."""
    if len(search) > _LONGEST_SEARCH:
        raise CallError(f"--search has {len(search):,} characters: give at most {_LONGEST_SEARCH:,}.")
    database, found = open_project(database_url, project)
    page = PairService(database).pairs(
        found.id, search=search, state=state, limit=None, has_whole_texts=as_json
    )
    if as_json:
        rows = [pair_json(line) for line in page.items]
        show_json({"project": found.name, "raters_per_pair": page.raters_per_pair, "pairs": rows})
        return
    if not page.items:
        show_line("There is no such pair; see `python -m annotation project show` for how many there are.")
        return
    rows_shown = [
        (
            line.external_id,
            line.type,
            beginning(line.left, _SHOWN),
            beginning(line.right, _SHOWN),
            f"{line.grades} of {page.raters_per_pair}",
            line.state.value,
        )
        for line in page.items
    ]
    show_table(("Id", "Type", "Left item", "Right item", "Grades", "State"), rows_shown)


@pairs.command("remove", epilog=_PAIRS_EXAMPLES)
def remove_pairs(
    project: ProjectArgument,
    ids: IdsArgument,
    type: IdsTypeOption = None,
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Remove pairs that no rater was given or graded from a project. All of them or none."""
    named = read_ids(ids)
    database, found = open_project(database_url, project)
    count = PairService(database).remove(found.id, named, type=type)
    _show_count(count, found, "removed", as_json=as_json)


@pairs.command("withdraw", epilog=_PAIRS_EXAMPLES)
def withdraw_pairs(
    project: ProjectArgument,
    ids: IdsArgument,
    type: IdsTypeOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Stop giving pairs to raters and leave them out of all figures; grades are kept. All of them or none."""
    named = read_ids(ids)
    database, found = open_project(database_url, project)
    count = PairService(database).withdraw(found.id, named, type=type, reason=reason)
    _show_count(count, found, "withdrawn", as_json=as_json)


@pairs.command("restore", epilog=_PAIRS_EXAMPLES)
def restore_pairs(
    project: ProjectArgument,
    ids: IdsArgument,
    type: IdsTypeOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Restore withdrawn pairs. All of them or none."""
    named = read_ids(ids)
    database, found = open_project(database_url, project)
    count = PairService(database).restore(found.id, named, type=type, reason=reason)
    _show_count(count, found, "restored", as_json=as_json)


@pairs.command("describe", epilog=_PAIRS_EXAMPLES)
def describe_pairs(
    project: ProjectArgument,
    as_json: JsonOption = False,
    wordnet: WordNetOption = None,
    database_url: DatabaseOption = DEFAULT_URL,
) -> None:
    """Add WordNet's definitions to pairs that were imported with bare sense keys."""
    database, found = open_project(database_url, project)
    service = SenseService(database, Dictionary(wordnet), WritingService(database))
    done, unknown = service.describe(found.id)
    if as_json:
        show_json({"project": found.name, "described": done, "unknown": unknown})
        return
    has = "has its definition" if done == 1 else "have their definitions"
    show_line(f"{number_of(done, 'pair')} of {found.name} {has} now.")
    if unknown:
        show_line(f"WordNet 3.0 does not have the senses of {number_of(unknown, 'pair')}: fix these keys.")


def read_ids(arguments: Sequence[str]) -> list[str]:
    """The ids of the call, or for - alone those that standard input has, one per line.

    Raises:
        CallError: - stands beside ids, or standard input has none or is not UTF-8.
    """
    if STDIN not in arguments:
        return list(arguments)
    if len(arguments) > 1:
        raise CallError(
            "Ids are given together with -: give either ids, or - alone and all ids on standard input."
        )
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CallError("The ids on standard input are not UTF-8: save them as UTF-8.") from None
    ids = [id for line in text.split("\n") if (id := line.strip())]
    if not ids:
        raise CallError("Standard input names no pair: write ids to it, one per line.")
    return ids


def _show_count(count: int, project: Project, done: str, *, as_json: bool) -> None:
    """Say how many pairs of the call were changed."""
    if as_json:
        show_json({"project": project.name, done: count})
    else:
        show_line(f"{number_of(count, 'pair')} of {project.name} {done}.")
