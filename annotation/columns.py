"""Which columns of a file of pairs are what: by their names, by a guess, or as they are assigned.

A file that has `left` and `right`, or `id`, `rater` and `grade`, is taken as it is. In others the names that
published data sets use for these are looked for (`OTHER_NAMES`, in any case, with any punctuation). A column
of scores becomes the `grade` only beside one of raters: the mean of several people is no rating. Files
without a header have columns "1", "2" and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from annotation.errors import ImportFileError
from annotation.wording import quote_value
from kpdemo.io.tables import column_name

FIELDS = ("id", "type", "left", "right", "genre", "intended", "source", "rater", "grade", "ratings")
"""What a column can be."""
TEXTS = ("left", "right")

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("pairid", "id", "uid", "guid", "itemid", "exampleid", "index", "idx"),
    "type": ("comparisontype", "pairtype"),
    "genre": ("domain",),
    "rater": (
        "annotator",
        "annotatorid",
        "worker",
        "workerid",
        "raterid",
        "coder",
        "judge",
        "userid",
        "user",
    ),
    "grade": ("score", "rating", "similarity", "similarityscore", "relatednessscore", "label"),
}
_COUPLES = (
    *(("sentence1", "sentence2"), ("sentencea", "sentenceb"), ("sent1", "sent2"), ("text1", "text2")),
    *(("texta", "textb"), ("s1", "s2"), ("premise", "hypothesis"), ("question1", "question2")),
    *(("word1", "word2"), ("phrase1", "phrase2"), ("item1", "item2"), ("itema", "itemb")),
    *(("lefttext", "righttext"), ("textleft", "textright"), ("anchor", "positive")),
)
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_PLAIN = re.compile(r"[\W_]+")

Columns = Mapping[str, str]
"""Of a field: the column that has it; empty for none."""


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What a file seems to be, before it is imported."""

    kind: str
    """In words, such as "a table with a header"."""
    names: tuple[str, ...]
    """Of its columns."""
    rows: tuple[tuple[str, ...], ...]
    """The first few, cell by cell in the order of `names`."""
    columns: Columns | None
    """The guess; None where there is nothing to assign."""


def guess_columns(names: Sequence[str]) -> dict[str, str]:
    """What columns of these names are, as far as the names tell."""
    plain = {_PLAIN.sub("", name.casefold()): name for name in reversed(names)}
    found = {field: field for field in FIELDS if field in names}
    for field, others in OTHER_NAMES.items():
        name = next((plain[other] for other in others if other in plain), None)
        if field not in found and name is not None and name not in found.values():
            found[field] = name
    if not set(TEXTS) <= found.keys():
        couple = next((couple for couple in _COUPLES if set(couple) <= plain.keys()), None)
        if couple is not None:
            found |= {field: plain[name] for field, name in zip(TEXTS, couple, strict=True)}
    if "rater" not in found and found.get("grade") != "grade":
        found.pop("grade", None)
    return found


def guess_by_content(rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """Which columns of a file without header are the two texts and the id; `rows` are the first few."""
    width = min((len(row) for row in rows), default=0)
    cells = [[row[place].strip() for row in rows] for place in range(width)]
    lengths = [sum(map(len, column)) if not all(map(_is_number, column)) else 0 for column in cells]
    texts = sorted(sorted(range(width), key=lambda place: -lengths[place])[:2])
    if len(texts) < 2 or not all(lengths[place] for place in texts):
        return {}
    found = {field: str(place + 1) for field, place in zip(TEXTS, texts, strict=True)}
    ids = [p for p in range(width) if p not in texts and all(cells[p]) and len(set(cells[p])) == len(rows)]
    is_score = re.compile(r"\d+[.,]\d+")
    ids = [place for place in ids if not any(is_score.fullmatch(cell) for cell in cells[place])]
    return found | ({"id": str(ids[0] + 1)} if ids and len(rows) > 1 else {})


def numbered_raters(names: Sequence[str]) -> tuple[str, ...]:
    """The columns "1", "2" and so on beside others, as of WordSim-353: each has the grades of one rater.

    >>> numbered_raters(["word 1", "word 2", "human (mean)", "1", "2", "3"])
    ('1', '2', '3')
    """
    numbers = [name for name in names if name.isdecimal()]
    is_counted = numbers == [str(number) for number in range(1, len(numbers) + 1)]
    return tuple(numbers) if is_counted and 1 < len(numbers) < len(names) else ()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?[\d.,]*%?", text) is not None


def names_no_columns(cells: Sequence[str]) -> bool:
    """Whether a first row is taken for a pair instead of a header.

    One of single words is a header: imported as a pair, it would go to raters unseen.
    """
    names = [column_name(cell) for cell in cells if cell.strip()]
    return not (
        "id" in names or all(_WORD.fullmatch(name) for name in names) or len(guess_columns(names)) > 1
    )


def are_numbers(columns: Columns) -> bool:
    """Whether columns are called by their place, as in files without a header."""
    named = [name for name in columns.values() if name]
    return bool(named) and all(name.isdecimal() for name in named)


def parse_columns(text: str) -> dict[str, str]:
    """What `--columns left=sentence1,right=sentence2` says.

    Raises:
        ImportFileError: a part of it is no field and column.
    """
    columns: dict[str, str] = {}
    for part in filter(str.strip, text.split(",")):
        field, mark, name = part.partition("=")
        field = field.strip().lower()
        if not mark or field not in FIELDS:
            raise ImportFileError(
                f"{quote_value(part.strip())} assigns no column: write FIELD=COLUMN, where FIELD is one of "
                f"{', '.join(FIELDS)}."
            )
        if field in columns:
            raise ImportFileError(f"The field {field!r} is assigned twice: give it one column.")
        columns[field] = column_name(name)
    return columns


def assign_columns(names: Sequence[str], columns: Columns, where: str) -> dict[str, str]:
    """The column of each field that is called otherwise: as assigned, then by the guess.

    Raises:
        ImportFileError: a column is not there, or stands for two fields; `where` begins the message.
    """
    for field, name in columns.items():
        if name and name not in names:
            raise ImportFileError(
                f"{where}: there is no column {quote_value(name)} for {field!r}; it has "
                f"{', '.join(names)[:300]}."
            )
    named = [name for name in columns.values() if name]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise ImportFileError(
            f"{where}: the column {quote_value(twice)} is assigned twice; give each its own."
        )
    if not columns and (set(TEXTS) <= {*names} or {"id", "rater", "grade"} <= {*names}):
        return {}
    guess = {field: name for field, name in guess_columns(names).items() if name not in named}
    assigned = {**guess, **columns}
    if "rater" not in assigned and columns.get("grade") is None:
        assigned.pop("grade", None)
    return {field: assigned[field] for field in FIELDS if assigned.get(field, field) != field}


def rename(fields: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """The fields of a row under the names that they are read by."""
    values = {field: fields[name] for field, name in columns.items() if name in fields}
    kept = {name: value for name, value in fields.items() if name not in {*columns, *columns.values()}}
    return kept | values


def id_of_line(name: str, line: int) -> str:
    """The id of a pair whose file has none: the file's name and the line."""
    return f"{'-'.join(PurePath(name).name.split('.')[0].split())}-{line}"
