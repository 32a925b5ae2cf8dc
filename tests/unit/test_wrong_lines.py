"""The lines of an import that cannot be used, in one sentence."""

from __future__ import annotations

import pytest

from annotation.errors import ImportFileError
from annotation.exchange import WrongLines, WrongLinesError


def told(count: int) -> ImportFileError:
    wrong = WrongLines()
    for line in range(1, count + 1):
        wrong.add(ImportFileError(f"p.csv, line {line}, field 'left': is empty; write its text."))
    with pytest.raises(ImportFileError) as caught:
        wrong.raise_if_any()
    return caught.value


def test_several_wrong_lines_are_one_sentence_that_numbers_the_first():
    first = "; ".join(f"({n}) p.csv, line {n}, field 'left': is empty; write its text" for n in range(1, 6))
    assert str(told(6_000)) == f"6,000 lines cannot be imported; the first 5 are: {first}."
    assert str(told(2)).startswith(
        "2 lines cannot be imported; these are: (1) p.csv, line 1, field 'left': is"
    )
    assert str(WrongLinesError(["a\nb.", "c"], 2)) == "2 lines cannot be imported; these are: (1) a b; (2) c."


def test_one_wrong_line_is_told_as_it_is_and_none_is_nothing():
    assert str(told(1)) == "p.csv, line 1, field 'left': is empty; write its text."
    WrongLines().raise_if_any()
