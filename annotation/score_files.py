"""Reading gold grades and the scores that systems gave.

Gold grades:

- a gold set of ours: gold.jsonl, gold.csv or gold.parquet, or the folder of an export in any format;
- JSON Lines, CSV or TSV with a header: `id, type, left, right, gold` and, if wished, `genre`;
- the task's own files: TYPE.….input.tsv with TYPE.….gs.tsv, both named or lying side by side.

Scores of a system:

- the task's format: a score a line, what follows a tab is passed over; all pairs in the order of the gold
  grades, or those of one type if the file's name begins with it, as in phrase2word.test.output.tsv;
- JSON Lines `{"id", "score"}`, or CSV or TSV with a header of these, with `type` where two types share an id;
- a folder of such files.

A system may leave out whole types, as in the task. Within a type nothing may be missing, double or too much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

from annotation.characters import HALF, shown
from annotation.comparison import COMPARISON_TYPES
from annotation.empty_gold import refuse_empty_export
from annotation.errors import ScoreFileError
from annotation.formats import FileFormat, open_source, read_lines, read_rows, type_of_name
from annotation.tables import Row, column_names, only_rows, separator, table_rows

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INPUT, _GRADES = ".input.", ".gs."
_TABLES = ("gold.jsonl", "gold.csv", "gold.parquet")
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


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

    @property
    def key(self) -> tuple[str, str]:
        """What names the pair: two types may share an id."""
        return self.type, self.id


def read_gold(paths: Sequence[Path]) -> list[GoldPair]:
    """The pairs of all these files and folders, in their order.

    Raises:
        ScoreFileError: a file or folder holds no gold grades; the message names file and line.
        ImportFileError: a file is no text or table.
    """
    pairs: dict[tuple[str, str], GoldPair] = {}
    for path in paths:
        if path.is_dir() or path.name in _TABLES or _INPUT in path.name or _GRADES in path.name:
            refuse_empty_export(path)
    files = [file for path in paths for file in _gold_files(path)]
    for file in dict.fromkeys(_without_grades_of_inputs(files)):
        for pair in _read_gold_file(file, files):
            if (other := pairs.get(pair.key)) is not None:
                raise ScoreFileError(
                    f"{pair.place}: {pair.type} {shown(pair.id)} is also in {other.place}; delete one."
                )
            pairs[pair.key] = pair
    if not pairs:
        raise ScoreFileError(f"{paths[0]}: there is no pair under the header; give one or more.")
    return list(pairs.values())


def read_scores(path: Path, gold: Sequence[GoldPair]) -> list[float | None]:
    """The score that a system gave each gold pair; None for pairs of types that it left out.

    Raises:
        ScoreFileError: a score is missing, too much or no number; the message names file and line.
        ImportFileError: a file is no text, or a line no JSON.
    """
    scores: dict[tuple[str, str], float] = {}
    files = _system_files(path, gold) if path.is_dir() else [path]
    for file in files:
        for key, score in _read_score_file(file, gold):
            if key in scores:
                raise ScoreFileError(
                    f"{file}: {key[0]} {shown(key[1])} has a score already in another file of {path}; "
                    "delete one of the two."
                )
            scores[key] = score
    scored_types = {type for type, _ in scores}
    for pair in gold:
        if pair.type in scored_types and pair.key not in scores:
            raise ScoreFileError(
                f"{path} has no score for {pair.type} {shown(pair.id)} ({pair.place}); add it, or leave out "
                f"all of {pair.type}."
            )
    return [scores.get(pair.key) for pair in gold]


# Gold grades


def _gold_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    tables = [path / name for name in _TABLES if (path / name).is_file()]
    written = (file for file in path.glob(f"*{_INPUT}*") if file.stat().st_size)  # a type may have no pair
    inputs = sorted(written, key=lambda file: _place_of_type(type_of_name(file.name) or ""))
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


def _stem(file: Path, part: str) -> str:
    """What the two files of a type have in common: "phrase2word.test" of phrase2word.test.gs.tsv."""
    return file.name.partition(part)[0]


def _beside(file: Path, old: str, new: str) -> Path:
    found = file.with_name(file.name.replace(old, new, 1))
    if not found.is_file():
        raise ScoreFileError(f"{file} needs {found.name}: put it beside it, or name both with --gold.")
    return found


def _read_gold_file(file: Path, named: Sequence[Path]) -> Iterator[GoldPair]:
    if _INPUT in file.name:
        grades = next(
            (path for path in named if _GRADES in path.name and _stem(path, _GRADES) == _stem(file, _INPUT)),
            None,
        )
        yield from _task_pairs(file, grades or _beside(file, _INPUT, _GRADES))
        return
    with open_source(file) as source:
        is_parquet = file.suffix.lower() == ".parquet"
        rows = _parquet_rows(file) if is_parquet else read_rows(source, format=None, type=None)
        for row in rows:
            where = f"{file}, {'row' if is_parquet else 'line'} {row.line}"
            if "gold" not in row.fields:
                raise ScoreFileError(f"{where}: no field 'gold'; add the grade of each pair.")
            type = row.fields.get("type") or type_of_name(file.name)
            yield _pair(row.fields, type, row.fields["gold"], where)


def _task_pairs(texts: Path, grades: Path) -> Iterator[GoldPair]:
    """The pairs of an input file of the task with the grades, line by line the same."""
    type = type_of_name(texts.name)
    with open_source(texts) as source:
        rows = list(read_rows(source, format=FileFormat.SEMEVAL, type=type))
    with open_source(grades) as source:
        found = list(_score_lines(grades, read_lines(source), "grade"))
    _same_number(grades, found, len(rows), f"{texts.name} has", "grade")
    for row, (number, grade) in zip(rows, found, strict=True):
        yield _pair(row.fields, type, grade, f"{grades}, line {number}")


def _pair(fields: dict[str, Any], type: object, gold: object, where: str) -> GoldPair:
    genre = fields.get("genre")
    return GoldPair(
        type=_text(type, "type", where).strip(),
        id=_text(fields.get("id"), "id", where).strip(),
        left=_text(fields.get("left"), "left", where),
        right=_text(fields.get("right"), "right", where),
        gold=_number(gold, f"{where}, field 'gold'", "grade"),
        genre=None if genre is None else str(genre).strip() or None,
        place=where,
    )


def _text(value: object, name: str, where: str) -> str:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text.strip():
        raise ScoreFileError(f"{where}, field {name!r}: is empty; fill it in or delete the row.")
    if found := HALF.search(text):
        raise ScoreFileError(
            f"{where}, field {name!r}: holds half a character, U+{ord(found[0]):04X}; write it as UTF-8."
        )
    return text


def _parquet_rows(file: Path) -> Iterator[Row]:
    from pyarrow import ArrowException  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

    try:
        batches = ParquetFile(file).iter_batches(columns=["id", "type", "left", "right", "gold", "genre"])
        rows = (row for batch in batches for row in batch.to_pylist())
        yield from (Row(number, fields) for number, fields in enumerate(rows, 1))
    except ArrowException as error:
        raise ScoreFileError(f"{file}: no Parquet file ({error}); export it again.") from None


# Scores


def _system_files(folder: Path, gold: Sequence[GoldPair]) -> list[Path]:
    types = {pair.type for pair in gold}
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    found = [file for file in files if is_json(file) or type_of_name(file.name) in types]
    if not found:
        raise ScoreFileError(
            f"{folder} has no scores of {', '.join(sorted(types, key=_place_of_type))}; name the files after "
            "their types, as in phrase2word.output.tsv, or .jsonl."
        )
    return found


def _read_score_file(file: Path, gold: Sequence[GoldPair]) -> Iterator[tuple[tuple[str, str], float]]:
    with open_source(file) as source:
        if is_json(file):
            yield from _scores_by_id(file, read_rows(source, format=FileFormat.JSONL, type=None), gold)
            return
        lines = list(read_lines(source))
    if table := _table(file, lines):
        rows = list(table)
        if not rows:
            raise ScoreFileError(f"{file}: there is no score under the header; add those of all pairs.")
        yield from _scores_by_id(file, rows, gold)
        return
    type = type_of_name(file.name)
    types = {pair.type for pair in gold}
    if type not in types and type in COMPARISON_TYPES:
        raise ScoreFileError(
            f"{file}: the gold grades have no {type}, only {', '.join(sorted(types, key=_place_of_type))}; "
            "leave the file out or rename it."
        )
    of_type = type in types
    wanted = [pair for pair in gold if not of_type or pair.type == type]
    _refuse_ids(file, lines, wanted)
    found = list(_score_lines(file, lines, "score"))
    what = f"the gold grades of {type} have" if of_type else "the gold grades have"
    _same_number(file, found, len(wanted), what, "score")
    yield from ((pair.key, score) for pair, (_, score) in zip(wanted, found, strict=True))


def _table(file: Path, lines: Sequence[tuple[int, str]]) -> Iterator[Row] | None:
    """The rows under a header that names `id` and `score`; None of a file without one."""
    first = next((text for _, text in lines if text.strip()), "")
    delimiter = separator(first)
    if not {"id", "score"}.issubset(column_names(first, delimiter)):
        return None
    return only_rows(table_rows(str(file), lines, delimiter, first, needs=lambda _: ""))


def _refuse_ids(file: Path, lines: Sequence[tuple[int, str]], wanted: Sequence[GoldPair]) -> None:
    """`id<TAB>score` without a header: ids that are numbers would be measured as scores."""
    cells = [[cell.strip() for cell in text.split("\t")] for _, text in lines if text.strip()]
    has_second = all(len(row) > 1 and _NUMBER.fullmatch(row[1]) for row in cells)
    if len(cells) > 2 and has_second and {row[0] for row in cells} == {pair.id for pair in wanted}:
        raise ScoreFileError(
            f"{file}: the first column, where scores are read, has the ids of the pairs; begin the file with "
            "a line that names the columns, id and score."
        )


def _scores_by_id(
    file: Path, rows: Iterable[Row], gold: Sequence[GoldPair]
) -> Iterator[tuple[tuple[str, str], float]]:
    types_of: dict[str, list[str]] = {}
    for pair in gold:
        types_of.setdefault(pair.id, []).append(pair.type)
    lines: dict[tuple[str, str], int] = {}
    named = type_of_name(file.name)
    default = named if any(pair.type == named for pair in gold) else None
    for row in rows:
        where = f"{file}, line {row.line}"
        id = _text(row.fields.get("id"), "id", where).strip()
        key = _known_key(id, row.fields.get("type") or default, types_of.get(id, []), where)
        if "score" not in row.fields:
            raise ScoreFileError(f"{where}: no field 'score'; add the score of {shown(id)}.")
        if key in lines:
            raise ScoreFileError(
                f"{where}: {key[0]} {shown(id)} has a score already in line {lines[key]}; delete one."
            )
        lines[key] = row.line
        yield key, _number(row.fields["score"], f"{where}, field 'score'", "score")


def _known_key(id: str, type: object, types: Sequence[str], where: str) -> tuple[str, str]:
    """The pair that a line means, of the `types` that have its id."""
    if type is None and len(types) > 1:
        raise ScoreFileError(
            f"{where}: {shown(id)} is a pair of {' and of '.join(types)}; add the field 'type'."
        )
    chosen = types[0] if type is None and types else type
    if not isinstance(chosen, str) or chosen not in types:
        what = shown(id) if type is None else f"{shown(id)} of type {shown(type)}"
        raise ScoreFileError(f"{where}: the gold grades have no {what}; mend or delete the line.")
    return chosen, id


def _score_lines(file: Path, lines: Iterable[tuple[int, str]], noun: str) -> Iterator[tuple[int, float]]:
    """The number at the beginning of each line; empty lines may only stand at the end."""
    empty = 0
    for number, line in lines:
        if not line.strip():
            empty = empty or number
            continue
        if empty:
            raise ScoreFileError(f"{file}, line {empty}: is empty; write the {noun} of its pair.")
        yield number, _number(line.split("\t")[0], f"{file}, line {number}", noun)


def _same_number(file: Path, found: Sequence[tuple[int, float]], wanted: int, who: str, noun: str) -> None:
    pairs = f"{who} {wanted:,} pair{'' if wanted == 1 else 's'}"
    if len(found) < wanted:
        raise ScoreFileError(
            f"{file}, line {len(found) + 1}: no {noun}, the file ends after {len(found):,} and {pairs}; add "
            "what is missing."
        )
    if len(found) > wanted:
        raise ScoreFileError(
            f"{file}, line {found[wanted][0]}: one {noun} too many, {pairs}; delete what is too much."
        )


def _number(value: object, where: str, noun: str) -> float:
    number = _as_float(value)
    if number is None:
        raise ScoreFileError(f"{where}: {shown(value)} is no number; write a {noun} such as 2.75.")
    if not abs(number) < float("inf"):
        raise ScoreFileError(f"{where}: {shown(value)} is not finite; write a {noun} such as 2.75.")
    return number


def _as_float(value: object) -> float | None:
    """Infinity of what is too large; None of what is no number."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def is_json(file: Path) -> bool:
    return file.name.lower().endswith(_JSON_SUFFIXES)


def types_in_order(types: Iterable[str]) -> list[str]:
    """The task's own types first, in its order, then the others by name."""
    return sorted(set(types), key=_place_of_type)


def _place_of_type(type: str) -> tuple[int, str]:
    known = list(COMPARISON_TYPES)
    return (known.index(type), "") if type in known else (len(known), type)


def gold_digest(gold: Sequence[GoldPair]) -> str:
    """SHA-256 of types, ids, texts, genres and grades, in any order: tells one gold from another."""
    rows = sorted([pair.type, pair.id, pair.left, pair.right, pair.genre or "", pair.gold] for pair in gold)
    return sha256("".join(f"{json.dumps(row)}\n" for row in rows).encode()).hexdigest()
