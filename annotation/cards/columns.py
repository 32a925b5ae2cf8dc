"""The columns of a gold set's files: what stands there, and as what `datasets` is to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.files.spreadsheet import GOLD_COLUMN
from annotation.files.tables import RATING_COLUMN

_TEXT, _NUMBER, _COUNT, _TRUTH = "string", "float64", "int64", "bool"

COLUMNS = {
    "id": (_TEXT, "names the pair within its type"),
    "type": (_TEXT, "comparison type: which kinds of text are compared"),
    "genre": (_TEXT, "kind of source, where it is known"),
    "left": (_TEXT, "the first item; of the kind before the 2 where the name of `type` has one"),
    "right": (_TEXT, "the second item; of the kind after the 2 where the name of `type` has one"),
    "gold": (_NUMBER, "the gold grade"),
    GOLD_COLUMN: (_TEXT, "whether the gold grade is a decision (`adjudicated`) or the `mean` of the ratings"),
    "mean": (_NUMBER, "mean of the ratings, rounded half to even to 4 decimals"),
    "spread": (_NUMBER, "highest minus lowest rating"),
    "rating_count": (_COUNT, "number of ratings"),
    "cause": (_TEXT, "why raters differed, as the adjudicator saw it; empty without a decision"),
    "intended": (_NUMBER, "the grade that the right item was written or chosen for"),
    "source": (_TEXT, "what came with the pair as its source"),
    "word_flag": (_TEXT, "`oov`: the word is not in WordNet; `oos`: its meaning is not"),
    "word_key": (_TEXT, "sense key of the word's meaning or, with a flag, of the closest sense"),
    "word_definition": (_TEXT, "definition of the word's meaning"),
    "sense_words": (_TEXT, "the words of the sense whose key is `right`"),
    "sense_definition": (_TEXT, "its definition"),
    "sense_parents": (("words", "definition"), "more general senses"),
    "sense_siblings": (("words", "definition"), "other senses below these, or the first of them"),
    "sense_sibling_count": (_COUNT, "how many there are"),
    "reason": (
        _TEXT,
        "why there is no gold grade, `too_few_ratings` or `not_adjudicated`; only in the file of unfinished "
        "pairs",
    ),
    "comments": (("rater", "text", "problem"), "what raters wrote, and whether they told a problem"),
    "ratings": (("rater", "grade"), "the single ratings"),
}
"""Of each column the kind of its values, or the fields of its lists, and what they mean."""
_FIELDS = {"grade": _NUMBER, "problem": _TRUTH}


def meanings(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Of each column its name and meaning; those of single raters together."""
    found = [(name, COLUMNS[name][1]) for name in columns if name in COLUMNS]
    if any(name.startswith(RATING_COLUMN) for name in columns):
        found.append((f"{RATING_COLUMN}…", "the ratings of one rater; empty where they gave none"))
    return found


def features(columns: Sequence[str], *, with_lists: bool) -> list[dict[str, Any]]:
    """The columns as the front matter of a dataset card describes them.

    Args:
        columns: in their order.
        with_lists: whether lists are lists; else they are JSON text, as in CSV.
    """
    return [_feature(name, with_lists) for name in columns]


def _feature(name: str, with_lists: bool) -> dict[str, Any]:
    kind = _NUMBER if name.startswith(RATING_COLUMN) else COLUMNS[name][0]
    if isinstance(kind, str):
        return {"name": name, "dtype": kind}
    if not with_lists:
        return {"name": name, "dtype": _TEXT}
    return {"name": name, "list": [{"name": field, "dtype": _FIELDS.get(field, _TEXT)} for field in kind]}
