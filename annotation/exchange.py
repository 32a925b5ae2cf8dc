"""Reading pairs, ratings and decisions from files.

Tables (TSV, CSV with comma or semicolon) have a header, JSON Lines an object a line; names of fields in
any case, .gz may follow the suffix, the file is UTF-8. Fields that are not named here are passed over. In CSV
a text may stand in quotes; in TSV a quotation mark is a character like any other, unless the header is in
quotes too; where a program may have put single cells in quotes, `annotation.files.quotes` decides. A JSON
array of objects is read like JSON Lines.

- Pairs: `id`, `type` (may be left out where it is given otherwise), `left` (what the type names first),
  `right` and, if wished, `genre`, `intended` (the grade that the author aimed at) and `source`.
- Larger items, for which pairs are to be written: `id`, `type`, `text` and, if wished, `genre` and `source`.
- Ratings with their pair: `ratings`, a list of grades, or of {"rater", "grade"}; in a table "3;2.5", or
  "ana=3;ben=2.5", or a column "rating:ana" for each rater. Grades without a name are of raters "1", "2" and
  so on, in their order; null or an empty place is no rating.
- Ratings in long form: `id`, `rater`, `grade` and, if ids are not unique, `type`: a rating a row, of pairs
  imported before or earlier in the same file; with `left` and `right` in the row it brings its pair along.
- Decisions: `id`, `grade`, `cause` and, if wished, `type` (as above), `note` and `version_seen`; a row
  without grade, cause and note is none.

The files of SemEval-2014 Task 3 are UTF-8 without header and without quoting: a quotation mark is a character
like any other. A pair a line, item ids at the end, which begin with the genre ("Travel-12"):

    paragraph2sentence.test.input.tsv    larger TAB smaller TAB id     (also sentence2phrase, phrase2word)
    word2sense.test.input.tsv            word#pos TAB WordNet 3.0 sense key TAB word#pos#number TAB id
    paragraph2sentence.test.gs.tsv       a grade a line, the same lines as the input; other files too, with
                                         two decimals (2.75) or as short as can be (2.75, 3)

A word's sense, in any format, is a WordNet 3.0 sense key, or a definition in words; where there is WordNet
also word#pos#number. `annotation.senses.fields` has fields that say more of it.

A system's output is a grade a line and, if wished, TAB and its confidence. Of word2sense the sense number
(the field `sense` of JSON Lines) is kept as the pair's `source`; items without an id are called by type and
line ("phrase2word-7").
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, cast

from annotation.adjudication import ReadDecision
from annotation.authoring import ReadLargerItem
from annotation.comparison import COMPARISON_TYPES
from annotation.errors import ImportFileError
from annotation.files.formats import (
    FileFormat,
    Source,
    decision_columns,
    item_columns,
    rows_or_errors,
    type_of_name,
)
from annotation.files.row_reader import RowReader
from annotation.files.tables import Row
from annotation.types import ReadItem, ReadKnownPair

_Read = TypeVar("_Read")


def read_items_or_errors(
    source: Source,
    *,
    format: FileFormat | None = None,
    type: str | None = None,
    only_type: str | None = None,
) -> Iterator[ReadItem]:
    """The pairs and ratings of an open file, one at a time, as they are needed.

    An error stands in the place of a row that cannot be used, with file, line, field and value in its
    message; it is the last where no row can be read after it.

    Args:
        source: from `annotation.files.formats.open_source`.
        format: None finds it out from the name's suffix and the first line.
        type: the comparison type of rows that name none.
        only_type: that of the project, where it has one: of rows whose file names none either.
    """
    return _or_errors(source.name, _row_readers(source, format, type, only_type), RowReader.item)


def read_known_pairs(
    source: Source, *, type: str | None = None, only_type: str | None = None
) -> Iterator[ReadKnownPair]:
    """The pairs of an open file with their fields `grade` (or `gold`) and, if wished, `explanation`.

    Arguments and errors are those of `read_items_or_errors`.
    """
    return _or_errors(source.name, _row_readers(source, None, type, only_type), RowReader.known_pair)


def read_larger_items(
    source: Source, *, format: FileFormat | None = None, type: str | None = None
) -> Iterator[ReadLargerItem]:
    """The larger items of an open file; arguments and errors are those of `read_items_or_errors`."""
    rows = rows_or_errors(source, format=format, type=type, needs=item_columns)
    return _or_errors(source.name, _readers(source, rows, type), RowReader.larger_item)


def read_decisions(source: Source) -> Iterator[ReadDecision]:
    """The decisions of an open table, such as `annotation.files.decision_tables` writes; None of a row
    without grade, cause and note. Errors are those of `read_items_or_errors`."""
    rows = rows_or_errors(source, format=None, type=None, needs=decision_columns)
    return _or_errors(source.name, _readers(source, rows, None), RowReader.decision)


def _or_errors(
    name: str, readers: Iterable[RowReader | ImportFileError], read: Callable[[RowReader], _Read]
) -> Iterator[_Read | ImportFileError]:
    is_empty = True
    try:
        for reader in readers:
            is_empty = False
            try:
                found = reader if isinstance(reader, ImportFileError) else read(reader)
            except ImportFileError as error:
                found, error.pair_id = error, cast(RowReader, reader).pair_id
            yield found
        if is_empty:
            yield ImportFileError(f"{name}: the file has a header and no rows; add one row or more.")
    except ImportFileError as error:  # of the file: nothing after it can be read
        yield error


def _row_readers(
    source: Source, format: FileFormat | None, type: str | None, only_type: str | None
) -> Iterator[RowReader | ImportFileError]:
    """Of each row; its type is the one named here, else by the file's name, else the project's only one."""
    named = type_of_name(source.name)
    default = type or (named if named in COMPARISON_TYPES else only_type)
    return _readers(source, rows_or_errors(source, format=format, type=type or named or only_type), default)


def _readers(
    source: Source, rows: Iterable[Row | ImportFileError], default: str | None
) -> Iterator[RowReader | ImportFileError]:
    for row in rows:
        if isinstance(row, ImportFileError):
            yield row
        else:
            yield RowReader(row.fields, f"{source.name}, {row.place}", default)


def fingerprint(type: str, left: str, right: str) -> str:
    """The same for pairs that read the same: what differs only in white space is one pair."""
    texts = [" ".join(unicodedata.normalize("NFC", text).split()) for text in (left, right)]
    return hashlib.sha256("\0".join((type, *texts)).encode()).hexdigest()
