"""Reading gold grades, and the scores that systems gave to their pairs: files, folders, uploads.

Gold grades stand in

- a gold set of ours: gold.jsonl, gold.csv or gold.parquet, or the folder of an export in any format;
- JSON Lines, CSV, TSV or XLSX with a header: `id, type, left, right, gold` and, if wished, `genre`;
- the task's own files: TYPE.….input.tsv with TYPE.….gs.tsv, both named or lying side by side.

The scores that a system gave to gold pairs stand in

- the task's format: a score a line, what follows a tab is passed over; all pairs in the order of the gold
  grades, or those of one type if the file's name begins with it, as in phrase2word.test.output.tsv;
- JSON Lines `{"id", "score"}`, or CSV, TSV or XLSX with a header of these, with `type` where two types share
  an id;
- a folder of such files.

A system may leave out whole types, as in the task. Within a type nothing may be missing, double or too much,
but for scores by id of pairs that are known to have no gold grade: these are left out.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from itertools import chain, dropwhile
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from annotation.comparison import COMPARISON_TYPES, rank_of_type, types_in_order
from annotation.errors import AnnotationError, ScoreFileError
from annotation.exchange import (
    FileFormat,
    RowReader,
    column_names,
    import_errors,
    open_file,
    read_rows,
    text_lines,
    type_of_name,
)
from annotation.files.gold_files import safe_stem
from annotation.files.gold_folder import (
    exported_type,
    is_changed,
    is_exported,
    refuse_empty_export,
    undecided_pairs,
)
from annotation.scale import ANY_SCALE
from annotation.translation import _, mark
from annotation.wording import HALF, quote_value
from kpdemo.io.tables import (
    WORKBOOK_SUFFIXES,
    Line,
    Row,
    TableFormat,
    TableRules,
    is_workbook,
    parse_lines,
    report_errors,
    separator,
)
from kpdemo.text import number_of

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_number(text: str) -> bool:
    """Whether it is written as numbers are there, with a decimal point."""
    return _NUMBER.fullmatch(text) is not None


def text_of(value: object, name: str, where: str) -> str:
    """What stands in the field `name`; `where` begins the message.

    Raises:
        ScoreFileError: it is empty, or no text.
    """
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text.strip():
        raise ScoreFileError(f"{where}, field {name!r}: is empty; fill it in or delete the row.")
    if found := HALF.search(text):
        raise ScoreFileError(
            f"{where}, field {name!r}: holds half a character, U+{ord(found[0]):04X}; write it as UTF-8."
        )
    return text


def numbers_of_lines(file: Path, lines: Iterable[tuple[int, str]], noun: str) -> Iterator[tuple[int, float]]:
    """The number at the beginning of each line, with the line's own; `noun` is what it is, grade or score.

    Raises:
        ScoreFileError: a line has none, or is empty and not at the end.
    """
    empty = 0
    for number, line in lines:
        if not line.strip():
            empty = empty or number
            continue
        if empty:
            raise ScoreFileError(f"{file}, line {empty}: is empty; write the {noun} of its pair.")
        yield number, number_in(line.rstrip("\r\n").split("\t")[0], f"{file}, line {number}", noun)


def check_count(file: Path, found: Sequence[tuple[int, float]], wanted: int, who: str, noun: str) -> None:
    """Refuse numbers of lines that are not as many as the pairs.

    Args:
        who: has the pairs: "gold.tsv has".

    Raises:
        ScoreFileError: some are missing or too much.
    """
    pairs = f"{who} {number_of(wanted, 'pair')}"
    if len(found) < wanted:
        raise ScoreFileError(
            f"{file}, line {len(found) + 1}: no {noun}, the file ends after {len(found):,} and {pairs}; add "
            "what is missing."
        )
    if len(found) > wanted:
        raise ScoreFileError(
            f"{file}, line {found[wanted][0]}: one {noun} too many, {pairs}; delete what is too much."
        )


def number_in(value: object, where: str, noun: str) -> float:
    """The number that a cell or field holds.

    Raises:
        ScoreFileError: it holds none, or one that is not finite.
    """
    number = _as_float(value)
    if number is None:
        pointed = value.strip().replace(",", ".", 1) if isinstance(value, str) else ""
        example = pointed if is_number(pointed) else "2.75"
        raise ScoreFileError(
            f"{where}: {quote_value(value)} is not a number; write a {noun} such as {example}."
        )
    if not abs(number) < float("inf"):
        raise ScoreFileError(f"{where}: {quote_value(value)} is not finite; write a {noun} such as 2.75.")
    return number


def _as_float(value: object) -> float | None:
    """Infinity of what is too large; None of what is no number."""
    if isinstance(value, str):
        return float(value) if is_number(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


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
    pairs, _ = read_gold_with_changes(paths)
    return pairs


def read_gold_with_changes(paths: Sequence[Path]) -> tuple[list[GoldPair], list[Path]]:
    """As `read_gold`, and the files of exported gold sets among them that are not as they were written."""
    pairs: dict[Key, GoldPair] = {}
    for path in paths:
        if _may_be_exported(path):
            refuse_empty_export(path)
    files = [file for path in paths for file in _gold_files(path)]
    changed = _find_changed(files)
    for file in dict.fromkeys(_without_grades_of_inputs(files)):
        for pair in _read_gold_file(file, files, is_changed=file in changed):
            if (other := pairs.get(pair.key)) is not None:
                raise ScoreFileError(
                    f"{pair.place}: {pair.type} {quote_value(pair.id)} is also in {other.place}; delete one."
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


class GoldDigest:
    """SHA-256 of types, ids, texts, genres and grades, which tells one gold from another.

    It is no file's: all formats of a gold set give the same, but for SemEval's, which has no genres.
    """

    def __init__(self) -> None:
        self._digest = sha256()

    def add(self, pair: GoldPair) -> None:
        """Pairs come in the order of type and id, by code point."""
        self._digest.update(f"{json.dumps(_digested(pair))}\n".encode())

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def gold_digest(gold: Iterable[GoldPair]) -> str:
    """The digest of pairs in any order."""
    digest = GoldDigest()
    for pair in sorted(gold, key=_digested):
        digest.add(pair)
    return digest.hexdigest()


def _digested(pair: GoldPair) -> list[Any]:
    return [pair.type, pair.id, pair.left, pair.right, pair.genre or "", pair.gold]


def _may_be_exported(path: Path) -> bool:
    return path.is_dir() or path.name in _TABLES or _INPUT in path.name or _GRADES in path.name


def _gold_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    tables = [path / name for name in _TABLES if (path / name).is_file()]
    written = (file for file in path.glob(f"*{_INPUT}*") if file.stat().st_size)  # a type may have no pair
    inputs = sorted(written, key=lambda file: rank_of_type(_task_type(file) or ""))
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
        inputs.get(_stem(file, _GRADES)) or _sibling(file, _GRADES, _INPUT) if _GRADES in file.name else file
        for file in files
    ]


def _find_changed(files: Sequence[Path]) -> list[Path]:
    """Of these files, and the files of texts and grades that belong to them."""
    texts = _without_grades_of_inputs(files)
    grades = [file.with_name(file.name.replace(_INPUT, _GRADES, 1)) for file in texts]
    read = dict.fromkeys([*files, *texts, *grades])
    return [file for file in read if file.is_file() and is_changed(file)]


def _stem(file: Path, part: str) -> str:
    """What the two files of a type have in common: "phrase2word.test" of phrase2word.test.gs.tsv."""
    return file.name.partition(part)[0]


def _sibling(file: Path, old: str, new: str) -> Path:
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
        yield from _task_pairs(file, grades or _sibling(file, _INPUT, _GRADES))
        return
    is_as_written = is_exported(file) and not is_changed
    raters_of = f"{file}: " if len(named) > 1 else ""
    for row in _table_rows(file):
        where = f"{file}, {row.place}"
        if "gold" not in row.fields:
            raise ScoreFileError(f"{where}: no field 'gold'; add the grade of each pair.")
        type = row.fields.get("type") or type_of_name(file.name)
        ratings = RowReader(row.fields, where, None, ANY_SCALE).ratings() if is_as_written else ()
        pair = _pair(row.fields, type, row.fields["gold"], where)
        yield replace(pair, ratings=tuple((f"{raters_of}{rater}", grade) for rater, grade in ratings))


def _ungraded_keys(file: Path) -> Iterator[Key]:
    if file.suffix == ".tsv":  # beside the task's files, and without a header as these
        with open_file(file) as source:
            cells = [
                (number, [*line.rstrip("\r\n").split("\t"), ""])
                for number, line in text_lines(source)
                if line.strip()
            ]
        rows = [Row(number, {"type": row[0], "id": row[1]}) for number, row in cells]
    else:
        rows = list(_table_rows(file))
    for row in rows:
        where = f"{file}, {row.place}"
        type, id = (text_of(row.fields.get(name), name, where).strip() for name in ("type", "id"))
        yield type, id


def _table_rows(file: Path) -> Iterator[Row]:
    with open_file(file) as source:
        is_parquet = file.suffix.lower() == ".parquet"
        yield from _parquet_rows(file) if is_parquet else read_rows(source)


def _task_pairs(texts: Path, grades: Path) -> Iterator[GoldPair]:
    """The pairs of an input file of the task, or in its layout, with the grades, line by line the same."""
    type = _task_type(texts)
    is_ours = exported_type(texts) is not None  # with ids of any kind, which tell no genre
    with open_file(texts) as source:
        rows = list(read_rows(source, format=FileFormat.SEMEVAL, type=type))
    with open_file(grades) as source:
        found = list(numbers_of_lines(grades, text_lines(source), "grade"))
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


_JSON_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


@dataclass(frozen=True, slots=True)
class Scores:
    """What a system gave the gold pairs."""

    values: tuple[float | None, ...]
    """Of each pair, in order; None for pairs of types that it left out."""
    left_out: int = 0
    """How many scores are of pairs without a gold grade."""


def read_scores(path: Path, gold: Sequence[GoldPair], ungraded: Collection[Key] = ()) -> Scores:
    """The scores that a system gave the gold pairs.

    Args:
        path: a file or folder of them.
        gold: what they are scores of.
        ungraded: pairs without a gold grade, whose scores may be there too.

    Raises:
        ScoreFileError: a score is missing, too much or no number; the message names file and line.
        ImportFileError: a file is not text, or a line not JSON.
    """
    scores: dict[Key, float] = {}
    files = _system_files(path, gold) if path.is_dir() else [path]
    for file in files:
        for key, score in _read_score_file(file, gold, ungraded):
            if key in scores:
                raise ScoreFileError(
                    f"{file}: {key[0]} {quote_value(key[1])} has a score already in another file of {path}; "
                    "delete one of the two."
                )
            scores[key] = score
    graded = {pair.key for pair in gold}
    scored_types = {type for type, id in scores if (type, id) in graded}
    if scores and not scored_types:
        raise ScoreFileError(
            f"{path} has scores of pairs without a gold grade only; add those of pairs that have one."
        )
    for pair in gold:
        if pair.type in scored_types and pair.key not in scores:
            raise ScoreFileError(
                f"{path} has no score for {pair.type} {quote_value(pair.id)} ({pair.place}); add it, or "
                "leave out "
                f"all of {pair.type}."
            )
    return Scores(tuple(scores.get(pair.key) for pair in gold), sum(key not in graded for key in scores))


def type_among(types: Collection[str], name: str) -> str | None:
    """Which of the types a file is named after: as it stands or, if no other is the same, as exports do."""
    often = Counter(map(safe_stem, types))
    stems = {safe_stem(type): type for type in types if often[safe_stem(type)] == 1}
    stems |= {type: type for type in types}
    found = [stem for stem in stems if f"{name}.".startswith(f"{stem}.")]
    return stems[max(found, key=len)] if found else None


def is_json(file: Path) -> bool:
    """Whether its name is one of JSON Lines, compressed or not."""
    return file.name.lower().endswith(_JSON_SUFFIXES)


def _system_files(folder: Path, gold: Sequence[GoldPair]) -> list[Path]:
    types = {pair.type for pair in gold}
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    found = [file for file in files if is_json(file) or type_among(types, file.name)]
    if not found:
        raise ScoreFileError(
            f"{folder} has no scores of {', '.join(types_in_order(types))}; name the files after "
            f"their types, as in {safe_stem(types_in_order(types)[0])}.output.tsv, or .jsonl."
        )
    return found


def _read_score_file(
    file: Path, gold: Sequence[GoldPair], ungraded: Collection[Key]
) -> Iterator[tuple[Key, float]]:
    with open_file(file) as source:
        if is_json(file):
            json_rows = read_rows(source, format=FileFormat.JSONL)
            yield from _scores_by_id(file, json_rows, gold, ungraded)
            return
        if is_workbook(source):
            rows: list[Row] | None = list(read_rows(source, needs=("id", "score")))
        else:
            lines = list(text_lines(source))
            rows = _table(file, lines)
    if rows is not None:
        if not rows:
            raise ScoreFileError(f"{file}: there is no score under the header; add those of all pairs.")
        yield from _scores_by_id(file, rows, gold, ungraded)
        return
    types = {pair.type for pair in gold}
    type = type_among(types, file.name)
    if type is None and (named := type_of_name(file.name)) in COMPARISON_TYPES:
        raise ScoreFileError(
            f"{file}: the gold grades have no {named}, only {', '.join(types_in_order(types))}; "
            "leave the file out or rename it."
        )
    wanted = [pair for pair in gold if type in (None, pair.type)]
    _refuse_header(file, lines)
    _refuse_ids(file, lines, wanted)
    found = list(numbers_of_lines(file, lines, "score"))
    what = f"the gold grades of {type} have" if type else "the gold grades have"
    check_count(file, found, len(wanted), what, "score")
    yield from ((pair.key, score) for pair, (_, score) in zip(wanted, found, strict=True))


def _table(file: Path, lines: Sequence[Line]) -> list[Row] | None:
    """The rows under a header that names `id` and `score`; None of a file without one."""
    held = list(dropwhile(lambda line: not line[1].strip(), lines))
    first = held[0][1] if held else ""
    delimiter = separator(first)
    if not {"id", "score"}.issubset(column_names(first, delimiter)):
        return None
    format = TableFormat.TSV if delimiter == "\t" else TableFormat.CSV
    with import_errors():
        rows = parse_lines(str(file), held, first, format, TableRules(marks_are_text=True))
        return list(report_errors(rows, None))


def _refuse_header(file: Path, lines: Sequence[tuple[int, str]]) -> None:
    """Columns of other names than `id` and `score`: each line would be called no number."""
    number, first = next(((number, text) for number, text in lines if text.strip()), (1, ""))
    names = column_names(first, separator(first))
    if len(names) > 1 and not is_number(names[0]):
        raise ScoreFileError(
            f"{file}, line {number}: {quote_value(first.strip())} is neither a score nor a header with id "
            "and "
            "score; begin the file with a line that names these columns."
        )


def _refuse_ids(file: Path, lines: Sequence[tuple[int, str]], wanted: Sequence[GoldPair]) -> None:
    """`id<TAB>score` without a header: ids that are numbers would be measured as scores."""
    cells = [[cell.strip() for cell in text.split("\t")] for _, text in lines if text.strip()]
    has_second = all(len(row) > 1 and is_number(row[1]) for row in cells)
    if len(cells) > 2 and has_second and {row[0] for row in cells} == {pair.id for pair in wanted}:
        raise ScoreFileError(
            f"{file}: the first column, where scores are read, has the ids of the pairs; begin the file with "
            "a line that names the columns, id and score."
        )


def _scores_by_id(
    file: Path, rows: Iterable[Row], gold: Sequence[GoldPair], ungraded: Collection[Key]
) -> Iterator[tuple[Key, float]]:
    graded_keys = [pair.key for pair in gold]
    graded, others = _types_by_id(graded_keys), _types_by_id(ungraded)
    places: dict[Key, str] = {}
    default = type_among({type for type, _ in chain(graded_keys, ungraded)}, file.name)
    for row in rows:
        where = f"{file}, {row.place}"
        id = text_of(row.fields.get("id"), "id", where).strip()
        type = row.fields.get("type") or default
        key = _known_key(id, type, graded.get(id, []), others.get(id, []), where)
        if "score" not in row.fields:
            raise ScoreFileError(f"{where}: no field 'score'; add the score of {quote_value(id)}.")
        if key in places:
            raise ScoreFileError(
                f"{where}: {key[0]} {quote_value(id)} has a score already in {places[key]}; delete one."
            )
        places[key] = row.place
        yield key, number_in(row.fields["score"], f"{where}, field 'score'", "score")


def _types_by_id(keys: Iterable[Key]) -> dict[str, list[str]]:
    types: dict[str, list[str]] = {}
    for type, id in keys:
        types.setdefault(id, []).append(type)
    return types


def _known_key(id: str, type: object, graded: Sequence[str], others: Sequence[str], where: str) -> Key:
    """The pair that a line means: of the types that have its id among the gold grades, else of `others`."""
    types = graded or others
    if type is None and len(types) > 1:
        raise ScoreFileError(
            f"{where}: {quote_value(id)} is a pair of {' and of '.join(types)}; add the field 'type'."
        )
    chosen = types[0] if type is None and types else type
    if not isinstance(chosen, str) or chosen not in (*graded, *others):
        what = quote_value(id) if type is None else f"{quote_value(id)} of type {quote_value(type)}"
        raise ScoreFileError(
            f"{where}: the gold grades have no {what}; correct the id or delete the line, or, if the pair "
            "was unfinished when they were exported, export them again with --unfinished list."
        )
    return chosen, id


PLAIN = (".tsv", ".tab", ".csv", ".txt", ".jsonl", ".ndjson", *WORKBOOK_SUFFIXES)
"""No .gz: a small one may hold gigabytes."""
GOLD_SUFFIXES = (*PLAIN, ".parquet")
_Read = TypeVar("_Read")


def read_uploaded_gold(files: Sequence[Path], what: str = mark("gold grades")) -> list[GoldPair]:
    """The pairs of all files, in their order; a file of the task's grades stands beside its input file.

    Lists of pairs without a gold grade are for `read_uploaded_ungraded`.

    Args:
        what: how the reader calls them.

    Raises:
        ScoreFileError: a file holds no gold grades; the message names file and line.
        ImportFileError: a file is neither text nor a table.
    """

    def read(folder: Path, gathered: Sequence[Path]) -> list[GoldPair]:
        return [
            replace(pair, place=pair.place.removeprefix(f"{folder}{os.sep}")) for pair in read_gold(gathered)
        ]

    return _read([file for file in files if file.name not in UNGRADED], GOLD_SUFFIXES, what, read)


def read_uploaded_ungraded(files: Sequence[Path]) -> frozenset[Key]:
    """The pairs without a gold grade that are listed in those of the files that an export named so.

    Raises:
        ScoreFileError: a row names no pair; the message names file and line.
        ImportFileError: a file is neither text nor a table.
    """
    lists = [file for file in files if file.name in UNGRADED]
    if not lists:
        return frozenset()
    what = mark("pairs without a gold grade")
    return _read(lists, GOLD_SUFFIXES, what, lambda _folder, gathered: read_ungraded_lists(gathered))


def read_uploaded_scores(
    files: Sequence[Path], gold: Sequence[GoldPair], ungraded: Collection[Key], what: str = mark("scores")
) -> Scores:
    """The scores of the gold pairs.

    Args:
        files: one for all pairs or for one type, or several that are named after their types, or JSON Lines.
        gold: what they are scores of.
        ungraded: pairs without a gold grade, whose scores may be there too.
        what: how the reader calls them.

    Raises:
        ScoreFileError: a score is missing, too much or no number; the message names file and line.
        ImportFileError: a file is not text.
    """

    def read(folder: Path, gathered: Sequence[Path]) -> Scores:
        if len(gathered) == 1:
            return read_scores(gathered[0], gold, ungraded)
        types = {pair.type for pair in gold}
        for file in gathered:
            if not is_json(file) and type_among(types, file.name) is None:
                raise ScoreFileError(
                    f"{file.name}: its name contains no comparison type of the gold grades; name it as in "
                    f"{safe_stem(min(types))}.output.tsv, or choose one file with all scores."
                )
        return read_scores(folder, gold, ungraded)

    return _read(files, PLAIN, what, read)


def _read(
    files: Sequence[Path],
    suffixes: Sequence[str],
    what: str,
    read: Callable[[Path, Sequence[Path]], _Read],
) -> _Read:
    """What `read` makes of the files, gathered in one folder."""
    if not files:
        raise ScoreFileError(
            _("No file of {what} is chosen: choose one or drop it on the box.", what=_(what))
        )
    with tempfile.TemporaryDirectory(prefix="scores-") as name:
        folder = Path(name)
        try:
            return read(folder, [_copy_upload(file, folder, suffixes) for file in files])
        except AnnotationError as error:
            told = str(error).replace(f"{folder}{os.sep}", "").replace(str(folder), "The upload")
            raise type(error)(told) from None


def _copy_upload(file: Path, folder: Path, suffixes: Sequence[str]) -> Path:
    if file.suffix.lower() not in suffixes:
        raise ScoreFileError(
            _(
                "{file} cannot be read here: use one of {suffixes}.",
                file=file.name,
                suffixes=", ".join(suffixes),
            )
        )
    if not file.is_file():
        raise ScoreFileError(
            _(
                "{file} is no longer there: uploads are only kept for a few minutes; choose it again.",
                file=file.name,
            )
        )
    place = folder / file.name
    if place.exists():
        raise ScoreFileError(_("Two files are called {file}: rename one.", file=file.name))
    place.symlink_to(file.resolve())
    return place
