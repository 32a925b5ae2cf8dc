"""Reading the scores that a system gave to gold pairs.

They stand in

- the task's format: a score a line, what follows a tab is passed over; all pairs in the order of the gold
  grades, or those of one type if the file's name begins with it, as in phrase2word.test.output.tsv;
- JSON Lines `{"id", "score"}`, or CSV or TSV with a header of these, with `type` where two types share an id;
- a folder of such files.

A system may leave out whole types, as in the task. Within a type nothing may be missing, double or too much,
but for scores by id of pairs that are known to have no gold grade: these are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from annotation.characters import shown
from annotation.comparison import COMPARISON_TYPES, types_in_order
from annotation.errors import ScoreFileError
from annotation.files.formats import FileFormat, open_source, read_lines, read_rows, type_of_name
from annotation.files.gold_files import safe_stem
from annotation.files.gold_pairs import GoldPair, Key
from annotation.files.score_cells import check_count, is_number, number_in, numbers_of_lines, text_of
from annotation.files.tables import Row, column_names, only_rows, separator, table_rows

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
                    f"{file}: {key[0]} {shown(key[1])} has a score already in another file of {path}; "
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
                f"{path} has no score for {pair.type} {shown(pair.id)} ({pair.place}); add it, or leave out "
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
    with open_source(file) as source:
        if is_json(file):
            json_rows = read_rows(source, format=FileFormat.JSONL, type=None)
            yield from _scores_by_id(file, json_rows, gold, ungraded)
            return
        lines = list(read_lines(source))
    if table := _table(file, lines):
        rows = list(table)
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


def _table(file: Path, lines: Sequence[tuple[int, str]]) -> Iterator[Row] | None:
    """The rows under a header that names `id` and `score`; None of a file without one."""
    first = next((text for _, text in lines if text.strip()), "")
    delimiter = separator(first)
    if not {"id", "score"}.issubset(column_names(first, delimiter)):
        return None
    return only_rows(table_rows(str(file), lines, delimiter, first, needs=lambda _: ""))


def _refuse_header(file: Path, lines: Sequence[tuple[int, str]]) -> None:
    """Columns of other names than `id` and `score`: each line would be called no number."""
    number, first = next(((number, text) for number, text in lines if text.strip()), (1, ""))
    names = column_names(first, separator(first))
    if len(names) > 1 and not is_number(names[0]):
        raise ScoreFileError(
            f"{file}, line {number}: {shown(first.strip())} is neither a score nor a header with id and "
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
            raise ScoreFileError(f"{where}: no field 'score'; add the score of {shown(id)}.")
        if key in places:
            raise ScoreFileError(
                f"{where}: {key[0]} {shown(id)} has a score already in {places[key]}; delete one."
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
            f"{where}: {shown(id)} is a pair of {' and of '.join(types)}; add the field 'type'."
        )
    chosen = types[0] if type is None and types else type
    if not isinstance(chosen, str) or chosen not in (*graded, *others):
        what = shown(id) if type is None else f"{shown(id)} of type {shown(type)}"
        raise ScoreFileError(
            f"{where}: the gold grades have no {what}; correct the id or delete the line, or, if the pair "
            "was unfinished when they were exported, export them again with --unfinished list."
        )
    return chosen, id
