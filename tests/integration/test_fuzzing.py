"""What anybody may send to the addresses for programs and to those of the rating and the writing page, in
small; `make fuzz` goes on for minutes."""

from __future__ import annotations

from collections import Counter

from tests.fuzzing import PAGES, PROGRAMS, fuzz, table


def test_whatever_is_sent_the_answer_is_one_of_ours(tmp_path):
    counts = fuzz(tmp_path, examples=5)
    known = {name: answered for name, answered in counts.items() if PROGRAMS in name or PAGES in name}
    assert len(known) >= 40
    everywhere = sum(known.values(), Counter())
    assert everywhere["404"] < everywhere.total() / 4, table(counts)  # most requests name what there is
    done = [name for name, answered in known.items() if answered["2xx"]]
    assert len(done) >= len(known) - 4, table(counts)
