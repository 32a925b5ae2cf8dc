"""Reading gold grades.

They stand in

- a gold set of ours: gold.jsonl, gold.csv or gold.parquet, or the folder of an export in any format;
- JSON Lines, CSV or TSV with a header: `id, type, left, right, gold` and, if wished, `genre`;
- the task's own files: TYPE.….input.tsv with TYPE.….gs.tsv, both named or lying side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from annotation.characters import shown
from annotation.comparison import place_of_type
from annotation.errors import ScoreFileError
from annotation.files.exported_gold import (
    exported_type,
    is_changed,
    is_exported,
    refuse_empty_export,
    undecided_pairs,
)
from annotation.files.formats import FileFormat, open_source, read_lines, read_rows, type_of_name
from annotation.files.row_reader import RowReader
from annotation.files.score_cells import check_count, number_in, numbers_of_lines, text_of
from annotation.files.tables import Row

_INPUT, _GRADES = ".input.", ".gs."
_PARQUET_COLUMNS = ["id", "type", "left", "right", "gold", "genre", "ratings"]
"""Those that a file lacks are passed over."""
_TABLES = ("gold.jsonl", "gold.csv", "gold.parquet")
UNGRADED = tuple(f"unfinished.{ending}" for ending in ("jsonl", "csv", "parquet", "tsv"))
"""Files beside those of an exported gold set, with the pairs that had no gold grade."""


Key: TypeAlias = tuple[str, str]
"""Type and id, which name a pair: two types may share an id."""


@dataclass(frozen=True, slots=True)
class GoldPair:
    """A pair with the grade that systems are measured by."""

    type: str
    id: str
    left: str
    right: str
    gold: float
    genre: str | None = None
    place: str = ""
    """Where it was read, such as "gold.jsonl, line 3"."""
    ratings: tuple[tuple[str, Decimal], ...] = ()
    """Label of the rater and grade, of gold sets of ours that have single ratings and are as exported."""

    @property
    def key(self) -> Key:
        return self.type, self.id


def read_gold(paths: Sequence[Path]) -> list[GoldPair]:
    """The pairs of all these files and folders, in their order.

    Raises:
        ScoreFileError: a file or folder holds no gold grades; the message names file and line.
        ImportFileError: a file is neither text nor a table.
    """
    pairs, _ = read_gold_and_changed(paths)
    return pairs


def read_gold_and_changed(paths: Sequence[Path]) -> tuple[list[GoldPair], list[Path]]:
    """As `read_gold`, and the files of exported gold sets among them that are not as they were written."""
    pairs: dict[Key, GoldPair] = {}
    for path in paths:
        if _may_be_exported(path):
            refuse_empty_export(path)
    files = [file for path in paths for file in _gold_files(path)]
    changed = _changed(files)
    for file in dict.fromkeys(_without_grades_of_inputs(files)):
        for pair in _read_gold_file(file, files, is_changed=file in changed):
            if (other := pairs.get(pair.key)) is not None:
                raise ScoreFileError(
                    f"{pair.place}: {pair.type} {shown(pair.id)} is also in {other.place}; delete one."
                )
            pairs[pair.key] = pair
    if not pairs:
        raise ScoreFileError(f"{paths[0]}: there is no pair under the header; give one or more.")
    return list(pairs.values()), changed


def read_ungraded(paths: Sequence[Path]) -> frozenset[Key]:
    """The pairs without a gold grade that gold sets of ours list beside what `read_gold` reads.

    A file of such a name that the manifest of its folder does not name is passed over.

    Raises:
        ScoreFileError: a row of the list names no pair; the message names file and line.
        ImportFileError: a list is neither text nor a table.
    """
    folders = dict.fromkeys(
        path if path.is_dir() else path.parent for path in paths if _may_be_exported(path)
    )
    lists = [folder / name for folder in folders for name in UNGRADED]
    return read_ungraded_lists([file for file in lists if file.is_file() and is_exported(file)])


def read_ungraded_lists(files: Sequence[Path]) -> frozenset[Key]:
    """The pairs in these lists of pairs without a gold grade.

    Raises:
        ScoreFileError: a row names no pair; the message names file and line.
        ImportFileError: a list is neither text nor a table.
    """
    written = [file for file in files if file.stat().st_size]  # all pairs may have a grade
    return frozenset(key for file in written for key in _ungraded_keys(file))


def count_undecided(paths: Sequence[Path]) -> int:
    """The flagged pairs without a decision that gold sets of ours, of those that `read_gold` reads, lack."""
    folders = {file.parent for path in paths for file in _gold_files(path) if is_exported(file)}
    return sum(map(undecided_pairs, folders))


def gold_digest(gold: Sequence[GoldPair]) -> str:
    """SHA-256 of types, ids, texts, genres and grades, in any order: tells one gold from another.

    It is no file's: all formats of a gold set give the same, but for SemEval's, which has no genres.
    """
    rows = sorted([pair.type, pair.id, pair.left, pair.right, pair.genre or "", pair.gold] for pair in gold)
    return sha256("".join(f"{json.dumps(row)}\n" for row in rows).encode()).hexdigest()


def _may_be_exported(path: Path) -> bool:
    return path.is_dir() or path.name in _TABLES or _INPUT in path.name or _GRADES in path.name


def _gold_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    tables = [path / name for name in _TABLES if (path / name).is_file()]
    written = (file for file in path.glob(f"*{_INPUT}*") if file.stat().st_size)  # a type may have no pair
    inputs = sorted(written, key=lambda file: place_of_type(_task_type(file) or ""))
    found = tables or inputs
    if not found or len(tables) > 1:
        what = f"both {tables[0].name} and {tables[1].name}" if tables else "no gold set"
        raise ScoreFileError(
            f"{path} has {what}; name a file of gold grades, or a folder with one of {', '.join(_TABLES)} or "
            f"with TYPE{_INPUT}tsv and TYPE{_GRADES}tsv."
        )
    return found


def _without_grades_of_inputs(files: Sequence[Path]) -> list[Path]:
    """The files to read: a file of the task's grades stands for its input file, which has the texts."""
    inputs = {_stem(file, _INPUT): file for file in files if _INPUT in file.name}
    return [
        inputs.get(_stem(file, _GRADES)) or _beside(file, _GRADES, _INPUT) if _GRADES in file.name else file
        for file in files
    ]


def _changed(files: Sequence[Path]) -> list[Path]:
    """Of these files, and the files of texts and grades that belong to them."""
    texts = _without_grades_of_inputs(files)
    grades = [file.with_name(file.name.replace(_INPUT, _GRADES, 1)) for file in texts]
    read = dict.fromkeys([*files, *texts, *grades])
    return [file for file in read if file.is_file() and is_changed(file)]


def _stem(file: Path, part: str) -> str:
    """What the two files of a type have in common: "phrase2word.test" of phrase2word.test.gs.tsv."""
    return file.name.partition(part)[0]


def _beside(file: Path, old: str, new: str) -> Path:
    found = file.with_name(file.name.replace(old, new, 1))
    if not found.is_file():
        raise ScoreFileError(f"{file} needs {found.name}: put it beside it, or name both with --gold.")
    return found


def _read_gold_file(file: Path, named: Sequence[Path], *, is_changed: bool) -> Iterator[GoldPair]:
    if _INPUT in file.name:
        grades = next(
            (path for path in named if _GRADES in path.name and _stem(path, _GRADES) == _stem(file, _INPUT)),
            None,
        )
        yield from _task_pairs(file, grades or _beside(file, _INPUT, _GRADES))
        return
    is_as_written = is_exported(file) and not is_changed
    raters_of = f"{file}: " if len(named) > 1 else ""
    for row in _table_rows(file):
        where = f"{file}, {row.place}"
        if "gold" not in row.fields:
            raise ScoreFileError(f"{where}: no field 'gold'; add the grade of each pair.")
        type = row.fields.get("type") or type_of_name(file.name)
        ratings = RowReader(row.fields, where, None).ratings() if is_as_written else ()
        pair = _pair(row.fields, type, row.fields["gold"], where)
        yield replace(pair, ratings=tuple((f"{raters_of}{rater}", grade) for rater, grade in ratings))


def _ungraded_keys(file: Path) -> Iterator[Key]:
    if file.suffix == ".tsv":  # beside the task's files, and without a header as these
        with open_source(file) as source:
            cells = [(number, [*line.split("\t"), ""]) for number, line in read_lines(source) if line.strip()]
        rows = [Row(number, {"type": row[0], "id": row[1]}, "line") for number, row in cells]
    else:
        rows = list(_table_rows(file))
    for row in rows:
        where = f"{file}, {row.place}"
        type, id = (text_of(row.fields.get(name), name, where).strip() for name in ("type", "id"))
        yield type, id


def _table_rows(file: Path) -> Iterator[Row]:
    with open_source(file) as source:
        is_parquet = file.suffix.lower() == ".parquet"
        yield from _parquet_rows(file) if is_parquet else read_rows(source, format=None, type=None)


def _task_pairs(texts: Path, grades: Path) -> Iterator[GoldPair]:
    """The pairs of an input file of the task, or in its layout, with the grades, line by line the same."""
    type = _task_type(texts)
    is_ours = exported_type(texts) is not None  # with ids of any kind, which tell no genre
    with open_source(texts) as source:
        rows = list(read_rows(source, format=FileFormat.SEMEVAL, type=type))
    with open_source(grades) as source:
        found = list(numbers_of_lines(grades, read_lines(source), "grade"))
    check_count(grades, found, len(rows), f"{texts.name} has", "grade")
    for row, (number, grade) in zip(rows, found, strict=True):
        fields = {**row.fields, "genre": None} if is_ours else row.fields
        yield _pair(fields, type, grade, f"{grades}, line {number}")


def _task_type(texts: Path) -> str | None:
    """What an input file is of; an export could not name every type in the name of its file."""
    return exported_type(texts) or type_of_name(texts.name)


def _pair(fields: dict[str, Any], type: object, gold: object, where: str) -> GoldPair:
    genre = fields.get("genre")
    return GoldPair(
        type=text_of(type, "type", where).strip(),
        id=text_of(fields.get("id"), "id", where).strip(),
        left=text_of(fields.get("left"), "left", where),
        right=text_of(fields.get("right"), "right", where),
        gold=number_in(gold, f"{where}, field 'gold'", "grade"),
        genre=None if genre is None else str(genre).strip() or None,
        place=where,
    )


def _parquet_rows(file: Path) -> Iterator[Row]:
    from pyarrow import ArrowException  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

    try:
        batches = ParquetFile(file).iter_batches(columns=_PARQUET_COLUMNS)
        rows = (_with_decimals(row) for batch in batches for row in batch.to_pylist())
        yield from (Row(number, fields, "row") for number, fields in enumerate(rows, 1))
    except ArrowException as error:
        raise ScoreFileError(f"{file}: not a Parquet file ({error}); export it again.") from None


def _with_decimals(fields: dict[str, Any]) -> dict[str, Any]:
    """Its single ratings as JSON Lines have them."""
    ratings = fields.get("ratings")
    if not ratings:
        return fields
    return {**fields, "ratings": [{**one, "grade": Decimal(str(one["grade"]))} for one in ratings]}
