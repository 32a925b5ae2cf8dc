"""Gold files whose keyphrases are one text: which marks separate them."""

from __future__ import annotations

import json

import pytest

from kpdemo.errors import InputError
from kpdemo.io.documents import read_gold


@pytest.fixture
def write(tmp_path):
    """Write keyphrases, a document for each, as CSV or as JSON Lines."""

    def writing(name, *keyphrases):
        path = tmp_path / name
        if name.endswith(".csv"):
            lines = ["text,keyphrases", *(f'A text.,"{one}"' for one in keyphrases)]
        else:
            lines = [json.dumps({"text": "A text.", "keyphrases": one}) for one in keyphrases]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return writing


@pytest.mark.parametrize("name", ["gold.csv", "gold.jsonl"])
@pytest.mark.parametrize("mark", [", ", " | ", "，"])
def test_lists_with_another_mark_are_no_phrases(write, name, mark):
    path = write(name, f"graph kernels{mark}molecules", f"speech{mark}noise", "sorting")
    with pytest.raises(InputError) as refusal:
        read_gold(path)
    assert str(refusal.value).startswith(
        f'{path}: the keyphrases of 2 of 3 documents have "{mark.strip()}" but no ";", so each list'
    )


def test_a_phrase_may_hold_a_comma(write):
    texts = ["Paris, France;", "Rome, Italy; speech", "London, England"]
    assert read_gold(write("gold.csv", *texts))[0].keyphrases == ("Paris, France",)
    assert read_gold(write("few.csv", "Paris, France", "speech"))
    assert read_gold(write("gold.jsonl", ["Paris, France"]))[0].keyphrases == ("Paris, France",)


def test_an_entity_ends_with_no_separator(write):
    [first, second] = read_gold(
        write("gold.jsonl", "R&amp;D spending; innovation policy", "caf&eacute;s;AT&T;")
    )
    assert first.keyphrases == ("R&amp;D spending", "innovation policy")
    assert second.keyphrases == ("caf&eacute;s", "AT&T")
    with pytest.raises(InputError, match=r'2 of 3 documents have "," but no ";"'):
        read_gold(write("gold.csv", "R&amp;D, growth", "graphs, trees", "sorting"))


def test_line_breaks_separate_and_other_marks_are_refused(write):
    [document] = read_gold(write("gold.jsonl", "graph kernels\nParis, France；speech"))
    assert document.keyphrases == ("graph kernels", "Paris, France", "speech")
    for mark in (" · ", " / ", " • "):
        with pytest.raises(InputError, match=f'of 2 documents have "{mark.strip()}" but no ";"'):
            read_gold(write("gold.jsonl", f"graph kernels{mark}trees", f"speech{mark}noise"))
