"""Tables for papers: names print as they are written, rows are as wide as their head."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kpdemo.io.latex import latex_table, latex_text
from tests.latex_tables import printed, read_tables

HOSTILE = [
    "R&D",
    "50%",
    "a_b#1",
    "{x}",
    "~^",
    r"\input{evil}",
    r"a\\b",
    "[2pt] x",
    "*star",
    "a--b---c",
    "<|>",
    "`q`",
    "$5",
    "α",
    "关键词",
    "기계 학습",
]
SIGNS = st.text(st.sampled_from('&%_#{}~^\\$[]*-`<>|" aα关\n\x1b\x85\ud800'), max_size=12)


@given(SIGNS | st.text(max_size=12))
@example("'")
def test_a_text_prints_as_it_is_written_on_one_line(text):
    lone = [sign for sign in text if "\ud800" <= sign <= "\udfff"]
    commands = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
    plain = " ".join(text.split()).replace("''", '"')
    for sign in commands:
        plain = plain.replace(sign, "")
    for sign in lone:
        plain = plain.replace(sign, "?")
    assert printed(latex_text(text)).replace("''", '"') == plain


@pytest.mark.parametrize("source", [*'&%$#_{}~^\\`"<>|[*', "a--b", r"\input{x}", "$x$"])
def test_the_reader_of_these_tests_refuses_what_is_no_plain_text(source):
    with pytest.raises(AssertionError, match="LaTeX would not print"):
        printed(source)


def table(names, comments=()):
    text = latex_table(
        ("Present", "Model"),
        [(name, ("F1@5", "95 %")) for name in names],
        [(name, [0.5, (-0.25, 1.0)] * len(names)) for name in names],
        comments=comments,
    )
    return read_tables(f"{text}\n")[0]


def test_rows_are_as_wide_as_their_head_whatever_the_names():
    found = table(HOSTILE)
    assert found.groups == [("Present", 1), *((name, 2) for name in HOSTILE)]
    assert found.heads == ["Model", *["F1@5", "95 %"] * len(HOSTILE)]
    assert list(found.rows) == HOSTILE
    assert set(map(tuple, found.rows.values())) == {(".500", "[$-$.250, 1.000]") * len(HOSTILE)}


def test_a_name_with_a_line_break_stays_in_its_comment_and_in_its_row():
    found = table(["a\n\\input{evil}\r\nb\u2028c"], comments=["of a\n\\input{evil}"])
    assert found.comments == [r"of a \input{evil}", r"Needs \usepackage{booktabs}."]
    assert list(found.rows) == [r"a \input{evil} b c"]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (0.5714, ".571"),
        (0.0, ".000"),
        (1.0, "1.000"),
        (0.99951, "1.000"),
        (2.3908, "2.391"),
        (10.25, "10.250"),
        (-0.12, "$-$.120"),
        (-1.5, "$-$1.500"),
        (-0.0004, ".000"),
        ((-0.0004, 0.5), "[.000, .500]"),
        (None, "--"),
        (7, "7"),
        (20_000, "20,000"),
        ("a_b", r"a\_b"),
    ],
)
def test_a_cell_is_written_as_the_field_does(cell, shown):
    text = latex_table(("", "System"), [("Pearson", ("x",))], [("a", [cell])], comments=())
    assert read_tables(f"{text}\n")[0].rows == {"a": [shown]}
